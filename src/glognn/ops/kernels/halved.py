"""A matrix rounded to float16, for rows that are gathered often: half of the bytes, and the 11 bits of TF32.

It is multiplied by a power of two that brings its largest finite value to between 2^14 and 2^15, so that nothing
overflows and values down to 2^-28 of the largest keep all bits; smaller ones are rounded to multiples of 2^-38 of it.
Infinities and nan stay what they are.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

VALUES, WARPS = 4096, 8
PARTS = 1024
"""Programs that look for the largest value."""
TOP = 14
"""The exponent that the largest value is brought to."""


@triton.jit
def largest(dense, parts, count, STEPS, VALUES: tl.constexpr):
    """parts[program] = the largest finite absolute value in its share of the blocks."""
    found = tl.zeros((VALUES,), dtype=tl.float32)
    place = tl.program_id(0).to(tl.int64) * VALUES + tl.arange(0, VALUES)
    for _ in range(STEPS):
        size = tl.abs(tl.load(dense + place, mask=place < count, other=0.0))
        found = tl.maximum(found, tl.where(size < float("inf"), size, 0.0))
        place += tl.num_programs(0) * VALUES
    tl.store(parts + tl.program_id(0), tl.max(found, axis=0))


@triton.jit
def halve(dense, parts, out, back, count, programs, TOP: tl.constexpr, PARTS: tl.constexpr, VALUES: tl.constexpr):
    """out = dense times a power of two, in float16; ``back`` is what brings it back."""
    place = tl.program_id(0).to(tl.int64) * VALUES + tl.arange(0, VALUES)
    given = tl.load(dense + place, mask=place < count, other=0.0)
    part = tl.arange(0, PARTS)
    top = tl.max(tl.load(parts + part, mask=part < programs, other=0.0), axis=0)
    exponent = top.to(tl.int32, bitcast=True) >> 23  # biased by 127
    field = tl.minimum(254 + TOP - exponent, 253)
    tl.store(out + place, (given * (field << 23).to(tl.float32, bitcast=True)).to(tl.float16), mask=place < count)
    if tl.program_id(0) == 0:
        tl.store(back, ((254 - field) << 23).to(tl.float32, bitcast=True))


def halved(dense: Tensor) -> tuple[Tensor, Tensor]:
    """A float32 matrix in float16, and the number that its sums are to be multiplied by."""
    count = dense.numel()
    blocks = triton.cdiv(count, VALUES)
    programs = min(blocks, PARTS)
    parts, back = dense.new_empty(programs), dense.new_empty(1)
    out = torch.empty_like(dense, dtype=torch.float16)
    if count:
        largest[(programs,)](dense, parts, count, triton.cdiv(blocks, programs), VALUES=VALUES, num_warps=WARPS)
        halve[(blocks,)](dense, parts, out, back, count, programs, TOP=TOP, PARTS=PARTS, VALUES=VALUES, num_warps=WARPS)
    return out, back
