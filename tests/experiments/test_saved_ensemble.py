"""The folder of an automatic run through the doors of one model: predict, evaluate, new nodes, classifier."""

from __future__ import annotations

import json
import shutil
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pytest
import torch
from torch_geometric.data import Data
from typer.testing import CliRunner

from glognn import GloGNNClassifier, InputError
from glognn.cli.main import app
from glognn.data.table_graph import TableOptions
from glognn.errors import DataWarning
from glognn.experiments import saved_model as room
from glognn.experiments.auto import auto
from glognn.experiments.ensemble import apply
from glognn.experiments.saved import open_saved
from glognn.experiments.saved_ensemble import SavedEnsemble
from glognn.experiments.saved_model import SavedModel
from glognn.experiments.verify import verify
from tests.conftest import make_data

PORTFOLIO = "\n".join(
    f'[[member]]\nname = "{name}"\nmodel = "{model}"\nhidden_channels = 6'
    for name, model in (("plain", "mlp"), ("near", "gcn"), ("links", "glognn2"))
)
WEIGHTS = {"plain": 0.5, "near": 0.3, "links": 0.2}
SETTINGS: dict[str, Any] = {"epochs": 4, "threads": 1, "device": "cpu"}
NEW = Data(x=torch.full((2, 7), 0.5), edge_index=torch.tensor([[60, 4, 61], [3, 60, 5]]), num_nodes=2)


def weigh(folder: Path, **weights: float) -> None:
    """Give the members of a folder other weights, the same on all splits, as while the run was under way."""
    (folder / "DONE").unlink()
    record = json.loads((folder / "ensemble.json").read_text())
    for split in record["splits"].values():
        split["weights"], split["temperature"] = weights, 1.25
        split["temperatures"] = dict.fromkeys(weights, 1.0)
    (folder / "ensemble.json").write_text(json.dumps(record))


@pytest.fixture(scope="module", params=["splits", "folds"])
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp(request.param)
    (place / "portfolio.toml").write_text(PORTFOLIO)
    data = make_data()
    if request.param == "folds":
        for name in ("train_mask", "val_mask", "test_mask"):
            del data[name]
    return auto(data, out=place / "run", portfolio=place / "portfolio.toml", folds=2, **SETTINGS).folder


@pytest.fixture
def folder(trained: Path, tmp_path: Path) -> Path:
    """Of a run under way, whose members have weights that are known here."""
    found = shutil.copytree(trained, tmp_path / "run")
    weigh(found, **WEIGHTS)
    return found


def opened(*arguments: Any, **more: Any) -> SavedEnsemble:
    found = open_saved(*arguments, **more)
    assert isinstance(found, SavedEnsemble)
    return found


def said(folder: Path, member: str, split: int) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = np.load(folder / f"members/{member}/split-{split}/probabilities.npy")
    return found


def expected(folder: Path, split: int, weights: dict[str, float] = WEIGHTS) -> np.ndarray[Any, Any]:
    return apply(np.array(list(weights.values())), np.stack([said(folder, name, split) for name in weights]), 1.25)


def test_it_predicts_what_was_weighted(folder: Path, tmp_path: Path) -> None:
    """The mean over members, and over folds of that; also where the folder was moved."""
    folder = folder.rename(tmp_path / "moved")
    saved = opened(folder)
    wanted = expected(folder, 0)
    if saved.record["folds"]:
        wanted = (wanted + expected(folder, 1)) / 2
        assert saved.why == "ensemble of plain 0.50, near 0.30, links 0.20; mean of 2 folds"
    else:
        assert saved.why.endswith("; split 0, the first of 2 (--split)")
    found, graph = saved.predict()
    np.testing.assert_allclose(found.probabilities, wanted, atol=1e-6)
    assert (graph.num_nodes, found.classes.names, found.threshold) == (60, (0, 1, 2), None)
    assert {state.state for state in verify(folder)} == {"ok", "unfinished"}


def test_nodes_of_folds_are_judged_by_the_fold_that_has_not_learned_from_them(folder: Path) -> None:
    saved = opened(folder)
    found, graph, nodes, words = saved.held_out()
    if not saved.record["folds"]:
        assert (nodes.tolist(), words) == (graph.indices(0)["test"].tolist(), "test set of split 0")
        return
    assert nodes.tolist() == np.flatnonzero(graph.y >= 0).tolist()
    for fold in range(2):
        own = graph.indices(fold)["val"].numpy()
        np.testing.assert_allclose(found.probabilities[own], expected(folder, fold)[own], atol=1e-6)
    assert words.startswith("validation nodes of 2 folds")


def test_splits_and_members_by_name(folder: Path) -> None:
    folds = opened(folder).record["folds"]
    single = opened(folder, ["near"])
    assert (single.weights, single.why.partition(";")[0]) == ({"near": 1.0}, "member near by itself (--model)")
    wanted = said(folder, "near", 0)
    if folds:
        wanted = (wanted + said(folder, "near", 1)) / 2
        with pytest.raises(InputError, match="is of 2 folds of all labels, .*, averaged: leave out split 1"):
            open_saved(folder, split=1)
    else:
        found, _ = opened(folder, split=1).predict()
        np.testing.assert_allclose(found.probabilities, expected(folder, 1), atol=1e-6)
    np.testing.assert_allclose(single.predict()[0].probabilities, wanted, atol=1e-6)
    assert list(opened(folder, ["glognn2"]).weights) == ["links"]
    with pytest.raises(InputError, match=r"no finished member 'gat'. It has: plain \(mlp\), near \(gcn\), links"):
        open_saved(folder, ["gat"])
    with pytest.raises(InputError, match="was not trained on split 7. It was on: 0, 1"):
        open_saved(folder, split=7)


