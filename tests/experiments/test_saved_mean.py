"""A run that is put to work: the mean of its splits, a model of all labels, and a graph that has changed since."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

import glognn
from glognn.data.npz import write_npz
from glognn.data.table_graph import TableOptions
from glognn.errors import InputError
from glognn.experiments.refit import on_all_labels, read_refit
from glognn.experiments.saved import open_saved
from glognn.experiments.saved_mean import SavedMean
from glognn.experiments.saved_model import SavedModel
from glognn.experiments.verify import verify
from tests.conftest import make_data

QUICK: dict[str, Any] = {"epochs": 6, "threads": 1, "device": "cpu", "hidden_channels": 4}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three splits and a model of all labels, not to be changed."""
    folder = tmp_path_factory.mktemp("mean")
    write_npz(make_data(num_splits=3, num_classes=2), folder / "graph.npz")
    given = QUICK | {"metric": "macro_f1", "threshold": "validation"}
    glognn.train_models(str(folder / "graph.npz"), "glognn++", out=folder / "run", **given)
    shutil.copytree(folder / "run", folder / "refitted")
    glognn.train_models(resume=folder / "refitted", refit=True)
    return folder


def test_several_splits_predict_as_their_mean(trained: Path) -> None:
    mean = open_saved(trained / "run")
    assert isinstance(mean, SavedMean)
    found, graph = mean.predict()
    single = [open_saved(trained / "run", split=split) for split in range(3)]
    each = [model.predict()[0].probabilities for model in single]
    np.testing.assert_allclose(found.probabilities, np.mean(each, axis=0), rtol=1e-12)
    assert mean.threshold == pytest.approx(np.mean([model.threshold for model in single]))
    assert mean.why == "mean of the models of 3 splits (--split takes one)"
    assert isinstance(single[1], SavedModel)
    assert single[1].split == 1
    held, _, nodes, words = mean.held_out()
    tests = graph.masks["test"].numpy()
    assert nodes.tolist() == np.flatnonzero(tests.any(axis=1)).tolist()
    assert "splits 0, 1, 2" in words
    for node in nodes:
        judges = [each[split][node] for split in range(3) if tests[node, split]]
        np.testing.assert_allclose(held.probabilities[node], np.mean(judges, axis=0), rtol=1e-12)


@pytest.mark.parametrize("name", ["run", "refitted"])
def test_a_classifier_is_loaded_as_what_predicts(name: str, trained: Path, tmp_path: Path) -> None:
    folder = trained / name
    loaded, saved = glognn.load_model(folder), open_saved(folder)
    found, graph = saved.predict()
    np.testing.assert_allclose(loaded.predict_proba(), found.probabilities, rtol=1e-12)
    np.testing.assert_array_equal(loaded.predict(), found.predicted)
    assert saved.why in loaded.origin_
    data, _ = saved.graph()
    new = Data(x=data.x[:2], edge_index=torch.tensor([[60, 61], [3, 60]]))
    np.testing.assert_allclose(loaded.predict_proba(new), saved.score_new(data, new), rtol=1e-12)
    masks, labelled = graph.masks, graph.y >= 0
    refitted = name == "refitted"
    assert loaded.data_.train_mask.tolist() == (labelled if refitted else masks["train"].any(dim=1)).tolist()
    assert loaded.data_.test_mask.tolist() == (masks["test"].all(dim=1) & (not refitted)).tolist()
    assert hasattr(loaded, "model_") == refitted
    assert loaded.explain([5])[0].prediction == loaded.predict([5])[0]
    with pytest.raises(InputError, match=r"copy the folder of the run, or load one split of it \(split=0\)"):
        loaded.save(tmp_path / "saved")
    one = glognn.load_model(folder, split=1)
    one.save(tmp_path / "saved")
    np.testing.assert_array_equal(glognn.load_model(tmp_path / "saved").predict_proba(), one.predict_proba())


