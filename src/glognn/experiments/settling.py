"""Settings that are left to a graph, decided from the labels of the training nodes of a split.

A model tells what a linear look at these labels speaks for, and what else is worth trying (``ModelConfig.offers``).
Where there is more than one, each is trained for a short time with some of the training nodes held out; the first is
taken unless another one surely scores better on these. Validation and test labels are not looked at.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from glognn.distributed.part import Part
from glognn.errors import InputError, MemoryExhaustedError, TooLargeError, TrainingError
from glognn.experiments.config import RunConfig
from glognn.experiments.ensemble import scores
from glognn.graph.graph import Graph
from glognn.metrics import Floats, Integers, Scoring
from glognn.models.configs.base import AUTO
from glognn.training.callbacks import Callback
from glognn.training.devices import DTYPES, resolve_device
from glognn.training.driver import train_batch
from glognn.training.history import History, TrainingResult
from glognn.training.positive import scoring
from glognn.training.predict import predict_alike
from glognn.training.preflight import members_at_once

logger = logging.getLogger(__name__)

LARGE = 100_000
"""Nodes from which on a GPU that will train a model also has the linear look."""
EPOCHS, FEWEST_EPOCHS, PATIENCE = 200, 60, 50
"""Of a short training, at most;"""
ROWS = 4_000_000
"""and as many as make nodes x epochs this, within these bounds: more would take longer than the training itself."""
PARTS, HELD = 5, 400
"""A fifth of the training nodes is held out; where that is less than so many, several of the fifths in turn."""
FEWEST, MOST = 250, 300_000
"""With fewer training nodes chance would decide, and with more nodes in all it would take long: there is no trial."""
FAR, AFTER = 0.1, 60
"""One that is by so much below the first after so many epochs is given up."""
GROUPS, SURE = 10, 1.0
"""The mean gain over the first must be so many of its standard errors, told by groups of the nodes held out."""


def settled(
    configs: Sequence[RunConfig], graph: Graph, splits: Sequence[int], callbacks: Iterable[Callback] = ()
) -> list[RunConfig]:
    """Configurations with all settings decided that are left to the graph, one for each split.

    The linear look at a large graph is had on the GPU that will train on it, in a fraction of the time. On the part of
    a graph that a rank has settings stay as they are, which is said: no rank knows enough to decide.
    """
    if isinstance(graph, Part):
        for config in configs:
            _say_open(config)
        return list(configs)
    looked = graph
    if any(config.model.undecided for config in configs):
        device = resolve_device(configs[0].training.device)
        if device.type == "cuda" and graph.num_nodes >= LARGE:
            looked = graph.to(device=device)
    offers = [
        [_with(config, model) for model in config.model.offers(looked, split)]
        for config, split in zip(configs, splits, strict=True)
    ]
    if graph.num_nodes > MOST:
        return [first for first, *_ in offers]
    trials = {
        place: _Trial.of(offered, graph, split)
        for place, (offered, split) in enumerate(zip(offers, splits, strict=True))
        if len(offered) > 1 and int(graph.masks["train"][:, split].sum()) >= FEWEST
    }
    if trials:
        _try(list(trials.values()), graph, list(callbacks))
    return [trials[place].best() if place in trials else offered[0] for place, offered in enumerate(offers)]


def _say_open(config: RunConfig) -> None:
    for name in (name for name in config.model.undecided if getattr(config.model, name) == AUTO):
        logger.warning(
            "Ranks do not look at labels to decide what %s %s: everything that 'auto' chooses from. Name it with "
            "--%s to have less.",
            config.model.title,
            name,
            name.replace("_", "-"),
        )


def _with(config: RunConfig, model: Any) -> RunConfig:
    """With a model's settings, and its wishes for training where these were not given by hand."""
    before = config.model.wished_training
    wished = {name: value for name, value in model.wished_training.items() if name in before}
    more = {name: value for name, value in wished.items() if getattr(config.training, name) == before[name]}
    return replace(config, model=model, training=replace(config.training, **more))


