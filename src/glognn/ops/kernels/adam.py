"""Adam for one large weight: weight, gradient and moments are read once and written once, at the speed of memory."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

VALUES, WARPS = 2048, 4
"""Of a program: 16 values of a thread, under way together while it computes what all of them need."""


@triton.jit
def adam(
    weight,
    gradient,
    first,
    second,
    step,
    numbers,
    count,
    DECOUPLED: tl.constexpr,
    DECAYS: tl.constexpr,
    VALUES: tl.constexpr,
):
    """One step of Adam, or AdamW with ``DECOUPLED`` decay; ``step`` is its number, from 1 on."""
    place = tl.program_id(0).to(tl.int64) * VALUES + tl.arange(0, VALUES)
    inside = place < count
    own = tl.load(weight + place, mask=inside, other=0.0)
    slope = tl.load(gradient + place, mask=inside, other=0.0)
    mean = tl.load(first + place, mask=inside, other=0.0)
    square = tl.load(second + place, mask=inside, other=0.0)
    kind: tl.constexpr = weight.dtype.element_ty
    number = tl.load(step).to(tl.float64)
    rate = tl.load(numbers)
    decay = tl.load(numbers + 1)
    share1 = tl.load(numbers + 2).to(kind)
    share2 = tl.load(numbers + 3).to(kind)
    pace = (rate / (1 - tl.exp(number * tl.load(numbers + 4)))).to(kind)
    root = tl.sqrt(1 - tl.exp(number * tl.load(numbers + 5))).to(kind)
    epsilon = tl.load(numbers + 6).to(kind)
    if DECAYS:
        if DECOUPLED:
            own *= (1 - rate * decay).to(kind)
        else:
            slope += own * decay.to(kind)
    mean += (slope - mean) * share1
    square += (slope * slope - square) * share2
    tl.store(first + place, mean, mask=inside)
    tl.store(second + place, square, mask=inside)
    own -= pace * mean / (tl.sqrt(square) / root + epsilon)
    tl.store(weight + place, own, mask=inside)


def adam_step(
    weight: Tensor,
    gradient: Tensor,
    first: Tensor,
    second: Tensor,
    step: Tensor,
    numbers: Tensor,
    *,
    decoupled: bool,
    decays: bool,
) -> None:
    """Change a weight and its moments in place; all are contiguous.

    Args:
        weight: The weight.
        gradient: Its gradient.
        first: Its first moment.
        second: Its second moment.
        step: One number, on the device, that already counts this step.
        numbers: In float64 on the device: rate, decay, 1 - beta1, 1 - beta2, log beta1, log beta2, epsilon.
        decoupled: Whether the decay is AdamW's.
        decays: Whether there is one.
    """
    count = weight.numel()
    adam[(triton.cdiv(count, VALUES),)](
        weight,
        gradient,
        first,
        second,
        step,
        numbers,
        count,
        DECOUPLED=decoupled,
        DECAYS=decays,
        VALUES=VALUES,
        num_warps=WARPS,
    )
