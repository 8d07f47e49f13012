"""The winner of a search is used only where it beats the default beyond noise, on nodes it was not chosen on."""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import glognn
from glognn.data.npz import write_npz
from glognn.data.splits import redraw
from glognn.data.table_graph import TableOptions
from glognn.errors import InputError
from glognn.experiments import confirmation
from glognn.experiments.config import RunConfig, read_config
from glognn.experiments.confirmation import Confirmation
from glognn.experiments.folder import find_runs
from glognn.experiments.reports import read_report
from glognn.experiments.saved import open_saved
from glognn.experiments.search import read_search
from glognn.graph.graph import Graph
from glognn.models.configs import MODELS
from tests.conftest import make_data

pytest.importorskip("optuna")

QUICK: dict[str, Any] = {"epochs": 3, "hidden_channels": 4, "workers": 1}


def test_noise_is_the_corrected_standard_error() -> None:
    default, winner = [0.5, 0.6, 0.7, 0.5, 0.6], [0.6, 0.6, 0.9, 0.5, 0.7]
    found = Confirmation(7, default, winner, ratio=0.5)
    gains = np.subtract(winner, default)
    assert found.gain == pytest.approx(gains.mean())
    assert found.noise == pytest.approx(math.sqrt((1 / 5 + 0.5) * gains.var(ddof=1)))
    assert found.better == (gains.mean() > found.noise)
    assert not Confirmation(7, default, default, ratio=0.5).better
    facts = found.facts()
    assert (facts["used"], facts["pairs"], facts["winner_trial"]) == ("winner" if found.better else "default", 5, 7)
    assert "paired over fresh divisions" in facts["rule"]


