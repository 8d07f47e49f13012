"""Predictions of a trained model, as tables, and what they are worth where the truth is known."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from glognn.data.arrow import IntArray, Table, Values
from glognn.data.classes import Classes
from glognn.errors import InputError
from glognn.metrics import METRICS, TOP_K, Scoring, decide, expected_calibration_error, ranking_curve, reliability

MOST_CURVES = 8
"""Classes whose rankings an evaluation draws, where none of them is the positive one."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """Class probabilities of nodes, nodes x classes, with the names that a user knows nodes and classes by.

    Attributes:
        threshold: Of two classes, the probability from which on the positive one is predicted.
        positive: The class that metrics of one class are of, and that begins at the threshold.
        said: What the model said before its probabilities were calibrated; ``None``: they are as it says.
    """

    id_column: str
    ids: Values
    classes: Classes
    probabilities: npt.NDArray[np.float64]
    threshold: float | None
    positive: int | None = None
    said: npt.NDArray[np.float64] | None = None

    @cached_property
    def predicted(self) -> IntArray:
        """The number of each node's predicted class."""
        return decide(self.probabilities, self.threshold, self.positive)

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

    def evaluate(self, nodes: IntArray, y: IntArray, positive: int | None = None, top_k: int = TOP_K) -> dict[str, Any]:
        """All metrics, confusion matrix (rows: truth) and calibration on nodes whose class is known.

        Metrics of one class are of ``positive``, where it is given; what is predicted does not change with it.
        """
        positive = self.positive if positive is None else positive
        count = len(self.classes)
        predicted = self.predicted[nodes]
        confusion = np.zeros((count, count), dtype=np.int64)
        np.add.at(confusion, (y, predicted), 1)
        return {
            "nodes": len(nodes),
            "positive_class": None if positive is None else str(self.classes.names[positive]),
            "top_k": top_k,
            "threshold": self.threshold,
            "scores": {name: self._score(Scoring(name, positive, top_k), nodes, y) for name in METRICS},
            "classes": list(self.classes.names),
            "confusion": confusion.tolist(),
            "calibration": self._reliability(self.probabilities[nodes], y, positive),
            "uncalibrated": None if self.said is None else self._reliability(self.said[nodes], y, positive),
            "curves": self._curves(nodes, y, positive),
        }

    def _curves(self, nodes: IntArray, y: IntArray, positive: int | None) -> list[dict[str, Any]]:
        """Rankings by the positive class, or by each of the largest, where some nodes are of it and some are not."""
        sizes = np.bincount(y, minlength=len(self.classes))
        classes = [positive] if positive is not None else np.argsort(-sizes, kind="stable").tolist()
        known = [label for label in classes if 0 < sizes[label] < len(y)]
        return [
            {"class": str(self.classes.names[label])} | ranking_curve(self.probabilities[nodes, label], y == label)
            for label in sorted(known[:MOST_CURVES])
        ]

    @staticmethod
    def _reliability(found: npt.NDArray[np.float64], y: IntArray, positive: int | None) -> dict[str, Any]:
        """Whether probabilities mean what they say: of two classes the positive one's, of more the predicted one's."""
        if found.shape[1] == 2 and positive is not None:
            bins = reliability(found[:, positive], y == positive)
        else:
            bins = reliability(found.max(axis=1), found.argmax(axis=1) == y)
        return {
            "expected_calibration_error": expected_calibration_error(bins),
            "bins": [asdict(each) for each in bins],
        }

    def _score(self, scoring: Scoring, nodes: IntArray, y: IntArray) -> float | None:
        """A metric; nothing where the truth holds too few classes for it, or where it is of one and none is named."""
        try:
            return scoring.of_probabilities(self.probabilities[nodes], y, self.predicted[nodes])
        except InputError:
            return None
