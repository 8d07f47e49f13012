"""The scores of one node as a sum, whatever model gave them: what every kind of explanation has in common."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from glognn.explain.columns import TableColumns
from glognn.explain.contributions import GlobalContributions, Way
from glognn.explain.encoder import GAP, EncoderParts, encoder_parts
from glognn.explain.gradients import OnGraph, gradient_parts
from glognn.explain.presence import Presence
from glognn.explain.tree_paths import MEAN, MIXED, OWN, columns_read, tree_parts
from glognn.graph.directions import DEGREE_NAMES, degree_counts, neighbour_shares
from glognn.graph.graph import Graph
from glognn.graph.sparse import SparseMatrix
from glognn.models.base import NodeModel
from glognn.models.glognn import GloGNN
from glognn.models.trees import Trees
from glognn.nn.inputs import ADJACENCY, DEGREES, FEATURES, INPUTS, LINK, LINK_IN, MEANS

Floats = npt.NDArray[np.float64]

COEFFICIENTS, ENCODER, GRADIENTS, PATHS = "coefficients", "encoder", "gradients", "tree paths"
"""Methods: the closed form taken apart; a GloGNN2 without it, which is an encoder; integrated gradients; paths through
trees."""
OTHERS = "other nodes"
"""Name of the input that local blocks bring."""


@dataclass(frozen=True)
class InputShare:
    """What one column of a node's inputs adds.

    Attributes:
        input: Which input: ``features``, ``adjacency``, ``link``, ``degrees``, ...
        name: Of the column; of a neighbour, its number.
        value: As the model was given it; ``None`` of a column that it was given as several numbers, and where there is
            none.
        original: As a user's table has it, or as a count of edges; ``None`` where that does not follow from the value.
        scores: What it adds to each class: to the initial embedding where there is one, else to the score.
    """

    input: str
    name: str | int
    value: float | None
    scores: Floats
    original: str | None = None


@dataclass(frozen=True, eq=False)
class Parts:
    """The scores of one node, taken apart.

    Attributes:
        node: Its number.
        method: Of the model: one of the four above.
        scores: Class scores, c.
        coefficients: Of each node, n, where there is Z*.
        by_node: What each node adds to each class's score, n x c; ``None`` of trees, which know columns alone.
        own: What belongs to no other node, by name, c each: by_node and own add up to the scores.
        ways: See :class:`~glognn.explain.contributions.Way`.
        inputs: What the node's own inputs add to ``inputs_to``.
        inputs_to: ``initial embedding`` or ``scores``.
        inputs_method: How that was found.
        inputs_empty: What is there without any input, c.
    """

    node: int
    method: str
    scores: Floats
    coefficients: Floats | None
    by_node: Floats | None
    own: dict[str, Floats]
    ways: list[Way] = field(default_factory=list)
    inputs: list[InputShare] = field(default_factory=list)
    inputs_to: str = "scores"
    inputs_method: str = ""
    inputs_empty: Floats | None = None


class Source:
    """A trained model on its graph, kept to take the scores of node after node apart."""

    def __init__(
        self, model: NodeModel[Any], graph: Graph, features: Sequence[str] | TableColumns | None = None
    ) -> None:
        like = next(model.parameters())
        self.model, self.graph = model.eval(), graph.to(device=like.device, dtype=like.dtype)
        self._table = features if isinstance(features, TableColumns) else None
        named = features.names if isinstance(features, TableColumns) else features
        self._names = list(named or [f"feature {number}" for number in range(graph.num_features)])

    @property
    def has_coefficients(self) -> bool:
        """Whether the model has Z*."""
        return isinstance(self.model, GloGNN) and self.model.config.num_layers > 0

    @property
    def method(self) -> str:
        if isinstance(self.model, GloGNN):
            return COEFFICIENTS if self.has_coefficients else ENCODER
        return PATHS if isinstance(self.model, Trees) else GRADIENTS

    @cached_property
    def contributions(self) -> GlobalContributions:
        """Of a model with Z*; refused of others."""
        assert isinstance(self.model, GloGNN)
        return GlobalContributions(self.model, self.graph)

    @cached_property
    def inputs(self) -> Any:
        """What the model prepared of the graph."""
        with torch.no_grad():
            return self.model.prepare(self.graph)

    @cached_property
    def scores(self) -> Floats:
        """Class scores of all nodes, n x c."""
        if self.method == COEFFICIENTS:
            return _numpy(self.contributions.scores)
        with torch.no_grad():
            return _numpy(self.model.logits(self.inputs))

    @cached_property
    def _on_graph(self) -> OnGraph:
        return OnGraph(self.model, self.graph)

    def parts(self, node: int, through: str = "last", *, inputs: bool = True, gap: float = GAP) -> Parts:
        """The scores of a node, taken apart.

        Args:
            node: Its number.
            through: Of a model with Z*, see :mod:`glognn.explain.contributions`.
            inputs: Whether its own inputs are looked into, too.
            gap: What parts that are means over points may miss, relative to what they add up to.
        """
        if self.method == COEFFICIENTS:
            return self._by_coefficients(node, through, inputs)
        if self.method == ENCODER:
            return self._by_encoder(node, gap)
        if isinstance(self.model, Trees):
            return self._by_paths(node)
        return self._by_gradients(node, gap)

    @cached_property
    def _presence(self) -> Presence:
        assert isinstance(self.model, GloGNN)
        return Presence(self.model, self.graph)

    def losses(self, node: int, first: int, second: int, parts: Parts) -> Floats | None:
        """About how much the score of one class over another loses without each node, n.

        Of GloGNN and its kin by :mod:`glognn.explain.presence`; of others what their features add; ``None`` of trees.
        """
        if isinstance(self.model, GloGNN):
            return _numpy(self._presence.losses(node, first, second))
        return None if parts.by_node is None else parts.by_node[:, first] - parts.by_node[:, second]

    def _by_coefficients(self, node: int, through: str, inputs: bool) -> Parts:
        found = self.contributions.of(node, through)
        coefficients = found.coefficients
        if coefficients.dim() > 1:
            coefficients = coefficients[:, int(found.scores.argmax())]
        more: dict[str, Any] = {}
        if inputs:
            more = self._inputs_of(node, self.contributions.encoder_parts(node), "initial embedding")
        return Parts(
            node=node,
            method=COEFFICIENTS,
            scores=_numpy(found.scores),
            coefficients=_numpy(coefficients),
            by_node=_numpy(found.by_node),
            own={name: _numpy(value) for name, value in found.own.items()},
            ways=self.contributions.ways(node),
            **more,
        )

    def _inputs_of(self, node: int, seen: EncoderParts, to: str) -> dict[str, Any]:
        """What the encoder saw, as fields of :class:`Parts`."""
        shares: list[InputShare] = []
        for part in seen.inputs:
            columns, values, scores = part.columns.tolist(), part.values.tolist(), _numpy(part.scores)
            if part.name == FEATURES:
                shares += self._own_features(node, columns, values, scores)
            elif part.name == DEGREES:
                shares += self._counts(node, columns, scores)
            else:
                shares += [self._share(part.name, *each) for each in zip(columns, values, scores, strict=True)]
        if len(seen.rows):
            all_of_them = f"inputs of {len(seen.rows):,} other nodes"
            shares.append(InputShare(OTHERS, all_of_them, None, _numpy(seen.others.sum(dim=0))))
        return {
            "inputs": shares,
            "inputs_to": to,
            "inputs_method": {
                "linear": "exact: the encoder is linear",
                "exact": "integrated gradients, exact by pieces",
                "points": "integrated gradients over local blocks",
            }[seen.method],
            "inputs_empty": _numpy(seen.empty),
        }

    def _by_encoder(self, node: int, gap: float) -> Parts:
        """What a node's own row says of links and of neighbours is theirs, as is what blocks bring of their rows."""
        assert isinstance(self.model, GloGNN)
        seen = encoder_parts(self.model, self.inputs, node, gap)
        by_node = torch.zeros(self.graph.num_nodes, len(seen.empty), dtype=torch.float64, device=seen.empty.device)
        by_node.index_add_(0, seen.rows, seen.others)
        for part in seen.inputs:
            if INPUTS[part.name].of_nodes:
                by_node.index_add_(0, part.columns, part.scores)
            elif part.name in MEANS:
                self._add_neighbours(MEANS[part.name], by_node, node, part.columns, part.values, part.scores)
            else:
                by_node[node] += part.scores.sum(dim=0)
        return Parts(
            node=node,
            method=ENCODER,
            scores=_numpy(seen.embedding),
            coefficients=None,
            by_node=_numpy(by_node),
            own={"without any inputs": _numpy(seen.empty)},
            **self._inputs_of(node, seen, "scores"),
        )

    def _add_neighbours(
        self, way: str, by_node: Tensor, node: int, columns: Tensor, values: Tensor, scores: Tensor
    ) -> None:
        """The mean of neighbours' features is said by each of them as far as its features are in the mean."""
        shares = neighbour_shares(self.graph, way)
        begin, end = shares.indptr[node : node + 2]
        nodes = torch.from_numpy(shares.indices[begin:end].astype(np.int64)).to(by_node.device)
        weights = torch.from_numpy(shares.data[begin:end]).to(by_node.device)
        x = self.graph.x
        rows = x.to_scipy()[nodes.cpu().numpy()].toarray() if isinstance(x, SparseMatrix) else x[nodes]  # type: ignore[index]
        rows = torch.as_tensor(rows, dtype=torch.float64, device=by_node.device)[:, columns]
        said = (weights.unsqueeze(1) * rows) @ (scores / values.unsqueeze(1))
        by_node.index_add_(0, nodes, said)
        by_node[node] += scores.sum(dim=0) - said.sum(dim=0)  # what the model's precision rounds

    def _own_features(
        self, node: int, columns: Sequence[int], values: Sequence[float], scores: Floats
    ) -> list[InputShare]:
        """What features of the node add; those that one column of a table became, together."""
        if self._table is None:
            found = zip(columns, values, scores, strict=True)
            return [InputShare(FEATURES, self._names[column], value, each) for column, value, each in found]
        places = {column: place for place, column in enumerate(columns)}
        return [
            InputShare(
                FEATURES,
                name,
                values[places[group[0]]] if len(group) == 1 else None,
                scores[[places[each] for each in group]].sum(axis=0),
                self._table.value(node, group[0]),
            )
            for name, group in self._table.together(columns).items()
        ]

    def _counts(self, node: int, columns: Sequence[int], scores: Floats) -> list[InputShare]:
        """What numbers of edges add: each is given standardised and by its quantiles, together."""
        counts = degree_counts(self.graph)[:, node]
        found = []
        for number, name in enumerate(DEGREE_NAMES):
            places = [place for place, column in enumerate(columns) if column % len(DEGREE_NAMES) == number]
            if places:
                told = f"{float(f'{counts[number]:.3e}'):,.15g}"
                found.append(InputShare(DEGREES, name, None, scores[places].sum(axis=0), told))
        return found

    def _share(self, input: str, column: int, value: float, scores: Floats) -> InputShare:
        """What one column adds that says something of a neighbour, or of all of them."""
        if input in MEANS:
            where = {"both": "", "out": " pointed to", "in": " that point here"}[MEANS[input]]
            name = f"mean of neighbours{where}: {self._names[column]}"
            return InputShare(input, name, value, scores, self._told(MEAN, column, value))
        assert input in (ADJACENCY, LINK, LINK_IN)
        return InputShare(input, column, value, scores)

    def _told(self, what: str, feature: int | None, value: float) -> str | None:
        """What a column that trees or means read says in the terms of the table: a number of edges, or the mean or an
        extreme of a feature's values, where these are as they were encoded."""
        if math.isnan(value):
            return None
        if feature is None:
            return f"{float(f'{value:.3e}'):,.15g}"
        if self._table is None or what == MIXED or self.graph.config.feature_normalization != "none":
            return None
        return self._table.mean(feature, value) if what == MEAN else self._table.one(feature, value)

    def _by_gradients(self, node: int, gap: float) -> Parts:
        wrapped = self._on_graph
        x = wrapped.features()
        found = gradient_parts(wrapped, x, node, most_missed=gap)
        columns = found.own.abs().sum(dim=1).nonzero().view(-1).tolist()
        own = _numpy(found.own)
        return Parts(
            node=node,
            method=GRADIENTS,
            scores=_numpy(found.scores),
            coefficients=None,
            by_node=_numpy(found.by_node),
            own={"without any features": _numpy(found.empty)},
            inputs=self._own_features(node, columns, x[node, columns].tolist(), own[columns]),
            inputs_method=f"integrated gradients, {found.points} points",
            inputs_empty=None,
        )

    def _by_paths(self, node: int) -> Parts:
        assert isinstance(self.model, Trees)
        found = tree_parts(self.model, self.inputs, node)
        read = columns_read(self.model, self.graph, self._names)
        columns = found.by_column.abs().sum(dim=1).nonzero().view(-1).tolist()
        own = _numpy(found.by_column)
        mine = [each for each in columns if read[each].what == OWN]
        inputs = self._own_features(node, mine, found.values[mine].tolist(), own[mine])
        for each in columns:
            kind, name, what, feature = read[each]
            if what != OWN:
                value = float(found.values[each])
                given = None if math.isnan(value) else value
                inputs.append(InputShare(kind, name, given, own[each], self._told(what, feature, value)))
        return Parts(
            node=node,
            method=PATHS,
            scores=_numpy(found.scores),
            coefficients=None,
            by_node=None,
            own={"mean of the trees": _numpy(found.empty), "columns read by trees": own.sum(axis=0)},
            inputs=inputs,
            inputs_method="paths through trees (Saabas)",
            inputs_empty=_numpy(found.empty),
        )


