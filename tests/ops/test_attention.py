"""Attention over neighbours: equal to the dense equation, with its gradients, also under vmap."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from glognn.graph.pattern import Pattern
from glognn.graph.sparse import SparseMatrix
from glognn.ops.attention import neighbour_attention
from glognn.ops.edges import edge_sum
from tests.reference import baselines as reference

NODES, HEADS, CHANNELS = 13, 3, 2


@pytest.fixture
def adjacency() -> Tensor:
    """Directed, with a self-loop and rows without any other entry."""
    dense = (torch.rand(NODES, NODES) < 0.2).double()
    dense[2, 2], dense[5], dense[:, 7] = 1, 0, 0
    return dense


@pytest.fixture
def pattern(adjacency: Tensor) -> Pattern:
    return SparseMatrix.from_torch((adjacency + torch.eye(NODES)).clamp(max=1)).pattern


def operands() -> list[Tensor]:
    shapes = ((HEADS, NODES), (HEADS, NODES), (HEADS, NODES, CHANNELS))
    return [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]


def test_pattern_and_transpose(adjacency: Tensor, pattern: Pattern) -> None:
    values = torch.rand(pattern.columns.numel(), dtype=torch.float64)
    dense = pattern.matrix(values).to_dense()
    assert torch.equal(dense != 0, (adjacency + torch.eye(NODES)) != 0)
    turned = pattern.transpose
    assert torch.equal(turned.matrix(values[pattern.order.long()]).to_dense(), dense.T)
    assert torch.equal(turned.transpose.matrix(values).to_dense(), dense)
    assert torch.equal(values[pattern.order.long()][turned.order.long()], values)


def test_equals_the_equation(adjacency: Tensor, pattern: Pattern) -> None:
    target, source, dense = operands()
    found = neighbour_attention(pattern, target, source, dense, slope=0.1)
    wanted = torch.stack([reference.attention(adjacency, target[h], source[h], dense[h], 0.1) for h in range(HEADS)])
    torch.testing.assert_close(found, wanted)
    direction = torch.randn_like(found)
    for a, b in zip(
        torch.autograd.grad((found * direction).sum(), (target, source, dense)),
        torch.autograd.grad((wanted * direction).sum(), (target, source, dense)),
        strict=True,
    ):
        torch.testing.assert_close(a, b)


def test_sums_can_be_differentiated_twice(pattern: Pattern) -> None:
    weights = torch.rand(HEADS, pattern.columns.numel(), dtype=torch.float64, requires_grad=True)
    dense = operands()[2]
    assert torch.autograd.gradcheck(lambda w, d: edge_sum(pattern, w, d), (weights, dense))
    assert torch.autograd.gradgradcheck(lambda w, d: edge_sum(pattern, w, d), (weights, dense))


def test_many_at_once(pattern: Pattern) -> None:
    batch = [torch.stack(each) for each in zip(*(operands() for _ in range(4)), strict=True)]

    def loss(target: Tensor, source: Tensor, dense: Tensor) -> Tensor:
        return neighbour_attention(pattern, target, source, dense).square().sum()

    gradient = torch.func.grad(loss, argnums=(0, 1, 2))
    together = torch.vmap(gradient)(*batch)
    for index in range(4):
        for a, b in zip(together, gradient(*(each[index] for each in batch)), strict=True):
            torch.testing.assert_close(a[index], b)
    shared = torch.vmap(loss, in_dims=(0, 0, None))(batch[0], batch[1], batch[2][0])
    torch.testing.assert_close(shared[3], loss(batch[0][3], batch[1][3], batch[2][0]))


def test_entries_are_numbered_in_32_bits() -> None:
    pattern = SparseMatrix.from_scipy(sp.csr_array(np.eye(4))).pattern
    assert {each.dtype for each in (pattern.starts, pattern.columns, pattern.order)} == {torch.int32}
