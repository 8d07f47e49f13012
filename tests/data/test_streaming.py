"""Graph files divided part by part are what dividing them in memory makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from glognn.data import streaming
from glognn.data.npz import write_npz
from glognn.data.streaming import can_stream, stream_npz
from glognn.distributed.methods import METHODS
from glognn.distributed.shards import Shards, write_graph
from glognn.errors import InputError
from glognn.experiments.config import resolve
from glognn.experiments.run import load_graph
from glognn.graph.config import GraphConfig
from tests.conftest import make_data


def file(folder: Path, kind: str) -> Path:
    data = make_data(num_nodes=50, num_edges=220, weighted="weighted" in kind, seed=3)
    data.y[::7] = -1
    if "sparse" in kind:
        data.x = torch.where(data.x > 1.2, data.x, 0.0).to_sparse_csr()
    elif "empty" in kind:
        data.x = torch.where(data.x > 1.2, data.x, 0.0)
    elif "alone" in kind:
        data.x = None
        del data.train_mask, data.val_mask, data.test_mask
    write_npz(data, folder / "graph.npz")
    return folder / "graph.npz"


def same(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    left, right = (each if isinstance(each, np.ndarray) else each.toarray() for each in (left, right))
    return left.dtype == right.dtype and np.array_equal(left, right)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("dense", {}),
        ("sparse weighted", {"feature_normalization": "row", "self_loops": "remove"}),
        ("empty", {"directed": True, "feature_normalization": "length"}),
        ("alone", {"self_loops": "remove", "unlabelled": "first_class"}),
    ],
)
def test_parts_and_record_are_those_of_the_graph_in_memory(
    kind: str, settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "AT_ONCE", 13)
    path = file(tmp_path, kind)
    [config] = resolve(["glognn"], None, settings, str(path), None)
    loaded = load_graph(config)
    streamed = stream_npz(path, 3, "balanced", tmp_path / "streamed", config.graph)
    partition = streaming.Partition("balanced", streamed.starts)
    written = write_graph(loaded.graph, partition, tmp_path / "written", loaded.facts)
    assert Shards.open(tmp_path / "streamed").record == written.record
    for part in range(3):
        left, right = streamed.read(part), written.read(part)
        for name in vars(left):
            assert same(getattr(left, name), getattr(right, name)), name
    assert not [each for each in (tmp_path / "streamed").iterdir() if each.name.startswith("tmp")]


def test_what_needs_the_whole_graph_is_not_streamed(tmp_path: Path) -> None:
    path = file(tmp_path, "dense")
    assert can_stream(path, "balanced", GraphConfig())
    assert not can_stream(path, METHODS[2], GraphConfig())
    assert not can_stream(path, "balanced", GraphConfig(feature_normalization="standard"))


def test_wrong_edges_are_refused_as_elsewhere(tmp_path: Path) -> None:
    data = make_data()
    data.edge_index[1, 100] = 60
    write_npz(data, tmp_path / "graph.npz")
    with pytest.raises(InputError, match="edge_index holds node 60, but nodes must be in the range \\[0, 59\\]"):
        stream_npz(tmp_path / "graph.npz", 2, "contiguous", tmp_path / "out", GraphConfig())
    with pytest.raises(InputError, match="in the range \\[1, 60\\] \\(the nodes\\). Got 61 instead"):
        stream_npz(tmp_path / "graph.npz", 61, "contiguous", tmp_path / "out", GraphConfig())
