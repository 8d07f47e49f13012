"""Products of a constant sparse matrix with a dense one, differentiable in the dense one."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from glognn.distributed.matrix import PartMatrix
from glognn.graph.sparse import Matrix, SparseMatrix


class _SparseProduct(torch.autograd.Function):
    """Forward M B, backward M^T G with the stored transpose (torch would transpose anew each time).

    Under ``torch.func.vmap`` the B of all members lie side by side: one product of k times as many columns.
    """

    @staticmethod
    def forward(matrix: SparseMatrix, dense: Tensor) -> Tensor:
        return matrix.csr @ dense

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


def spmm(matrix: SparseMatrix, dense: Tensor) -> Tensor:
    """``matrix @ dense``, sparse n x m times dense m x k, in O(nnz k); across ranks, own rows of both."""
    if isinstance(matrix, PartMatrix):
        return matrix.product(dense)
    product: Tensor = _SparseProduct.apply(matrix, dense.contiguous())  # type: ignore[no-untyped-call]
    return product


def matmul(matrix: Matrix, dense: Tensor) -> Tensor:
    """``matrix @ dense`` for a dense or sparse matrix."""
    return spmm(matrix, dense) if isinstance(matrix, SparseMatrix) else matrix @ dense
