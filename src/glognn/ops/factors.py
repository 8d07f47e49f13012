"""The c x c factors of the closed-form layer, from its Gram matrix, by kernels of a GPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

WIDEST = 32
"""Columns up to which one program solves the system."""


class _Factors(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        gram: Tensor,
        weights: Tensor | None,
        dtype: torch.dtype,
        betas: tuple[float, float],
        gamma: float,
        free: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        from glognn.ops.kernels.factors import solved

        ctx.given = (*betas, gamma)
        ctx.free = free
        inverse, *factors = solved(gram, weights, dtype, *ctx.given, free=free)
        ctx.save_for_backward(gram, weights, inverse)
        return factors[0], factors[1], factors[2]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        from glognn.ops.kernels.factors import solved_backward

        gram, weights, inverse = ctx.saved_tensors
        given = tuple(each.contiguous() for each in gradients)
        found = solved_backward(gram, weights, inverse, given, *ctx.given, free=ctx.free)
        return *found, None, None, None, None


def layer_factors(
    gram: Tensor,
    weights: Tensor | None,
    dtype: torch.dtype,
    *,
    beta1: float,
    beta2: float,
    gamma: float,
    scale_free: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """What H, H0 and, before the hops, V are multiplied with to give the next embedding; each c x c.

    Args:
        gram: V^T V in float64.
        weights: S, where it is left out of the inverse and multiplied with outside.
        dtype: Of the factors.
        beta1: As in the layer; so are ``beta2``, ``gamma`` and ``scale_free``.
    """
    betas = float(beta1 + beta2), float(beta2)
    found: tuple[Tensor, Tensor, Tensor] = _Factors.apply(  # type: ignore[no-untyped-call]
        gram.contiguous(), weights, dtype, betas, float(gamma), scale_free
    )
    return found
