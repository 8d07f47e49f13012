"""Products of a constant sparse matrix with a dense one, differentiable in the dense one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from glognn.distributed.matrix import PartMatrix
from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.ops.kernels import usable

_OFTEN = 8
"""How often, on average, a row is gathered where reading half as much pays for writing it once more."""


class _SparseProduct(torch.autograd.Function):
    """Forward M B, backward M^T G with the stored transpose (torch would transpose anew each time).

    Under ``torch.func.vmap`` the B of all members lie side by side: one product of k times as many columns.
    """

    @staticmethod
    def forward(matrix: SparseMatrix, dense: Tensor) -> Tensor:
        return _product(matrix, dense)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[SparseMatrix, Tensor], output: Tensor) -> None:
        ctx.matrix = inputs[0]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor]:
        return None, spmm(ctx.matrix.transpose, gradients[0])

    @staticmethod
    def vmap(info: Any, in_dims: tuple[None, int], matrix: SparseMatrix, dense: Tensor) -> tuple[Tensor, int]:
        side_by_side = dense.movedim(in_dims[1], 1)
        product = spmm(matrix, side_by_side.flatten(1))
        return product.view(-1, *side_by_side.shape[1:]), 1


def _product(matrix: SparseMatrix, dense: Tensor, factor: float = 1.0, added: Tensor | None = None) -> Tensor:
    if usable(dense):
        from glognn.ops.kernels.rows import product

        return product(matrix, dense.bfloat16() if _rounds(matrix, dense) else dense, factor, added)
    out = matrix.csr @ dense
    out = out if factor == 1 else factor * out
    return out if added is None else out + added


def _rounds(matrix: SparseMatrix, dense: Tensor) -> bool:
    """Whether rows are gathered as bfloat16: where that is allowed, and each is gathered often enough to pay for it."""
    allowed = dense.dtype == torch.float32 and torch.get_float32_matmul_precision() == "medium"
    return allowed and matrix.nnz >= _OFTEN * dense.shape[0]


class _AddedProduct(torch.autograd.Function):
    """factor * M B + added, in one pass."""

    @staticmethod
    def forward(ctx: Any, matrix: SparseMatrix, dense: Tensor, factor: float, added: Tensor) -> Tensor:
        ctx.matrix, ctx.factor, ctx.row = matrix, factor, added.dim() == 1
        return _product(matrix, dense, factor, added)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor | None, None, Tensor | None]:
        gradient = gradients[0].contiguous()
        for_dense = _product(ctx.matrix.transpose, gradient, ctx.factor) if ctx.needs_input_grad[1] else None
        for_added = (gradient.sum(0) if ctx.row else gradient) if ctx.needs_input_grad[3] else None
        return None, for_dense, None, for_added


@dataclass(frozen=True, eq=False)
class ScaledMatrix(SparseMatrix):
    """A constant matrix whose rows and columns are scaled by n x 1 numbers, in which products are differentiable."""

    rows: Tensor
    columns: Tensor

    @classmethod
    def of(cls, matrix: SparseMatrix, rows: Tensor, columns: Tensor) -> ScaledMatrix:
        return cls(matrix.csr, matrix.csr_transposed, rows, columns)

    def product(self, dense: Tensor) -> Tensor:
        return self.rows * spmm(SparseMatrix(self.csr, self.csr_transposed), self.columns * dense)


def spmm(matrix: SparseMatrix, dense: Tensor) -> Tensor:
    """``matrix @ dense``, sparse n x m times dense m x k, in O(nnz k); across ranks, own rows of both."""
    if isinstance(matrix, PartMatrix | ScaledMatrix):
        return matrix.product(dense)
    product: Tensor = _SparseProduct.apply(matrix, dense.contiguous())  # type: ignore[no-untyped-call]
    return product


def matmul(matrix: Matrix, dense: Tensor) -> Tensor:
    """``matrix @ dense`` for a dense or sparse matrix."""
    return spmm(matrix, dense) if isinstance(matrix, SparseMatrix) else matrix @ dense


def added_matmul(matrix: Matrix, dense: Tensor, factor: float, added: Tensor) -> Tensor:
    """``factor * matrix @ dense + added``, where ``added`` is of the result's shape or one row of it."""
    if isinstance(matrix, PartMatrix):
        return factor * matrix.product(dense) + added
    if isinstance(matrix, SparseMatrix):
        out: Tensor = _AddedProduct.apply(matrix, dense.contiguous(), factor, added)  # type: ignore[no-untyped-call]
        return out
    return torch.addmm(added, matrix, dense, alpha=factor)
