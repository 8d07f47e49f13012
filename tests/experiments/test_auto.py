"""``auto``: folders, folds and given splits, failures, time, interruptions, and that test labels decide nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import glognn
from glognn.data import npz
from glognn.data.npz import write_npz
from glognn.data.table_graph import TableOptions
from glognn.errors import InputError, TrainingError
from glognn.experiments import members as room
from glognn.experiments import turns
from glognn.experiments.auto import Asked, AutoResult, auto, means_auto
from glognn.experiments.ensemble import apply, scores
from glognn.experiments.integrity import check_files
from glognn.experiments.layout import AUTO, DONE, ENSEMBLE, MEMBERS, PROBABILITIES
from glognn.experiments.portfolio import QUALITIES
from glognn.experiments.progress import Progress
from glognn.experiments.reports import read_ensemble, read_report
from glognn.experiments.saved import open_saved
from glognn.experiments.turns import Prospect, Turn, at_rest, next_to_go_on, promise
from glognn.experiments.weighing import Scales
from glognn.metrics import Scoring
from glognn.training.calibration import calibrated
from tests.conftest import make_data

PORTFOLIO = """
[[member]]
name = "plain"
model = "mlp"
hidden_channels = 4

[[member]]
name = "near"
model = "gcn"
hidden_channels = 4

