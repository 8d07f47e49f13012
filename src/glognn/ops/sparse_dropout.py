"""Dropout of the entries of a constant matrix, within the product that reads it."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from glognn.graph.pattern import Pattern
from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.ops.edges import edge_sum
from glognn.ops.products import matmul


@dataclass(frozen=True, eq=False)
class DroppableMatrix:
    """A sparse matrix with its values apart from their places."""

    matrix: SparseMatrix
    pattern: Pattern
    values: Tensor


def with_droppable_entries(matrix: Matrix) -> Tensor | DroppableMatrix:
    """A matrix as :func:`dropout_matmul` takes it: sparse stays sparse, its values apart from their places."""
    if isinstance(matrix, Tensor):
        return matrix
    return DroppableMatrix(matrix, matrix.pattern, matrix.csr.values())


def dropout_matmul(matrix: Tensor | DroppableMatrix, dense: Tensor, p: float, training: bool) -> Tensor:
    """``dropout(matrix) @ dense``: in training each entry is zeroed with probability p, the others scaled up.

    Of a sparse matrix only the stored entries are drawn, in O(nnz): the others are zero anyhow.
    """
    if isinstance(matrix, Tensor):
        return F.dropout(matrix, p, training) @ dense
    if not training:
        return matmul(matrix.matrix, dense)
    return edge_sum(matrix.pattern, F.dropout(matrix.values, p), dense)
