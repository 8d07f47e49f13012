"""What commands do, as functions: train_models, tune and reproduce."""

from __future__ import annotations

import inspect
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, Self

import pytest

import glognn
from glognn.cli import main as cli
from glognn.data.npz import write_npz
from glognn.data.table_graph import TableOptions
from glognn.errors import InputError
from glognn.experiments import run, train
from glognn.experiments.config import read_config, resolve
from glognn.experiments.graphs import Graphs
from glognn.experiments.progress import Progress, Work
from glognn.experiments.search import finished_trials, open_study, read_search
from glognn.experiments.studies import STUDIES, choose_studies
from glognn.models.configs import MODELS
from glognn.report.study import render_best
from tests.conftest import MIRROR, make_data
from tests.program import GLOGNN, Program

pytest.importorskip("optuna")

QUICK: dict[str, Any] = {"epochs": 3, "threads": 1, "hidden_channels": 8}


class Listener(Progress):
    """Takes down what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def on_begin(self, work: Work) -> None:
        self.told.append(("begin", work.unit, work.total, work.done, work.workers, work.folder))

    def on_graph(self, loaded: Any) -> None:
        self.told.append(("graph", loaded.facts["num_nodes"]))

    def on_description(self, text: str, advice: Sequence[str] = ()) -> None:
        self.told.append(("description", text, list(advice)))

    def on_tables(self, tables: Any, options: Any) -> None:
        self.told.append(("tables", tables.id_column))

    def on_epoch_end(self, metrics: dict[str, float]) -> None:
        self.told.append(("epoch", metrics["epoch"]))

    def on_split_end(self, report: dict[str, Any]) -> None:
        self.told.append(("split", report["config"]["model"]["name"], report["split"]))

    def on_trials_end(self, done: int, best: float | None) -> None:
        self.told.append(("trials", done, best is not None))

    def on_search_end(self, found: Sequence[Any]) -> None:
        self.told.append(("found", len(found)))

    def on_left_out(self, what: str, reason: str) -> None:
        self.told.append(("left out", what))

    def on_run_end(self, outcome: Any) -> None:
        self.told.append(("run", outcome.job.label, outcome.error))

    def kinds(self) -> list[str]:
        return list(dict.fromkeys(each[0] for each in self.told))


@pytest.mark.parametrize("name", ["train", "tune", "reproduce"])
def test_functions_have_the_words_and_defaults_of_their_commands(name: str) -> None:
    function = glognn.train_models if name == "train" else getattr(glognn, name)
    options = inspect.signature(getattr(cli, name).command).parameters
    words = inspect.signature(function).parameters
    renamed = {"datasets": "dataset", "models": "model"} if name == "tune" else {}
    for each in options.values():
        word = renamed.get(each.name, each.name)
        if word in words and each.default not in (None, inspect.Parameter.empty):
            assert str(words[word].default) == str(each.default), word
    flags = {renamed.get(each, each) for each in options}
    assert set(words) - flags == {"progress", "settings"} - flags | ({"tables"} if name != "reproduce" else set())
    settings = {*glognn.TrainingConfig.names(), *glognn.GraphConfig.names()}
    settings |= {each for model in MODELS.values() for each in model.names()}
    own = {each for each in flags if each not in settings} - {"help_all"}
    if name != "reproduce":
        own -= set(inspect.signature(TableOptions).parameters) | {"quiet"}
    if name == "train":
        own -= set(inspect.signature(glognn.auto).parameters)  # what it does without a model
        own -= {"distributed", "partition", "parts", "timeout"}  # what it does on several ranks
    assert own <= set(words), "a flag without an argument"


def test_models_are_trained_and_gone_on_with(tmp_path: Path) -> None:
    write_npz(make_data(num_splits=2), tmp_path / "graph.npz")
    listener = Listener()
    done = glognn.train_models(
        str(tmp_path / "graph.npz"), ["mlp", "glognn"], out=tmp_path / "run", progress=listener, **QUICK
    )
    assert done.folder == tmp_path / "run"
    assert done.runs == [tmp_path / "run/mlp", tmp_path / "run/glognn"]
    assert [report["splits"] for report in done.reports] == [[0, 1], [0, 1]]
    assert listener.kinds() == ["graph", "description", "begin", "epoch", "split"]
    assert ("begin", "splits", 4, 0, 1, tmp_path / "run") in listener.told
    assert [each[1:] for each in listener.told if each[0] == "split"] == [
        (model, split) for model in ("mlp", "glognn") for split in (0, 1)
    ]
    assert glognn.load_model(tmp_path / "run/mlp/split-0").model_.config.hidden_channels == 8
    again = glognn.train_models(resume=tmp_path / "run")
    assert again.reports == done.reports
    with pytest.raises(InputError, match="--resume takes its settings from the run folder. Leave out --epochs"):
        glognn.train_models(resume=tmp_path / "run", epochs=4)


def test_tables_are_searched_and_trained(tmp_path: Path) -> None:
    nodes = "".join(f"n{k},{k % 7},{'ab'[k % 2]}\n" for k in range(60))
    (tmp_path / "nodes.csv").write_text(f"who,size,kind\n{nodes}")
    (tmp_path / "edges.csv").write_text("from,to\n" + "".join(f"n{k},n{(k + 3) % 60}\n" for k in range(60)))
    tables = TableOptions(nodes=tmp_path / "nodes.csv", edges=tmp_path / "edges.csv", label="kind")
    listener = Listener()
    done = glognn.train_models(
        model="mlp", tables=tables, tune=1, out=tmp_path / "run", progress=listener, metric="macro_f1", **QUICK
    )
    assert listener.kinds() == ["tables", "begin", "trials", "found", "graph", "description", "epoch", "split"]
    assert ("begin", "trials", 1, 0, os.cpu_count(), tmp_path / "run/tune/mlp") in listener.told
    [(_, text, advice)] = [each for each in listener.told if each[0] == "description"]
    assert "too few to say whether neighbours are alike" in text
    assert any("--model dirgnn" in line for line in advice)
    assert not any("--tune" in line for line in advice)
    assert read_config(tmp_path / "run/config.toml").training.metric == "macro_f1"
    assert done.runs == [tmp_path / "run"]
    with pytest.raises(InputError, match="--dataset names a graph, and so do your tables"):
        glognn.train_models("pairs", tables=tables)


def test_a_search_gives_settings_and_goes_on(tmp_path: Path) -> None:
    options: dict[str, Any] = {"splits": "0", "sampler": "random", "workers": 1, "keep_default": False} | QUICK
    listener = Listener()
    [found] = glognn.tune(model="mlp", trials=2, out=tmp_path / "study", progress=listener, **options)
    assert listener.told[0] == ("begin", "trials", 2, 0, 1, tmp_path / "study")
    assert listener.told[-1] == ("found", 1)
    assert (found.trials, found.path, found.origin) == (2, tmp_path / "study/best.toml", "drawn")
    assert found.validation == max(trial.value for trial in found.study.trials)
    assert found.baselines["constant"] == pytest.approx(1 / 6, abs=0.01)
    assert 0.6 < found.baselines["logistic regression"] < 0.8
    assert "baselines: constant 16." in render_best(found)
    assert found.config.model.hidden_channels == 8
    assert "hidden_channels" not in found.settings
    assert found.settings["dropout"] == found.config.model.dropout
    best = read_config(found.path)
    assert (best.model, best.training.learning_rate) == (found.config.model, found.settings["learning_rate"])
    [same] = glognn.tune(model="mlp", best=True, out=tmp_path / "study", **options)
    assert (same.trial, same.trials, same.validation) == (found.trial, 2, found.validation)
    [more] = glognn.tune(model="mlp", trials=3, out=tmp_path / "study", **options)
    assert more.trials == 3
    several = glognn.tune(["pairs"], ["mlp", "gcn"], trials=1, out=tmp_path / "both", **options)
    assert [each.folder for each in several] == [tmp_path / "both/mlp/pairs", tmp_path / "both/gcn/pairs"]
    with pytest.raises(InputError, match="holds no study yet"):
        glognn.tune(model="gat", best=True, out=tmp_path / "none", **options)


def test_a_study_that_cannot_go_on_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "mirror").mkdir()
    listener = Listener()
    options: dict[str, Any] = {"splits": "0", "trials": 1, "workers": 1, "out": tmp_path / "out"} | QUICK
    with pytest.raises(glognn.GloGNNError, match="A worker ended with an error: The file .* The same command goes on"):
        glognn.tune("pokec,pairs", "mlp", data_mirror=tmp_path / "mirror", progress=listener, **options)
    assert [each for each in listener.told if each[0] == "left out"] == [("left out", str(tmp_path / "out/mlp/pokec"))]
    assert ("trials", 1, False) in listener.told


def test_a_study_reproduced(tmp_path: Path) -> None:
    (tmp_path / "mirror").mkdir()
    listener = Listener()
    done = glognn.reproduce(
        "table2", ["mlp"], "pokec", data_mirror=tmp_path / "mirror", out=tmp_path / "out", progress=listener
    )
    assert listener.told == [
        ("left out", "pokec"),
        ("begin", "runs", 0, 0, os.cpu_count(), tmp_path / "out"),
    ]
    assert (done.problems, done.failures) == ({("pokec", "mlp"): "not to be had"}, {})
    assert [each.cells["pokec", "mlp"].status for each in done.comparisons()] == ["not to be had"] * 2
    there = glognn.reproduce("table2", ["mlp"], "pokec", render_only=True, out=tmp_path / "out")
    assert there.comparisons()[0].cells["pokec", "mlp"].status == "not run"
    assert not (tmp_path / "out").exists()
    with pytest.raises(InputError, match="one study at a time"):
        glognn.reproduce("all")


@pytest.mark.real_data
def test_a_table_reproduced(tmp_path: Path) -> None:
    listener = Listener()
    options: dict[str, Any] = {"splits": "0-1", "seeds": [0, 1], "quick": True, "out": tmp_path, "data_mirror": MIRROR}
    done = glognn.reproduce("table1", "mlp", ["texas"], workers=1, progress=listener, **options)
    assert listener.told == [("begin", "runs", 4, 0, 1, tmp_path)] + [("run", "mlp", "")] * 4
    best, last = done.comparisons()
    assert (best.cells["texas", "mlp"].runs, last.judged) == (4, "last")
    assert done.reports()["texas", "mlp"].keys() == {(seed, split) for seed in (0, 1) for split in (0, 1)}
    assert done.origins == {("texas", "mlp"): "default"}
    again = glognn.reproduce("table1", "mlp,gcn", ["texas"], render_only=True, **options)
    assert again.comparisons()[0].cells["texas", "mlp"] == best.cells["texas", "mlp"]
    assert again.comparisons()[0].cells["texas", "gcn"].status == "not run"


def test_all_studies_take_what_they_know_of_the_names() -> None:
    assert [study for study, _, _ in choose_studies("all", None, None, quick=False)] == list(STUDIES)
    chosen = choose_studies("all", "mlp,glognn", ["texas"], quick=True)
    assert chosen == [
        ("table1", ["mlp", "glognn"], ["texas"]),
        ("efficiency", ["mlp", "glognn"], ["texas"]),
        *((study, ["glognn"], ["texas"]) for study in STUDIES[3:]),
    ]


def test_a_graph_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[tuple[str, bool]] = []
    load = run.load_graph

    def counted(config: Any, mirror: Path | None) -> run.LoadedGraph:
        loaded.append((config.dataset, config.graph.directed))
        return load(config, mirror)

    monkeypatch.setattr(run, "load_graph", counted)
    [plain], [directed], [other] = (
        resolve(["mlp"], None, given, dataset, "0")
        for given, dataset in (({}, "pairs"), ({"directed": True}, "pairs"), ({}, "twin:pokec@0.001"))
    )
    graphs = Graphs()
    assert graphs.of(plain) is graphs.of(plain)
    assert graphs.of(directed) is not graphs.of(plain)
    assert loaded == [("pairs", False), ("pairs", True)]
    graphs.of(other)  # another dataset: the one before is let go
    graphs.of(plain)
    assert len(loaded) == 4


def workers_of(process: Program) -> list[int]:
    """The worker processes of a program."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == process.pid and b"spawn_main" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found as on Linux")