@pytest.mark.parametrize("task", ["score the nodes", "take new nodes"])
def test_a_member_that_cannot_is_left_out_and_named(folder: Path, task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = opened(folder)
    data, _ = saved.graph()
    method = "uncalibrated" if task == "score the nodes" else "new_uncalibrated"
    usual, refused = getattr(SavedModel, method), {"gcn"}

    def refuse(model: SavedModel, *arguments: Any) -> Any:
        if model.config.model.name in refused:
            raise InputError(f"Not with {model.config.model.name}.")
        return usual(model, *arguments)

    def result() -> np.ndarray[Any, Any]:
        return saved.probabilities(data) if task == "score the nodes" else saved.new_probabilities(data, NEW)

    monkeypatch.setattr(SavedModel, method, refuse)
    message = f"The member 'near', with the weight 0.30, cannot {task} and is left out.* Not with gcn."
    with pytest.warns(DataWarning, match=message):
        found = result()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    monkeypatch.undo()
    weigh_again = {"plain": 0.5 / 0.7, "links": 0.2 / 0.7}
    record = json.loads((folder / "ensemble.json").read_text())
    for split in record["splits"].values():
        split["weights"] = weigh_again
    (folder / "ensemble.json").write_text(json.dumps(record))
    saved = opened(folder)
    np.testing.assert_allclose(found, result(), rtol=1e-12)
    monkeypatch.setattr(SavedModel, method, refuse)
    refused |= {"mlp", "glognn2"}
    with pytest.raises(InputError, match="Not with mlp"):
        result()


def test_wrong_new_nodes_are_an_error_of_their_own(folder: Path) -> None:
    saved = opened(folder)
    wrong = Data(x=torch.ones(1, 3), edge_index=torch.empty(2, 0, dtype=torch.int64), num_nodes=1)
    with pytest.raises(InputError, match="x must have 7 features for each new node. Got 3"):
        saved.new_probabilities(saved.graph()[0], wrong)


def test_one_model_is_in_memory_at_a_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual, alive, most = room.read_model, weakref.WeakSet[Any](), []

    def read(path: Path) -> Any:
        model = usual(path)
        alive.add(model)
        most.append(len(alive))
        return model

    monkeypatch.setattr(room, "read_model", read)
    saved = opened(folder)
    saved.predict()
    assert len(most) == 3 * len(saved.splits)
    assert max(most) == 1


@pytest.mark.parametrize("name", ["model.safetensors", "report.json"])
def test_a_changed_file_of_a_member_is_refused(folder: Path, name: str) -> None:
    path = folder / "members/near/split-0" / name
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"{name}' was changed"):
        opened(folder).predict()


def test_a_changed_record_and_a_folder_without_members(trained: Path, folder: Path, tmp_path: Path) -> None:
    whole = shutil.copytree(trained, tmp_path / "whole")
    record = (whole / "ensemble.json").read_text()
    (whole / "ensemble.json").write_text(record.replace('"temperature": ', '"temperature": 1'))
    with pytest.raises(InputError, match=r"ensemble.json' was changed"):
        open_saved(whole)
    (folder / "ensemble.json").unlink()
    with pytest.raises(InputError, match="has no trained member yet"):
        open_saved(folder)


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "160"}, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_tables_from_training_to_new_nodes(tmp_path: Path) -> None:
    """Also of the classifier that is loaded from the run and saved."""
    rng = np.random.default_rng(0)
    rows = [f"n{node},{rng.normal() + node % 2:.3f},{'yes' if node % 2 else 'no'}" for node in range(40)]
    (tmp_path / "nodes.csv").write_text("\n".join(["id,size,fraud", *rows]))
    (tmp_path / "edges.csv").write_text("\n".join(["a,b", *(f"n{rng.integers(40)},n{node}" for node in range(40))]))
    (tmp_path / "new.csv").write_text("id,size\nx1,1.5\nx2,-0.5\n")
    (tmp_path / "new_edges.csv").write_text("a,b\nx1,n3\nn4,x2\n")
    tables = TableOptions(nodes=tmp_path / "nodes.csv", edges=tmp_path / "edges.csv", label="fraud")
    portfolio = tmp_path / "portfolio.toml"
    portfolio.write_text(PORTFOLIO)
    auto(tables=tables, out=tmp_path / "run", portfolio=portfolio, folds=2, metric="macro_f1", **SETTINGS)
    GloGNNClassifier.load(tmp_path / "run").save(tmp_path / "classifier")
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    shutil.rmtree(tmp_path / "run")
    tables_of = {}
    for name in ("copy", "classifier"):
        place = tmp_path / name
        assert "ensemble of " in run("predict", place, "--out", tmp_path / "known.csv")
        run("predict", place, "--nodes", tmp_path / "new.csv", "--edges", tmp_path / "new_edges.csv",
            "--out", tmp_path / "predicted.csv")  # fmt: skip
        assert "macro f1" in run("evaluate", place, "--labels", tmp_path / "nodes.csv", "--label", "fraud")
        tables_of[name] = [pyarrow.csv.read_csv(tmp_path / each) for each in ("known.csv", "predicted.csv")]
    assert tables_of["copy"] == tables_of["classifier"]
    known, new = tables_of["copy"]
    assert known["id"].to_pylist() == [f"n{node}" for node in range(40)]
    assert new["id"].to_pylist() == ["x1", "x2"]
    threshold = open_saved(tmp_path / "copy").threshold
    assert threshold is not None
    chosen = ["yes" if value >= threshold else "no" for value in new["probability_yes"].to_pylist()]
    assert new["prediction"].to_pylist() == chosen
