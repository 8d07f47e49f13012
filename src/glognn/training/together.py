"""Training many models of one shape together, as one batch: splits, seeds, and trials of a search.

Without dropout a member ends as it would alone, to rounding. With dropout each member has its own random stream, which
is another one than in a training alone; means agree, single runs do not. A member leaves the batch when it stops.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from glognn.errors import InputError, TrainingError
from glognn.graph.graph import Graph
from glognn.models.base import NodeModel
from glognn.models.configs import ModelConfig
from glognn.training.callbacks import Callback, describe
from glognn.training.captured import CapturedMembers
from glognn.training.checkpoint import Checkpoint, Snapshot
from glognn.training.config import TrainingConfig
from glognn.training.devices import DTYPES, resolve_device, threads
from glognn.training.members import Members
from glognn.training.native import NativeMembers
from glognn.training.preflight import Need, free_memory, sizes_of, within_memory
from glognn.training.track import Track, TrainingResult

logger = logging.getLogger(__name__)

SHARED = ("metric", "class_weight", "dtype", "device", "threads", "selection")
"""Training settings that all members of a batch have in common; the others are each member's own."""

Outcome = TrainingResult | TrainingError

MEMORY = {"cpu": 2 * 2**30, "cuda": 16 * 2**30}
"""Bytes a batch may take."""


def members_at_once(model: ModelConfig, graph: Graph, training: TrainingConfig) -> int:
    """How many models with these settings may train together; 1 means that they had better train alone."""
    device = resolve_device(training.device)
    free = free_memory(device)
    budget = MEMORY[device.type] if free is None else min(MEMORY[device.type], free)
    return _members_within(budget, model, graph, training)


