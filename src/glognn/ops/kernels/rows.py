"""Sums of rows of a dense matrix: the product of a sparse matrix in CSR form with a dense one, at the speed of memory.

A program sums several rows of the result at a time, each ``UNROLL`` entries at once, so that many gathers are under
way together. Rows come sorted by their number of entries: those of a program then have about as many. Rows with very
many entries are cut into pieces, which are summed first and then added.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from glognn.graph.row_plan import Rows
from glognn.graph.sparse import SparseMatrix


@triton.jit(do_not_specialize=["count", "spread"])
def sum_rows(
    begins,
    ends,
    targets,
    columns,
    values,
    dense,
    added,
    out,
    back,
    count,
    width,
    factor: tl.float64,
    spread,
    GATHERS: tl.constexpr,
    WEIGHTED: tl.constexpr,
    ADDS: tl.constexpr,
    SCALED: tl.constexpr,
    ROWS: tl.constexpr,
    UNROLL: tl.constexpr,
    COLUMNS: tl.constexpr,
    SUM: tl.constexpr,
):
    """out[t] = factor * sum over entries begins[r] to ends[r] of value * dense[column], plus added[t], t = targets[r].

    ``added`` has rows ``spread`` values apart; with 0 it is one row for all. Without ``GATHERS`` rows of ``dense`` are
    numbered as entries. With ``SCALED`` sums are multiplied by ``back`` too.
    """
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = rows < count
    begin = tl.load(begins + rows, mask=inside, other=0)
    end = tl.load(ends + rows, mask=inside, other=0)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    wanted = column < width
    longest = tl.max(end - begin, axis=0)
    total = tl.zeros((ROWS, UNROLL, COLUMNS), dtype=SUM)
    for step in range(0, longest, UNROLL):
        entry = begin[:, None] + step + tl.arange(0, UNROLL)[None, :]
        there = entry < end[:, None]
        source = entry
        if GATHERS:
            source = tl.load(columns + entry, mask=there, other=0)
        place = source.to(tl.int64)[:, :, None] * width + column[None, None, :]
        read = tl.load(dense + place, mask=there[:, :, None] & wanted[None, None, :], other=0.0).to(SUM)
        if WEIGHTED:
            weight = tl.load(values + entry, mask=there, other=0.0).to(SUM)
            total += read * weight[:, :, None]
        else:
            total += read
    result = tl.sum(total, axis=1)
    if SCALED:
        result *= tl.load(back)
    result *= tl.cast(factor, SUM)
    target = tl.load(targets + rows, mask=inside, other=0).to(tl.int64)
    where = target[:, None] * width + column[None, :]
    kept = inside[:, None] & wanted[None, :]
    if ADDS:
        result += tl.load(added + target[:, None] * spread + column[None, :], mask=kept, other=0.0).to(SUM)
    tl.store(out + where, result, mask=kept)


def product(
    matrix: SparseMatrix,
    dense: Tensor,
    factor: float = 1.0,
    added: Tensor | None = None,
    back: Tensor | None = None,
) -> Tensor:
    """``factor * back * matrix @ dense + added``, where ``added`` is of the result's shape or one row of it.

    ``dense`` may be rounded to 16 bits, and ``back`` what it was divided by then. Rows of ``added`` may lie apart, as
    those of some columns of a wider matrix do.
    """
    if added is not None and added.stride(-1) != 1:
        added = added.contiguous()
    rows, width = matrix.shape[0], dense.shape[1]
    out = torch.empty(rows, width, dtype=matrix.dtype, device=dense.device)
    if not rows or not width:
        return out
    plan, csr = matrix.plan, matrix.csr
    columns, values = csr.col_indices(), csr.values()
    tile = tile_of(width, matrix.nnz / rows, halves=dense.itemsize == 2)
    _sum(plan.whole, columns, None if plan.ones else values, dense, factor, added, out, tile, back)
    if plan.pieces.count:
        pieces = torch.empty(plan.pieces.count, width, dtype=matrix.dtype, device=dense.device)
        long = Tile(1, tile.rows * tile.unroll, tile.columns, tile.warps)
        _sum(plan.pieces, columns, None if plan.ones else values, dense, 1.0, None, pieces, long)
        _sum(plan.joined, None, None, pieces, factor, added, out, long, back)
    return out


@dataclass(frozen=True)
class Tile:
    """What a program sums at once: so many rows of the result, entries of each, and columns; and its warps."""

    rows: int
    unroll: int
    columns: int
    warps: int


def tile_of(width: int, entries: float, *, halves: bool = False) -> Tile:
    """The tile for a number of columns and of entries a row, on average; ``halves``: of 16 bits."""
    columns = min(triton.next_power_of_2(width), 256)
    if columns <= 16:
        if entries >= 16:
            return Tile(max(1, 32 // columns), 16, columns, 4)
        return Tile(max(1, 256 // columns), 4, columns, 4)
    unroll = 2 if entries < 8 and columns <= 64 else 4
    return Tile(max(1, 512 // (unroll * columns)), 2 * unroll if halves else unroll, columns, 1)


def _sum(
    rows: Rows,
    columns: Tensor | None,
    values: Tensor | None,
    dense: Tensor,
    factor: float,
    added: Tensor | None,
    out: Tensor,
    tile: Tile,
    back: Tensor | None = None,
) -> None:
    if not rows.count:
        return
    width = dense.shape[1]
    sum_rows[(triton.cdiv(rows.count, tile.rows), triton.cdiv(width, tile.columns))](
        rows.begins,
        rows.ends,
        rows.targets,
        rows.begins if columns is None else columns,
        dense if values is None else values,
        dense,
        dense if added is None else added,
        out,
        dense if back is None else back,
        rows.count,
        width,
        factor,
        0 if added is None or added.dim() == 1 else added.stride(0),
        GATHERS=columns is not None,
        WEIGHTED=values is not None,
        ADDS=added is not None,
        SCALED=back is not None,
        ROWS=tile.rows,
        UNROLL=tile.unroll,
        COLUMNS=tile.columns,
        SUM=tl.float64 if out.dtype == torch.float64 else tl.float32,
        num_warps=tile.warps,
    )