[[member]]
name = "links"
model = "linkx"
hidden_channels = 4
"""
NAMES = ["plain", "near", "links"]
QUICK: dict[str, Any] = {"epochs": 4, "threads": 1, "checkpoint_interval": 0.0}


@pytest.fixture
def portfolio(tmp_path: Path) -> Path:
    (tmp_path / "portfolio.toml").write_text(PORTFOLIO)
    return tmp_path / "portfolio.toml"


def unsplit(**more: Any) -> Data:
    data = make_data(**more)
    for name in ("train_mask", "val_mask", "test_mask"):
        del data[name]
    return data


def without_times(record: dict[str, Any]) -> dict[str, Any]:
    """What two trainings that end alike have in common."""
    members = [
        {name: value for name, value in each.items() if "seconds" not in name and name != "memory_mib"}
        for each in record["members"]
    ]
    return {name: value for name, value in record.items() if name not in ("seconds", "finished")} | {"members": members}


def weights_of(folder: Path) -> dict[str, bytes]:
    files = [*folder.rglob("model.safetensors"), *folder.rglob(PROBABILITIES)]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


class Interrupt(Progress):
    """Presses Ctrl-C in an epoch of the member with this number, or after it."""

    def __init__(self, at: int, *, after: bool = False) -> None:
        self.at, self.after, self.begun = at, after, -1

    def on_train_begin(self, info: dict[str, Any]) -> None:
        self.begun += 1

    def on_epoch_end(self, metrics: dict[str, float]) -> None:
        if self.begun == self.at and metrics["epoch"] == 2 and not self.after:
            raise KeyboardInterrupt

    def on_member_end(self, name: str, record: dict[str, Any]) -> None:
        if self.begun == self.at and self.after:
            raise KeyboardInterrupt


class Killed(BaseException):
    """Nothing catches it, as nothing catches a kill."""


class Kill(Interrupt):
    def on_epoch_end(self, metrics: dict[str, float]) -> None:
        try:
            super().on_epoch_end(metrics)
        except KeyboardInterrupt:
            raise Killed from None

    def on_member_end(self, name: str, record: dict[str, Any]) -> None:
        try:
            super().on_member_end(name, record)
        except KeyboardInterrupt:
            raise Killed from None


class KillInEpoch(Progress):
    def __init__(self, left: int) -> None:
        self.left = left

    def on_epoch_end(self, metrics: dict[str, float]) -> None:
        self.left -= 1
        if not self.left:
            raise Killed


def test_folds_of_all_labels_make_one_ensemble(portfolio: Path, tmp_path: Path) -> None:
    data = unsplit()
    data.y[:7] = -1
    result = auto(data, portfolio=portfolio, folds=3, out=tmp_path / "run", **QUICK)
    record = result.record
    assert record == read_ensemble(tmp_path / "run") == json.loads((tmp_path / "run" / ENSEMBLE).read_text())
    assert [each["name"] for each in record["members"]] == NAMES
    assert {each["state"] for each in record["members"]} == {"done"}
    assert record["splits_origin"] == "3 folds of all labels, stratified, seed 0"
    assert record["folds"]
    assert record["test"] is None
    assert [*record["splits"]] == ["0", "1", "2"]
    first, *others = record["splits"].values()
    for each in others:
        assert {**each, "val": 0} == {**first, "val": 0}  # one ensemble, judged on each fold
    assert sum(each["weight"] for each in record["members"]) == pytest.approx(1)
    assert [each["weight"] for each in record["members"]] == pytest.approx(
        [first["weights"].get(name, 0.0) for name in NAMES]
    )
    check_files(tmp_path / "run")
    first_row, *rows = result.leaderboard
    assert (first_row.name, first_row.val) == ("ensemble", record["val"]["mean"])
    *rows, constant, logistic = rows
    assert (constant.name, logistic.name) == ("constant", "logistic regression")
    assert sorted(row.name for row in rows) == sorted(NAMES)
    assert [row.val for row in rows] == sorted((row.val for row in rows), reverse=True)
    saved = glognn.read_npz(tmp_path / "run/graph.npz")
    assert int(saved.val_mask.sum()) == int((data.y >= 0).sum()) == 53
    assert "train_mask" not in data


def test_the_scores_are_those_of_the_files(portfolio: Path, tmp_path: Path) -> None:
    data = unsplit()
    folder = tmp_path / "run"
    record = auto(data, portfolio=portfolio, folds=3, out=folder, **QUICK).record
    masks = glognn.read_npz(folder / "graph.npz").val_mask.numpy()
    for split, of_split in record["splits"].items():
        nodes = np.flatnonzero(masks[:, int(split)])
        said = np.stack([np.load(folder / MEMBERS / name / f"split-{split}" / PROBABILITIES) for name in NAMES])
        assert said.dtype == np.float32
        assert said.shape == (3, 60, 3)
        weights = np.array([of_split["weights"].get(name, 0.0) for name in NAMES])
        heats = [of_split["temperatures"].get(name, 1.0) for name in NAMES]
        alone = np.stack([calibrated(each, heat) for each, heat in zip(said[:, nodes], heats, strict=True)])
        together = apply(weights, alone, of_split["temperature"])
        assert scores(together[np.newaxis], data.y.numpy()[nodes], Scoring("accuracy"))[0] == of_split["val"]
        for name, found in zip(NAMES, said, strict=True):
            place = folder / MEMBERS / name / f"split-{split}"
            assert (found[nodes].argmax(1) == data.y.numpy()[nodes]).mean() == pytest.approx(
                read_report(place)["scores"]["selected"]["val"]
            )
            predictions, _ = open_saved(place).predict()
            assert predictions.probabilities == pytest.approx(found, abs=1e-6)


def test_given_splits_each_have_an_ensemble_that_test_labels_do_not_change(portfolio: Path, tmp_path: Path) -> None:
    data = make_data(num_nodes=90, num_splits=2)
    data.test_mask = data.test_mask[:, :1].expand(-1, 2).clone()  # whose labels are then in no other set
    for name in ("train_mask", "val_mask"):
        data[name] &= ~data.test_mask
    found = {}
    for name in ("as they are", "changed"):
        if name == "changed":
            data.y = torch.where(data.test_mask[:, 0], (data.y + 1) % 3, data.y)
        auto(data, portfolio=portfolio, out=tmp_path / name, **QUICK)
        found[name] = read_ensemble(tmp_path / name)
    before, after = found.values()
    assert weights_of(tmp_path / "as they are") == weights_of(tmp_path / "changed")
    assert [each["test"] for each in before["members"]] != [each["test"] for each in after["members"]]
    for split in ("0", "1"):
        assert {**before["splits"][split], "test": 0} == {**after["splits"][split], "test": 0}
    assert before["val"] == after["val"]
    assert before["description"] == after["description"]
    assert before["best_single"]["name"] == after["best_single"]["name"]
    assert before["splits_origin"] == "given with the graph"


def test_named_graphs_keep_their_splits(portfolio: Path, tmp_path: Path) -> None:
    record = auto("pairs", splits="1,3", portfolio=portfolio, out=tmp_path / "run", epochs=1, threads=1).record
    assert [*record["splits"]] == ["1", "3"]
    assert record["splits_origin"].startswith("random 50/25/25")
    assert record["test"]["std"] is not None
    assert not (tmp_path / "run/graph.npz").exists()


@pytest.mark.parametrize(("in_time", "said"), [(1, ", of which 1 is trained on in the time given"), (3, "")])
def test_folds_for_which_there_is_no_time_are_said(
    in_time: int, said: str, portfolio: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a class with three nodes there are three folds at most."""
    data = unsplit(num_classes=2)
    data.y[:] = 0
    data.y[:3] = 1
    monkeypatch.setattr("glognn.experiments.auto._folds_in_time", lambda *_: in_time)
    record = auto(data, portfolio=portfolio, out=tmp_path / "run", **QUICK).record
    assert record["splits_origin"] == f"3 folds of all labels, stratified, seed 0{said}"
    assert len(record["splits"]) == in_time


def test_two_classes_and_a_metric_that_decides_have_a_threshold(portfolio: Path, tmp_path: Path) -> None:
    data = unsplit(num_classes=2)
    for metric, chosen in (("macro_f1", "macro-F1"), ("roc_auc", "macro-F1"), ("accuracy", "")):
        record = auto(data, portfolio=portfolio, folds=2, metric=metric, out=tmp_path / metric, **QUICK).record
        assert record["metric"] == metric
        assert (record["splits"]["0"]["threshold"] is not None) == bool(chosen)
        assert record["splits"]["0"]["threshold_for"] == chosen
    asked: dict[str, Any] = {"metric": "roc_auc", "threshold": "none", "calibrate": "none"}
    record = auto(data, portfolio=portfolio, folds=2, out=tmp_path / "none", **asked, **QUICK).record
    assert (record["splits"]["0"]["threshold"], record["splits"]["0"]["calibration"]) == (None, None)
    record = auto(data, portfolio=portfolio, folds=2, threshold="validation", out=tmp_path / "asked", **QUICK).record
    assert 0 < record["splits"]["0"]["threshold"] < 1


