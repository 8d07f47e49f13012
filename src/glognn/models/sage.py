"""GraphSAGE with a mean over all neighbours (Hamilton et al., NeurIPS 2017), as a tuned classic.

    conv(H) = M H W,    M: row i averages over the nodes that point to node i, by the weights of edges

A node's own values have weights in GraphSAGE: they are what :mod:`glognn.models.classic` calls a residual, and always
there. Neighbours are not sampled.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from torch import Tensor, nn
from torch_geometric.nn.dense.linear import Linear

from glognn.graph.graph import Graph
from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.models.classic import Classic
from glognn.models.configs.pyg import SAGEPlusConfig
from glognn.ops.products import matmul, spmm
from glognn.settings import configured_by


class _Mean(Linear):  # type: ignore[misc]
    """M H W."""

    def forward(self, x: Matrix, mean: SparseMatrix) -> Tensor:
        return spmm(mean, matmul(x, self.weight.T))


@configured_by(SAGEPlusConfig)
class SAGEPlus(Classic):
    """GraphSAGE with normalisation, as deep as one likes.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Not used; there so that every model is built alike.
    """

    config: SAGEPlusConfig
    config_class = SAGEPlusConfig

    def _convolution(self, in_channels: int) -> nn.Module:
        mean: nn.Module = _Mean(in_channels, self.config.hidden_channels, bias=False, weight_initializer="glorot")
        return mean

    def _edges(self, graph: Graph) -> SparseMatrix:
        return graph.adjacency.derived("incoming-mean", _incoming_mean, symmetric=False)


def _incoming_mean(adjacency: sp.csr_array) -> sp.csr_array:
    arriving = np.asarray(adjacency.sum(axis=0)).ravel()
    return sp.csr_array(sp.diags_array(1 / np.where(arriving > 0, arriving, 1.0)) @ adjacency.T)
