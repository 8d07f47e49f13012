"""The models of a run on several splits as one: the mean of what they say; or those trained on all labels afterwards.

A node's held-out prediction is the mean of those models that had it among their test nodes: the others have learned
from it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from glognn.data.arrow import IntArray
from glognn.data.classes import Classes
from glognn.errors import InputError
from glognn.experiments.config import RunConfig
from glognn.experiments.predictions import Predictions
from glognn.experiments.refit import open_refit
from glognn.experiments.reports import Report
from glognn.experiments.saved import choose_run
from glognn.experiments.saved_base import Probabilities, Saved
from glognn.experiments.saved_model import SavedModel
from glognn.graph.changes import GraphChanges
from glognn.graph.graph import Graph
from glognn.training.config import mean_threshold

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from glognn.data.table_graph import KeptTables


@dataclass(frozen=True, eq=False)
class SavedMean(Saved):
    """Several trained models of one run, whose probabilities are averaged.

    Attributes:
        folder: Of the run.
        why: Which models are averaged.
        models: Those that predict.
        judged: Those of the splits, which have held-out nodes.
        threshold: The mean of the models' own, where all have one.
        refitted: All labels trained the models that predict.
    """

    folder: Path
    why: str
    models: Sequence[SavedModel]
    judged: Sequence[SavedModel]
    threshold: float | None
    threshold_for: str = ""
    kind: str = "run"
    refitted: bool = False

    @property
    def config(self) -> RunConfig:
        """That of the first model."""
        return self.models[0].config

    @property
    def record(self) -> Report:
        """That of the first model."""
        return self.judged[0].record

    @property
    def splits(self) -> Sequence[int]:
        return [model.split for model in self.judged]

    @property
    def tables(self) -> KeptTables | None:
        return self.models[0].tables

    @property
    def classes(self) -> Classes | None:
        return self.models[0].classes

    @property
    def positive(self) -> int | None:
        return self.judged[0].positive

    @property
    def scores(self) -> dict[str, Any]:
        """The metric on train, val and test nodes, averaged over splits."""
        names = ("train", "val", "test")
        return {"metric": self.judged[0].scores["metric"]} | {
            name: None if any(each.scores[name] is None for each in self.judged)
            else statistics.fmean(each.scores[name] for each in self.judged)
            for name in names
        }  # fmt: skip

    def graph(self, mirror: Path | None = None) -> tuple[Data, Graph]:
        return self.models[0].graph(mirror)

    def score_all(self, data: Data, device: str = "auto", *, changes: GraphChanges | None = None) -> Probabilities:
        return self._mean(data, changes, lambda model, _, graph: model.probabilities(graph, device))

    def predict(self, mirror: Path | None = None, device: str = "auto") -> tuple[Predictions, Graph]:
        data, graph = self.graph(mirror)
        said = self._mean(data, None, lambda model, _, graph: model.uncalibrated(graph, device))
        if not self._calibrated:
            return self.name(said), graph
        return self.name(self.score_all(data, device), said=said), graph

    @property
    def _calibrated(self) -> bool:
        return any(model.calibration is not None for model in self.models)

    def score_new(self, data: Data, new: Data, *, changes: GraphChanges | None = None) -> Probabilities:
        return self._mean(data, changes, lambda model, used, graph: model.new_probabilities(used, graph, new))

    def validated(self, mirror: Path | None = None) -> list[tuple[Probabilities, IntArray]]:
        return [each for model in self.judged for each in model.validated(mirror)]

    def _mean(
        self, data: Data, changes: GraphChanges | None, score: Callable[[SavedModel, Data, Graph], Probabilities]
    ) -> Probabilities:
        found = [
            score(model, *(changes.apply(data, graph) if changes else (data, graph)))
            for model, graph in with_graphs(self.models, data)
        ]
        mean: Probabilities = np.mean(found, axis=0)
        return mean

    def held_out(self, mirror: Path | None = None) -> tuple[Predictions, Graph, IntArray, str]:
        data, first = self.graph(mirror)
        times = np.zeros((first.num_nodes, 1))
        totals = np.zeros((2, first.num_nodes, first.num_classes))
        for model, graph in with_graphs(self.judged, data):
            tested = graph.masks["test"][:, model.split].cpu().numpy()[:, np.newaxis]
            said = model.uncalibrated(graph)
            found = said if model.calibration is None else model.calibration.apply(said)
            totals, times = totals + tested * np.stack([found, said]), times + tested
        mean, said = totals / np.maximum(times, 1)
        named = self.name(mean, said=said if self._calibrated else None)
        splits = ", ".join(map(str, self.splits))
        words = f"test sets of splits {splits}, each node scored by the models that have not learned from it"
        if len(self.splits) == 1:
            words = f"test set of split {splits}, scored by the model that has not learned from it"
        if self.refitted:
            words += ", not by what was refitted on all labels"
        return named, first, np.flatnonzero(times), words


def with_graphs(models: Sequence[SavedModel], data: Data) -> list[tuple[SavedModel, Graph]]:
    """Models and their graphs, prepared once for those that want the same."""
    prepared: dict[object, Graph] = {}
    found = []
    for model in models:
        key = (model.config.graph, model.config.training.dtype, model.fingerprint)
        if key not in prepared:
            prepared[key] = model.graph(data=data)[1]
        found.append((model, prepared[key]))
    return found


def open_mean(folder: Path, models: Sequence[str] = ()) -> SavedModel | SavedMean:
    """What predicts of the best model of a run folder: the models of all splits, or those of all labels."""
    chosen = choose_run(folder, models)
    judged = [chosen.open(split) for split in chosen.splits]
    if len({each.fingerprint for each in judged if each.config.graph == judged[0].config.graph}) > 1:
        raise InputError(f"The splits of '{chosen.folder}' were trained on different graphs: predict with --split.")
    why = [chosen.why] if chosen.why else []
    refitted, words = open_refit(chosen, judged)
    if refitted:
        return SavedMean(chosen.folder, ", ".join([*why, words]), refitted, judged, *_decided(judged), refitted=True)
    if len(judged) == 1:
        return replace(judged[0], why=", ".join(why))
    why.append(f"mean of the models of {len(judged)} splits (--split takes one)")
    return SavedMean(chosen.folder, ", ".join(why), judged, judged, *_decided(judged))


def _decided(judged: Sequence[SavedModel]) -> tuple[float | None, str]:
    """The mean of the models' thresholds, and what they were chosen for."""
    threshold = mean_threshold(model.threshold for model in judged)
    return threshold, "" if threshold is None else judged[0].threshold_for