def test_an_ensemble_chosen_by_ranks_finds_the_rare_class(tmp_path: Path) -> None:
    """What members say of nodes may lie anywhere: 12 of 200 frauds were predicted at an average precision of 92 %."""
    generator = torch.Generator().manual_seed(0)
    y = (torch.arange(400) % 20 == 0).long()
    x = torch.randn(400, 4, generator=generator) + 2 * y[:, None]
    data = Data(x=x, y=y, edge_index=torch.randint(0, 400, (2, 900), generator=generator))
    (tmp_path / "two.toml").write_text(PORTFOLIO.split('[[member]]\nname = "links"')[0])
    record = auto(data, portfolio=tmp_path / "two.toml", folds=2, metric="average_precision", epochs=60, threads=1,
                  out=tmp_path / "run").record  # fmt: skip
    rare = record["held_out"]["classes"][1]
    assert record["val"]["mean"] > 0.5
    assert rare["right"] >= 10, "half of the 20"
    assert rare["predicted"] <= 40
    found, _ = open_saved(tmp_path / "run").predict()
    assert found.threshold == record["splits"]["0"]["threshold"]
    assert found.probabilities[:, 1].mean() == pytest.approx(0.05, abs=0.02), "of 20 nodes one"
    again = open_saved(tmp_path / "run").deciding("validation")
    assert again.threshold == pytest.approx(found.threshold, abs=1e-4), "chosen on the same predictions"
    alone = open_saved(tmp_path / "run", ["plain"])
    assert alone.threshold is not None


