"""Explanations of nodes: of one trained model, or of several that count with a weight each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from glognn.errors import InputError
from glognn.explain.contributions import THROUGH
from glognn.explain.counterfactual import Probabilities, fewest_edges, fewest_nodes
from glognn.explain.encoder import GAP
from glognn.explain.explanation import Change, Explanation, Names, NodeShare
from glognn.explain.neighbourhood import Neighbourhood
from glognn.explain.parts import Floats, Parts, Source, weighted
from glognn.explain.removal import without_edges, without_nodes
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.metrics import decide
from glognn.models.base import NodeModel
from glognn.training.predict import predict

if TYPE_CHECKING:
    from torch_geometric.data import Data

TOP = 20
BY = ("loss", "contribution", "coefficient")
CHANGES = ("nodes", "edges")
ITSELF = "the node itself"
"""What its own row adds as that of any other node does, where it is not among those that are listed."""
LARGE = 200_000
"""Nodes above which losses, each a pass back through the whole model, are computed only where they are asked for."""


@dataclass(frozen=True, eq=False)
class Member:
    """One model of those that are explained together, with its weight."""

    name: str
    source: Source
    weight: float = 1.0


class NodeExplainer:
    """Models on one graph, kept to explain node after node.

    Args:
        members: One model, or those of an ensemble.
        names: What a user calls nodes and classes.
        probabilities: Of all nodes; the model's own when omitted.
        threshold, positive: Of two classes, the probability from which on the positive one is predicted.
    """

    def __init__(
        self,
        members: Sequence[Member],
        names: Names | None = None,
        probabilities: Floats | None = None,
        threshold: float | None = None,
        positive: int | None = None,
    ) -> None:
        self.members, self.names = list(members), Names() if names is None else names
        self.graph = self.members[0].source.graph
        self._threshold, self._positive = threshold, positive
        self._probabilities = probabilities
        self._around = Neighbourhood(self.graph)
        self._label = self.graph.y.cpu().numpy()

    @cached_property
    def probabilities(self) -> Floats:
        """Of all nodes, n x c."""
        if self._probabilities is not None:
            return self._probabilities
        return softmax(self.members[0].source.scores)

    @cached_property
    def predicted(self) -> Any:
        return self._decide_all(self.probabilities)

    def _decide_all(self, probabilities: Floats) -> Any:
        return decide(probabilities, self._threshold, self._positive)

    def parts(self, node: int, through: str = "last", *, inputs: bool = True) -> Parts:
        """The scores of a node, taken apart; of several models, added up."""
        return weighted(self._every(node, through, inputs), [each.weight for each in self.members])

    def _every(self, node: int, through: str, inputs: bool) -> list[Parts]:
        """Of each model; what those of small weight miss hardly counts, and together they miss as little as one alone
        may: where gaps are independent, the weighted sum of GAP / sqrt(weight) is GAP."""
        return [
            each.source.parts(node, through, inputs=inputs, gap=GAP / min(1.0, each.weight) ** 0.5)
            for each in self.members
        ]

    def explain(
        self,
        node: int,
        *,
        top: int = TOP,
        through: str = "last",
        by: str | None = None,
        changes: Sequence[str] = (),
        inputs: bool = True,
    ) -> Explanation:
        """Why a node is predicted to be of its class; see :func:`explain`."""
        by = self._by if by is None else by
        _check(through, by, top, changes)
        if not 0 <= node < self.graph.num_nodes:
            raise InputError(f"nodes must be in the range [0, {self.graph.num_nodes - 1}]. Got {node} instead.")
        every = self._every(node, through, inputs)
        parts = weighted(every, [each.weight for each in self.members])
        probabilities = self.probabilities[node]
        prediction = int(self.predicted[node])
        rest = np.array(probabilities)
        rest[prediction] = -np.inf
        against = int(rest.argmax())
        losses = self._losses(node, prediction, against, every) if by == "loss" or changes else None
        listed, others = self._listed(parts, prediction, against, top, by, losses)
        own = dict(parts.own)
        if parts.by_node is not None and all(each.node != node for each in listed):
            own = {ITSELF: parts.by_node[node], **own}
            others = others - parts.by_node[node]
        total = others + sum((np.array(each.scores) for each in listed), sum(own.values(), np.zeros_like(others)))
        strongest = sorted(parts.inputs, key=lambda each: -abs(each.scores[prediction] - each.scores[against]))
        return Explanation(
            node=node,
            names=self.names,
            model=", ".join(dict.fromkeys(each.name for each in self.members)),
            method=parts.method,
            through=through,
            scores=parts.scores,
            probabilities=probabilities,
            prediction=prediction,
            against=against,
            label=int(self._label[node]),
            by=by,
            supporters=[each for each in listed if _for(each, by)],
            opponents=[each for each in listed if not _for(each, by)],
            others=others,
            own=own,
            gap=parts.scores - total,
            ways=[
                {"kind": way.kind, "name": way.name, "weight": way.weight, "scores": way.scores.cpu().numpy()}
                for way in parts.ways
            ],
            inputs=strongest,
            inputs_to=parts.inputs_to,
            inputs_method=parts.inputs_method,
            changes=[self._change(kind, node, prediction, losses) for kind in changes],
            coefficients=parts.coefficients,
            by_node=parts.by_node,
            threshold=self._threshold,
            positive=None if self._threshold is None else self._positive,
        )

    @cached_property
    def _by(self) -> str:
        """What nodes are listed by where nothing is said: losses, unless the graph is too large for passes of the
        whole model."""
        return "loss" if self.graph.num_nodes <= LARGE else "contribution"

    def _losses(self, node: int, prediction: int, against: int, every: Sequence[Parts]) -> Floats | None:
        """About what the score loses without each node, of several models the weighted sum."""
        total: Floats | None = None
        for member, parts in zip(self.members, every, strict=True):
            found = member.source.losses(node, prediction, against, parts)
            if found is not None:
                total = member.weight * found if total is None else total + member.weight * found
        return total

    def _listed(
        self, parts: Parts, prediction: int, against: int, top: int, by: str, losses: Floats | None
    ) -> tuple[list[NodeShare], Floats]:
        """The strongest supporters and opponents, at most ``top`` of each, and what all other nodes add."""
        if parts.by_node is None:
            return [], np.zeros_like(parts.scores)
        ranks = self._ranks(parts, prediction, against, by, losses)
        first, last = _extremes(ranks, top)
        nodes = [*first, *last]
        hops = self._around.hops(parts.node, nodes)
        neighbours = self._around.shared_neighbours(parts.node, nodes)
        features = self._around.shared_features(parts.node, nodes)
        margins = parts.by_node[:, prediction] - parts.by_node[:, against]
        shares = [
            NodeShare(
                node=other,
                coefficient=None if parts.coefficients is None else float(parts.coefficients[other]),
                scores=tuple(parts.by_node[other].tolist()),
                margin=float(margins[other]),
                loss=None if losses is None or other == parts.node else float(losses[other]),
                label=int(self._label[other]),
                prediction=int(self.predicted[other]),
                hops=hops[place],
                shared_neighbours=neighbours[place],
                shared_features=features[place][0],
                similarity=features[place][1],
            )
            for place, other in enumerate(nodes)
        ]
        others: Floats = parts.by_node.sum(axis=0) - parts.by_node[nodes].sum(axis=0)
        return shares, others

    def _ranks(self, parts: Parts, prediction: int, against: int, by: str, losses: Floats | None) -> Floats:
        assert parts.by_node is not None
        if by == "loss":
            assert losses is not None
            others = losses.copy()
            others[parts.node] = 0
            return others
        if by == "coefficient":
            if parts.coefficients is None:
                raise InputError(
                    f"A model that is explained by {parts.method} has no coefficients: use 'contribution'."
                )
            return parts.coefficients
        margins: Floats = parts.by_node[:, prediction] - parts.by_node[:, against]
        return margins

    def _change(self, kind: str, node: int, prediction: int, losses: Floats | None) -> Change:
        def decided(found: Probabilities) -> int:
            return int(self._decide_all(found[np.newaxis])[0])

        near = self._around.of(node)
        if kind == "nodes":
            order = near.tolist() if losses is None else [each for each in _extremes(losses, 256)[0] if each != node]
            return fewest_nodes(order, prediction, decided, lambda gone: self._run(without_nodes, gone, node))
        if losses is not None:
            near = near[np.argsort(-losses[near], kind="stable")]
        edges = [(node, int(other)) for other in near]
        return fewest_edges(edges, prediction, decided, lambda gone: self._run(without_edges, gone, node))

    def _run(self, without: Any, gone: list[Any], node: int) -> Probabilities:
        """The probabilities of a node after taking nodes or edges away: of several models, the weighted mean."""
        total = np.zeros(self.probabilities.shape[1])
        for member in self.members:
            graph = without(member.source.graph, gone) if gone else member.source.graph
            total += member.weight * predict(member.source.model, graph)[node].double().cpu().numpy()
        found: Probabilities = total / total.sum()
        return found


def explain_model(
    model: NodeModel[Any],
    data: Data | Graph,
    nodes: Any,
    *,
    config: GraphConfig | None = None,
    names: Names | None = None,
    features: Sequence[str] | None = None,
    **how: Any,
) -> list[Explanation]:
    """Why a trained model predicts nodes of its graph to be of their classes, see :func:`glognn.explain`."""
    like = next(model.parameters())
    graph = data if isinstance(data, Graph) else Graph.from_data(data, config or model.graph_config, dtype=like.dtype)
    if features is not None and len(features) != graph.num_features:
        raise InputError(f"features must name {graph.num_features} columns. Got {len(features)} names instead.")
    explainer = NodeExplainer([Member(model.config_class.name, Source(model, graph, features))], names)
    chosen = torch.as_tensor(nodes, dtype=torch.int64).view(-1).tolist()
    return [explainer.explain(node, **how) for node in chosen]


def _check(through: str, by: str, top: int, changes: Sequence[str]) -> None:
    for name, value, allowed in (("through", through, THROUGH), ("by", by, BY)):
        if value not in allowed:
            raise InputError(f"The '{name}' parameter of explain must be one of {allowed}. Got {value!r} instead.")
    if top < 0:
        raise InputError(f"The 'top' parameter of explain must be in the range [0, inf). Got {top} instead.")
    for kind in changes:
        if kind not in CHANGES:
            raise InputError(f"The 'changes' parameter of explain must be of {CHANGES}. Got {kind!r} instead.")


def _for(share: NodeShare, by: str) -> bool:
    signed = {"loss": share.loss, "contribution": share.margin, "coefficient": share.coefficient}[by]
    return (signed or 0.0) > 0


def _extremes(ranks: Floats, top: int) -> tuple[list[int], list[int]]:
    """The places of the largest positive numbers and of the smallest negative ones, at most so many, in O(n)."""
    found = []
    for signed in (ranks, -ranks):
        count = min(top, len(signed))
        chosen = np.argpartition(-signed, count - 1)[:count] if count else np.empty(0, dtype=np.int64)
        chosen = chosen[np.argsort(-signed[chosen], kind="stable")]
        found.append(chosen[signed[chosen] > 0].tolist())
    return found[0], found[1]


def softmax(scores: Floats) -> Floats:
    """Probabilities of scores, n x c."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    found: Floats = powers / powers.sum(axis=1, keepdims=True)
    return found
