"""The settings of training. Imports no torch."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from glognn.errors import InputError
from glognn.settings import Settings, choice, integer, real, text
from glognn.training.class_weight import plain_class_weight

ENGINE_NAMES = ("eager", "stacked", "captured", "native", "boosted", "distributed")
METRIC_NAMES = (
    "accuracy",
    "balanced_accuracy",
    "macro_f1",
    "roc_auc",
    "average_precision",
    "f1",
    "precision",
    "recall",
    "macro_precision",
    "mcc",
    "precision_at_k",
    "recall_at_k",
    "neg_log_loss",
    "neg_brier",
)
"""In all of them larger is better; losses have a minus."""
OF_ONE_CLASS = ("f1", "precision", "recall", "precision_at_k", "recall_at_k")
"""Metrics of the positive class."""
NO_SHARES = ("mcc", "neg_log_loss", "neg_brier")
"""Metrics that are no shares of something, and may be negative."""
RANKINGS = ("roc_auc", "average_precision")
"""Metrics of the positive class against the rest where there is one, else the mean over classes."""
BY_RANK = (*RANKINGS, "precision_at_k", "recall_at_k")
"""Metrics that only the order of nodes counts for: what selects by them may say any probabilities."""


class TrainingConfig(Settings):
    """How a model is trained, stopped and selected."""

    title = "training"

    epochs: int = integer(1000, "The most epochs (full-graph steps) to train.", low=1)
    optimizer: str = choice(
        "adam", "'adam' adds weight decay to the gradient (L2), 'adamw' decouples it.", ("adam", "adamw")
    )
    learning_rate: float = real(0.01, "Step size of the optimiser.", low=0, low_open=True)
    weight_decay: float = real(5e-5, "Weight decay, on every parameter.", low=0)
    early_stopping: str = choice(
        "patience",
        "'patience': stop when the validation score has not improved for that many epochs. 'paper': stop when "
        "the validation loss exceeds its mean over that many epochs before. 'none': train all epochs.",
        ("patience", "paper", "none"),
    )
    patience: int = integer(100, "Number of epochs early stopping looks back.", low=1)
    selection: str = choice(
        "best",
        "Which epoch's model is kept: 'best' validation score (ties: lower validation loss), or the 'last'.",
        ("best", "last"),
    )
    metric: str = choice(
        "accuracy", "The score to select by and to report; larger is better, losses have a minus.", METRIC_NAMES
    )
    positive_class: str = text(
        "",
        "The class, as it is written in your labels, that average precision, F1, recall, a threshold and the like are "
        "about. Empty: the rarer of two classes.",
        before="",
    )
    top_k: int = integer(
        100,
        "How many nodes the metrics precision_at_k and recall_at_k look at, those most likely of the positive class.",
        low=1,
        before=100,
    )
    class_weight: str = text(
        "none",
        "'balanced' lets every class weigh the same in the training loss, however many nodes it has; or a weight for "
        "each class, fraud=5,legit=1, where one that is not named weighs 1.",
        before="none",
    )
    threshold: str = text(
        "auto",
        "With two classes: from which probability on the positive one is predicted, instead of 0.5, chosen on "
        "validation nodes. 'auto': 'validation' where the metric is one of ranks, as average precision, else 'none'. "
        "'validation': that which serves the metric best (macro-F1, where it needs none). "
        "'precision=0.8': that which finds most of them while 80 % of those found are right. 'recall=0.9': that with "
        "the fewest false ones while 90 % are found. 'cost=1:20': the cheapest, where a false one costs 1 and a missed "
        "one 20.",
        before=("auto", "none"),
    )
    calibrate: str = choice(
        "auto",
        "Make probabilities mean what they say, on validation nodes: 'temperature' (one number; where classes were "
        "weighted or the metric is one of ranks, also a shift for each) or 'isotonic' (a rising curve, for a thousand "
        "nodes and more). 'auto': 'temperature' for two classes and a metric of ranks, else 'none'.",
        ("auto", "none", "temperature", "isotonic"),
        before=("auto", "none"),
    )
    seed: int = integer(0, "Seed of the initial weights and of dropout.", low=0, high=2**32 - 1)
    dtype: str = choice("float32", "Precision of weights and activations.", ("float32", "float64"))
    precision: str = choice(
        "high",
        "On a GPU, how exactly float32 matrices are multiplied: 'highest' in float32, 'high' with factors rounded to "
        "11 bits (TF32, and float16 for rows that are gathered along many edges), 'medium' gathers rows rounded to 8 "
        "(bfloat16). Sums are in float32 always.",
        ("highest", "high", "medium"),
        before="high",
    )
    device: str = choice("auto", "Where to train; 'auto' takes a CUDA GPU when there is one.", ("auto", "cpu", "cuda"))
    threads: int = integer(
        0, "CPU threads; 0 leaves it to torch. Equal bits need an equal number of threads.", low=0, high=1024
    )
    engine: str = choice(
        "auto",
        "What computes an epoch: 'native' (compiled code on a CPU), 'captured' (CUDA graphs), 'stacked' (many models "
        "as one), 'eager' (plain PyTorch, one model), 'boosted' (trees, on a CPU), 'distributed' (several ranks, see "
        "--distributed); 'auto' takes the fastest that can.",
        ("auto", *ENGINE_NAMES),
    )
    checkpoint_interval: float = real(
        30.0, "Seconds between checkpoints of a run folder; 0 writes one after every epoch.", low=0
    )

    def check(self) -> None:
        object.__setattr__(self, "class_weight", plain_class_weight(self.class_weight))
        ThresholdRule.parse(self.threshold)


@dataclass(frozen=True)
class ThresholdRule:
    """How a threshold is chosen: ``kind`` is auto, none, validation, precision, recall or cost.

    ``wanted`` is the precision or recall, ``costs`` what a false and a missed node of the positive class cost.
    """

    kind: str
    wanted: float = 0.0
    costs: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def parse(cls, text: str) -> ThresholdRule:
        kind, given, value = text.partition("=")
        try:
            if kind in ("auto", "none", "validation") and not given:
                return cls(kind)
            if kind in ("precision", "recall") and 0 < float(value) <= 1:
                return cls(kind, wanted=float(value))
            if kind == "cost":
                false, missed = (float(cost) for cost in value.split(":"))
                if 0 < false < math.inf and 0 < missed < math.inf:
                    return cls(kind, costs=(false, missed))
        except ValueError:
            pass
        raise InputError(
            "The 'threshold' parameter of training must be 'auto', 'none', 'validation', as 'precision=0.8' or "
            f"'recall=0.9', or as 'cost=1:20' (of a false and of a missed one). Got {text!r} instead."
        )


def mean_threshold(thresholds: Iterable[float | None]) -> float | None:
    """That of models that are averaged, where all have one."""
    given = list(thresholds)
    known = [each for each in given if each is not None]
    return statistics.fmean(known) if given and len(known) == len(given) else None