def test_a_member_that_fails_or_does_not_fit_is_recorded_and_the_others_go_on(
    portfolio: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PORTFOLIO.replace('model = "mlp"', 'model = "mlp"\nlearning_rate = 1e38')
    (tmp_path / "bad.toml").write_text(text + '\n[[member]]\nname = "vast"\nmodel = "mlp"\nhidden_channels = 4194304\n')
    monkeypatch.setattr("glognn.training.preflight.free_memory", lambda *names: 2**29)
    record = auto(unsplit(), portfolio=tmp_path / "bad.toml", folds=2, out=tmp_path / "run", **QUICK).record
    entries = {each["name"]: each for each in record["members"]}
    assert {name: each["state"] for name, each in entries.items()} == {
        "plain": "failed",
        "near": "done",
        "links": "done",
        "vast": "too large",
    }
    assert "not finite" in entries["plain"]["reason"]
    assert "GiB" in entries["vast"]["reason"] or "MiB" in entries["vast"]["reason"]
    assert entries["plain"]["val"] is None
    assert set(record["splits"]["0"]["weights"]) <= {"near", "links"}


def test_a_graph_without_features_leaves_out_members_that_read_nothing_else(portfolio: Path, tmp_path: Path) -> None:
    data = unsplit()
    data.x = None
    text = PORTFOLIO + '\n[[member]]\nname = "rows"\nmodel = "glognn2"\nreads = "link"\nhidden_channels = 4\n'
    portfolio.write_text(text)
    record = auto(data, portfolio=portfolio, folds=2, quality="best", out=tmp_path / "run", **QUICK).record
    states = {each["name"]: each["state"] for each in record["members"]}
    assert states["rows"] == "done"
    assert states["plain"] == states["near"] == "failed"
    assert "no features" in next(each["reason"] for each in record["members"] if each["name"] == "plain")
    assert "Without features" in record["description"]


def test_where_no_member_can_be_trained_the_reasons_are_told(tmp_path: Path, portfolio: Path) -> None:
    portfolio.write_text(PORTFOLIO[: PORTFOLIO.index("[[member]]", 20)])
    data = unsplit()
    data.x = None
    with pytest.raises(TrainingError, match="No member of the portfolio could be trained. plain: The graph has no"):
        auto(data, portfolio=portfolio, folds=2, out=tmp_path / "run", **QUICK)
    assert not (tmp_path / "run" / DONE).exists()


def test_a_time_limit_stops_the_member_under_way_and_starts_no_other(portfolio: Path, tmp_path: Path) -> None:
    result = auto(unsplit(), portfolio=portfolio, folds=2, time_limit=1e-9, out=tmp_path / "run", **QUICK)
    states = {each["name"]: (each["state"], each["stopped_by"]) for each in result.record["members"]}
    assert states == {"plain": ("done", ["time limit"]), "near": ("not reached", []), "links": ("not reached", [])}
    assert "the time limit of 1e-09 s was used up" in result.record["members"][1]["reason"]
    assert read_report(tmp_path / "run" / MEMBERS / "plain/split-0")["scores"]["last"]["epoch"] == 1
    again = auto(resume=tmp_path / "run", time_limit=1000)
    assert [each["state"] for each in again.record["members"]] == ["done"] * 3
    assert again.record["ended"] == "all members are done"


def test_a_member_far_behind_the_best_is_stopped_soon_and_one_near_it_is_not(tmp_path: Path) -> None:
    """Each with a learning rate of its own: with the smallest nothing is learnt, and nothing is waited for."""
    rates = {"good": 0.05, "near": 0.04, "lost": 1e-9}
    (tmp_path / "rates.toml").write_text(
        "".join(f'[[member]]\nname = "{name}"\nmodel = "mlp"\nlearning_rate = {rate}\n' for name, rate in rates.items())
    )
    data = unsplit()
    data.x = torch.nn.functional.one_hot(data.y, 3).float()
    options: dict[str, Any] = QUICK | {"epochs": 60, "patience": 40, "hidden_channels": 8}
    record = auto(data, portfolio=tmp_path / "rates.toml", folds=2, out=tmp_path / "run", **options).record
    stopped = {each["name"]: each["stopped_by"] for each in record["members"]}
    assert stopped["lost"] == ["far behind"]
    assert "far behind" not in stopped["good"] + stopped["near"]
    assert read_report(tmp_path / "run" / MEMBERS / "lost/split-0")["scores"]["last"]["epoch"] < 30
    assert record["members"][2]["weight"] == 0


class Tick(Progress):
    """A clock that goes on by 10 s with each epoch."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(room.time, "perf_counter", lambda: self.now)

    def on_epoch_end(self, metrics: dict[str, float]) -> None:
        self.now += 10.0


LONG: dict[str, Any] = QUICK | {"epochs": 30, "early_stopping": "none", "dropout": 0.5}


def test_every_member_has_a_turn_and_the_most_promising_go_on(
    portfolio: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "FEWEST_EPOCHS", 3)
    tick = Tick(monkeypatch)
    options = {"portfolio": portfolio, "folds": 2, "time_limit": 240, "out": tmp_path / "run", "progress": tick}
    record = auto(unsplit(), **options, **LONG).record
    assert record["ended"] == "the time limit of 240 s was used up"
    assert [each["state"] for each in record["members"]] == ["done"] * 3
    epochs = {
        each["place"]: read_report(tmp_path / "run" / MEMBERS / each["place"] / "split-1")["scores"]["last"]["epoch"]
        for each in record["members"]
    }
    longer = {place: count for place, count in epochs.items() if "~" in place}
    assert longer, epochs
    assert min(epochs.values()) >= 3
    assert sum(epochs.values()) <= 26
    assert sorted(path.name for path in (tmp_path / "run" / MEMBERS).iterdir()) == sorted(epochs)
    check_files(tmp_path / "run")
    assert open_saved(tmp_path / "run").scores["val"] == record["val"]["mean"]


def test_a_member_that_is_too_slow_is_given_up_after_its_second_epoch(
    portfolio: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """24 epochs have time: enough for 8 of the first member, but a second one would not come to 60."""
    tick = Tick(monkeypatch)
    options = {"portfolio": portfolio, "folds": 2, "time_limit": 240, "out": tmp_path / "run", "progress": tick}
    record = auto(unsplit(), **options, **LONG).record
    assert [each["state"] for each in record["members"]] == ["done", "not reached", "not reached"]
    assert record["members"][1]["reason"] == "an epoch takes 10 s, too long for the time left"
    assert [path.name.partition("~")[0] for path in (tmp_path / "run" / MEMBERS).iterdir()] == ["plain"]
    assert record["members"][0]["place"] != "plain"  # the time that is left is its own
    check_files(tmp_path / "run")


def test_members_that_were_given_up_have_the_time_that_the_others_leave(
    portfolio: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "FEWEST_TURNS", 1)
    monkeypatch.setattr(room, "LONGEST_TURN", 1e-9)
    left_out: list[str] = []

    class Told(Tick):
        def on_left_out(self, what: str, reason: str) -> None:
            left_out.append(reason)

    options = {"portfolio": portfolio, "folds": 2, "time_limit": 4000, "out": tmp_path / "run"}
    record = auto(unsplit(), progress=Told(monkeypatch), **options, **LONG).record
    assert left_out == ["an epoch takes 10 s, too long for the time left"] * 2
    assert record["ended"] == "all members are done"
    assert [each["stopped_by"] for each in record["members"]] == [["last epoch"]] * 3
    check_files(tmp_path / "run")


def test_members_beyond_the_first_have_the_time_that_these_leave(
    portfolio: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(QUALITIES, "good", 2)
    trained: list[str] = []

    class Order(Progress):
        def on_member_end(self, name: str, record: dict[str, Any]) -> None:
            trained.append(name)

    options: dict[str, Any] = {"portfolio": portfolio, "folds": 2} | LONG
    record = auto(unsplit(), out=tmp_path / "time", progress=Order(), **options).record
    assert trained == NAMES
    assert record["ended"] == "all members are done"
    monkeypatch.setattr(room, "FEWEST_EPOCHS", 3)
    record = auto(unsplit(), out=tmp_path / "none", time_limit=240, progress=Tick(monkeypatch), **options).record
    assert [each["state"] for each in record["members"]] == ["done", "done", "not reached"]
    assert sum("~" in each["place"] for each in record["members"]) > 0, "the time went to the first two"
    text = (tmp_path / "none" / AUTO).read_text()
    (tmp_path / "none" / AUTO).write_text(text.replace('quality = "good"', 'quality = "goood"'))
    with pytest.raises(InputError, match=r"The quality must be one of fast, good, best\. Got 'goood' instead"):
        auto(resume=tmp_path / "none")


@pytest.mark.parametrize("killed", [False, True])
def test_members_that_weigh_are_trained_again_with_other_seeds(killed: bool, portfolio: Path, tmp_path: Path) -> None:
    """In the end, the heaviest first; those of a member without weight are not, and the record says so."""
    again = PORTFOLIO.replace('"\nmodel', ' 2"\nseed = 1\nmodel')
    portfolio.write_text(PORTFOLIO + again)
    trained: list[str] = []

    class Order(Progress):
        def on_member_end(self, name: str, record: dict[str, Any]) -> None:
            trained.append(name)
            if killed and len(trained) == 4:
                raise KeyboardInterrupt

    options: dict[str, Any] = {"portfolio": portfolio, "folds": 2, "seed": 7} | QUICK
    found = auto(unsplit(), out=tmp_path / "run", progress=Order(), **options)
    if killed:
        found = auto(resume=tmp_path / "run", progress=Order())
    members = {each["name"]: each for each in found.record["members"]}
    first = [name for name in trained if not name.endswith("2")]
    assert sorted(first) == sorted(NAMES)
    assert trained[:3] == first
    repeated = [name for name in trained if name.endswith("2")]
    assert repeated
    assert len(repeated) < 3
    for name in NAMES:
        entry, its = members[f"{name} 2"], members[name]
        if entry["state"] == "done":
            both = [tmp_path / "run" / MEMBERS / each["place"] / "split-0" for each in (its, entry)]
            assert [read_report(run)["config"]["training"]["seed"] for run in both] == [7, 8]
            assert len({(run / PROBABILITIES).read_bytes() for run in both}) == 2
        else:
            assert entry["reason"] == f"'{name}' is not worth repeating"
    assert found.record["ended"] == "all members are done"


@pytest.mark.parametrize("killed", [False, True])
def test_where_splits_take_long_members_are_tried_on_some_and_the_best_trained_on_all(
    killed: bool, portfolio: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that goes on by 3 s with each look at it: the first member has all five folds, the others are tried on
    one."""
    monkeypatch.setattr(room, "FEWEST_EPOCHS", 3)
    looks = iter(range(10**6))
    monkeypatch.setattr(room.time, "perf_counter", lambda: 3.0 * next(looks))
    options = {"portfolio": portfolio, "folds": 5, "time_limit": 900, "out": tmp_path / "run"} | LONG
    told: list[tuple[str, str]] = []
    weighed, weigh = list[dict[str, float]](), Scales.shares

    def remembered(scales: Scales, *given: Any) -> dict[str, float]:
        weighed.append(weigh(scales, *given))
        return weighed[-1]

    monkeypatch.setattr(Scales, "shares", remembered)

    class Told(Progress):
        def on_member_end(self, name: str, record: dict[str, Any]) -> None:
            [entry] = [each for each in record["members"] if each["name"] == name]
            told.append((name, entry["state"]))

    record = auto(unsplit(), progress=Told(), **options).record
    assert told[:3] == [("plain", "done"), ("near", "tried"), ("links", "tried")]
    assert weighed[0].keys() == {"plain", "near", "links"}, "those that are only tried, too"
    assert sum(weighed[0].values()) == pytest.approx(1)
    assert record["ended"] == "the time limit of 900 s was used up"
    states = {each["name"]: each["state"] for each in record["members"]}
    assert set(states.values()) <= {"done", "tried"}
    assert list(states.values()).count("done") >= 2, "the best of those that were tried"
    for each in record["members"]:
        assert (each["state"] == "done") == (each["reason"] == "")
        assert each["val"] is not None
        if each["state"] == "tried":
            assert each["weight"] == 0
            assert each["reason"] == "on 1 of 5 splits, and then not on all"
    assert all(set(of["weights"]) <= {name for name, state in states.items() if state == "done"}
               for of in record["splits"].values())  # fmt: skip
    check_files(tmp_path / "run")
    assert open_saved(tmp_path / "run").scores["val"] == record["val"]["mean"]
    if killed:
        with pytest.raises(Killed):
            auto(resume=tmp_path / "run", time_limit=1e6, progress=KillInEpoch(3))
    again = auto(resume=tmp_path / "run", time_limit=1e6).record
    assert again["ended"] == "all members are done"
    assert [each["state"] for each in again["members"]] == ["done"] * 3
    monkeypatch.undo()
    whole = auto(unsplit(), **options | {"out": tmp_path / "whole", "time_limit": 1e6}).record
    for each, other in zip(again["members"], whole["members"], strict=True):
        assert each["val"] == pytest.approx(other["val"]), "as if all folds had been trained at once"
    check_files(tmp_path / "run")


def test_a_turn_lasts_for_a_number_of_epochs_that_says_something(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(1000))
    monkeypatch.setattr(room.time, "perf_counter", lambda: next(now))
    quick = Turn(deadline=5, end=500, least=30)
    assert [quick.over(epoch) for epoch in range(1, 31)] == [False] * 29 + [True]
    assert not quick.slow
    short = Turn(deadline=40, end=500)
    assert [short.over(epoch) for epoch in range(1, 12)] == [False] * 10 + [True]
    parts = Turn(deadline=141, end=300, parts=(1, 1))  # it is 41 now
    found = [parts.over(epoch) for epoch in (*range(1, 61), *range(1, 61))]
    assert (found[:60].index(True), found[60:].index(True)) == (50, 40)  # the second part has what is left
    for slow in (Turn(deadline=250, end=215, least=30), Turn(deadline=250, end=900, least=30, longest=29)):
        assert [slow.over(epoch) for epoch in (1, 2)] == [False, True]
        assert slow.slow == 1


def test_the_most_promising_goes_on_and_what_is_behind_waits_for_the_turns_of_others() -> None:
    def prospect(score: float, *, seconds: float, behind: bool = False, **more: Any) -> Prospect:
        given: dict[str, Any] = {"reached": score, "affordable": True, "on_all": True, "level": False, "least": seconds}
        given |= {"rests": False, "share": 0.0}
        return Prospect(score=score, seconds=seconds, behind=behind, **given | more)

    best, poor = prospect(0.7, seconds=100), prospect(0.5, seconds=100, behind=True)
    assert next_to_go_on({"poor": poor, "best": best}, 200, others_wait=False) == "best"
    assert next_to_go_on({"poor": poor}, 200, others_wait=False) == "poor"
    assert next_to_go_on({"poor": poor}, 200, others_wait=True) is None
    quick = prospect(0.65, seconds=30, behind=True, level=True)  # level with the best where it was tried
    assert next_to_go_on({"best": best, "quick": quick}, 200, others_wait=False) == "quick"
    assert next_to_go_on({"best": best, "quick": quick}, 120, others_wait=False) == "best", "there is no time for both"
    heavy = prospect(0.6, seconds=30, behind=True, level=True, share=0.2)
    assert next_to_go_on({"quick": quick, "heavy": heavy}, 200, others_wait=False) == "heavy", "it adds more"
    assert next_to_go_on({"quick": quick}, 200, others_wait=True) == "quick"
    assert next_to_go_on({"quick": quick}, 150, others_wait=True) is None, "it takes a fifth of the time"
    assert next_to_go_on({"best": prospect(0.7, seconds=300, affordable=False)}, 200, others_wait=False) is None
    resting = prospect(0.8, seconds=10, behind=True, rests=True)
    assert next_to_go_on({"resting": resting, "poor": poor}, 200, others_wait=False) == "poor"
    assert next_to_go_on({"resting": resting}, 200, others_wait=True) is None
    assert next_to_go_on({"resting": resting}, 200, others_wait=False) == "resting"


def test_a_member_is_at_rest_when_most_of_its_splits_hardly_rise() -> None:
    rising, high = [0.5 + 0.001 * epoch for epoch in range(60)], [0.7] * 60
    assert not at_rest([rising, high])
    assert at_rest([high, high])
    assert at_rest([[0.7] * 30 + [0.7015] * 30, high]), "0.00075 on average"
    assert not at_rest([high[:59], high[:59]]), "that is too soon"
    assert promise({0: rising, 1: high}, 10, 10) == pytest.approx((0.559 + 0.7 + 0.03 / 2) / 2)


def test_members_at_rest_let_others_go_first_and_end_as_if_never_stopped(
    portfolio: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"portfolio": portfolio, "folds": 2} | LONG | {"learning_rate": 1e-7}
    whole = auto(unsplit(), out=tmp_path / "whole", **options)
    monkeypatch.setattr(turns, "FEWEST_EPOCHS", 3)
    heard: list[tuple[str, str]] = []

    class Told(Progress):
        def on_member_end(self, name: str, record: dict[str, Any]) -> None:
            [entry] = [each for each in record["members"] if each["name"] == name]
            heard.append((name, *entry["stopped_by"]))

    found = auto(unsplit(), out=tmp_path / "run", progress=Told(), **options)
    assert heard[:3] == [(name, "at rest") for name in NAMES]
    assert sorted(heard[3:]) == sorted((name, "last epoch") for name in NAMES)
    assert found.record["ended"] == "all members are done"
    assert found.record["splits"] == whole.record["splits"]
    for name, each in zip(NAMES, found.record["members"], strict=True):
        model = f"{each['place']}/split-1/model.safetensors"
        before = tmp_path / "whole" / MEMBERS / name / "split-1/model.safetensors"
        assert (tmp_path / "run" / MEMBERS / model).read_bytes() == before.read_bytes()
    check_files(tmp_path / "run")


def test_members_of_a_kind_that_is_behind_come_last(tmp_path: Path) -> None:
    """Classes that features tell, and links do not: of those that read links one is tried before the others."""
    names = ["one", "links", "more links", "two", "three"]
    models = ["linkx" if "links" in name else "mlp" for name in names]
    pairs = zip(names, models, strict=True)
    (tmp_path / "kinds.toml").write_text("".join(f'[[member]]\nname = "{a}"\nmodel = "{b}"\n' for a, b in pairs))
    data = unsplit()
    data.x = torch.nn.functional.one_hot(data.y, 3).float()
    trained: list[str] = []

    class Order(Progress):
        def on_member_end(self, name: str, record: dict[str, Any]) -> None:
            trained.append(name)

    options: dict[str, Any] = QUICK | {"epochs": 30, "learning_rate": 0.05, "hidden_channels": 8}
    auto(data, portfolio=tmp_path / "kinds.toml", folds=2, out=tmp_path / "run", progress=Order(), **options)
    assert trained == ["one", "links", "two", "three", "more links"]
    data.x = torch.rand(data.x.shape, generator=torch.Generator().manual_seed(0))
    trained.clear()
    auto(data, portfolio=tmp_path / "kinds.toml", folds=2, out=tmp_path / "none", progress=Order(), **options)
    assert trained == names


@pytest.mark.parametrize("killed", [False, True])
def test_members_stopped_and_gone_on_with_end_as_if_never_stopped(
    killed: bool, portfolio: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the two folds ends by itself before the first stop, in the member whose patience is short."""
    portfolio.write_text(PORTFOLIO.replace('name = "plain"', 'name = "plain"\npatience = 5'))
    options = {"portfolio": portfolio, "folds": 2} | LONG | {"early_stopping": "patience"}
    whole = auto(unsplit(), out=tmp_path / "whole", **options)
    tick = Tick(monkeypatch)
    stopped = auto(unsplit(), out=tmp_path / "run", time_limit=300, progress=tick, **options)
    assert stopped.record["ended"] == "the time limit of 300 s was used up"
    if killed:
        with pytest.raises(Killed):
            auto(resume=tmp_path / "run", time_limit=1e6, progress=KillInEpoch(3))
    again = auto(resume=tmp_path / "run", time_limit=1e6)
    assert again.record["ended"] == "all members are done"
    for each in again.record["members"]:
        for file in ("model.safetensors", PROBABILITIES):
            for split in ("split-0", "split-1"):
                found = tmp_path / "run" / MEMBERS / each["place"] / split / file
                assert found.read_bytes() == (tmp_path / "whole" / MEMBERS / each["name"] / split / file).read_bytes()
    assert again.record["splits"] == whole.record["splits"]
    assert any("~" in each["place"] for each in again.record["members"])


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", range(3))
def test_a_kill_at_any_member_and_going_on_give_the_same_ensemble(
    at: int, after: bool, portfolio: Path, tmp_path: Path
) -> None:
    data = unsplit()
    options = {"portfolio": portfolio, "folds": 2, **QUICK}
    whole = auto(data, out=tmp_path / "whole", **options)
    with pytest.raises(Killed):
        auto(data, out=tmp_path / "run", progress=Kill(at, after=after), **options)
    assert not (tmp_path / "run" / DONE).exists()
    kept = weights_of(tmp_path / "run")
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob(DONE)}
    again = auto(resume=tmp_path / "run")
    assert without_times(again.record) == without_times(whole.record)
    assert weights_of(tmp_path / "run") == weights_of(tmp_path / "whole")
    assert kept.items() <= weights_of(tmp_path / "run").items()
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert (tmp_path / "run" / DONE).exists()


def test_an_interruption_ends_with_the_members_so_far(portfolio: Path, tmp_path: Path) -> None:
    data = unsplit()
    with pytest.raises(KeyboardInterrupt):
        auto(data, portfolio=portfolio, folds=2, out=tmp_path / "none", progress=Interrupt(0), **QUICK)
    assert not (tmp_path / "none" / DONE).exists()
    result = auto(data, portfolio=portfolio, folds=2, out=tmp_path / "run", progress=Interrupt(1), **QUICK)
    assert result.record["ended"] == "interrupted"
    assert [each["state"] for each in result.record["members"]] == ["done", "not reached", "not reached"]
    check_files(tmp_path / "run")
    assert (tmp_path / "run" / DONE).exists()
    whole = auto(data, portfolio=portfolio, folds=2, out=tmp_path / "whole", **QUICK)
    assert without_times(auto(resume=tmp_path / "run").record) == without_times(whole.record)


def test_what_is_finished_is_not_trained_again(
    portfolio: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = auto(unsplit(), portfolio=portfolio, folds=2, out=tmp_path / "run", **QUICK)

    def forbidden(*names: Any, **more: Any) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(room, "run_batch", forbidden)
    assert without_times(auto(resume=tmp_path / "run").record) == without_times(first.record)


def test_a_folder_may_be_moved_and_gone_on_with(portfolio: Path, tmp_path: Path) -> None:
    data = unsplit()
    with pytest.raises(Killed):
        auto(data, portfolio=portfolio, folds=2, out=tmp_path / "run", progress=Kill(1), **QUICK)
    shutil.move(tmp_path / "run", tmp_path / "moved")
    whole = auto(data, portfolio=portfolio, folds=2, out=tmp_path / "whole", **QUICK)
    assert without_times(auto(resume=tmp_path / "moved").record) == without_times(whole.record)


def test_tables_without_a_split_have_folds_and_with_one_keep_it(portfolio: Path, tmp_path: Path) -> None:
    data = make_data()
    rows = [f"n{node},{x:.4f},{'abc'[y]},{('train', 'val', 'test')[node % 3]}"
            for node, (x, y) in enumerate(zip(data.x[:, 0], data.y, strict=True))]  # fmt: skip
    (tmp_path / "nodes.csv").write_text("\n".join(["id,x,y,set", *rows, ""]))
    ends = [f"n{first},n{second}" for first, second in data.edge_index.T.tolist()]
    (tmp_path / "edges.csv").write_text("\n".join(["from,to", *ends, ""]))
    options = {"nodes": tmp_path / "nodes.csv", "edges": tmp_path / "edges.csv", "label": "y"}
    tables = TableOptions(**options, drop_columns=["set"])
    record = auto(tables=tables, portfolio=portfolio, folds=4, out=tmp_path / "folds", **QUICK).record
    assert record["classes"] == ["a", "b", "c"]
    assert record["splits_origin"].startswith("4 folds of all labels")
    record = auto(
        tables=TableOptions(**options, split_column="set"), portfolio=portfolio, out=tmp_path / "given", **QUICK
    ).record
    assert record["splits_origin"] == "column 'set'"
    assert not record["folds"]
    assert record["test"] is not None
    record = auto(
        tables=TableOptions(**options, random_splits=2), portfolio=portfolio, out=tmp_path / "random", **QUICK
    ).record
    assert [*record["splits"]] == ["0", "1"]


def test_the_graph_of_tables_is_read_once(portfolio: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, arrays = [], npz._read_arrays
    monkeypatch.setattr(npz, "_read_arrays", lambda path: (read.append(path), arrays(path))[1])
    rows = [f"{node},{node % 3},{'ab'[node % 2]}" for node in range(60)]
    (tmp_path / "nodes.csv").write_text("\n".join(["id,x,y", *rows]))
    (tmp_path / "edges.csv").write_text("\n".join(["a,b", *(f"{node},{(node * 7 + 1) % 60}" for node in range(60))]))
    tables = TableOptions(nodes=tmp_path / "nodes.csv", edges=tmp_path / "edges.csv", label="y")
    auto(tables=tables, portfolio=portfolio, out=tmp_path / "run", **QUICK)
    assert len(read) == 1


def test_what_was_asked_for_is_kept(portfolio: Path, tmp_path: Path) -> None:
    write_npz(unsplit(), tmp_path / "g.npz")
    result = auto(
        str(tmp_path / "g.npz"),
        portfolio=portfolio,
        folds=2,
        quality="fast",
        time_limit=70,
        out=tmp_path / "run",
        **QUICK,
    )
    assert isinstance(result, AutoResult)
    asked = Asked.read(tmp_path / "run")
    assert asked.dataset == str((tmp_path / "run/graph.npz").resolve())
    assert (asked.folds, asked.quality, asked.time_limit) == (2, "fast", 70)
    assert asked.settings == QUICK
    assert [member.name for member in asked.members] == NAMES
    text = (tmp_path / "run" / AUTO).read_text()
    assert 'dataset = "graph.npz"' in text
    assert 'metric = "accuracy"' in text


def test_a_folder_is_not_written_over_and_resuming_takes_no_settings(portfolio: Path, tmp_path: Path) -> None:
    auto(unsplit(), portfolio=portfolio, folds=2, out=tmp_path / "run", **QUICK)
    with pytest.raises(InputError, match="already holds a run"):
        auto(unsplit(), portfolio=portfolio, out=tmp_path / "run", **QUICK)
    with pytest.raises(InputError, match="Leave out --epochs"):
        auto(resume=tmp_path / "run", epochs=3)
    with pytest.raises(InputError, match=r"is no auto folder: it has no auto\.toml"):
        auto(resume=tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"positive number of seconds\. Got 0 instead"):
        auto(resume=tmp_path / "run", time_limit=0)
    with pytest.raises(InputError, match="No member of the portfolio has a setting 'gama'"):
        auto(unsplit(), portfolio=portfolio, out=tmp_path / "new", gama=1)
    assert not (tmp_path / "new").exists()


def test_when_a_portfolio_is_meant() -> None:
    assert means_auto(["auto"], tables=False)
    assert means_auto([], tables=True)
    assert not means_auto([], tables=False)
    assert not means_auto(["mlp"], tables=True)
    assert not means_auto([], tables=True, tune=5)
    assert not means_auto([], tables=True, config="x.toml")
    with pytest.raises(InputError, match="Leave out the others of auto, mlp"):
        means_auto(["auto", "mlp"], tables=False)
    with pytest.raises(InputError, match="--model auto takes no --tune"):
        means_auto(["auto"], tables=False, tune=5)
