"""Many models trained together: as alone, each with numbers, stopping and random stream of its own."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from glognn.errors import InputError, TrainingError
from glognn.graph.graph import Graph
from glognn.models.configs.handwritten import MLPConfig
from glognn.models.glognn import GloGNN, GloGNNPlusPlus
from glognn.native.library import find_library
from glognn.ops.dropout import Streams
from glognn.training.callbacks import Callback
from glognn.training.checkpoint import Checkpoint, load_tensors
from glognn.training.config import TrainingConfig
from glognn.training.devices import DTYPES
from glognn.training.driver import Ending, train, train_batch
from glognn.training.engines import Engine, NativeEngine, StackedEngine
from glognn.training.history import History, TrainingResult
from glognn.training.preflight import BATCH_BYTES, members_at_once
from tests.conftest import make_data

CONFIG = TrainingConfig(epochs=25, dtype="float64", threads=1, device="cpu", early_stopping="none", selection="last")

CLOSE = {"rtol": 1e-5, "atol": 1e-6}
"""Of weights after 25 steps in float64: Adam divides by the size of a gradient, and so blows up the rounding of those
near zero."""


@pytest.fixture
def graph() -> Graph:
    return Graph.from_data(make_data(num_splits=3), dtype=torch.float64)


def build(seed: int, kind: type[GloGNN] = GloGNNPlusPlus, **settings: Any) -> GloGNN:
    torch.manual_seed(seed)
    return kind(7, 3, 60, **({"dropout": 0.0, "hidden_channels": 8} | settings))


def weights(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def result(ending: Ending | None) -> TrainingResult:
    assert isinstance(ending, TrainingResult)
    return ending


@pytest.mark.parametrize("coefficient", ["exact", "released"])
@pytest.mark.parametrize("fusion", ["hidden", "output"])
def test_members_end_as_they_would_alone(graph: Graph, coefficient: str, fusion: str) -> None:
    numbers = [
        {"alpha": 0.3, "beta1": 0.0, "beta2": 2.0, "gamma": 0.0},
        {"alpha": 0.5, "beta1": 10.0, "beta2": 0.1, "gamma": 0.7},
        {"alpha": 0.9, "beta1": 1.0, "beta2": 500.0, "gamma": 0.3},
    ]
    configs = [
        replace(CONFIG, selection="best"),
        replace(CONFIG, selection="best", learning_rate=0.03, weight_decay=0.01, early_stopping="paper", patience=2),
        replace(CONFIG, selection="best", optimizer="adamw", weight_decay=0.1, epochs=11),
    ]

    def models() -> list[GloGNN]:
        return [build(k, coefficient=coefficient, fusion=fusion, **each) for k, each in enumerate(numbers)]

    alone = models()
    wanted = [train(m, graph, split=k, config=c) for k, (m, c) in enumerate(zip(alone, configs, strict=True))]
    together = models()
    found = train_batch(together, graph, splits=[0, 1, 2], configs=configs)
    for one, other, a, b in zip(alone, together, wanted, map(result, found), strict=True):
        torch.testing.assert_close(weights(other), weights(one), **CLOSE)
        assert not other.training
        assert (b.last.epoch, b.best.epoch, b.stopped_by) == (a.last.epoch, a.best.epoch, a.stopped_by)
        assert b.selected.test == a.selected.test
        assert [row["val_loss"] for row in b.curve] == pytest.approx([row["val_loss"] for row in a.curve], rel=1e-6)


def test_equal_settings_use_the_fused_optimiser_and_agree_too(graph: Graph) -> None:
    alone, together = [build(k, GloGNN) for k in range(3)], [build(k, GloGNN) for k in range(3)]
    for split, model in enumerate(alone):
        train(model, graph, split=split, config=CONFIG)
    train_batch(together, graph, splits=[0, 1, 2], configs=[CONFIG] * 3)
    for one, other in zip(alone, together, strict=True):
        torch.testing.assert_close(weights(other), weights(one), **CLOSE)


def test_a_members_dropout_does_not_depend_on_the_others(graph: Graph) -> None:
    configs = [replace(CONFIG, seed=seed) for seed in (4, 5)]
    both = [build(0, dropout=0.5), build(0, dropout=0.2)]
    train_batch(both, graph, splits=[1, 1], configs=configs)
    single = [build(0, dropout=0.2)]
    train_batch(single, graph, splits=[1], configs=configs[1:])
    torch.testing.assert_close(weights(both[1]), weights(single[0]), **CLOSE)
    assert not torch.allclose(weights(both[0]), weights(both[1]))


def test_streams_drop_the_share_asked_for_and_keep_the_mean() -> None:
    streams = Streams([(0, 0), (0, 1), (1, 0)], torch.device("cpu"))
    probability = torch.tensor([0.0, 0.3, 0.95], dtype=torch.float64)
    factors = streams.factors((400, 500), probability, torch.float32)
    dropped = (factors == 0).double().mean(dim=(1, 2))
    assert dropped.tolist() == pytest.approx([0.0, 0.3, 0.95], abs=0.003)
    assert factors.double().mean(dim=(1, 2)).tolist() == pytest.approx([1.0, 1.0, 1.0], abs=0.03)
    state = streams.state()
    after = streams.factors((10, 10), probability, torch.float32)
    streams.restore(state)
    assert torch.equal(streams.factors((10, 10), probability, torch.float32), after)


class Stop(Exception):
    pass


class Interrupt(Callback):
    """Ends the training as a kill would, after some epochs."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def on_epoch_end(self, metrics: dict[str, float]) -> None:
        if metrics["epoch"] == self.epoch:
            raise Stop


