"""Products of matrices with many rows and few columns, in full precision whatever dense maps are computed in."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from glognn.ops.kernels import usable

WIDEST = 16
"""Columns up to which a kernel reads such a matrix once."""


class _Cross(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor) -> Tensor:
        from glognn.ops.kernels.narrow import crossed

        ctx.save_for_backward(left, right)
        return crossed(left, right)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None]:
        left, right = ctx.saved_tensors
        small = gradients[0].to(left.dtype)
        return (
            narrow_matmul(right, small.T) if ctx.needs_input_grad[0] else None,
            narrow_matmul(left, small) if ctx.needs_input_grad[1] else None,
        )


class _Mixed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, small: Tensor) -> Tensor:
        from glognn.ops.kernels.narrow import mixed_with

        ctx.save_for_backward(left, small)
        return mixed_with(left, small)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None]:
        left, small = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        return (
            narrow_matmul(gradient, small.T) if ctx.needs_input_grad[0] else None,
            cross(left, gradient).to(small.dtype) if ctx.needs_input_grad[1] else None,
        )


def cross(left: Tensor, right: Tensor) -> Tensor:
    """``left.T @ right`` in float64, c x c from two n x c matrices."""
    if left.dim() == 2 and left.shape[1] <= WIDEST and usable(left, right):
        found: Tensor = _Cross.apply(left.contiguous(), right.contiguous())  # type: ignore[no-untyped-call]
        return found
    wide = left.double()
    return wide.T @ (wide if right is left else right.double())


def narrow_matmul(left: Tensor, small: Tensor) -> Tensor:
    """``left @ small``, n x c from n x c and c x c."""
    if left.dim() == 2 and left.shape[1] <= WIDEST and usable(left, small):
        found: Tensor = _Mixed.apply(left.contiguous(), small.contiguous())  # type: ignore[no-untyped-call]
        return found
    return left @ small
