"""GCNII, on PyTorch Geometric's layer (Chen et al., Simple and Deep Graph Convolutional Networks, ICML 2020).

    H^(0)   = relu(X W_in)
    S^(l)   = (1 - alpha) A_hat dropout(H^(l-1)) + alpha H^(0),    A_hat = D^-1/2 (A + I) D^-1/2
    H^(l)   = relu((1 - beta_l) S^(l) + beta_l S^(l) W^(l)),       beta_l = log(theta / l + 1)
    class scores = dropout(H^(L)) W_out

The initial residual (alpha is ``residual_weight``) and the identity mapping let it be deep: the published settings have
64 layers on the citation graphs, with dropout on the features too (``in_dropout``). GCNII* (``shared_weights`` off) has
a second matrix for H^(0). The released code stops by the validation loss, training here by the score. It also
keeps the directions of Chameleon's and the web graphs' edges and gathers along them backwards (``outgoing``): a page
looks at the pages that it links to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn.conv import GCN2Conv

from glognn.graph.graph import Graph
from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.models.base import NodeModel
from glognn.models.configs.pyg import GCNIIConfig
from glognn.models.pyg import build, dense_where_dropped, drop, linear, propagation
from glognn.ops.activation import relu_dropout
from glognn.ops.products import spmm
from glognn.settings import configured_by


class GCNIIInputs(NamedTuple):
    """Features, n x f, and A_hat with row i holding the edges that lead to node i, or those that leave it."""

    x: Matrix
    propagation: SparseMatrix


class _Convolution(GCN2Conv):  # type: ignore[misc]
    """PyTorch Geometric's layer with prepared edges."""

    def forward(self, x: Tensor, x_0: Tensor, propagation: SparseMatrix) -> Tensor:
        reached, initial = (1 - self.alpha) * spmm(propagation, x), self.alpha * x_0
        if self.weight2 is None:
            return self._mapped(reached + initial, self.weight1)
        return self._mapped(reached, self.weight1) + self._mapped(initial, self.weight2)

    def _mapped(self, x: Tensor, weight: Tensor) -> Tensor:
        """(1 - beta) x + beta x W as one product; beta may be a tensor."""
        identity = torch.eye(len(weight), dtype=weight.dtype, device=weight.device)
        mapped: Tensor = x @ ((1 - self.beta) * identity + self.beta * weight)
        return mapped


class _Network(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, config: GCNIIConfig) -> None:
        super().__init__()
        self.in_dropout, self.dropout = config.in_dropout, config.dropout
        width = config.hidden_channels
        self.lin_in = nn.Linear(in_channels, width)
        self.convs = nn.ModuleList(
            _Convolution(width, config.residual_weight, config.theta, layer, config.shared_weights)
            for layer in range(1, config.num_layers + 1)
        )
        self.lin_out = nn.Linear(width, out_channels)

    def reset_parameters(self) -> None:
        for module in (self.lin_in, *self.convs, self.lin_out):
            module.reset_parameters()

    def forward(self, x: Matrix, propagation: SparseMatrix) -> Tensor:
        initial = F.relu(linear(self.lin_in, drop(x, self.in_dropout, self.training)))
        hidden = F.dropout(initial, self.dropout, self.training)
        for conv in self.convs:
            hidden = relu_dropout(conv(hidden, initial, propagation), self.dropout, self.training)
        out: Tensor = self.lin_out(hidden)
        return out


@configured_by(GCNIIConfig)
class GCNII(NodeModel[GCNIIInputs]):
    """A deep graph convolutional network with initial residual and identity mapping.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Not used; there so that every model is built alike.
    """

    config: GCNIIConfig
    config_class = GCNIIConfig

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int | None = None, **settings: Any) -> None:
        super().__init__(in_channels, out_channels, num_nodes, **settings)
        self.network = build(lambda: _Network(in_channels, out_channels, self.config))

    def use_settings(self, values: Mapping[str, Any]) -> None:
        network = self.network
        if self.config.in_dropout > 0:
            network.in_dropout = values["in_dropout"]
        network.dropout = values["dropout"]
        for layer, conv in enumerate(network.convs, start=1):
            conv.alpha = values["residual_weight"]
            conv.beta = torch.log(torch.as_tensor(values["theta"]) / layer + 1)

    @property
    def deterministic(self) -> bool:
        return super().deterministic and self.config.in_dropout == 0

    def reset_parameters(self) -> None:
        self.network.reset_parameters()

    def prepare(self, graph: Graph) -> GCNIIInputs:
        edges = propagation(graph, outgoing=self.config.outgoing)
        return GCNIIInputs(dense_where_dropped(self._features(graph), self.config.in_dropout), edges)

    def logits(self, inputs: GCNIIInputs) -> Tensor:
        out: Tensor = self.network(inputs.x, inputs.propagation)
        return out
