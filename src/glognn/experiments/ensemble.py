"""Weights over trained models: greedy selection with replacement.

Caruana et al., "Ensemble Selection from Libraries of Models", ICML 2004: begin with the best model, add again and again
the one whose addition makes the mean of the chosen best, and keep the best of the means seen. What is chosen often
weighs much. On few nodes chance chooses much, so there it is done on many drawn samples of them, as they advise, and
the mean of these weights is drawn towards weights by log loss. Each model has a temperature
(:mod:`glognn.training.calibration`) before it is weighed, and so has their mean.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from glognn.errors import InputError
from glognn.metrics import Floats, Integers, Scoring, decide
from glognn.training.calibration import calibrated

ROUNDS, PATIENCE = 50, 10
"""Additions at most, and how many may fail to raise the score before no more are tried."""
FEW, SAMPLES, SAMPLES_OF_OTHERS = 1_000, 20, 5
"""Up to so many nodes are few, and are sampled so often; for metrics other than accuracy less often, for they take more
time than the log loss that stands for it.
"""
DOUBT, SHARPNESS, LEAST = 50, 10.0, 0.01
"""On few nodes the weights by log loss count as much as so many nodes do; they fall by a factor of e with each tenth of
log loss; and who then weighs less than this is left out, for every model costs time when it predicts.
"""
_SMALLEST = 1e-12


def select(probabilities: npt.NDArray[np.floating], y: Integers, scoring: Scoring, *, sampled: bool = True) -> Floats:
    """Weights of models, at least 0 and with the sum 1, that make their mean good.

    Judged by the metric; among equal scores the smaller log loss decides, then the earlier model. For accuracy it is
    the other way round: on few nodes it is too coarse to choose by, and what lowers the log loss raises it elsewhere;
    unless a model by itself is right so much more often than the mean that it is no chance (two standard errors).
    On more than a few nodes the mean is, by what it is judged by, never worse than the best model by itself.

    Args:
        probabilities: Of each class by each model, models x n x classes, on nodes that did not train them.
        y: The classes of these nodes.
        scoring: The metric, and the class that it is of.
        sampled: Few nodes are sampled; else they are taken as they are, which is quicker.
    """
    models = np.asarray(probabilities, dtype=np.float64)
    if models.ndim != 3 or not models.size or models.shape[1] != len(y):
        raise InputError(f"An ensemble needs models x {len(y)} nodes x classes. Got the shape {models.shape} instead.")
    if not sampled or len(y) > FEW or len(models) == 1:
        weights = shares(models, y, scoring, by_loss=scoring.metric == "accuracy")
        if scoring.metric == "accuracy" and _beaten(models, weights, y):
            return _select(models, y, scoring, by_loss=False)
        return weights
    generator = np.random.default_rng(0)
    classes = [np.flatnonzero(y == each) for each in np.unique(y)]
    samples = SAMPLES if scoring.metric == "accuracy" else SAMPLES_OF_OTHERS
    found = np.zeros(len(models))
    for _ in range(samples):
        draw = np.concatenate([generator.choice(nodes, len(nodes)) for nodes in classes])
        found += _select(models[:, draw], y[draw], scoring, by_loss=scoring.metric == "accuracy") / samples
    losses = log_losses(models, y)
    doubted = np.exp(-SHARPNESS * (losses - losses.min()))
    mixed: Floats = (len(y) * found + DOUBT * doubted / doubted.sum()) / (len(y) + DOUBT)
    mixed[mixed < min(LEAST, mixed.max())] = 0.0
    mixed /= mixed.sum()
    return mixed


def shares(models: Floats, y: Integers, scoring: Scoring, *, by_loss: bool = True) -> Floats:
    """Weights of those that tell, by log loss, which takes little time, or by the metric."""
    weights = np.zeros(len(models))
    some = np.flatnonzero(_telling(models, y, scoring))
    weights[some] = _select(models[some], y, scoring, by_loss=by_loss)
    return weights


def _telling(models: Floats, y: Integers, scoring: Scoring) -> npt.NDArray[np.bool_]:
    """Which models gain at least half of what the best gains over a constant answer; all, where none gains anything.

    The others add noise, and to a ranking of nodes of several folds whatever they say of a fold as a whole.
    """
    shares = np.bincount(y, minlength=models.shape[2]) / max(len(y), 1)
    gains = scores(models, y, scoring) - scores(np.tile(shares, (1, len(y), 1)), y, scoring)
    telling: npt.NDArray[np.bool_] = ~(gains < gains.max() / 2) | (gains.max() <= 0)
    return telling


def _beaten(models: Floats, weights: Floats, y: Integers) -> bool:
    """Whether the most accurate model is more often right than the mean, by more than two standard errors."""
    right = models.argmax(axis=2) == y
    together = np.tensordot(weights, models, axes=1).argmax(axis=1) == y
    gained = right[right.sum(axis=1).argmax()].astype(int) - together
    return bool(gained.sum() > 2 * np.sqrt(np.abs(gained).sum()))


def _select(models: Floats, y: Integers, scoring: Scoring, *, by_loss: bool) -> Floats:
    """``by_loss``: the log loss decides, and the metric among equals; else the other way round."""
    true = models[:, np.arange(len(y)), y]  # all that the log loss looks at
    chosen: list[int] = []
    total, total_true = np.zeros(models.shape[1:]), np.zeros(len(y))

    def metric(some: Integers) -> Floats:
        return scores((total + models[some]) / (len(chosen) + 1), y, scoring)

    def loss(some: Integers) -> Floats:
        return -_log_loss((total_true + true[some]) / (len(chosen) + 1))

    judges = (loss, metric) if by_loss else (metric, loss)
    best, length, raised = (-np.inf, -np.inf), 0, 0
    while len(chosen) < ROUNDS and len(chosen) - raised < PATIENCE:
        first = judges[0](np.arange(len(models)))
        level = np.flatnonzero(first == first.max())  # the second need be asked about these alone, mostly one
        second = judges[1](level)
        place = int(level[second.argmax()])
        judged = float(first[place]), float(second.max())
        total += models[place]
        total_true += true[place]
        chosen.append(place)
        if judged[0] > best[0]:
            raised = len(chosen)
        if judged > best:
            best, length = judged, len(chosen)
        if len(models) == 1:
            break
    weights: Floats = np.bincount(chosen[:length], minlength=len(models)) / length
    return weights


def apply(weights: Floats, probabilities: npt.NDArray[np.floating], temperature: float = 1.0) -> Floats:
    """Class probabilities of an ensemble, n x classes, from those of its models, models x n x classes."""
    mean = np.tensordot(weights, np.asarray(probabilities, dtype=np.float64), axes=1)
    return calibrated(mean, temperature)


def log_losses(probabilities: Floats, y: Integers) -> Floats:
    """Of each model: the mean negative logarithm of what it gives the true class."""
    return _log_loss(probabilities[:, np.arange(len(y)), y])


def _log_loss(true: Floats) -> Floats:
    """Of what each model gives the true classes, models x n."""
    losses: Floats = -np.log(np.maximum(true, _SMALLEST)).mean(axis=1)
    return losses


def scores(probabilities: Floats, y: Integers, scoring: Scoring, threshold: float | None = None) -> Floats:
    """A metric of each model.

    Args:
        probabilities: Models x n x classes.
        y: The classes of the nodes; nan of none.
        scoring: The metric, and the class that it is of.
        threshold: Of two classes, the probability from which on the positive one is predicted.
    """
    decided = (decide(each, threshold, scoring.positive) for each in probabilities)
    pairs = zip(probabilities, decided, strict=True)
    return np.array([scoring.of_probabilities(each, y, classes) for each, classes in pairs])
