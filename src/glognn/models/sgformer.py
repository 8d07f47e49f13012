"""SGFormer, PyTorch Geometric's (Wu et al., SGFormer: Simplifying and Empowering Transformers for Large-Graph
Representations, NeurIPS 2023).

    class scores = ((1 - g) T + g G) W,    or [T; G] W

with g ``graph_weight``, G a graph convolutional network with batch normalisation and a residual from its first layer,
and T layers of attention between all pairs of nodes, relu(norm((attention(Z) + Z) / 2)). One head of it is

    attention(Z) = (Q_bar (K_bar^T V) + n V) / (Q_bar (K_bar^T 1) + n),    Q = Z W_Q, K = Z W_K, V = Z W_V

where rows of Q_bar and K_bar have length 1: O(n hidden^2) and nothing n x n. PyTorch Geometric sorts nodes by graph and
pads them; here there is one graph, so neither is done. The released code has two rates of weight decay, this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn.attention import SGFormerAttention
from torch_geometric.nn.models import SGFormer as PyGSGFormer

from glognn.graph.graph import Graph
from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.models.base import NodeModel
from glognn.models.configs.pyg import SGFormerConfig
from glognn.models.pyg import Convolution, build, linear, propagation
from glognn.ops.activation import relu_dropout
from glognn.settings import configured_by

EPSILON = 1e-6
"""Takes the place of a zero in Q and K, as in PyTorch Geometric."""


class SGFormerInputs(NamedTuple):
    """Features, n x f, and A_hat with row i holding the edges that lead to node i."""

    x: Matrix
    propagation: SparseMatrix


class _Network(PyGSGFormer):  # type: ignore[misc]
    """PyTorch Geometric's network with prepared edges, one graph and, perhaps, sparse features; gives logits."""

    def __init__(self, in_channels: int, width: int, out_channels: int, **settings: Any) -> None:
        super().__init__(in_channels, width, out_channels, **settings)
        self.graph_conv.convs = nn.ModuleList(Convolution(width, width, centred=True) for _ in self.graph_conv.convs)

    def forward(self, x: Matrix, propagation: SparseMatrix) -> Tensor:
        everywhere, nearby = self._transformer(x), self._convolutions(x, propagation)
        if self.aggregate == "cat":
            both = torch.cat((everywhere, nearby), dim=1)
        else:
            both = self.graph_weight * nearby + (1 - self.graph_weight) * everywhere
        out: Tensor = self.fc(both)
        return out

    def _transformer(self, x: Matrix) -> Tensor:
        part = self.trans_conv
        hidden = relu_dropout(part.bns[0](linear(part.fcs[0], x)), part.dropout, self.training)
        for attention, norm in zip(part.attns, part.bns[1:], strict=True):
            mixed = norm((_attend(attention, hidden) + hidden) / 2)
            hidden = relu_dropout(mixed, part.dropout, self.training)
        return hidden

    def _convolutions(self, x: Matrix, propagation: SparseMatrix) -> Tensor:
        part = self.graph_conv
        mapped = linear(part.fcs[0], x, centred=True)
        first = relu_dropout(part.bns[0](mapped), part.dropout, self.training)
        hidden = first
        for conv, norm in zip(part.convs, part.bns[1:], strict=True):
            hidden = first + relu_dropout(norm(conv(hidden, propagation)), part.dropout, self.training)
        return hidden


def _attend(attention: SGFormerAttention, x: Tensor) -> Tensor:
    """Attention between all nodes, the mean over heads: n x hidden to n x hidden."""
    n, shape = x.shape[0], (attention.heads, attention.head_channels)
    query, key, value = (lin(x).unflatten(1, shape).transpose(0, 1) for lin in (attention.q, attention.k, attention.v))
    query, key = (F.normalize(torch.where(each == 0, EPSILON, each), dim=-1, eps=0.0) for each in (query, key))
    above = query @ (key.transpose(1, 2) @ value) + n * value
    below = query @ key.sum(dim=1).unsqueeze(-1) + n
    out: Tensor = (above / below).mean(dim=0)
    return out


@configured_by(SGFormerConfig)
class SGFormer(NodeModel[SGFormerInputs]):
    """One layer of attention between all pairs of nodes beside a graph convolutional network.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Not used; there so that every model is built alike.
    """

    config: SGFormerConfig
    config_class = SGFormerConfig

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int | None = None, **settings: Any) -> None:
        super().__init__(in_channels, out_channels, num_nodes, **settings)
        config = self.config
        parts = {
            "trans_num_layers": config.num_attention_layers,
            "trans_num_heads": config.heads,
            "trans_dropout": config.attention_dropout,
            "gnn_num_layers": config.num_layers,
            "gnn_dropout": config.dropout,
            "graph_weight": config.graph_weight,
            "aggregate": config.aggregate,
        }
        self.network = build(lambda: _Network(in_channels, config.hidden_channels, out_channels, **parts))

    def use_settings(self, values: Mapping[str, Any]) -> None:
        network = self.network
        network.graph_weight = values["graph_weight"]
        network.graph_conv.dropout, network.trans_conv.dropout = values["dropout"], values["attention_dropout"]

    @property
    def deterministic(self) -> bool:
        """Never: batch normalisation differs between training and evaluation."""
        return False

    def reset_parameters(self) -> None:
        self.network.reset_parameters()

    def prepare(self, graph: Graph) -> SGFormerInputs:
        return SGFormerInputs(self._features(graph), propagation(graph))

    def logits(self, inputs: SGFormerInputs) -> Tensor:
        out: Tensor = self.network(inputs.x, inputs.propagation)
        return out
