"""Interrupted training goes on as if nothing had happened."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

from glognn.errors import InputError, TrainingError
from glognn.models.configs import MODELS
from glognn.training.callbacks import Callback
from glognn.training.checkpoint import Checkpoint, load_tensors
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
