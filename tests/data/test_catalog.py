"""The catalog: every entry is complete and consistent with itself and with the published settings."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module, resources
from pathlib import Path

import pytest

from glognn.cli.datasets import GROUPS
from glognn.data.catalog import DATASETS, find_dataset
from glognn.data.sources import find_source
from glognn.data.statistics import differences, measure
from glognn.errors import InputError
from glognn.experiments.paper import paper_result
from glognn.metrics import METRICS
from tests.conftest import make_data

SMALL = ["texas", "wisconsin", "cornell", "actor", "squirrel", "chameleon", "cora", "citeseer", "pubmed"]
LARGE = ["penn94", "pokec", "arxiv-year", "snap-patents", "genius", "twitch-gamers"]


def test_the_fifteen_of_the_paper_and_those_beyond() -> None:
    assert {entry.group for entry in DATASETS.values()} == set(GROUPS)
    groups = {group: [e.name for e in DATASETS.values() if e.group == group] for group in GROUPS}
    assert groups["small"] == SMALL
    assert groups["large"] == LARGE
    for name in DATASETS:
        assert (paper_result("glognn", name) is not None) == (name not in groups["beyond"]), name
    assert [name for name, entry in DATASETS.items() if entry.twin] == LARGE


@pytest.mark.parametrize("name", DATASETS)
def test_entries_are_complete(name: str) -> None:
    entry = find_dataset(name)
    assert hasattr(import_module(f"glognn.data.readers.{entry.reader}"), "read")
    if entry.splits:
        assert hasattr(import_module(f"glognn.data.readers.{entry.splits_reader}"), "read_splits")
    assert entry.metric in METRICS
    assert entry.citation
    assert entry.licence
    for file in entry.all_files:
        assert not Path(file.path).is_absolute()
        assert ".." not in Path(file.path).parts
        assert file.url is None or file.url.startswith("https://")
        assert file.url or file.note
        assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)
    if entry.group == "small":
        assert all(file.sha256 for file in entry.all_files)
        assert entry.expected.fingerprint


def test_checksums_belong_to_files_of_the_catalog() -> None:
    text = resources.files("glognn.data").joinpath("checksums.sha256").read_text()
    named = {line.split("  ")[1] for line in text.splitlines()}
    files = [file for entry in DATASETS.values() for file in entry.all_files]
    known = {file.path for file in files} | {file.archive.path for file in files if file.archive}
    assert named <= known


def test_published_settings_agree_with_the_catalog() -> None:
    root = Path(str(resources.files("glognn.experiments"))) / "published"
    for path in root.glob("*/*.toml"):
        entry, tables = find_dataset(path.stem), tomllib.loads(path.read_text())
        stated = tables["data"]
        assert "unlabelled" not in stated, path  # every model is judged on the same nodes
        if path.parent.name in ("glognn", "glognn++"):  # the catalog prepares a graph as their authors do
            assert stated == {name: value for name, value in entry.graph.as_dict().items() if name in stated}, path
        assert tables["training"]["metric"] == entry.metric


def test_names() -> None:
    with pytest.raises(InputError, match="Did you mean 'squirrel'"):
        find_dataset("squirel")
    with pytest.raises(InputError, match=r"There is no dataset 'zzz', and it is no .npz graph file. 'glognn datasets'"):
        find_source("zzz")
    for name in ("a" * 5000, "a\0b"):  # which no file can have
        with pytest.raises(InputError, match="There is no dataset 'a"):
            find_source(name)
    with pytest.raises(InputError, match="There is no twin of 'texas'. Known: penn94"):
        find_source("twin:texas")
    for scale in ("0", "x", "-1", "11", "nan", ""):
        with pytest.raises(InputError, match=r"scale of a twin must be a number in the range \(0.0, 10.0\]"):
            find_source(f"twin:pokec@{scale}")
    assert find_source("twin:pokec@0.10").name == "twin:pokec@0.1"
    assert find_source("twin:pokec@1").name == "twin:pokec"


def test_differences_are_named() -> None:
    found = measure(make_data())
    lines = differences(found, find_dataset("texas").expected)
    assert "nodes 60 instead of 183" in lines
    assert "features 7 instead of 1703" in lines
    assert any(line.startswith("fingerprint ") for line in lines)
