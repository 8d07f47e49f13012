"""LINKX, PyTorch Geometric's (Lim et al., Large Scale Learning on Non-Homophilous Graphs, NeurIPS 2021).

    scores = MLP(relu(W [h_A; h_X] + h_A + h_X)),    h_A = MLP_A(A),    h_X = MLP_X(X)

A row of A lists the nodes that point to a node, as in PyTorch Geometric. The networks hold batch normalisation where
they have hidden layers. The products with A and with sparse features are ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch_geometric.nn.dense import Linear
from torch_geometric.nn.models import LINKX as PyGLINKX
from torch_geometric.nn.models.linkx import SparseLinear

from glognn.distributed.node_rows import NodeRows
from glognn.graph.extension import Extension
from glognn.graph.graph import Graph
from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.models.base import NodeModel
from glognn.models.configs.pyg import LINKXConfig
from glognn.models.pyg import build, linear
from glognn.ops.products import spmm
from glognn.settings import configured_by


class LINKXInputs(NamedTuple):
    """Features, n x f, dense or sparse, and the transposed adjacency: row i holds the edges that lead to node i."""

    x: Matrix
    incoming: SparseMatrix


class _EdgeLinear(SparseLinear):  # type: ignore[misc]
    """PyTorch Geometric's linear map of the adjacency, with prepared edges; on several ranks the rows of own nodes."""

    rows: NodeRows | None = None

    def reset_parameters(self) -> None:
        if self.rows is None:
            super().reset_parameters()
            return
        bound = 1 / math.sqrt(self.rows.total)
        with torch.no_grad():
            self.weight.copy_(self.rows.drawn(self.out_channels, lambda block: block.uniform_(-bound, bound)))
            self.bias.uniform_(-bound, bound)

    def forward(self, incoming: SparseMatrix, edge_weight: None = None) -> Tensor:
        out: Tensor = spmm(incoming, self.weight) + self.bias
        return out


class _FeatureLinear(Linear):  # type: ignore[misc]
    """PyTorch Geometric's linear map, of dense or sparse features."""

    def forward(self, x: Matrix) -> Tensor:
        return linear(self, x)


@configured_by(LINKXConfig)
class LINKX(NodeModel[LINKXInputs]):
    """Networks on the adjacency and on the features, added up.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Number of nodes; every node has weights of its own.
    """

    config: LINKXConfig
    config_class = LINKXConfig

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int | None = None, **settings: Any) -> None:
        super().__init__(in_channels, out_channels, num_nodes, **settings)
        if num_nodes is None:
            raise self._error("num_nodes", "the number of nodes", num_nodes)
        self.network = build(lambda: self._network(num_nodes))

    def _network(self, num_nodes: int) -> Any:
        config = self.config
        network = PyGLINKX(
            num_nodes,
            self.in_channels,
            config.hidden_channels,
            self.out_channels,
            config.num_layers,
            num_edge_layers=config.num_edge_layers,
            num_node_layers=config.num_node_layers,
            dropout=config.dropout,
        )
        network.edge_lin = _EdgeLinear(num_nodes, config.hidden_channels)
        network.node_mlp.lins[0] = _FeatureLinear(self.in_channels, config.hidden_channels)
        return network

    @property
    def deterministic(self) -> bool:
        """Never: batch normalisation differs between training and evaluation."""
        return False

    def use_settings(self, values: Mapping[str, Any]) -> None:
        mlp = self.network.final_mlp
        mlp.dropout = [values["dropout"]] * (len(mlp.dropout) - 1) + [0.0]

    def reset_parameters(self) -> None:
        self.network.reset_parameters()

    def prepare(self, graph: Graph) -> LINKXInputs:
        self._check_num_nodes(graph)
        return LINKXInputs(self._features(graph), graph.adjacency.matrix.transpose)

    def logits(self, inputs: LINKXInputs) -> Tensor:
        out: Tensor = self.network(inputs.x, inputs.incoming)
        return out

    def freeze(self, inputs: LINKXInputs) -> None:
        """Nothing: a node is scored by its own features and edges."""

    def new_logits(self, frozen: None, extension: Extension) -> Tensor:
        assert extension.x is not None
        return self.logits(LINKXInputs(extension.x, extension.incoming()))
