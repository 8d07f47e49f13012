"""bias, relu and dropout in one pass over memory, with the zeros drawn on the way."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from glognn.ops.kernels.random import sixteen_bits

VALUES = 2048
"""Of a program at once."""
STEPS = 8
"""How often, where sums are wanted."""


@triton.jit
def activate(
    value,
    bias,
    seed,
    out,
    rows,
    width,
    threshold,
    factor: tl.float64,
    BIASED: tl.constexpr,
    RELU: tl.constexpr,
    DROPS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """out = factor * relu(value + bias) where the 16 bits of a value are at least ``threshold``, else 0."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    wanted = column < width
    place = row[:, None] * width + column[None, :]
    inside = (row < rows)[:, None] & wanted[None, :]
    given = tl.load(value + place, mask=inside, other=0.0)
    if BIASED:
        given += tl.load(bias + column, mask=wanted, other=0.0)[None, :]
    if RELU:
        given = tl.where(given > 0, given, 0.0)
    if DROPS:
        kept = sixteen_bits(tl.load(seed), place) >= threshold
        given = tl.where(kept, given * tl.cast(factor, given.dtype), 0.0)
    tl.store(out + place, given, mask=inside)


@triton.jit
def activate_backward(
    gradient,
    out,
    result,
    sums,
    rows,
    width,
    factor: tl.float64,
    SUMS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    STEPS: tl.constexpr,
):
    """result = factor * gradient where the value was kept, else 0; and its sums over the program's rows."""
    program = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    wanted = column < width
    total = tl.zeros((ROWS, COLUMNS), dtype=result.dtype.element_ty)
    for step in range(STEPS):
        row = (program * STEPS + step) * ROWS + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & wanted[None, :]
        place = row[:, None] * width + column[None, :]
        kept = tl.load(out + place, mask=inside, other=0.0) > 0
        given = tl.load(gradient + place, mask=inside, other=0.0)
        found = tl.where(kept, given * tl.cast(factor, given.dtype), 0.0)
        tl.store(result + place, found, mask=inside)
        total += found
    if SUMS:
        tl.store(sums + program * width + column, tl.sum(total, axis=0), mask=wanted)


@triton.jit
def _of_member(probabilities):
    """The threshold of the program's member, of 2^16 levels, and what values kept are multiplied by."""
    levels = tl.floor(tl.load(probabilities + tl.program_id(1)) * 65536 + 0.5)
    threshold = tl.minimum(levels, 65535.0)
    return threshold.to(tl.int32), 65536 / (65536 - threshold)


@triton.jit
def activate_members(value, seeds, probabilities, out, size, RELU: tl.constexpr, VALUES: tl.constexpr):
    """The same of several members, each with ``size`` values, a seed and a probability of its own."""
    place = tl.program_id(0).to(tl.int64) * VALUES + tl.arange(0, VALUES)
    at, inside = tl.program_id(1).to(tl.int64) * size + place, place < size
    threshold, factor = _of_member(probabilities)
    given = tl.load(value + at, mask=inside, other=0.0)
    if RELU:
        given = tl.where(given > 0, given, 0.0)
    kept = sixteen_bits(tl.load(seeds + tl.program_id(1)), place) >= threshold
    tl.store(out + at, tl.where(kept, given * factor.to(given.dtype), 0.0), mask=inside)


@triton.jit
def activate_members_backward(gradient, out, probabilities, result, size, VALUES: tl.constexpr):
    """result = factor * gradient where the value of a member was kept, else 0."""
    place = tl.program_id(0).to(tl.int64) * VALUES + tl.arange(0, VALUES)
    at, inside = tl.program_id(1).to(tl.int64) * size + place, place < size
    _, factor = _of_member(probabilities)
    kept = tl.load(out + at, mask=inside, other=0.0) > 0
    given = tl.load(gradient + at, mask=inside, other=0.0)
    tl.store(result + at, tl.where(kept, given * factor.to(given.dtype), 0.0), mask=inside)


def _tile(width: int) -> tuple[int, int]:
    columns = min(triton.next_power_of_2(width), VALUES)
    return VALUES // columns, columns


def activated(
    value: Tensor, bias: Tensor | None, seed: Tensor | None, threshold: int, factor: float, *, relu: bool = True
) -> Tensor:
    """relu of n x k values and a bias, or they themselves; with a seed, where 16 bits reach the threshold."""
    (rows, width), out = value.shape, torch.empty_like(value)
    if out.numel():
        lines, columns = _tile(width)
        activate[(triton.cdiv(rows, lines), triton.cdiv(width, columns))](
            value,
            value if bias is None else bias,
            value if seed is None else seed,
            out,
            rows,
            width,
            threshold,
            factor,
            BIASED=bias is not None,
            RELU=relu,
            DROPS=seed is not None,
            ROWS=lines,
            COLUMNS=columns,
        )
    return out


def activated_backward(gradient: Tensor, out: Tensor, factor: float, *, sums: bool) -> tuple[Tensor, Tensor | None]:
    """The gradient of the values, and of the bias if it is wanted."""
    (rows, width), result = out.shape, torch.empty_like(out)
    lines, columns = _tile(width)
    programs = triton.cdiv(rows, STEPS * lines)
    parts = torch.empty(programs if sums else 0, width, dtype=out.dtype, device=out.device)
    if out.numel():
        activate_backward[(programs, triton.cdiv(width, columns))](
            gradient,
            out,
            result,
            parts,
            rows,
            width,
            factor,
            SUMS=sums,
            ROWS=lines,
            COLUMNS=columns,
            STEPS=STEPS,
        )
    return result, parts.sum(0) if sums else None


def activated_members(value: Tensor, seeds: Tensor, probabilities: Tensor, *, relu: bool) -> Tensor:
    """relu of members x ... values, or they themselves, and dropout of each member's."""
    out, size = torch.empty_like(value), value[0].numel()
    if out.numel():
        grid = (triton.cdiv(size, VALUES), len(value))
        activate_members[grid](value, seeds, probabilities, out, size, RELU=relu, VALUES=VALUES)
    return out


def activated_members_backward(gradient: Tensor, out: Tensor, probabilities: Tensor) -> Tensor:
    """The gradient of the values, from what relu and dropout made of them."""
    result, size = torch.empty_like(out), out[0].numel()
    if out.numel():
        grid = (triton.cdiv(size, VALUES), len(out))
        activate_members_backward[grid](gradient, out, probabilities, result, size, VALUES=VALUES)
    return result
