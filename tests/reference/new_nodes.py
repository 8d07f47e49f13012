"""New nodes beside frozen ones, as maths.md writes it: dense, on the extended graph, in float64."""

from __future__ import annotations

import torch
from torch import Tensor

from glognn.graph.graph import Graph
from glognn.models.glognn import GloGNN
from tests.reference.dense import reachability


def extended_adjacency(A: Tensor, known: int, normalization: str) -> Tensor:
    """Normalised rows of all nodes; those of known nodes as they are without the new ones."""
    full, alone = (normalized(matrix, normalization) for matrix in (A, A[:known, :known]))
    out = torch.zeros_like(A)
    out[:known, :known] = alone
    out[known:] = full[known:]
    if normalization == "symmetric":  # degrees of known columns stay too
        change = (1 + A[:, :known].sum(0)).sqrt() / (1 + A[:known, :known].sum(0)).sqrt()
        out[known:, :known] *= change
    return out


def normalized(A: Tensor, name: str) -> Tensor:
    if name == "none":
        return A
    looped = A + torch.eye(len(A), dtype=A.dtype)
    if name == "row":
        return looped / looped.sum(1, keepdim=True)
    return looped.sum(1, keepdim=True) ** -0.5 * looped * looped.sum(0, keepdim=True) ** -0.5


def new_scores(model: GloGNN, graph: Graph, x: Tensor, A: Tensor) -> Tensor:
    """``x`` and ``A``: features of all nodes and raw adjacency of the extended graph; new nodes come last."""
    config, layer, known = model.config, model.layer, graph.num_nodes
    g, b = config.gamma, config.beta1 + config.beta2
    rows = extended_adjacency(A, known, config.normalization)
    H0 = model.encoder({"features": x, "adjacency": rows[:, :known]}).detach()
    c = H0.shape[1]
    S = torch.eye(c, dtype=H0.dtype) if layer.scale is None else torch.diag(layer.scale.detach())
    P = torch.zeros_like(A) if layer.hops is None else reachability(rows, layer.hops.weight.detach())
    H = H0
    for _ in range(config.num_layers):
        U = H[:known] if layer.coefficient == "released" else H[:known] @ S
        B = (1 - g) * torch.linalg.inv(b * torch.eye(c, dtype=H.dtype) + (1 - g) ** 2 * U.T @ U)
        T = U.T @ U @ B
        if layer.coefficient == "released":
            B, T = B @ S, S @ T @ S
        Q = (H if layer.coefficient == "released" else H @ S) @ B
        H = (1 - g) * (H - g * H0) @ T + config.beta2 * P @ Q + g * H0
    return H[known:]
