"""The parts of a user's tables: what is trained on them speaks of the tables' ids and classes, as in one process."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from glognn import GloGNNClassifier, InputError, verify
from glognn.cli.main import app
from glognn.experiments.auto import auto

FLAGS = ["--nodes", "nodes.csv", "--edges", "edges.csv", "--id", "who", "--label", "kind"]
RUN = ["--model", "mlp", "--epochs", "5", "--dropout", "0", "--dtype", "float64"]


def run(*words: object) -> str:
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    names = np.array([f"u{number}" for number in range(60)])
    kind = np.where(np.arange(60) < 50, random.choice(["buyer", "shop"], 60), "")
    pd.DataFrame({"who": names, "kind": kind, "age": random.normal(size=60)}).to_csv("nodes.csv", index=False)
    pd.DataFrame(random.choice(names, (150, 2)), columns=["from", "to"]).to_csv("edges.csv", index=False)
    run("shard", "parts", *FLAGS, "--parts", 3)
    return tmp_path / "parts"


def test_a_run_on_ranks_predicts_by_id_and_class_as_one_of_the_tables_in_one_process(parts: Path) -> None:
    run("train", "--dataset", parts, "--distributed", *RUN, "--out", "ranks")
    run("train", *FLAGS, *RUN, "--engine", "eager", "--out", "one")
    for name in ("ranks", "one"):
        run("predict", name, "--out", f"{name}.csv")
    found, expected = pd.read_csv("ranks.csv"), pd.read_csv("one.csv")
    assert found.columns.tolist() == ["who", "prediction", "probability_buyer", "probability_shop", "margin"]
    assert found["who"].tolist() == [f"u{number}" for number in range(60)]
    pd.testing.assert_frame_equal(found, expected, rtol=1e-9)
    assert {state.state for state in verify("ranks")} == {"ok"}
    assert {state.path.name for state in verify("ranks")} >= {"shards.json", "nodes.parquet", "tables.json"}
    (parts / "nodes.parquet").write_bytes((parts / "nodes.parquet").read_bytes()[:-7])
    with pytest.raises(InputError, match=r"nodes\.parquet"):
        CliRunner().invoke(app, ["predict", "ranks", "--out", "p.csv"], catch_exceptions=False)


def test_an_ensemble_of_them_is_saved_without_them(parts: Path, tmp_path: Path) -> None:
    (tmp_path / "portfolio.toml").write_text('[[member]]\nname = "plain"\nmodel = "mlp"\nhidden_channels = 6')
    auto(str(parts), out=tmp_path / "auto", portfolio=tmp_path / "portfolio.toml", epochs=4, threads=1, device="cpu")
    assert {state.state for state in verify("auto")} == {"ok"}
    classifier = GloGNNClassifier.load("auto")
    classifier.save("saved")
    shutil.rmtree(parts)
    loaded = GloGNNClassifier.load("saved")
    assert loaded.ids_ is not None
    assert loaded.ids_.to_pylist()[:2] == ["u0", "u1"]
    assert set(loaded.transduction_) <= {"buyer", "shop"}
    np.testing.assert_array_equal(loaded.transduction_, classifier.transduction_)
    assert {state.state for state in verify("saved")} == {"ok"}