def _members_within(budget: int, model: ModelConfig, graph: Graph, training: TrainingConfig) -> int:
    two = Need.of(model, sizes_of(graph), members=2, value_bytes=DTYPES[training.dtype].itemsize)
    return max(1, 2 * (budget - two.inputs) // (two.weights + two.activations))


class Watcher:
    """Told how a batch goes on; derive and override. Members are known by their place in the list given."""

    def on_begin(self, start_epoch: int, finished: Sequence[int]) -> None:
        """Before the first epoch; ``finished`` ended before the checkpoint that training goes on from."""

    def on_epoch_end(self, epoch: int, alive: Sequence[int], tracks: Sequence[Track]) -> Sequence[int]:
        """After each epoch, with the tracks of those that took part; members named in the answer are given up."""
        return ()

    def on_member_end(self, member: int, outcome: Outcome) -> None:
        """A member stopped; its model has its selected weights. What it came to must be safe before returning."""

    def on_saved(self, members: Sequence[int]) -> None:
        """No checkpoint needs these members any more."""


def train_together(
    models: Sequence[NodeModel[Any]],
    graph: Graph,
    *,
    splits: Sequence[int],
    configs: Sequence[TrainingConfig],
    watcher: Watcher | None = None,
    checkpoint: Checkpoint | None = None,
    with_weights: bool = True,
) -> list[Outcome | None]:
    """Train models of one shape on one graph; each is left with its selected weights, in evaluation mode.

    Args:
        models: One model for each member, of equal ``config.shape()``.
        graph: The prepared graph.
        splits: The split of each member.
        configs: The settings of each member, alike in :data:`SHARED`.
        watcher: Hooks.
        checkpoint: Where to save the state now and then, and whenever a member ends; what is there is gone on from.
        with_weights: ``False`` leaves the models as they are, when only scores are wanted.

    Returns:
        What each member came to: a result, an error that concerns it alone, or ``None`` when it was given up or had
        ended before.
    """
    shapes = {(type(model), model.config.shape()) for model in models}
    settings = {tuple(getattr(config, name) for name in SHARED) for config in configs}
    if len(shapes) != 1 or len(settings) != 1:
        raise InputError(f"Models trained together must be of one shape and share {', '.join(SHARED)}.")
    config = configs[0]
    device, dtype = resolve_device(config.device), DTYPES[config.dtype]
    for split in set(splits):
        graph.check_trainable(split)
    with within_memory(models[0].config, graph, config, len(models)), threads(config.threads):
        graph = graph.to(device=device, dtype=dtype)
        for model in models:
            model.to(device=device, dtype=dtype)
        batch = _Batch(models, graph, splits, configs, watcher or Watcher(), checkpoint, with_weights)
        return batch.run()


class _Callbacks(Watcher):
    """Passes on how a batch of one goes to the callbacks of a training alone."""

    def __init__(self, callbacks: Iterable[Callback], what: tuple[NodeModel[Any], TrainingConfig, int]) -> None:
        self.callbacks = list(callbacks)
        self._what = what

    def on_begin(self, start_epoch: int, finished: Sequence[int]) -> None:
        model, config, split = self._what
        info = describe(model, config, split, start_epoch, next(model.parameters()).device)
        logger.info("training %s", info)
        for callback in self.callbacks:
            callback.on_train_begin(dict(info))

    def on_epoch_end(self, epoch: int, alive: Sequence[int], tracks: Sequence[Track]) -> Sequence[int]:
        for track in tracks:
            logger.debug("%s", track.curve[-1])
            for callback in self.callbacks:
                callback.on_epoch_end(dict(track.curve[-1]))
        return ()

    def on_member_end(self, member: int, outcome: Outcome) -> None:
        if isinstance(outcome, TrainingResult):
            logger.info("finished after %d epochs (%s)", outcome.last.epoch, outcome.stopped_by)
            for callback in self.callbacks:
                callback.on_train_end(outcome)


def train_one(
    model: NodeModel[Any],
    graph: Graph,
    *,
    split: int,
    config: TrainingConfig,
    callbacks: Iterable[Callback],
    checkpoint: Checkpoint | None,
) -> TrainingResult:
    """Train one model as a batch of one, with callbacks; see :func:`~glognn.training.loop.train`."""
    watcher = _Callbacks(callbacks, (model, config, split))
    batch = _Batch([model], graph, [split], [config], watcher, checkpoint, with_weights=True)
    [outcome] = batch.run()
    if isinstance(outcome, TrainingError):
        raise outcome
    assert outcome is not None
    return outcome


def captures(model: NodeModel[Any], config: TrainingConfig, graph: Graph) -> bool:
    """Whether one model alone had better be trained as a batch of one: on a GPU, where two would fit into a batch.

    On a small graph an epoch's kernels take longer to launch than to run, which a CUDA graph saves. What is free at the
    moment does not count: a run must go on from its checkpoint as it was begun.
    """
    if resolve_device(config.device).type != "cuda" or not CapturedMembers.can_capture(model, config.metric):
        return False
    return _members_within(MEMORY["cuda"], model.config, graph, config) > 1


def _engine(
    graph: Graph, models: Sequence[NodeModel[Any]], configs: Sequence[TrainingConfig]
) -> type[Members | NativeMembers]:
    """The fastest way to train these members here."""
    if graph.y.device.type == "cuda":
        return CapturedMembers
    if all(NativeMembers.takes(model, config, graph) for model, config in zip(models, configs, strict=True)):
        return NativeMembers
    return Members


class _Batch:
    """The members still training, and what those that stopped came to."""

    def __init__(
        self,
        models: Sequence[NodeModel[Any]],
        graph: Graph,
        splits: Sequence[int],
        configs: Sequence[TrainingConfig],
        watcher: Watcher,
        checkpoint: Checkpoint | None,
        with_weights: bool,
    ) -> None:
        self.models = models
        self.watcher = watcher
        self.checkpoint = checkpoint
        self.with_weights = with_weights
        self.remembers = with_weights and configs[0].selection == "best"
        self.alive = list(range(len(models)))
        self.inside = list(self.alive)
        self.finished: list[int] = []
        self.tracks = [Track(config) for config in configs]
        self.outcomes: list[Outcome | None] = [None] * len(models)
        engine = _engine(graph, models, configs)
        snapshot = None if checkpoint is None else checkpoint.load(engine.engine)
        if snapshot is not None:
            self.alive, self.inside = snapshot.values["alive"], snapshot.values["inside"]
            self.finished = [i for i in range(len(models)) if i not in self.alive]
        self.members = engine(
            graph,
            [models[i] for i in self.inside],
            [configs[i] for i in self.inside],
            [splits[i] for i in self.inside],
        )
        if snapshot is not None:
            self.members.restore(snapshot.tensors)
            for i, values in zip(self.alive, snapshot.values["tracks"], strict=True):
                self.tracks[i].restore(values)

    def run(self) -> list[Outcome | None]:
        epoch = self.tracks[self.alive[0]].epoch if self.alive else 0
        self.watcher.on_begin(epoch, self.finished)
        saved = time.perf_counter()
        while self.alive:
            epoch += 1
            ended = self._epoch(epoch)
            due = self.checkpoint is not None and time.perf_counter() - saved >= self.checkpoint.interval
            if self.checkpoint is not None and (ended or due):
                ended += self._end_diverged()
            if self.checkpoint is not None and self.alive and (ended or due):
                self._save()
                saved = time.perf_counter()
            if ended:
                self.finished += ended
                self.watcher.on_saved(ended)
        return self.outcomes

    def _epoch(self, epoch: int) -> list[int]:
        """One step and one evaluation; the members that ended with it."""
        started = time.perf_counter()
        self.members.on_epoch(epoch)
        values = torch.cat([self.members.step().double().unsqueeze(0), self.members.evaluate()]).tolist()
        share = (time.perf_counter() - started) / len(self.alive)
        alive = set(self.alive)
        ended: dict[int, Outcome] = {}
        improved = []
        for place, i in enumerate(self.inside):
            if i not in alive:
                continue
            train_loss, val_loss, train, val, test = (row[place] for row in values)
            track = self.tracks[i]
            try:
                track.check_finite(train_loss, val_loss)
            except TrainingError as error:
                ended[i] = track.stopped(error, epoch)
                continue
            if track.add(train_loss, val_loss, train, val, test, track.seconds + share):
                improved.append(place)
            if stopped_by := track.stop_reason():
                ended[i] = track.result(test, stopped_by, self.members.computed_by)
        if self.remembers and improved:
            self.members.remember(improved)
        going = [i for i in self.alive if not isinstance(ended.get(i), TrainingError)]
        given_up = self.watcher.on_epoch_end(epoch, going, [self.tracks[i] for i in going])
        for i, outcome in ended.items():
            self._end(i, outcome)
        self._leave([*ended, *given_up])
        return list(ended)

    def _end(self, i: int, outcome: Outcome) -> None:
        self.outcomes[i] = outcome
        if self.with_weights and isinstance(outcome, TrainingResult):
            self.models[i].load_state_dict(self.members.state_dict(self.inside.index(i), best=self.remembers))
            self.models[i].eval()
        logger.info("member %d ended in epoch %d", i, self.tracks[i].epoch)
        self.watcher.on_member_end(i, outcome)

    def _leave(self, gone: list[int]) -> None:
        """Go on without some members. Those that stopped stay in the batch until leaving it is worth the trouble."""
        self.alive = [i for i in self.alive if i not in gone]
        if self.alive and len(self.alive) <= self.members.worth_leaving * len(self.inside):
            if len(self.alive) < len(self.inside):
                self.members.keep([self.inside.index(i) for i in self.alive])
            self.inside = list(self.alive)

    def _end_diverged(self) -> list[int]:
        """End the members with a weight that is not finite, so that no checkpoint holds them."""
        finite = dict(zip(self.inside, self.members.finite(), strict=True))
        wrong = [i for i in self.alive if not finite[i]]
        for i in wrong:
            track = self.tracks[i]
            self._end(i, track.stopped(track.diverged("A weight is not finite"), track.epoch))
        self._leave(wrong)
        return wrong

    def _save(self) -> None:
        assert self.checkpoint is not None
        values = {
            "alive": self.alive,
            "inside": self.inside,
            "tracks": [self.tracks[i].values() for i in self.alive],
        }
        self.checkpoint.save(Snapshot(self.members.snapshot(), values), self.members.engine)
        for i in self.alive:
            self.tracks[i].saved = self.tracks[i].epoch
