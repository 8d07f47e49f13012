"""Graph files: what goes in comes out, and nothing else does."""

from __future__ import annotations

import io
import pickle
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from glognn.data import npz
from glognn.data.npz import read_npz, read_sizes, write_npz
from glognn.data.sources import find_source, load_dataset
from glognn.errors import InputError
from glognn.graph.graph import Graph
from tests.conftest import REAL_DATA, make_data, no_warnings


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
    assert read_sizes(tmp_path / "g.npz") == (data.num_nodes, data.edge_index.shape[1])


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
            "'node_labels' must hold real numbers of at most 64 bits. Got <U1",
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


SPARSE = {
    "node_features": None,
    "feat_indptr": np.arange(61),
    "feat_indices": np.zeros(60, int),
    "feat_data": np.ones(60),
    "feat_shape": np.array([60, 3]),
}
WRONG: dict[str, tuple[dict[str, object], str]] = {
    "text labels": ({"node_labels": np.array(["a"] * 60)}, "'node_labels' must hold real numbers"),
    "objects": ({"node_labels": np.array([None] * 60)}, "Object arrays cannot be loaded"),
    "one label": ({"node_labels": np.array(3)}, "must have shape (nodes,). Got () instead"),
    "a row of labels": ({"node_labels": np.zeros((1, 60), int)}, "must have shape (nodes,). Got (1, 60) instead"),
    "labels not whole": ({"node_labels": np.full(60, np.nan)}, "y must hold whole numbers. Got nan"),
    "labels that would wrap": ({"node_labels": np.full(60, 2**64 - 1, np.uint64)}, "must hold numbers below 2**63"),
    "no edges": ({"edge_index": None}, "has no array 'edge_index'"),
    "fractions as ends": ({"edge_index": np.zeros((2, 9))}, "must hold integers"),
    "a list of ends": ({"edge_index": np.zeros(9, int)}, "must have shape (2, edges)"),
    "a negative end": ({"edge_index": np.full((2, 9), -1)}, "holds node -1, but nodes must be in the range [0, 59]"),
    "one feature": ({"node_features": np.array(1.0)}, "x must be a tensor of shape (nodes, features). Got ()"),
    "complex features": ({"node_features": np.ones((60, 3), complex)}, "at most 64 bits. Got complex128"),
    "text as masks": ({"train_masks": np.full((2, 60), "a")}, "'train_masks' must hold real numbers"),
    "nan in masks": ({"train_masks": np.full((2, 60), np.nan)}, "train_mask must be a boolean tensor"),
    "masks in a box": ({"train_masks": np.zeros((2, 60, 1), bool)}, "train_mask must have shape (nodes,) or"),
    "complex sparse features": (SPARSE | {"feat_data": np.ones(60, complex)}, "'feat_data' must hold real numbers"),
    "too many columns": (SPARSE | {"feat_shape": np.array([60, 2**60])}, "are not a CSR matrix"),
    "columns for nothing": (SPARSE | {"feat_shape": np.array([60, 2**31])}, "2,147,483,648 columns for 60 entries"),
    "infinitely many": (SPARSE | {"feat_shape": np.array([np.inf, 3])}, "are not a CSR matrix"),
    "rows that end before they begin": (
        SPARSE | {"feat_indptr": np.append(np.arange(60), 0)},
        "'feat_indptr' must not decrease",
    ),
    "negative columns": (SPARSE | {"feat_indices": np.full(60, -1)}, "are not a CSR matrix"),
}  # fmt: skip


@no_warnings
@pytest.mark.parametrize("case", WRONG)
def test_wrong_arrays_are_refused_in_one_line(case: str, tmp_path: Path) -> None:
    changes, message = WRONG[case]
    write_npz(make_data(num_splits=2), tmp_path / "g.npz")
    with np.load(tmp_path / "g.npz") as file:
        arrays = {name: value for name, value in (dict(file) | changes).items() if value is not None}
    np.savez(tmp_path / "g.npz", **arrays)
    with pytest.raises(InputError) as raised:
        Graph.from_data(read_npz(tmp_path / "g.npz"))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def forge(path: Path, name: str, shape: tuple[int, ...], held: int) -> None:
    """Put an array into a file that declares a shape and holds some zero bytes, compressed."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<i8", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{name}.npy", head.getvalue() + bytes(held))


@pytest.mark.parametrize("spoil", ["no zip", "an .npy", "cut", "bits", "empty"])
def test_damaged_files_are_refused(spoil: str, tmp_path: Path) -> None:
    path = tmp_path / "g.npz"
    write_npz(make_data(), path)
    whole = path.read_bytes()
    array = io.BytesIO()
    np.save(array, np.zeros(3))
    flipped = bytearray(whole)
    flipped[100] ^= 255
    content = {"no zip": b"graph", "an .npy": array.getvalue(), "cut": whole[:500], "bits": flipped, "empty": b""}
    path.write_bytes(content[spoil])
    with pytest.raises(InputError, match=r"is not a readable \.npz graph file: .+\.$"):
        read_npz(path)


@pytest.mark.parametrize("shape", [(2, 2**40), (2**60, 2**60), (-1, 5), (2, 5)])
def test_a_declared_size_that_the_file_does_not_hold_takes_no_memory(shape: tuple[int, ...], tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", node_labels=np.zeros(4, int))
    forge(tmp_path / "g.npz", "edge_index", shape, 8)
    with pytest.raises(InputError, match=r"the array 'edge_index' of shape .* must have .* bytes\. Got 8 instead"):
        read_npz(tmp_path / "g.npz")


def test_unknown_arrays_are_not_read_and_known_ones_not_beyond_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, size = tmp_path / "g.npz", 2**26
    write_npz(make_data(), path)
    forge(path, "zeros", (size // 8,), size)
    tracemalloc.start()
    read_npz(path)
    assert tracemalloc.get_traced_memory()[1] < size / 8
    tracemalloc.stop()
    np.savez(path, node_labels=np.zeros(4, int))
    forge(path, "edge_index", (2, size // 16), size)
    monkeypatch.setattr(npz, "_memory", lambda: size)
    with pytest.raises(InputError, match=r"takes 0\.1 GiB of memory, more than this machine has"):
        read_npz(path)
