"""WRGAT (Suresh et al., Breaking the Limit of Graph Neural Networks by Improving the Assortativity of Graphs with Local
Mixing Patterns, KDD 2021).

The graph gets relations: r = 0 are its own edges, with their weights, and r = 1 + k for k = 0 .. num_rings joins nodes
whose surroundings up to distance k look alike, with the weight w = exp(-f_k) for the structural distance f_k of
:mod:`glognn.graph.structure`. A layer attends to the neighbours within each relation:

    V_r = H W_r,    a_ij = softmax over j in N_r(i) of leaky_relu(p_r V_r,i + q_r V_r,j, slope 0.2)
    layer(H)_i = H_i W + b + sum_r sum_(j in N_r(i)) w_ij a_ij V_r,j
    class scores = layer_L(dropout(relu(... dropout(relu(layer_1(X))))))

The similarities are made once for a graph and kept in the cache. The cost of a pass is O(n num_rings (hidden^2 +
num_similar hidden) + nnz(A) hidden). The released code differs from the equations in two ways, both by name here: it
divides each sum over N_r(i) by |N_r(i)| (``aggregation="mean"``), and the w of a node by their sum
(``similarity="share"``).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glognn.data.structure import structural_similarities
from glognn.graph.graph import Graph
from glognn.graph.pattern import Pattern
from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.graph.structure import SimilarNodes
from glognn.models.base import NodeModel
from glognn.models.configs.handwritten import WRGATConfig
from glognn.nn.initial import glorot_
from glognn.ops.activation import relu_dropout
from glognn.ops.edges import edge_sum
from glognn.ops.products import matmul
from glognn.ops.segments import segment_softmax
from glognn.settings import configured_by

SLOPE = 0.2


class RelationalEdges(NamedTuple):
    """All edges of all relations, from row i to column (j, r) of an n x (n relations) matrix.

    ``node`` and ``neighbour`` are the numbers of (i, r) and (j, r) of each edge, ``weight`` is w.
    """

    pattern: Pattern
    node: Tensor
    neighbour: Tensor
    weight: Tensor


class WRGATInputs(NamedTuple):
    """Features, n x f, and the edges."""

    x: Matrix
    edges: RelationalEdges


class RelationalAttention(nn.Module):
    """One layer; :attr:`weight` is W and then each W_r, side by side, (in, (1 + relations) out)."""

    def __init__(self, in_channels: int, out_channels: int, num_relations: int) -> None:
        super().__init__()
        self.num_relations = num_relations
        self.weight = nn.Parameter(torch.empty(in_channels, (1 + num_relations) * out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.attention_node = nn.Parameter(torch.empty(num_relations, out_channels))
        self.attention_neighbour = nn.Parameter(torch.empty(num_relations, out_channels))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        for part in self.weight.chunk(1 + self.num_relations, dim=1):
            glorot_(part)
        glorot_(self.attention_node)
        glorot_(self.attention_neighbour)
        self.bias.zero_()

    def forward(self, x: Matrix, edges: RelationalEdges) -> Tensor:
        mapped = matmul(x, self.weight).view(-1, 1 + self.num_relations, self.bias.shape[0])
        own, values = mapped[:, 0], mapped[:, 1:]
        towards = (values * self.attention_node).sum(dim=-1).flatten().index_select(0, edges.node)
        scores = towards + (values * self.attention_neighbour).sum(dim=-1).flatten().index_select(0, edges.neighbour)
        attention = segment_softmax(F.leaky_relu(scores, SLOPE), edges.node, len(own) * self.num_relations)
        return own + self.bias + edge_sum(edges.pattern, edges.weight * attention, values.flatten(0, 1))


@configured_by(WRGATConfig)
class WRGAT(NodeModel[WRGATInputs]):
    """Attention to neighbours and, apart from them, to nodes whose surroundings look alike.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Not used; there so that every model is built alike.
    """

    config: WRGATConfig
    config_class = WRGATConfig

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int | None = None, **settings: Any) -> None:
        super().__init__(in_channels, out_channels, num_nodes, **settings)
        widths = [in_channels, *[self.config.hidden_channels] * (self.config.num_layers - 1), out_channels]
        relations = self.config.num_relations
        self.layers = nn.ModuleList(RelationalAttention(a, b, relations) for a, b in pairwise(widths))
        self.dropout = self.config.dropout

    def use_settings(self, values: Mapping[str, Any]) -> None:
        self.dropout = values["dropout"]

    def reset_parameters(self) -> None:
        for layer in self.layers.children():
            assert isinstance(layer, RelationalAttention)
            layer.reset_parameters()

    def prepare(self, graph: Graph) -> WRGATInputs:
        x, config = self._features(graph), self.config
        compared = config.num_compared(graph.num_nodes)
        name = f"relations-{compared}-{config.num_rings}-{config.similarity}-{config.aggregation}"

        def joined(own: SparseMatrix) -> RelationalEdges:
            return _joined([own, *self._similar(graph, compared)], config.aggregation)

        return WRGATInputs(x, graph.adjacency.kept(name, joined))

    def _similar(self, graph: Graph, compared: int) -> list[SparseMatrix]:
        """The weights w of each structural relation, by the rows of the node that gathers."""
        config = self.config

        @cache
        def found() -> SimilarNodes:
            return structural_similarities(
                graph.adjacency.matrix.to_scipy(),
                num_similar=compared,
                num_rings=config.num_rings,
                threads=torch.get_num_threads(),
            )

        def form(ring: int) -> SparseMatrix:
            name = f"similar-{compared}-{config.num_rings}-{ring}-{config.similarity}"
            return graph.adjacency.derived(
                name, lambda matrix: _weights(found(), ring, matrix.shape[0], config.similarity), symmetric=False
            )

        return [form(ring) for ring in range(config.num_rings + 1)]

    def encode(self, inputs: WRGATInputs) -> tuple[Tensor, ...]:
        return (self.layers[0](inputs.x, inputs.edges),)

    def decode(self, encoded: tuple[Tensor, ...], inputs: WRGATInputs) -> Tensor:
        hidden = encoded[0]
        for layer in list(self.layers)[1:]:
            hidden = layer(relu_dropout(hidden, self.dropout, self.training), inputs.edges)
        return hidden

    def logits(self, inputs: WRGATInputs) -> Tensor:
        return self.decode(self.encode(inputs), inputs)


def _joined(matrices: list[SparseMatrix], aggregation: str) -> RelationalEdges:
    """The relations as one matrix, their columns taking turns."""
    num_nodes, count = matrices[0].shape[0], len(matrices)
    parts = []
    for relation, matrix in enumerate(matrices):
        node, neighbour = matrix.entries()
        weight = matrix.csr.values()
        if aggregation == "mean":
            weight = weight / torch.bincount(node, minlength=num_nodes)[node]
        parts.append((node, neighbour * count + relation, weight))
    node, neighbour, weight = (torch.cat(part) for part in zip(*parts, strict=True))
    size = (num_nodes, num_nodes * count)
    joined = torch.sparse_coo_tensor(torch.stack([node, neighbour]), weight, size, check_invariants=False)
    merged = SparseMatrix.from_torch(joined.coalesce())
    node, neighbour = merged.entries()
    return RelationalEdges(merged.pattern, node * count + neighbour % count, neighbour, merged.csr.values())


def _weights(found: SimilarNodes, ring: int, num_nodes: int, similarity: str) -> sp.csr_array:
    """exp(-f), both ways; as a share, of the node's sum, computed from the differences to its smallest f."""
    defined = np.isfinite(found.distances[ring])
    pairs, distance = found.pairs[:, defined], np.tile(found.distances[ring, defined], 2)
    node, neighbour = np.concatenate([pairs, pairs[::-1]], axis=1)
    if similarity == "share":
        smallest = np.full(num_nodes, np.inf)
        np.minimum.at(smallest, node, distance)
        weight = np.exp(smallest[node] - distance)
        weight /= np.bincount(node, weight, minlength=num_nodes)[node]
    else:
        weight = np.exp(-distance)
    return sp.coo_array((weight, (node, neighbour)), shape=(num_nodes, num_nodes)).tocsr()
