"""Sums and dot products along edges, and dropout of sparse features, against their dense forms."""

from __future__ import annotations

import pytest
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from glognn.graph.graph import Graph
from glognn.graph.pattern import Pattern
from glognn.graph.sparse import SparseMatrix
from glognn.ops.edges import edge_dot, edge_sum
from glognn.ops.products import matmul
from glognn.ops.segments import segment_softmax
from glognn.ops.sparse_dropout import dropout_matmul, with_droppable_entries


def pattern_of(rows: int, columns: int, density: float = 0.3) -> tuple[Pattern, Tensor, Tensor]:
    """A random pattern with empty rows and columns, and the ends of its edges."""
    places = torch.rand(rows, columns, dtype=torch.float64) * (torch.rand(rows, columns) < density)
    places[0], places[:, 1] = 0, 0
    matrix = SparseMatrix.from_scipy(sp.csr_array(places.numpy()), torch.float64)
    return matrix.pattern, *matrix.entries()


@pytest.mark.parametrize("density", [0.0, 0.3])
def test_edge_sum_and_edge_dot_with_gradients_of_both_orders(density: float) -> None:
    pattern, node, neighbour = pattern_of(9, 7, density)
    weights = torch.rand(pattern.num_entries, dtype=torch.float64, requires_grad=True)
    left, right = (torch.randn(n, 4, dtype=torch.float64, requires_grad=True) for n in (9, 7))
    square = torch.zeros(9, 7, dtype=torch.float64).index_put((node, neighbour), weights)
    torch.testing.assert_close(edge_sum(pattern, weights, right), square @ right)
    torch.testing.assert_close(edge_dot(pattern, left, right), (left @ right.T)[node, neighbour])
    for function, inputs in ((edge_sum, (weights, right)), (edge_dot, (left, right))):
        assert torch.autograd.gradcheck(lambda *given, f=function: f(pattern, *given), inputs)
        assert torch.autograd.gradgradcheck(lambda *given, f=function: f(pattern, *given), inputs)


def test_edge_operations_over_a_batch() -> None:
    pattern, _, _ = pattern_of(9, 7)
    weights = torch.rand(3, pattern.num_entries, dtype=torch.float64)
    right = torch.randn(7, 4, dtype=torch.float64)

    def loss(each: Tensor) -> Tensor:
        return edge_dot(pattern, edge_sum(pattern, each, right), right).square().sum()

    together = torch.func.vmap(torch.func.grad(loss))(weights)
    for found, each in zip(together, weights, strict=True):
        torch.testing.assert_close(found, torch.func.grad(loss)(each))


def test_segment_softmax() -> None:
    scores = torch.tensor([1e4, 1e4 + 1, -1e4, 3.0, 3.0], dtype=torch.float64, requires_grad=True)
    group = torch.tensor([0, 0, 2, 3, 3])
    found = segment_softmax(scores, group, 5)
    torch.testing.assert_close(found[:2].detach(), torch.softmax(torch.tensor([0.0, 1.0]).double(), 0))
    assert found[2:].tolist() == [1.0, 0.5, 0.5]
    assert torch.autograd.gradcheck(lambda s: segment_softmax(s, group, 5), scores)
    assert segment_softmax(scores[:0], group[:0], 5).shape == (0,)


class TestDropout:
    def features(self) -> Tensor:
        return torch.rand(40, 30, dtype=torch.float64) * (torch.rand(40, 30) < 0.3)

    def test_masks_the_matrix_and_its_transpose_alike(self) -> None:
        sparse = Graph.from_data(Data(x=self.features().to_sparse_csr()), dtype=torch.float64).x
        ready, eye = with_droppable_entries(sparse), torch.eye(30, dtype=torch.float64)
        weight = torch.rand(30, 6, dtype=torch.float64, requires_grad=True)
        torch.manual_seed(5)
        dropped = dropout_matmul(ready, eye, 0.4, True)
        torch.manual_seed(5)
        product = dropout_matmul(ready, weight, 0.4, True)
        torch.testing.assert_close(product, dropped @ weight)
        direction = torch.rand_like(product)
        (gradient,) = torch.autograd.grad((product * direction).sum(), weight)
        torch.testing.assert_close(gradient, dropped.T @ direction)
        full = matmul(sparse, eye)
        kept = dropped[full != 0] / full[full != 0]
        assert set(kept.mul(0.6).round(decimals=6).tolist()) == {0.0, 1.0}
        assert (kept > 0).double().mean() == pytest.approx(0.6, abs=0.1)

    def test_does_nothing_in_evaluation(self) -> None:
        x, weight = self.features(), torch.rand(30, 6, dtype=torch.float64)
        sparse = Graph.from_data(Data(x=x.to_sparse_csr()), dtype=torch.float64).x
        for matrix in (x, sparse):
            torch.testing.assert_close(dropout_matmul(with_droppable_entries(matrix), weight, 0.9, False), x @ weight)

    def test_runs_over_a_batch_of_weights(self) -> None:
        """Each member has a mask of its own, and gradients go through it."""
        sparse = Graph.from_data(Data(x=self.features().to_sparse_csr()), dtype=torch.float64).x
        ready, weights = with_droppable_entries(sparse), torch.rand(3, 30, 6, dtype=torch.float64)

        def loss(weight: Tensor) -> Tensor:
            return dropout_matmul(ready, weight, 0.5, True).square().sum()

        gradients = torch.func.vmap(torch.func.grad(loss), randomness="different")(weights)
        assert gradients.shape == weights.shape
        same = torch.func.vmap(torch.func.grad(loss), randomness="different")(weights[:1].expand(3, -1, -1))
        assert not torch.allclose(same[0], same[1])
