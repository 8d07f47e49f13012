"""GloGNNClassifier(model="auto"): fitted through every door, cloned, pickled, saved and loaded."""

from __future__ import annotations

import copy
import gc
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from torch_geometric.data import Data

import glognn
from glognn import GloGNNClassifier, InputError
from glognn.data.npz import write_npz
from glognn.experiments import portfolio as room
from glognn.experiments.auto import auto
from glognn.experiments.saved_ensemble import SavedEnsemble
from tests.cli.test_tables import frames
from tests.conftest import make_data

PORTFOLIO = "\n".join(
    f'[[member]]\nname = "{name}"\nmodel = "{model}"' for name, model in (("plain", "mlp"), ("links", "glognn2"))
)
SETTINGS: dict[str, Any] = {"time_limit": 60, "folds": 2, "epochs": 4, "hidden_channels": 6, "threads": 1}
EDGES = np.array([[60, 4, 61], [3, 60, 5]])
NEW = np.full((2, 7), 0.5)


@pytest.fixture(autouse=True)
def portfolio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two small members instead of the package's."""
    (tmp_path / "portfolio.toml").write_text(PORTFOLIO)
    monkeypatch.setattr(room, "PORTFOLIO", tmp_path / "portfolio.toml")
    return tmp_path / "portfolio.toml"


def new(**settings: Any) -> GloGNNClassifier:
    return GloGNNClassifier("auto", **(SETTINGS | settings))


@pytest.fixture
def names() -> np.ndarray[Any, Any]:
    """Classes by name, some unknown."""
    y = np.array(["red", "green", "blue"], dtype=object)[make_data().y.numpy()]
    y[::6] = None
    return y


def test_tables_are_fitted_saved_and_loaded(tmp_path: Path) -> None:
    nodes, edges = frames()
    fitted = GloGNNClassifier.from_tables(
        nodes, edges[["from", "to"]], id="who", label="fraud", model="auto", metric="f1", pos_label="yes", **SETTINGS
    )
    who = nodes["who"][[5, 3]].tolist()
    np.testing.assert_array_equal(fitted.predict(who), fitted.transduction_[[5, 3]])
    assert (fitted.classes_.tolist(), fitted.pos_label_) == (["no", "yes"], "yes")
    later = nodes[:2].assign(who=["a", "b"]).drop(columns="fraud")
    links = pd.DataFrame({"from": ["a", "b"], "to": [nodes["who"][0], "a"]})
    wanted = fitted.predict_proba(later, edges=links)
    fitted.save(tmp_path / "saved")
    card = (tmp_path / "saved/README.md").read_text()
    assert "\n| yes | " in card
    assert "of class 'yes'" in card
    loaded = glognn.load_model(tmp_path / "saved")
    np.testing.assert_allclose(loaded.predict_proba(), fitted.predict_proba(), rtol=1e-6)
    np.testing.assert_allclose(loaded.predict_proba(later, edges=links), wanted, rtol=1e-6)
    assert loaded.predict(who).tolist() == fitted.predict(who).tolist()


def test_fit_predict_and_leaderboard(names: np.ndarray[Any, Any]) -> None:
    data = make_data()
    classifier = new()
    assert classifier.fit(data.x.numpy(), names, adjacency=data.edge_index.numpy()) is classifier
    assert classifier.classes_.tolist() == ["blue", "green", "red"]
    probabilities = classifier.predict_proba()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert classifier.predict().tolist() == classifier.classes_[probabilities.argmax(axis=1)].tolist()
    np.testing.assert_array_equal(classifier.predict([5, 2]), classifier.transduction_[[5, 2]])
    assert classifier.predict_proba(NEW, edges=EDGES).shape == (2, 3)
    ensemble, *members = classifier.leaderboard_
    assert ensemble.name == "ensemble"
    assert {row.name for row in members} == {"plain", "links", "constant", "logistic regression"}
    assert (classifier.scores_["val"], classifier.scores_["test"]) == (ensemble.val, None)
    assert 4 <= classifier.n_iter_ <= 16
    assert not hasattr(classifier, "model_")


