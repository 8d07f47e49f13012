"""Initial weights, drawn in float64 on the CPU: a seed decides them whatever the precision and device."""

from __future__ import annotations

import math

import torch
from torch import Tensor


@torch.no_grad()
def uniform_(weight: Tensor, bound: float) -> None:
    """Uniform in [-bound, bound]; nothing is drawn for weights that are only counted."""
    if weight.is_meta:
        return
    weight.copy_(torch.empty(weight.shape, dtype=torch.float64).uniform_(-bound, bound))


def glorot_(weight: Tensor) -> None:
    """Uniform with the bound of Glorot and Bengio, over the last two dimensions (in, out)."""
    uniform_(weight, math.sqrt(6.0 / (weight.shape[-2] + weight.shape[-1])))