def test_all_labels_train_for_the_epochs_that_validation_chose(trained: Path) -> None:
    folder = trained / "refitted"
    record = read_refit(folder)
    assert record is not None
    [only] = record["models"]
    selected = [open_saved(folder, split=split).scores["epoch"] for split in range(3)]
    assert (only["selected"], only["epochs"]) == (selected, round(float(np.median(selected))))
    saved = open_saved(folder)
    assert isinstance(saved, SavedMean)
    assert saved.why.startswith(f"model refitted on all {record['labels']} labels, {only['epochs']} epochs")
    data, graph = saved.graph()
    assert int(on_all_labels(graph).masks["train"].sum()) == record["labels"] == int((data.y >= 0).sum())
    before, after = open_saved(trained / "run").predict()[0], saved.predict()[0]
    assert not np.allclose(before.probabilities, after.probabilities)
    np.testing.assert_array_equal(
        saved.held_out()[0].probabilities, open_saved(trained / "run").held_out()[0].probabilities
    )
    assert not [state for state in verify(folder) if state.wrong]
    weights = (folder / "refit/model-0.safetensors").read_bytes()
    glognn.train_models(resume=folder)  # nothing left to do
    assert (folder / "refit/model-0.safetensors").read_bytes() == weights


def test_a_refit_that_is_not_there_or_was_changed_is_refused(trained: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(trained / "refitted", tmp_path / "run")
    file = folder / "refit/model-0.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(InputError, match=r"model-0\.safetensors' was changed"):
        open_saved(folder)
    assert [state.path.name for state in verify(folder) if state.wrong] == ["model-0.safetensors"]
    (folder / "refit/refit.json").write_text('{"schema_version": 1, "labels": 0, "models": []}')
    with pytest.raises(InputError, match="is not yet trained on all labels: glognn train --resume"):
        open_saved(folder)
    assert open_saved(folder, split=1).why == ""
    glognn.train_models(resume=folder)
    assert file.read_bytes() == whole, "the same bits"


@pytest.fixture
def tables(tmp_path: Path) -> TableOptions:
    generator = np.random.default_rng(0)
    size = 60
    nodes = pd.DataFrame({"who": [f"n{k}" for k in range(size)], "a": generator.normal(size=size).round(3)})
    nodes["b"] = generator.choice(["x", "y", "z"], size)
    nodes["kind"] = np.where(generator.random(size) < 0.5, "s", "t")
    ends = generator.integers(0, size, (2, 150))
    edges = pd.DataFrame({"from": nodes["who"][ends[0]].to_numpy(), "to": nodes["who"][ends[1]].to_numpy()})
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    edges.to_csv(tmp_path / "edges.csv", index=False)
    return TableOptions(nodes=tmp_path / "nodes.csv", edges=tmp_path / "edges.csv", label="kind", random_splits=2)


@pytest.mark.parametrize(("model", "normalization"), [("glognn++", "standard"), ("gcn", "none")])
def test_a_graph_that_has_changed_is_scored_as_it_is_now(
    model: str, normalization: str, tables: TableOptions, tmp_path: Path
) -> None:
    given = QUICK | {"feature_normalization": normalization}
    glognn.train_models(model=model, tables=tables, out=tmp_path / "run", **given)
    nodes = pd.read_csv(tables.nodes)
    changed = nodes.iloc[[7, 3]].assign(a=[4.0, nodes["a"][3]], b=["x", nodes["b"][3]]).drop(columns="kind")
    fresh = nodes.iloc[[1]].assign(who="new").drop(columns="kind")
    pd.concat([changed, fresh]).to_csv(tmp_path / "more.csv", index=False)
    pairs = [("n2", "n50"), ("n9", "n31"), ("new", "n4"), ("n8", "nobody")]
    pd.DataFrame(pairs, columns=["from", "to"]).to_csv(tmp_path / "more_edges.csv", index=False)
    saved = open_saved(tmp_path / "run")
    found, rows, said, _ = saved.predict_changed(
        tmp_path / "more.csv", tmp_path / "more_edges.csv", unknown_edges="drop"
    )
    assert rows is not None
    assert found.ids.take(rows).to_pylist() == ["n7", "n3", "new"]
    assert said.startswith("2 edges between its nodes added")
    assert "2 nodes of it in the table, 1 with other features" in said
    assert said.endswith("1 new node with 1 edge; 1 edge to unknown ids left out")

    data, _ = saved.graph()
    assert saved.tables is not None
    by_hand = data.clone()
    by_hand.edge_index = torch.cat([data.edge_index, torch.tensor([[2, 9], [50, 31]])], dim=1)
    encoded = data.x[7].clone()
    encoded[0] = (4.0 - nodes["a"].mean()) / nodes["a"].std(ddof=0)
    encoded[1:] = torch.tensor([1.0, 0.0, 0.0])
    by_hand.x[7] = encoded
    expected = []
    for each in saved.models:
        graph = glognn.Graph.from_data(by_hand, each.config.graph)
        if normalization == "standard":
            deviation, mean = data.x.std(dim=0), data.x.mean(dim=0)
            graph = glognn.Graph.from_data(
                by_hand.clone().update({"x": (by_hand.x - mean) / deviation}), glognn.GraphConfig()
            )
        expected.append(glognn.predict(each.model(graph), graph).double().numpy())
    np.testing.assert_allclose(found.probabilities[:60], np.mean(expected, axis=0), atol=2e-5)
    usual, _ = saved.predict()
    assert not np.allclose(usual.probabilities[7], found.probabilities[7])
    again, _, nothing, _ = saved.predict_changed(None, tables.edges)
    assert "150 edges between its nodes added (150 repeating edges that it has)" in nothing
    np.testing.assert_allclose(again.probabilities, usual.probabilities, atol=1e-6)
    only, left_out = saved.predict_new(*_only_new(tmp_path), unknown_edges="drop")
    assert (only.ids.to_pylist(), left_out) == (["new"], {"unknown": 1, "known": 2})
    with pytest.raises(InputError, match=r"must be new. Got 'n7', 'n3', which the graph of training holds"):
        saved.predict_new(tmp_path / "more.csv", None)


def _only_new(folder: Path) -> tuple[Path, Path]:
    pd.read_csv(folder / "more.csv").iloc[2:].to_csv(folder / "new.csv", index=False)
    return folder / "new.csv", folder / "more_edges.csv"


def test_another_threshold_is_chosen_without_training(tables: TableOptions, tmp_path: Path) -> None:
    given: dict[str, Any] = QUICK | {"metric": "average_precision"}
    glognn.train_models(model="mlp", tables=tables, out=tmp_path / "run", **given)
    for saved in (open_saved(tmp_path / "run"), open_saved(tmp_path / "run", split=1)):
        assert saved.threshold is not None
        assert saved.deciding("auto") is saved
        assert saved.deciding("validation").threshold == pytest.approx(saved.threshold), "as training chose it"
        lower = saved.deciding("recall=1")
        for said, y in lower.validated() if len(saved.splits) == 1 else ():
            assert (said[y == saved.positive, saved.positive] >= lower.threshold).all()
        assert "(chosen for recall 1 on validation nodes)" in lower.describe_threshold()
        given_one = saved.deciding("0.25")
        assert given_one.describe_threshold().endswith("is predicted from its probability 0.25 on (given)")
        found, usual = given_one.predict()[0], saved.predict()[0]
        np.testing.assert_array_equal(found.probabilities, usual.probabilities)
        assert saved.positive is not None
        np.testing.assert_array_equal(found.predicted == saved.positive, found.probabilities[:, saved.positive] >= 0.25)
        assert saved.deciding("none").threshold is None
    for wrong, why in (("1.5", "between 0 and 1"), ("best", "must be 'auto', 'none', 'validation'")):
        with pytest.raises(InputError, match=why):
            open_saved(tmp_path / "run").deciding(wrong)
