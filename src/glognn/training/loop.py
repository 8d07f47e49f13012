"""Full-graph training: one step and one evaluation per epoch. The loop knows no model by name."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from glognn.errors import TrainingError
from glognn.graph.graph import Graph
from glognn.metrics import METRICS
from glognn.models.base import FollowsEpochs, NodeModel, SharesEncoding
from glognn.training.callbacks import Callback, describe
from glognn.training.checkpoint import Checkpoint, Snapshot
from glognn.training.config import TrainingConfig
from glognn.training.devices import DTYPES, resolve_device, threads
from glognn.training.evaluation import class_weights
from glognn.training.native import NativeMembers
from glognn.training.preflight import within_memory
from glognn.training.together import captures, train_one
from glognn.training.track import Track, TrainingResult

if TYPE_CHECKING:
    from torch_geometric.data import Data

logger = logging.getLogger(__name__)

ENGINE = "loop"
"""Name of this way to train, in checkpoints."""


class _SharedForward:
    """Computes the class scores for a training step and for the evaluation after it with as little work as possible.

    The weights after step t are those that step t+1 starts from. A model that computes the same in training as in
    evaluation therefore needs one forward pass per epoch; one with ``encode`` and ``decode`` needs one ``encode``.
    """

    def __init__(self, model: NodeModel[Any], inputs: Any) -> None:
        self.model = model
        self.inputs = inputs
        steady = not isinstance(model, FollowsEpochs)
        self._whole = steady and model.deterministic
        self._sharing = model if steady and isinstance(model, SharesEncoding) else None
        self._logits: Tensor | None = None
        self._encoded: Any = None

    def for_training(self) -> Tensor:
        """Class scores with gradients, in training mode."""
        self.model.train()
        if self._logits is not None:
            logits, self._logits = self._logits, None
            return logits
        if self._sharing is None:
            return self.model.logits(self.inputs)
        encoded = self._sharing.encode(self.inputs) if self._encoded is None else self._encoded
        self._encoded = None
        return self._sharing.decode(encoded, self.inputs)

    def for_evaluation(self) -> Tensor:
        """Class scores without gradients, in evaluation mode; keeps what the next step can use."""
        self.model.eval()
        if self._whole:
            self._logits = self.model.logits(self.inputs)
            return self._logits.detach()
        if self._sharing is not None:
            self._encoded = self._sharing.encode(self.inputs)
        with torch.no_grad():
            if self._sharing is None:
                return self.model.logits(self.inputs)
            return self._sharing.decode(self._encoded, self.inputs).detach()


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
    result to rounding but other random numbers for dropout; ``GLOGNN_NATIVE=0`` in the environment does without. On a
    GPU epochs of a graph that is not too large are recorded once and replayed, with such a difference too.

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
    device, dtype = resolve_device(config.device), DTYPES[config.dtype]
    graph = data if isinstance(data, Graph) else Graph.from_data(data, model.graph_config, dtype=dtype)
    graph.check_trainable(split, tested=False)
    with (
        within_memory(model.config, graph, config),
        threads(config.threads),
        torch.random.fork_rng([device] if device.type == "cuda" else []),
    ):
        torch.manual_seed(config.seed)
        graph = graph.to(device=device, dtype=dtype)
        model.to(device=device, dtype=dtype)
        if NativeMembers.takes(model, config, graph) or captures(model, config, graph):
            return train_one(model, graph, split=split, config=config, callbacks=callbacks, checkpoint=checkpoint)
        return _Session(model, graph, split, config, list(callbacks), checkpoint).run()


class _Session:
    """One training: its state, and the steps that change it."""

    def __init__(
        self,
        model: NodeModel[Any],
        graph: Graph,
        split: int,
        config: TrainingConfig,
        callbacks: list[Callback],
        checkpoint: Checkpoint | None,
    ) -> None:
        self.model = model
        self.config = config
        self.split = split
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.metric = METRICS[config.metric]
        self.nodes = graph.indices(split)
        self.labels = {name: graph.y[index] for name, index in self.nodes.items()}
        balanced = config.class_weight == "balanced"
        weights = class_weights(self.labels["train"], graph.num_classes) if balanced else None
        self.class_weights = None if weights is None else weights.to(next(model.parameters()).dtype)
        self.forward = _SharedForward(model, model.prepare(graph))
        self.device = graph.y.device
        kind = torch.optim.Adam if config.optimizer == "adam" else torch.optim.AdamW
        self.optimizer = kind(model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay, fused=True)
        self.track = Track(config)
        self.best_weights: dict[str, Tensor] = {}
        self.evaluated = torch.empty(0)

    def run(self) -> TrainingResult:
        self._restore()
        self._announce()
        track = self.track
        started = time.perf_counter() - track.seconds
        saved = time.perf_counter()
        stopped_by = track.stop_reason()
        while not stopped_by:
            try:
                self._epoch(started)
            except TrainingError as error:
                raise track.stopped(error, track.epoch + 1) from None
            logger.debug("%s", track.curve[-1])
            for callback in self.callbacks:
                callback.on_epoch_end(dict(track.curve[-1]))
            stopped_by = track.stop_reason()
            due = self.checkpoint is not None and time.perf_counter() - saved >= self.checkpoint.interval
            if due and not stopped_by:
                self._save()
                saved = time.perf_counter()
        return self._finish(stopped_by)

    def _announce(self) -> None:
        info = describe(self.model, self.config, self.split, self.track.epoch, self.device)
        logger.info("training %s", info)
        for callback in self.callbacks:
            callback.on_train_begin(dict(info))

    def _epoch(self, started: float) -> None:
        if isinstance(self.model, FollowsEpochs):
            self.model.on_epoch(self.track.epoch + 1)
        logits = self.forward.for_training()
        loss = F.cross_entropy(logits[self.nodes["train"]], self.labels["train"], self.class_weights)
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        del logits
        evaluated = self.forward.for_evaluation()
        train_loss = float(loss.detach())
        val_loss = float(F.cross_entropy(evaluated[self.nodes["val"]], self.labels["val"]))
        self.track.check_finite(train_loss, val_loss)
        self.evaluated = evaluated
        scores = self._score("train"), self._score("val")
        improved = self.track.add(
            train_loss, val_loss, *scores, lambda: self._score("test"), time.perf_counter() - started
        )
        if improved and self.config.selection == "best":
            self.best_weights = {name: t.detach().clone() for name, t in self.model.state_dict().items()}

    def _score(self, name: str) -> float:
        return self.metric(self.evaluated[self.nodes[name]], self.labels[name])

    def _finish(self, stopped_by: str) -> TrainingResult:
        result = self.track.result(self._score("test"), stopped_by)
        if self.config.selection == "best":
            self.model.load_state_dict(self.best_weights)
        self.model.eval()
        logger.info("finished after %d epochs (%s): %s", result.last.epoch, stopped_by, asdict(result.selected))
        for callback in self.callbacks:
            callback.on_train_end(result)
        return result

    def _save(self) -> None:
        """Keep the state, unless a weight is not finite: what is there is then the last good one."""
        assert self.checkpoint is not None
        for name, tensor in self.model.state_dict().items():
            if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
                error = self.track.diverged(f"The weights '{name}' are not finite")
                raise self.track.stopped(error, self.track.epoch)
        tensors = {f"model/{name}": tensor for name, tensor in self.model.state_dict().items()}
        tensors |= {f"best/{name}": tensor for name, tensor in self.best_weights.items()}
        for index, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer/{index}/{name}": tensor for name, tensor in state.items()}
        tensors["random/cpu"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["random/cuda"] = torch.cuda.get_rng_state(self.device)
        self.checkpoint.save(Snapshot(tensors, self.track.values()), ENGINE)
        self.track.saved = self.track.epoch

    def _restore(self) -> None:
        snapshot = None if self.checkpoint is None else self.checkpoint.load(ENGINE)
        if snapshot is None:
            return
        self.model.load_state_dict(snapshot.part("model"))
        self.best_weights = {name: t.to(self.device) for name, t in snapshot.part("best").items()}
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in snapshot.part("optimizer").items():
            index, _, key = name.partition("/")
            state.setdefault(int(index), {})[key] = tensor
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": state, "param_groups": groups})
        torch.set_rng_state(snapshot.tensors["random/cpu"])
        if self.device.type == "cuda" and "random/cuda" in snapshot.tensors:
            torch.cuda.set_rng_state(snapshot.tensors["random/cuda"], self.device)
        self.track.restore(snapshot.values)
        logger.info("going on from epoch %d", self.track.epoch)
