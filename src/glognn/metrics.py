"""How good class scores are. Every metric is a number in [0, 1], larger is better.

Calibration is whether probabilities mean what they say: of predictions made with probability p, a share p should be
right (Guo et al., "On Calibration of Modern Neural Networks", ICML 2017).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from glognn.errors import InputError

Metric = Callable[[Tensor, Tensor], float]
BINS = 10


def accuracy(logits: Tensor, y: Tensor) -> float:
    """Share of nodes whose largest score is that of their class."""
    return float((logits.argmax(dim=1) == y).double().mean())


def balanced_accuracy(logits: Tensor, y: Tensor) -> float:
    """Mean of the classes' shares of nodes found."""
    from sklearn.metrics import balanced_accuracy_score

    return float(balanced_accuracy_score(y.cpu().numpy(), logits.argmax(dim=1).cpu().numpy()))


def macro_f1(logits: Tensor, y: Tensor) -> float:
    """Mean of the classes' F1 scores."""
    from sklearn.metrics import f1_score

    predicted = logits.argmax(dim=1).cpu().numpy()
    return float(f1_score(y.cpu().numpy(), predicted, average="macro", zero_division=0))


def roc_auc(logits: Tensor, y: Tensor) -> float:
    """Area under the ROC curve; with more than two classes, the mean of each class against the rest."""
    from sklearn.metrics import roc_auc_score

    return _one_against_rest(logits, y, roc_auc_score)


def average_precision(logits: Tensor, y: Tensor) -> float:
    """Area under the precision-recall curve, summed in steps; the mean over classes when there are more than two."""
    from sklearn.metrics import average_precision_score

    return _one_against_rest(logits, y, average_precision_score)


def _one_against_rest(logits: Tensor, y: Tensor, score: Callable[..., float]) -> float:
    """Binary: the score of class 1. Otherwise the mean over the classes that have members and non-members."""
    probabilities = torch.softmax(logits.double(), dim=1).cpu().numpy()
    labels = y.cpu().numpy()
    classes = [1] if logits.shape[1] == 2 else list(range(logits.shape[1]))
    counts = np.bincount(labels, minlength=logits.shape[1])
    usable = [label for label in classes if 0 < counts[label] < labels.size]
    if not usable:
        raise InputError(
            "This metric needs a set with at least 2 classes. "
            f"Got only class {int(labels[0]) if labels.size else 'none'} instead: choose another metric or split."
        )
    return float(np.mean([score(labels == label, probabilities[:, label]) for label in usable]))


def best_threshold(probabilities: Tensor, y: Tensor, metric: str = "macro_f1") -> float:
    """The probability of class 1 from which on to predict it that makes a metric largest on some nodes.

    Where the metric judges a ranking and so needs no threshold, macro-F1 decides. Among equals the one next to 0.5.

    Args:
        probabilities: Class probabilities, nodes x 2.
        y: Labels, of both classes.
        metric: A name of :data:`METRICS`.
    """
    if probabilities.shape[1] != 2:
        raise InputError(f"A threshold must be chosen for 2 classes. Got {probabilities.shape[1]} instead.")
    positive = (y == 1).cpu().numpy()
    if positive.all() or not positive.any():
        raise InputError("A threshold must be chosen on nodes of both classes. Got nodes of one class instead.")
    scores = probabilities[:, 1].double().cpu().numpy()
    order = np.argsort(scores)
    values = np.unique(scores)
    bounds = np.concatenate([[0.0], values, [1.0]])
    candidates = np.append((bounds[1:] + bounds[:-1]) / 2, 0.5)
    below = np.searchsorted(scores[order], candidates)  # so many are taken for class 0
    missed = np.concatenate([[0], np.cumsum(positive[order])])[below]
    found, rejected = positive.sum() - missed, below - missed
    mistaken = (~positive).sum() - rejected
    worth = {
        "accuracy": (found + rejected) / positive.size,
        "balanced_accuracy": (found / positive.sum() + rejected / (~positive).sum()) / 2,
        "macro_f1": found / (2 * found + missed + mistaken) + rejected / (2 * rejected + missed + mistaken),
    }
    judged = worth.get(metric, worth["macro_f1"])
    best = candidates[judged >= judged.max() - 1e-12]
    return float(best[np.argmin(np.abs(best - 0.5))])


def _of_some(metric: Metric) -> Metric:
    """A metric that is nan on no node at all, instead of an error."""
    return lambda logits, y: metric(logits, y) if y.numel() else math.nan


METRICS: dict[str, Metric] = {
    metric.__name__: _of_some(metric) for metric in (accuracy, balanced_accuracy, macro_f1, roc_auc, average_precision)
}


@dataclass(frozen=True)
class Bin:
    """Predictions whose probability is in (low, high]: their number, mean probability and share of right ones."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


def reliability(confidence: npt.NDArray[np.float64], right: npt.NDArray[np.bool_], bins: int = BINS) -> list[Bin]:
    """Predictions by their probability, in bins of equal width; empty ones are left out."""
    place = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    return [
        Bin(
            low=number / bins,
            high=(number + 1) / bins,
            count=int(inside.sum()),
            confidence=float(confidence[inside].mean()),
            accuracy=float(right[inside].mean()),
        )
        for number in range(bins)
        if (inside := place == number).any()
    ]


def expected_calibration_error(bins: list[Bin]) -> float:
    """Mean distance between probability and share of right ones, over predictions."""
    total = sum(each.count for each in bins)
    return sum(each.count * abs(each.confidence - each.accuracy) for each in bins) / total
