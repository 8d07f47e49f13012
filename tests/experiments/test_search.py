"""Searches: over the declared spaces, on validation scores alone, shared by workers and proof against kills."""

from __future__ import annotations

import json
import runpy
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from glognn.errors import InputError
from glognn.experiments.config import find_settings, read_config
from glognn.experiments.search import (
    Search,
    best_trial,
    by_own_names,
    chosen_settings,
    default_trial,
    do_trials,
    finished_trials,
    open_folder,
    open_study,
    read_search,
    take_trials,
    write_best,
)
from glognn.experiments.spaces import find_space, spaces_of
from glognn.experiments.study_locks import FolderLocks
from glognn.models.configs import MODELS
from glognn.report.study import plot_study
from glognn.training import preflight
from tests.conftest import ROOT
from tests.program import GLOGNN, Program

optuna = pytest.importorskip("optuna")
from optuna.trial import TrialState  # noqa: E402

from glognn.experiments.journal import Journal  # noqa: E402

HELD = {"epochs": 2, "threads": 1, "device": "cpu", "hidden_channels": 8}


@pytest.fixture(autouse=True)
def _seeded_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    """What TPE draws is the same every time."""
    usual = optuna.samplers.TPESampler.__init__
    monkeypatch.setattr(
        optuna.samplers.TPESampler, "__init__", lambda self, **settings: usual(self, **settings, seed=0)
    )


def search(model: str = "mlp", **changes: object) -> Search:
    content = {"model": model, "dataset": "pairs", "space": "wide", "splits": "0-1", "given": dict(HELD)} | changes
    return Search(**content)


@pytest.mark.parametrize(("model", "space"), [(model, space) for model in MODELS for space in spaces_of(model)])
def test_every_space_fits_its_model(model: str, space: str) -> None:
    """Settings drawn from a space, extremes included, are settings of the model."""
    whole = find_space(model, space)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(20):
        trial = study.ask()
        config = search(model, space=space, given={}).config(whole.suggest(trial))
        assert config.model.name == model
    for parameter in whole.parameters:
        for value in (
            (parameter.choices[0], parameter.choices[-1]) if parameter.choices else (parameter.low, parameter.high)
        ):
            search(model, space=space, given={}).config({parameter.name: value})


def test_the_papers_grids() -> None:
    small = {parameter.name: parameter.grid() for parameter in find_space("glognn++", "paper-small").parameters}
    assert small["beta2"] == [0.1, 1.0, 10.0, 100.0, 1000.0]
    assert small["gamma"] == [round(0.1 * k, 1) for k in range(10)]
    assert small["num_hops"] == [1, 2, 3, 4, 5, 6]
    assert find_space("glognn", "paper-large").fixed["optimizer"] == "adamw"
    with pytest.raises(InputError, match="mlp has no search space 'paper-small'. Known: wide"):
        find_space("mlp", "paper-small")


def test_a_study_is_done_resumed_and_gives_settings(tmp_path: Path) -> None:
    what = search(given=HELD | {"epochs": 30})  # long enough for scores to differ
    open_folder(tmp_path, what)
    list(do_trials(tmp_path, 4))
    study = open_study(tmp_path, what)
    assert len(finished_trials(study)) == 4
    list(do_trials(tmp_path, 4))  # nothing left to do
    assert len(study.trials) == 4
    list(do_trials(tmp_path, 6))
    assert len(finished_trials(study)) == 6
    best = best_trial(study)
    assert best.value == max(trial.value for trial in study.trials if trial.state == TrialState.COMPLETE)
    assert best.value == pytest.approx(sum(best.user_attrs["validation"]) / 2)
    path = write_best(tmp_path, study, what)
    config = read_config(path)
    chosen = chosen_settings(what, best)
    assert config.training.learning_rate == pytest.approx(chosen["learning_rate"])
    assert config.model.hidden_channels == 8
    assert config.splits == "all"
    tuned = tomllib.loads(path.read_text())["tuned"]
    assert tuned["validation"] == pytest.approx(100 * best.value, abs=1e-3)
    assert tuned["trials"] == 6
    assert "test" not in json.dumps([trial.user_attrs for trial in study.trials])
    pictures = plot_study(study, tmp_path, "accuracy")
    assert sorted(path.name for path in pictures) == ["importance.png", "importance.svg", "slices.png", "slices.svg"]


