"""H2GCN (Zhu et al., Beyond Homophily in Graph Neural Networks, NeurIPS 2020).

    r_0 = relu(X W_e)
    r_k = [A_1 r_(k-1), A_2 r_(k-1)]                    for k = 1 .. K, no weights and no nonlinearity
    class scores = dropout([r_0, r_1, ..., r_K]) W_c

A_1 and A_2 hold the nodes at distance 1 and exactly 2 (never the node itself), each as D^-1/2 A D^-1/2 of its own.
Distances follow the direction of edges. An edge's weight counts in A_1; being at distance 2 has weight 1. The width of
r_k is 2^k hidden, and A_2 has up to the sum of squared degrees entries: the cost of a pass is O(nnz(A_2) 2^K hidden).
Deviation from the released code: there the ring A_1 is without weights, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glognn.graph.adjacency import without_loops
from glognn.graph.graph import Graph
from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.models.base import NodeModel
from glognn.models.configs.handwritten import H2GCNConfig
from glognn.nn.initial import glorot_
from glognn.ops.products import matmul, spmm
from glognn.settings import configured_by


class H2GCNInputs(NamedTuple):
    """Features, n x f, and the normalised rings at distance 1 and 2."""

    x: Matrix
    rings: tuple[SparseMatrix, SparseMatrix]


@configured_by(H2GCNConfig)
class H2GCN(NodeModel[H2GCNInputs]):
    """Neighbours at distance 1 and 2, kept apart from each other and from the node itself.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Not used; there so that every model is built alike.
    """

    config: H2GCNConfig
    config_class = H2GCNConfig

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int | None = None, **settings: Any) -> None:
        super().__init__(in_channels, out_channels, num_nodes, **settings)
        width = self.config.hidden_channels
        self.embedding = nn.Parameter(torch.empty(in_channels, width))
        self.classifier = nn.Parameter(torch.empty(width * (2 ** (self.config.num_rounds + 1) - 1), out_channels))
        self.dropout = self.config.dropout
        self.reset_parameters()

    def use_settings(self, values: Mapping[str, Any]) -> None:
        self.dropout = values["dropout"]

    def reset_parameters(self) -> None:
        glorot_(self.embedding)
        glorot_(self.classifier)

    def prepare(self, graph: Graph) -> H2GCNInputs:
        x = self._features(graph)
        rings = (graph.adjacency.derived("ring-1", _first_ring), graph.adjacency.derived("ring-2", _second_ring))
        return H2GCNInputs(x, rings)

    def encode(self, inputs: H2GCNInputs) -> tuple[Tensor, ...]:
        rounds = [F.relu(matmul(inputs.x, self.embedding))]
        for _ in range(self.config.num_rounds):
            rounds.append(torch.cat([spmm(ring, rounds[-1]) for ring in inputs.rings], dim=1))
        return (torch.cat(rounds, dim=1),)

    def decode(self, encoded: tuple[Tensor, ...], inputs: H2GCNInputs) -> Tensor:
        return F.dropout(encoded[0], self.dropout, self.training) @ self.classifier

    def logits(self, inputs: H2GCNInputs) -> Tensor:
        return self.decode(self.encode(inputs), inputs)


def _first_ring(matrix: sp.csr_array) -> sp.csr_array:
    return _normalized(without_loops(matrix))


def _second_ring(matrix: sp.csr_array) -> sp.csr_array:
    near = without_loops(matrix).astype(bool)
    within_two = without_loops(near @ near)
    return _normalized(sp.csr_array(within_two > near).astype(np.float64))


def _normalized(ring: sp.csr_array) -> sp.csr_array:
    """Divided by the roots of row and column sums; a node without neighbours keeps an empty row."""
    left, right = (
        sp.diags_array(np.divide(1.0, np.sqrt(total), out=np.zeros_like(total), where=total > 0))
        for total in (np.asarray(ring.sum(axis=axis), dtype=np.float64).ravel() for axis in (1, 0))
    )
    return sp.csr_array(left @ ring @ right)
