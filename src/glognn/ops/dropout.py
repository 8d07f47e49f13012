"""Dropout of the entries of a constant matrix, within the product that reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor

from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.ops.products import matmul


@dataclass(frozen=True, eq=False)
class DroppableMatrix:
    """A sparse matrix whose values can be masked together with those of its transpose.

    ``order`` says which value of the matrix each value of the transpose is, ``reverse_order`` the other way round.
    """

    matrix: SparseMatrix
    order: Tensor
    reverse_order: Tensor

    @classmethod
    def of(cls, matrix: SparseMatrix) -> DroppableMatrix:
        numbered = matrix.to_scipy()
        numbered = sp.csr_array((np.arange(matrix.nnz), numbered.indices, numbered.indptr), shape=matrix.shape)
        order = torch.from_numpy(numbered.T.tocsr().data.astype(np.int64)).to(matrix.device)
        return cls(matrix, order, order.argsort())

    @property
    def transpose(self) -> DroppableMatrix:
        return DroppableMatrix(self.matrix.transpose, self.reverse_order, self.order)


class _MaskedProduct(torch.autograd.Function):
    """(M * mask) B for a constant sparse M, a constant mask of its values and a dense B."""

    @staticmethod
    def forward(droppable: DroppableMatrix, mask: Tensor, dense: Tensor) -> Tensor:
        csr = droppable.matrix.csr
        masked = torch.sparse_csr_tensor(
            csr.crow_indices(), csr.col_indices(), csr.values() * mask, csr.shape, check_invariants=False
        )
        return masked @ dense.contiguous()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[DroppableMatrix, Tensor, Tensor], output: Tensor) -> None:
        ctx.droppable = inputs[0]
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None, Tensor]:
        (mask,) = ctx.saved_tensors
        back = mask.index_select(0, ctx.droppable.order)
        return None, None, _MaskedProduct.apply(ctx.droppable.transpose, back, gradients[0])  # type: ignore[no-untyped-call]

    @staticmethod
    def vmap(info: Any, in_dims: Any, droppable: DroppableMatrix, mask: Tensor, dense: Tensor) -> tuple[Tensor, int]:
        """One product after the other: no sparse layout takes a batch of values."""
        masks, denses = (
            [tensor] * info.batch_size if dim is None else tensor.unbind(dim)
            for tensor, dim in ((mask, in_dims[1]), (dense, in_dims[2]))
        )
        pairs = zip(masks, denses, strict=True)
        products = [_MaskedProduct.apply(droppable, *pair) for pair in pairs]  # type: ignore[no-untyped-call]
        return torch.stack(products), 0


def droppable(matrix: Matrix) -> Tensor | DroppableMatrix:
    """A matrix as :func:`dropout_matmul` takes it; made once."""
    return DroppableMatrix.of(matrix) if isinstance(matrix, SparseMatrix) else matrix


def dropout_matmul(matrix: Tensor | DroppableMatrix, dense: Tensor, p: float, training: bool) -> Tensor:
    """``dropout(matrix) @ dense``: in training each entry is zeroed with probability p, the others scaled up.

    Of a sparse matrix only the stored entries are drawn, in O(nnz): the others are zero anyhow.
    """
    if isinstance(matrix, Tensor):
        return F.dropout(matrix, p, training) @ dense
    if not training or p == 0:
        return matmul(matrix.matrix, dense)
    ones = torch.ones(matrix.order.shape, dtype=matrix.matrix.dtype, device=matrix.order.device)
    mask = F.dropout(ones, p)
    product: Tensor = _MaskedProduct.apply(matrix, mask, dense)  # type: ignore[no-untyped-call]
    return product
