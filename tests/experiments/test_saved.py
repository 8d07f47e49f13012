"""Trained models in folders: runs and saved classifiers, through one door."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glognn import GloGNNClassifier, InputError
from glognn.data.npz import write_npz
from glognn.experiments.config import RunConfig, resolve
from glognn.experiments.folder import read_report, start_runs
from glognn.experiments.run import load_graph, run_splits
from glognn.experiments.saved import open_run, open_saved
from tests.conftest import make_data

QUICK: dict[str, Any] = {"epochs": 5, "hidden_channels": 8, "threads": 1, "device": "cpu"}
EARLIER = Path(__file__).with_name("saved_classifier")
"""Written by a version that could not load runs, with the predictions that it gave."""
MODELS = ("glognn", "glognn++")


def run(folder: Path, models: list[str], dataset: str = "pairs", splits: str = "0", **given: Any) -> list[RunConfig]:
    configs = resolve(models, None, QUICK | given, dataset, splits)
    for child, config in start_runs(folder, configs):
        run_splits(child, config, load_graph(config))
    return configs


def test_a_classifier_saved_by_an_earlier_version() -> None:
    wanted = json.loads((EARLIER / "expected.json").read_text())
    loaded = GloGNNClassifier.load(EARLIER)
    assert loaded.transduction_.tolist() == wanted["transduction"]
    np.testing.assert_allclose(loaded.predict_proba(), wanted["probabilities"], atol=2e-6)
    assert (loaded.scores_["test"], loaded.threshold_, loaded.classes_.tolist()) == (None, 0.5, ["no", "yes"])
    saved = open_saved(EARLIER)
    assert (saved.kind, saved.config.model.name, saved.config.graph.feature_normalization) == (
        "classifier", "glognn++", "row"
    )  # fmt: skip
    found, _ = saved.predict()
    np.testing.assert_array_equal(found.probabilities, loaded.predict_proba())


def test_models_and_splits_of_a_run(tmp_path: Path) -> None:
    run(tmp_path / "run", ["glognn", "glognn++", "mlp"], splits="1,3", dropout=0.25)
    scores = {name: read_report(tmp_path / "run" / name)["scores"]["selected"]["val"]["mean"] for name in MODELS}
    best = max(MODELS, key=lambda name: scores[name])
    chosen = GloGNNClassifier.load(tmp_path / "run")
    assert (chosen.model, chosen.split, chosen.dropout, chosen.random_state) == (best, 1, 0.25, 0)
    other = GloGNNClassifier.load(tmp_path / "run", model="glognn", split=3)
    report = read_report(tmp_path / "run/glognn/split-3")
    assert (other.model, other.split, other.scores_["test"]) == ("glognn", 3, report["scores"]["selected"]["test"])
    assert other.score(other.data_) == pytest.approx(report["scores"]["selected"]["test"])
    found, graph = open_saved(tmp_path / "run", ["glognn"], 3).predict()
    np.testing.assert_array_equal(other.predict_proba(), found.probabilities)
    assert other.data_.test_mask.tolist() == graph.masks["test"][:, 3].tolist()
    assert open_run(tmp_path / "run", ["mlp"]).why == "split 1, the first of 2 (--split)"
    with pytest.raises(InputError, match="was not trained on split 0. It was on: 1, 3"):
        GloGNNClassifier.load(tmp_path / "run", split=0)
    assert GloGNNClassifier.load(tmp_path / "run", model="mlp").model == "mlp"
    with pytest.raises(InputError, match=r"'model' parameter of load must be one of .*'mlp'.* Got 'mpl'"):
        GloGNNClassifier.load(tmp_path / "run", model="mpl")
    shutil.rmtree(tmp_path / "run/glognn++")
    (tmp_path / "run/config.toml").write_text('schema_version = 1\nruns = ["mlp"]\n')
    with pytest.raises(InputError, match=r"holds no run of the model 'glognn'. It holds: mlp"):
        GloGNNClassifier.load(tmp_path / "run", model="glognn")


@pytest.mark.parametrize("form", ["sparse features", "no features", "weights", "standard", "first class", "no splits"])
def test_a_run_and_its_classifier_predict_alike(form: str, tmp_path: Path) -> None:
    """Also new nodes, and after the classifier was saved and loaded."""
    data = make_data(weighted=form == "weights", num_classes=2)
    given: dict[str, Any] = {"metric": "macro_f1", "class_weight": "balanced", "threshold": "validation"}
    if form == "sparse features":
        data.x = (data.x * (data.x > 1)).to_sparse_csr()
    elif form == "no features":
        data.x = None
        given |= {"alpha": 1.0}
    elif form == "standard":
        given |= {"feature_normalization": "standard", "dtype": "float64"}
    elif form == "first class":
        data.y[::7] = -1
        given |= {"unlabelled": "first_class", "directed": True}
    elif form == "no splits":
        for name in ("train_mask", "val_mask", "test_mask"):
            del data[name]
    write_npz(data, tmp_path / "graph.npz")
    run(tmp_path / "run", ["glognn++"], str(tmp_path / "graph.npz"), **given)
    found, _ = open_saved(tmp_path / "run").predict()
    loaded = GloGNNClassifier.load(tmp_path / "run")
    loaded.save(tmp_path / "classifier")
    edges = np.array([[60, 4], [3, 60]])
    features = None if data.x is None else np.full((1, 7), 0.5)
    for each in (loaded, GloGNNClassifier.load(tmp_path / "classifier")):
        np.testing.assert_array_equal(each.predict_proba(), found.probabilities)
        np.testing.assert_array_equal(each.transduction_, found.predicted)
        np.testing.assert_array_equal(
            each.predict_proba(features, edges=edges), loaded.predict_proba(features, edges=edges)
        )
        assert each.get_params() == loaded.get_params()
        assert each.scores_ == loaded.scores_
    assert (loaded.class_weight, loaded.threshold, loaded.metric) == ("balanced", "validation", "macro_f1")
    again, _ = open_saved(tmp_path / "classifier").predict()
    np.testing.assert_array_equal(again.probabilities, found.probabilities)


def test_what_a_folder_lacks(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no trained model"):
        open_saved(tmp_path / "nowhere")
    run(tmp_path / "run", ["glognn"])
    (tmp_path / "run/DONE").unlink()
    with pytest.raises(InputError, match="is not finished: glognn train --resume"):
        GloGNNClassifier.load(tmp_path / "run")
    (tmp_path / "run/DONE").touch()
    (tmp_path / "run/report.json").unlink()
    with pytest.raises(InputError, match="has no readable report.json"):
        GloGNNClassifier.load(tmp_path / "run")
