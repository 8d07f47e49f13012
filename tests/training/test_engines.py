"""Which engine takes a run, and what is said about it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from glognn.errors import InputError, MemoryExhaustedError, TrainingError
from glognn.graph.graph import Graph
from glognn.models.glognn import GloGNN
from glognn.models.mlp import MLP
from glognn.native.library import find_library
from glognn.training.callbacks import Callback
from glognn.training.checkpoint import Checkpoint
from glognn.training.config import ENGINE_NAMES, TrainingConfig
from glognn.training.driver import train, train_batch
from glognn.training.engines import ENGINES, Members, StackedEngine, choose
from tests.conftest import make_data

CONFIG = TrainingConfig(epochs=6, device="cpu", threads=1, early_stopping="none", checkpoint_interval=0)
needs_library = pytest.mark.skipif(find_library() is None, reason="there is no compiled core")


@pytest.fixture
def graph() -> Graph:
    return Graph.from_data(make_data(num_splits=3))


def mlps(count: int) -> list[MLP]:
    built = []
    for seed in range(count):
        torch.manual_seed(seed)
        built.append(MLP(7, 3))
    return built


def test_the_names_of_engines_are_one_list() -> None:
    assert {engine.name for engine in ENGINES} == set(ENGINE_NAMES)


def test_one_model_runs_eagerly_and_many_stacked_with_the_reason(graph: Graph) -> None:
    alone, many = (choose(Members(graph, mlps(count), [CONFIG] * count, list(range(count)))) for count in (1, 3))
    assert (alone.engine.name, many.engine.name) == ("eager", "stacked")
    assert "not captured, because it needs a GPU" in alone.reason
    assert "not eager, because it trains one model at a time" in many.reason


@needs_library
def test_what_the_compiled_core_takes_is_compiled_and_the_result_says_so(graph: Graph) -> None:
    taken = train(GloGNN(7, 3, 60), graph, config=CONFIG)
    assert (taken.engine, taken.engine_reason) == ("native", "")
    left = train(GloGNN(7, 3, 60, fusion="output"), graph, config=CONFIG)
    assert left.engine == "eager"
    assert left.engine_reason.startswith("not native, because ")


def test_an_engine_can_be_asked_for(graph: Graph) -> None:
    asked = train(mlps(1)[0], graph, config=replace(CONFIG, engine="stacked"))
    assert (asked.engine, asked.engine_reason) == ("stacked", "asked for: stacked")
    plain = train(mlps(1)[0], graph, config=CONFIG)
    assert [row["val_loss"] for row in asked.curve] == pytest.approx([row["val_loss"] for row in plain.curve], rel=1e-4)
    for engine, reason in (("captured", "it needs a GPU"), ("native", "")):
        with pytest.raises(InputError, match=f"The engine '{engine}' does not take this run: .*{reason}"):
            train(mlps(1)[0], graph, config=replace(CONFIG, engine=engine))
    with pytest.raises(InputError, match="one model at a time"):
        train_batch(mlps(2), graph, splits=[0, 1], configs=[replace(CONFIG, engine="eager")] * 2)


@pytest.mark.parametrize("error", [MemoryExhaustedError("not enough memory"), TrainingError("broken")])
def test_what_breaks_an_engine_ends_all_members_but_lack_of_memory_ends_the_batch(
    graph: Graph, error: TrainingError, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer at a time may fit: who trains batches must hear of it."""

    def fail(engine: StackedEngine) -> None:
        raise error

    monkeypatch.setattr(StackedEngine, "step", fail)
    if isinstance(error, MemoryExhaustedError):
        with pytest.raises(MemoryExhaustedError, match="2 at a time"):
            train_batch(mlps(2), graph, splits=[0, 1], configs=[CONFIG] * 2)
    else:
        endings = train_batch(mlps(2), graph, splits=[0, 1], configs=[CONFIG] * 2)
        assert [str(ending) for ending in endings] == ["Training stopped in epoch 1. broken"] * 2


class Interrupt(Callback):
    def on_epoch_end(self, metrics: dict[str, float]) -> None:
        if metrics["epoch"] == 4:
            raise KeyboardInterrupt


def interrupted(path: Path, graph: Graph, **settings: Any) -> Checkpoint:
    checkpoint = Checkpoint(path, interval=0, identity="x")
    config = replace(CONFIG, **settings)
    with pytest.raises(KeyboardInterrupt):
        train(GloGNN(7, 3, 60), graph, config=config, callbacks=[Interrupt()], checkpoint=checkpoint)
    return checkpoint


def test_a_run_goes_on_with_the_engine_it_was_begun_with(graph: Graph, tmp_path: Path) -> None:
    checkpoint = interrupted(tmp_path / "c", graph, engine="eager")
    model = GloGNN(7, 3, 60)
    with pytest.raises(InputError, match="was begun by the engine 'eager': go on with --engine eager"):
        train(model, graph, config=replace(CONFIG, engine="stacked"), checkpoint=checkpoint)
    assert train(model, graph, config=CONFIG, checkpoint=checkpoint).engine == "eager"


@needs_library
def test_an_engine_that_is_gone_is_named(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = interrupted(tmp_path / "c", graph)
    monkeypatch.setenv("GLOGNN_NATIVE", "0")
    with pytest.raises(InputError, match="begun by the engine 'native', which does not take it now.*GLOGNN_NATIVE"):
        train(GloGNN(7, 3, 60), graph, config=CONFIG, checkpoint=checkpoint)


def test_callbacks_hear_of_a_batch_as_of_one_model(data: Data) -> None:
    class Note(Callback):
        def __init__(self) -> None:
            self.began: list[dict[str, Any]] = []
            self.epochs: list[dict[str, float]] = []
            self.ended: list[int] = []

        def on_train_begin(self, info: dict[str, Any]) -> None:
            self.began.append(info)

        def on_epoch_end(self, metrics: dict[str, float]) -> None:
            self.epochs.append(metrics)

        def on_train_end(self, result: Any) -> None:
            self.ended.append(result.member)

    note, graph = Note(), Graph.from_data(data)
    configs = [replace(CONFIG, epochs=epochs) for epochs in (6, 3)]
    endings = train_batch(mlps(2), graph, splits=[1, 0], configs=configs, callbacks=[note])
    [info] = note.began
    assert (info["members"], info["split"], info["epochs"], info["engine"]) == (2, 1, 6, "stacked")
    assert [row["epoch"] for row in note.epochs] == [1, 2, 3, 4, 5, 6]
    losses = [[row["val_loss"] for row in ending.curve] for ending in endings]  # type: ignore[union-attr]
    assert note.epochs[1]["val_loss"] == pytest.approx((losses[0][1] + losses[1][1]) / 2)
    assert note.epochs[4]["val_loss"] == losses[0][4]
    assert note.ended == [1, 0]
