"""The leaderboard of an automatic run, from its record alone."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import glognn
from glognn import InputError
from glognn.cli.main import app
from glognn.experiments.leaderboard import OF_ALL, Standing, leaderboard
from glognn.report.leaderboard import as_csv, plot_leaderboard
from tests.test_architecture import loaded_after

SPLIT = {
    "weights": {"links": 0.5, "acmgcn": 0.5},
    "temperatures": {"links": 1.0, "acmgcn": 1.0},
    "temperature": 1.1,
    "threshold": None,
    "val": 0.86,
    "test": 0.85,
}


def member(name: str, model: str, val: float, weight: float) -> dict[str, Any]:
    return {
        "name": name,
        "model": model,
        "state": "done",
        "reason": "",
        "val": {"mean": val, "std": 0.01},
        "test": {"mean": val - 0.02, "std": 0.02},
        "seconds_to_fit": 12.5,
        "seconds_to_predict": 0.25,
        "memory_mib": 700.0 + 100 * weight,
        "weight": weight,
        "settings": {},
        "stopped_by": ["patience"],
    }


def record(**other: Any) -> dict[str, Any]:
    waiting = dict.fromkeys(("val", "test", "seconds_to_fit", "seconds_to_predict", "memory_mib"))
    return {
        "schema_version": 1,
        "metric": "accuracy",
        "classes": ["a", "b"],
        "fingerprint": "f" * 64,
        "splits_origin": "5 folds of all labels",
        "folds": True,
        "members": [
            member("links", "glognn2", 0.81, 0.5),
            member("acmgcn", "acmgcn", 0.84, 0.5),
            member("trees", "trees", 0.7, 0.0),
            member("deep", "glognn2", 0.0, 0.0) | {"state": "too large", "reason": "it takes 9 GiB of 4"} | waiting,
        ],
        "splits": {"0": SPLIT},
        "val": {"mean": 0.86, "std": 0.012},
        "test": {"mean": 0.85, "std": 0.02},
        "best_single": {"name": "acmgcn", "val": {"mean": 0.84, "std": 0.01}, "test": {"mean": 0.82, "std": 0.02}},
        "ended": "",
        "description": "A graph of 60 nodes.",
        "seconds": 40.0,
        "versions": {"glognn": "0.1.0"},
        "machine": {"cpu": "some"},
    } | other


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ensemble.json").write_text(json.dumps(record()))
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["leaderboard", *arguments], env={"COLUMNS": "160"}, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_rows(folder: Path) -> None:
    """The ensemble, then members by validation, then those without scores."""
    ensemble, *members = glognn.leaderboard(folder)
    assert [row.name for row in members] == ["acmgcn", "links", "trees", "deep"]
    assert [row.best_single for row in members] == [True, False, False, False]
    assert (ensemble.name, ensemble.model, ensemble.val, ensemble.test) == (OF_ALL, "2 of 4", 0.86, 0.85)
    assert (ensemble.seconds_to_fit, ensemble.seconds_to_predict, ensemble.memory_mib) == (40.0, 0.5, 750.0)
    assert members[-1] == Standing(
        "deep", "glognn2", "too large", "it takes 9 GiB of 4", False,
        None, None, None, None, 0.0, None, None, None,
    )  # fmt: skip


def test_without_test_nodes(folder: Path) -> None:
    untested = [each | {"test": None} for each in record()["members"]]
    (folder / "ensemble.json").write_text(json.dumps(record(members=untested, test=None)))
    assert {row.test for row in leaderboard(folder)} == {None}
    assert "0.86" not in run(str(folder))
    assert "86.00 ± 1.20" in run(str(folder))


def test_table_csv_and_json_say_the_same(folder: Path) -> None:
    table = run(str(folder))
    for words in ("86.00 ± 1.20", "85.00 ± 2.00", "too large: it takes 9 GiB of 4", "5 folds of all labels"):
        assert words in table
    [best] = [line for line in table.splitlines() if line.startswith("acmgcn")]
    assert best.split()[:6] == ["acmgcn", "*", "acmgcn", "84.00", "±", "1.00"]
    assert "* best single on validation; accuracy; splits: 5 folds of all labels" in table
    rows = json.loads(run(str(folder), "--format", "json"))
    assert [Standing(**row) for row in rows] == leaderboard(folder)
    written = list(csv.DictReader(io.StringIO(run(str(folder), "--format", "csv"))))
    assert [row["name"] for row in written] == [row["name"] for row in rows]
    assert (written[0]["val"], written[-1]["val"], written[1]["best_single"]) == ("0.86", "", "True")
    assert as_csv(leaderboard(folder)).count("\n") == len(rows) + 1


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_picture(folder: Path, suffix: str) -> None:
    path = folder / f"board{suffix}"
    run(str(folder), "--picture", str(path))
    assert path.stat().st_size > 5000
    with pytest.raises(InputError, match=r"must be a file .png or .svg. Got 'board.pdf'"):
        plot_leaderboard(leaderboard(folder), "accuracy", Path("board.pdf"))


def test_what_is_no_leaderboard(folder: Path) -> None:
    with pytest.raises(InputError, match="has no trained member yet: there is no ensemble.json"):
        leaderboard(folder / "nowhere")
    unknown = [member("links", "glognn2", 0.5, 1.0) | {"seconds_to_fit": "long"}]
    for damage, message in (
        (record(schema_version=2), "schema_version of .* must be 1. Got 2 instead"),
        (record(val={"mean": "x", "std": None}), "val.mean must be int or float"),
        (record(members=unknown), r"members\[0\].seconds_to_fit must be"),
        (record(splits={"0": {"weights": {}}}), "splits.0.temperatures is missing"),
        (record(members=[]), "splits must give weights to members that are done"),
    ):
        (folder / "ensemble.json").write_text(json.dumps(damage))
        with pytest.raises(InputError, match=message):
            leaderboard(folder)


def test_it_loads_no_torch(folder: Path) -> None:
    code = (
        f"import contextlib; from glognn.cli.main import main; sys.argv = ['glognn', 'leaderboard', {str(folder)!r}]\n"
    )
    assert "torch" not in loaded_after(f"{code}with contextlib.suppress(SystemExit): main()")


def test_baselines_are_the_last_rows_and_what_to_beware_of_is_said(tmp_path: Path) -> None:
    scores = {"train": None, "val": {"mean": 0.5, "std": 0.01}, "test": {"mean": 0.4, "std": None}}
    told = {
        "baselines": {"constant": scores, "logistic regression": scores},
        "held_out": {"set": "test", "classes": []},
        "cautions": ["One class, 'a', is predicted for all test nodes."],
    }
    (tmp_path / "ensemble.json").write_text(json.dumps(record(ended="all members are done", **told)))
    rows = leaderboard(tmp_path)
    assert [(row.name, row.state, row.val, row.test) for row in rows[-2:]] == [
        (name, "baseline", 0.5, 0.4) for name in ("constant", "logistic regression")
    ]
    found = CliRunner().invoke(app, ["leaderboard", str(tmp_path)], env={"COLUMNS": "150"})
    assert "Beware:\n  One class, 'a', is predicted for all test nodes." in found.stdout
    assert plot_leaderboard(rows, "accuracy", tmp_path / "board.png").is_file()
