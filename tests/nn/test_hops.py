"""Sums of products of operators, by Horner's rule."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from glognn.errors import InputError
from glognn.graph.graph import Graph
from glognn.nn import hops as hops_module
from glognn.nn.hops import Hops
from glognn.nn.inputs import ADJACENCY, powers
from glognn.ops.products import ScaledMatrix
from tests.reference.dense import reachability


@pytest.fixture
def operator() -> Graph:
    return Graph.from_data(Data(edge_index=torch.randint(0, 15, (2, 40)), num_nodes=15), dtype=torch.float64)


@pytest.mark.parametrize("num_hops", range(1, 7))
def test_powers_need_one_product_each(operator: Graph, num_hops: int, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = operator.adjacency.normalized("row")
    hops = Hops(powers(num_hops)).double()
    torch.nn.init.normal_(hops.weight)
    P = reachability(matrix.csr.to_dense(), hops.weight.detach())
    dense = torch.randn(15, 4).double()
    calls = []
    product = hops_module.spmm
    monkeypatch.setattr(hops_module, "spmm", lambda a, b: calls.append(1) or product(a, b))
    torch.testing.assert_close(hops({ADJACENCY: matrix}, dense), P @ dense)
    assert len(calls) == num_hops
    torch.testing.assert_close(hops.transposed({ADJACENCY: matrix}, dense), P.T @ dense)
    assert len(calls) == 2 * num_hops


def test_a_scaled_operator_is_scaled_too_where_sums_are_added_as_they_are_written(operator: Graph) -> None:
    """As kernels do on a GPU."""
    matrix, hops = operator.adjacency.normalized("row"), Hops(powers(3)).double()
    rows, columns = torch.rand(15, 1).double(), torch.rand(15, 1).double()
    scaled = {ADJACENCY: ScaledMatrix.of(matrix, rows, columns)}
    dense, added = torch.randn(15, 4).double(), torch.randn(15, 4).double()
    P = reachability(rows * matrix.csr.to_dense() * columns.T, hops.weight.detach())
    torch.testing.assert_close(hops(scaled, dense), P @ dense)
    torch.testing.assert_close(hops(scaled, dense, added), P @ dense + added)


def test_weights_start_at_one_over_their_number() -> None:
    assert torch.equal(Hops(powers(4)).weight, torch.full((4,), 0.25))


@pytest.mark.parametrize("words", [[], [()], [("a",), ("a",)]])
def test_wrong_words(words: list[tuple[str, ...]]) -> None:
    with pytest.raises(InputError, match="The words of Hops must"):
        Hops(words)
