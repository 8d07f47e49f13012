"""``glognn train`` of a portfolio: tables without a model, named graphs, going on, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from glognn.experiments.reports import read_ensemble
from tests.cli.test_tables import TABLES, Run, glognn, is_one_clear_error, lay_down  # noqa: F401

PORTFOLIO = "".join(f'[[member]]\nname = "{name}"\nmodel = "{name}"\nhidden_channels = 4\n' for name in ("mlp", "gcn"))


@pytest.fixture
def run(glognn: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:  # noqa: F811
    monkeypatch.setenv("COLUMNS", "200")
    lay_down(tmp_path)
    (tmp_path / "p.toml").write_text(PORTFOLIO)
    return glognn


def test_a_member_that_is_tried_on_some_folds_is_said_to_be(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glognn.experiments.members.QUICK", float("inf"))
    monkeypatch.setattr("glognn.experiments.members.LEAST_SHARE", 1.0)  # no time to train it on the others
    code, out, err = run("train", *TABLES, "--portfolio", "p.toml", "--folds", "3", "--out", "run")
    assert (code, err) == (0, "")
    assert ": gcn, tried on 1 of 3 splits, validation accuracy " in out
    assert "gcn: tried: on 1 of 3 splits, and then not on all." in out
    assert "Go on with: glognn train --resume run" in out
    assert set(read_ensemble(tmp_path / "run")["splits"]["0"]["weights"]) == {"mlp"}
    assert "| gcn | gcn | " in (tmp_path / "run/README.md").read_text()


def test_tables_without_a_model_train_a_portfolio(run: Run, tmp_path: Path) -> None:
    code, out, err = run("train", *TABLES, "--portfolio", "p.toml", "--folds", "3", "--out", "run")
    assert (code, err) == (0, "")
    assert "sets: 3 folds of all labels, stratified, seed 0" in out
    assert "Worth trying" not in out
    assert "whether neighbours are alike" in out or "Neighbours' classes tell little" in out
    record = read_ensemble(tmp_path / "run")
    assert record["classes"] == ["no", "yes"]
    assert "  1. of 1: mlp, validation accuracy " in out
    assert "; ensemble so far " in out
    table = out[out.index("member ") :].splitlines()
    assert {line.split()[0] for line in table[1:4]} == {"ensemble", "mlp", "gcn"}
    assert [line.split()[0] for line in table[4:6]] == ["constant", "logistic"]
    assert out.rstrip().endswith("Run folder: run")
    card = (tmp_path / "run/README.md").read_text()
    assert "| gcn | gcn | " in card
    assert record["description"] in card
    assert (tmp_path / "run/leaderboard.png").stat().st_size > 5000
    code, out, _ = run("runs", ".")
    assert code == 0
    assert f"{100 * record['val']['mean']:.2f} ± " in out
    assert "(logistic regression)" in out
    assert "gcn" not in out
    assert "gcn" in run("runs", ".", "--model", "gcn")[1]
    code, out, err = run("evaluate", "run")
    assert code == 0, err
    assert "validation nodes of 3 folds, scored by models that have not learned from them" in out
    found = json.loads((tmp_path / "run/evaluation/evaluation.json").read_text())
    held = record["held_out"]["classes"]
    assert found["scores"]["accuracy"] == sum(each["right"] for each in held) / sum(each["nodes"] for each in held)
    code, out, _ = run("verify", "run")
    assert code == 0
    for name in ("ensemble.json", "graph.npz", "tables.json", "nodes.parquet"):
        assert any(name in line and line.rstrip().endswith("ok") for line in out.splitlines()), name


def test_a_metric_is_advised_where_a_class_is_rare(run: Run, tmp_path: Path) -> None:
    nodes = pd.read_csv("nodes.csv")
    nodes["fraud"] = np.where(np.arange(len(nodes)) % 10 == 0, "yes", "no")
    nodes.to_csv("nodes.csv", index=False)
    options = [*TABLES, "--portfolio", "p.toml", "--folds", "2"]
    code, out, err = run("train", *options, "--out", "plain")
    assert code == 0, err
    assert "Worth trying:\n  classes are imbalanced: --metric roc_auc\n" in out
    code, out, _ = run("train", *options, "--metric", "roc_auc", "--out", "ranked")
    assert (code, "Worth trying" in out) == (0, False)


def test_a_named_graph_and_going_on_with_it(run: Run, tmp_path: Path) -> None:
    options = ["--portfolio", "p.toml", "--splits", "0", "--epochs", "1"]
    code, out, _ = run("train", "-m", "auto", "-d", "pairs", *options, "--time-limit", "1e-9", "-o", "run", "--quiet")
    assert code == 0
    assert "not reached" in out
    assert "Go on with: glognn train --resume run" in out
    code, out, _ = run("train", "--resume", "run", "--time-limit", "100")
    assert code == 0
    assert "Go on with" not in out
    assert [each["state"] for each in read_ensemble(tmp_path / "run")["members"]] == ["done", "done"]


WRONG = {
    "another model": (["-m", "mlp", "-m", "auto"], "--model auto chooses the models. Leave out the others"),
    "a search": (["-m", "auto", "--tune", "3"], "--model auto takes no --tune"),
    "an option without auto": (["-m", "mlp", "--quality", "fast"], "--quality is for --model auto"),
    "a quality": (["-m", "auto", "--quality", "perfect"], "one of fast, good, best"),
    "no time": (["-m", "auto", "--time-limit", "0"], "positive number of seconds"),
    "a setting of no member": (["-m", "auto", "--portfolio", "p.toml", "--gamma", "0.3"], "No member of the portfolio"),
    "no portfolio": (["-m", "auto", "--portfolio", "q.toml"], "There is no portfolio 'q.toml'"),
    "no such graph": (["-m", "auto", "-d", "coraa"], "There is no dataset 'coraa'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_in_one_line(name: str, run: Run) -> None:
    arguments, expected = WRONG[name]
    is_one_clear_error(run("train", *arguments, "--out", "run"), expected)
    assert not Path("run").exists()
