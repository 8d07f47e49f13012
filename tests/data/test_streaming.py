"""Graph files and tables divided part by part are what dividing them in memory makes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from glognn.data import streaming, table_stream
from glognn.data import tables as tables_module
from glognn.data.npz import write_npz
from glognn.data.streaming import can_stream, stream_npz, stream_tables_to_parts
from glognn.data.table_graph import KeptTables, TableOptions, graph_from_tables
from glognn.data.table_stream import stream_tables
from glognn.distributed.methods import METHODS
from glognn.distributed.shards import Shards, write_graph
from glognn.errors import InputError
from glognn.experiments.config import resolve
from glognn.experiments.distributed import divide_tables
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


def tables(folder: Path, ending: str, kind: str) -> TableOptions:
    """Nodes with columns of every kind, and edges, some of them to unknown ids."""
    random, count = np.random.default_rng(5), 60
    nodes = pd.DataFrame(
        {
            "id": [f"n{number:03d}" for number in range(count)] if "text" in kind else np.arange(count) * 3,
            "age": np.where(random.random(count) < 0.1, np.nan, random.integers(18, 90, count)),
            "town": random.choice(["Ulm", "Bonn", "Köln"], count),
            "member": random.random(count) < 0.5,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 900, count), "D"),
            "amount": random.lognormal(0, 3, count),
            "code": random.choice(["01", "1", "2"], count),
            "set": random.choice(["train", "val", "test"], count),
            "fraud": random.choice(["yes", "no"], count),
        }
    )
    known = nodes["id"].to_numpy()
    edges = pd.DataFrame({"a": random.choice(known, 300), "b": random.choice(known, 300)})
    edges["sum"], edges["times"] = random.integers(1, 9, 300).astype(float), random.integers(1, 4, 300)
    edges.loc[7, "b"] = "x" if "text" in kind else 1
    if "bare" in kind:
        nodes = nodes[["id", "set", "fraud"]]
    for name, frame in (("nodes", nodes), ("edges", edges)):
        frame.to_csv(folder / f"{name}.csv", index=False) if ending == "csv" else frame.to_parquet(
            folder / f"{name}.parquet", row_group_size=50
        )
    more: dict[str, Any] = {} if "bare" in kind else {"category_columns": ["code"], "drop_columns": ["member"]}
    if "split" in kind:
        more["split_column"] = "set"
    else:
        more["drop_columns"] = ["set"]
    weights = ["sum", "times"] if "weights" in kind else "sum" if "weight" in kind else None
    files = {name: folder / f"{name}.{ending}" for name in ("nodes", "edges")}
    return TableOptions(**files, label="fraud", edge_weight=weights, unknown_edges="drop", **more)


@pytest.mark.parametrize(
    ("ending", "kind"), [("csv", "weight"), ("csv", "text split"), ("parquet", "weights split"), ("parquet", "bare")]
)
def test_tables_are_streamed_to_the_graph_that_they_are_in_memory(
    ending: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "AT_ONCE", 13)
    monkeypatch.setattr(tables_module, "BLOCK_ROWS", 17)
    monkeypatch.setattr(table_stream, "_ROWS", 11)
    options = tables(tmp_path, ending, kind)
    kept, data = graph_from_tables(options)
    path = kept.save(tmp_path / "whole", data)
    streamed = stream_tables(options, tmp_path / "streamed", 3)
    with np.load(path) as whole, np.load(tmp_path / "streamed" / "graph.npz") as parts:
        assert set(whole) == set(parts)
        for name in whole:
            assert whole[name].dtype == parts[name].dtype
            if name == "edge_weight" and "weights" in kind:  # divided by means of blocks
                np.testing.assert_allclose(whole[name], parts[name], rtol=1e-15)
            else:
                np.testing.assert_array_equal(whole[name], parts[name])
    assert streamed.ids.equals(kept.ids)
    assert (streamed.encoding, streamed.classes, streamed.read) == (kept.encoding, kept.classes, kept.read)
    assert streamed.read["unknown_edges_dropped"] == 1
    [config] = resolve(["glognn2"], None, {"directed": False}, str(path), None)
    _, shards = stream_tables_to_parts(options, 3, "balanced", tmp_path / "parts", config.graph)
    loaded = load_graph(config)
    expected = write_graph(loaded.graph, streaming.Partition("balanced", shards.starts), tmp_path / "written", {})
    if "weights" not in kind:
        assert shards.fingerprint(torch.float32) == expected.fingerprint(torch.float32)
    assert shards.record["class_names"] == ["no", "yes"]
    assert shards.config == expected.config
    assert KeptTables.load(tmp_path / "parts").ids.equals(kept.ids)
    assert {each.name for each in (tmp_path / "parts").iterdir()} == {
        "shards.json", "tables.json", "nodes.parquet", "part-00000", "part-00001", "part-00002",
    }  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_wrong_tables_are_refused_in_the_same_words(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = replace(tables(tmp_path, ending, "text"), unknown_edges="error")
    with pytest.raises(InputError) as whole:
        graph_from_tables(options)
    with pytest.raises(InputError) as streamed:
        stream_tables(options, tmp_path / "streamed", 3)
    assert str(streamed.value) == str(whole.value)
    assert "Got 1 of 300 edges to unknown ids ('x')" in str(whole.value)
    edges = pd.read_csv(tmp_path / "edges.csv") if ending == "csv" else pd.read_parquet(tmp_path / "edges.parquet")
    edges.loc[250, "a"] = None
    edges.to_csv(tmp_path / "lost.csv", index=False)
    edges.to_parquet(tmp_path / "lost.parquet", row_group_size=50)
    edges.to_feather(tmp_path / "lost.feather")
    monkeypatch.setattr(tables_module, "BLOCK_ROWS", 17)
    for kind in (ending, "feather"):
        with pytest.raises(InputError, match=r"Every row of column 'a' of '.*' must have an id. Got none in row 251\."):
            stream_tables(replace(options, edges=tmp_path / f"lost.{kind}"), tmp_path / "streamed", 3)
    options = replace(options, unknown_edges="drop", edge_weight="a")
    with pytest.raises(InputError, match="--edge-weight must be a column other than the edges' ends"):
        stream_tables(options, tmp_path / "streamed", 3)


@pytest.mark.parametrize("kind", ["sparse", "none"])
def test_tables_are_prepared_for_parts_as_they_are_for_one_process(kind: str, tmp_path: Path) -> None:
    """Features of many categories are divided by their lengths; of a ring without columns there are none."""
    numbers = np.arange(60)
    nodes = pd.DataFrame({"id": numbers, "fraud": np.where(numbers % 3, "no", "yes")})
    if kind == "sparse":
        nodes["town"] = [f"town {number // 2}" for number in numbers]
        nodes["street"] = [f"street {number // 3}" for number in numbers]
    edges = pd.DataFrame({"a": numbers, "b": np.roll(numbers, 1)})
    for name, frame in (("nodes", nodes), ("edges", edges)):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    files = {name: tmp_path / f"{name}.csv" for name in ("nodes", "edges")}
    options = TableOptions(**files, label="fraud", category_columns=["town", "street"] if kind == "sparse" else [])
    kept, data = graph_from_tables(options)
    path = kept.save(tmp_path / "whole", data)
    [config] = resolve(["mlp"], None, {}, str(path), None)
    whole = load_graph(config).graph
    assert whole.config.feature_normalization == ("length" if kind == "sparse" else "none")
    asked = {} if kind == "sparse" else {"feature_normalization": "auto"}
    _, shards = divide_tables(options, 2, "contiguous", tmp_path / "parts", asked)
    assert shards.config == whole.config
    assert shards.fingerprint(torch.float32) == whole.fingerprint()
    assert can_stream(path, "balanced", config.graph)
    (tmp_path / "edges.csv").unlink()
    with pytest.raises(InputError, match="which --partition metis with --feature-normalization auto cannot be"):
        divide_tables(options, 2, "metis", tmp_path / "parts", {})


def test_wrong_edges_are_refused_as_elsewhere(tmp_path: Path) -> None:
    data = make_data()
    data.edge_index[1, 100] = 60
    write_npz(data, tmp_path / "graph.npz")
    with pytest.raises(InputError, match="edge_index holds node 60, but nodes must be in the range \\[0, 59\\]"):
        stream_npz(tmp_path / "graph.npz", 2, "contiguous", tmp_path / "out", GraphConfig())
    with pytest.raises(InputError, match="in the range \\[1, 60\\] \\(the nodes\\). Got 61 instead"):
        stream_npz(tmp_path / "graph.npz", 61, "contiguous", tmp_path / "out", GraphConfig())
