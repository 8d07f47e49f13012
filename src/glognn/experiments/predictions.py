"""Predictions of a finished run, as tables, and what they are worth where the truth is known."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from glognn.data.classes import Classes
from glognn.data.layout import TABLES
from glognn.data.sources import find_source, load_source
from glognn.data.table_graph import KeptTables
from glognn.data.tables import IntArray, Table, Values
from glognn.errors import InputError
from glognn.experiments.config import RunConfig
from glognn.experiments.folder import Report, find_runs, load_model, read_report
from glognn.experiments.layout import DONE
from glognn.experiments.run import LoadedGraph, load_graph
from glognn.metrics import METRICS, expected_calibration_error, reliability
from glognn.training.devices import resolve_device
from glognn.training.new_nodes import predict_new_nodes
from glognn.training.predict import predict

RANKING = ("roc_auc", "average_precision")
"""Metrics of probabilities; the others are of the classes predicted."""


@dataclass(frozen=True, eq=False)
class FinishedRun:
    """One trained model, chosen in a run folder; ``why`` says how, where there was a choice."""

    folder: Path
    config: RunConfig
    report: Report
    why: str

    @property
    def threshold(self) -> float | None:
        """Of two classes, the probability from which on the second is predicted; ``None``: the more likely one is."""
        value = self.report.get("threshold")
        return None if value is None else float(value)

    @cached_property
    def tables(self) -> KeptTables | None:
        """What is kept of a user's tables, if that is what the run was trained on."""
        place = Path(self.config.dataset).parent
        return KeptTables.load(place) if (place / TABLES).is_file() else None

    def predict(self, mirror: Path | None = None, device: str = "auto") -> tuple[Predictions, LoadedGraph]:
        """Predictions for all nodes of the graph."""
        loaded = load_graph(self.config, mirror)
        if loaded.facts["fingerprint"] != self.report["data"]["fingerprint"]:
            raise InputError(f"The graph '{self.config.dataset}' is not the one that '{self.folder}' was trained on.")
        model = load_model(self.folder).to(resolve_device(device))
        probabilities = predict(model, loaded.graph).double().cpu().numpy()
        if self.tables is not None:
            names = self.tables.id_column, self.tables.ids, self.tables.classes
        else:
            names = "node", *_numbered(loaded.graph.num_nodes, probabilities.shape[1])
        return Predictions(*names, probabilities, self.threshold), loaded

    def predict_new(
        self, nodes: Path, edges: Path | None, *, unknown_edges: str = "error"
    ) -> tuple[Predictions, dict[str, int]]:
        """Predictions for nodes that were not in the graph, and how many of their edges were left out and why."""
        if self.tables is None:
            raise InputError(f"'{self.folder}' was not trained on tables, so that it cannot read --nodes {nodes}.")
        new, ids, left_out = self.tables.new_nodes(nodes, edges, unknown_edges=unknown_edges)
        data = load_source(find_source(self.config.dataset)).data
        logits = predict_new_nodes(load_model(self.folder), data, new, self.config.graph)
        probabilities = logits.double().softmax(dim=1).cpu().numpy()
        found = Predictions(self.tables.id_column, ids, self.tables.classes, probabilities, self.threshold)
        return found, left_out


def _numbered(num_nodes: int, num_classes: int) -> tuple[Values, Classes]:
    import pyarrow as pa

    return pa.array(np.arange(num_nodes)), Classes(tuple(range(num_classes)), "integer")


def choose_run(folder: Path, model: str | None = None, split: int | None = None) -> FinishedRun:
    """One trained model of a run folder: of several models the best on validation, of several splits the first."""
    runs = find_runs(folder)
    names = [config.model.name for _, config in runs]
    if model is not None and model not in names:
        raise InputError(f"'{folder}' holds no run of the model '{model}'. It holds: {', '.join(names)}.")
    wanted = [(child, config) for child, config in runs if model in (None, config.model.name)]
    for child, _ in wanted:
        if not (child / DONE).exists():
            raise InputError(f"The run in '{child}' is not finished: glognn train --resume {folder}.")
    reports = [read_report(child) for child, _ in wanted]
    best = max(range(len(wanted)), key=lambda place: _validation(reports[place]))
    (child, config), report = wanted[best], reports[best]
    why = []
    if len(wanted) > 1:
        why.append(f"model {config.model.name}, the best of {len(wanted)} on validation (--model)")
    trained = report["splits"] if report["kind"] == "splits" else [report["split"]]
    if split is not None and split not in trained:
        raise InputError(f"'{child}' was not trained on split {split}. It was on: {', '.join(map(str, trained))}.")
    if report["kind"] == "splits":
        if split is None:
            split = trained[0]
            why.append(f"split {split}, the first of {len(trained)} (--split)")
        child = child / f"split-{split}"
        report, config = read_report(child), config.for_split(split)
    return FinishedRun(child, config, report, ", ".join(why))


def _validation(report: Report) -> float:
    score = report["scores"]["selected"]["val"]
    return float(score if report["kind"] == "run" else score["mean"])


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
