"""Constant sparse matrices, stored row by row together with their transpose."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from glognn.graph.pattern import Pattern
from glognn.graph.row_plan import RowPlan

_INT32_MAX = np.iinfo(np.int32).max


def aligned(tensor: Tensor) -> Tensor:
    """The tensor, contiguous and on a 64-byte boundary: vector code then gives the same bits each run."""
    tensor = tensor.contiguous()
    if tensor.device.type == "cpu" and tensor.data_ptr() % 64 and not tensor.requires_grad:
        return tensor.clone()
    return tensor


def _to_torch(matrix: sp.csr_array, dtype: torch.dtype) -> Tensor:
    fits = max(matrix.nnz, *matrix.shape) <= _INT32_MAX
    index_type = np.int32 if fits else np.int64
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse (CSR tensor support is in beta|invariant checks are)")
        return torch.sparse_csr_tensor(
            aligned(torch.from_numpy(np.asarray(matrix.indptr, dtype=index_type))),
            aligned(torch.from_numpy(np.asarray(matrix.indices, dtype=index_type))),
            aligned(torch.from_numpy(np.asarray(matrix.data)).to(dtype)),
            size=matrix.shape,
            check_invariants=False,
        )


def _to_scipy(csr: Tensor) -> sp.csr_array:
    parts = (csr.values().numpy(), csr.col_indices().numpy(), csr.crow_indices().numpy())
    return sp.csr_array(parts, shape=(csr.shape[0], csr.shape[1]))


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A constant n x m matrix in CSR form (32-bit indices where they fit) with its transpose.

    The transpose is what the gradient of a product needs; a symmetric matrix stores it only once.
    """

    csr: Tensor
    csr_transposed: Tensor

    @classmethod
    def from_scipy(
        cls, matrix: sp.csr_array, dtype: torch.dtype = torch.float32, *, symmetric: bool = False
    ) -> SparseMatrix:
        matrix.sort_indices()
        csr = _to_torch(matrix, dtype)
        return cls(csr, csr if symmetric else _to_torch(matrix.T.tocsr(), dtype))

    @classmethod
    def from_torch(cls, tensor: Tensor, dtype: torch.dtype | None = None) -> SparseMatrix:
        """From any sparse or dense 2-D torch tensor; it is brought to the CPU for the conversion."""
        dtype = tensor.dtype if dtype is None else dtype
        values = tensor.detach().cpu()
        matrix = sp.csr_array(values.numpy()) if values.layout == torch.strided else _to_scipy(values.to_sparse_csr())
        return cls.from_scipy(matrix, dtype).to(device=tensor.device)

    def to_scipy(self) -> sp.csr_array:
        return _to_scipy(self.csr.cpu())

    @property
    def shape(self) -> tuple[int, int]:
        return self.csr.shape[0], self.csr.shape[1]

    @property
    def nnz(self) -> int:
        return self.csr.values().numel()

    @property
    def dtype(self) -> torch.dtype:
        return self.csr.dtype

    @property
    def device(self) -> torch.device:
        return self.csr.device

    def entries(self) -> tuple[Tensor, Tensor]:
        """Row and column of every stored value, in the order of the values."""
        rows = torch.arange(self.shape[0], device=self.device)
        rows = torch.repeat_interleave(rows, self.csr.crow_indices().diff().to(torch.int64))
        return rows, self.csr.col_indices().to(torch.int64)

    @cached_property
    def pattern(self) -> Pattern:
        """Where the entries are; made once."""
        return Pattern.of(self.csr, self.csr_transposed)

    @cached_property
    def plan(self) -> RowPlan:
        """How a GPU sums its rows; made once."""
        return RowPlan.of(self.csr)

    @cached_property
    def transpose(self) -> SparseMatrix:
        return self if self.is_symmetric else SparseMatrix(self.csr_transposed, self.csr)

    @property
    def is_symmetric(self) -> bool:
        """Whether the matrix is known to be symmetric, and so stored once."""
        return self.csr is self.csr_transposed

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> SparseMatrix:
        csr = self.csr.to(device=device, dtype=dtype)
        if self.is_symmetric:
            return SparseMatrix(csr, csr)
        return SparseMatrix(csr, self.csr_transposed.to(device=device, dtype=dtype))


Matrix = Tensor | SparseMatrix
"""A constant model input: dense tensor or sparse matrix."""
