"""The graph convolutional network, PyTorch Geometric's (Kipf and Welling, ICLR 2017).

    H^(l+1) = dropout(relu(A_hat H^(l) W^(l))),    A_hat = D^-1/2 (A + I) D^-1/2

A self-loop of the data is taken for the one that I adds. Edges are followed as PyTorch Geometric does: a node gathers
from the nodes that point to it. A_hat is computed once, and the products are ours. GCN+ has these convolutions in the
layers of :mod:`glognn.models.classic`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import Tensor, nn
from torch_geometric.nn.models import GCN as PyGGCN

from glognn.graph.graph import Graph
from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.models.base import NodeModel
from glognn.models.classic import Classic
from glognn.models.configs.pyg import GCNConfig, GCNPlusConfig
from glognn.models.pyg import Convolution, build, propagation
from glognn.settings import configured_by


class GCNInputs(NamedTuple):
    """Features, n x f, and A_hat with row i holding the edges that lead to node i."""

    x: Matrix
    propagation: SparseMatrix


class _Network(PyGGCN):  # type: ignore[misc]
    def init_conv(self, in_channels: int, out_channels: int, **settings: Any) -> Convolution:
        return Convolution(in_channels, out_channels)


@configured_by(GCNConfig)
class GCN(NodeModel[GCNInputs]):
    """A graph convolutional network.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Not used; there so that every model is built alike.
    """

    config: GCNConfig
    config_class = GCNConfig

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int | None = None, **settings: Any) -> None:
        super().__init__(in_channels, out_channels, num_nodes, **settings)
        sizes = (in_channels, self.config.hidden_channels, self.config.num_layers, out_channels)
        self.network = build(lambda: _Network(*sizes, dropout=self.config.dropout))

    def use_settings(self, values: Mapping[str, Any]) -> None:
        self.network.dropout.p = values["dropout"]

    def reset_parameters(self) -> None:
        self.network.reset_parameters()

    def prepare(self, graph: Graph) -> GCNInputs:
        return GCNInputs(self._features(graph), propagation(graph))

    def logits(self, inputs: GCNInputs) -> Tensor:
        out: Tensor = self.network(inputs.x, inputs.propagation)
        return out


@configured_by(GCNPlusConfig)
class GCNPlus(Classic):
    """A graph convolutional network with residuals and normalisation, as deep as one likes.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Not used; there so that every model is built alike.
    """

    config: GCNPlusConfig
    config_class = GCNPlusConfig

    def _convolution(self, in_channels: int) -> nn.Module:
        return Convolution(in_channels, self.config.hidden_channels, centred=self.config.norm == "batch")

    def _edges(self, graph: Graph) -> SparseMatrix:
        return propagation(graph)
