"""Reasons for one prediction, as plain data: what tables, pictures and pages are drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glognn.explain.parts import Floats, InputShare


@dataclass(frozen=True, eq=False)
class Names:
    """What a user calls nodes and classes; their numbers where there are no names."""

    nodes: Any = None
    classes: Sequence[Any] | None = None

    def node(self, number: int) -> Any:
        if self.nodes is None:
            return number
        found = self.nodes[number]
        return found.as_py() if hasattr(found, "as_py") else found

    def class_(self, number: int) -> Any:
        """``None`` of a label that is not known."""
        if number < 0:
            return None
        return number if self.classes is None else self.classes[number]


@dataclass(frozen=True)
class NodeShare:
    """What another node says.

    Attributes:
        node: Its number.
        coefficient: Its entry of the row of Z*, where there is one.
        scores: What it adds to each class's score.
        margin: What it adds to the predicted class less what it adds to the runner-up: above 0 it supports.
        loss: About what that margin would lose without the node; ``None`` where it was not computed, and of the node
            itself.
        label: Its class, -1 where it is not known.
        prediction: The class predicted for it.
        hops: Edges between the two, in either direction; ``None`` where no path leads there.
        shared_neighbours: How many nodes are linked with both.
        shared_features: How many features both have, where features are sparse.
        similarity: Cosine of their features; ``None`` where one of them has none.
    """

    node: int
    coefficient: float | None
    scores: tuple[float, ...]
    margin: float
    loss: float | None
    label: int
    prediction: int
    hops: int | None
    shared_neighbours: int
    shared_features: int | None
    similarity: float | None


@dataclass(frozen=True)
class Change:
    """What was taken away until the model predicted something else, verified by running it.

    Attributes:
        kind: ``nodes`` (silenced: no features, no edges) or ``edges``.
        removed: Numbers of nodes, or pairs of them.
        prediction: The class predicted then.
        probabilities: Of all classes then.
        flipped: Whether it is another class; else this is as far as it went.
        runs: How often the model was run.
    """

    kind: str
    removed: list[Any]
    prediction: int
    probabilities: tuple[float, ...]
    flipped: bool
    runs: int


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a node is predicted to be of its class.

    ``scores`` are what is explained: class scores before the softmax, of an ensemble their weighted sum. They are the
    sum of ``listed`` nodes' scores, ``others`` and ``own``, but for ``gap``.

    Attributes:
        node: Its number.
        model: Name of the model, or of all of an ensemble.
        method: How the scores were taken apart: ``coefficients`` (Z*, exact), ``gradients`` (integrated gradients),
            ``tree paths``, or a weighted sum of these.
        through: Of coefficients: the ``last`` layer, or ``all``.
        prediction, against: The class predicted and the runner-up, by number.
        threshold, positive: Of two classes, the probability from which on the positive one is predicted, and which it
            is; ``None`` where the likeliest class is predicted.
        label: The class it has, -1 where it is not known.
        by: What nodes are listed by: ``loss``, ``contribution`` or ``coefficient``.
        supporters, opponents: Nodes that speak for and against, the strongest first.
        others: What nodes that are not listed add.
        own: What belongs to no other node, by name.
        gap: What parts miss of the scores: rounding, or of gradients the finite number of points.
        ways: By columns of the embedding and by hops, with a ``kind``, ``name``, ``weight`` and ``scores`` each.
        inputs: What columns of its own inputs add to ``inputs_to``, the strongest first, and how that was found.
        changes: What would change the prediction, where that was asked for.
        coefficients, by_node: Of all nodes, n and n x c.
    """

    node: int
    names: Names
    model: str
    method: str
    through: str
    scores: Floats
    probabilities: Floats
    prediction: int
    against: int
    label: int
    by: str
    supporters: list[NodeShare]
    opponents: list[NodeShare]
    others: Floats
    own: dict[str, Floats]
    gap: Floats
    ways: list[dict[str, Any]]
    inputs: list[InputShare]
    inputs_to: str
    inputs_method: str
    changes: list[Change]
    coefficients: Floats | None
    by_node: Floats | None
    threshold: float | None = None
    positive: int | None = None

    @property
    def listed(self) -> list[NodeShare]:
        return [*self.supporters, *self.opponents]

    def as_dict(self) -> dict[str, Any]:
        """All but the numbers of all nodes, with the user's names, ready for JSON."""
        names = self.names
        classes = [names.class_(number) for number in range(len(self.scores))]

        def by_class(values: Any) -> dict[str, float]:
            return {str(name): float(value) for name, value in zip(classes, values, strict=True)}

        return {
            "node": names.node(self.node),
            "model": self.model,
            "method": self.method,
            "through": self.through if self.coefficients is not None else None,
            "by": self.by,
            "prediction": names.class_(self.prediction),
            "against": names.class_(self.against),
            "label": names.class_(self.label),
            "probabilities": by_class(self.probabilities),
            "threshold": None
            if self.positive is None
            else {"class": names.class_(self.positive), "probability": self.threshold},
            "scores": by_class(self.scores),
            "supporters": [self._share(each, by_class) for each in self.supporters],
            "opponents": [self._share(each, by_class) for each in self.opponents],
            "other_nodes": by_class(self.others),
            "own": {name: by_class(value) for name, value in self.own.items()},
            "gap": by_class(self.gap),
            "ways": [{**way, "name": self._way_name(way), "scores": by_class(way["scores"])} for way in self.ways],
            "inputs": {
                "to": self.inputs_to,
                "method": self.inputs_method,
                "parts": [
                    {
                        "input": each.input,
                        "name": names.node(each.name) if isinstance(each.name, int) else each.name,
                        "value": each.value,
                        "original": each.original,
                        "scores": by_class(each.scores),
                    }
                    for each in self.inputs
                ],
            },
            "changes": [self._change(each, by_class) for each in self.changes],
        }

    def _way_name(self, way: dict[str, Any]) -> Any:
        return self.names.class_(int(way["name"])) if way["kind"] == "column" else way["name"]

    def _share(self, share: NodeShare, by_class: Any) -> dict[str, Any]:
        return {
            "node": self.names.node(share.node),
            "coefficient": share.coefficient,
            "margin": share.margin,
            "loss": share.loss,
            "label": self.names.class_(share.label),
            "prediction": self.names.class_(share.prediction),
            "hops": share.hops,
            "shared_neighbours": share.shared_neighbours,
            "shared_features": share.shared_features,
            "similarity": share.similarity,
            "scores": by_class(share.scores),
        }

    def _change(self, change: Change, by_class: Any) -> dict[str, Any]:
        def named(each: Any) -> Any:
            return [self.names.node(end) for end in each] if isinstance(each, tuple) else self.names.node(each)

        return {
            "kind": change.kind,
            "removed": [named(each) for each in change.removed],
            "flipped": change.flipped,
            "prediction": self.names.class_(change.prediction),
            "probabilities": by_class(change.probabilities),
            "runs": change.runs,
        }

    def margin(self, scores: Any) -> float:
        """What scores add to the predicted class less what they add to the runner-up."""
        return float(np.asarray(scores)[self.prediction] - np.asarray(scores)[self.against])
