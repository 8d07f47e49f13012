"""In which order a GPU sums the rows of a sparse matrix, and which of them in pieces."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

LEAST_PIECE, MOST_PIECE = 64, 1024
"""Entries of a row that are summed one after the other; longer rows are cut."""
SHARES = 8192
"""Of all entries a piece has at most this share, where it is within these bounds: about so many programs run at once,
and all wait for the one that has most to do.
"""


@dataclass(frozen=True, eq=False)
class Rows:
    """Sums to be made: of which entries, and in which row of the result each belongs."""

    begins: Tensor
    ends: Tensor
    targets: Tensor

    @property
    def count(self) -> int:
        return self.targets.numel()


@dataclass(frozen=True, eq=False)
class RowPlan:
    """The rows of a matrix in CSR form, those with most entries first.

    Args:
        whole: Rows that are summed at once.
        pieces: The pieces of the others, one after the other.
        joined: Which pieces make which row.
        ones: Whether every value is 1, and none needs to be read.
    """

    whole: Rows
    pieces: Rows
    joined: Rows
    ones: bool

    @classmethod
    def of(cls, csr: Tensor, piece: int | None = None) -> RowPlan:
        if piece is None:
            piece = min(max(csr.values().numel() // SHARES, LEAST_PIECE), MOST_PIECE)
        starts = csr.crow_indices()
        begins, ends = starts[:-1], starts[1:]
        order = torch.argsort(ends - begins, descending=True, stable=True).to(starts.dtype)
        lengths = (ends - begins)[order]
        cut = int((lengths > piece).sum())
        rows, long = order[cut:], order[:cut]
        counts = torch.div(lengths[:cut] + (piece - 1), piece, rounding_mode="floor")
        last = counts.cumsum(0).to(starts.dtype)
        owner = torch.repeat_interleave(torch.arange(cut, device=starts.device), counts.long())
        number = torch.arange(owner.numel(), device=starts.device, dtype=starts.dtype)
        first = begins[long][owner] + (number - (last - counts)[owner]) * piece
        return cls(
            Rows(begins[rows].contiguous(), ends[rows].contiguous(), rows.contiguous()),
            Rows(first.to(starts.dtype), torch.minimum(first + piece, ends[long][owner]).to(starts.dtype), number),
            Rows((last - counts).to(starts.dtype), last, long.contiguous()),
            bool((csr.values() == 1).all()),
        )
