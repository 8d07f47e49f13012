"""Products across ranks, forward and backward, against the product of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from glognn.distributed.matrix import PartMatrix
from glognn.distributed.methods import METHODS
from glognn.distributed.partition import Partition, balanced, by_owner, contiguous, make_partition, part_sizes
from glognn.distributed.ranks import Ranks, over_ranks, together
from glognn.distributed.rows import PartRows
from glognn.graph.sparse import SparseMatrix
from glognn.ops.products import spmm
from tests.distributed.processes import on_ranks

NODES, WIDTH = 60, 3


def matrix(*, symmetric: bool) -> sp.csr_array:
    random = np.random.default_rng(0)
    dense = random.random((NODES, NODES)) * (random.random((NODES, NODES)) < 0.1)
    dense[5] = dense[:, 7] = 0  # a node without entries, and one that nobody points to
    return sp.csr_array(np.maximum(dense, dense.T) if symmetric else dense)


def partition(parts: int, *, scattered: bool) -> Partition:
    if scattered:
        return by_owner(np.random.default_rng(1).permutation(np.arange(NODES) % parts), parts, "metis")
    return balanced(np.diff(matrix(symmetric=False).indptr), parts)


def placed(rows: sp.csr_array, own: Partition) -> sp.csr_array:
    order = np.arange(NODES) if own.order is None else own.order
    return sp.csr_array(rows[order][:, order])


def _products(ranks: Ranks, symmetric: bool, scattered: bool, transposed: bool) -> Any:
    own = partition(ranks.size, scattered=scattered)
    first, last = own.starts[ranks.rank], own.starts[ranks.rank + 1]
    rows = sp.csr_array(placed(matrix(symmetric=symmetric), own)[first:last])
    part = PartMatrix.of(rows, own.starts, ranks, torch.float64, symmetric=symmetric)
    part = part.transpose if transposed else part
    dense = torch.randn(NODES, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    weights = torch.randn(NODES, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    nodes = torch.from_numpy(own.nodes(ranks.rank))
    mine = dense[nodes].requires_grad_()
    out = spmm(part, spmm(part, mine).tanh())
    (out * weights[nodes]).sum().backward()
    return nodes, out.detach(), mine.grad, part.nnz


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize(("symmetric", "scattered", "transposed"), [(True, True, False), (False, False, True)])
def test_products_and_their_derivatives_equal_those_of_one_process(
    size: int, symmetric: bool, scattered: bool, transposed: bool, tmp_path: Path
) -> None:
    whole = SparseMatrix.from_scipy(matrix(symmetric=symmetric), torch.float64)
    whole = whole.transpose if transposed else whole
    dense = torch.randn(NODES, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(2)).requires_grad_()
    weights = torch.randn(NODES, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    out = spmm(whole, spmm(whole, dense).tanh())
    (out * weights).sum().backward()
    assert dense.grad is not None
    found = on_ranks(size, _products, symmetric, scattered, transposed, folder=tmp_path)
    for nodes, mine, gradient, _ in found:
        torch.testing.assert_close(mine, out.detach()[nodes], rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(gradient, dense.grad[nodes], rtol=1e-12, atol=1e-12)
    assert sum(nnz for *_, nnz in found) == whole.nnz


def _sums(ranks: Ranks) -> Any:
    own = partition(ranks.size, scattered=False)
    first, last = own.starts[ranks.rank], own.starts[ranks.rank + 1]
    rows = PartRows(sp.csr_array(matrix(symmetric=False)[first:last]), own.starts, ranks)
    value = torch.full((2,), float(ranks.rank + 1), requires_grad=True)
    with together(ranks):
        total = over_ranks(value)
        (total * (ranks.rank + 1)).sum().backward()
    return rows.column_sums(), rows.turned().csr.toarray(), total.detach(), value.grad, ranks.gather(ranks.rank)


def test_columns_are_summed_and_rows_turned_across_ranks(tmp_path: Path) -> None:
    found = on_ranks(4, _sums, folder=tmp_path)
    whole = matrix(symmetric=False)
    np.testing.assert_allclose(np.concatenate([each[0] for each in found]), whole.sum(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(np.concatenate([each[1] for each in found]), whole.toarray().T)
    for _, _, total, gradient, gathered in found:
        assert total.tolist() == [10.0, 10.0]
        assert gradient.tolist() == [10.0, 10.0], "the sum's derivative is the sum of the ranks' derivatives"
        assert gathered == [0, 1, 2, 3]


@pytest.mark.parametrize("parts", [1, 3, NODES])
def test_every_node_has_one_owner(parts: int) -> None:
    for own in (contiguous(NODES, parts), partition(parts, scattered=False), partition(parts, scattered=True)):
        nodes = np.concatenate([own.nodes(part) for part in range(parts)])
        assert sorted(nodes) == list(range(NODES))
        assert all(np.diff(own.starts) > 0)
        places = own.places()
        assert places is None or (nodes[places] == np.arange(NODES)).all()


def test_blocks_are_balanced_by_nodes_and_entries() -> None:
    degrees = np.array([100, 0, 0, 0, 0, 0, 50, 49])
    assert balanced(degrees, 2).starts.tolist() == [0, 4, 8]


def _halos(own: Partition, rows: sp.csr_array) -> list[int]:
    places = own.places()
    found = []
    for part in range(own.parts):
        columns = rows[own.nodes(part)].indices.astype(np.int64)
        columns = columns if places is None else places[columns]
        found.append(part_sizes(columns, own.nodes(part).size, int(own.starts[part])).halo)
    return found


def test_metis_finds_communities() -> None:
    pytest.importorskip("pymetis", reason="pymetis is not installed")
    random = np.random.default_rng(3)
    communities = random.permutation(np.arange(400) % 4)
    dense = random.random((400, 400)) < np.where(communities[:, None] == communities, 0.08, 0.0)
    dense[0, np.flatnonzero(communities != communities[0])[0]] = True  # the one edge between them, in one direction
    rows = sp.csr_array(dense.astype(float))
    own = make_partition(rows, 4, "metis")
    assert sum(_halos(own, rows)) < 60 < 800 < sum(_halos(make_partition(rows, 4, "balanced"), rows))
    work = [rows[own.nodes(part)].nnz + own.nodes(part).size for part in range(4)]
    assert max(work) < 1.05 * np.mean(work)
    for part in range(4):
        assert max(np.bincount(communities[own.nodes(part)])) > 0.9 * own.nodes(part).size


def test_sizes_of_a_part_count_what_leads_out() -> None:
    assert vars(part_sizes(np.array([0, 3, 3, 9, 4]), nodes=2, first=3)) == {
        "nodes": 2, "entries": 5, "cut": 2, "halo": 2,
    }  # fmt: skip


def test_wrong_partitions_are_refused() -> None:
    from glognn.errors import InputError

    with pytest.raises(InputError, match=f"in the range \\[1, {NODES}\\] \\(the nodes\\). Got 61 instead"):
        make_partition(matrix(symmetric=True), 61, METHODS[0])
    with pytest.raises(InputError, match="must be one of contiguous, balanced, metis. Got 'best' instead"):
        make_partition(matrix(symmetric=True), 2, "best")