def test_masks_decide_and_test_labels_are_not_read() -> None:
    data = make_data()
    first = new(split=1).fit(data)
    hidden = data.clone()
    hidden.y[data.test_mask[:, 1]] = (hidden.y[data.test_mask[:, 1]] + 1) % 3
    np.testing.assert_array_equal(first.predict_proba(), new(split=1).fit(hidden).predict_proba())
    assert first.data_.val_mask.view(-1).tolist() == data.val_mask[:, 1].tolist()
    assert first.scores_["test"] is None


def test_node_numbers_without_edges_and_without_features() -> None:
    data = make_data()
    plain = Data(x=data.x, edge_index=data.edge_index, y=torch.full((60,), -1))
    nodes = np.arange(0, 60, 2)
    by_number = new(graph=plain).fit(nodes, data.y.numpy()[nodes])
    assert by_number.predict([1, 3]).shape == (2,)
    unlinked = new().fit(data.x.numpy(), data.y.numpy())
    assert unlinked.predict(NEW).shape == (2,)
    featureless = new().fit(None, data.y.numpy(), adjacency=data.edge_index.numpy())
    assert [row.state for row in featureless.leaderboard_ if row.name == "plain"] == ["failed"]


def test_conventions_of_scikit_learn(names: np.ndarray[Any, Any]) -> None:
    """Clones are unfitted; copies and pickles predict the same after the original is gone."""
    data = make_data()
    classifier = new(quality="fast", random_state=3)
    assert clone(classifier).get_params() == classifier.get_params()
    assert not hasattr(clone(classifier.fit(data.x.numpy(), names, adjacency=data.edge_index.numpy())), "classes_")
    wanted = classifier.predict_proba(NEW, edges=EDGES)
    others = [copy.deepcopy(classifier), pickle.loads(pickle.dumps(classifier))]
    folder = classifier._carried.path
    del classifier
    gc.collect()
    assert not folder.exists()
    for other in others:
        np.testing.assert_array_equal(other.predict_proba(NEW, edges=EDGES), wanted)


def test_fitted_again_as_one_model_it_forgets_the_ensemble() -> None:
    data = make_data()
    classifier = new().fit(data)
    classifier.set_params(model="glognn").fit(data)
    assert not hasattr(classifier, "leaderboard_")
    assert classifier.predict_proba(NEW, edges=EDGES).shape == (2, 3)


def test_saved_and_loaded(names: np.ndarray[Any, Any], tmp_path: Path) -> None:
    data = make_data()
    place = tmp_path / "saved"
    classifier = new(dropout=0.2).fit(data.x.numpy(), names, adjacency=data.edge_index.numpy())
    classifier.save(place)
    classifier.save(place)
    assert sorted(path.name.partition("-")[0] for path in place.iterdir() if path.name[0] != ".") == [
        "README.md", "ensemble", "estimator.json"
    ]  # fmt: skip
    moved = place.rename(tmp_path / "moved")
    loaded = GloGNNClassifier.load(moved)
    assert loaded.get_params() == classifier.get_params()
    assert (loaded.scores_, loaded.leaderboard_) == (classifier.scores_, classifier.leaderboard_)
    for known, found in (
        (classifier.predict_proba(), loaded.predict_proba()),
        (classifier.predict(), loaded.predict()),
        (classifier.predict_proba(NEW, edges=EDGES), loaded.predict_proba(NEW, edges=EDGES)),
    ):
        np.testing.assert_array_equal(known, found)
    assert {state.state for state in glognn.verify(moved)} == {"ok"}
    card = (moved / "README.md").read_text()
    for words in ("60 nodes with", "2 folds of all labels", "| plain | mlp | ", "| dropout | 0.2 |", "| blue | "):
        assert words in card
    assert "alpha" not in card
    loaded.set_params(model="glognn").fit(data).save(moved)
    assert not list(moved.glob("ensemble-*"))
    assert GloGNNClassifier.load(moved).model == "glognn"


