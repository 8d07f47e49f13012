"""GPR-GNN (Chien et al., Adaptive Universal Generalized PageRank Graph Neural Network, ICLR 2021).

    Z = W_2 dropout(relu(W_1 dropout(X)))
    class scores = sum_(k=0..K) gamma_k A_hat^k dropout'(Z),     A_hat = D^-1/2 (A + I) D^-1/2

The gamma_k are learned. They start as those of personalised PageRank with restart probability q: gamma_k = q (1 - q)^k,
and gamma_K = (1 - q)^K, so that they add up to 1. The sum is taken by Horner's rule: K sparse products of width
classes, and nothing but Z is kept for the gradient of the gamma_k.

Deviations from the released code: weight decay concerns the gamma_k, too, as training has one for every parameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glognn.graph.graph import Graph
from glognn.graph.sparse import SparseMatrix
from glognn.models.base import NodeModel
from glognn.models.configs.handwritten import GPRGNNConfig
from glognn.nn.encoder import Linear
from glognn.ops.activation import relu_dropout
from glognn.ops.products import spmm
from glognn.ops.sparse_dropout import DroppableMatrix, dropout_matmul, with_droppable_entries
from glognn.settings import configured_by


class GPRGNNInputs(NamedTuple):
    """Features, n x f, and A_hat."""

    x: Tensor | DroppableMatrix
    propagation: SparseMatrix


@configured_by(GPRGNNConfig)
class GPRGNN(NodeModel[GPRGNNInputs]):
    """A network on the features, its scores spread by a generalised PageRank with learned weights.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Not used; there so that every model is built alike.
    """

    config: GPRGNNConfig
    config_class = GPRGNNConfig

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int | None = None, **settings: Any) -> None:
        super().__init__(in_channels, out_channels, num_nodes, **settings)
        self.hidden = Linear(in_channels, self.config.hidden_channels)
        self.scores = Linear(self.config.hidden_channels, out_channels)
        self.hop_weights = nn.Parameter(torch.empty(self.config.num_hops + 1))
        self.dropout = self.config.dropout
        self.propagation_dropout = self.config.propagation_dropout
        self._reset_hops()

    def use_settings(self, values: Mapping[str, Any]) -> None:
        self.dropout, self.propagation_dropout = values["dropout"], values["propagation_dropout"]

    def reset_parameters(self) -> None:
        self.hidden.reset_parameters()
        self.scores.reset_parameters()
        self._reset_hops()

    @torch.no_grad()
    def _reset_hops(self) -> None:
        restart, last = self.config.restart, self.config.num_hops
        start = [restart * (1 - restart) ** k for k in range(last)] + [(1 - restart) ** last]
        self.hop_weights.copy_(torch.tensor(start, dtype=torch.float64))

    @property
    def deterministic(self) -> bool:
        return self.config.dropout == 0 and self.config.propagation_dropout == 0

    def prepare(self, graph: Graph) -> GPRGNNInputs:
        return GPRGNNInputs(with_droppable_entries(self._features(graph)), graph.adjacency.normalized("symmetric"))

    def logits(self, inputs: GPRGNNInputs) -> Tensor:
        last = self.config.num_hops
        hidden = dropout_matmul(inputs.x, self.hidden.weight, self.dropout, self.training) + self.hidden.bias
        scores = self.scores(relu_dropout(hidden, self.dropout, self.training))
        scores = F.dropout(scores, self.propagation_dropout, self.training)
        out: Tensor = self.hop_weights[last] * scores
        for k in range(last - 1, -1, -1):
            out = spmm(inputs.propagation, out) + self.hop_weights[k] * scores
        return out
