"""Sums over neighbours whose weights are learnt: one weight for each edge and head.

Everything is laid out heads first (heads x entries, heads x nodes x channels), because a sparse product wants the
weights of one head side by side, and because ``vmap`` then only adds heads. PyTorch Geometric gathers a matrix of edges
x channels instead, which takes several times the memory and, on a CPU, the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor

from glognn.graph.sparse import SparseMatrix


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where an n x n matrix has entries, row by row, with its transpose.

    Args:
        starts: First entry of each row, and the number of entries.
        rows: Row of each entry.
        columns: Column of each entry.
        order: For each entry of the transpose, its number here.
        back: For each entry here, its number in the transpose.
        transposed: ``starts``, ``rows`` and ``columns`` of the transpose.
    """

    starts: Tensor
    rows: Tensor
    columns: Tensor
    order: Tensor
    back: Tensor
    transposed: tuple[Tensor, Tensor, Tensor]

    @classmethod
    def with_loops(cls, matrix: SparseMatrix) -> Pattern:
        """The entries of a matrix and of its whole diagonal."""
        given = matrix.to_scipy()
        given = sp.csr_array((np.ones(given.nnz), given.indices, given.indptr), shape=given.shape)
        looped = sp.csr_array(given + sp.eye_array(given.shape[0], format="csr"))
        looped.sort_indices()
        numbered = sp.csr_array((np.arange(looped.nnz), looped.indices, looped.indptr), shape=looped.shape)
        turned = numbered.T.tocsr()
        turned.sort_indices()
        order = turned.data
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        small = looped.nnz <= np.iinfo(np.int32).max

        def tensor(values: Any) -> Tensor:
            return torch.from_numpy(np.asarray(values, dtype=np.int32 if small else np.int64)).to(matrix.device)

        def layout(found: sp.csr_array) -> tuple[Tensor, Tensor, Tensor]:
            rows = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
            return tensor(found.indptr), tensor(rows), tensor(found.indices)

        return cls(*layout(numbered), tensor(order), tensor(back), layout(turned))

    @property
    def num_nodes(self) -> int:
        return self.starts.numel() - 1

    @property
    def transpose(self) -> Pattern:
        return Pattern(*self.transposed, self.back, self.order, (self.starts, self.rows, self.columns))

    def matrix(self, values: Tensor) -> Tensor:
        """The sparse matrix with these entries."""
        size = (self.num_nodes, self.num_nodes)
        return torch.sparse_csr_tensor(self.starts, self.columns, values, size=size, check_invariants=False)


def _folded(function: Callable[..., Tensor], size: int, dims: tuple[int | None, ...], *values: Tensor) -> Tensor:
    """A function of tensors that start with the heads, for a whole batch: its members are more heads."""
    moved = [
        value.unsqueeze(0).expand(size, *value.shape) if dim is None else value.movedim(dim, 0)
        for value, dim in zip(values, dims, strict=True)
    ]
    out = function(*(value.reshape(-1, *value.shape[2:]) for value in moved))
    return out.reshape(size, -1, *out.shape[1:])


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
        return _folded(lambda s: _RowMaximum.apply(pattern, s), info.batch_size, in_dims[1:], scores), 0  # type: ignore[no-untyped-call]


class _WeightedSum(torch.autograd.Function):
    """For every head, the sparse matrix with these weights times a dense one."""

    @staticmethod
    def forward(pattern: Pattern, weights: Tensor, dense: Tensor) -> Tensor:
        pairs = zip(weights.contiguous(), dense.contiguous(), strict=True)
        return torch.stack([pattern.matrix(head) @ values for head, values in pairs])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Pattern, Tensor, Tensor], output: Tensor) -> None:
        ctx.pattern = inputs[0]
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        pattern, (weights, dense), gradient = ctx.pattern, ctx.saved_tensors, gradients[0]
        of_weights = _entries(pattern, gradient, dense) if ctx.needs_input_grad[1] else None
        turned = weights.index_select(1, pattern.order) if ctx.needs_input_grad[2] else None
        return None, of_weights, None if turned is None else weighted_sum(pattern.transpose, turned, gradient)

    @staticmethod
    def vmap(info: Any, in_dims: Any, pattern: Pattern, weights: Tensor, dense: Tensor) -> tuple[Tensor, int]:
        out = _folded(lambda w, d: weighted_sum(pattern, w, d), info.batch_size, in_dims[1:], weights, dense)
        return out, 0


class _Entries(torch.autograd.Function):
    """For every head, the entries of left right^T that the pattern has."""

    @staticmethod
    def forward(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
        empty = pattern.matrix(left.new_zeros(pattern.columns.numel()))
        pairs = zip(left.contiguous(), right.contiguous(), strict=True)
        return torch.stack([torch.sparse.sampled_addmm(empty, a, b.T, beta=0.0).values() for a, b in pairs])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Pattern, Tensor, Tensor], output: Tensor) -> None:
        ctx.pattern = inputs[0]
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor, Tensor]:
        pattern, (left, right), gradient = ctx.pattern, ctx.saved_tensors, gradients[0]
        turned = gradient.index_select(1, pattern.order)
        return None, weighted_sum(pattern, gradient, right), weighted_sum(pattern.transpose, turned, left)

    @staticmethod
    def vmap(info: Any, in_dims: Any, pattern: Pattern, left: Tensor, right: Tensor) -> tuple[Tensor, int]:
        return _folded(lambda a, b: _entries(pattern, a, b), info.batch_size, in_dims[1:], left, right), 0


def _entries(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
    entries: Tensor = _Entries.apply(pattern, left, right)  # type: ignore[no-untyped-call]
    return entries


def weighted_sum(pattern: Pattern, weights: Tensor, dense: Tensor) -> Tensor:
    """For every head, sum over j of weights[i, j] dense[j]: heads x entries and heads x n x k to heads x n x k."""
    out: Tensor = _WeightedSum.apply(pattern, weights, dense)  # type: ignore[no-untyped-call]
    return out


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
    sums = _entries(pattern, torch.stack((target, ones), dim=-1), torch.stack((ones, source), dim=-1))
    scores = F.leaky_relu(sums, slope)
    highest: Tensor = _RowMaximum.apply(pattern, scores.detach())  # type: ignore[no-untyped-call]
    weights = torch.exp(scores - highest.index_select(1, pattern.rows))
    total = weighted_sum(pattern, weights, ones.unsqueeze(-1))
    return weighted_sum(pattern, F.dropout(weights, dropout), dense) / total