def test_what_searches_found_is_kept_as_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, records = tmp_path / "kept", tmp_path / "records.jsonl"
    kept.mkdir()
    (kept / "mlp.toml").write_text('schema_version = 1\n\n[texas.model]\nname = "mlp"\n')
    for model, trials in (("mlp", 2), ("gcn", 1)):
        folder = tmp_path / "studies" / model / "pairs"
        open_folder(folder, search(model, sampler="random", prune=False))
        list(do_trials(folder, trials))
    options = [str(tmp_path / "studies"), "--trials", "2", "--settings", str(kept), "--records", str(records)]
    monkeypatch.setattr(sys, "argv", ["keep_search.py", *options])
    runpy.run_path(str(ROOT / "benchmarks" / "keep_search.py"), run_name="__main__")
    [found] = find_settings(str(kept), "mlp", "pairs")
    folder = tmp_path / "studies" / "mlp" / "pairs"
    path = write_best(folder, open_study(folder, read_search(folder)), read_search(folder))
    assert {"schema_version": 1, **found} == tomllib.loads(path.read_text())
    assert find_settings(str(kept), "mlp", "texas") == [{"model": {"name": "mlp"}}]
    assert not (kept / "gcn.toml").exists()
    assert [json.loads(line)["trials"] for line in records.read_text().splitlines()] == [1, 2]


def test_trials_that_score_alike_are_drawn_without_importance(tmp_path: Path) -> None:
    study = optuna.create_study(direction="maximize")
    for rate in (0.1, 0.01, 0.001, 0.0001):
        scale = {"learning_rate": optuna.distributions.FloatDistribution(1e-4, 0.1, log=True)}
        study.add_trial(optuna.create_trial(value=0.5, params={"learning_rate": rate}, distributions=scale))
    assert sorted(path.name for path in plot_study(study, tmp_path, "accuracy")) == ["slices.png", "slices.svg"]


def test_splits_train_one_by_one_where_memory_is_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(preflight.BATCH_BYTES, "cpu", 1)
    what = search(prune=False)
    open_folder(tmp_path, what)
    list(do_trials(tmp_path, 2, together=2))
    trials = finished_trials(open_study(tmp_path, what))
    assert [len(trial.user_attrs["validation"]) for trial in trials] == [2, 2]
    assert all(0 < trial.value <= 1 for trial in trials)


def test_held_settings_are_not_searched(tmp_path: Path) -> None:
    what = search(given=HELD | {"dropout": 0.125})
    assert "dropout" not in [parameter.name for parameter in what.whole_space().parameters]
    open_folder(tmp_path, what)
    list(do_trials(tmp_path, 1))
    trial = open_study(tmp_path, what).trials[0]
    assert "dropout" not in trial.params
    assert what.config(chosen_settings(what, trial)).model.dropout == 0.125


def test_another_search_does_not_share_a_folder(tmp_path: Path) -> None:
    open_folder(tmp_path, search())
    with pytest.raises(InputError, match="holds a study with splits '0-1'. Got '0' instead: choose another --out"):
        open_folder(tmp_path, search(splits="0"))
    assert read_search(tmp_path) == search()
    known = json.loads((tmp_path / "study.json").read_text())
    (tmp_path / "study.json").write_text(json.dumps(known | {"declared": "another"}))
    with pytest.raises(InputError, match="space 'wide' as an earlier version of the package declared it: choose"):
        open_folder(tmp_path, search())
    with pytest.raises(InputError, match="sampler must be one of tpe, random, grid"):
        open_folder(tmp_path / "other", search(sampler="best"))
    with pytest.raises(InputError, match="grid sampler needs steps, but 'learning_rate' is a range"):
        open_folder(tmp_path / "other", search(sampler="grid"))


def test_grid(tmp_path: Path) -> None:
    given = HELD | {"dropout": 0.5, "alpha": 0.5, "gamma": 0.5, "num_layers": 1, "num_hops": 1, "patience": 40}
    given |= {"beta1": 1.0, "weight_decay": 1e-5}
    what = search("glognn", space="paper-small", given=given, sampler="grid", splits="0", keep_default=False)
    open_folder(tmp_path, what)
    list(do_trials(tmp_path, 10))
    tried = {(t.params["learning_rate"], t.params["beta2"]) for t in finished_trials(open_study(tmp_path, what))}
    assert len(tried) == 10
    list(do_trials(tmp_path, 12))  # the grid has no more
    assert len(finished_trials(open_study(tmp_path, what))) == 10


