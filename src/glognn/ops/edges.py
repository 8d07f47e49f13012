"""Sums and dot products along the edges of a constant pattern, differentiable in weights and features alike.

Each is the derivative of the other, so that weights which depend on the features cost O(edges) memory and not
O(edges x features).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from glognn.graph.sparse import SparseMatrix


@dataclass(frozen=True, eq=False)
class EdgePattern:
    """Where an n x m sparse matrix has entries, row by row, and the same of its transpose.

    Edge weights are vectors in the order of the rows. ``order`` says which of them each entry of the transpose is,
    ``reverse_order`` the other way round.
    """

    shape: tuple[int, int]
    rows: tuple[Tensor, Tensor]
    rows_transposed: tuple[Tensor, Tensor]
    order: Tensor
    reverse_order: Tensor

    @classmethod
    def of(cls, matrix: SparseMatrix) -> EdgePattern:
        numbered = matrix.to_scipy()
        numbered = sp.csr_array((np.arange(matrix.nnz), numbered.indices, numbered.indptr), shape=matrix.shape)
        order = torch.from_numpy(numbered.T.tocsr().data.astype(np.int64)).to(matrix.device)
        rows, transposed = ((csr.crow_indices(), csr.col_indices()) for csr in (matrix.csr, matrix.csr_transposed))
        return cls(matrix.shape, rows, transposed, order, order.argsort())

    @property
    def num_edges(self) -> int:
        return self.order.numel()

    @property
    def transpose(self) -> EdgePattern:
        return EdgePattern(self.shape[::-1], self.rows_transposed, self.rows, self.reverse_order, self.order)

    def with_weights(self, weights: Tensor) -> Tensor:
        return torch.sparse_csr_tensor(*self.rows, weights, self.shape, check_invariants=False)


class _OnEdges(torch.autograd.Function):
    """Keeps the pattern and both tensors for the derivative."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[EdgePattern, Tensor, Tensor], output: Tensor) -> None:
        ctx.pattern = inputs[0]
        ctx.save_for_backward(*inputs[1:])


class _EdgeSum(_OnEdges):
    @staticmethod
    def forward(pattern: EdgePattern, weights: Tensor, dense: Tensor) -> Tensor:
        return pattern.with_weights(weights) @ dense.contiguous()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        weights, dense = ctx.saved_tensors
        back = weights.index_select(0, ctx.pattern.order)
        for_weights = edge_dot(ctx.pattern, gradients[0], dense) if ctx.needs_input_grad[1] else None
        for_dense = edge_sum(ctx.pattern.transpose, back, gradients[0]) if ctx.needs_input_grad[2] else None
        return None, for_weights, for_dense

    @staticmethod
    def vmap(info: Any, in_dims: Any, pattern: EdgePattern, *tensors: Tensor) -> tuple[Tensor, int]:
        members = _members(info.batch_size, in_dims[1:], tensors)
        return torch.stack([edge_sum(pattern, *member) for member in members]), 0


class _EdgeDot(_OnEdges):
    @staticmethod
    def forward(pattern: EdgePattern, left: Tensor, right: Tensor) -> Tensor:
        empty = pattern.with_weights(left.new_zeros(pattern.num_edges))
        products: Tensor = torch.sparse.sampled_addmm(empty, left.contiguous(), right.contiguous().T, beta=0.0)
        return products.values()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        left, right = ctx.saved_tensors
        back = gradients[0].index_select(0, ctx.pattern.order)
        for_left = edge_sum(ctx.pattern, gradients[0], right) if ctx.needs_input_grad[1] else None
        for_right = edge_sum(ctx.pattern.transpose, back, left) if ctx.needs_input_grad[2] else None
        return None, for_left, for_right

    @staticmethod
    def vmap(info: Any, in_dims: Any, pattern: EdgePattern, *tensors: Tensor) -> tuple[Tensor, int]:
        members = _members(info.batch_size, in_dims[1:], tensors)
        return torch.stack([edge_dot(pattern, *member) for member in members]), 0


def _members(count: int, dims: tuple[int | None, ...], tensors: tuple[Tensor, ...]) -> list[tuple[Tensor, ...]]:
    """The tensors of each member of a batch: one after the other, as no sparse layout takes a batch of values."""
    parts = [[t] * count if dim is None else t.unbind(dim) for t, dim in zip(tensors, dims, strict=True)]
    return list(zip(*parts, strict=True))


def edge_sum(pattern: EdgePattern, weights: Tensor, dense: Tensor) -> Tensor:
    """Row i is the sum over its edges (i, j) of weight times ``dense[j]``; O(edges k) for k columns."""
    total: Tensor = _EdgeSum.apply(pattern, weights, dense)  # type: ignore[no-untyped-call]
    return total


def edge_dot(pattern: EdgePattern, left: Tensor, right: Tensor) -> Tensor:
    """For each edge (i, j) the dot product of ``left[i]`` and ``right[j]``."""
    products: Tensor = _EdgeDot.apply(pattern, left, right)  # type: ignore[no-untyped-call]
    return products
