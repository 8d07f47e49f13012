"""Full-graph training: one step and one evaluation per epoch. The loop knows no model by name."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from glognn.errors import TrainingError
from glognn.graph.graph import Graph
from glognn.metrics import METRICS
from glognn.models.base import FollowsEpochs, NodeModel, SharesEncoding
from glognn.training.callbacks import Callback
from glognn.training.checkpoint import Checkpoint, Snapshot
from glognn.training.config import TrainingConfig
from glognn.training.devices import DTYPES, resolve_device
from glognn.training.stopping import exceeds_recent_mean, out_of_patience

if TYPE_CHECKING:
    from torch_geometric.data import Data

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Scores:
    """The metric on the three sets of a split, with the model of one epoch."""

    epoch: int
    train: float
    val: float
    test: float
    val_loss: float

    def better_than(self, other: Scores | None) -> bool:
        """A higher validation score, or the same with a lower validation loss."""
        return other is None or (self.val, -self.val_loss) > (other.val, -other.val_loss)


@dataclass(frozen=True)
class TrainingResult:
    """What a training came to. The model itself is left with the weights of the ``selected`` epoch."""

    best: Scores
    last: Scores
    selected: Scores
    stopped_by: str
    seconds: float
    curve: list[dict[str, float]]


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
            return self._sharing.decode(self._encoded, self.inputs)


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
    graph.check_trainable(split)
    with _threads(config.threads), torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(config.seed)
        graph = graph.to(device=device, dtype=dtype)
        model.to(device=device, dtype=dtype)
        return _Session(model, graph, split, config, list(callbacks), checkpoint).run()


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    if count:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
        self.forward = _SharedForward(model, model.prepare(graph))
        self.device = graph.y.device
        kind = torch.optim.Adam if config.optimizer == "adam" else torch.optim.AdamW
        self.optimizer = kind(model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay, fused=True)
        self.curve: list[dict[str, float]] = []
        self.best: Scores | None = None
        self.best_weights: dict[str, Tensor] = {}
        self.seconds = 0.0
        self.evaluated = torch.empty(0)

    def run(self) -> TrainingResult:
        self._restore()
        self._announce()
        started = time.perf_counter() - self.seconds
        saved = time.perf_counter()
        stopped_by = self._stop_reason()
        while not stopped_by:
            epoch = len(self.curve) + 1
            try:
                metrics = self._epoch(epoch)
            except TrainingError as error:
                raise TrainingError(f"Training stopped in epoch {epoch}. {error}") from None
            self.seconds = time.perf_counter() - started
            self.curve.append({"epoch": epoch, **metrics, "seconds": self.seconds})
            logger.debug("epoch %d: %s", epoch, metrics)
            for callback in self.callbacks:
                callback.on_epoch_end(dict(self.curve[-1]))
            stopped_by = self._stop_reason()
            due = self.checkpoint is not None and time.perf_counter() - saved >= self.checkpoint.interval
            if due and not stopped_by:
                self._save()
                saved = time.perf_counter()
        return self._finish(stopped_by)

    def _announce(self) -> None:
        info = {
            "model": self.model.config_class.name,
            "split": self.split,
            "seed": self.config.seed,
            "epochs": self.config.epochs,
            "start_epoch": len(self.curve),
            "metric": self.config.metric,
            "device": str(self.device),
            "num_parameters": sum(parameter.numel() for parameter in self.model.parameters()),
        }
        logger.info("training %s", info)
        for callback in self.callbacks:
            callback.on_train_begin(dict(info))

    def _epoch(self, epoch: int) -> dict[str, float]:
        if isinstance(self.model, FollowsEpochs):
            self.model.on_epoch(epoch)
        logits = self.forward.for_training()
        loss = F.cross_entropy(logits[self.nodes["train"]], self.labels["train"])
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        del logits
        evaluated = self.forward.for_evaluation()
        train_loss = float(loss.detach())
        val_loss = float(F.cross_entropy(evaluated[self.nodes["val"]], self.labels["val"]))
        if not (math.isfinite(train_loss) and math.isfinite(val_loss)):
            raise TrainingError(
                f"The loss is not finite (train {train_loss}, validation {val_loss}): lower the learning rate "
                f"(now {self.config.learning_rate:g}), raise beta1 + beta2, or use float64."
            )
        self.evaluated = evaluated
        train_score, val_score = self._score("train"), self._score("val")
        if Scores(epoch, train_score, val_score, math.nan, val_loss).better_than(self.best):
            self.best = Scores(epoch, train_score, val_score, self._score("test"), val_loss)
            if self.config.selection == "best":
                self.best_weights = {name: t.detach().clone() for name, t in self.model.state_dict().items()}
        metric = self.config.metric
        return {
            "train_loss": train_loss,
            "val_loss": val_loss,
            f"train_{metric}": train_score,
            f"val_{metric}": val_score,
        }

    def _score(self, name: str) -> float:
        return self.metric(self.evaluated[self.nodes[name]], self.labels[name])

    def _stop_reason(self) -> str:
        """Why to stop now, or an empty string."""
        config, epoch = self.config, len(self.curve)
        recent = [row["val_loss"] for row in self.curve[-config.patience - 2 :]]
        early = (config.early_stopping == "paper" and exceeds_recent_mean(recent, config.patience)) or (
            config.early_stopping == "patience"
            and self.best is not None
            and out_of_patience(epoch, self.best.epoch, config.patience)
        )
        return "early stopping" if early else ("last epoch" if epoch >= config.epochs else "")

    def _finish(self, stopped_by: str) -> TrainingResult:
        assert self.best is not None
        row, metric = self.curve[-1], self.config.metric
        last = Scores(
            len(self.curve), row[f"train_{metric}"], row[f"val_{metric}"], self._score("test"), row["val_loss"]
        )
        if self.config.selection == "best":
            self.model.load_state_dict(self.best_weights)
        self.model.eval()
        result = TrainingResult(
            best=self.best,
            last=last,
            selected=self.best if self.config.selection == "best" else last,
            stopped_by=stopped_by,
            seconds=self.seconds,
            curve=self.curve,
        )
        logger.info("finished after %d epochs (%s): %s", last.epoch, stopped_by, asdict(result.selected))
        for callback in self.callbacks:
            callback.on_train_end(result)
        return result

    def _save(self) -> None:
        assert self.checkpoint is not None
        assert self.best is not None
        tensors = {f"model/{name}": tensor for name, tensor in self.model.state_dict().items()}
        tensors |= {f"best/{name}": tensor for name, tensor in self.best_weights.items()}
        for index, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer/{index}/{name}": tensor for name, tensor in state.items()}
        tensors["random/cpu"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["random/cuda"] = torch.cuda.get_rng_state(self.device)
        values = {"curve": self.curve, "best": asdict(self.best), "seconds": self.seconds}
        self.checkpoint.save(Snapshot(tensors, values))

    def _restore(self) -> None:
        snapshot = None if self.checkpoint is None else self.checkpoint.load()
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
        self.curve = snapshot.values["curve"]
        self.best = Scores(**snapshot.values["best"])
        self.seconds = snapshot.values["seconds"]
        logger.info("going on from epoch %d", len(self.curve))
