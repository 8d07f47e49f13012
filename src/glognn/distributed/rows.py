"""The rows of one rank's nodes before they are a matrix to multiply with: scaled, turned and summed across ranks."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch

from glognn.distributed.matrix import Halo, PartMatrix
from glognn.distributed.ranks import Ranks

IntArray = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]


class PartRows:
    """A rank's rows of an n x n matrix over the places of all nodes, in float64. Most methods all ranks must call.

    Args:
        csr: Own nodes x all places.
        starts: Where the places of each rank begin, and where they end.
        ranks: The group.
    """

    def __init__(self, csr: sp.csr_array, starts: IntArray, ranks: Ranks) -> None:
        self.csr, self.starts, self.ranks = csr, starts, ranks
        self.first, self.last = int(starts[ranks.rank]), int(starts[ranks.rank + 1])

    @property
    def count(self) -> int:
        """Own nodes."""
        return self.last - self.first

    @cached_property
    def _outside(self) -> IntArray:
        """Places of others that entries lead to, ascending."""
        columns = self.csr.indices
        return np.unique(columns[(columns < self.first) | (columns >= self.last)]).astype(np.int64)

    @cached_property
    def _halo(self) -> Halo:
        return Halo.of(self._outside, self.starts, self.ranks)

    @cached_property
    def _slots(self) -> IntArray:
        """For each entry the row of its column among own nodes and, after them, the halo."""
        columns = self.csr.indices
        own = (columns >= self.first) & (columns < self.last)
        return np.where(own, columns - self.first, self.count + np.searchsorted(self._outside, columns))

    def at_columns(self, values: Numbers) -> Numbers:
        """For each entry the value of its column's node, from the values of own nodes (one or several columns)."""
        halo, own = self._halo, torch.from_numpy(values)
        coming = self.ranks.exchange(own[halo.rows], halo.leaving, halo.arriving).wait()
        known: Numbers = torch.cat([own, coming]).numpy()[self._slots]
        return known

    def row_sums(self) -> Numbers:
        return np.asarray(self.csr.sum(axis=1), dtype=np.float64).ravel()

    def column_sums(self) -> Numbers:
        """Of own nodes, over the entries of all ranks."""
        halo = self._halo
        sums = torch.from_numpy(np.bincount(self._slots, self.csr.data, minlength=self.count + halo.size))
        owed = self.ranks.exchange(sums[self.count :].contiguous(), halo.arriving, halo.leaving).wait()
        return sums[: self.count].index_add_(0, halo.rows, owed).numpy()

    def column_counts(self) -> Numbers:
        """Entries in the columns of own nodes."""
        return self.like(np.ones(self.csr.nnz)).column_sums()

    def row_counts(self) -> Numbers:
        return np.diff(self.csr.indptr).astype(np.float64)

    def like(self, data: Numbers) -> PartRows:
        """The same entries with other values."""
        csr = sp.csr_array((data, self.csr.indices, self.csr.indptr), shape=self.csr.shape)
        return self.of(csr)

    def of(self, csr: sp.csr_array) -> PartRows:
        return PartRows(csr, self.starts, self.ranks)

    def scaled(self, left: Numbers | None, right: Numbers | None) -> PartRows:
        """Rows and columns multiplied with a number for each own node."""
        data = self.csr.data.astype(np.float64)
        if left is not None:
            data *= np.repeat(left, np.diff(self.csr.indptr))
        if right is not None:
            data *= self.at_columns(right)
        return self.like(data)

    def loops(self) -> Numbers:
        """The diagonal of own nodes."""
        rows = np.repeat(np.arange(self.first, self.last), np.diff(self.csr.indptr))
        on = rows == self.csr.indices
        found = np.zeros(self.count)
        found[rows[on] - self.first] = self.csr.data[on]
        return found

    def plus_diagonal(self, values: Numbers) -> PartRows:
        places = np.arange(self.first, self.last, dtype=self.csr.indices.dtype)
        starts = np.arange(self.count + 1, dtype=self.csr.indptr.dtype)
        return self.of(sp.csr_array(self.csr + sp.csr_array((values, places, starts), shape=self.csr.shape)))

    def turned(self) -> PartRows:
        """The own nodes' rows of the transpose: every entry goes to the owner of its column."""
        rows = np.repeat(np.arange(self.first, self.last), np.diff(self.csr.indptr))
        by_owner = np.argsort(self.csr.indices, kind="stable")
        columns = self.csr.indices[by_owner].astype(np.int64)
        leaving = np.diff(np.searchsorted(columns, self.starts))
        ones = [1] * self.ranks.size
        counts = self.ranks.exchange(torch.from_numpy(leaving), ones, ones).wait()
        out, into = [int(count) for count in leaving], [int(count) for count in counts]
        ends = torch.from_numpy(np.stack([columns, rows[by_owner]], axis=1))
        data = torch.from_numpy(self.csr.data[by_owner].astype(np.float64))
        arrived = self.ranks.exchange(ends, out, into).wait().numpy()
        values = self.ranks.exchange(data, out, into).wait().numpy()
        places = (arrived[:, 0] - self.first, arrived[:, 1])
        return self.of(sp.coo_array((values, places), shape=self.csr.shape).tocsr())

    def matrix(self, dtype: torch.dtype, *, symmetric: bool = False) -> PartMatrix:
        """What a model multiplies with."""
        return PartMatrix.of(self.csr, self.starts, self.ranks, dtype, symmetric=symmetric)
