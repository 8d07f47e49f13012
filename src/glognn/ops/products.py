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

_OFTEN = {"high": 8, "medium": 5}
"""How often, on average, a row is gathered where rounding it to 16 bits pays.

Each time 2 bytes of a value are spared. Rounding reads 4 and writes 2, and ``high`` reads all once more before, for the
largest: even at 5 and 3 gathers, if none was served by a cache.
"""
_WIDE = 32
"""Columns from which on half a row is still whole sectors of memory."""
_MANY = 2**25
"""Values gathered, from which on what is spared is more than two kernels more."""


class _SparseProduct(torch.autograd.Function):
    """Forward M B, backward M^T G with the stored transpose (torch would transpose anew each time).

    Under ``torch.func.vmap`` the B of all members lie side by side: one product of k times as many columns.
    """

    @staticmethod
    def forward(matrix: SparseMatrix, dense: Tensor, several: bool) -> Tensor:
        return _product(matrix, dense, several=several)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[SparseMatrix, Tensor, bool], output: Tensor) -> None:
        ctx.matrix, _, ctx.several = inputs

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor, None]:
        return None, _spmm(ctx.matrix.transpose, gradients[0], ctx.several), None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[None, int, None], matrix: SparseMatrix, dense: Tensor, several: bool
    ) -> tuple[Tensor, int]:
        side_by_side = dense.movedim(in_dims[1], 1)
        product = _spmm(matrix, side_by_side.flatten(1), True)
        return product.view(-1, *side_by_side.shape[1:]), 1


def _product(
    matrix: SparseMatrix, dense: Tensor, factor: float = 1.0, added: Tensor | None = None, *, several: bool = False
) -> Tensor:
    if usable(dense):
        from glognn.ops.kernels.rows import product

        rounded = _rounded(matrix, dense, several)
        if rounded == "medium":
            return product(matrix, dense.bfloat16(), factor, added)
        if rounded == "high":
            from glognn.ops.kernels.halved import halved

            values, back = halved(dense)
            return product(matrix, values, factor, added, back)
        return product(matrix, dense, factor, added)
    out = matrix.csr @ dense
    out = out if factor == 1 else factor * out
    return out if added is None else out + added


def _rounded(matrix: SparseMatrix, dense: Tensor, several: bool) -> str:
    """The precision that rows are gathered in, or '' where that is float32: not allowed otherwise, or not worth it.

    ``high`` is float16 with a common scale, with the bits that dense products have in TF32, ``medium`` bfloat16.
    Members side by side have no scale in common: one that diverges would take the others' bits.
    """
    allowed = torch.get_float32_matmul_precision()
    if several and allowed == "high":
        return ""
    rows, width = dense.shape
    wide = dense.dtype == torch.float32 and width >= _WIDE and matrix.nnz * width >= _MANY
    return allowed if wide and allowed in _OFTEN and matrix.nnz >= _OFTEN[allowed] * rows else ""


class _AddedProduct(torch.autograd.Function):
    """factor * M B + added, in one pass."""

    @staticmethod
    def forward(ctx: Any, matrix: SparseMatrix, dense: Tensor, factor: float, added: Tensor | None) -> Tensor:
        ctx.matrix, ctx.factor, ctx.row = matrix, factor, added is not None and added.dim() == 1
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
    return _spmm(matrix, dense, False)


def _spmm(matrix: SparseMatrix, dense: Tensor, several: bool) -> Tensor:
    """``several``: columns of many models side by side."""
    product: Tensor = _SparseProduct.apply(matrix, dense.contiguous(), several)  # type: ignore[no-untyped-call]
    return product


def matmul(matrix: Matrix, dense: Tensor) -> Tensor:
    """``matrix @ dense`` for a dense or sparse matrix."""
    return spmm(matrix, dense) if isinstance(matrix, SparseMatrix) else matrix @ dense


def added_matmul(matrix: Matrix, dense: Tensor, factor: float, added: Tensor | None) -> Tensor:
    """``factor * matrix @ dense + added``, where ``added`` is of the result's shape, one row of it, or nothing."""
    if isinstance(matrix, PartMatrix | ScaledMatrix):
        found = factor * matrix.product(dense)
        return found if added is None else found + added
    if isinstance(matrix, SparseMatrix):
        out: Tensor = _AddedProduct.apply(matrix, dense.contiguous(), factor, added)  # type: ignore[no-untyped-call]
        return out
    if added is None:
        return matrix @ (dense if factor == 1 else factor * dense)
    return torch.addmm(added, matrix, dense, alpha=factor)