def test_a_folder_is_held_from_reading_the_tables_to_the_end(tmp_path: Path) -> None:
    """Two commands with one folder and different tables: the second is refused, and the first trains on its own."""
    for name, count in (("mine", 60), ("yours", 80)):
        nodes = "".join(f"n{k},{k % 7},{'ab'[k % 2]}\n" for k in range(count))
        (tmp_path / f"{name}.csv").write_text(f"id,size,label\n{nodes}")
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"n{k},n{(k + 3) % 60}\n" for k in range(60)))

    def start(name: str, progress: Progress | None = None) -> None:
        tables = TableOptions(nodes=tmp_path / f"{name}.csv", edges=tmp_path / "edges.csv", label="label")
        glognn.train_models(model="mlp", tables=tables, out=tmp_path / "run", progress=progress, **QUICK)

    class Second(Progress):
        refused = 0

        def begin(self) -> None:
            with pytest.raises(InputError, match="Another process is writing to|already holds a run"):
                start("yours")
            self.refused += 1

        def on_tables(self, tables: Any, options: Any) -> None:
            self.begin()

        def on_begin(self, work: Work) -> None:
            self.begin()

    second = Second()
    start("mine", second)
    assert second.refused == 2
    assert json.loads((tmp_path / "run/report.json").read_text())["data"]["num_nodes"] == 60


