"""Products of matrices with very many rows and a few columns, which are a matter of reading them once."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

VALUES = 1024
MOST_PARTS = 2048


@triton.jit
def cross(left, right, parts, rows, width, STEPS, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """parts[program] = left^T right over the program's rows, summed in float64."""
    column = tl.arange(0, WIDTH)
    wanted = column < width
    total = tl.zeros((WIDTH, WIDTH), dtype=tl.float64)
    for step in range(STEPS):
        row = (tl.program_id(0).to(tl.int64) * STEPS + step) * ROWS + tl.arange(0, ROWS)
        place = row[:, None] * width + column[None, :]
        inside = (row < rows)[:, None] & wanted[None, :]
        first = tl.load(left + place, mask=inside, other=0.0).to(tl.float64)
        second = tl.load(right + place, mask=inside, other=0.0).to(tl.float64)
        total += tl.sum(first[:, :, None] * second[:, None, :], axis=0)
    out = tl.program_id(0).to(tl.int64) * width * width + column[:, None] * width + column[None, :]
    tl.store(parts + out, total, mask=wanted[:, None] & wanted[None, :])


@triton.jit
def mixed(left, small, out, rows, width, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """out = left @ small, for a square matrix."""
    column = tl.arange(0, WIDTH)
    wanted = column < width
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS, WIDTH), dtype=out.dtype.element_ty)
    for each in range(width):
        given = tl.load(left + row * width + each, mask=row < rows, other=0.0)
        factor = tl.load(small + each * width + column, mask=wanted, other=0.0)
        total += given[:, None] * factor[None, :]
    place = row[:, None] * width + column[None, :]
    tl.store(out + place, total, mask=(row < rows)[:, None] & wanted[None, :])


def crossed(left: Tensor, right: Tensor) -> Tensor:
    """left^T right in float64."""
    rows, width = left.shape
    columns = triton.next_power_of_2(width)
    lines = max(16, VALUES // columns**2)
    steps = max(1, triton.cdiv(rows, lines * MOST_PARTS))
    parts = torch.zeros(triton.cdiv(rows, lines * steps), width, width, dtype=torch.float64, device=left.device)
    if rows:
        cross[(len(parts),)](left, right, parts, rows, width, STEPS=steps, ROWS=lines, WIDTH=columns)
    return parts.sum(0)


def mixed_with(left: Tensor, small: Tensor) -> Tensor:
    """left @ small."""
    (rows, width), out = left.shape, torch.empty_like(left)
    columns = triton.next_power_of_2(width)
    lines = max(32, 2 * VALUES // columns)
    if rows:
        mixed[(triton.cdiv(rows, lines),)](left, small, out, rows, width, ROWS=lines, WIDTH=columns)
    return out
