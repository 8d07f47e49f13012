"""GloGNNClassifier: scikit-learn's checks, every door, nothing leaked, saved and loaded."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.utils.estimator_checks import check_estimator
from torch_geometric.data import Data

from glognn import GloGNN, GloGNNClassifier, InputError, TrainingConfig, train
from glognn.storage import write_text
from tests.conftest import make_data, no_warnings
from tests.program import Program

QUICK: dict[str, Any] = {"epochs": 15, "hidden_channels": 8, "threads": 1, "device": "cpu"}

EXPECTED = {
    "check_classifiers_classes": "the label -1 means unlabelled, as in scikit-learn's own semi-supervised classifiers",
}
"""Checks of scikit-learn that fail, and why."""


def test_checks_of_scikit_learn(figures: dict[str, str]) -> None:
    estimator = GloGNNClassifier(epochs=60, learning_rate=0.05, hidden_channels=16, threads=1, device="cpu")
    found = check_estimator(estimator, expected_failed_checks=EXPECTED, on_fail=None, on_skip=None)
    by_status: dict[str, list[str]] = {}
    for check in found:
        by_status.setdefault(check["status"], []).append(check["check_name"])
    reasons = {check["check_name"]: repr(check["exception"]) for check in found if check["status"] == "failed"}
    assert reasons == {}
    assert set(by_status["xfail"]) == set(EXPECTED)
    figures["estimator checks"] = ", ".join(f"{len(names)} {status}" for status, names in sorted(by_status.items()))


def doors(data: Data) -> dict[str, GloGNNClassifier]:
    """The same graph through every door, fitted."""
    n = data.num_nodes
    x, y = data.x.numpy(), np.where(data.train_mask | data.val_mask, data.y, -1)
    edges = data.edge_index.numpy()
    matrix = sp.csr_array((np.ones(edges.shape[1]), edges), shape=(n, n))
    matrix.data[:] = 1
    graph = networkx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(edges.T.tolist())
    plain = Data(x=data.x, edge_index=data.edge_index, y=torch.from_numpy(y))
    with_features = graph.copy()
    networkx.set_node_attributes(with_features, dict(enumerate(x.tolist())), "x")
    networkx.set_node_attributes(with_features, {k: int(label) for k, label in enumerate(y) if label >= 0}, "y")
    labelled, names = np.flatnonzero(y >= 0), np.array([f"n{k}" for k in range(n)])

    def new(**settings: Any) -> GloGNNClassifier:
        return GloGNNClassifier(**QUICK, **settings)

    return {
        "PyG": new().fit(plain),
        "NumPy": new().fit(x, y, adjacency=matrix.toarray()),
        "SciPy": new().fit(sp.csr_array(x), y, adjacency=matrix),
        "edges": new().fit(x, y, adjacency=edges),
        "edges by rows": new().fit(x, y, adjacency=edges.T),
        "table of edges": new().fit(x, y, adjacency=pd.DataFrame(edges.T)),
        "index": new().fit(pd.DataFrame(x, index=names), y, adjacency=names[edges.T]),
        "pandas": new().fit(pd.DataFrame(x), pd.Series(y), adjacency=pd.DataFrame(matrix.toarray())),
        "NetworkX": new().fit(x, y, adjacency=graph),
        "NetworkX alone": new().fit(with_features),
        "nodes": new(graph=plain).fit(labelled, y[labelled]),
        "nodes of NetworkX": new(graph=with_features).fit(labelled, y[labelled]),
    }


@pytest.fixture
def split_data() -> Data:
    data = make_data(num_splits=1)
    data.edge_index = torch.unique(data.edge_index, dim=1)
    for name in ("train_mask", "val_mask", "test_mask"):
        data[name] = data[name].view(-1)
    return data


def test_every_door_leads_to_the_same_predictions(split_data: Data) -> None:
    fitted = doors(split_data)
    wanted = fitted["PyG"].predict_proba()
    assert len(np.unique(fitted["PyG"].transduction_)) > 1
    for name, classifier in fitted.items():
        np.testing.assert_array_equal(classifier.predict_proba(), wanted, err_msg=name)
        np.testing.assert_array_equal(classifier.transduction_, fitted["PyG"].transduction_, err_msg=name)


def test_masks_are_used_and_test_labels_are_not(split_data: Data) -> None:
    first = GloGNNClassifier(**QUICK).fit(split_data)
    assert torch.equal(first.data_.train_mask, split_data.train_mask)
    assert torch.equal(first.data_.val_mask, split_data.val_mask)
    other = split_data.clone()
    other.y = torch.where(split_data.test_mask, (split_data.y + 1) % 3, split_data.y)
    second = GloGNNClassifier(**QUICK).fit(other)
    np.testing.assert_array_equal(first.predict_proba(), second.predict_proba())
    test = split_data.test_mask.numpy()
    expected = np.mean(first.transduction_[test] == split_data.y.numpy()[test])
    assert first.score(split_data) == pytest.approx(expected)


def test_without_test_nodes_there_is_no_test_score(
    split_data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    classifier = GloGNNClassifier(**QUICK).fit(split_data)
    assert classifier.scores_["test"] is None
    classifier.save(tmp_path)
    assert "test nodes" not in (tmp_path / "README.md").read_text()
    split_data.test_mask[:] = False
    for native in ("1", "0"):
        monkeypatch.setenv("GLOGNN_NATIVE", native)
        for metric in ("accuracy", "roc_auc", "macro_f1"):
            model = GloGNN(7, 3, split_data.num_nodes, hidden_channels=8)
            result = train(model, split_data, config=TrainingConfig(epochs=3, metric=metric, device="cpu"))
            assert [scores.test for scores in (result.best, result.last, result.selected)] == [None] * 3
            assert 0 < result.selected.val <= 1


def test_labels_come_back_as_they_went_in(split_data: Data) -> None:
    x, edges, y = split_data.x.numpy(), split_data.edge_index, split_data.y.numpy()
    wanted = None
    for names, unknown in (
        (["ant", "bee", "cat"], ""),
        (["ant", "bee", "cat"], None),
        (["ant", "bee", "cat"], np.nan),
        ([3, 5, 9], -1),
    ):
        given = np.array(names, dtype=object)[y]
        given[::3] = unknown
        for labels in (given, given.tolist(), pd.Series(given)):
            classifier = GloGNNClassifier(**QUICK).fit(x, labels, adjacency=edges)
            assert classifier.classes_.tolist() == names
            codes = [names.index(label) for label in classifier.transduction_.tolist()]
            wanted = codes if wanted is None else wanted
            assert codes == wanted


def test_held_out_labels_are_never_seen(split_data: Data) -> None:
    y = split_data.y.numpy()
    nodes = np.flatnonzero(split_data.train_mask.numpy())
    rest = np.setdiff1d(np.arange(y.size), nodes)
    first = GloGNNClassifier(graph=split_data, **QUICK).fit(nodes, y[nodes])
    other = split_data.clone()
    other.y = torch.from_numpy(np.where(np.isin(np.arange(y.size), rest), (y + 1) % 3, y))
    for name in ("train_mask", "val_mask", "test_mask"):
        other[name] = other[name].roll(7)
    second = GloGNNClassifier(graph=other, **QUICK).fit(nodes, y[nodes])
    del other.y
    third = GloGNNClassifier(graph=other, **QUICK).fit(nodes, y[nodes])
    for classifier in (second, third):
        np.testing.assert_array_equal(classifier.predict_proba(rest), first.predict_proba(rest))
    assert not (first.data_.y.numpy()[rest] >= 0).any()


def test_cross_validation_over_nodes(split_data: Data) -> None:
    y = np.array(["low", "mid", "high"])[split_data.y.numpy()]
    nodes = np.arange(y.size)
    split_data.x[:, 0] += 9 * split_data.y
    classifier = GloGNNClassifier(graph=split_data, **(QUICK | {"alpha": 0.1, "gamma": 0.9, "epochs": 100}))
    folds = list(StratifiedKFold(3).split(nodes, y))
    scores = cross_val_score(classifier, nodes, y, cv=folds)
    by_hand = [np.mean(clone(classifier).fit(a, y[a]).transduction_[b] == y[b]) for a, b in folds]
    assert scores.tolist() == pytest.approx(by_hand)
    assert scores.mean() > 1 / 3
    search = GridSearchCV(classifier, {"gamma": np.array([0.1, 0.9]), "num_hops": np.array([1, 2])}, cv=2)
    search.fit(nodes, y)
    assert search.best_estimator_.transduction_.shape == y.shape
    assert search.predict(nodes[:5]).tolist() == search.best_estimator_.transduction_[:5].tolist()


def test_known_and_new_nodes(split_data: Data) -> None:
    x, n = split_data.x.numpy(), split_data.num_nodes
    y = split_data.y.numpy()
    classifier = GloGNNClassifier(**QUICK).fit(x, y, adjacency=split_data.edge_index)
    known = classifier.predict_proba()
    np.testing.assert_array_equal(classifier.predict_proba(x), known)
    np.testing.assert_array_equal(classifier.predict_proba(np.array([4, 2])), known[[4, 2]])
    edges = np.array([[n, n, n + 1], [3, 8, n]])
    new = classifier.predict_proba(x[:2], edges=edges)
    assert new.shape == (2, 3)
    as_data = Data(x=split_data.x[:2], edge_index=torch.from_numpy(edges))
    np.testing.assert_array_equal(classifier.predict_proba(as_data), new)
    weighted = classifier.predict_proba(x[:2], edges=edges, edge_weight=[1, 5, 1])
    assert not np.array_equal(weighted, new)
    assert classifier.predict(x[:2], edges=edges).tolist() == classifier.classes_[new.argmax(1)].tolist()
    np.testing.assert_array_equal(classifier.predict_proba(), known)
    with pytest.raises(InputError, match="'edges' parameter of predict must be given for new nodes"):
        classifier.predict(x[:2])


def test_a_graph_without_features(split_data: Data) -> None:
    classifier = GloGNNClassifier(alpha=1.0, **QUICK).fit(None, split_data.y, adjacency=split_data.edge_index)
    n = split_data.num_nodes
    assert classifier.predict_proba().shape == (n, 3)
    assert classifier.predict_proba(edges=np.array([[n, n + 1], [0, n]])).shape == (2, 3)


def test_rare_classes(split_data: Data) -> None:
    y = np.where(split_data.y.numpy() == 0, "fraud", "honest")
    y[::2] = "honest"
    settings = QUICK | {"class_weight": "balanced", "threshold": "validation", "metric": "average_precision"}
    classifier = GloGNNClassifier(**settings).fit(split_data.x.numpy(), y, adjacency=split_data.edge_index)
    assert classifier.scores_["engine"] == "eager"
    assert classifier.pos_label_ == "fraud"  # the rarer one, though it comes first
    rare = classifier.predict_proba()[:, 0] >= classifier.threshold_
    assert classifier.transduction_.tolist() == np.where(rare, "fraud", "honest").tolist()


def test_saved_and_loaded(split_data: Data, tmp_path: Path) -> None:
    y = np.array(["low", "mid", "high"], dtype=object)[split_data.y.numpy()]
    frame = pd.DataFrame(split_data.x.numpy(), columns=[f"f{k}" for k in range(7)])
    n = split_data.num_nodes
    edges = np.array([[n], [5]])
    fitted = GloGNNClassifier(feature_normalization="standard", gamma=np.float64(0.3), **QUICK)
    fitted.fit(frame, y, adjacency=split_data.edge_index)
    over_nodes = GloGNNClassifier(graph=split_data, **QUICK).fit(np.arange(40), split_data.y[:40])
    for classifier, name, new in ((fitted, "a", frame[:1]), (over_nodes, "b", frame[:1].to_numpy())):
        classifier.save(tmp_path / name)
        loaded = GloGNNClassifier.load(tmp_path / name)
        np.testing.assert_array_equal(loaded.predict_proba(), classifier.predict_proba())
        np.testing.assert_array_equal(loaded.transduction_, classifier.transduction_)
        np.testing.assert_array_equal(loaded.predict(np.arange(3)), classifier.predict(np.arange(3)))
        one, other = (each.predict_proba(new, edges=edges) for each in (loaded, classifier))
        np.testing.assert_allclose(one, other, rtol=1e-6)
        first, second = loaded.get_params(), classifier.get_params()
        assert {k: v for k, v in first.items() if k != "graph"} == {k: v for k, v in second.items() if k != "graph"}
        again = clone(loaded).fit(frame, y, adjacency=split_data.edge_index) if name == "a" else None
        assert again is None or np.array_equal(again.predict_proba(), classifier.predict_proba())
    card = (tmp_path / "a/README.md").read_text()
    for part in (
        "homophily",
        "| mid |",
        "| gamma | 0.3 |",
        "accuracy, validation nodes",
        "baseline: logistic regression",
        "## Held-out validation nodes, class by class",
        "## Intended use",
        "## Limits",
        "Finished: 20",
        "| torch |",
        "GloGNNClassifier.load",
    ):
        assert part in card, part
    assert sorted(path.suffix for path in (tmp_path / "a").iterdir() if path.name[0] != ".") == [
        ".json", ".md", ".npz", ".safetensors"
    ]  # fmt: skip


def test_a_save_that_is_cut_off_leaves_the_classifier_before(
    split_data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import glognn.estimator.folder as module

    first = GloGNNClassifier(**QUICK).fit(split_data)
    second = GloGNNClassifier(random_state=1, **QUICK).fit(split_data)
    steps = ("save_model", "write_npz", "write_json", "write_text")
    for place, step in enumerate(steps):
        folder = tmp_path / step
        first.save(folder)
        with monkeypatch.context() as patch:

            def cut(*args: Any) -> None:
                raise KeyboardInterrupt

            patch.setattr(module, step, cut)
            with pytest.raises(KeyboardInterrupt):
                second.save(folder)
        wanted = first if place <= steps.index("write_json") else second
        np.testing.assert_array_equal(GloGNNClassifier.load(folder).predict_proba(), wanted.predict_proba())
        second.save(folder)
        np.testing.assert_array_equal(GloGNNClassifier.load(folder).predict_proba(), second.predict_proba())
        assert len(list(folder.glob("model-*"))) == 1


KILLED_SAVE = """
import os, signal, sys
from pathlib import Path
from glognn import GloGNNClassifier

