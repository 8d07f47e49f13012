"""Polynormer, PyTorch Geometric's (Deng et al., Polynormer: Polynomial-Expressive Graph Transformer in Linear Time,
ICLR 2024).

    local:   Y = dropout(relu(norm(conv(X^(l-1)) + X^(l-1) W)))
             X^(l) = (1 - beta) norm(relu(X^(l-1) W_H) * Y) + beta Y
             Z = X^(1) + ... + X^(L);    class scores = Z W_local
    global:  Z <- dropout(relu((norm(S (S^T V) / S (S^T 1)) * (Z W_H + beta)) W_out)),    S = sigmoid(Z W_K), V = Z W_V
             class scores = Z W_global

conv is a graph convolution, or attention over neighbours as released; beta is a constant and batch normalisation is
there as in PyTorch Geometric, the released code learns beta and has none. Queries and keys share W_K, as released. The
first ``local_epochs`` epochs train the local part alone, then the global part follows it: :meth:`Polynormer.on_epoch`.
Which of the two a model computes is saved with its weights. The released code goes on from the best weights of the
first phase, here from the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn.attention import PolynormerAttention
from torch_geometric.nn.models import Polynormer as PyGPolynormer

from glognn.graph.graph import Graph
from glognn.graph.pattern import Pattern
from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.models.base import NodeModel
from glognn.models.configs.pyg import PolynormerConfig
from glognn.models.gat import Attention
from glognn.models.pyg import Convolution, build, dense_where_dropped, drop, linear, neighbours, propagation
from glognn.settings import configured_by

EPSILON = 1e-6
"""Added to the denominator of the attention, as in PyTorch Geometric."""


class PolynormerInputs(NamedTuple):
    """Features, n x f, and the edges that lead to each node: A_hat, or for attention which ones there are."""

    x: Matrix
    edges: SparseMatrix | Pattern


class _Network(PyGPolynormer):  # type: ignore[misc]
    """PyTorch Geometric's network with prepared edges, one graph and, perhaps, sparse features; gives logits."""

    def __init__(self, in_channels: int, out_channels: int, config: PolynormerConfig) -> None:
        width = config.heads * config.hidden_channels
        local = {"local_attn": config.convolution == "gat", "qk_shared": True, "beta": config.beta}
        dropouts = {"in_dropout": config.in_dropout, "dropout": config.dropout, "global_dropout": config.global_dropout}
        layers = {"local_layers": config.num_layers, "global_layers": config.num_global_layers, "heads": config.heads}
        super().__init__(in_channels, config.hidden_channels, out_channels, **layers, **local, **dropouts)
        self.lin_in = nn.LayerNorm(1, elementwise_affine=False)  # theirs has weights that nothing reads
        sizes = [in_channels] + [width] * (config.num_layers - 1)
        self.local_convs = nn.ModuleList(
            Convolution(size, width, centred=True)
            if config.convolution == "gcn"
            else Attention(size, config.hidden_channels, config.heads, bias=False)
            for size in sizes
        )
        self.global_attn = nn.ModuleList(  # theirs fits one head only
            PolynormerAttention(width, config.heads, config.hidden_channels, config.beta, dropout=config.global_dropout)
            for _ in range(config.num_global_layers)
        )

    def forward(self, x: Matrix, edges: SparseMatrix | Pattern, everywhere: bool) -> Tensor:
        total = self._local(drop(x, self.in_drop, self.training), edges)
        if not everywhere:
            out: Tensor = self.pred_local(total)
            return out
        hidden = self.ln(total)
        for attention in self.global_attn:
            hidden = _attend(attention, hidden)
        out = self.pred_global(hidden)
        return out

    def _local(self, x: Matrix, edges: SparseMatrix | Pattern) -> Tensor:
        outputs: list[Tensor] = []
        parts = zip(self.h_lins, self.local_convs, self.lins, self.post_bns, self.lns, strict=True)
        for gate, conv, lin, batch_norm, norm in parts:
            factor = F.relu(linear(gate, x))
            mixed = F.relu(batch_norm(conv(x, edges) + linear(lin, x, centred=True)))
            mixed = F.dropout(mixed, self.dropout, self.training)
            outputs.append((1 - self.beta) * norm(factor * mixed) + self.beta * mixed)
            x = outputs[-1]
        return sum(outputs[1:], outputs[0])


def _attend(attention: PolynormerAttention, x: Tensor) -> Tensor:
    """One layer of attention between all nodes, n x width to n x width; channels before heads, as theirs."""
    shape = (attention.head_channels, attention.heads)
    key, value = attention.k(x).sigmoid().unflatten(1, shape), attention.v(x).unflatten(1, shape)
    above = torch.einsum("ndh,dmh->nmh", key, torch.einsum("ndh,nmh->dmh", key, value))
    below = torch.einsum("ndh,dh->nh", key, key.sum(dim=0)).unsqueeze(1)
    reached = attention.lns((above / (below + EPSILON)).flatten(1)) * (attention.h_lins(x) + attention.beta)
    out: Tensor = attention.dropout(F.relu(attention.lin_out(reached)))
    return out


@configured_by(PolynormerConfig)
class Polynormer(NodeModel[PolynormerInputs]):
    """Products of hidden values with their neighbours' and, in a second phase of training, with all nodes'.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Not used; there so that every model is built alike.
    """

    config: PolynormerConfig
    config_class = PolynormerConfig

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int | None = None, **settings: Any) -> None:
        super().__init__(in_channels, out_channels, num_nodes, **settings)
        self.everywhere = False
        self.network = build(lambda: _Network(in_channels, out_channels, self.config))

    def use_settings(self, values: Mapping[str, Any]) -> None:
        network = self.network
        if self.config.in_dropout > 0:
            network.in_drop = values["in_dropout"]
        network.beta, network.dropout = values["beta"], values["dropout"]
        for attention in network.global_attn:
            attention.beta, attention.dropout.p = values["beta"], values["global_dropout"]

    @property
    def deterministic(self) -> bool:
        """Never: batch normalisation differs between training and evaluation."""
        return False

    def on_epoch(self, epoch: int) -> None:
        """The global part joins after ``local_epochs`` epochs."""
        self.everywhere = epoch > self.config.local_epochs

    def get_extra_state(self) -> Tensor:
        return torch.tensor(self.everywhere)

    def set_extra_state(self, state: Tensor) -> None:
        self.everywhere = bool(state)

    def reset_parameters(self) -> None:
        self.everywhere = False
        self.network.reset_parameters()

    def prepare(self, graph: Graph) -> PolynormerInputs:
        x = dense_where_dropped(self._features(graph), self.config.in_dropout)
        return PolynormerInputs(x, neighbours(graph) if self.config.convolution == "gat" else propagation(graph))

    def logits(self, inputs: PolynormerInputs) -> Tensor:
        out: Tensor = self.network(inputs.x, inputs.edges, self.everywhere)
        return out
