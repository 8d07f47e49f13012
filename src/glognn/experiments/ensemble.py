"""Weights over trained models: greedy selection with replacement.

Caruana et al., "Ensemble Selection from Libraries of Models", ICML 2004: begin with the best model, add again and again
the one whose addition makes the mean of the chosen best, and keep the best of the means seen. What is chosen often
weighs much. Each model has a temperature (:mod:`glognn.training.calibration`) before it is weighed, and so has their
mean.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from glognn.errors import InputError
from glognn.metrics import Floats, Integers, Scoring, decide
from glognn.training.calibration import calibrated

ROUNDS, PATIENCE = 50, 10
"""Additions at most, and how many may fail to raise the score before no more are tried."""
_SMALLEST = 1e-12


def select(probabilities: npt.NDArray[np.floating], y: Integers, scoring: Scoring) -> Floats:
    """Weights of models, at least 0 and with the sum 1, that make their mean good.

    Judged by the metric; among equal scores the smaller log loss decides, then the earlier model. For accuracy it is
    the other way round: on few nodes it is too coarse to choose by, and what lowers the log loss raises it elsewhere.
    By what it is judged by, the mean is never worse than the best model by itself.

    Args:
        probabilities: Of each class by each model, models x n x classes, on nodes that did not train them.
        y: The classes of these nodes.
        scoring: The metric, and the class that it is of.
    """
    models = np.asarray(probabilities, dtype=np.float64)
    if models.ndim != 3 or not models.size or models.shape[1] != len(y):
        raise InputError(f"An ensemble needs models x {len(y)} nodes x classes. Got the shape {models.shape} instead.")
    judges = [lambda means: scores(means, y, scoring), lambda means: -log_losses(means, y)]
    if scoring.metric == "accuracy":
        judges.reverse()
    total = np.zeros(models.shape[1:])
    chosen: list[int] = []
    best, length, raised = (-np.inf, -np.inf), 0, 0
    while len(chosen) < ROUNDS and len(chosen) - raised < PATIENCE:
        means = (total + models) / (len(chosen) + 1)
        first = np.nan_to_num(judges[0](means), nan=-np.inf)  # of nodes of one class some metrics are nothing
        level = np.flatnonzero(first == first.max())  # the second need be asked about these alone, mostly one
        second = judges[1](means[level])
        place = int(level[second.argmax()])
        judged = float(first[place]), float(second.max())
        total += models[place]
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
    true = probabilities[:, np.arange(len(y)), y]
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
