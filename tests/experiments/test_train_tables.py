"""Training on tables, from Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import glognn
from glognn import InputError
from glognn.experiments.train import TrainedModels


@pytest.fixture
def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    random = np.random.default_rng(0)
    nodes = pd.DataFrame({"name": [f"n{number}" for number in range(80)], "size": random.normal(size=80)})
    nodes["kind"] = np.where(np.arange(80) % 2, "odd", "even")
    nodes.loc[70:, "kind"] = None
    return nodes, pd.DataFrame(nodes["name"].to_numpy()[random.integers(0, 80, (200, 2))], columns=["from", "to"])


def test_a_named_model_on_frames_predicts_from_its_folder(
    tables: tuple[pd.DataFrame, pd.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = glognn.train_tables(*tables, "kind", id="name", model="mlp", epochs=3)
    assert isinstance(done, TrainedModels)
    assert done.folder.name.endswith("-tables")
    assert [report["config"]["model"]["name"] for report in done.reports] == ["mlp"]
    classifier = glognn.load_model(done.folder)
    assert set(classifier.predict(["n70", "n79"])) <= {"odd", "even"}


def test_files_are_the_same_as_frames(tables: tuple[pd.DataFrame, pd.DataFrame], tmp_path: Path) -> None:
    nodes, edges = tables
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    edges.to_csv(tmp_path / "edges.csv", index=False)
    files = (tmp_path / "nodes.csv", tmp_path / "edges.csv")
    settings = {"id": "name", "model": "mlp", "epochs": 3, "threads": 1}
    of_files = glognn.train_tables(*files, "kind", out=tmp_path / "files", **settings)
    of_frames = glognn.train_tables(nodes, edges, "kind", out=tmp_path / "frames", **settings)
    assert of_files.reports[0]["scores"] == of_frames.reports[0]["scores"]


def test_without_a_model_a_portfolio_is_trained(tables: tuple[pd.DataFrame, pd.DataFrame], tmp_path: Path) -> None:
    portfolio = tmp_path / "portfolio.toml"
    portfolio.write_text('[[member]]\nname = "only"\nmodel = "mlp"\n')
    given = {"id": "name", "portfolio": portfolio, "folds": 2, "time_limit": 60, "epochs": 2}
    done = glognn.train_tables(*tables, "kind", out=tmp_path / "run", **given)
    assert [standing.name for standing in glognn.leaderboard(done.folder)][:2] == ["ensemble", "only"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"model": "mlp", "time_limit": 5}, "'time_limit' parameter is for model='auto'"),
        ({"refit": True}, "'refit' parameter is for models that are named"),
        ({"model": ["auto", "mlp"]}, "auto"),
    ],
)
def test_what_does_not_go_together(
    tables: tuple[pd.DataFrame, pd.DataFrame], tmp_path: Path, given: dict[str, object], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        glognn.train_tables(*tables, "kind", out=tmp_path / "run", **given)