@pytest.mark.parametrize("gain", [0.3, 0.0])
def test_the_winner_is_used_only_beyond_noise(gain: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def scores(config: RunConfig, graph: Graph, splits: list[int]) -> list[float]:
        asked.append((config, graph, splits))
        return [0.5 + 0.01 * split + gain * (len(asked) > 1) for split in splits]

    monkeypatch.setattr(confirmation, "validation_scores", scores)
    # no trial can do worse than a default whose learning rate is far too small
    monkeypatch.setattr(glognn.TrainingConfig, "learning_rate", 1e-9)
    options: dict[str, Any] = {"splits": "0", "sampler": "random", "out": tmp_path / "study"} | QUICK
    [found] = glognn.tune("pairs", "mlp", trials=6, **options | {"epochs": 20})
    assert found.confirmation is not None
    (default, graph, splits), (winner, _, _) = asked
    assert default == found.search.default()
    assert winner != default
    assert splits == [0, 1, 2, 3, 4]
    known = glognn.load_dataset("pairs")
    assert not bool((graph.masks["train"] | graph.masks["val"])[known.test_mask[:, 0]].any())
    tuned = tomllib.loads(found.path.read_text())["tuned"]
    assert tuned["winner_trial"] == found.confirmation.trial != 0
    assert (tuned["used"], found.trial > 0) == (("winner", True) if gain else ("default", False))
    assert found.config == (winner if gain else default)
    assert tuned["rule"] == confirmation.RULE
    asked.clear()
    [again] = glognn.tune("pairs", "mlp", trials=6, **options | {"epochs": 20})
    assert not asked, "it is read from its record"
    assert again.config == found.config


def test_one_trial_is_the_default(tmp_path: Path) -> None:
    [found] = glognn.tune("pairs", "glognn++", trials=1, splits="0", out=tmp_path, **QUICK)
    assert (found.trial, found.origin, found.confirmation) == (0, "default", None)
    assert found.config.model == MODELS["glognn++"](hidden_channels=4)


def test_scores_of_the_default_and_the_winner_are_trained_anew(tmp_path: Path) -> None:
    write_npz(make_data(num_splits=2), tmp_path / "graph.npz")
    [found] = glognn.tune(
        str(tmp_path / "graph.npz"), "mlp", trials=4, sampler="random", out=tmp_path / "study", **QUICK | {"epochs": 30}
    )
    if found.confirmation is not None:
        record = json.loads((tmp_path / "study/confirmation.json").read_text())
        assert len(record["default"]) == len(record["winner"]) == 6, "three divisions of each of two splits"


def test_splits_are_searched_by_themselves(tmp_path: Path) -> None:
    """No test node of one split has a say in the settings of another, nor in its own held-out prediction."""
    write_npz(make_data(num_splits=2), tmp_path / "graph.npz")
    done = glognn.train_models(str(tmp_path / "graph.npz"), ["mlp", "gcn"], tune=2, out=tmp_path / "run", **QUICK)
    assert done.runs == [tmp_path / "run/mlp", tmp_path / "run/gcn"]
    assert [report["splits"] for report in done.reports] == [[0, 1], [0, 1]]
    assert "each split by itself" in read_report(tmp_path / "run/gcn")["settings"]
    assert [child.relative_to(tmp_path / "run").as_posix() for child, _ in find_runs(tmp_path / "run")] == [
        "mlp/split-0", "mlp/split-1", "gcn/split-0", "gcn/split-1",
    ]  # fmt: skip
    for split in (0, 1):
        study = tmp_path / f"run/tune/gcn/split-{split}"
        assert read_search(study).splits == str(split)
        config = read_config(tmp_path / f"run/gcn/split-{split}/config.toml")
        best = read_config(study / "best.toml")
        assert (config.model, config.training.learning_rate) == (best.model, best.training.learning_rate)
        assert config.splits == str(split)
    again = glognn.train_models(resume=tmp_path / "run")
    assert again.reports == done.reports
    mean, one = open_saved(tmp_path / "run", ["gcn"]), open_saved(tmp_path / "run", ["gcn"], 1)
    assert mean.why == "mean of the models of 2 splits (--split takes one)"
    assert one.folder == tmp_path / "run/gcn/split-1"
    with pytest.raises(InputError, match=r"lists several runs \(split-0, split-1\): use the file of one of them"):
        read_config(tmp_path / "run/gcn/config.toml")
    with pytest.raises(InputError, match="--workers is for searches: give --tune TRIALS, or leave it out"):
        glognn.train_models("pairs", workers=2)


def test_tables_are_searched(tmp_path: Path) -> None:
    nodes = "".join(f"n{k},{k % 7},{'ab'[k % 2]}\n" for k in range(60))
    (tmp_path / "nodes.csv").write_text(f"who,size,kind\n{nodes}")
    (tmp_path / "edges.csv").write_text("from,to\n" + "".join(f"n{k},n{(k + 3) % 60}\n" for k in range(60)))
    tables = TableOptions(nodes=tmp_path / "nodes.csv", edges=tmp_path / "edges.csv", label="kind")
    [found] = glognn.tune(model="mlp", tables=tables, trials=1, out=tmp_path / "study", **QUICK)
    assert tomllib.loads(found.path.read_text())["data"]["dataset"] == "graph.npz"
    (tmp_path / "study").rename(tmp_path / "moved")
    done = glognn.train_models(config=tmp_path / "moved/best.toml", out=tmp_path / "run")
    assert done.reports[0]["data"]["num_nodes"] == 60
    predictions, _ = open_saved(tmp_path / "run").predict()
    assert predictions.ids.to_pylist()[:2] == ["n0", "n1"]
    assert list(predictions.classes.names) == ["a", "b"]
    [again] = glognn.tune(model="mlp", tables=tables, trials=1, out=tmp_path / "moved", **QUICK)
    assert again.trials == 1
    (tmp_path / "nodes.csv").write_text(f"who,size,kind\nn99,1,a\n{nodes}")
    with pytest.raises(InputError, match="holds a search on other tables or columns: choose another --out"):
        glognn.tune(model="mlp", tables=tables, trials=1, out=tmp_path / "moved", **QUICK)
    with pytest.raises(InputError, match="--dataset names a graph, and so do your tables"):
        glognn.tune("pairs", tables=tables)


def test_fresh_divisions_leave_test_nodes_out() -> None:
    data = make_data(num_splits=2)
    masks = {name: data[f"{name}_mask"] for name in ("train", "val", "test")}
    found = redraw(data.y, masks, 1, 4)
    inside = masks["train"][:, 1] | masks["val"][:, 1]
    for column in range(4):
        assert torch.equal(found["train"][:, column] | found["val"][:, column], inside)
        assert not bool((found["train"][:, column] & found["val"][:, column]).any())
        assert abs(int(found["val"][:, column].sum()) - int(masks["val"][:, 1].sum())) <= 3
    assert not bool(found["test"].any())
    assert not torch.equal(found["val"][:, 0], found["val"][:, 1])
