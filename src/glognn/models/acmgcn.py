"""ACM-GCN (Luan et al., Revisiting Heterophily For Graph Neural Networks, NeurIPS 2022; first 2021).

Each layer has three channels, mixed for each node by an attention over the channels:

    H_low = relu(A_hat X W_low),  H_high = relu((I - A_hat) X W_high),  H_own = relu(X W_own)
    [a_low, a_high, a_own] = softmax(sigmoid([H_low w_low, H_high w_high, H_own w_own]) M / 3)
    output = 3 (a_low H_low + a_high H_high + a_own H_own),      A_hat = D^-1 (A + I)

Dropout precedes every layer. The products with A_hat of both filters are one: its cost is O(nnz(A) 2 hidden). The
variants with layer normalisation or a channel for the adjacency (ACM-GCN+, ++) are other models. Deviation from the
released code: it has two layers, here their number is a setting.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glognn.graph.graph import Graph
from glognn.graph.sparse import SparseMatrix
from glognn.models.base import NodeModel
from glognn.models.configs.handwritten import ACMGCNConfig
from glognn.nn.initial import uniform_
from glognn.ops.products import spmm
from glognn.ops.sparse_dropout import DroppableMatrix, dropout_matmul, with_droppable_entries
from glognn.settings import configured_by

CHANNELS = 3


class ACMGCNInputs(NamedTuple):
    """Features, n x f, and the low-pass filter A_hat."""

    x: Tensor | DroppableMatrix
    low_pass: SparseMatrix


class ChannelMixing(nn.Module):
    """One layer; :attr:`weight` is W_low, W_high and W_own side by side, (in, 3 out)."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.out_channels = out_channels
        self.weight = nn.Parameter(torch.empty(in_channels, CHANNELS * out_channels))
        self.channel_attention = nn.Parameter(torch.empty(CHANNELS, out_channels))
        self.mixing = nn.Parameter(torch.empty(CHANNELS, CHANNELS))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        uniform_(self.weight, 1.0 / math.sqrt(self.out_channels))
        uniform_(self.channel_attention, 1.0)
        uniform_(self.mixing, 1.0 / math.sqrt(CHANNELS))

    def forward(self, x: Tensor | DroppableMatrix, low_pass: SparseMatrix, dropout: float) -> Tensor:
        width = self.out_channels
        mapped = dropout_matmul(x, self.weight, dropout, self.training)
        smooth = spmm(low_pass, mapped[:, : 2 * width])
        low, high, own = smooth[:, :width], mapped[:, width : 2 * width] - smooth[:, width:], mapped[:, 2 * width :]
        channels = F.relu(torch.stack([low, high, own], dim=1))
        affinity = torch.sigmoid((channels * self.channel_attention).sum(dim=-1))
        attention = torch.softmax(affinity @ self.mixing / CHANNELS, dim=1)
        return CHANNELS * (attention.unsqueeze(-1) * channels).sum(dim=1)


@configured_by(ACMGCNConfig)
class ACMGCN(NodeModel[ACMGCNInputs]):
    """Smoothed, sharpened and own features, mixed by each node as it needs.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Not used; there so that every model is built alike.
    """

    config: ACMGCNConfig
    config_class = ACMGCNConfig

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int | None = None, **settings: Any) -> None:
        super().__init__(in_channels, out_channels, num_nodes, **settings)
        widths = [in_channels, *[self.config.hidden_channels] * (self.config.num_layers - 1), out_channels]
        self.layers = nn.ModuleList(ChannelMixing(a, b) for a, b in pairwise(widths))
        self.dropout = self.config.dropout

    def use_settings(self, values: Mapping[str, Any]) -> None:
        self.dropout = values["dropout"]

    def reset_parameters(self) -> None:
        for layer in self.layers.children():
            assert isinstance(layer, ChannelMixing)
            layer.reset_parameters()

    def prepare(self, graph: Graph) -> ACMGCNInputs:
        return ACMGCNInputs(with_droppable_entries(self._features(graph)), graph.adjacency.normalized("row"))

    def logits(self, inputs: ACMGCNInputs) -> Tensor:
        first, *others = self.layers
        hidden: Tensor = first(inputs.x, inputs.low_pass, self.dropout)
        for layer in others:
            hidden = layer(hidden, inputs.low_pass, self.dropout)
        return hidden
