"""``glognn datasets`` as a user meets it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from glognn.data.catalog import DATASETS
from glognn.data.npz import write_npz
from tests import program
from tests.conftest import MIRROR, make_data


def run(*arguments: str, cwd: Path, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {"GLOGNN_DATA": str(cwd / "cache")} | environment
    return program.run(*arguments, cwd=cwd, code=code, **settings)


def test_the_list_needs_no_data_and_names_everything(tmp_path: Path) -> None:
    out = run("datasets", cwd=tmp_path).stdout
    for name, entry in DATASETS.items():
        [line] = [line for line in out.splitlines() if line.startswith(f"{name} ")]
        assert f"{entry.expected.nodes:,}" in line
        assert entry.metric in line
        assert re.search(rf" no +{re.escape(entry.source)}", line)
    assert "twin:NAME of penn94, pokec" in out
    assert str(tmp_path / "cache") in out
    assert not (tmp_path / "cache").exists()
    content = json.loads(run("datasets", "--json", cwd=tmp_path).stdout)
    assert content["texas"]["expected"]["edges"] == 295
    assert content["cora"]["files"]["geom-gcn/data/ind.cora.graph"]["url"].startswith("https://")


def test_a_dataset_out_of_reach_is_described_all_the_same(tmp_path: Path) -> None:
    out = run("datasets", "pokec", cwd=tmp_path).stdout
    assert "Slovak" in out
    assert "not measured: The file 'linkx/pokec.mat' is not on this machine." in out
    done = run("train", "--dataset", "pokec", cwd=tmp_path, code=2)
    assert done.stderr.startswith("error: The file 'linkx/pokec.mat' is not on this machine.")
    assert done.stderr.count("\n") == 1


def test_generated_graphs_and_files_are_measured_too(tmp_path: Path) -> None:
    out = run("datasets", "twin:genius@0.01", "--picture", "twin.svg", cwd=tmp_path).stdout
    assert "scores on it say nothing about that dataset" in out
    assert (tmp_path / "twin.svg").read_text().startswith("<?xml")
    write_npz(make_data(), tmp_path / "own.npz")
    measured = json.loads(run("datasets", "own.npz", "--json", cwd=tmp_path).stdout)["measured"]
    assert (measured["nodes"], measured["classes"], measured["isolated"] >= 2) == (60, 3, True)
    picture = (tmp_path / "cache" / "pictures" / "own.png").read_bytes()
    assert picture.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["texsa"], "Did you mean 'texas'?"),
        (["texas", "cora", "--picture", "x.png"], "--picture takes one dataset"),
        (["texas", "--picture", "x.gif"], "ending in .png, .svg, .pdf. Got 'x.gif'"),
        (["--verify", "pairs"], "--verify is for published datasets. Got 'pairs'"),
        (["--verify"], "No dataset is on this machine to verify"),
        (["--verify", "--data-mirror", "nowhere"], "The data mirror must be a folder. Got 'nowhere'"),
    ],
)
def test_bad_values(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = run("datasets", *arguments, cwd=tmp_path, code=2)
    assert message in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.real_data
def test_verify(tmp_path: Path) -> None:
    done = run("datasets", "--verify", "--data-mirror", str(MIRROR), cwd=tmp_path)
    lines = done.stdout.splitlines()
    fine = [line.split()[1] for line in lines if line.startswith("ok ")]
    assert set(fine) == {name for name, entry in DATASETS.items() if entry.group == "small"} | {
        *("cornell-corrected", "reed98", "amherst41", "deezer-europe", "twitch-explicit-de", "minesweeper")
    }
    assert sum("content equal" in line for line in lines) == 12
    assert lines[-1].startswith("not on this machine: penn94, pokec")
    assert done.stderr.count("warning: cornell: ") == 1


@pytest.mark.real_data
def test_verify_notices_another_graph(tmp_path: Path) -> None:
    """A mirror whose texas files are those of wisconsin: the checksum says so before anything is read."""
    for file in DATASETS["texas"].all_files:
        path = tmp_path / "mirror" / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((MIRROR / file.path.replace("texas", "wisconsin")).read_bytes())
    done = run("datasets", "--verify", "texas", "--data-mirror", "mirror", cwd=tmp_path, code=2)
    assert re.match(r"error: 'mirror/geom-gcn/new_data/texas/\S+' is not the published file: its sha256", done.stderr)


@pytest.mark.real_data
def test_show_and_train_by_name(tmp_path: Path) -> None:
    mirror = os.path.relpath(MIRROR, tmp_path)
    out = run("datasets", "texas", cwd=tmp_path, GLOGNN_MIRROR=mirror).stdout
    for text in ("0.0609 without self-loops, 0.1119 with them", "104", "Geom-GCN", "licence", "3: 101 (55.2 %)"):
        assert text in out, text
    assert (tmp_path / "cache/pictures/texas.png").is_file()
    options = ["--dataset", "texas", "--split", "3", "--epochs", "3", "--data-mirror", mirror, "--out", "run"]
    out = run("train", *options, cwd=tmp_path).stdout
    assert "texas: 183 nodes, 574 adjacency entries" in out
    assert "splits: 10, 10 published splits of geom-gcn" in out
    report = json.loads((tmp_path / "run/report.json").read_text())
    assert report["config"]["data"] == {
        "dataset": "texas",
        "splits": "3",
        "directed": False,
        "self_loops": "keep",
        "feature_normalization": "row",
        "unlabelled": "exclude",
    }
    assert report["data"]["kind"] == "published"
    assert "geom-gcn/new_data/texas/out1_graph_edges.txt" in report["data"]["files"]
    out = run("train", "--resume", "run", "--data-mirror", mirror, cwd=tmp_path).stdout  # done: only the table
    assert "Run folder: run" in out
