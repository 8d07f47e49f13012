"""Graph files: what goes in comes out, and nothing else does."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from glognn.data.npz import read_npz, write_npz
from glognn.data.sources import find_source, load_dataset
from glognn.errors import InputError
from glognn.graph.graph import Graph
from tests.conftest import REAL_DATA, make_data


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_round_trip(weighted: bool, sparse: bool, tmp_path: Path) -> None:
    data = make_data(weighted=weighted)
    if sparse:
        data.x = (data.x * (data.x > 1)).to_sparse_csr()
    write_npz(data, tmp_path / "g.npz")
    found = read_npz(tmp_path / "g.npz")
    assert Graph.from_data(found).fingerprint() == Graph.from_data(data).fingerprint()
    assert torch.equal(found.train_mask, data.train_mask)


def test_optional_parts_may_be_missing(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", edge_index=np.array([[0], [1]]), node_labels=np.array([0, 1, -1]))
    graph = Graph.from_data(load_dataset(str(tmp_path / "g.npz")))
    assert (graph.num_nodes, graph.x, graph.num_splits) == (3, None, 0)


def test_a_single_split_may_be_one_dimensional(tmp_path: Path) -> None:
    masks = {f"{name}_masks": np.arange(6) % 3 == k for k, name in enumerate(("train", "val", "test"))}
    np.savez(tmp_path / "g.npz", edge_index=np.zeros((2, 0), int), node_labels=np.arange(6) % 2, **masks)
    assert Graph.from_data(read_npz(tmp_path / "g.npz")).num_splits == 1


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("raise SystemExit('ran code from a data file')",)


def evil(path: Path) -> None:
    array = np.empty(1, dtype=object)
    array[0] = Evil()
    np.savez(path, edge_index=np.zeros((2, 0), int), node_labels=array)


def half_sparse(path: Path) -> None:
    np.savez(path, edge_index=np.zeros((2, 0), int), node_labels=np.zeros(2, int), feat_data=np.ones(2))


def bad_sparse(path: Path) -> None:
    parts = {"feat_indptr": [0, 1, 9], "feat_indices": [0, 1], "feat_data": [1.0, 1.0], "feat_shape": [2, 2]}
    arrays = {name: np.array(value) for name, value in parts.items()}
    np.savez(path, edge_index=np.zeros((2, 0), int), node_labels=np.zeros(2, int), **arrays)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: path.write_bytes(b"PK\x03\x04 cut off"), "not a readable .npz graph file"),
        (lambda path: path.write_bytes(b""), "not a readable .npz graph file"),
        (lambda path: path.write_bytes(pickle.dumps(Evil())), "not a readable .npz graph file"),
        (evil, "not a readable .npz graph file: Object arrays cannot be loaded"),
        (lambda path: np.savez(path, node_labels=np.zeros(2)), "has no array 'edge_index'. It holds: node_labels"),
        (lambda path: np.savez(path, edge_index=np.zeros((2, 0), int)), "has no array 'node_labels'"),
        (
            lambda path: np.savez(path, edge_index=np.zeros((2, 0), int), node_labels=np.array(["a", "b"])),
            "'node_labels' must hold numbers. Got <U1",
        ),
        (half_sparse, "sparse features without the array 'feat_indptr'"),
        (bad_sparse, "are not a CSR matrix"),
    ],
)
def test_wrong_files(write, message: str, tmp_path: Path) -> None:
    path = tmp_path / "g.npz"
    write(path)
    with pytest.raises(InputError, match=message):
        read_npz(path)


def test_names() -> None:
    assert find_source("pairs").kind == "generated"
    with pytest.raises(InputError, match="Did you mean 'pairs'"):
        find_source("pair")
    with pytest.raises(InputError, match="There is no graph file 'nowhere.npz'"):
        find_source("nowhere.npz")
    with pytest.raises(InputError, match="There is no graph file"):
        read_npz("nowhere.npz")


@pytest.mark.real_data
def test_a_real_file() -> None:
    graph = Graph.from_data(load_dataset(str(REAL_DATA / "chameleon.npz")))
    assert (graph.num_nodes, graph.num_features, graph.num_classes, graph.num_splits) == (2277, 2325, 5, 10)
    loops = graph.edge_counts.self_loops_kept
    assert (graph.adjacency.matrix.nnz + loops) // 2 == 31421  # the paper's count of undirected edges
