"""What the models on PyTorch Geometric's networks share: initial weights by seed, prepared edges, sparse features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.nn.conv.gcn_conv import GCNConv, gcn_norm

from glognn.graph.graph import Graph
from glognn.graph.pattern import Pattern
from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.ops.products import matmul, spmm


def build(network: Callable[[], Any]) -> Any:
    """A network whose initial weights are those of one ``reset_parameters``: PyTorch Geometric draws some twice."""
    state = torch.get_rng_state()
    built = network()
    torch.set_rng_state(state)
    built.reset_parameters()
    return built


def propagation(graph: Graph, *, outgoing: bool = False) -> SparseMatrix:
    """A_hat = D^-1/2 (A + I) D^-1/2 with row i holding the edges that lead to node i, as PyTorch Geometric has it.

    A self-loop of the data is taken for the one that I adds; D sums over the edges that lead to a node. With
    ``outgoing`` all of this is about the edges that leave a node.
    """
    name = "pyg-outgoing" if outgoing else "pyg-incoming"
    return graph.adjacency.kept(name, lambda matrix: _normalized(matrix, outgoing=outgoing))


def _normalized(matrix: SparseMatrix, *, outgoing: bool) -> SparseMatrix:
    ends = matrix.entries()
    edges = torch.stack(ends[::-1] if outgoing else ends)
    edges, weights = gcn_norm(edges, matrix.csr.values(), matrix.shape[0], dtype=matrix.dtype)
    coo = torch.sparse_coo_tensor(edges.flip(0), weights, matrix.shape, check_invariants=False)
    return SparseMatrix.from_torch(coo)


def neighbours(graph: Graph) -> Pattern:
    """For every node (row) the nodes that point to it, itself included."""
    return graph.adjacency.kept("pyg-neighbours", _looped)


def _looped(matrix: SparseMatrix) -> Pattern:
    given = matrix.transpose.to_scipy()
    given = sp.csr_array((np.ones(given.nnz), given.indices, given.indptr), shape=given.shape)
    looped = sp.csr_array(given + sp.eye_array(given.shape[0], format="csr"))
    return SparseMatrix.from_scipy(looped).to(device=matrix.device).pattern


def linear(layer: Any, x: Matrix, *, centred: bool = False) -> Tensor:
    """A linear layer on dense or sparse features; ``centred`` says that batch normalisation follows."""
    mapped = matmul(x, layer.weight.T)
    if layer.bias is None:
        return mapped
    return mapped + (centred_bias(layer) if centred else layer.bias)


def centred_bias(layer: Any) -> Tensor:
    """The bias of a layer whose output has its mean over all nodes taken away in training, and the bias with it.

    Its derivative is then 0. What a backward pass finds is left of rounding, and Adam, which divides by the size of
    derivatives, would make whole steps in directions of no meaning: so it is told 0.
    """
    bias: Tensor = layer.bias
    return bias.detach() + 0 * bias if layer.training else bias


def dense_where_dropped(x: Matrix, dropout: float) -> Matrix:
    """Features that :func:`drop` can drop a share of: dense, unless there is no dropout."""
    return x.csr.to_dense() if dropout > 0 and isinstance(x, SparseMatrix) else x


def drop(x: Matrix, dropout: float, training: bool) -> Matrix:
    """Dropout on features that :func:`dense_where_dropped` prepared."""
    return x if isinstance(x, SparseMatrix) else F.dropout(x, dropout, training)


class Convolution(GCNConv):  # type: ignore[misc]
    """PyTorch Geometric's graph convolution with prepared edges and, perhaps, sparse features.

    ``centred`` says that batch normalisation follows.
    """

    def __init__(self, in_channels: int, out_channels: int, *, centred: bool = False) -> None:
        super().__init__(in_channels, out_channels, normalize=False)
        self.centred = centred

    def forward(self, x: Matrix, propagation: SparseMatrix, edge_weight: None = None) -> Tensor:
        bias = centred_bias(self) if self.centred else self.bias
        out: Tensor = spmm(propagation, matmul(x, self.lin.weight.T)) + bias
        return out
