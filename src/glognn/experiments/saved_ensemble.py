"""The ensemble of an automatic run as it lies in its folder, with the doors that one trained model has.

Its probabilities are the weighted mean of its members', brought to the ensemble's temperature; where there are folds,
the mean of that over folds. Members are read one after another, so that memory holds one of them at a time.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from glognn.data.arrow import IntArray
from glognn.data.classes import Array, Classes
from glognn.data.layout import GRAPH, NODES, TABLES, tables_folder
from glognn.data.npz import write_npz
from glognn.errors import DataWarning, GloGNNError, InputError
from glognn.experiments.auto import Asked
from glognn.experiments.ensemble import apply
from glognn.experiments.integrity import measure_tables, seal
from glognn.experiments.layout import CONFIG, CURVE, DONE, ENSEMBLE, MEMBERS, MODEL, REPORT
from glognn.experiments.leaderboard import FINISHED
from glognn.experiments.predictions import Predictions
from glognn.experiments.reports import Report, damaged, read_ensemble
from glognn.experiments.saved import open_run
from glognn.experiments.saved_base import Probabilities, Saved
from glognn.experiments.saved_model import SavedModel, class_array, on_validation, read_calibration
from glognn.graph.changes import GraphChanges
from glognn.graph.graph import Graph
from glognn.records import inside
from glognn.storage import write_text
from glognn.training.calibration import Calibration
from glognn.training.config import mean_threshold
from glognn.training.preflight import ran_out

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from glognn.data.table_graph import KeptTables
    from glognn.experiments.config import RunConfig

Score = Callable[[SavedModel, "Data", Graph], Probabilities]
"""What one trained model says, of its graph as loaded and as prepared."""


@dataclass(frozen=True, eq=False)
class SavedEnsemble(Saved):
    """Some members of an automatic run, opened but not yet read.

    Attributes:
        folder: Of the run.
        why: What was chosen, where there was a choice.
        record: ``ensemble.json``.
        weights: By member; they sum to 1.
        splits: Whose models are averaged: all folds, or the one split that was asked for.
        temperatures: Of each member's probabilities, see :func:`~glognn.training.calibration.calibrated`.
        shifts: Of the logarithms of each member's probabilities by class, where it has some.
        temperature: Of their mean.
        calibration: Of that again, where it was asked for.
        threshold: Of two classes, the probability from which on the positive one is predicted; ``None``: the more
            likely is.
        alone: A member by itself was asked for, as its own runs have it calibrated.
        kind: ``auto`` or ``classifier``: what the folder that was opened holds.
        fitted: ``estimator.json`` of a classifier.
    """

    folder: Path
    why: str
    record: Report
    weights: Mapping[str, float]
    splits: Sequence[int]
    temperatures: Mapping[str, float]
    temperature: float
    threshold: float | None
    calibration: Calibration | None = None
    shifts: Mapping[str, Sequence[float]] = field(default_factory=dict)
    alone: bool = False
    threshold_for: str = ""
    kind: str = "auto"
    fitted: Report | None = None

    @property
    def split(self) -> int:
        """The column of the graph's masks whose test nodes, if any, judge it."""
        return self.splits[0]

    @cached_property
    def members(self) -> dict[str, list[SavedModel]]:
        """The trained models of each member, one for each split; files that are not as they were are refused."""
        places = {entry["name"]: entry["place"] for entry in self.record["members"]}

        def opened(name: str, split: int) -> SavedModel:
            return open_run(inside(self.folder, MEMBERS, places[name], f"split-{split}"))

        return {name: [opened(name, split) for split in self.splits] for name in self.weights}

    @property
    def _first(self) -> SavedModel:
        return next(iter(self.members.values()))[0]

    @property
    def config(self) -> RunConfig:
        """The settings of its first member; metric, class weights and graph are those of all."""
        return self._first.config

    @property
    def tables(self) -> KeptTables | None:
        """What is kept of a user's tables, if that is what the members were trained on."""
        return self._first.tables

    @property
    def classes(self) -> Classes | None:
        """The classes by name, where they have names."""
        return self._first.classes if self.fitted is None else Classes.from_array(self.class_array())

    @property
    def positive(self) -> int | None:
        """The number of the class that metrics of one class and the threshold are about."""
        return None if self.record["positive_class"] is None else int(self.record["positive_class"]["number"])

    def class_array(self) -> Array:
        """The classes of the type that they had; of a run on a graph file, their numbers."""
        if self.fitted is not None:
            found = class_array(self.folder.parent, self.fitted)
            if len(found) != len(self.record["classes"]):
                raise damaged(self.folder.parent, f"it must name {len(self.record['classes'])} classes")
            return found
        classes = self._first.classes
        return np.arange(len(self.record["classes"])) if classes is None else classes.array()

    @property
    def scores(self) -> dict[str, Any]:
        """The metric on the nodes that weighted the members, and on test nodes where there are any."""
        found = self.record["splits"][str(self.split)]
        val = self.record["val"]["mean"] if self.record["folds"] else found["val"]
        return {"metric": self.record["metric"], "train": None, "val": val, "test": found["test"]}

    def graph(self, mirror: Path | None = None) -> tuple[Data, Graph]:
        """The graph it was trained on, as loaded, and as prepared for its first member."""
        return self._first.graph(mirror)

    def score_all(self, data: Data, device: str = "auto", *, changes: GraphChanges | None = None) -> Probabilities:
        def score(model: SavedModel, _: Data, graph: Graph) -> Probabilities:
            return model.probabilities(graph, device) if self.alone else model.uncalibrated(graph, device)

        return self._mean(data, score, "score the nodes", changes)

    def score_new(self, data: Data, new: Data, *, changes: GraphChanges | None = None) -> Probabilities:
        def score(model: SavedModel, used: Data, graph: Graph) -> Probabilities:
            scored = model.new_probabilities if self.alone else model.new_uncalibrated
            return scored(used, graph, new)

        return self._mean(data, score, "take new nodes", changes)

    def validated(self, mirror: Path | None = None) -> list[tuple[Probabilities, IntArray]]:
        data, graph = self.graph(mirror)
        found = [on_validation(graph, split, replace(self, splits=[split]).score_all(data)) for split in self.splits]
        return [(np.concatenate([said for said, _ in found]), np.concatenate([y for _, y in found]))]

    def held_out(self, mirror: Path | None = None) -> tuple[Predictions, Graph, IntArray, str]:
        """Of folds, which leave no test nodes, each node as said by the fold that has not learned from it."""
        if not self.record["folds"]:
            return super().held_out(mirror)
        data, graph = self.graph(mirror)
        found = np.zeros((graph.num_nodes, graph.num_classes))
        for split in self.splits:
            nodes = graph.indices(split)["val"].cpu().numpy()
            found[nodes] = replace(self, splits=[split]).score_all(data)[nodes]
        places = np.flatnonzero(graph.masks["val"][:, list(self.splits)].any(dim=1).cpu().numpy())
        folds = "the one fold" if len(self.splits) == 1 else f"{len(self.splits)} folds"
        words = (
            f"validation nodes of {folds}, scored by models that have not learned from them, but were weighed on them"
        )
        return self.name(found), graph, places, words

    def probabilities(self, data: Data, device: str = "auto") -> Probabilities:
        """Of all nodes of the graph, given as loaded."""
        return self.score_all(data, device)

    def new_probabilities(self, data: Data, new: Data) -> Probabilities:
        """Of nodes that were not in the graph, which is given as loaded."""
        return self.score_new(data, new)

    def _mean(self, data: Data, score: Score, task: str, changes: GraphChanges | None) -> Probabilities:
        """Over the members that can; the others are named in a warning, and the weights of the rest scaled to 1.

        Each fold has its own mean, which is what the temperature was chosen for.
        """
        totals: list[Probabilities] = []
        errors: dict[str, Exception] = {}
        for name, models in self.members.items():
            try:
                used, graph = models[0].graph(data=data)
                used, graph = changes.apply(used, graph) if changes else (used, graph)
                alone = Calibration("temperature", self.temperatures[name], tuple(self.shifts.get(name, ())))
                found = [self.weights[name] * alone.apply(score(model, used, graph)) for model in models]
            except (GloGNNError, MemoryError, RuntimeError) as error:
                if not isinstance(error, GloGNNError) and not ran_out(error):
                    raise
                errors[name] = error
                continue
            totals = [total + each for total, each in zip(totals, found, strict=True)] if totals else found
        if not totals:
            raise next(iter(errors.values()))
        for name, reason in errors.items():
            warnings.warn(
                f"The member '{name}', with the weight {self.weights[name]:.2f}, cannot {task} and is left out; the "
                f"others make up for it. {reason}",
                DataWarning,
                stacklevel=4,
            )
        used = sum(weight for name, weight in self.weights.items() if name not in errors)
        folds = [apply(np.ones(1), total[np.newaxis] / used, self.temperature) for total in totals]
        folds = folds if self.calibration is None else [self.calibration.apply(each) for each in folds]
        mean: Probabilities = np.mean(folds, axis=0)
        return mean

    def copy(self, folder: Path) -> None:
        """Write what predictions need of it into another folder, with the graph, which may be moved anywhere."""
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.folder / ENSEMBLE, folder / ENSEMBLE)
        data, graph = self.graph()
        kept = tables_folder(Path(self._first.config.dataset))
        anew = kept is not None and not (kept / GRAPH).is_file()  # of a graph in parts
        if kept is not None and not anew:
            for name in (GRAPH, NODES, TABLES):
                shutil.copyfile(kept / name, folder / name)
        else:
            if "train_mask" not in data:
                for name, mask in graph.masks.items():
                    data[f"{name}_mask"] = mask
            write_npz(data, folder / GRAPH)
            if self.tables is not None:
                self.tables.save_names(folder)
        graph_file = str((folder / GRAPH).resolve())
        replace(Asked.read(self.folder), dataset=graph_file).write(folder, self._first.config.training)
        for models in self.members.values():
            for model in models:
                place = folder / model.folder.relative_to(self.folder)
                place.mkdir(parents=True)
                for name in (REPORT, CURVE, MODEL):
                    shutil.copyfile(model.folder / name, place / name)
                moved = replace(model.config, dataset=graph_file)
                write_text(place / CONFIG, moved.to_toml(place))
        for mark in (
            self.folder / DONE,
            *(model.folder / DONE for models in self.members.values() for model in models),
        ):
            place = folder / mark.parent.relative_to(self.folder)
            if anew and mark.is_file():
                seal(place, measure_tables(graph_file))
            elif mark.is_file():
                shutil.copyfile(mark, place / DONE)


