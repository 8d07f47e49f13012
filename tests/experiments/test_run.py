"""Run folders: what they hold, and that nothing finished is done again."""

from __future__ import annotations

import csv
import json
import shutil
import statistics
from pathlib import Path

import pytest
import torch

from glognn.data.npz import write_npz
from glognn.errors import InputError, TrainingError
from glognn.experiments.config import RunConfig, read_config, resolve
from glognn.experiments.folder import find_runs, load_model, read_report, start_runs
from glognn.experiments.run import load_graph, run_splits
from glognn.training.callbacks import Callback
from tests.conftest import make_data


@pytest.fixture
def config(tmp_path: Path) -> RunConfig:
    write_npz(make_data(num_splits=3), tmp_path / "g.npz")
    [config] = resolve(["glognn++"], None, {"epochs": 8, "threads": 1}, str(tmp_path / "g.npz"), None)
    return config


class Count(Callback):
    epochs = 0

    def on_epoch_end(self, metrics) -> None:
        self.epochs += 1


def test_a_run_folder_is_complete(config: RunConfig, tmp_path: Path) -> None:
    loaded = load_graph(config)
    folder = tmp_path / "run"
    report = run_splits(folder, config.for_split(1), loaded)
    assert sorted(path.name for path in folder.iterdir()) == [
        "DONE",
        "config.toml",
        "curve.csv",
        "model.safetensors",
        "report.json",
    ]
    assert read_config(folder / "config.toml") == config.for_split(1)
    assert json.loads((folder / "report.json").read_text()) == report == read_report(folder)
    assert report["config"]["model"]["beta1"] == 1.0
    assert report["data"]["fingerprint"] == loaded.graph.fingerprint()
    assert set(report["scores"]) == {"selected", "best", "last"}
    assert {"torch", "glognn", "python"} <= set(report["versions"])
    assert report["machine"]["threads"] == 1
    assert report["peak_memory_mib"]["process"] > 50
    with (folder / "curve.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    assert float(rows[-1]["val_accuracy"]) == report["scores"]["last"]["val"]


def test_the_saved_model_gives_the_reported_score(config: RunConfig, tmp_path: Path) -> None:
    loaded = load_graph(config)
    report = run_splits(tmp_path / "run", config.for_split(0), loaded)
    model = load_model(tmp_path / "run")
    with torch.no_grad():
        predicted = model.logits(model.prepare(loaded.graph)).argmax(1)
    test = loaded.graph.indices(0)["test"]
    score = float((predicted == loaded.graph.y)[test].double().mean())
    assert score == pytest.approx(report["scores"]["selected"]["test"])


def test_several_splits_make_a_parent_with_children(config: RunConfig, tmp_path: Path) -> None:
    seen = []
    summary = run_splits(tmp_path / "run", config, load_graph(config), on_split_end=seen.append)
    children = [read_report(tmp_path / "run" / f"split-{split}") for split in range(3)]
    assert seen == children
    tests = [child["scores"]["selected"]["test"] for child in children]
    assert summary["scores"]["selected"]["test"]["mean"] == pytest.approx(statistics.fmean(tests))
    assert summary["scores"]["selected"]["test"]["std"] == pytest.approx(statistics.stdev(tests))
    assert summary["splits"] == [0, 1, 2]
    assert read_report(tmp_path / "run") == summary


def test_nothing_finished_is_done_again(config: RunConfig, tmp_path: Path) -> None:
    count, loaded = Count(), load_graph(config)
    first = run_splits(tmp_path / "run", config, loaded, [count])
    assert count.epochs == 8  # of the three splits together
    (tmp_path / "run" / "DONE").unlink()
    (tmp_path / "run" / "split-2" / "DONE").unlink()
    again = run_splits(tmp_path / "run", config, loaded, [count])
    assert count.epochs == 16  # of the unfinished split alone
    assert again["scores"] == first["scores"]


def test_the_same_configuration_gives_the_same_weights(config: RunConfig, tmp_path: Path) -> None:
    for name in ("a", "b"):
        run_splits(tmp_path / name, config.for_split(0), load_graph(config))
    assert (tmp_path / "a/model.safetensors").read_bytes() == (tmp_path / "b/model.safetensors").read_bytes()


def test_a_graph_without_splits_gets_random_ones_and_says_so(tmp_path: Path) -> None:
    data = make_data(num_nodes=100)
    del data.train_mask, data.val_mask, data.test_mask
    write_npz(data, tmp_path / "g.npz")
    [config] = resolve([], None, {"epochs": 2}, str(tmp_path / "g.npz"), "0")
    loaded = load_graph(config)
    assert loaded.graph.num_splits == 5
    assert loaded.facts["splits_origin"].startswith("random 50/25/25, stratified, seed 0")


def test_folders_of_several_models(config: RunConfig, tmp_path: Path) -> None:
    configs = [config, *resolve(["mlp"], None, {}, config.dataset, None)]
    runs = start_runs(tmp_path / "run", configs)
    assert [folder.name for folder, _ in runs] == ["glognn++", "mlp"]
    assert find_runs(tmp_path / "run") == runs
    with pytest.raises(InputError, match="already holds a run"):
        start_runs(tmp_path / "run", configs)
    with pytest.raises(InputError, match="is no run folder"):
        find_runs(tmp_path / "elsewhere")


def test_a_changed_graph_is_refused_when_resuming(config: RunConfig, tmp_path: Path) -> None:
    class Stop(Callback):
        def on_epoch_end(self, metrics) -> None:
            if metrics["epoch"] == 4:
                raise KeyboardInterrupt

    [config] = resolve(["glognn"], None, {"checkpoint_interval": 0, "epochs": 9}, config.dataset, "0")
    with pytest.raises(KeyboardInterrupt):
        run_splits(tmp_path / "run", config, load_graph(config), [Stop()])
    data = make_data(num_splits=3)
    data.x[0, 0] += 1
    write_npz(data, config.dataset)
    with pytest.raises(InputError, match="belongs to another graph"):
        run_splits(tmp_path / "run", config, load_graph(config))


@pytest.mark.parametrize("splits", ["0", "0-1"])
def test_what_is_done_is_not_mixed_with_other_settings_or_another_graph(
    config: RunConfig, tmp_path: Path, splits: str
) -> None:
    def resolved(**settings: object) -> RunConfig:
        return resolve(["glognn++"], None, {"epochs": 2, "threads": 1} | settings, config.dataset, splits)[0]

    folder = tmp_path / "run"
    first = run_splits(folder, resolved(gamma=0.5), load_graph(config))
    if splits != "0":
        (folder / "split-1" / "DONE").unlink()
    content = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = "split-0' is done" if splits != "0" else "run' is done"
    wanted = rf"{done}, with gamma 0\.5, seed 0\. Got gamma 0\.99, seed 1 instead: put it back into config\.toml"
    with pytest.raises(InputError, match=wanted):
        run_splits(folder, resolved(gamma=0.99, seed=1), load_graph(config))
    data = make_data(num_splits=3)
    data.x[0, 0] += 1
    write_npz(data, config.dataset)
    with pytest.raises(InputError, match=rf"{done}, on a graph with the fingerprint .* put the graph back"):
        run_splits(folder, resolved(gamma=0.5), load_graph(config))
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == content
    write_npz(make_data(num_splits=3), config.dataset)
    again = run_splits(folder, resolved(gamma=0.5, checkpoint_interval=5.0), load_graph(config))
    assert again["scores"] == first["scores"]


@pytest.mark.parametrize(("splits", "interval"), [("0", 0.0), ("0", 3600.0), ("0-1", 0.0), ("0-1", 3600.0)])
def test_a_folder_deleted_during_training_is_an_error(
    config: RunConfig, tmp_path: Path, splits: str, interval: float
) -> None:
    class Delete(Callback):
        def on_epoch_end(self, metrics) -> None:
            if metrics["epoch"] == 4:
                shutil.rmtree(tmp_path / "run")

    settings = {"epochs": 8, "checkpoint_interval": interval}
    [config] = resolve(["mlp"], None, settings, config.dataset, splits)
    with pytest.raises(TrainingError, match=r"run.*' was deleted or moved while it was in use"):
        run_splits(tmp_path / "run", config, load_graph(config), [Delete()])
    assert not (tmp_path / "run").exists()
