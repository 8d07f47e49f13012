"""bias, relu and dropout, which follow each other in every hidden layer."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.overrides import handle_torch_function, has_torch_function_unary

from glognn.ops.kernels import usable, usable_of_members

_LEVELS = 2**16
_WIDTH = 1024
"""Columns that a vector is laid out in, and that a kernel reads at once."""
_FEW = 16
"""Columns up to which a map is a matter of reading its input."""


class _Activated(torch.autograd.Function):
    """Keeps the result alone: it is positive where the value was, and was kept."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, bias: Tensor | None, seed: Tensor | None, p: float) -> Tensor:
        from glognn.ops.kernels.activation import activated

        threshold, ctx.factor = _rounded(p)
        out = activated(value, bias, seed, threshold, ctx.factor)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor | None, None, None]:
        from glognn.ops.kernels.activation import activated_backward

        [out] = ctx.saved_tensors
        found = activated_backward(gradients[0].contiguous(), out, ctx.factor, sums=ctx.needs_input_grad[1])
        return *found, None, None


class _Dropped(torch.autograd.Function):
    """Keeps the seed alone: the gradient loses the same entries as the values."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, seed: Tensor, p: float) -> Tensor:
        from glognn.ops.kernels.activation import activated

        ctx.seed, ctx.p = seed, p
        width = value.shape[-1] if value.dim() > 1 else min(value.numel(), _WIDTH)
        flat = F.pad(value.reshape(-1), (0, -value.numel() % max(width, 1)))
        out = activated(flat.view(-1, max(width, 1)), None, seed, *_rounded(p), relu=False)
        return out.view(-1)[: value.numel()].view(value.shape)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return _Dropped.apply(gradients[0].contiguous(), ctx.seed, ctx.p), None, None  # type: ignore[no-untyped-call]


class _Scored(torch.autograd.Function):
    """Keeps the values before the bias: what was dropped of them is drawn again."""

    @staticmethod
    def forward(
        ctx: Any,
        value: Tensor,
        bias: Tensor | None,
        seed: Tensor | None,
        p: float,
        weight: Tensor,
        shift: Tensor,
    ) -> Tensor:
        from glognn.ops.kernels.head import scored

        ctx.p = p
        ctx.save_for_backward(value, bias, seed, weight)
        return scored(value, bias, seed, *_rounded(p), weight, shift)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        from glognn.ops.kernels.head import scored_backward

        value, bias, seed, weight = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        found = scored_backward(gradient, value, bias, seed, *_rounded(ctx.p), weight)
        return found[0], found[1], None, None, found[2], gradient.sum(0)


def _rounded(p: float) -> tuple[int, float]:
    """Of 2^16 levels those that are dropped, and what the values kept are multiplied by."""
    threshold = min(round(p * _LEVELS), _LEVELS - 1)
    return threshold, _LEVELS / (_LEVELS - threshold)


def drawn_seed(device: torch.device, generator: torch.Generator | None) -> Tensor:
    """Drawn on the device, so that a captured graph draws another one each time."""
    return torch.randint(2**62, (1,), device=device, generator=generator)


def dropped(value: Tensor, p: float, generator: torch.Generator | None = None) -> Tensor:
    """Dropout of values on a GPU, in one pass over memory, forward and backward, that stores no mask."""
    out: Tensor = _Dropped.apply(value.contiguous(), drawn_seed(value.device, generator), p)  # type: ignore[no-untyped-call]
    return out


def relu_dropout(
    value: Tensor,
    p: float | Tensor,
    training: bool,
    bias: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """``dropout(relu(value + bias))`` of n x k values; on a GPU one pass over memory, forward and backward.

    There the probability is rounded to a multiple of 2^-16 and the values kept are scaled by the rounded one, as in
    :mod:`glognn.ops.dropout`, whose streams rule what is drawn within their context.
    """
    if has_torch_function_unary(value) and (usable(value) or usable_of_members(value)):  # else they are heard of singly
        return handle_torch_function(relu_dropout, (value,), value, p, training, bias=bias, generator=generator)
    if value.dim() == 2 and not isinstance(p, Tensor) and usable(value):
        seed = None
        if training and p > 0:
            seed = drawn_seed(value.device, generator)
        out: Tensor = _Activated.apply(value.contiguous(), bias, seed, p if training else 0.0)  # type: ignore[no-untyped-call]
        return out
    biased = value if bias is None else value + bias
    return F.dropout(F.relu(biased), p, training)  # type: ignore[arg-type]


def relu_dropout_map(
    value: Tensor,
    p: float | Tensor,
    training: bool,
    bias: Tensor | None,
    weight: Tensor,
    shift: Tensor,
    generator: torch.Generator | None = None,
) -> Tensor:
    """``dropout(relu(value + bias)) @ weight + shift``, n x c from n x h values; on a GPU, for a small c, as one."""
    if has_torch_function_unary(value) and usable(value):
        given = (value, p, training, bias, weight, shift)
        return handle_torch_function(relu_dropout_map, (value,), *given, generator=generator)
    few = weight.shape[0] <= _WIDTH and weight.shape[1] <= _FEW
    if few and value.dim() == 2 and not isinstance(p, Tensor) and usable(value, weight):
        seed = drawn_seed(value.device, generator) if training and p > 0 else None
        chance = p if training else 0.0
        out: Tensor = _Scored.apply(value.contiguous(), bias, seed, chance, weight.contiguous(), shift)  # type: ignore[no-untyped-call]
        return out
    seen = relu_dropout(value, p, training, bias, generator)
    return torch.addmm(shift, seen, weight) if usable(seen, weight) else seen @ weight + shift
