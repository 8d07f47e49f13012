"""Preparing graphs: what is merged, kept and refused."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import warnings

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from glognn.errors import DataWarning, InputError
from glognn.graph.adjacency import AdjacencyCache
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph, prepare_features
from glognn.graph.sparse import SparseMatrix
from tests.conftest import make_data, no_warnings


def adjacency(data: Data, **settings: object) -> Tensor:
    return Graph.from_data(data, GraphConfig(**settings)).adjacency.matrix.csr.to_dense()


EDGES = torch.tensor([[0, 0, 1, 2, 2, 3], [1, 1, 0, 2, 3, 1]])
"""0->1 twice, 1->0, a self-loop at 2, 2->3, 3->1; node 4 is isolated."""


def test_repeated_edges_are_merged_and_edges_made_to_go_both_ways() -> None:
    wanted = torch.zeros(5, 5)
    for i, j in [(0, 1), (2, 2), (2, 3), (3, 1)]:
        wanted[i, j] = wanted[j, i] = 1
    graph = Graph.from_data(Data(edge_index=EDGES, num_nodes=5))
    assert torch.equal(graph.adjacency.matrix.csr.to_dense(), wanted)
    assert graph.adjacency.matrix.is_symmetric
    assert dataclasses.asdict(graph.edge_counts) == {
        "given": 6,
        "duplicates_merged": 1,
        "self_loops_kept": 1,
        "self_loops_removed": 0,
        "reverse_added": 2,
    }
    assert graph.num_isolated == 1


def test_direction_and_self_loops_are_settings() -> None:
    wanted = torch.zeros(5, 5)
    for i, j in [(0, 1), (1, 0), (2, 3), (3, 1)]:
        wanted[i, j] = 1
    data = Data(edge_index=EDGES, num_nodes=5)
    assert torch.equal(adjacency(data, directed=True, self_loops="remove"), wanted)
    graph = Graph.from_data(data, GraphConfig(directed=True))
    assert torch.equal(graph.adjacency.matrix.csr_transposed.to_dense(), graph.adjacency.matrix.csr.to_dense().T)
    assert graph.num_isolated == 1


def test_weights_of_repeated_edges_add_up_and_directions_take_the_larger() -> None:
    weight = torch.tensor([0.5, 0.25, 2.0, 1.0, 4.0, 0.0])
    data = Data(edge_index=EDGES, edge_weight=weight, num_nodes=5)
    directed = adjacency(data, directed=True)
    assert directed[0, 1] == 0.75
    assert directed[1, 0] == 2.0
    both = adjacency(data)
    assert both[0, 1] == both[1, 0] == 2.0
    assert both[2, 3] == both[3, 2] == 4.0
    assert both[3, 1] == 0  # an edge of weight 0 is no edge
    symmetric = Data(edge_index=both.nonzero().T, edge_weight=both[both > 0], num_nodes=5)
    assert torch.equal(adjacency(symmetric), both)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_normalisations(weighted: bool, directed: bool) -> None:
    graph = Graph.from_data(make_data(weighted=weighted), GraphConfig(directed=directed), dtype=torch.float64)
    A = graph.adjacency.matrix.csr.to_dense()
    looped = A + torch.eye(60).double()
    out, into = looped.sum(1), looped.sum(0)
    wanted = {
        "none": A,
        "row": looped / out[:, None],
        "symmetric": looped / out.sqrt()[:, None] / into.sqrt(),
    }
    for name, matrix in wanted.items():
        found = graph.adjacency.normalized(name)
        torch.testing.assert_close(found.csr.to_dense(), matrix)
        torch.testing.assert_close(found.csr_transposed.to_dense(), matrix.T)
        assert graph.adjacency.normalized(name) is found  # made once
    assert torch.linalg.matrix_norm(wanted["symmetric"], 2) <= 1 + 1e-12


def test_a_self_loop_in_the_data_counts_twice_once_self_loops_are_added() -> None:
    data = Data(edge_index=torch.tensor([[0, 0], [0, 1]]), num_nodes=2)
    row = Graph.from_data(data).adjacency.normalized("row").csr.to_dense()
    torch.testing.assert_close(row[0], torch.tensor([2 / 3, 1 / 3]))


def test_features_are_stored_sparse_when_most_are_zero() -> None:
    dense = torch.rand(50, 40)
    few = dense * (torch.rand(50, 40) < 0.05)
    assert isinstance(Graph.from_data(Data(x=dense)).x, Tensor)
    stored = Graph.from_data(Data(x=few)).x
    assert isinstance(stored, SparseMatrix)
    assert torch.equal(stored.csr.to_dense(), few)
    for layout in (few.to_sparse_coo(), few.to_sparse_csr()):
        found = Graph.from_data(Data(x=layout, num_nodes=50)).x
        assert isinstance(found, SparseMatrix)
        assert torch.equal(found.csr.to_dense(), few)


@pytest.mark.parametrize("share", [0.05, 1.0])
def test_row_normalised_features_sum_to_one(share: float) -> None:
    x = torch.rand(30, 20) * (torch.rand(30, 20) < share)
    x[3] = 0
    found = Graph.from_data(Data(x=x), GraphConfig(feature_normalization="row")).x
    found = found.csr.to_dense() if isinstance(found, SparseMatrix) else found
    sums = x.sum(1, keepdim=True)
    torch.testing.assert_close(found, torch.where(sums > 0, x / sums, 0.0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("share", [0.05, 1.0])
@pytest.mark.parametrize("exponent", [-1000, -565, 565, 1000])
@pytest.mark.parametrize("normalization", ["row", "standard"])
def test_normalised_features_do_not_depend_on_their_unit(
    normalization: str, exponent: int, share: float, dtype: torch.dtype
) -> None:
    """To the bit: numbers of 1e-170 are not lost, nor are those of 1e170, whose squares do not fit float64."""
    random = torch.Generator().manual_seed(0)
    mask = torch.rand(30, 20, generator=random) < share
    x = torch.randn(30, 20, dtype=torch.float64, generator=random) * mask
    x[3] = 0
    config = GraphConfig(feature_normalization=normalization)

    def prepared(x: Tensor) -> Tensor:
        found = prepare_features(x, 30, config.feature_normalization, dtype)
        assert found is not None
        return found.csr.to_dense() if isinstance(found, SparseMatrix) else found

    usual = prepared(x)
    assert usual.count_nonzero(dim=0).tolist() == [30 if normalization == "standard" and n else n for n in nonzeros(x)]
    scaled = x * 2.0**exponent
    if exponent > 0 and dtype == torch.float32:
        with pytest.raises(InputError, match="x must be finite in torch.float32"):
            prepared(scaled)
        return
    assert torch.equal(prepared(scaled), usual)
    assert torch.equal(prepared(scaled.to_sparse_coo()), prepared(x.to_sparse_coo()))


def nonzeros(x: Tensor) -> list[int]:
    return x.count_nonzero(dim=0).tolist()


def test_rows_at_the_ends_of_the_range_are_divided_by_their_sums() -> None:
    x = torch.tensor([[5e-324, 5e-324, 0, 0], [1.7e308, 1.7e308, 0, 0], [0, 0, 0, 0]], dtype=torch.float64)
    wanted = torch.tensor([[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0, 0]], dtype=torch.float64)
    for each in (x, x.to_sparse_csr()):
        found = prepare_features(each, 3, "row", torch.float64)
        assert torch.equal(found.csr.to_dense() if isinstance(found, SparseMatrix) else found, wanted)


@pytest.mark.parametrize("sparse", [False, True])
def test_columns_too_small_for_the_precision_are_said_to_be_zeros(sparse: bool) -> None:
    x = torch.ones(6, 3, dtype=torch.float64)
    x[:, 1] = 1e-170
    x[0, 2] = 1e-170  # one number of a column that has others
    data = Data(x=x.to_sparse_coo() if sparse else x, num_nodes=6)
    with pytest.warns(DataWarning, match="Columns of x are zeros in torch.float32, .*: 1 of 3, the first is column 1"):
        Graph.from_data(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Graph.from_data(data, dtype=torch.float64)
        Graph.from_data(data, GraphConfig(feature_normalization="standard"))


def test_unlabelled_nodes_are_in_no_set() -> None:
    data = make_data()
    data.y[data.train_mask[:, 0].nonzero()[0]] = -1
    graph = Graph.from_data(data)
    assert graph.masks["train"][:, 0].sum() == data.train_mask[:, 0].sum() - 1
    assert (graph.y[graph.indices(0)["train"]] >= 0).all()


def test_a_graph_is_immutable() -> None:
    graph = Graph.from_data(make_data())
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph.y = torch.zeros(3)


def test_fingerprint_depends_on_content_alone() -> None:
    first, again = Graph.from_data(make_data()), Graph.from_data(make_data())
    assert first.fingerprint() == again.fingerprint()
    changed = make_data()
    changed.x[0, 0] += 1
    assert Graph.from_data(changed).fingerprint() != first.fingerprint()
    relabelled = make_data()
    relabelled.train_mask[:, 0] = False
    assert Graph.from_data(relabelled).fingerprint() != first.fingerprint()
    x = torch.rand(20, 30) * (torch.rand(20, 30) < 0.1)
    sparse, dense = Data(x=x.to_sparse_csr(), num_nodes=20), Data(x=x)
    assert Graph.from_data(sparse).fingerprint() == Graph.from_data(dense).fingerprint()


def test_precision() -> None:
    graph = Graph.from_data(make_data(weighted=True), dtype=torch.float64)
    assert graph.adjacency.matrix.dtype == graph.x.dtype == torch.float64
    single = graph.to(dtype=torch.float32)
    assert single.adjacency.normalized("row").dtype == single.x.dtype == torch.float32


def test_single_node_and_no_edges() -> None:
    graph = Graph.from_data(Data(x=torch.ones(1, 2), edge_index=torch.zeros(2, 0, dtype=torch.long)))
    assert graph.adjacency.normalized("row").csr.to_dense().tolist() == [[1.0]]
    assert graph.num_isolated == 1
    assert Graph.from_data(Data(x=torch.ones(4, 2))).adjacency.matrix.nnz == 0


def test_a_cached_adjacency_copies_and_pickles_with_its_module() -> None:
    cache = AdjacencyCache()
    edge_index = torch.tensor([[0], [1]])
    adjacency = cache.get(edge_index, None, 2, torch.ones(1))
    assert cache.get(edge_index, None, 2, torch.ones(1)) is adjacency
    for other in (copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))):
        assert other.get(edge_index, None, 2, torch.ones(1)) is not adjacency


def broken(**changes: object) -> Data:
    data = make_data()
    for name, value in changes.items():
        data[name] = value
    return data


def nan_features() -> Tensor:
    x = torch.rand(60, 7)
    x[5, 3] = torch.nan
    return x


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (lambda: broken(edge_index=torch.tensor([[0], [60]])), r"node 60, but nodes must be in the range \[0, 59\]"),
        (lambda: broken(edge_index=torch.tensor([[0], [-1]])), r"node -1, but nodes must be in the range \[0, 59\]"),
        (lambda: broken(edge_index=torch.rand(2, 3)), "edge_index must hold integers. Got torch.float32"),
        (lambda: broken(edge_index=torch.zeros(3, 2, dtype=torch.long)), r"shape \(2, edges\). Got \(3, 2\)"),
        (lambda: broken(edge_weight=torch.ones(3)), r"one number per edge \(150\). Got shape \(3,\)"),
        (lambda: broken(edge_weight=-torch.ones(150)), r"in the range \[0.0, inf\). Got -1.0 at edge 0"),
        (lambda: broken(edge_weight=torch.full((150,), torch.nan)), "Got nan at edge 0"),
        (lambda: broken(edge_weight=torch.full((150,), 1e300, dtype=torch.float64)), "must fit torch.float32"),
        (lambda: broken(x=nan_features()), "x must be finite in torch.float32. Got nan at row 5, column 3"),
        (lambda: broken(x=torch.full((60, 7), 1e300, dtype=torch.float64)), "Got 1e[+]300 at row 0, column 0"),
        (lambda: broken(x=nan_features().to_sparse_csr()), "Got nan at value .* of the sparse features"),
        (lambda: broken(x=torch.rand(59, 7)), r"x must have one row per node \(60\). Got 59"),
        (lambda: broken(x=torch.rand(60)), r"shape \(nodes, features\). Got \(60,\)"),
        (lambda: broken(x=torch.rand(60, 7, dtype=torch.cfloat)), "real numbers. Got torch.complex64"),
        (lambda: broken(y=torch.zeros(59, dtype=torch.long)), r"y must have one row per node \(60\). Got 59"),
        (lambda: broken(y=torch.full((60,), -2)), "or -1 for unlabelled. Got -2 at node 0"),
        (lambda: broken(y=torch.full((60,), 0.5)), "whole numbers. Got 0.5 at node 0"),
        (lambda: broken(y=torch.full((60,), 10**6)), r"below the number of nodes \(60\). Got 1000000"),
        (lambda: broken(y=torch.zeros(60, 3, dtype=torch.long)), r"one class per node. Got shape \(60, 3\)"),
        (lambda: broken(val_mask=None), "val_mask is missing"),
        (lambda: broken(val_mask=torch.zeros(60)), "val_mask must be a boolean tensor. Got torch.float32"),
        (lambda: broken(val_mask=torch.zeros(10, dtype=torch.bool)), r"with 60 nodes. Got \(10,\)"),
        (lambda: broken(val_mask=torch.zeros(60, 5, dtype=torch.bool)), "same number of splits"),
        (lambda: broken(val_mask=make_data().train_mask), "is in train and val of split"),
        (lambda: Data(num_nodes=0), "at least 1 node. Got 0"),
    ],
)
def test_wrong_data(data, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Graph.from_data(data())


@pytest.mark.parametrize(
    ("changes", "split", "message"),
    [
        ({"y": torch.zeros(60, dtype=torch.long)}, 0, "at least 2 classes. Got only class 0"),
        ({"y": torch.full((60,), -1)}, 0, "at least 2 classes. Got no labelled node"),
        ({"test_mask": torch.zeros(60, 2, dtype=torch.bool)}, 1, "The test set of split 1 must hold labelled nodes"),
        ({}, 2, r"The split must be in the range \[0, 1\]. Got 2"),
        ({"train_mask": None, "val_mask": None, "test_mask": None}, 0, "the graph has none"),
    ],
)
def test_graphs_that_cannot_be_trained_on(changes: dict[str, object], split: int, message: str) -> None:
    graph = Graph.from_data(broken(**changes))
    with pytest.raises(InputError, match=message):
        graph.check_trainable(split)


def test_a_split_without_test_nodes_trains_where_no_test_score_is_asked_for() -> None:
    graph = Graph.from_data(broken(test_mask=torch.zeros(60, 2, dtype=torch.bool)))
    graph.check_trainable(0, tested=False)
    assert graph.indices(0)["test"].numel() == 0


def test_a_training_set_of_one_class_is_refused() -> None:
    data = make_data()
    data.train_mask &= (data.y == 1).unsqueeze(1)
    with pytest.raises(InputError, match="train set of split 0 must hold at least 2 classes. Got only class 1"):
        Graph.from_data(data).check_trainable(0)


def test_node_count_without_features() -> None:
    assert Graph.from_data(Data(edge_index=torch.tensor([[0], [4]]))).num_nodes == 5
    assert Graph.from_data(Data(edge_index=torch.tensor([[0], [1]]), y=torch.arange(7) % 2)).num_nodes == 7


def test_large_indices_stay_exact() -> None:
    matrix = SparseMatrix.from_torch(torch.eye(3))
    assert matrix.csr.col_indices().dtype == torch.int32
    assert np.array_equal(matrix.to_scipy().toarray(), np.eye(3))


@no_warnings
@pytest.mark.parametrize("part", ["x", "sparse x", "edge_weight", "y"])
def test_complex_numbers_are_refused(part: str) -> None:
    """Never cut down to their real part."""
    data = make_data(weighted=True)
    data.x = data.x * 1j if part == "x" else (data.x * 1j).to_sparse_csr() if part == "sparse x" else data.x
    data.edge_weight = data.edge_weight * 1j if part == "edge_weight" else data.edge_weight
    data.y = data.y * 1j if part == "y" else data.y
    with pytest.raises(InputError, match="must hold (real|whole) numbers. Got torch.complex"):
        Graph.from_data(data)