WORKER = """
import sys
from pathlib import Path
from typing import Any
from glognn.experiments.search import do_trials
list(do_trials(Path(sys.argv[1]), int(sys.argv[2])))
"""


NEVER_DONE = """
import time, optuna
optuna.Study.tell = lambda *arguments, **more: time.sleep(600)
"""
"""A worker that does not get to the end of a trial."""


def test_two_workers_share_a_study_and_a_killed_ones_trial_is_retried(tmp_path: Path) -> None:
    what = search(given=HELD | {"epochs": 150, "early_stopping": "none"}, prune=False)
    open_folder(tmp_path, what)
    study = open_study(tmp_path, what)
    first = Program(NEVER_DONE + WORKER, str(tmp_path), "8")
    while not any(trial.params for trial in study.trials):
        assert first.poll() is None, first.wait().stderr
        time.sleep(0.02)
    second = Program(WORKER, str(tmp_path), "8")
    first.kill()
    third = Program(WORKER, str(tmp_path), "8")
    assert second.wait().returncode == 0
    assert third.wait().returncode == 0
    trials = study.trials
    assert [trial.state for trial in trials].count(TrialState.COMPLETE) == 8
    [failed] = [trial for trial in trials if trial.state != TrialState.COMPLETE]
    assert failed.state == TrialState.FAIL
    [again] = [trial for trial in trials if trial.user_attrs.get("retry_of") == failed.number]
    assert failed.params.items() <= again.params.items()  # the same settings
    assert not list((tmp_path / "workers").glob("*.lock"))


@pytest.mark.parametrize("tail", [b"{", b'{"op_code":5,"worker_id":"5a' + 5000 * b"x", b'{"op_code":1}'])
def test_a_line_cut_off_does_not_spoil_the_journal(tmp_path: Path, tail: bytes) -> None:
    """Of a worker that died or ran out of disk, for those that live and for those that come."""
    what = search()
    open_folder(tmp_path, what)
    study = open_study(tmp_path, what)
    for opened in (study, None):
        with (tmp_path / "study.journal").open("ab") as file:
            file.write(tail)
        opened = opened or open_study(tmp_path, what)
        opened.tell(opened.ask(), 0.5)
    assert [trial.value for trial in study.trials] == [0.5] * 2
    assert tail not in (tmp_path / "study.journal").read_bytes().splitlines()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are limited as on Linux")
def test_a_study_goes_on_after_a_full_disk(tmp_path: Path) -> None:
    arguments = ["tune", "-m", "mlp", "-d", "pairs", "--trials", "12", "--splits", "0", "--epochs", "10", "-o", "st"]
    arguments += ["--workers", "1", "--sampler", "random"]
    full = Program(GLOGNN, *arguments, cwd=tmp_path, largest_file=12 * 1024).wait()
    assert full.returncode == 1
    assert "File too large" in full.stderr
    assert not (tmp_path / "st/study.journal").read_bytes().endswith(b"\n")
    again = Program(GLOGNN, *arguments, cwd=tmp_path).wait()
    assert again.returncode == 0, again.stderr
    assert "best of 12 trials" in again.stdout


def test_from_the_command_line(tmp_path: Path) -> None:
    from tests.cli.test_datasets import run

    options = ["-m", "mlp", "--trials", "5", "-s", "0-1", "--epochs", "30", "--workers", "2", "--hidden-channels", "8"]
    options += ["--sampler", "random"]  # drawn by number: the same five trials whichever worker takes them
    out = run("tune", *options, cwd=tmp_path).stdout
    assert "0 of 5 trials done already" in out
    assert "best of 5 trials" in out
    folder = tmp_path / "runs/tune/pairs/mlp-wide"
    assert tomllib.loads((folder / "best.toml").read_text())["model"]["hidden_channels"] == 8
    assert (folder / "slices.png").is_file()
    assert (folder / "importance.png").is_file()
    assert "best of 5 trials" in run("tune", *options, "--best", cwd=tmp_path).stdout
    error = run("tune", "-m", "mlp", "--space", "paper-small", cwd=tmp_path, code=2).stderr
    assert error == "error: mlp has no search space 'paper-small'. Known: wide.\n"
    error = run("tune", "-m", "gcn", "--best", cwd=tmp_path, code=2).stderr
    assert "holds no study yet" in error