class Note(Callback):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.info: dict[str, Any] = {}
        self.epochs: list[dict[str, float]] = []
        self.ended: list[int] = []
        self.saved: list[int] = []

    def on_train_begin(self, info: dict[str, Any]) -> None:
        self.info = info

    def on_epoch_end(self, metrics: dict[str, float]) -> None:
        self.epochs.append(metrics)

    def on_train_end(self, result: TrainingResult) -> None:
        self.ended.append(result.member)

    def on_saved(self, members: Sequence[int]) -> None:
        self.saved += members


@pytest.mark.parametrize("interrupted_at", [7, 13])
def test_an_interrupted_batch_goes_on_to_the_same_bits(graph: Graph, tmp_path: Path, interrupted_at: int) -> None:
    configs = [replace(CONFIG, dtype="float32", epochs=epochs, selection="best") for epochs in (25, 10, 20)]

    def models() -> list[GloGNN]:
        return [build(k, dropout=0.5).float() for k in range(3)]

    whole = models()
    wanted = train_batch(whole, graph, splits=[0, 1, 2], configs=configs)
    path = tmp_path / "batch.safetensors"
    broken = models()
    with pytest.raises(Stop):
        train_batch(
            broken, graph, splits=[0, 1, 2], configs=configs, callbacks=[Interrupt(interrupted_at)],
            checkpoint=Checkpoint(path, interval=0, identity="x"),
        )  # fmt: skip
    again, note = models(), Note()
    found = train_batch(
        again, graph, splits=[0, 1, 2], configs=configs, callbacks=[note],
        checkpoint=Checkpoint(path, interval=0, identity="x"),
    )  # fmt: skip
    finished = [1] if interrupted_at > 10 else []
    assert note.info["start_epoch"] == interrupted_at - 1
    assert sorted(note.ended) == sorted({0, 1, 2} - set(finished))
    assert note.saved == finished + note.ended
    for k in note.ended:
        assert torch.equal(weights(again[k]), weights(whole[k]))
        assert result(found[k]).selected == result(wanted[k]).selected
    for k in finished:
        assert found[k] is None
        assert torch.equal(weights(broken[k]), weights(whole[k]))


def test_a_member_that_diverges_ends_alone(graph: Graph) -> None:
    configs = [CONFIG, replace(CONFIG, learning_rate=1e200), CONFIG]
    models = [build(k, beta1=0.0, beta2=1e-3) for k in range(3)]
    found = train_batch(models, graph, splits=[0, 1, 2], configs=configs)
    assert isinstance(found[1], TrainingError)
    assert "The loss is not finite" in str(found[1])
    assert all(math.isfinite(result(found[k]).last.val_loss) for k in (0, 2))


