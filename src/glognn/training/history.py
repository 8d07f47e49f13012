"""What is known of one training so far: its curve, its best epoch, and whether to stop."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from glognn.errors import InputError, TrainingError
from glognn.records import NUMBER, Form, misfit
from glognn.training.config import TrainingConfig
from glognn.training.stopping import exceeds_recent_mean, out_of_patience

_LARGE_LOSS = 1e4
"""Without a step, where chance has the logarithm of the number of classes: scores of such a size overflow soon."""
_BEST: Form = {"epoch": int, "train": NUMBER, "val": NUMBER, "test": (*NUMBER, type(None)), "val_loss": NUMBER}


@dataclass(frozen=True)
class Scores:
    """The metric on the three sets of a split, with the model of one epoch; no ``test`` where no node is for that."""

    epoch: int
    train: float
    val: float
    test: float | None
    val_loss: float

    def __post_init__(self) -> None:
        if self.test is not None and math.isnan(self.test):
            object.__setattr__(self, "test", None)


@dataclass(frozen=True)
class TrainingResult:
    """What a training came to. The model itself is left with the weights of the ``selected`` epoch.

    ``engine`` is what computed it (``eager``, ``stacked``, ``captured``, ``native`` or ``boosted``), ``engine_reason``
    why no faster one did, ``member`` its place among those it was trained with, ``warnings`` what its user was told.
    """

    best: Scores
    last: Scores
    selected: Scores
    stopped_by: str
    seconds: float
    curve: list[dict[str, float]]
    engine: str
    engine_reason: str = ""
    member: int = 0
    warnings: tuple[str, ...] = ()


class History:
    """The curve and the best epoch of one training; the rules of stopping and selection.

    Args:
        config: How the model is trained.
        settings: What else decides the size of its numbers, in words.
    """

    def __init__(self, config: TrainingConfig, settings: str = "") -> None:
        self.config = config
        self._settings = settings
        self.curve: list[dict[str, float]] = []
        self.best: Scores | None = None
        self.seconds = 0.0
        self.saved = 0
        """Epoch of the latest checkpoint."""
        self._val_losses: list[float] = []

    @property
    def epoch(self) -> int:
        """Epochs done."""
        return len(self.curve)

    @property
    def vals(self) -> list[float]:
        """The validation scores, epoch by epoch."""
        return [row[f"val_{self.config.metric}"] for row in self.curve]

    def add(
        self,
        train_loss: float,
        val_loss: float,
        train: float,
        val: float,
        test: float,
        seconds: float,
    ) -> bool:
        """Take down one epoch; whether it is the best so far.

        Better is a higher validation score, or the same with a lower validation loss.
        """
        epoch, metric = self.epoch + 1, self.config.metric
        self.seconds = seconds
        self._val_losses.append(val_loss)
        self.curve.append(
            {
                "epoch": epoch,
                "train_loss": train_loss,
                "val_loss": val_loss,
                f"train_{metric}": train,
                f"val_{metric}": val,
                "seconds": seconds,
            }
        )
        improved = self.best is None or (val, -val_loss) > (self.best.val, -self.best.val_loss)
        if improved:
            self.best = Scores(epoch, train, val, test, val_loss)
        return improved

    def check_finite(self, train_loss: float, val_loss: float) -> None:
        if not (math.isfinite(train_loss) and math.isfinite(val_loss)):
            raise self.diverged(f"The loss is not finite (train {train_loss}, validation {val_loss})", train_loss)

    def diverged(self, what: str, train_loss: float = math.nan) -> TrainingError:
        """What is not finite any more, with the likely cause and the remedies."""
        first = self.curve[0]["train_loss"] if self.curve else train_loss
        if not first < _LARGE_LOSS:
            named = f" ({self._settings})" if self._settings else ""
            return TrainingError(
                f"{what}. The loss was {first:.3g} before the first step, so the learning rate is not the cause: scale "
                f"the features, normalise the adjacency, choose other settings of the model{named}, or use float64."
            )
        return TrainingError(
            f"{what}, most likely because steps are too large: lower the learning rate (now "
            f"{self.config.learning_rate:g}), raise beta1 + beta2 where the model has them, or use float64."
        )

    def stopped(self, error: TrainingError, epoch: int) -> TrainingError:
        """An error with the epoch it came in and the checkpoint that is left."""
        kept = f" The checkpoint of epoch {self.saved} is kept." if self.saved else ""
        return TrainingError(f"Training stopped in epoch {epoch}. {error}{kept}")

    def stop_reason(self) -> str:
        """Why to stop now, or an empty string."""
        config, epoch = self.config, self.epoch
        early = (config.early_stopping == "paper" and exceeds_recent_mean(self._val_losses, config.patience)) or (
            config.early_stopping == "patience"
            and self.best is not None
            and out_of_patience(epoch, self.best.epoch, config.patience)
        )
        return "early stopping" if early else ("last epoch" if epoch >= config.epochs else "")

    def result(self, last_test: float, stopped_by: str, **how: Any) -> TrainingResult:
        assert self.best is not None
        row, metric = self.curve[-1], self.config.metric
        last = Scores(self.epoch, row[f"train_{metric}"], row[f"val_{metric}"], last_test, row["val_loss"])
        return TrainingResult(
            best=self.best,
            last=last,
            selected=self.best if self.config.selection == "best" else last,
            stopped_by=stopped_by,
            seconds=self.seconds,
            curve=self.curve,
            **how,
        )

    def values(self) -> dict[str, Any]:
        """Everything, as JSON values."""
        assert self.best is not None
        return {"curve": self.curve, "best": asdict(self.best), "seconds": self.seconds}

    def restore(self, values: dict[str, Any]) -> None:
        """Take over what :meth:`values` gave; an ``InputError`` where it is something else."""
        metric = self.config.metric
        names = ("epoch", "train_loss", "val_loss", f"train_{metric}", f"val_{metric}", "seconds")
        if wrong := misfit(values, {"curve": [dict.fromkeys(names, NUMBER)], "best": _BEST, "seconds": NUMBER}):
            raise InputError(wrong)
        self.curve = [{name: row[name] for name in names} for row in values["curve"]]
        self.best = Scores(**values["best"])
        if [row["epoch"] for row in self.curve] != list(range(1, self.epoch + 1)):
            raise InputError("curve must have one row for each epoch")
        if not 1 <= self.best.epoch <= self.epoch:
            raise InputError(f"best.epoch must be in the range [1, {self.epoch}], not {self.best.epoch}")
        self._val_losses = [row["val_loss"] for row in self.curve]
        self.seconds = values["seconds"]
        self.saved = self.epoch