def test_runs_in_the_same_second_have_folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls(2030, 1, 2, 3, 4, 5, tzinfo=tz)

    monkeypatch.setattr(train, "datetime", Clock)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="must be in the range"):
        glognn.train_models(model="mlp", splits="99", **QUICK)
    assert not list(Path("runs").iterdir())  # what cannot begin leaves nothing
    folders = [glognn.train_models(model="mlp", splits="0", **QUICK).folder.name for _ in range(3)]
    assert folders == [f"20300102-030405-pairs{end}" for end in ("", "-2", "-3")]


def test_a_killed_worker_is_survived_and_an_interrupt_ends_all(tmp_path: Path) -> None:
    options: dict[str, Any] = {"out": tmp_path / "study", "splits": "0", "sampler": "random", "prune": False}
    options |= QUICK | {"epochs": 200}
    glognn.tune(model="mlp", trials=1, workers=1, **options)
    study = open_study(tmp_path / "study", read_search(tmp_path / "study"))
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in options.items() if name != "prune"]
    flags += ["--no-prune", "--workers", "2", "--trials", "100000", "--together", "1"]
    process = Program(GLOGNN, "tune", "-m", "mlp", *flags, cwd=tmp_path)

    def wait_for_trials() -> None:
        before = len(finished_trials(study))
        while len(finished_trials(study)) == before:
            assert process.poll() is None, process.wait().stderr
            time.sleep(0.05)

    wait_for_trials()
    workers = workers_of(process)
    assert len(workers) == 2
    time.sleep(0.5)  # a kill while a trial is noted is survived too, but Optuna then waits for half a minute
    os.kill(workers[0], signal.SIGKILL)
    wait_for_trials()
    wait_for_trials()
    process.send(signal.SIGINT)  # to the parent alone
    done = process.wait()
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


@pytest.mark.parametrize("there", [True, False])
def test_a_run_that_cannot_begin_leaves_the_folder_as_it_was(there: bool, tmp_path: Path) -> None:
    out = tmp_path / "run"
    if there:
        out.mkdir()
    with pytest.raises(InputError):
        glognn.train_models("pairs", "gcn", splits="99", out=out)
    assert list(tmp_path.rglob("*")) == ([out] if there else [])