def test_a_save_that_fails_leaves_the_classifier_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it left is removed by the next."""
    first, second = new().fit(make_data()), new(epochs=5).fit(make_data())
    first.save(tmp_path)
    usual = SavedEnsemble.copy

    def fail(saved: SavedEnsemble, folder: Path) -> None:
        usual(saved, folder)
        raise OSError("the disk is full")

    monkeypatch.setattr(SavedEnsemble, "copy", fail)
    with pytest.raises(InputError, match="the disk is full"):
        second.save(tmp_path)
    monkeypatch.setattr(SavedEnsemble, "copy", usual)
    np.testing.assert_array_equal(GloGNNClassifier.load(tmp_path).predict_proba(), first.predict_proba())
    second.save(tmp_path)
    np.testing.assert_array_equal(GloGNNClassifier.load(tmp_path).predict_proba(), second.predict_proba())
    assert len(list(tmp_path.glob("ensemble-*"))) == 1


def test_what_is_damaged_is_refused(tmp_path: Path) -> None:
    new().fit(make_data()).save(tmp_path / "saved")
    with pytest.raises(InputError, match="holds an ensemble: leave out model 'glognn'"):
        GloGNNClassifier.load(tmp_path / "saved", model="glognn")
    weights = next((tmp_path / "saved").rglob("model.safetensors"))
    content = weights.read_bytes()
    weights.write_bytes(content[:-1])
    with pytest.raises(InputError, match="was changed: it had"):
        GloGNNClassifier.load(tmp_path / "saved")
    weights.write_bytes(content)
    record = json.loads((tmp_path / "saved/estimator.json").read_text())
    (tmp_path / "saved/estimator.json").write_text(json.dumps(record | {"threshold": 0.1}))
    with pytest.raises(InputError, match=r"estimator.json' was changed"):
        GloGNNClassifier.load(tmp_path / "saved")


@pytest.mark.parametrize("dataset", ["pairs", "graph.npz"])
def test_a_run_of_the_command_line_is_loaded(dataset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its settings; what is saved of it holds the graph, wherever that came from."""
    monkeypatch.chdir(tmp_path)
    write_npz(make_data(num_splits=3), tmp_path / "graph.npz")
    settings = {name: value for name, value in SETTINGS.items() if name not in ("time_limit", "folds")}
    auto(dataset, out=tmp_path / "run", splits="0,2", time_limit=60, seed=5, **settings)
    loaded = GloGNNClassifier.load(tmp_path / "run", split=2)
    assert (loaded.model, loaded.time_limit, loaded.epochs, loaded.random_state, loaded.split) == ("auto", 60, 4, 5, 2)
    assert loaded.scores_["test"] is not None
    loaded.save(tmp_path / "saved")
    (tmp_path / "graph.npz").unlink()
    again = GloGNNClassifier.load(tmp_path / "saved")
    np.testing.assert_array_equal(again.predict_proba(), loaded.predict_proba())
    with pytest.raises(InputError, match="holds a run of glognn train: save the classifier in another folder"):
        loaded.save(tmp_path / "run")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"time_limit": -1}, "time limit must be a positive number of seconds. Got -1"),
        ({"quality": "perfect"}, "quality must be one of fast, good, best. Got 'perfect'"),
        ({"folds": 1}, "Folds must be at least 2"),
        ({"model": "gnc"}, "must be one of .*'trees'.*'auto'. Got 'gnc'"),
    ],
)
def test_errors_say_what_is_wrong(settings: dict[str, Any], message: str) -> None:
    data = make_data()
    with pytest.raises(InputError, match=message):
        GloGNNClassifier(**({"model": "auto"} | SETTINGS | settings)).fit(
            data.x.numpy(), data.y.numpy(), adjacency=data.edge_index.numpy()
        )
