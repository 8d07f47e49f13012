"""The equations of the baselines with n x n matrices and plain loops. The package never imports this."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

Weights = Mapping[str, Tensor]


def safe_power(total: Tensor, power: float) -> Tensor:
    return torch.where(total > 0, total.clamp(min=1e-300) ** power, 0.0)


def h2gcn(A: Tensor, X: Tensor, weights: Weights, num_rounds: int) -> Tensor:
    n = len(A)
    eye = torch.eye(n, dtype=A.dtype)
    first = A * (1 - eye)
    second = torch.zeros_like(A)
    for i in range(n):
        for j in range(n):
            if i != j and first[i, j] == 0 and any(first[i, k] > 0 and first[k, j] > 0 for k in range(n)):
                second[i, j] = 1
    rings = [safe_power(R.sum(1), -0.5)[:, None] * R * safe_power(R.sum(0), -0.5)[None, :] for R in (first, second)]
    rounds = [torch.relu(X @ weights["embedding"])]
    for _ in range(num_rounds):
        rounds.append(torch.cat([ring @ rounds[-1] for ring in rings], 1))
    return torch.cat(rounds, 1) @ weights["classifier"]


def symmetric(A: Tensor) -> Tensor:
    looped = A + torch.eye(len(A), dtype=A.dtype)
    return torch.diag(looped.sum(1) ** -0.5) @ looped @ torch.diag(looped.sum(0) ** -0.5)


def gprgnn(A: Tensor, X: Tensor, weights: Weights) -> Tensor:
    Z = torch.relu(X @ weights["hidden.weight"] + weights["hidden.bias"])
    Z = Z @ weights["scores.weight"] + weights["scores.bias"]
    power, total = torch.eye(len(A), dtype=A.dtype), torch.zeros_like(Z)
    for weight in weights["hop_weights"]:
        total = total + weight * power @ Z
        power = power @ symmetric(A)
    return total


def acmgcn(A: Tensor, X: Tensor, weights: Weights, num_layers: int) -> Tensor:
    looped = A + torch.eye(len(A), dtype=A.dtype)
    low_pass = torch.diag(1 / looped.sum(1)) @ looped
    high_pass = torch.eye(len(A), dtype=A.dtype) - low_pass
    H = X
    for layer in range(num_layers):
        W_low, W_high, W_own = weights[f"layers.{layer}.weight"].chunk(3, 1)
        channels = [torch.relu(low_pass @ H @ W_low), torch.relu(high_pass @ H @ W_high), torch.relu(H @ W_own)]
        vectors = weights[f"layers.{layer}.channel_attention"]
        affinity = torch.stack([torch.sigmoid(C @ w) for C, w in zip(channels, vectors, strict=True)], 1)
        attention = torch.softmax(affinity @ weights[f"layers.{layer}.mixing"] / 3, 1)
        H = 3 * sum(torch.diag(a) @ C for a, C in zip(attention.T, channels, strict=True))
    return H


def _signed_sum(A: Tensor, V: Tensor, weights: Weights, layer: int) -> Tensor:
    looped = A + torch.eye(len(A), dtype=A.dtype)
    d = looped.sum(1)
    A_hat = torch.diag(d**-0.5) @ A @ torch.diag(d**-0.5)
    t, c = weights[f"sums.{layer}.degree"], torch.softmax(weights[f"sums.{layer}.mixing"], 0)
    correction = F.softplus(t[0] * ((d[None, :] / d[:, None]) ** 0.5 - 1) + t[1])
    norms = V.norm(dim=1)
    S = A_hat * correction * (V @ V.T) / (norms[:, None] * norms[None, :])
    S = S * (1 - torch.eye(len(A), dtype=A.dtype))
    scale = F.softplus(weights[f"sums.{layer}.scale"])
    return scale * (c[0] * S.clamp(min=0) @ V + c[1] * S.clamp(max=0) @ V + c[2] * V)


def ggcn(A: Tensor, X: Tensor, weights: Weights, num_layers: int, rate: float, exponent: float) -> Tensor:
    kept, V = (X @ weights["inputs.weight"] + weights["inputs.bias"]).chunk(2, 1)
    P = F.elu(kept)
    for layer in range(1, num_layers):
        eta = 1.0 if layer == 1 else math.log(rate / (layer + 1) ** exponent + 1)
        P = P + eta * F.elu(_signed_sum(A, V, weights, layer - 1))
        V = P @ weights[f"maps.{layer - 1}.weight"] + weights[f"maps.{layer - 1}.bias"]
    return _signed_sum(A, V, weights, num_layers - 1)


def rings(A: np.ndarray, node: int, num_rings: int) -> list[list[int]]:
    """Nodes at distance 0, 1, ... of a node, edges going both ways."""
    linked = (A + A.T) > 0
    seen, found = {node}, [[node]]
    for _ in range(num_rings):
        reached = {int(j) for i in found[-1] for j in linked[i].nonzero()[0]} - seen
        seen |= reached
        found.append(sorted(reached))
    return found


def time_warping(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> float:
    """Of two lists of degrees with counts, by the recursion as it is written."""
    table = np.full((len(first) + 1, len(second) + 1), np.inf)
    table[0, 0] = 0
    for i, (d, c) in enumerate(first):
        for j, (e, f) in enumerate(second):
            cost = ((max(d, e) + 0.5) / (min(d, e) + 0.5) - 1) * max(c, f)
            table[i + 1, j + 1] = cost + min(table[i, j + 1], table[i + 1, j], table[i, j])
    return float(table[-1, -1])


def structural_distances(A: np.ndarray, u: int, v: int, num_rings: int) -> list[float]:
    """f_0, f_1, ...; infinite from the first empty ring on."""
    linked = ((A + A.T) > 0) & ~np.eye(len(A), dtype=bool)
    degrees, total, found = linked.sum(1), 0.0, []
    for ours, theirs in zip(rings(linked, u, num_rings), rings(linked, v, num_rings), strict=True):
        sequences = [sorted(Counter(int(degrees[i]) for i in ring).items()) for ring in (ours, theirs)]
        total += time_warping(*sequences) if ours and theirs else math.inf
        found.append(total)
    return found


def wrgat(relations: list[Tensor], X: Tensor, weights: Weights, num_layers: int) -> Tensor:
    """From the n x n weights of each relation."""
    H = X
    for layer in range(num_layers):
        W, *W_r = weights[f"layers.{layer}.weight"].chunk(1 + len(relations), 1)
        out = H @ W + weights[f"layers.{layer}.bias"]
        for r, relation in enumerate(relations):
            V = H @ W_r[r]
            p, q = weights[f"layers.{layer}.attention_node"][r], weights[f"layers.{layer}.attention_neighbour"][r]
            scores = F.leaky_relu((V @ p)[:, None] + (V @ q)[None, :], 0.2)
            scores = scores.masked_fill(relation == 0, -math.inf)
            linked = (relation != 0).any(1)
            attention = torch.zeros_like(relation)
            attention[linked] = torch.softmax(scores[linked], 1)
            out = out + (attention * relation) @ V
        H = torch.relu(out) if layer < num_layers - 1 else out
    return H