def open_ensemble(folder: Path, models: Sequence[str] = (), split: int | None = None) -> SavedEnsemble:
    """The ensemble of an automatic run, finished or not; of several splits that of the first.

    Args:
        folder: Of the run.
        models: Names of members or of models: the best of them on validation, by itself.
        split: Which split, where the run had splits; with folds there is one ensemble of them all.
    """
    record = read_ensemble(folder)
    trained = sorted(map(int, record["splits"]))
    if split is not None and split not in trained:
        raise InputError(f"'{folder}' was not trained on split {split}. It was on: {', '.join(map(str, trained))}.")
    if record["folds"] and split is not None:
        raise InputError(f"'{folder}' is of {record['splits_origin']}, averaged: leave out split {split}.")
    chosen = trained[0] if split is None else split
    found, why = record["splits"][str(chosen)], []
    weights = {name: weight for name, weight in found["weights"].items() if weight > 0}
    temperatures, temperature, threshold = found["temperatures"], found["temperature"], found["threshold"]
    shifts = found.get("shifts", {})  # which came later
    heats = [temperature, *(temperatures.get(name, 0) for name in weights)]
    if not weights or not all(isinstance(heat, float | int) and heat > 0 for heat in heats):
        raise InputError(
            f"'{folder / ENSEMBLE}' is damaged: weights and temperatures of split {chosen} must be positive."
        )
    calibration = read_calibration(folder / ENSEMBLE, found.get("calibration"), len(record["classes"]))
    if models:
        name = _best(folder, record, models)
        weights, temperatures, temperature, threshold, calibration = {name: 1.0}, {name: 1.0}, 1.0, None, None
        shifts = {}
        why.append(f"member {name} by itself (--model)")
    else:
        parts = ", ".join(f"{name} {weight:.2f}" for name, weight in sorted(weights.items(), key=lambda each: -each[1]))
        why.append(f"ensemble of {parts}")
    if record["folds"]:
        why.append("of one fold" if len(trained) == 1 else f"mean of {len(trained)} folds")
    elif split is None and len(trained) > 1:
        why.append(f"split {chosen}, the first of {len(trained)} (--split)")
    splits = trained if record["folds"] else [chosen]
    opened = SavedEnsemble(
        folder, "; ".join(why), record, weights, splits, temperatures, temperature, threshold, calibration, shifts
    )
    if not models:
        return replace(opened, threshold_for=str(found.get("threshold_for", "")))
    [own] = opened.members.values()
    threshold = mean_threshold(each.threshold for each in own)
    return replace(opened, alone=True, threshold=threshold, threshold_for=own[0].threshold_for)


def _best(folder: Path, record: Report, names: Sequence[str]) -> str:
    """Of the members that are called so, or whose model is, the best on validation."""
    finished = [member for member in record["members"] if member["state"] == FINISHED]
    wanted = [member for member in finished if member["name"] in names]
    wanted = wanted or [member for member in finished if member["model"] in names]
    if not wanted:
        held = ", ".join(f"{member['name']} ({member['model']})" for member in finished)
        raise InputError(f"'{folder}' has no finished member {' or '.join(map(repr, names))}. It has: {held}.")
    return str(max(wanted, key=lambda member: member["val"]["mean"])["name"])
