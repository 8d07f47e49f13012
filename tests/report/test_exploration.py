"""The page of ``glognn explore`` as data: runs of every kind, samples of large graphs, what is packed and how."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from glognn import InputError
from glognn.cli.main import app
from glognn.data.encoding import Encoding
from glognn.data.npz import write_npz
from glognn.experiments.auto import auto
from glognn.report import exploration
from glognn.report.layout import place_nodes
from glognn.report.page import make_page, pack
from tests.conftest import make_data

TYPES = {"Uint8": "u1", "Uint16": "<u2", "Uint32": "<u4", "Int16": "<i2", "Float32": "<f4"}
SETTINGS: dict[str, Any] = {"epochs": 4, "threads": 1, "device": "cpu"}


def unpacked(page: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Record and arrays of a page, read as its script does."""
    whole = gzip.decompress(base64.b64decode(re.search(r'id="data">([^<]*)<', page)[1]))
    length = int.from_bytes(whole[:4], "little")
    head = json.loads(whole[4 : 4 + length])
    arrays = {
        name: np.frombuffer(whole, TYPES[place["type"]], place["length"], 4 + length + place["offset"])
        for name, place in head["arrays"].items()
    }
    return head["record"], arrays


def explored(*arguments: object) -> tuple[dict[str, Any], dict[str, Any]]:
    out = next(Path(str(each)) for each in arguments if str(each).endswith(".html"))
    found = CliRunner().invoke(app, ["explore", *map(str, arguments)], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return unpacked(out.read_text(encoding="utf-8"))


def test_an_ensemble_is_explored(tmp_path: Path) -> None:
    members = "\n".join(f'[[member]]\nname = "{name}"\nmodel = "{name}"' for name in ("mlp", "glognn2"))
    (tmp_path / "portfolio.toml").write_text(members)
    folder = auto(make_data(), out=tmp_path / "run", portfolio=tmp_path / "portfolio.toml", **SETTINGS).folder
    record, arrays = explored(folder, "--out", tmp_path / "page.html", "--reasons", 2, "--top", 2)
    assert len(record["ids"]) == 60
    assert len(record["reasons"]) == 2
    assert arrays["chance"].reshape(60, 3).sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert [column["name"] for column in record["columns"]] == [f"feature {number}" for number in range(7)]


def test_several_splits_and_a_model_without_coefficients(tmp_path: Path) -> None:
    write_npz(make_data(), tmp_path / "graph.npz")
    options = ["--dataset", tmp_path / "graph.npz", "--model", "mlp", "--epochs", 3, "--splits", "0-1"]
    assert CliRunner().invoke(app, ["train", *map(str, options), "--out", str(tmp_path / "run")]).exit_code == 0
    record, _ = explored(tmp_path / "run", "--out", tmp_path / "page.html", "--reasons", 1)
    assert record["matrix"] is None
    assert record["sets"] == ["no label", "labelled"]
    [found] = record["reasons"].values()
    assert "weighted sum of 2 models by gradients" in found["how"]


def test_of_a_large_graph_a_sample_is_drawn_and_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_npz(make_data(), tmp_path / "graph.npz")
    options = ["--dataset", tmp_path / "graph.npz", "--model", "glognn", "--epochs", 3, "--out", tmp_path / "run"]
    assert CliRunner().invoke(app, ["train", *map(str, options)]).exit_code == 0
    monkeypatch.setattr(exploration, "NODES", 30)
    monkeypatch.setattr(exploration, "EDGES", 10)
    record, arrays = explored(tmp_path / "run", "--out", tmp_path / "page.html", "--reasons", 5)
    assert (record["nodes"], len(record["ids"]), record["drawn_edges"]) == (60, 30, 10)
    assert record["ids"] == [str(number) for number in arrays["numbers"]]
    assert set(map(int, record["reasons"])) <= set(arrays["numbers"].tolist())
    assert arrays["ends"].max() < 30
    links = explored(tmp_path / "run", "--out", tmp_path / "page.html", "--reasons", 5)[1]["ends"]
    assert np.array_equal(arrays["ends"], links)


def test_what_is_refused(tmp_path: Path) -> None:
    for arguments, message in (
        (["--out", "page.pdf"], "--out must end in .html. Got 'page.pdf'"),
        (["--serve", "--out", "page.html"], "--serve writes no file. Leave out --out page.html"),
    ):
        found = CliRunner().invoke(app, ["explore", str(tmp_path), *arguments])
        assert isinstance(found.exception, InputError)
        assert message in str(found.exception)


@pytest.mark.parametrize("count", [1, 3, 40])
def test_places_lie_in_a_square_and_follow_the_seed(count: int) -> None:
    generator = np.random.default_rng(0)
    links = sp.csr_array(sp.random_array((count, count), density=0.2, rng=generator))
    links = sp.csr_array(links + links.T)
    scores = generator.normal(size=(count, 3))
    places, words = place_nodes(scores, links)
    assert places.shape == (count, 2)
    assert places.min() >= 0
    assert places.max() <= 1
    assert np.array_equal(places, place_nodes(scores, links)[0])
    assert "t-SNE" in words


def test_nothing_that_is_packed_is_html() -> None:
    text = pack({"name": "</script><b>"}, {"values": np.arange(3, dtype=np.uint16)})
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", text)
    page = make_page(
        "explore.html", title="<b>&", styles=["shell.css"], scripts=["shell.js"], parts={"data": text}, connect=False
    )
    assert "<title>&lt;b&gt;&amp;</title>" in page
    record, arrays = unpacked(page)
    assert record["name"] == "</script><b>"
    assert arrays["values"].tolist() == [0, 1, 2]


def test_columns_come_back_from_their_features() -> None:
    numbers = [1.5, None, 3.0, -2.0] * 10
    long_tail = [float(2**n) for n in range(40)]
    words = ["a", "b", None, "a"] * 10
    table = pa.table({"plain": numbers, "tail": long_tail, "word": words, "flag": [True, False] * 20})
    encoding = Encoding.learn(table, table.column_names, "table")
    features, start, found = encoding.encode(table, "table"), 0, {}
    for column in encoding.columns:
        width = len(column.features)
        found[column.name] = column.decode(features[:, start : start + width])
        start += width
    assert found["plain"] == pytest.approx(
        [np.nan if each is None else each for each in numbers], nan_ok=True, rel=1e-5
    )
    assert found["tail"] == pytest.approx(long_tail, rel=0.05)
    assert found["word"].tolist() == words
    assert found["flag"].tolist() == [1.0, 0.0] * 20
