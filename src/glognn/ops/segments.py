"""Softmax within groups of edges."""

from __future__ import annotations

import torch
from torch import Tensor


def segment_softmax(scores: Tensor, group: Tensor, num_groups: int) -> Tensor:
    """The softmax of scores among those of the same group; O(scores)."""
    fixed = scores.detach()
    largest = fixed.new_zeros(num_groups).scatter_reduce(0, group, fixed, "amax", include_self=False)
    powers = torch.exp(scores - largest.index_select(0, group))
    totals = torch.zeros_like(largest).index_add(0, group, powers)
    return powers / totals.index_select(0, group)
