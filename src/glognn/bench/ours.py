"""This package's models, timed as its driver trains them: what a user gets."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from glognn.bench.method import WARM_UP, Method
from glognn.errors import TooLargeError
from glognn.experiments.config import RunConfig
from glognn.experiments.run import build_model, initial_models
from glognn.graph.graph import Graph
from glognn.models.base import NodeModel
from glognn.training.callbacks import Callback
from glognn.training.config import TrainingConfig
from glognn.training.driver import train, train_batch
from glognn.training.history import History
from glognn.training.preflight import check_memory


class _Clock(Callback):
    """Notes when each epoch ended, of one model or of a batch. Scores were read by then, so a GPU is done too."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_epoch_end(self, metrics: dict[str, float]) -> None:
        self.ends.append(time.perf_counter())

    def judge(self, epoch: int, going: Mapping[int, History]) -> tuple[int, ...]:
        """Of a batch, for which no means are then made."""
        self.ends.append(time.perf_counter())
        return ()

    def seconds(self) -> float:
        """Of one epoch after the warm-up, on average."""
        return (self.ends[-1] - self.ends[WARM_UP - 1]) / (len(self.ends) - WARM_UP)


def _timed(training: TrainingConfig, epochs: int) -> TrainingConfig:
    return replace(training, epochs=WARM_UP + epochs, early_stopping="none", selection="last")


def time_run(model: NodeModel[Any], config: RunConfig, graph: Graph, split: int, epochs: int) -> float:
    """Seconds of an epoch of one training run."""
    clock = _Clock()
    train(model, graph, split=split, config=_timed(config.training, epochs), callbacks=[clock])
    return clock.seconds()


def time_splits(config: RunConfig, graph: Graph, splits: Sequence[int], epochs: int) -> float:
    """Seconds of an epoch of one split when several are trained together, each with its own seed.

    Args:
        config: Settings of the model and its training.
        graph: The graph, on the device it is trained on.
        splits: Columns of its masks; one may be named several times.
        epochs: Timed epochs of each split.
    """
    seeds = [config.training.seed + number for number in range(len(splits))]
    seeded = [replace(config, training=replace(config.training, seed=seed)) for seed in seeds]
    clock = _Clock()
    train_batch(
        initial_models(seeded, graph),
        graph,
        splits=splits,
        configs=[_timed(each.training, epochs) for each in seeded],
        judge=clock.judge,
        with_weights=False,
    )
    return clock.seconds() / len(splits)


class Ours(Method):
    """A model of this package."""

    def __init__(self, config: RunConfig, graph: Graph, split: int, device: torch.device) -> None:
        self.config = config
        self.split = split
        self.graph = graph.to(device=device, dtype=torch.float32)
        self.model = build_model(config, self.graph)
        self.model.prepare(self.graph)

    def seconds(self, epochs: int) -> float:
        return time_run(self.model, self.config, self.graph, self.split, epochs)

    def fits(self, count: int) -> bool:
        """Whether memory is enough for so many splits at once."""
        try:
            check_memory(self.config.model, self.graph, self.config.training, count)
        except TooLargeError:
            return False
        return True

    def seconds_of_splits(self, count: int, epochs: int) -> float:
        """Seconds of an epoch of one of ``count`` splits; a graph with fewer splits gives each several times."""
        splits = [number % self.graph.num_splits for number in range(count)]
        return time_splits(self.config, self.graph, splits, epochs)

    def facts(self) -> dict[str, Any]:
        x = self.graph.x
        form = "no" if x is None else ("dense" if isinstance(x, torch.Tensor) else "CSR")
        return {
            "settings": self.config.model.as_dict(),
            "precision": "float32",
            "inputs": f"{form} features, CSR adjacency",
            "num_parameters": sum(parameter.numel() for parameter in self.model.parameters()),
        }
