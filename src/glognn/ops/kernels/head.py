"""The last map of a network, to a few columns, behind bias, relu and dropout: hidden values are read once."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from glognn.ops.kernels.random import sixteen_bits

VALUES = 1024
"""Of a program at once."""
VALUES_BACK, STEPS = 512, 32
"""The same in the backward pass, and how often."""
WARPS = 1
"""Rows then lie in registers of the same threads, and sums over them need no exchange."""


@triton.jit
def head(
    value,
    bias,
    seed,
    weight,
    shift,
    out,
    rows,
    width,
    threshold,
    factor: tl.float64,
    BIASED: tl.constexpr,
    DROPS: tl.constexpr,
    CLASSES: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """out = dropout(relu(value + bias)) @ weight + shift."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    wanted = column < width
    place = row[:, None] * width + column[None, :]
    given = tl.load(value + place, mask=(row < rows)[:, None] & wanted[None, :], other=0.0)
    if BIASED:
        given += tl.load(bias + column, mask=wanted, other=0.0)[None, :]
    given = tl.where(given > 0, given, 0.0)
    if DROPS:
        kept = sixteen_bits(tl.load(seed), place) >= threshold
        given = tl.where(kept, given * tl.cast(factor, given.dtype), 0.0)
    for label in tl.static_range(CLASSES):
        towards = tl.load(weight + column * CLASSES + label, mask=wanted, other=0.0)
        score = tl.sum(given * towards[None, :], axis=1) + tl.load(shift + label)
        tl.store(out + row * CLASSES + label, score, mask=row < rows)


@triton.jit
def head_backward(
    gradient,
    value,
    bias,
    seed,
    weight,
    result,
    bias_sums,
    weight_sums,
    rows,
    width,
    threshold,
    factor: tl.float64,
    BIASED: tl.constexpr,
    DROPS: tl.constexpr,
    CLASSES: tl.constexpr,
    PADDED: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    STEPS: tl.constexpr,
):
    """The gradient of ``value``, and for each program its sum over rows and the gradient of ``weight``, transposed."""
    program = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, COLUMNS)
    wanted = column < width
    labels = tl.arange(0, PADDED)
    summed = tl.zeros((ROWS, COLUMNS), dtype=value.dtype.element_ty)
    learned = tl.zeros((PADDED, COLUMNS), dtype=value.dtype.element_ty)
    scale = tl.cast(factor, value.dtype.element_ty)
    for step in range(STEPS):
        row = (program * STEPS + step) * ROWS + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & wanted[None, :]
        place = row[:, None] * width + column[None, :]
        given = tl.load(value + place, mask=inside, other=0.0)
        if BIASED:
            given += tl.load(bias + column, mask=wanted, other=0.0)[None, :]
        kept = (given > 0) & inside
        if DROPS:
            kept = kept & (sixteen_bits(tl.load(seed), place) >= threshold)
        given = tl.where(kept, given * scale, 0.0)
        back = tl.zeros((ROWS, COLUMNS), dtype=given.dtype)
        for label in tl.static_range(CLASSES):
            towards = tl.load(weight + column * CLASSES + label, mask=wanted, other=0.0)
            own = tl.load(gradient + row * CLASSES + label, mask=row < rows, other=0.0)
            back += own[:, None] * towards[None, :]
            learned += tl.where((labels == label)[:, None], tl.sum(given * own[:, None], axis=0)[None, :], 0.0)
        back = tl.where(kept, back * scale, 0.0)
        tl.store(result + place, back, mask=inside)
        summed += back
    if BIASED:
        tl.store(bias_sums + program * width + column, tl.sum(summed, axis=0), mask=wanted)
    place = (program * CLASSES + labels)[:, None] * width + column[None, :]
    tl.store(weight_sums + place, learned, mask=(labels < CLASSES)[:, None] & wanted[None, :])


def _tile(width: int, values: int) -> tuple[int, int]:
    columns = triton.next_power_of_2(width)
    return max(1, values // columns), columns


def scored(
    value: Tensor,
    bias: Tensor | None,
    seed: Tensor | None,
    threshold: int,
    factor: float,
    weight: Tensor,
    shift: Tensor,
) -> Tensor:
    """n x c class scores of n x h values."""
    (rows, width), classes = value.shape, weight.shape[1]
    out = torch.empty(rows, classes, dtype=value.dtype, device=value.device)
    lines, columns = _tile(width, VALUES)
    if rows:
        head[(triton.cdiv(rows, lines),)](
            value,
            value if bias is None else bias,
            value if seed is None else seed,
            weight,
            shift,
            out,
            rows,
            width,
            threshold,
            factor,
            BIASED=bias is not None,
            DROPS=seed is not None,
            CLASSES=classes,
            ROWS=lines,
            COLUMNS=columns,
            num_warps=WARPS,
        )
    return out


def scored_backward(
    gradient: Tensor,
    value: Tensor,
    bias: Tensor | None,
    seed: Tensor | None,
    threshold: int,
    factor: float,
    weight: Tensor,
) -> tuple[Tensor, Tensor | None, Tensor]:
    """The gradients of values, bias and weight."""
    (rows, width), classes = value.shape, weight.shape[1]
    result = torch.empty_like(value)
    lines, columns = _tile(width, VALUES_BACK)
    programs = triton.cdiv(rows, STEPS * lines)
    bias_sums = torch.empty(0 if bias is None else programs, width, dtype=value.dtype, device=value.device)
    weight_sums = torch.empty(programs, classes, width, dtype=value.dtype, device=value.device)
    if rows:
        head_backward[(programs,)](
            gradient,
            value,
            value if bias is None else bias,
            value if seed is None else seed,
            weight,
            result,
            bias_sums,
            weight_sums,
            rows,
            width,
            threshold,
            factor,
            BIASED=bias is not None,
            DROPS=seed is not None,
            CLASSES=classes,
            PADDED=triton.next_power_of_2(classes),
            ROWS=lines,
            COLUMNS=columns,
            STEPS=STEPS,
            num_warps=WARPS,
        )
    return result, None if bias is None else bias_sums.sum(0), weight_sums.sum(0).T
