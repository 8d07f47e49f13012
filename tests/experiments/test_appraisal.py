"""Scores beside baselines, class by class, and what is said to beware of."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch_geometric.data import Data

from glognn.data.classes import Classes
from glognn.data.npz import write_npz
from glognn.experiments.appraisal import Appraiser, appraise_predictions, cautions, over_splits
from glognn.experiments.baselines import CONSTANT, LOGISTIC
from glognn.experiments.config import resolve
from glognn.experiments.predictions import Predictions
from glognn.experiments.reports import read_report
from glognn.experiments.run import load_graph, run_splits
from glognn.experiments.train import train_models
from glognn.graph.graph import Graph
from glognn.training.config import TrainingConfig
from tests.conftest import make_data

PLAIN = TrainingConfig()


def graph_of(num_nodes: int = 400, seed: int = 0) -> Graph:
    """Two classes, a quarter of the nodes of the second, and features that tell a little of it; one split."""
    generator = np.random.default_rng(seed)
    y = (np.arange(num_nodes) % 4 == 0).astype(np.int64)
    x = generator.normal(size=(num_nodes, 3)) + 0.7 * y[:, None]
    edges = generator.integers(0, num_nodes, (2, 3 * num_nodes))
    data = Data(*map(torch.from_numpy, (x.astype(np.float32), edges)), y=torch.from_numpy(y))
    for place, name in enumerate(("train", "val", "test")):
        data[f"{name}_mask"] = torch.from_numpy(np.arange(num_nodes) // 4 % 3 == place)
    return Graph.from_data(data)


def said(graph: Graph, sure: float) -> dict[str, Any]:
    """Probabilities that are right for a share of the nodes, in the order of their numbers."""
    found = {}
    for name, nodes in graph.indices(0).items():
        y = graph.y.numpy()[nodes.numpy()]
        wrong = np.random.default_rng(1).random(len(y)) > sure
        found[name] = np.eye(2)[np.where(wrong, 1 - y, y)] * 0.8 + 0.1
    return found


def test_a_score_stands_beside_baselines_on_the_same_nodes() -> None:
    graph = graph_of()
    found = Appraiser(graph, ["legit", "fraud"]).appraise(0, PLAIN, said(graph, 0.95))
    y = graph.y.numpy()[graph.indices(0)["test"].numpy()]
    assert found["baselines"][CONSTANT]["test"] == pytest.approx((y == 0).mean())
    assert found["baselines"][CONSTANT]["val"] == pytest.approx(0.75, abs=0.01)
    assert 0.75 < found["baselines"][LOGISTIC]["test"] < 0.9
    assert found["held_out"]["set"] == "test"
    assert found["held_out"]["score"] == pytest.approx(0.95, abs=0.03)
    rows = found["held_out"]["classes"]
    assert [row["class"] for row in rows] == ["legit", "fraud"]
    assert [row["nodes"] for row in rows] == np.bincount(y).tolist()
    assert sum(row["right"] for row in rows) == round(found["held_out"]["score"] * len(y))
    assert cautions([found], 0.0) == []


@pytest.mark.parametrize(
    ("metric", "constant"), [("roc_auc", 0.5), ("average_precision", 0.25), ("macro_f1", 3 / 7), ("f1", 0.0)]
)
def test_the_constant_by_every_metric(metric: str, constant: float) -> None:
    scores = Appraiser(graph_of(480)).baseline_scores(0, TrainingConfig(metric=metric))
    assert scores[CONSTANT]["test"] == pytest.approx(constant)
    assert scores[LOGISTIC]["test"] > constant


def test_with_a_threshold_baselines_have_one_too() -> None:
    appraiser, config = Appraiser(graph_of()), TrainingConfig(metric="balanced_accuracy")
    plain, decided = (appraiser.baseline_scores(0, config, decided=each) for each in (False, True))
    assert decided[LOGISTIC]["val"] > plain[LOGISTIC]["val"] + 0.05  # type: ignore[operator]


@pytest.mark.parametrize("rule", ["precision=0.9", "recall=0.9", "cost=1:50", "validation"])
def test_a_constant_answer_stays_the_majority_whatever_threshold_is_asked_for(rule: str) -> None:
    graph, config = graph_of(), TrainingConfig(threshold=rule)
    scores = Appraiser(graph).baseline_scores(0, config, decided=True)
    assert scores[CONSTANT]["test"] == pytest.approx(0.75, abs=0.01)
    some = replace(config, metric="f1")
    assert Appraiser(graph).baseline_scores(0, some, decided=True)[CONSTANT]["test"] == pytest.approx(0.4, abs=0.01)
    nodes = graph.indices(0)["test"].numpy()
    y, classes = graph.y.numpy(), Classes(("legit", "fraud"), "text")
    told = Predictions("node", pa.array(range(400)), classes, np.eye(2)[y], threshold=0.5, positive=1)
    found = appraise_predictions(told, graph, [0], some, nodes, y[nodes])["baselines"][CONSTANT]
    assert found["accuracy"] == pytest.approx((y[nodes] == 0).mean())
    assert (found["recall"], found["balanced_accuracy"]) == (0.0, 0.5)


def test_baselines_read_directions_where_a_model_does(tmp_path: Path) -> None:
    """A class is told by what goes out and what comes in, and by nothing else."""
    generator = np.random.default_rng(0)
    y = torch.arange(200) % 2
    ones, zeros = np.flatnonzero(y), np.flatnonzero(1 - y)
    edges = np.stack([generator.choice(zeros, 1500), generator.choice(ones, 1500)])
    data = Data(torch.from_numpy(generator.normal(size=(200, 2)).astype(np.float32)), torch.from_numpy(edges), y=y)
    for place, name in enumerate(("train", "val", "test")):
        data[f"{name}_mask"] = torch.arange(200) // 2 % 3 == place
    write_npz(data, tmp_path / "graph.npz")
    given = {"epochs": 2, "hidden_channels": 4, "threads": 1, "device": "cpu"}
    done = train_models(str(tmp_path / "graph.npz"), ["gcn", "dirgnn"], out=tmp_path / "run", **given)
    assert [report["baselines"][LOGISTIC]["test"] for report in done.reports] == [1.0, 1.0]


def test_the_error_of_a_distance_is_that_of_independent_answers() -> None:
    """Classes have the same shares in all test sets, so that the constant's score does not vary."""
    graph = graph_of(2400)
    found = Appraiser(graph).appraise(0, PLAIN, said(graph, 0.9))
    nodes = graph.indices(0)["test"].numel()
    independent = math.sqrt(0.9 * 0.1 / nodes)
    assert 0.6 < found["baselines"][CONSTANT]["error"] / independent < 1.5


