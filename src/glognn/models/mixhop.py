"""MixHop, on PyTorch Geometric's layer (Abu-El-Haija et al., ICML 2019).

    H^(l+1) = dropout(relu(|| over p = 0..K of A_hat^p H^(l) W_p^(l))),    A_hat = D^-1/2 (A + I) D^-1/2
    class scores = H^(L) W

|| puts the K + 1 results side by side, so a hidden layer is (K + 1) ``hidden_channels`` wide. Here A_hat^p (H W_p) is
computed instead of (A_hat^p H) W_p, which is the same and needs neither dense features nor products as wide as they
are: K (K + 1) / 2 products of width ``hidden_channels``. ``batch_norm`` puts batch normalisation before the
nonlinearity, as the large-scale benchmark of Lim et al. (NeurIPS 2021) does. The widths of the W_p are all the same:
the paper's search over them is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.nn.conv import MixHopConv

from glognn.graph.graph import Graph
from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.models.base import NodeModel
from glognn.models.configs.pyg import MixHopConfig
from glognn.models.pyg import build, centred_bias, propagation
from glognn.ops.activation import relu_dropout
from glognn.ops.products import matmul, spmm
from glognn.settings import configured_by


class MixHopInputs(NamedTuple):
    """Features, n x f, and A_hat with row i holding the edges that lead to node i."""

    x: Matrix
    propagation: SparseMatrix


class _Convolution(MixHopConv):  # type: ignore[misc]
    """PyTorch Geometric's layer with prepared edges and, perhaps, sparse features.

    ``centred`` says that batch normalisation follows.
    """

    centred = False

    def forward(self, x: Matrix, propagation: SparseMatrix) -> Tensor:
        mapped = matmul(x, torch.cat([lin.weight for lin in self.lins]).T)
        first, reached = mapped[:, : self.out_channels], mapped[:, self.out_channels :]
        parts = [first]
        while reached.shape[1]:
            reached = spmm(propagation, reached)
            parts.append(reached[:, : self.out_channels])
            reached = reached[:, self.out_channels :]
        out: Tensor = torch.cat(parts, dim=1) + (centred_bias(self) if self.centred else self.bias)
        return out


class _Network(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, config: MixHopConfig) -> None:
        super().__init__()
        self.dropout = config.dropout
        width = config.hidden_channels * (config.num_hops + 1)
        sizes = [in_channels] + [width] * (config.num_layers - 1)
        powers = list(range(config.num_hops + 1))
        convs = [_Convolution(size, config.hidden_channels, powers) for size in sizes]
        for conv in convs:
            conv.centred = config.batch_norm
        self.convs = nn.ModuleList(convs)
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in sizes if config.batch_norm)
        self.lin = nn.Linear(width, out_channels)

    def reset_parameters(self) -> None:
        for module in (*self.convs, *self.norms, self.lin):
            module.reset_parameters()

    def forward(self, x: Matrix, propagation: SparseMatrix) -> Tensor:
        for index, conv in enumerate(self.convs):
            mixed = conv(x, propagation)
            mixed = self.norms[index](mixed) if self.norms else mixed
            x = relu_dropout(mixed, self.dropout, self.training)
        out: Tensor = self.lin(x)
        return out


@configured_by(MixHopConfig)
class MixHop(NodeModel[MixHopInputs]):
    """Neighbourhoods of several distances side by side in every layer.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Not used; there so that every model is built alike.
    """

    config: MixHopConfig
    config_class = MixHopConfig

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int | None = None, **settings: Any) -> None:
        super().__init__(in_channels, out_channels, num_nodes, **settings)
        self.network = build(lambda: _Network(in_channels, out_channels, self.config))

    def use_settings(self, values: Mapping[str, Any]) -> None:
        self.network.dropout = values["dropout"]

    @property
    def deterministic(self) -> bool:
        """Not with batch normalisation, which differs between training and evaluation."""
        return super().deterministic and not self.config.batch_norm

    def reset_parameters(self) -> None:
        self.network.reset_parameters()

    def prepare(self, graph: Graph) -> MixHopInputs:
        return MixHopInputs(self._features(graph), propagation(graph))

    def logits(self, inputs: MixHopInputs) -> Tensor:
        out: Tensor = self.network(inputs.x, inputs.propagation)
        return out
