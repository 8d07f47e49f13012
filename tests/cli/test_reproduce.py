"""``glognn reproduce`` and ``glognn runs`` as a user meets them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from glognn.cli import main as cli
from glognn.experiments.jobs import run_jobs
from glognn.experiments.plan import make_plan
from glognn.training import preflight
from tests.cli.test_datasets import run
from tests.conftest import MIRROR


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table9"], "The study must be one of table1, table2, efficiency, ablation"),
        (["table1", "--models", "glogn"], "There is no model 'glogn'. Did you mean 'glognn'?"),
        (["table1", "--datasets", "pokec"], "There is no dataset of table1 'pokec'"),
        (["table1", "--seeds", "x"], "seeds must be numbers"),
        (["table1", "--splits", "12"], "The split must be in the range [0, 9]. Got 12"),
        (
            ["table1", "--settings", "mine"],
            "The settings must be one of published, tuned, equal, default or a folder",
        ),
        (["table1", "--device", "tpu"], "The device must be cpu or cuda. Got 'tpu'"),
        (["table1", "--data-mirror", "nowhere"], "The data mirror must be a folder"),
    ],
)
def test_bad_values(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = run("reproduce", *arguments, cwd=tmp_path, code=2)
    assert message in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_what_cannot_be_had_is_said_in_the_table(tmp_path: Path) -> None:
    (tmp_path / "mirror").mkdir()
    options = ["--models", "mlp,glognn++", "--datasets", "pokec,snap-patents", "--data-mirror", "mirror"]
    done = run("reproduce", "table2", *options, cwd=tmp_path)
    assert "pokec is left out: The file 'linkx/pokec.mat' is not on this machine." in done.stdout
    table = (tmp_path / "runs/reproduce/table2/table.md").read_text()
    assert table.count("not to be had") == 2 * 2 * 2


@pytest.mark.real_data
def test_a_small_table(tmp_path: Path) -> None:
    options = ["--datasets", "texas,cornell", "--models", "mlp,glognn++", "--splits", "0-1", "--quick"]
    arguments = ["reproduce", "table1", *options, "--data-mirror", str(MIRROR), "--out", "out"]
    first = run(*arguments, cwd=tmp_path).stdout
    assert "8 runs, 0 of them done already, 2 at a time" in first
    folder = tmp_path / "out/table1-quick"
    table = (folder / "table.md").read_text()
    assert table.count("| mlp |") == 2
    assert "(84.05, " in table  # the paper's texas, GloGNN++
    best, last = json.loads((folder / "table.json").read_text())
    assert (best["judged"], last["judged"], len(best["cells"])) == ("best", "last", 4)
    assert all(cell["status"] == "ok" and cell["runs"] == 2 for cell in best["cells"])
    cells = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    assert [len(cell["runs"]) for cell in cells] == [2, 2, 2, 2]
    assert cells[0]["settings"]["training"]["epochs"] == 200
    assert {"torch", "glognn"} <= cells[0]["versions"].keys()
    means = {(cell["dataset"], cell["model"]): cell["mean"] for cell in last["cells"]}
    for cell in cells:  # the table follows from the records
        scores = [100 * one["last"]["test"] for one in cell["runs"]]
        assert means[cell["dataset"], cell["model"]] == pytest.approx(sum(scores) / len(scores))
    for name in ("table.csv", "table-best.tex", "table-last.tex"):
        assert (folder / name).stat().st_size > 100
    again = run(*arguments, cwd=tmp_path).stdout
    assert "8 runs, 8 of them done already" in again
    assert (folder / "table.md").read_text() == table
    shown = run(*arguments, "--models", "mlp,gcn", "--render-only", cwd=tmp_path).stdout
    assert "done already" not in shown
    assert "| gcn | not run | not run |" in shown
    assert not list((tmp_path / "out").glob("*/gcn-*"))
    more = run(*arguments[:-2], "--out", "out", "--seeds", "1", "--workers", "1", cwd=tmp_path).stdout
    assert "8 runs, 0 of them done already" in more
    listed = json.loads(run("runs", "out", "--json", cwd=tmp_path).stdout)
    assert [(group["dataset"], group["model"]) for group in listed] == [
        ("cornell", "glognn++"),
        ("cornell", "mlp"),
        ("texas", "glognn++"),
        ("texas", "mlp"),
    ]
    assert listed[3]["seeds"] == [0, 1]


@pytest.mark.real_data
def test_a_model_that_does_not_fit_is_said_in_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine with 8 MiB free beside what libraries take, as the files of its system say."""
    monkeypatch.setattr(preflight, "_SYSTEM", tmp_path)
    for part in ("LIBRARY_BYTES", "THREAD_BYTES"):
        monkeypatch.setattr(preflight, part, 0)
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemAvailable: 8192 kB\n")
    options = ["--datasets", "texas", "--models", "wrgat,mlp", "--splits", "0-1", "--workers", "1", "--quick"]
    arguments = ["reproduce", "table1", *options, "--data-mirror", str(MIRROR), "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["glognn", *arguments])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 0
    folder = tmp_path / "out/table1-quick"
    assert (folder / "table.md").read_text().count("| wrgat | does not fit | 2.00 |") == 2
    cells = json.loads((folder / "table.json").read_text())[0]["cells"]
    assert [(cell["status"], cell["runs"]) for cell in cells] == [("does not fit", 0), ("ok", 2)]


@pytest.mark.real_data
def test_studies(tmp_path: Path) -> None:
    options = ["--datasets", "texas", "--models", "glognn++", "--splits", "0", "--quick", "--data-mirror", str(MIRROR)]
    options += ["--workers", "1"]
    out = run("reproduce", "ablation", *options, cwd=tmp_path).stdout
    assert "glognn++ already is, by the authors' settings: texas (-na)" in out
    assert "3 runs, 0 of them done already" in out  # -na is the same run as the full model
    root = tmp_path / "runs/reproduce"
    assert (root / "ablation-quick/bars.svg").is_file()
    out = run("reproduce", "grouping", *options, cwd=tmp_path).stdout
    assert "1 runs, 1 of them done already" in out
    [found] = json.loads((root / "grouping-quick/grouping.json").read_text())["glognn++"]["texas"]
    assert found["contrast"] > 0.3  # the blocks of the heat map
    assert (root / "grouping-quick/grouping-glognn++.png").is_file()
    out = run("reproduce", "global-homophily", *options, cwd=tmp_path).stdout
    assert "0.2 / " in out
    [found] = json.loads((root / "global-homophily-quick/global-homophily.json").read_text())["glognn++"]["texas"]
    rows = {row["distance"]: row for row in found["rows"]}
    assert rows["2"]["same"] > 100 * rows["1"]["same"]  # the same class is two hops away, not one
    assert (root / "global-homophily-quick/global-homophily-glognn++.svg").is_file()


@pytest.mark.real_data
def test_efficiency(tmp_path: Path) -> None:
    options = ["--datasets", "texas", "--models", "mlp,glognn++", "--seeds", "0-1", "--data-mirror", str(MIRROR)]
    out = run("reproduce", "efficiency", *options, cwd=tmp_path).stdout
    assert "4 runs, 0 of them done already, 1 at a time" in out
    folder = tmp_path / "runs/reproduce/efficiency"
    found = json.loads((folder / "efficiency.json").read_text())["texas"]
    assert found.keys() == {"mlp", "glognn++"}
    for cell in found.values():
        assert cell["epochs"] == 300
        assert 0 < cell["seconds_until_near"] <= max(cell["seconds"])
        assert (cell["config"]["training"]["epochs"], cell["machine"]["threads"]) == (300, 1)
    assert (folder / "efficiency.md").read_text() in out
    assert (folder / "efficiency.png").is_file()
    assert "4 runs, 4 of them done already" in run("reproduce", "efficiency", *options, cwd=tmp_path).stdout
    none = run("reproduce", "efficiency", *options, "--render-only", "--out", "empty", cwd=tmp_path).stdout
    assert none == "No run of efficiency is done.\n"


def test_runs(tmp_path: Path) -> None:
    quick = {"epochs": 3, "threads": 1, "device": "cpu", "hidden_channels": 8}
    for given in (quick, quick | {"dropout": 0.25}):
        assert not any(o.error for o in run_jobs(make_plan(tmp_path, ["pairs"], ["mlp"], splits="0-1", given=given)))
    out = run("runs", ".", cwd=tmp_path).stdout
    assert out.count(" mlp ") == 2
    out = run("runs", ".", "--model", "mlp", "--differences", cwd=tmp_path).stdout
    line = next(line for line in out.splitlines() if line.startswith("model.dropout"))
    assert sorted(line.split()[1:]) == ["0.25", "0.5"]
    assert "training." not in out
    [group] = json.loads(run("runs", ".", "--key", out.split("\n")[1].split()[0], "--json", cwd=tmp_path).stdout)
    assert group["splits"] == [0, 1]
    [record, *_] = sorted(tmp_path.rglob("report.json"))
    (record.parent / "DONE").write_text("")
    for text in ("{", record.read_text().replace('"schema_version": 1', '"other": 1')):
        record.write_text(text)
        listed = run("runs", ".", "--json", cwd=tmp_path)
        assert sum(len(group["folders"]) for group in json.loads(listed.stdout)) == 3
        [line] = listed.stderr.splitlines()
        assert line.startswith("warning: 1 of the records below '.' are left out: ")
        assert str(record.relative_to(tmp_path)) in line
    assert "No finished run" in run("runs", ".", "--model", "gcn", cwd=tmp_path).stdout
    assert "There is no folder 'nowhere'" in run("runs", "nowhere", cwd=tmp_path, code=2).stderr
