"""Interrupted training goes on as if nothing had happened."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from glognn.errors import InputError, TrainingError
from glognn.models.configs import MODELS
from glognn.native.library import find_library
from glognn.training.callbacks import Callback
from glognn.training.checkpoint import Checkpoint, load_tensors, save_tensors
from glognn.training.config import TrainingConfig
from glognn.training.driver import train
from glognn.training.history import TrainingResult


class Interrupted(Exception):
    pass


class Interrupt(Callback):
    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def on_epoch_end(self, metrics) -> None:
        if metrics["epoch"] == self.epoch:
            raise Interrupted


def run(name: str, data: Data, config: TrainingConfig, checkpoint: Checkpoint | None = None, stop: int = 0):
    torch.manual_seed(11)
    model = MODELS[name].model_class()(7, 3, 60)
    result = train(model, data, config=config, checkpoint=checkpoint, callbacks=[Interrupt(stop)])
    return model, result


def without_seconds(result: TrainingResult) -> list[dict[str, float]]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in result.curve]


def epochs_in(checkpoint: Checkpoint) -> int:
    if not checkpoint.path.exists():
        return 0
    values = load_tensors(checkpoint.path)[1]
    return len(values["histories"][0]["curve"])


CASES = [(name, "adam", "best") for name in MODELS]
CASES += [(name, "adamw", "last") for name in ("glognn++", "mlp", "polynormer")]


@pytest.mark.parametrize(("name", "optimizer", "selection"), CASES)
def test_resumed_training_ends_with_the_same_bits(
    name: str, optimizer: str, selection: str, data: Data, tmp_path: Path
) -> None:
    config = TrainingConfig(epochs=40, optimizer=optimizer, selection=selection, patience=15)
    model, result = run(name, data, config)
    checkpoint = Checkpoint(tmp_path / "latest.safetensors", interval=0, identity="x")
    stops = [epoch for epoch in (1, 7, 23) if epoch < result.last.epoch]
    for stop in stops:
        with pytest.raises(Interrupted):
            run(name, data, config, checkpoint, stop)
        assert epochs_in(checkpoint) == stop - 1  # the epoch under way when it stopped is done again
    resumed, again = run(name, data, config, checkpoint)
    assert without_seconds(again) == without_seconds(result)
    assert (again.best, again.last, again.stopped_by) == (result.best, result.last, result.stopped_by)
    for key, value in model.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[key]), key
    assert again.seconds >= again.curve[-1]["seconds"] > 0


def test_snapshots_follow_the_interval(data: Data, tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "latest.safetensors", interval=3600, identity="x")
    run("glognn", data, TrainingConfig(epochs=5), checkpoint)
    assert not checkpoint.path.exists()


def test_runs_that_end_are_kept_soon_but_not_one_by_one(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "state.safetensors", interval=60, identity="")
    assert [checkpoint.due(seconds, ended=True) for seconds in (1, 3)] == [False, True]
    assert [checkpoint.due(seconds) for seconds in (3, 61)] == [False, True]
    checkpoint.cost = 1.5  # of large weights: no more than a tenth of the time goes into it
    assert [checkpoint.due(seconds, ended=True) for seconds in (3, 16, 61)] == [False, True, True]
    checkpoint.cost = 30.0
    assert checkpoint.due(61, ended=True)
    assert Checkpoint(tmp_path / "state.safetensors", interval=0, identity="").due(0, ended=True)


def test_a_snapshot_of_another_run_is_refused(data: Data, tmp_path: Path) -> None:
    config = TrainingConfig(epochs=20)
    with pytest.raises(Interrupted):
        run("glognn", data, config, Checkpoint(tmp_path / "c", interval=0, identity="mine"), 5)
    with pytest.raises(InputError, match="belongs to another graph, settings or package version"):
        run("glognn", data, config, Checkpoint(tmp_path / "c", interval=0, identity="yours"))


def is_finite(checkpoint: Checkpoint) -> bool:
    tensors = load_tensors(checkpoint.path)[0]
    return all(bool(t.isfinite().all()) for t in tensors.values() if t.is_floating_point())


class Poison(Callback):
    """Spoils a weight at the end of an epoch."""

    def __init__(self, model: torch.nn.Module, epoch: int) -> None:
        self.model, self.epoch = model, epoch

    def on_epoch_end(self, metrics) -> None:
        if metrics["epoch"] == self.epoch:
            with torch.no_grad():
                next(self.model.parameters()).view(-1)[0] = torch.inf


@pytest.mark.parametrize("interval", [0, 3600])
def test_no_checkpoint_holds_weights_that_are_not_finite(data: Data, tmp_path: Path, interval: float) -> None:
    model = MODELS["mlp"].model_class()(7, 3)
    checkpoint = Checkpoint(tmp_path / "latest.safetensors", interval=0, identity="x")
    with pytest.raises(Interrupted):
        run("mlp", data, TrainingConfig(epochs=20), checkpoint, 4)
    checkpoint.interval = interval
    left, wanted = (3, r"in epoch 9\. The loss is") if interval else (7, r"in epoch 8\. The weights '.*' are")
    wanted += rf" not finite.*lower the learning rate.* The checkpoint of epoch {left} is kept\."
    with pytest.raises(TrainingError, match=wanted):
        train(model, data, config=TrainingConfig(epochs=20), checkpoint=checkpoint, callbacks=[Poison(model, 8)])
    assert epochs_in(checkpoint) == left
    assert is_finite(checkpoint)


def test_a_damaged_snapshot_says_so(data: Data, tmp_path: Path) -> None:
    (tmp_path / "c").write_bytes(b"not a checkpoint")
    with pytest.raises(InputError, match="not a readable safetensors file"):
        run("glognn", data, TrainingConfig(), Checkpoint(tmp_path / "c", interval=0, identity="x"))


ENGINES = {"glognn": "native", "mlp": "eager", "gcn": "stacked"}
"""A model for each engine whose snapshots are tried."""


@pytest.fixture(params=ENGINES)
def interrupted(request: pytest.FixtureRequest, data: Data, tmp_path: Path) -> tuple[str, TrainingConfig, Checkpoint]:
    name = request.param
    if ENGINES[name] == "native" and find_library() is None:
        pytest.skip("the compiled core is not on this machine")
    config = TrainingConfig(epochs=8, engine=ENGINES[name], threads=1)
    checkpoint = Checkpoint(tmp_path / "latest.safetensors", interval=0, identity="x")
    with pytest.raises(Interrupted):
        run(name, data, config, checkpoint, 5)
    return name, config, checkpoint


def is_refused(interrupted: tuple[str, TrainingConfig, Checkpoint], data: Data) -> None:
    name, config, checkpoint = interrupted
    wanted = r"checkpoint '.*latest\.safetensors' is damaged \(.*\): delete it, and the run starts again"
    with pytest.raises(InputError, match=wanted) as raised:
        run(name, data, config, checkpoint)
    assert "\n" not in str(raised.value)


def test_tensors_of_a_snapshot_that_do_not_fit(interrupted, data: Data) -> None:
    """Each of them absent, of another shape (also one that would be spread over the right one) or of another type."""
    path = interrupted[2].path
    whole, values = load_tensors(path)
    for name, tensor in whole.items():
        others = {key: each for key, each in whole.items() if key != name}
        shape = (1,) * max(tensor.dim(), 1) if tensor.numel() > 1 else (3,)
        forged = {"of another shape": torch.ones(shape, dtype=tensor.dtype), "of another type": tensor.half()}
        if name in ("random", "streams"):
            forged = {"of another shape": tensor[:, :2]}
        for each in forged.values():
            save_tensors(path, others | {name: each}, values)
            is_refused(interrupted, data)
        save_tensors(path, others, values)
        is_refused(interrupted, data)
    save_tensors(path, whole | {"weights/more": torch.ones(2)}, values)
    is_refused(interrupted, data)
    save_tensors(path, whole, values)
    run(*interrupted[:1], data, *interrupted[1:])


FORGED: dict[str, Callable[[dict[str, Any]], object]] = {
    "no engine": lambda values: values.pop("engine"),
    "a number as engine": lambda values: values.update(engine=3),
    "nobody goes on": lambda values: values.update(alive=[]),
    "a stranger goes on": lambda values: values.update(alive=[7], inside=[7]),
    "one goes on twice": lambda values: values.update(inside=[0, 0]),
    "text as members": lambda values: values.update(alive="0"),
    "no members": lambda values: values.pop("inside"),
    "no history": lambda values: values.update(histories=[]),
    "histories of nothing": lambda values: values.update(histories=[{}]),
    "a curve without scores": lambda values: values["histories"][0].update(curve=[{"epoch": 1}]),
    "a curve of text": lambda values: values["histories"][0]["curve"][0].update(val_loss="x"),
    "no best epoch": lambda values: values["histories"][0].update(best={}),
    "a strange best epoch": lambda values: values["histories"][0]["best"].update(more=1),
    "a best epoch of text": lambda values: values["histories"][0]["best"].update(val_loss="x"),
    "a best epoch to come": lambda values: values["histories"][0]["best"].update(epoch=99),
    "an epoch twice": lambda values: values["histories"][0]["curve"].insert(0, values["histories"][0]["curve"][0]),
    "a huge number": lambda values: values["histories"][0].update(seconds=10**400),
}


@pytest.mark.parametrize("interrupted", ["mlp"], indirect=True)
@pytest.mark.parametrize("case", FORGED)
def test_values_of_a_snapshot_that_do_not_fit(case: str, interrupted, data: Data) -> None:
    tensors, values = load_tensors(interrupted[2].path)
    FORGED[case](values)
    save_tensors(interrupted[2].path, tensors, values)
    is_refused(interrupted, data)


def header(content: object, rest: bytes = b"") -> bytes:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return struct.pack("<Q", len(text)) + text + rest


HUGE = {"dtype": "F32", "shape": [2**20, 2**20], "data_offsets": [0, 2**42]}
BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "half": lambda whole: whole[: len(whole) // 2],
    "a byte less": lambda whole: whole[:-1],
    "a flipped bit": lambda whole: whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:],
    "a header without end": lambda whole: struct.pack("<Q", 2**60) + whole[8:],
    "a header that is no JSON": lambda whole: header(b"{" * 40),
    "a header of another form": lambda whole: header([1, 2]),
    "huge shapes": lambda whole: header({"a": HUGE}, b"1234"),
    "huge shapes over few bytes": lambda whole: header({"a": HUGE | {"data_offsets": [0, 4]}}, b"1234"),
    "values that are no JSON": lambda whole: header({"__metadata__": {"glognn": "{"}}),
    "values that are no table": lambda whole: header({"__metadata__": {"glognn": "[]"}}),
    "values too deep": lambda whole: header({"__metadata__": {"glognn": "[" * 100_000}}),
}


@pytest.mark.parametrize("interrupted", ["mlp"], indirect=True)
@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_of_a_snapshot(case: str, interrupted, data: Data) -> None:
    path = interrupted[2].path
    path.write_bytes(BROKEN[case](path.read_bytes()))
    is_refused(interrupted, data)


@pytest.mark.parametrize("interrupted", ["mlp"], indirect=True)
def test_a_snapshot_of_an_engine_that_there_is_not(interrupted, data: Data) -> None:
    name, config, checkpoint = interrupted
    tensors, values = load_tensors(checkpoint.path)
    save_tensors(checkpoint.path, tensors, values | {"engine": "steam"})
    with pytest.raises(InputError, match="begun by the engine 'steam', which does not take it now: there is no such"):
        run(name, data, replace(config, engine="auto"), checkpoint)
