"""GGCN (Yan et al., Two Sides of the Same Coin: Heterophily and Oversmoothing in Graph Convolutional Neural Networks,
2021; ICDM 2022).

A layer maps H to V = H W + b and sums over the edges of A_hat = D^-1/2 (A + I) D^-1/2 other than self-loops:

    s_ij = A_hat_ij softplus(t_0 (sqrt(d_j / d_i) - 1) + t_1) cos(V_i, V_j)        degree correction, sign
    layer(H) = softplus(u) (c_0 S+ V + c_1 S- V + c_2 V),   c = softmax of three weights, S = S+ + S- by sign

    P_1 = elu(X W_0 + b_0) + dropout(elu(layer_1(X))),   P_l = P_(l-1) + eta_l dropout(elu(layer_l(P_(l-1))))
    class scores = layer_L(P_(L-1)),   eta_l = log(decay_rate / (l + 1)^decay_exponent + 1)

with dropout on X, too. Everything is computed edge by edge, in O(nnz(A) hidden) time and O(nnz(A)) memory besides V;
the released code fills n x n matrices (its sparse form in the backward pass). d are row sums of A + I on both sides, as
there. Deviation: the correction for degrees is that of the paper for weighted edges, too, where the released code
divides by the edge's weight.
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
from glognn.graph.pattern import Pattern
from glognn.graph.sparse import SparseMatrix
from glognn.models.base import NodeModel
from glognn.models.configs.handwritten import GGCNConfig
from glognn.nn.encoder import Linear
from glognn.ops.edges import edge_dot, edge_sum
from glognn.ops.sparse_dropout import DroppableMatrix, dropout_matmul, with_droppable_entries
from glognn.settings import configured_by

NEGLIGIBLE_NORM = 1e-6


class Edges(NamedTuple):
    """Edges without self-loops, from node i to neighbour j, with A_hat_ij and sqrt(d_j / d_i) - 1 of each."""

    pattern: Pattern
    weight: Tensor
    degree_ratio: Tensor


class GGCNInputs(NamedTuple):
    """Features, n x f, and the edges."""

    x: Tensor | DroppableMatrix
    edges: Edges


class SignedSum(nn.Module):
    """The layer after its linear map: from V, n x k, to the signed sum over neighbours."""

    def __init__(self) -> None:
        super().__init__()
        self.degree = nn.Parameter(torch.empty(2))
        self.mixing = nn.Parameter(torch.empty(3))
        self.scale = nn.Parameter(torch.empty(1))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        self.degree.copy_(torch.tensor([0.5, 0.0]))
        self.mixing.zero_()
        self.scale.fill_(2.0)

    def forward(self, value: Tensor, edges: Edges) -> Tensor:
        unit = F.normalize(value, eps=NEGLIGIBLE_NORM)
        cosine = edge_dot(edges.pattern, unit, unit)
        mixing = torch.softmax(self.mixing, dim=0)
        signed = mixing[0] * F.relu(cosine) - mixing[1] * F.relu(-cosine)
        correction = F.softplus(self.degree[0] * edges.degree_ratio + self.degree[1])
        gathered = edge_sum(edges.pattern, edges.weight * correction * signed, value)
        return F.softplus(self.scale) * (gathered + mixing[2] * value)


@configured_by(GGCNConfig)
class GGCN(NodeModel[GGCNInputs]):
    """Neighbours that differ send negated messages; the messages of later layers count less.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Not used; there so that every model is built alike.
    """

    config: GGCNConfig
    config_class = GGCNConfig

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int | None = None, **settings: Any) -> None:
        super().__init__(in_channels, out_channels, num_nodes, **settings)
        width, depth = self.config.hidden_channels, self.config.num_layers
        self.inputs = Linear(in_channels, 2 * width)
        self.maps = nn.ModuleList(Linear(width, width) for _ in range(depth - 2))
        self.maps.append(Linear(width, out_channels))
        self.sums = nn.ModuleList(SignedSum() for _ in range(depth))
        self.use_settings({name: getattr(self.config, name) for name in self.config.varying})

    def use_settings(self, values: Mapping[str, Any]) -> None:
        self.dropout, self.decay_rate, self.decay_exponent = (
            values[name] for name in ("dropout", "decay_rate", "decay_exponent")
        )

    def reset_parameters(self) -> None:
        for module in (self.inputs, *self.maps, *self.sums):
            assert isinstance(module, Linear | SignedSum)
            module.reset_parameters()

    def prepare(self, graph: Graph) -> GGCNInputs:
        x = with_droppable_entries(self._features(graph))
        others = graph.adjacency.derived("without-loops", without_loops)
        return GGCNInputs(x, graph.adjacency.kept("signed-edges", lambda matrix: _edges(matrix, others)))

    def logits(self, inputs: GGCNInputs) -> Tensor:
        width = self.config.hidden_channels
        mapped = dropout_matmul(inputs.x, self.inputs.weight, self.dropout, self.training) + self.inputs.bias
        kept, value = F.elu(mapped[:, :width]), mapped[:, width:]
        for number, (module, signed_sum) in enumerate(zip(self.maps, self.sums, strict=False), start=1):
            new = F.dropout(F.elu(signed_sum(value, inputs.edges)), self.dropout, self.training)
            kept = kept + (new if number == 1 else self._decay(number) * new)
            value = module(kept)
        out: Tensor = self.sums[-1](value, inputs.edges)
        return out

    def _decay(self, layer: int) -> Tensor:
        divisor = (layer + 1) ** self.decay_exponent
        return torch.log(torch.as_tensor(self.decay_rate / divisor + 1, dtype=torch.float64))


def _edges(matrix: SparseMatrix, others: SparseMatrix) -> Edges:
    """The entries of ``others``, which are those of the matrix off its diagonal."""
    looped = matrix.to_scipy().astype(np.float64) + sp.eye_array(matrix.shape[0])
    degree = torch.from_numpy(np.asarray(looped.sum(axis=1)).ravel()).to(matrix.device)
    node, neighbour = others.entries()
    weight = others.csr.values().double() / (degree[node] * degree[neighbour]).sqrt()
    ratio = (degree[neighbour] / degree[node]).sqrt() - 1
    return Edges(others.pattern, weight.to(matrix.dtype), ratio.to(matrix.dtype))