def test_random_trials_are_drawn_by_number_and_the_published_settings_come_first(tmp_path: Path) -> None:
    """A random study is the same however its trials are taken; authors' settings outside the space count too."""
    chosen = []
    for at_once in (3, 1):
        given = HELD | {"num_layers": 9}
        what = search("ggcn", dataset="texas", sampler="random", given=given, prune=False, keep_default=False)
        assert what.published().model.decay_exponent == 3.0
        folder = tmp_path / str(at_once)
        open_folder(folder, what)
        trials = ask(folder, what, 3, at_once)
        assert [trial.user_attrs.get("origin") for trial in trials] == ["published", None, None]
        assert what.config_of(trials[0]) == what.published()
        assert what.config_of(trials[0]).graph.directed
        chosen.append([chosen_settings(what, trial) for trial in trials])
        assert chosen[-1][1] != chosen[-1][2]
    assert chosen[0] == chosen[1]


def test_the_equal_protocol_draws_what_it_drew(tmp_path: Path) -> None:
    """Settings of the package were found so: the search must give them again."""
    what = search("gcn", sampler="random", given=HELD, prune=False, keep_default=False)
    open_folder(tmp_path, what)
    first, second = (chosen_settings(what, trial) for trial in ask(tmp_path, what, 2, 2))
    assert first == pytest.approx(
        {"learning_rate": 0.00646642272, "weight_decay": 0.000530170935, "dropout": 0.38128931941, "num_layers": 3}
    )
    assert second == pytest.approx(
        {"learning_rate": 0.00413039957, "weight_decay": 3.2483503451e-5, "dropout": 0.13208030174, "num_layers": 1}
    )


def test_the_default_is_the_first_trial(tmp_path: Path) -> None:
    what = search("ggcn", dataset="texas", sampler="random", prune=False)
    open_folder(tmp_path, what)
    trials = ask(tmp_path, what, 3, 1)
    assert [trial.user_attrs.get("origin") for trial in trials] == ["default", "published", None]
    assert what.config_of(trials[0]) == what.default()
    assert default_trial(open_study(tmp_path, what)).number == 0


def test_a_study_of_an_earlier_version_goes_on_and_tries_the_default(tmp_path: Path) -> None:
    what = search(sampler="random", prune=False, keep_default=False)
    open_folder(tmp_path, what)
    ask(tmp_path, what, 2, 1)
    known = json.loads((tmp_path / "study.json").read_text())
    del known["keep_default"]
    (tmp_path / "study.json").write_text(json.dumps(known))
    assert not read_search(tmp_path).keep_default
    again = replace(what, keep_default=True)
    open_folder(tmp_path, again)
    assert [trial.user_attrs.get("origin") for trial in ask(tmp_path, again, 3, 1)] == [None, None, "default"]


def test_settings_are_shown_by_their_own_names(tmp_path: Path) -> None:
    what = search("gcn", sampler="random", prune=False)
    open_folder(tmp_path, what)
    ask(tmp_path, what, 12, 12)
    study = open_study(tmp_path, what)
    assert any(trial.params.get("weight_decay_is_zero") for trial in study.trials)
    named = by_own_names(study, what)
    names = {parameter.name for parameter in what.whole_space().parameters}
    assert all(set(trial.params) == names for trial in named.trials)
    assert named.trials[0].params["weight_decay"] == what.default().training.weight_decay
    zero = named.user_attrs["zeros"]["weight_decay"]
    assert zero in [trial.params["weight_decay"] for trial in named.trials]
    assert zero < find_space("gcn", "wide").parameters[0].high


def _take_all(folder: Path, study: optuna.Study, what: Search) -> None:
    while True:
        take_trials(folder, study, what, 5, "dead", 1)


