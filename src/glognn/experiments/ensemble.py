"""Weights over trained models: greedy selection with replacement, and calibration. Plain NumPy.

Caruana et al., "Ensemble Selection from Libraries of Models", ICML 2004: begin with the best model, add again and again
the one whose addition makes the mean of the chosen best, and keep the best of the means seen. What is chosen often
weighs much. Guo et al., "On Calibration of Modern Neural Networks", ICML 2017: one temperature T for p^(1/T), here of
each model before it is weighed, and of their mean.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from glognn.errors import InputError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

ROUNDS, PATIENCE = 50, 10
"""Additions at most, and how many may fail to raise the score before no more are tried."""
COLDEST, HOTTEST = 0.25, 4.0
"""The temperatures that are tried: on few nodes, all of them right, none would be cold enough."""
_SMALLEST = 1e-12
_STEPS = 60


def select(probabilities: npt.NDArray[np.floating], y: Integers, metric: str) -> Floats:
    """Weights of models, at least 0 and with the sum 1, that make their mean good.

    Judged by the metric; among equal scores the smaller log loss decides, then the earlier model. For accuracy it is
    the other way round: on few nodes it is too coarse to choose by, and what lowers the log loss raises it elsewhere.
    By what it is judged by, the mean is never worse than the best model by itself.

    Args:
        probabilities: Of each class by each model, models x n x classes, on nodes that did not train them.
        y: The classes of these nodes.
        metric: A name of :data:`~glognn.metrics.METRICS`.
    """
    models = np.asarray(probabilities, dtype=np.float64)
    if models.ndim != 3 or not models.size or models.shape[1] != len(y):
        raise InputError(f"An ensemble needs models x {len(y)} nodes x classes. Got the shape {models.shape} instead.")
    total = np.zeros(models.shape[1:])
    chosen: list[int] = []
    best, length, raised = (-np.inf, -np.inf), 0, 0
    while len(chosen) < ROUNDS and len(chosen) - raised < PATIENCE:
        means = (total + models) / (len(chosen) + 1)
        told = scores(means, y, metric).tolist(), (-log_losses(means, y)).tolist()
        judged = list(zip(*(told[::-1] if metric == "accuracy" else told), strict=True))
        place = max(range(len(models)), key=judged.__getitem__)
        total += models[place]
        chosen.append(place)
        if judged[place][0] > best[0]:
            raised = len(chosen)
        if judged[place] > best:
            best, length = judged[place], len(chosen)
        if len(models) == 1:
            break
    weights: Floats = np.bincount(chosen[:length], minlength=len(models)) / length
    return weights


def temperature(probabilities: Floats, y: Integers) -> float:
    """The T for which p^(1/T), normalised, has the smallest log loss; the loss has one minimum in 1/T."""
    logits = np.log(np.maximum(probabilities, _SMALLEST))
    low, high = np.log(COLDEST), np.log(HOTTEST)
    share = (np.sqrt(5.0) - 1) / 2

    def loss(log_temperature: float) -> float:
        return float(log_losses(_softmax(logits / np.exp(log_temperature))[np.newaxis], y)[0])

    left, right = high - share * (high - low), low + share * (high - low)
    at_left, at_right = loss(left), loss(right)
    for _ in range(_STEPS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - share * (high - low)
            at_left = loss(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + share * (high - low)
            at_right = loss(right)
    return float(np.exp((low + high) / 2))


def apply(weights: Floats, probabilities: npt.NDArray[np.floating], temperature: float = 1.0) -> Floats:
    """Class probabilities of an ensemble, n x classes, from those of its models, models x n x classes."""
    mean = np.tensordot(weights, np.asarray(probabilities, dtype=np.float64), axes=1)
    return calibrated(mean, temperature)


def calibrated(probabilities: npt.NDArray[np.floating], temperature: float) -> Floats:
    """p^(1/T), normalised, n x classes."""
    return _softmax(np.log(np.maximum(np.asarray(probabilities, dtype=np.float64), _SMALLEST)) / temperature)


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    normalised: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return normalised


def log_losses(probabilities: Floats, y: Integers) -> Floats:
    """Of each model: the mean negative logarithm of what it gives the true class."""
    true = probabilities[:, np.arange(len(y)), y]
    losses: Floats = -np.log(np.maximum(true, _SMALLEST)).mean(axis=1)
    return losses


def scores(probabilities: Floats, y: Integers, metric: str, threshold: float | None = None) -> Floats:
    """A metric of each model, the same as that of :data:`~glognn.metrics.METRICS`, many times as fast.

    Args:
        probabilities: Models x n x classes.
        y: The classes of the nodes; nan of none.
        metric: Its name.
        threshold: Of two classes, the probability from which on the second is predicted.
    """
    if not len(y):
        return np.full(len(probabilities), np.nan)
    if metric in _RANKING:
        return np.array([_one_against_rest(each, y, _RANKING[metric]) for each in probabilities])
    predicted = probabilities.argmax(axis=2) if threshold is None else (probabilities[:, :, 1] >= threshold).astype(int)
    if metric == "accuracy":
        right: Floats = (predicted == y).mean(axis=1)
        return right
    count = probabilities.shape[2]
    tables = [np.bincount(y * count + each, minlength=count * count).reshape(count, count) for each in predicted]
    return np.array([_DECIDING[metric](table) for table in tables])


def _balanced_accuracy(confusion: Integers) -> float:
    sizes = confusion.sum(axis=1)
    return float(np.mean(np.diag(confusion)[sizes > 0] / sizes[sizes > 0]))


def _macro_f1(confusion: Integers) -> float:
    ends = confusion.sum(axis=0) + confusion.sum(axis=1)
    return float(np.mean(2 * np.diag(confusion)[ends > 0] / ends[ends > 0]))


def _roc_auc(positive: npt.NDArray[np.bool_], score: Floats) -> float:
    """The share of pairs of a member and a non-member in which the member has the higher score; ties count half."""
    others, members = np.sort(score[~positive]), score[positive]
    below = np.searchsorted(others, members, "left").sum() + np.searchsorted(others, members, "right").sum()
    return float(below / (2 * len(members) * len(others)))


def _average_precision(positive: npt.NDArray[np.bool_], score: Floats) -> float:
    order = np.argsort(-score, kind="stable")
    last = np.append(np.flatnonzero(np.diff(score[order])), len(score) - 1)  # of each group of equal scores
    found = np.cumsum(positive[order])[last]
    return float(np.sum(np.diff(found, prepend=0) / positive.sum() * found / (last + 1)))


def _one_against_rest(
    probabilities: Floats, y: Integers, score: Callable[[npt.NDArray[np.bool_], Floats], float]
) -> float:
    """Binary: the score of class 1. Otherwise the mean over the classes that have members and non-members."""
    count = probabilities.shape[1]
    sizes = np.bincount(y, minlength=count)
    usable = [label for label in ([1] if count == 2 else range(count)) if 0 < sizes[label] < len(y)]
    if not usable:
        raise InputError("This metric needs nodes of at least 2 classes. Got nodes of one class instead.")
    return float(np.mean([score(y == label, probabilities[:, label]) for label in usable]))


_RANKING = {"roc_auc": _roc_auc, "average_precision": _average_precision}
_DECIDING = {"balanced_accuracy": _balanced_accuracy, "macro_f1": _macro_f1}