def test_one_class_for_all_and_no_better_than_the_constant() -> None:
    graph = graph_of()
    always = {name: np.tile([0.9, 0.1], (nodes.numel(), 1)) for name, nodes in graph.indices(0).items()}
    told = cautions([Appraiser(graph, ["legit", "fraud"]).appraise(0, PLAIN, always)], 0.0)
    assert told[0] == "One class, 'legit', is predicted for all test nodes."
    assert told[1].startswith("The test score, 75.")
    assert "is not above that of the baseline 'constant', 75." in told[1]
    assert "'logistic regression'" in told[2]
    assert len(told) == 3


def test_what_is_predicted_may_be_other_than_what_is_scored() -> None:
    graph = graph_of()
    unsure = {name: np.tile([0.6, 0.4], (nodes.numel(), 1)) for name, nodes in graph.indices(0).items()}
    appraiser = Appraiser(graph, ["legit", "fraud"])
    found = appraiser.appraise(0, PLAIN, unsure, predicted=np.ones(len(unsure["test"]), dtype=np.int64))
    assert "One class, 'fraud', is predicted" in cautions([found], 0.0)[0]
    assert found["held_out"]["score"] == pytest.approx(0.75, abs=0.01)
    decided = appraiser.appraise(0, PLAIN, unsure, threshold=0.4)
    assert decided["held_out"]["score"] == pytest.approx(0.25, abs=0.01)


def test_few_validation_nodes_and_isolated_nodes() -> None:
    graph = graph_of(120)
    found = Appraiser(graph, ["legit", "fraud"]).appraise(0, PLAIN, said(graph, 1.0))
    told = cautions([found], 0.7)
    assert "Validation has 10 nodes of class 'fraud': what its score has chosen may be chance." in told
    assert "70 % of the nodes have no edge: of those the graph tells nothing." in told


def test_of_folds_those_are_counted_that_were_trained_on() -> None:
    graph = graph_of(120)
    masks = {
        name: torch.stack([mask[:, 0].roll(12 * fold) for fold in range(3)], 1) for name, mask in graph.masks.items()
    }
    folded = graph.with_masks(masks)
    for folds in ([0], [0, 1], [0, 1, 2]):
        counted = int((folded.y[folded.masks["val"][:, folds].any(dim=1)] == 1).sum())
        found = Appraiser(folded, ["legit", "fraud"], folds=folds).appraise(0, PLAIN, said(graph, 1.0))
        assert found["validation"] == {"class": "fraud", "nodes": counted}


def test_over_splits_distances_must_exceed_their_spread() -> None:
    graph = graph_of()
    appraiser = Appraiser(graph)
    good, bad = (appraiser.appraise(0, PLAIN, said(graph, sure)) for sure in (0.97, 0.5))
    assert over_splits([good, good], 0.0)["cautions"] == []
    both = over_splits([good, bad], 0.0)
    assert any("is not above that of the baseline 'constant'" in each for each in both["cautions"])
    assert both["baselines"][CONSTANT]["test"] == {"mean": pytest.approx(0.75, abs=0.01), "std": 0.0}
    assert both["held_out"]["classes"][0]["nodes"] == 2 * good["held_out"]["classes"][0]["nodes"]
    assert over_splits([good, {"scores": {}}], 0.0) == {}  # a split that was done before there were any


def test_reports_hold_baselines_next_to_scores(tmp_path: Path) -> None:
    write_npz(make_data(num_splits=2), tmp_path / "graph.npz")
    [config] = resolve(["mlp"], None, {"epochs": 2, "hidden_channels": 4}, str(tmp_path / "graph.npz"), None)
    loaded = load_graph(config)
    summary = run_splits(tmp_path / "run", config, loaded, appraiser=Appraiser(loaded.graph))
    children = [read_report(tmp_path / f"run/split-{split}") for split in range(2)]
    mean = np.mean([child["baselines"][LOGISTIC]["test"] for child in children])
    assert summary["baselines"][LOGISTIC]["test"]["mean"] == pytest.approx(mean)
    assert children[0]["held_out"]["score"] == pytest.approx(children[0]["scores"]["selected"]["test"])
    assert any("Validation has" in each for each in summary["cautions"])