@pytest.mark.parametrize("sampler", ["random", "grid"])
@pytest.mark.parametrize("cut", range(1, 12))
def test_a_study_whose_workers_die_tries_the_same_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sampler: str, cut: int
) -> None:
    """A worker dies at its k-th word to the journal, and so does the next one, which takes up its trial."""
    what = search("glognn", space="paper-small", given=HELD, sampler=sampler, splits="0", prune=False)
    tried = []
    for name in ("whole", "cut"):
        open_folder(tmp_path / name, what)
        study, append = open_study(tmp_path / name, what), Journal.append_logs
        for _ in range(2 if name == "cut" else 0):
            left = iter(range(cut))

            def write(self: Journal, logs: list[dict[str, Any]], left: Any = left, append: Any = append) -> None:
                if next(left, None) is None:
                    raise KeyboardInterrupt
                append(self, logs)

            with monkeypatch.context() as patch:
                patch.setattr(Journal, "append_logs", write)
                with pytest.raises(KeyboardInterrupt):
                    _take_all(tmp_path / name, study, what)
        done: list[optuna.trial.FrozenTrial] = []
        while len(done) < 4:
            for trial, _ in take_trials(tmp_path / name, study, what, 4, "alive", 1):
                study.tell(trial, 0.5)
            done = finished_trials(study)
        tried.append(sorted((chosen_settings(what, trial) for trial in done), key=repr))
    assert tried[0] == tried[1]


def ask(folder: Path, what: Search, count: int, at_once: int) -> list[optuna.trial.FrozenTrial]:
    """Take trials as a worker does, without doing them."""
    study = open_study(folder, what)
    while len(study.trials) < count:
        for trial, _ in take_trials(folder, study, what, count, "nobody", at_once):
            study.tell(trial, 0.5)
    return study.trials


@pytest.mark.parametrize("models", [["-m", "mlp,gcn"], ["-m", "mlp", "-m", "gcn"]])
def test_several_studies_in_one_command(models: list[str], tmp_path: Path) -> None:
    from tests.cli.test_datasets import run

    options = [*models, "-d", "pairs", "--trials", "3", "-s", "0", "--epochs", "2", "--sampler", "random"]
    out = run("tune", *options, "--hidden-channels", "8", "--workers", "1", "-o", "found", cwd=tmp_path).stdout
    assert "2 studies: 0 of 6 trials done already" in out
    assert "| gcn | " in out
    config = read_config(tmp_path / "found/gcn/pairs/best.toml")
    assert (config.model.name, config.model.hidden_channels) == ("gcn", 8)


@pytest.mark.parametrize(
    ("name", "value"),
    [("worker", "../../x"), ("worker", 3), ("retry_of", 0), ("retry_of", "0"), ("grid", []), ("does not fit", {})],
)
def test_a_journal_that_says_what_nobody_told_it(name: str, value: Any, tmp_path: Path) -> None:
    what = search()
    open_folder(tmp_path, what)
    open_study(tmp_path, what).ask().set_user_attr(name, value)
    with pytest.raises(InputError, match=r"study\.journal' is damaged \(ValueError trial 0: "):
        open_study(tmp_path, what)


def test_glognn2_is_searched_from_its_defaults_on() -> None:
    what = search("glognn2", dataset="texas", sampler="random", given={"epochs": 7}, prune=False, keep_default=False)
    [(origin, config)] = what.first_trials().items()
    assert origin == "published"
    assert config.model == what.default().model
    assert config.training.epochs == 7
    assert not search("linkx", dataset="texas", keep_default=False).first_trials()


def test_a_trial_that_ends_while_its_worker_is_looked_for_is_not_tried_again(tmp_path: Path) -> None:
    """A worker tells its last trial and leaves just after another has read that the trial is under way."""
    what = search()
    open_folder(tmp_path, what)
    study = open_study(tmp_path, what)
    [(trial, _)] = take_trials(tmp_path, study, what, 3, "leaving", 1)

    class Leaves(FolderLocks):
        def is_alive(self, worker: str) -> bool:
            if worker == "leaving" and trial.number not in {each.number for each in finished_trials(study)}:
                study.tell(trial.number, 0.5)
            return False

    taken = take_trials(tmp_path, study, what, 3, "next", 2, Leaves(tmp_path))
    assert len(taken) == 2
    assert [each.number for each in finished_trials(study)] == [trial.number]
    assert not any("retry_of" in each.user_attrs for each in study.get_trials())
