"""What each node adds to the scores of every node, from dense n x n matrices. The package never imports this."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def through_last(
    Z: Tensor, H: Tensor, H0: Tensor, S: Tensor, gamma: float, tau: float
) -> tuple[Tensor, dict[str, Tensor]]:
    """By pairs of nodes, n x n x c, what node j adds to node i; and what a node's own rows add, n x c each."""
    by_node = tau * (1 - gamma) * torch.einsum("ij,jk,k->ijk", Z, H, S.diagonal())
    return by_node, {"initial embedding": tau * gamma * H0, "input of the last layer": (1 - tau) * H}


def through_all(Zs: Sequence[Tensor], H0: Tensor, S: Tensor, gamma: float, tau: float) -> Tensor:
    """By pairs of nodes, n x n x c, down to H0: a matrix for each class, layer after layer."""
    n, c = H0.shape
    identity, found = torch.eye(n, dtype=H0.dtype), []
    for k in range(c):
        R = identity
        for Z in Zs:
            R = (tau * (1 - gamma) * S[k, k] * Z + (1 - tau) * identity) @ R + tau * gamma * identity
        found.append(R * H0[:, k])
    return torch.stack(found, dim=2)
