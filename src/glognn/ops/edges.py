"""Sums and dot products along the entries of a constant pattern, differentiable in weights and features alike.

Each is the derivative of the other, so that weights which depend on the features cost O(entries) memory and not
O(entries x features). Several heads lie before everything else (heads x entries, heads x nodes x channels), because a
sparse product wants the weights of one head side by side, and because ``vmap`` then only adds heads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from glognn.graph.pattern import Pattern


def folded(function: Callable[..., Tensor], size: int, dims: tuple[int | None, ...], *values: Tensor) -> Tensor:
    """A function of tensors that start with the heads, for a whole batch: its members are more heads."""
    moved = [
        value.unsqueeze(0).expand(size, *value.shape) if dim is None else value.movedim(dim, 0)
        for value, dim in zip(values, dims, strict=True)
    ]
    out = function(*(value.reshape(-1, *value.shape[2:]) for value in moved))
    return out.reshape(size, -1, *out.shape[1:])


def _by_head(function: Callable[[Tensor, Tensor], Tensor], *operands: Tensor) -> Tensor:
    first, *others = (function(a.contiguous(), b.contiguous()) for a, b in zip(*operands, strict=True))
    return torch.stack([first, *others]) if others else first.unsqueeze(0)


class _OnEntries(torch.autograd.Function):
    """Keeps the pattern and both tensors for the derivative."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Pattern, Tensor, Tensor], output: Tensor) -> None:
        ctx.pattern = inputs[0]
        ctx.save_for_backward(*inputs[1:])


class _EdgeSum(_OnEntries):
    @staticmethod
    def forward(pattern: Pattern, weights: Tensor, dense: Tensor) -> Tensor:
        return _by_head(lambda head, values: pattern.matrix(head) @ values, weights, dense)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        pattern, (weights, dense), gradient = ctx.pattern, ctx.saved_tensors, gradients[0]
        for_weights = edge_dot(pattern, gradient, dense) if ctx.needs_input_grad[1] else None
        turned = weights.index_select(1, pattern.order) if ctx.needs_input_grad[2] else None
        return None, for_weights, None if turned is None else edge_sum(pattern.transpose, turned, gradient)

    @staticmethod
    def vmap(info: Any, in_dims: Any, pattern: Pattern, *tensors: Tensor) -> tuple[Tensor, int]:
        return folded(lambda *heads: edge_sum(pattern, *heads), info.batch_size, in_dims[1:], *tensors), 0


class _EdgeDot(_OnEntries):
    @staticmethod
    def forward(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
        empty = pattern.matrix(left.new_zeros(pattern.num_entries))
        return _by_head(lambda a, b: torch.sparse.sampled_addmm(empty, a, b.T, beta=0.0).values(), left, right)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        pattern, (left, right), gradient = ctx.pattern, ctx.saved_tensors, gradients[0]
        for_left = edge_sum(pattern, gradient, right) if ctx.needs_input_grad[1] else None
        turned = gradient.index_select(1, pattern.order) if ctx.needs_input_grad[2] else None
        return None, for_left, None if turned is None else edge_sum(pattern.transpose, turned, left)

    @staticmethod
    def vmap(info: Any, in_dims: Any, pattern: Pattern, *tensors: Tensor) -> tuple[Tensor, int]:
        return folded(lambda *heads: edge_dot(pattern, *heads), info.batch_size, in_dims[1:], *tensors), 0


def edge_sum(pattern: Pattern, weights: Tensor, dense: Tensor) -> Tensor:
    """Row i is the sum over its entries (i, j) of weight times ``dense[j]``; O(entries k) for k columns.

    ``weights`` has one number for each entry and ``dense`` is m x k, each perhaps after an axis of heads.
    """
    if weights.dim() == 1:
        return edge_sum(pattern, weights.unsqueeze(0), dense.unsqueeze(0)).squeeze(0)
    total: Tensor = _EdgeSum.apply(pattern, weights, dense)  # type: ignore[no-untyped-call]
    return total


def edge_dot(pattern: Pattern, left: Tensor, right: Tensor) -> Tensor:
    """For each entry (i, j) the dot product of ``left[i]`` and ``right[j]``; both perhaps after an axis of heads."""
    if left.dim() == 2:
        return edge_dot(pattern, left.unsqueeze(0), right.unsqueeze(0)).squeeze(0)
    products: Tensor = _EdgeDot.apply(pattern, left, right)  # type: ignore[no-untyped-call]
    return products