def test_members_given_up_leave_without_a_result(graph: Graph) -> None:
    def judge(epoch: int, going: Mapping[int, History]) -> list[int]:
        return [0] if epoch == 3 else []

    found = train_batch([build(k) for k in range(2)], graph, splits=[0, 1], configs=[CONFIG] * 2, judge=judge)
    assert found[0] is None
    assert result(found[1]).last.epoch == 25


def test_other_metrics_than_accuracy(graph: Graph) -> None:
    config = replace(CONFIG, metric="macro_f1")
    model = build(0)
    wanted = train(model, graph, split=0, config=config)
    [found] = train_batch([build(0)], graph, splits=[0], configs=[config])
    assert result(found).last.test == pytest.approx(wanted.last.test)


def test_what_cannot_be_trained_together(graph: Graph) -> None:
    with pytest.raises(InputError, match="must be of one shape and share metric"):
        train_batch([build(0), build(0, num_hops=3)], graph, splits=[0, 0], configs=[CONFIG] * 2)
    with pytest.raises(InputError, match="must be of one shape and share metric"):
        train_batch([build(0)] * 2, graph, splits=[0, 0], configs=[CONFIG, replace(CONFIG, metric="roc_auc")])
    assert build(0).config.shape() == build(0, alpha=0.2, gamma=0.1, dropout=0.4).config.shape()
    assert build(0).config.shape() != build(0, alpha=0.0).config.shape()


def test_large_models_train_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_data(make_data(num_splits=1))
    assert members_at_once(MLPConfig(), graph, CONFIG) > 100
    monkeypatch.setitem(BATCH_BYTES, "cpu", 100_000)
    assert members_at_once(MLPConfig(hidden_channels=256), graph, CONFIG) == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])  # compiled, where it is there, and torch's
def test_a_member_that_diverges_leaves_no_trace_in_the_checkpoint(dtype: str, tmp_path: Path) -> None:
    graph = Graph.from_data(make_data(num_splits=2), dtype=DTYPES[dtype])
    checkpoint = Checkpoint(tmp_path / "latest", interval=0.0, identity="x")
    saved = []

    class Reading(Callback):
        def on_epoch_end(self, metrics: dict[str, float]) -> None:
            if checkpoint.path.exists():
                tensors, values = load_tensors(checkpoint.path)
                assert all(bool(t.isfinite().all()) for t in tensors.values() if t.is_floating_point())
                saved.append(values["alive"])

    models = [build(k) for k in range(2)]
    configs = [replace(CONFIG, dtype=dtype, learning_rate=rate) for rate in (1e30, 0.01)]
    lost, kept = train_batch(
        models, graph, splits=[0, 1], configs=configs, callbacks=[Reading()], checkpoint=checkpoint
    )
    assert isinstance(lost, TrainingError)
    assert re.search(r"in epoch \d+\. The loss is not finite .*lower the learning rate \(now 1e\+30\)", str(lost))
    assert result(kept).last.epoch == 25
    assert saved[-1] == [1]


@pytest.mark.parametrize("engine", [StackedEngine, NativeEngine])
def test_a_weight_that_is_not_finite_is_found_before_it_is_saved(
    engine: type[Engine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine is NativeEngine and find_library() is None:
        pytest.skip("there is no compiled core")
    dtype = "float64" if engine is StackedEngine else "float32"
    graph = Graph.from_data(make_data(num_splits=2), dtype=DTYPES[dtype])
    remember = engine.remember

    def spoil(self: Any, members: Sequence[int]) -> None:
        remember(self, members)
        state = self.weights["encoder.inputs.features.weight"].data[0] if engine is StackedEngine else self._weights
        if len(self) == 2:
            state[0, 0] = torch.nan  # of the first member

    monkeypatch.setattr(engine, "remember", spoil)
    configs = [replace(CONFIG, dtype=dtype, selection="best", epochs=5)] * 2
    checkpoint = Checkpoint(tmp_path / "latest", interval=0.0, identity="x")
    lost, kept = train_batch([build(k) for k in range(2)], graph, splits=[0, 1], configs=configs, checkpoint=checkpoint)
    assert "Training stopped in epoch 1. The weights 'encoder.inputs.features.weight' are not finite" in str(lost)
    assert result(kept).last.epoch == 5
