"""Other models' layers as their papers write them, with n x n matrices. The package never imports this."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def propagation(A: Tensor) -> Tensor:
    """D^-1/2 (A + I) D^-1/2, where A[i, j] is an edge that leads to i and a loop of the data is the one of I."""
    looped = A.clone()
    missing = looped.diagonal() == 0
    looped.diagonal()[missing] = 1
    scale = looped.sum(dim=1).rsqrt()
    return scale[:, None] * looped * scale


def mixhop(P: Tensor, H: Tensor, weights: list[Tensor], bias: Tensor) -> Tensor:
    """|| over p of P^p H W_p."""
    return torch.cat([torch.linalg.matrix_power(P, p) @ H @ W for p, W in enumerate(weights)], dim=1) + bias


def gcnii(P: Tensor, H: Tensor, H0: Tensor, W: Tensor, alpha: float, theta: float, layer: int) -> Tensor:
    """((1 - alpha) P H + alpha H0) ((1 - beta) I + beta W)."""
    beta = math.log(theta / layer + 1)
    mapping = (1 - beta) * torch.eye(len(W), dtype=W.dtype) + beta * W
    return ((1 - alpha) * P @ H + alpha * H0) @ mapping


def directed(A: Tensor, kind: str) -> tuple[Tensor, Tensor]:
    """P and R of Dir-GNN for A[i, j] an edge from i to j; what divides by no edges is 0."""
    out_degree, in_degree = A.sum(dim=1), A.sum(dim=0)
    if kind == "gcn":
        P = out_degree.pow(-0.5).nan_to_num(posinf=0)[:, None] * A * in_degree.pow(-0.5).nan_to_num(posinf=0)
        return P, P.T
    P = A / out_degree.clamp(min=1e-300)[:, None]
    return P, A.T / in_degree.clamp(min=1e-300)[:, None]


def attention(A: Tensor, target: Tensor, source: Tensor, V: Tensor, slope: float) -> Tensor:
    """Of one head: softmax over the neighbours and the node itself of leaky_relu(target_i + source_j)."""
    scores = torch.nn.functional.leaky_relu(target[:, None] + source, slope)
    there = (A + torch.eye(len(A), dtype=A.dtype)) > 0
    return scores.masked_fill(~there, -torch.inf).softmax(dim=1) @ V


def incoming_mean(A: Tensor) -> Tensor:
    """Rows divided by their sum, where A[i, j] is an edge that leads to i; without edges 0."""
    return A / A.sum(dim=1, keepdim=True).clamp(min=1e-300)


def normalised(H: Tensor, dim: int, scale: Tensor, shift: Tensor) -> Tensor:
    """Mean 0 and variance 1 along a dimension, then scale and shift of each column."""
    centred = H - H.mean(dim=dim, keepdim=True)
    return centred / (centred.square().mean(dim=dim, keepdim=True) + 1e-5).sqrt() * scale + shift
