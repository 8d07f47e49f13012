"""Where a sparse matrix has entries, for values that are computed entry by entry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

Layout = tuple[Tensor, Tensor, Tensor]
"""First entry of each row and the number of entries; row of each entry; column of each entry."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where an n x m matrix has entries, row by row, and the same of its transpose.

    Values are vectors in the order of the rows.

    Args:
        shape: n and m.
        starts: First entry of each row, and the number of entries.
        rows: Row of each entry.
        columns: Column of each entry.
        order: For each entry of the transpose, its number here.
        back: For each entry here, its number in the transpose.
        transposed: ``starts``, ``rows`` and ``columns`` of the transpose.
    """

    shape: tuple[int, int]
    starts: Tensor
    rows: Tensor
    columns: Tensor
    order: Tensor
    back: Tensor
    transposed: Layout

    @classmethod
    def of(cls, csr: Tensor, csr_transposed: Tensor) -> Pattern:
        """Of a matrix in CSR form and its transpose, whose indices it shares."""
        indices, starts = csr.col_indices(), csr.crow_indices()
        numbers = np.arange(indices.numel())
        shape = (csr.shape[0], csr.shape[1])
        numbered = sp.csr_array((numbers, indices.cpu().numpy(), starts.cpu().numpy()), shape=shape)
        order = torch.from_numpy(numbered.T.tocsr().data).to(csr.device)
        kind, back = indices.dtype, torch.empty_like(order)
        back[order] = torch.from_numpy(numbers).to(csr.device)
        own = _layout(csr)
        transposed = own if csr_transposed is csr else _layout(csr_transposed)
        return cls(shape, *own, order.to(kind), back.to(kind), transposed)

    @property
    def num_entries(self) -> int:
        return self.order.numel()

    @property
    def transpose(self) -> Pattern:
        own = (self.starts, self.rows, self.columns)
        return Pattern(self.shape[::-1], *self.transposed, self.back, self.order, own)

    def matrix(self, values: Tensor) -> Tensor:
        """The sparse matrix with these entries."""
        return torch.sparse_csr_tensor(self.starts, self.columns, values, size=self.shape, check_invariants=False)


def _layout(csr: Tensor) -> Layout:
    starts, columns = csr.crow_indices(), csr.col_indices()
    rows = torch.arange(csr.shape[0], device=csr.device, dtype=columns.dtype)
    return starts, torch.repeat_interleave(rows, starts.diff()), columns