source, target, left = sys.argv[1], sys.argv[2], int(sys.argv[3])
replace = Path.replace

def count(temporary, path):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(temporary, path)

Path.replace = count
GloGNNClassifier.load(source).save(target)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="locks of folders as on POSIX")
def test_what_a_killed_save_left_is_removed_by_the_next(split_data: Data, tmp_path: Path) -> None:
    """Killed before each of its four files is moved into place, the temporary files still there."""
    first, second = (GloGNNClassifier(random_state=seed, **QUICK).fit(split_data) for seed in (0, 1))
    folder = tmp_path / "saved"
    second.save(tmp_path / "second")
    for moved in range(4):
        first.save(folder)
        before = sorted(folder.iterdir())
        killed = Program(KILLED_SAVE, str(tmp_path / "second"), str(folder), str(moved)).wait()
        assert killed.returncode == -signal.SIGKILL
        assert len(list(folder.iterdir())) > len(before)
        wanted = first if moved < 3 else second
        np.testing.assert_array_equal(GloGNNClassifier.load(folder).predict_proba(), wanted.predict_proba())
        first.save(folder)
        assert sorted(folder.iterdir()) == before


def test_a_folder_that_cannot_be_written_says_why(
    split_data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    classifier = GloGNNClassifier(**QUICK).fit(split_data)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"file' cannot be written: File exists\.$"):
        classifier.save(tmp_path / "file")

    def full(*args: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"model-\w+\.safetensors' cannot be written: No space left on device\.$"):
        classifier.save(tmp_path / "full")
    assert [path.name for path in (tmp_path / "full").iterdir()] == [".lock"]


