r"""GloGNN and GloGNN++ the way they were released, to compare our speed with.

Written from the paper and from what is known of the authors' programs, to cost what theirs cost: float64, dense
features, an adjacency of coordinates, both branches of the encoder computed whatever alpha is, a Woodbury form with a
general c x c inverse, every constant a tensor, an optimiser that is not fused, and an evaluation that shares nothing
with the step. They have two programs. That of the small datasets keeps gradients in the evaluation, and draws a dropout
of the features that it then does not use; that of the large ones (three linear maps in the encoder) does neither.

Left out is one thing: the small program's GloGNN++ also computes, and drops, a dense n x n coefficient matrix in every
pass, which would make every ratio 55 to 2,200 times larger and mean nothing.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glognn.bench.method import EpochByEpoch
from glognn.errors import InputError
from glognn.experiments.config import RunConfig
from glognn.graph.graph import Graph
from glognn.graph.sparse import SparseMatrix
from glognn.models.configs import GloGNNConfig, GloGNNPlusPlusConfig


class ReleasedNetwork(nn.Module):
    r"""The released network, n x c log-probabilities from dense X and sparse A.

    With b = beta1 + beta2, g = gamma and, for GloGNN++, the diagonal S:

    .. math::
        Q &= \left[\tfrac{1-g}{b} H - \tfrac{1-g}{b^2} H
             \left(\tfrac{1}{(1-g)^2} I_c + \tfrac1b H^\top H\right)^{-1} H^\top H\right] S \\
        H' &= (1-g) H\, S H^\top Q + \beta_2 \sum_k \lambda_k A^k Q - g (1-g) H^{(0)} S H^\top Q + g H^{(0)}

    g = 1 divides by zero, as in the original.

    Args:
        in_channels: f.
        out_channels: c.
        num_nodes: n.
        config: Settings of GloGNN or GloGNN++ with the "hidden" fusion and two or three linear maps.
    """

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int, config: GloGNNConfig) -> None:
        super().__init__()
        hidden, hops = config.hidden_channels, config.num_hops
        self.config = config
        self.large = config.num_encoder_layers == 3
        self.from_features = nn.Linear(in_channels, hidden)
        self.from_adjacency = nn.Linear(num_nodes, hidden)
        self.between = nn.Linear(hidden, hidden) if self.large else None
        self.to_classes = nn.Linear(hidden, out_channels)
        self.hop_weights = nn.Parameter(torch.full((hops, 1), 1.0 / hops, dtype=torch.float64))
        plus_plus = isinstance(config, GloGNNPlusPlusConfig)
        scale = torch.full((out_channels, 1), 1.0 / out_channels, dtype=torch.float64)
        self.scale = nn.Parameter(scale) if plus_plus else None
        for name in ("alpha", "beta1", "beta2", "gamma"):
            self.register_buffer(name, torch.tensor(getattr(config, name), dtype=torch.float64))
        self.register_buffer("identity", torch.eye(out_channels))
        self.alpha: Tensor
        self.beta1: Tensor
        self.beta2: Tensor
        self.gamma: Tensor
        self.identity: Tensor

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        dropout = self.config.dropout
        if not self.large:
            F.dropout(x, dropout, self.training)  # drawn and not used, as released
        mixed = (1 - self.alpha) * self.from_features(x) + self.alpha * self.from_adjacency(adjacency)
        hidden = F.dropout(F.relu(mixed), dropout, self.training)
        if self.between is not None:
            hidden = F.dropout(F.relu(self.between(hidden)), dropout, self.training)
        H0: Tensor = self.to_classes(hidden)
        H = H0
        for _ in range(self.config.num_layers):
            H = self._layer(H, H0, adjacency)
        return F.log_softmax(H, dim=1)

    def _layer(self, H: Tensor, H0: Tensor, adjacency: Tensor) -> Tensor:
        inverse_b = 1.0 / (self.beta1 + self.beta2)
        keep = 1 - self.gamma
        inverse_keep = 1.0 / keep
        gram = torch.mm(H.t(), H)
        inverse = torch.inverse(inverse_keep * inverse_keep * self.identity + inverse_b * gram)
        Q = keep * inverse_b * H - keep * inverse_b * inverse_b * torch.mm(H, torch.mm(inverse, gram))
        if self.scale is not None:
            Q = Q * self.scale.t()
        mixing = torch.mm(H.t(), Q)
        if self.scale is not None:
            mixing = self.scale * mixing
        reached = self.beta2 * self._hops(Q, adjacency)
        return keep * torch.mm(H, mixing) + reached - self.gamma * keep * torch.mm(H0, mixing) + self.gamma * H0

    def _hops(self, Q: Tensor, adjacency: Tensor) -> Tensor:
        """Sum of lambda_k A^k Q, the powers one after another and each weighted on its own."""
        power = torch.spmm(adjacency, Q)
        total: Tensor = power * self.hop_weights[0]
        for weight in self.hop_weights[1:]:
            power = torch.spmm(adjacency, power)
            total = total + power * weight
        return total


def coordinates(matrix: SparseMatrix, *, coalesced: bool) -> Tensor:
    """A matrix as float64 coordinates; sorted, but marked so only when wanted (their small program does not)."""
    csr = matrix.csr
    rows = torch.arange(csr.shape[0], device=csr.device).repeat_interleave(csr.crow_indices().diff().to(torch.int64))
    indices = torch.stack([rows, csr.col_indices().to(torch.int64)])
    return torch.sparse_coo_tensor(
        indices, csr.values().double(), csr.shape, is_coalesced=coalesced or None, check_invariants=False
    )


class Released(EpochByEpoch):
    """The released training: its network, its optimiser, its evaluation."""

    def __init__(self, config: RunConfig, graph: Graph, split: int, device: torch.device) -> None:
        super().__init__(graph, split, device)
        model = config.model
        assert isinstance(model, GloGNNConfig)
        if graph.x is None:
            raise InputError("The released method reads features, and the graph has none: leave it out of --models.")
        if model.fusion != "hidden" or model.num_encoder_layers not in (2, 3):
            raise InputError("The released method has 2 or 3 linear maps in the encoder, fused at the hidden layer.")
        graph = graph.to(device=device, dtype=torch.float64)
        x = graph.x
        self.x = x.csr.to_dense() if isinstance(x, SparseMatrix) else x
        self.adjacency = coordinates(
            graph.adjacency.normalized(model.normalization), coalesced=model.num_encoder_layers == 3
        )
        with torch.random.fork_rng([]):
            torch.manual_seed(config.training.seed)
            network = ReleasedNetwork(graph.num_features, graph.num_classes, graph.num_nodes, model)
        self.network: ReleasedNetwork = network.to(device=device, dtype=torch.float64)
        kind = torch.optim.Adam if config.training.optimizer == "adam" else torch.optim.AdamW
        self.optimizer = kind(
            self.network.parameters(), lr=config.training.learning_rate, weight_decay=config.training.weight_decay
        )

    def outputs(self) -> Tensor:
        out: Tensor = self.network(self.x, self.adjacency)
        return out

    def evaluate(self) -> Tensor:
        if self.network.large:
            return super().evaluate()
        self.network.eval()
        return self.outputs()

    def loss(self, outputs: Tensor, name: str) -> Tensor:
        return F.nll_loss(outputs[self.nodes[name]], self.labels[name])

    def facts(self) -> dict[str, Any]:
        return {
            "settings": self.network.config.as_dict(),
            "precision": "float64",
            "inputs": "dense features, coordinate adjacency",
            "num_parameters": self.num_parameters(),
        }
