"""Full-graph training of one model, or of many as one: one step and one evaluation per epoch.

The driver owns epochs, curves, stopping, best weights, checkpoints and callbacks; an engine computes. It knows neither
a model nor an engine by name.

Models that train as one share graph and shape and nothing else: each ends as it would alone, to rounding, and leaves
when it stops. Its dropout follows the same random stream as alone, but for runs alone on a GPU that are not captured.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from glognn.errors import InputError, MemoryExhaustedError, NotFiniteError, RoundingWarning, TrainingError, about
from glognn.graph.graph import Graph
from glognn.models.base import NodeModel
from glognn.models.configs import ModelConfig
from glognn.training.callbacks import Callback
from glognn.training.checkpoint import Checkpoint, Snapshot
from glognn.training.config import TrainingConfig
from glognn.training.devices import DTYPES, precision, resolve_device, threads
from glognn.training.engines import Members, choose
from glognn.training.history import History, TrainingResult
from glognn.training.preflight import within_memory
from glognn.training.rounding import rounding_warning

if TYPE_CHECKING:
    from torch_geometric.data import Data

logger = logging.getLogger(__name__)

SHARED = (
    "metric",
    "positive_class",
    "top_k",
    "class_weight",
    "dtype",
    "precision",
    "device",
    "threads",
    "selection",
    "engine",
)
"""Training settings that models which train as one have in common; the others are each member's own."""

Ending = TrainingResult | TrainingError
"""What a member came to."""

Stop = Callable[[Mapping[int, History]], str]
"""Told the histories of the members still training; why all of them stop now, with their best weights so far, or an
empty string.
"""

Judge = Callable[[int, Mapping[int, History]], Iterable[int]]
"""Told an epoch and the histories of the members still training; those named in the answer are given up."""


def train(
    model: NodeModel[Any],
    data: Data | Graph,
    *,
    split: int = 0,
    config: TrainingConfig | None = None,
    callbacks: Iterable[Callback] = (),
    checkpoint: Checkpoint | None = None,
) -> TrainingResult:
    """Train a model on one split of a graph and leave it with the selected weights, in evaluation mode.

    The seed of ``config`` rules dropout; torch's own random state is as before when this returns. The initial
    weights are those the model comes with. The model is moved to the device and precision of ``config``.

    GloGNN and GloGNN++ on a CPU in float32 are trained by compiled code where the installation has it, with the same
    result to rounding but other random numbers for dropout; ``engine="eager"`` does without. On a GPU epochs of a graph
    that is not too large are recorded once and replayed. The result says which engine computed it, and why.

    Args:
        model: Any :class:`~glognn.models.base.NodeModel`.
        data: A PyTorch Geometric ``Data`` with masks (every edge is then made to go both ways, unless the model keeps
            directions), or a ``Graph`` that was prepared otherwise.
        split: Which column of the masks.
        config: Settings; the defaults when omitted.
        callbacks: See :class:`~glognn.training.callbacks.Callback`.
        checkpoint: Where to save the state now and then; if it holds one, training goes on from there and ends
            with the same bits (on CPU) as if it had never been interrupted.
    """
    config = TrainingConfig() if config is None else config
    graph = data if isinstance(data, Graph) else Graph.from_data(data, model.graph_config, dtype=DTYPES[config.dtype])
    [ending] = train_batch([model], graph, splits=[split], configs=[config], callbacks=callbacks, checkpoint=checkpoint)
    if isinstance(ending, TrainingError):
        raise ending
    assert ending is not None
    return ending


