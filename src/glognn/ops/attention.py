"""Attention over neighbours: sums whose weights are learnt, one for each entry and head.

PyTorch Geometric gathers a matrix of edges x channels instead, which takes several times the memory and, on a CPU, the
time.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from glognn.graph.pattern import Pattern
from glognn.ops.edges import edge_dot, edge_sum, folded


class _RowMaximum(torch.autograd.Function):
    """The largest entry of each row; a constant, because softmax does not depend on it."""

    @staticmethod
    def forward(pattern: Pattern, scores: Tensor) -> Tensor:
        starts = pattern.starts.to(torch.int64).expand(len(scores), -1).contiguous()
        return torch.segment_reduce(scores.contiguous(), "max", offsets=starts, axis=1, unsafe=True)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Pattern, Tensor], output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None]:
        return None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, pattern: Pattern, scores: Tensor) -> tuple[Tensor, int]:
        return folded(lambda s: _RowMaximum.apply(pattern, s), info.batch_size, in_dims[1:], scores), 0  # type: ignore[no-untyped-call]


def neighbour_attention(
    pattern: Pattern,
    target: Tensor,
    source: Tensor,
    dense: Tensor,
    *,
    slope: float = 0.2,
    dropout: float = 0.0,
) -> Tensor:
    """The additive attention of Velickovic et al. (ICLR 2018): for every node and head a mean of its neighbours.

    out[i] = sum over j of a[i, j] dense[j], with a[i, :] the softmax of leaky_relu(target[i] + source[j]) over the
    entries of row i. Numerator and denominator are summed apart, so that the a[i, j] are never divided one by one;
    dropout zeroes terms of the numerator, as it would zero a[i, j]. The sums target[i] + source[j] are entries of a
    matrix of rank 2, whose gradient is two sparse products. Cost: O(heads nnz channels) time and
    O(heads (nnz + n channels)) memory.

    Args:
        pattern: Which nodes (columns) a node (row) gathers from; every row has an entry.
        target: heads x n, what a node contributes to the scores of its row.
        source: heads x n, what it contributes to those of its column.
        dense: heads x n x channels, what is averaged.
        slope: Of the leaky rectifier.
        dropout: Share of the coefficients zeroed, others scaled up; pass 0 in evaluation.
    """
    ones = torch.ones_like(target)
    sums = edge_dot(pattern, torch.stack((target, ones), dim=-1), torch.stack((ones, source), dim=-1))
    scores = F.leaky_relu(sums, slope)
    highest: Tensor = _RowMaximum.apply(pattern, scores.detach())  # type: ignore[no-untyped-call]
    weights = torch.exp(scores - highest.index_select(1, pattern.rows))
    total = edge_sum(pattern, weights, ones.unsqueeze(-1))
    return edge_sum(pattern, F.dropout(weights, dropout), dense) / total
