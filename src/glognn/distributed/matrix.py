"""Sparse matrices whose rows lie with the owners of nodes, and products with them across ranks.

A rank has the rows of its nodes. The columns of its own nodes are a block of their own (``csr``), those of other ranks'
nodes, its halo, another one (``remote``). A product sends the rows of the dense factor that others need, multiplies the
first block meanwhile, and adds the second when the halo has come. The transposed product goes the other way: what is
owed to the nodes of others is computed first and sent while the own block is multiplied. Each is the derivative of the
other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from glognn.distributed.ranks import Ranks
from glognn.graph.pattern import Pattern
from glognn.graph.sparse import SparseMatrix


@dataclass(frozen=True, eq=False)
class Halo:
    """Which rows ranks send to each other for a product.

    Args:
        ranks: The group.
        rows: Of this rank's rows those that others need, rank by rank.
        leaving: How many of them each rank needs.
        arriving: How many this rank needs of each.
    """

    ranks: Ranks
    rows: Tensor
    leaving: tuple[int, ...]
    arriving: tuple[int, ...]

    @classmethod
    def of(cls, columns: npt.NDArray[np.int64], starts: npt.NDArray[np.int64], ranks: Ranks) -> Halo:
        """From the places that this rank reads of others, ascending; all ranks must call it."""
        arriving = np.diff(np.searchsorted(columns, starts))
        counts = ranks.exchange(torch.from_numpy(arriving), [1] * ranks.size, [1] * ranks.size).wait()
        leaving = [int(count) for count in counts]
        wanted = ranks.exchange(torch.from_numpy(columns), [int(count) for count in arriving], leaving).wait()
        return cls(ranks, wanted - int(starts[ranks.rank]), tuple(leaving), tuple(int(count) for count in arriving))

    @property
    def size(self) -> int:
        """How many nodes of others this rank reads."""
        return sum(self.arriving)

    def to(self, device: torch.device | str | None = None) -> Halo:
        return replace(self, rows=self.rows.to(device=device))


@dataclass(frozen=True, eq=False)
class PartMatrix(SparseMatrix):
    """The rows of one rank's nodes of an n x n matrix, or with ``flipped`` the columns, as rows of its transpose.

    Args:
        csr: Own rows and columns.
        csr_transposed: Its transpose.
        remote: Own rows, columns of the halo in the order it arrives.
        remote_transposed: Its transpose.
        halo: What is sent and received.
        flipped: Whether the matrix is the transpose of what ``remote`` is stored of.
    """

    remote: Tensor
    remote_transposed: Tensor
    halo: Halo
    flipped: bool = False

    @classmethod
    def of(
        cls, rows: sp.csr_array, starts: npt.NDArray[np.int64], ranks: Ranks, dtype: torch.dtype, *, symmetric: bool
    ) -> PartMatrix:
        """From a rank's rows over the places of all nodes; all ranks must call it.

        ``symmetric`` says that the whole matrix is, so that the own block need not be stored twice.
        """
        first, last = int(starts[ranks.rank]), int(starts[ranks.rank + 1])
        own = (rows.indices >= first) & (rows.indices < last)
        columns = np.unique(rows.indices[~own]).astype(np.int64)
        inside = _chosen(rows, own, rows.indices - first, last - first)
        outside = _chosen(rows, ~own, np.searchsorted(columns, rows.indices), columns.size)
        block = SparseMatrix.from_scipy(inside, dtype, symmetric=symmetric)
        remote = SparseMatrix.from_scipy(outside, dtype)
        halo = Halo.of(columns, starts, ranks)
        return cls(block.csr, block.csr_transposed, remote.csr, remote.csr_transposed, halo)

    @property
    def nnz(self) -> int:
        """Entries of this rank's rows."""
        return int(self.csr.values().numel() + self.remote.values().numel())

    @property
    def transpose(self) -> PartMatrix:
        return replace(self, csr=self.csr_transposed, csr_transposed=self.csr, flipped=not self.flipped)

    @property
    def is_symmetric(self) -> bool:
        return self.csr is self.csr_transposed

    @property
    def pattern(self) -> Pattern:
        raise NotImplementedError("The entries of a matrix on several ranks are in no one place.")

    def to_scipy(self) -> sp.csr_array:
        raise NotImplementedError("The entries of a matrix on several ranks are in no one place.")

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> PartMatrix:
        csr = self.csr.to(device=device, dtype=dtype)
        return replace(
            self,
            csr=csr,
            csr_transposed=csr if self.is_symmetric else self.csr_transposed.to(device=device, dtype=dtype),
            remote=self.remote.to(device=device, dtype=dtype),
            remote_transposed=self.remote_transposed.to(device=device, dtype=dtype),
            halo=self.halo.to(device),
        )

    def multiply(self, dense: Tensor) -> Tensor:
        """The rows of this rank of the product, from its rows of the dense factor; no derivative."""
        halo, ranks = self.halo, self.halo.ranks
        if ranks.size == 1:
            return self.csr @ dense
        if self.flipped:
            owed = ranks.exchange(self.remote_transposed @ dense, halo.arriving, halo.leaving)
            total = self.csr @ dense
            return total.index_add_(0, halo.rows, owed.wait())
        coming = ranks.exchange(dense.index_select(0, halo.rows), halo.leaving, halo.arriving)
        total = self.csr @ dense
        return total.add_(self.remote @ coming.wait())

    def product(self, dense: Tensor) -> Tensor:
        """The same, differentiable in the dense factor."""
        rows: Tensor = _PartProduct.apply(self, dense.contiguous())  # type: ignore[no-untyped-call]
        return rows


def _chosen(rows: sp.csr_array, entries: npt.NDArray[np.bool_], columns: npt.NDArray[Any], width: int) -> sp.csr_array:
    """Some entries of a matrix, under other columns."""
    counts = np.concatenate([[0], np.cumsum(entries)])[rows.indptr]
    return sp.csr_array((rows.data[entries], columns[entries], counts), shape=(rows.shape[0], width))


class _PartProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: PartMatrix, dense: Tensor) -> Tensor:
        ctx.matrix = matrix
        return matrix.multiply(dense)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor]:
        return None, ctx.matrix.transpose.product(gradients[0])