def test_what_cannot_be_loaded(split_data: Data, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="holds no trained model: no config.toml of a run, and no readable estimator.json"
    ):
        GloGNNClassifier.load(tmp_path)
    GloGNNClassifier(**QUICK).fit(split_data).save(tmp_path)
    record = json.loads((tmp_path / "estimator.json").read_text())
    write_text(tmp_path / "estimator.json", json.dumps(record | {"schema_version": 7}))
    with pytest.raises(InputError, match="schema_version of .* must be 1. Got 7 instead: load it with glognn"):
        GloGNNClassifier.load(tmp_path)
    write_text(tmp_path / "estimator.json", json.dumps({"schema_version": 1}))
    with pytest.raises(InputError, match="is damaged: files is missing. Save the classifier again"):
        GloGNNClassifier.load(tmp_path)


@pytest.mark.parametrize(
    ("settings", "arguments", "message"),
    [
        ({"model": "glogn"}, {}, "'model' parameter of GloGNNClassifier must be one of 'glognn2', |one of 'glognn"),
        ({"model": "mlp", "alpha": 0.3}, {}, "MLP has no setting 'alpha' \\(it belongs to glognn"),
        ({"gamma": 2}, {}, "'gamma' parameter of GloGNN\\+\\+ must be a number in the range"),
        ({"validation_fraction": 1.0}, {}, "'validation_fraction' parameter of GloGNNClassifier"),
        ({"threshold": "validation"}, {}, "must be 'auto' or 'none' for 3 classes"),
        ({"class_weight": "heavy"}, {}, "'class_weight' parameter of training"),
        ({"class_weight": {9: 1}}, {}, "'class_weight' parameter of GloGNNClassifier must be weights of the classes"),
        ({}, {"adjacency": np.ones((5, 5))}, "'adjacency' parameter of fit must be numbers of shape \\(60, 60\\)"),
        ({}, {"adjacency": np.array([[0], [60]])}, "edge_index holds node 60"),
        ({}, {"y": np.full(60, -1)}, "at least 2 classes. Got no label"),
        ({}, {"y": np.ones(60)}, "at least 2 classes. Got 1 class"),
        ({}, {"y": [1, "a"] * 30}, "labels of one kind|Unknown label type|Mix of label"),
        ({"graph": make_data()}, {"X": np.array([0.5, 1.0]), "y": [0, 1]}, "must be a list of whole numbers"),
        ({"graph": make_data()}, {"X": np.array([0, 60]), "y": [0, 1]}, "range \\[0, 59\\]. Got 60"),
        ({"graph": make_data()}, {"X": np.array([0, 0]), "y": [0, 1]}, "Got two for node 0"),
        ({"graph": 3}, {}, "'graph' parameter of GloGNNClassifier must be"),
        ({"split": 9}, {"X": make_data(), "y": None}, "'split' parameter of GloGNNClassifier must be in the range"),
    ],
)
def test_errors_say_what_is_wrong(settings: dict[str, Any], arguments: dict[str, Any], message: str) -> None:
    data = make_data()
    given = {"X": data.x.numpy(), "y": data.y.numpy()} | arguments
    with pytest.raises(ValueError, match=message):
        GloGNNClassifier(**(QUICK | settings)).fit(**given)


@no_warnings
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_complex_features_are_refused(form: Callable[[Any], Any]) -> None:
    with pytest.raises(ValueError, match="Complex data not supported"):
        GloGNNClassifier().fit(form(np.ones((4, 2)) * 1j), [0, 1, 0, 1], adjacency=np.ones((4, 4)))
