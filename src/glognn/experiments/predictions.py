"""Predictions of a trained model, as tables, and what they are worth where the truth is known."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from glognn.data.arrow import IntArray, Table, Values
from glognn.data.classes import Classes
from glognn.errors import InputError
from glognn.metrics import METRICS, expected_calibration_error, reliability

RANKING = ("roc_auc", "average_precision")
"""Metrics of probabilities; the others are of the classes predicted."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """Class probabilities of nodes, nodes x classes, with the names that a user knows nodes and classes by."""

    id_column: str
    ids: Values
    classes: Classes
    probabilities: npt.NDArray[np.float64]
    threshold: float | None

    @cached_property
    def predicted(self) -> IntArray:
        """The number of each node's predicted class."""
        chosen: IntArray = np.argmax(self.probabilities, axis=1).astype(np.int64)
        if self.threshold is not None and len(self.classes) == 2:
            chosen = np.asarray(self.probabilities[:, 1] >= self.threshold, dtype=np.int64)
        return chosen

    def table(self, nodes: IntArray | None = None) -> Table:
        """A row for each node, or for each of some: id, predicted class, a probability for each class, margin.

        The margin is the distance between the two largest probabilities.
        """
        import pyarrow as pa

        chosen = np.arange(len(self.ids)) if nodes is None else nodes
        probabilities = self.probabilities[chosen]
        largest = np.partition(probabilities, -2, axis=1)[:, -2:]
        columns = {"prediction": self.classes.column(self.predicted[chosen])}
        for number, name in enumerate(self.classes.names):
            columns[f"probability_{name}"] = pa.array(probabilities[:, number], pa.float32())
        columns["margin"] = pa.array(largest[:, 1] - largest[:, 0], pa.float32())
        id_column = self.id_column if self.id_column not in columns else f"{self.id_column}_id"
        return pa.table({id_column: self.ids.take(pa.array(chosen)), **columns})

    def evaluate(self, nodes: IntArray, y: IntArray) -> dict[str, Any]:
        """All metrics, confusion matrix (rows: truth) and calibration on nodes whose class is known."""
        count = len(self.classes)
        predicted, truth = self.predicted[nodes], torch.from_numpy(y)
        scores = {
            "ranking": torch.from_numpy(np.log(np.maximum(self.probabilities[nodes], 1e-300))),
            "classes": torch.nn.functional.one_hot(torch.from_numpy(predicted), count).double(),
        }
        confusion = np.zeros((count, count), dtype=np.int64)
        np.add.at(confusion, (y, predicted), 1)
        right = predicted == y
        bins = reliability(self.probabilities[nodes, predicted], right)
        return {
            "nodes": len(nodes),
            "threshold": self.threshold,
            "scores": {name: _score(name, scores, truth) for name in METRICS},
            "classes": list(self.classes.names),
            "confusion": confusion.tolist(),
            "calibration": {
                "expected_calibration_error": expected_calibration_error(bins),
                "bins": [asdict(each) for each in bins],
            },
        }


def _score(name: str, scores: dict[str, torch.Tensor], truth: torch.Tensor) -> float | None:
    """A metric, or nothing where the truth holds too few classes for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            return METRICS[name](scores["ranking" if name in RANKING else "classes"], truth)
        except InputError:
            return None