def weighted(parts: Sequence[Parts], weights: Sequence[float]) -> Parts:
    """The weighted sum of what members of an ensemble say of one node, each in its own way.

    The coefficients are a weighted mean over those that have some; own rows and inputs are added by name.
    """
    if len(parts) == 1:
        return parts[0]
    scores = _sum([part.scores for part in parts], weights)
    with_rows = [(part, weight) for part, weight in zip(parts, weights, strict=True) if part.coefficients is not None]
    coefficients = None
    if with_rows:
        total = sum(weight for _, weight in with_rows)
        coefficients = _sum([part.coefficients for part, _ in with_rows], [weight / total for _, weight in with_rows])
    by_node, own, inputs = None, dict[str, Floats](), dict[tuple[str, str | int], InputShare]()
    for part, weight in zip(parts, weights, strict=True):
        if part.by_node is not None:
            by_node = weight * part.by_node if by_node is None else by_node + weight * part.by_node
        for name, value in part.own.items():
            own[name] = own.get(name, np.zeros_like(scores)) + weight * value
        for share in part.inputs:
            key = share.input, share.name
            before = inputs[key].scores if key in inputs else np.zeros_like(scores)
            inputs[key] = replace(share, scores=before + weight * share.scores)
    methods = dict.fromkeys(part.method for part in parts)
    return Parts(
        node=parts[0].node,
        method=f"weighted sum of {len(parts)} models by {' and '.join(methods)}",
        scores=scores,
        coefficients=coefficients,
        by_node=by_node,
        own=own,
        inputs=list(inputs.values()),
        inputs_to=" or ".join(dict.fromkeys(part.inputs_to for part in parts)),
        inputs_method="; ".join(dict.fromkeys(re.sub(r", \d+ points$", "", part.inputs_method) for part in parts)),
    )


def _sum(values: Sequence[Any], weights: Sequence[float]) -> Floats:
    total: Floats = np.sum([weight * value for value, weight in zip(values, weights, strict=True)], axis=0)
    return total


def _numpy(tensor: Tensor) -> Floats:
    return tensor.detach().cpu().double().numpy()