def train_batch(
    models: Sequence[NodeModel[Any]],
    graph: Graph,
    *,
    splits: Sequence[int],
    configs: Sequence[TrainingConfig],
    callbacks: Iterable[Callback] = (),
    judge: Judge | None = None,
    checkpoint: Checkpoint | None = None,
    with_weights: bool = True,
    stop: Stop | None = None,
) -> list[Ending | None]:
    """Train models of one shape on one graph; each is left with its selected weights, in evaluation mode.

    Args:
        models: One model for each member, of equal ``config.shape()``.
        graph: The prepared graph.
        splits: The split of each member.
        configs: The settings of each member, alike in :data:`SHARED`.
        callbacks: See :class:`~glognn.training.callbacks.Callback`.
        judge: Asked after each epoch which members to give up.
        checkpoint: Where to save the state now and then, and whenever a member ends; what is there is gone on from.
        with_weights: ``False`` leaves the models as they are, when only scores are wanted.
        stop: Asked after each epoch whether to stop all members now.

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
        graph.check_trainable(split, tested=False)
    with (
        within_memory(models[0].config, graph, config, len(models)),
        threads(config.threads),
        precision(config.precision, device),
        torch.random.fork_rng([device] if device.type == "cuda" else []),
    ):
        torch.manual_seed(config.seed)
        graph = graph.to(device=device, dtype=dtype)
        for model in models:
            model.to(device=device, dtype=dtype)
        members = Members(graph, models, configs, splits)
        return _Driver(members, list(callbacks), judge, checkpoint, with_weights, stop).run()


class _Driver:
    """The members still training, and what those that stopped came to."""

    def __init__(
        self,
        members: Members,
        callbacks: list[Callback],
        judge: Judge | None,
        checkpoint: Checkpoint | None,
        with_weights: bool,
        stop: Stop | None,
    ) -> None:
        self.members, self.models, self.configs = members, members.models, members.configs
        self.callbacks = callbacks
        self.judge = judge
        self.checkpoint = checkpoint
        self.with_weights = with_weights
        self.stop = stop
        self.remembers = with_weights and self.configs[0].selection == "best"
        self.alive = list(range(len(self.models)))
        self.inside = list(self.alive)
        settings = [_settings(model.config) for model in self.models]
        self.histories = [History(*each) for each in zip(self.configs, settings, strict=True)]
        self.endings: list[Ending | None] = [None] * len(self.models)
        snapshot = None if checkpoint is None else checkpoint.load()
        with about(f"'{checkpoint.path}'") if checkpoint is not None and snapshot is not None else nullcontext():
            self.choice = choose(members, "" if snapshot is None else snapshot.engine)
        if checkpoint is not None and snapshot is not None:
            with checkpoint.restoring():
                self._restore_values(snapshot.values)
        self.warnings = tuple(filter(None, [rounding_warning(self.models[0], members.graph)]))
        self.engine = self.choice.engine(members.only(self.inside))
        if checkpoint is not None and snapshot is not None:
            with checkpoint.restoring():
                if self.remembers and not any(name.partition("/")[0] == "best" for name in snapshot.tensors):
                    raise InputError("its best weights are absent")
                self.engine.restore(snapshot.tensors)

    def _restore_values(self, values: dict[str, Any]) -> None:
        alive, inside = values["alive"], values["inside"]
        if not alive or not set(alive) <= set(inside) <= set(self.inside) or len(set(inside)) < len(inside):
            raise InputError(f"members {inside!r:.60} of {len(self.models)}, of which {alive!r:.60} go on")
        self.alive, self.inside = alive, inside
        for i, history in zip(alive, values["histories"], strict=True):
            self.histories[i].restore(history)

    def run(self) -> list[Ending | None]:
        epoch = self.histories[self.alive[0]].epoch
        self._begin(epoch)
        saved, ended = time.perf_counter(), list[int]()
        while self.alive:
            epoch += 1
            ended += self._epoch(epoch)
            if self.checkpoint is not None and self.alive:
                if not self.checkpoint.due(time.perf_counter() - saved, ended=bool(ended)):
                    continue
                ended += self._end_diverged()
                if self.alive:
                    self._save()
                saved = time.perf_counter()
            if ended:
                self._tell("on_saved", ended)
                ended = []
        return self.endings

    def _tell(self, event: str, *what: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, event)(*what)

    def _begin(self, epoch: int) -> None:
        model, config = self.models[0], self.configs[0]
        info = {
            "model": model.config_class.name,
            "split": self.members.splits[0],
            "seed": config.seed,
            "epochs": max(each.epochs for each in self.configs),
            "start_epoch": epoch,
            "metric": config.metric,
            "device": str(next(model.parameters()).device),
            "engine": self.choice.engine.name,
            "num_parameters": sum(parameter.numel() for parameter in model.parameters()),
            "members": len(self.models),
            "warnings": self.warnings,
        }
        logger.info("training %s", info)
        for text in self.warnings:
            warnings.warn(text, RoundingWarning, stacklevel=5)
        self._tell("on_train_begin", info)
        if finished := [i for i in range(len(self.models)) if i not in self.alive]:
            self._tell("on_saved", finished)

    def _epoch(self, epoch: int) -> list[int]:
        """One step and one evaluation; the members that ended with it."""
        started = time.perf_counter()
        ended: dict[int, Ending] = {}
        values: list[list[float]] = []
        try:
            self.engine.begin_epoch(epoch)
            losses = self.engine.step()
            values = torch.cat([losses.double().unsqueeze(0), self.engine.evaluate()]).tolist()
        except MemoryExhaustedError:
            raise
        except TrainingError as error:
            unknown = isinstance(error, NotFiniteError)
            for i in self.alive:
                history = self.histories[i]
                ended[i] = history.stopped(history.diverged(str(error)) if unknown else error, epoch)
        share = (time.perf_counter() - started) / len(self.alive)
        improved = []
        training = set(self.alive) - set(ended)
        for place, i in enumerate(self.inside):
            if i not in training:
                continue
            train_loss, val_loss, train, val, test = (row[place] for row in values)
            history = self.histories[i]
            try:
                history.check_finite(train_loss, val_loss)
            except TrainingError as error:
                ended[i] = history.stopped(error, epoch)
                continue
            if history.add(train_loss, val_loss, train, val, test, history.seconds + share):
                improved.append(place)
        if self.remembers and improved:
            self.engine.remember(improved)
        going = {i: self.histories[i] for i in self.alive if i not in ended}
        stop = self.stop(going) if going and self.stop is not None else ""
        if stop and self.checkpoint is not None:
            self.checkpoint.keep_stopped(stop, partial(self._stopped, going))
        for i, history in going.items():
            if stopped_by := history.stop_reason() or stop:
                ended[i] = history.result(
                    values[-1][self.inside.index(i)],
                    stopped_by,
                    engine=self.engine.computed_by,
                    engine_reason=self.choice.reason,
                    member=i,
                    warnings=self.warnings,
                )
        if going:
            self._tell_epoch([history.curve[-1] for history in going.values()])
        given_up = [] if self.judge is None else list(self.judge(epoch, going))
        for i, ending in ended.items():
            self._end(i, ending)
        self._leave([*ended, *given_up])
        return list(ended)

    def _tell_epoch(self, rows: list[dict[str, float]]) -> None:
        logger.debug("%s", rows)
        if not self.callbacks:
            return
        metrics = rows[0]
        if len(rows) > 1:
            totals = [sum(column) for column in zip(*(row.values() for row in rows), strict=True)]
            metrics = {name: total / len(rows) for name, total in zip(metrics, totals, strict=True)}
            metrics["seconds"] *= len(rows)
        for callback in self.callbacks:
            callback.on_epoch_end(dict(metrics))

    def _end(self, i: int, ending: Ending) -> None:
        self.endings[i] = ending
        logger.info("member %d ended in epoch %d: %s", i, self.histories[i].epoch, getattr(ending, "selected", ending))
        if isinstance(ending, TrainingError):
            return
        if self.with_weights:
            self.models[i].load_state_dict(self.engine.state(self.inside.index(i), best=self.remembers))
            self.models[i].eval()
        self._tell("on_train_end", ending)

    def _leave(self, gone: list[int]) -> None:
        """Go on without some members. Those that stopped stay in the batch until leaving it is worth the trouble."""
        self.alive = [i for i in self.alive if i not in gone]
        if self.alive and len(self.alive) <= self.engine.worth_leaving * len(self.inside):
            if len(self.alive) < len(self.inside):
                self.engine.keep([self.inside.index(i) for i in self.alive])
            self.inside = list(self.alive)

    def _end_diverged(self) -> list[int]:
        """End the members with a weight that is not finite, so that no checkpoint holds them."""
        wrong = []
        for i in self.alive:
            history = self.histories[i]
            if bad := self.engine.not_finite(self.inside.index(i)):
                wrong.append(i)
                self._end(i, history.stopped(history.diverged(f"The weights '{bad}' are not finite"), history.epoch))
        self._leave(wrong)
        return wrong

    def _snapshot(self, alive: list[int]) -> Snapshot:
        values = {
            "alive": alive,
            "inside": self.inside,
            "histories": [self.histories[i].values() for i in alive],
        }
        return Snapshot(self.engine.snapshot(), values, self.choice.engine.name)

    def _stopped(self, going: Mapping[int, History]) -> Snapshot:
        """Of members that are stopped now and would have gone on."""
        able = [i for i, history in going.items() if not history.stop_reason()]
        return self._snapshot([i for i in able if not self.engine.not_finite(self.inside.index(i))])

    def _save(self) -> None:
        assert self.checkpoint is not None
        self.checkpoint.save(self._snapshot(self.alive))
        for i in self.alive:
            self.histories[i].saved = self.histories[i].epoch


def _settings(config: ModelConfig) -> str:
    """The settings of a model that decide how large its numbers are, in words."""
    names = [name for name in config.varying if not name.endswith("dropout")]
    return ", ".join(f"{name} {getattr(config, name):g}" for name in names)