@dataclass(frozen=True, eq=False)
class _Trial:
    """The settings that a split is offered, and what models with them say of training nodes that they did not see.

    Attributes:
        offered: The settings, the first of which are taken unless others are surely better.
        split: The number of the split.
        trained: Its training nodes.
        part: Of each, the fifth that it is in.
        folds: How many of the fifths are held out, each of another model.
        said: What was found, by the place in ``offered``: class probabilities of :attr:`nodes`.
    """

    offered: Sequence[RunConfig]
    split: int
    trained: Integers
    part: Integers
    folds: int
    y: Integers
    scoring: Scoring
    said: dict[int, Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, offered: Sequence[RunConfig], graph: Graph, split: int) -> _Trial:
        trained = graph.masks["train"][:, split].nonzero().view(-1).cpu().numpy()
        part = np.random.default_rng(0).permutation(len(trained)) % PARTS
        folds = min(-(-HELD * PARTS // max(len(trained), 1)), PARTS)
        y = graph.y.cpu().numpy()[trained[part < folds]]
        return cls(offered, split, trained, part, folds, y, scoring(graph, offered[0].training))

    @property
    def nodes(self) -> Integers:
        """Those held out."""
        return self.trained[self.part < self.folds]

    def column(self, fold: int) -> int:
        """Of the masks of all trials; it decides what is dropped, which does not depend on the other splits."""
        return self.split * PARTS + fold

    def divide(self, masks: Mapping[str, torch.Tensor]) -> None:
        """Put the nodes of its folds into columns of masks."""
        for fold in range(self.folds):
            masks["train"][self.trained[self.part != fold], self.column(fold)] = True
            masks["val"][self.trained[self.part == fold], self.column(fold)] = True

    def hear(self, number: int, said: Sequence[Floats | None]) -> None:
        """What models with some settings say of all nodes, one of each fold; all must say something."""
        found = np.zeros((len(self.trained), 0))
        for fold, each in enumerate(said):
            if each is None:
                return
            found = found if found.shape[1] else np.zeros((len(self.trained), each.shape[1]))
            found[self.part == fold] = each[self.trained[self.part == fold]]
        self.said[number] = found[self.part < self.folds]

    def score(self, number: int, nodes: Any = slice(None)) -> float:
        return float(scores(self.said[number][np.newaxis, nodes], self.y[nodes], self.scoring)[0])

    def best(self) -> RunConfig:
        """The settings that score best, if surely better than the first."""
        gains = {number: self._gain(number) for number in self.said} if 0 in self.said else {}
        return self.offered[max(gains, key=lambda number: gains[number], default=0)]

    def _gain(self, number: int) -> float:
        """Over the first settings; 0 where that is not sure."""
        groups = [np.flatnonzero(np.arange(len(self.nodes)) % GROUPS == group) for group in range(GROUPS)]
        found = np.array([self.score(number, group) - self.score(0, group) for group in groups])
        found = found[np.isfinite(found)]
        if len(found) < 2 or found.mean() <= SURE * found.std(ddof=1) / len(found) ** 0.5:
            return 0.0
        return float(found.mean())


class _Told(Callback):
    """Passes on how a short training goes, but not its end: no run has come to an end."""

    def __init__(self, others: Sequence[Callback], number: int, count: int) -> None:
        self.others, self.kind = others, f"settings {number + 1} of {count} tried on training labels"

    def on_train_begin(self, info: dict[str, Any]) -> None:
        for other in self.others:
            other.on_train_begin(info | {"model": f"{info['model']}, {self.kind}"})

    def on_epoch_end(self, metrics: dict[str, float]) -> None:
        for other in self.others:
            other.on_epoch_end(metrics)


def _try(trials: Sequence[_Trial], graph: Graph, callbacks: Sequence[Callback]) -> None:
    """Train what each split is offered, the models of one shape together."""
    columns = PARTS * (1 + max(trial.split for trial in trials))
    masks = {name: torch.zeros(graph.num_nodes, columns, dtype=torch.bool) for name in ("train", "val", "test")}
    for trial in trials:
        trial.divide(masks)
    divided, count = graph.with_masks(masks), max(len(trial.offered) for trial in trials)
    for number in range(count):
        kinds: dict[object, list[_Attempt]] = {}
        for trial in trials:
            if number == 0 or (number < len(trial.offered) and 0 in trial.said):
                config, least = _shortened(trial.offered[number], graph), trial.score(0) - FAR if number else 0.0
                attempts = [_Attempt(trial, config, trial.column(fold), least) for fold in range(trial.folds)]
                kinds.setdefault(config.model.shape(), []).extend(attempts)
        for attempts in kinds.values():
            told = _predictions(attempts, divided, _Told(callbacks, number, count))
            for trial in dict.fromkeys(attempt.trial for attempt in attempts):
                trial.hear(number, [told.get(attempt) for attempt in attempts if attempt.trial is trial])


def _shortened(config: RunConfig, graph: Graph) -> RunConfig:
    most = min(EPOCHS, max(FEWEST_EPOCHS, ROWS // graph.num_nodes))
    epochs, patience = min(config.training.epochs, most), min(config.training.patience, PATIENCE)
    return replace(config, training=replace(config.training, epochs=epochs, patience=patience))


@dataclass(frozen=True, eq=False)
class _Attempt:
    """A model that is trained on a column of the masks for a trial, and given up when it stays below ``least``."""

    trial: _Trial
    config: RunConfig
    column: int
    least: float


def _predictions(attempts: Sequence[_Attempt], graph: Graph, told: Callback) -> dict[_Attempt, Floats]:
    """Class probabilities of all nodes by models of one shape; those given up and failed are left out."""
    from glognn.experiments.run import initial_models

    model, training = attempts[0].config.model, attempts[0].config.training
    found: dict[_Attempt, Floats] = {}
    most = members_at_once(model, graph, training)
    while attempts:
        part = attempts[: max(most, 1)]

        def judge(epoch: int, going: Mapping[int, History], part: Sequence[_Attempt] = part) -> list[int]:
            known = {member: history.best.val for member, history in going.items() if history.best}
            return [member for member, score in known.items() if epoch >= AFTER and score < part[member].least]

        try:
            models = initial_models([each.config for each in part], graph)
            endings = train_batch(
                models,
                graph,
                splits=[each.column for each in part],
                configs=[each.config.training for each in part],
                callbacks=[told],
                judge=judge,
            )
        except (TooLargeError, MemoryExhaustedError):
            if len(part) == 1:
                return found
            most = -(-len(part) // 2)
            continue
        except (InputError, TrainingError):  # a metric that the nodes held out do not have; numbers that overflow
            return found
        graph = graph.to(device=resolve_device(training.device), dtype=DTYPES[training.dtype])
        for each, ending, said in zip(part, endings, predict_alike(models, graph), strict=True):
            if isinstance(ending, TrainingResult):
                found[each] = said.cpu().double().numpy()
        attempts = attempts[len(part) :]
    return found
