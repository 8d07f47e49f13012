"""A trained model as it lies in a folder: a finished run of ``glognn train``, or what ``GloGNNClassifier.save`` wrote.

Both are opened by :func:`open_saved`; what they hold under different names is then the same :class:`SavedModel`.
Whatever is opened, one model, the mean of several or an ensemble, has the doors of :class:`Saved`.
"""

from __future__ import annotations

import statistics
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from glognn.data.arrow import IntArray, Values
from glognn.data.classes import Array, Classes
from glognn.data.ids import name_some
from glognn.data.layout import NODES, is_of_tables
from glognn.data.sources import find_source, load_source
from glognn.data.table_changes import TableChanges, joined_ids, read_changes
from glognn.data.table_graph import KeptTables
from glognn.errors import InputError
from glognn.experiments.config import RunConfig
from glognn.experiments.folder import by_model, find_runs, read_model
from glognn.experiments.integrity import check_files, check_tables, refuse_changed
from glognn.experiments.layout import AUTO, CLASSIFIER, CONFIG, DONE, MODEL
from glognn.experiments.predictions import Predictions
from glognn.experiments.reports import Report, check_settings, damaged, read_classifier, read_report
from glognn.experiments.run import prepare_graph
from glognn.graph.changes import GraphChanges
from glognn.graph.config import GraphConfig
from glognn.graph.extension import Extension
from glognn.graph.graph import Graph
from glognn.metrics import Scoring
from glognn.models.base import NodeModel
from glognn.models.configs import find_model
from glognn.records import inside, misfit
from glognn.training.calibration import Calibration
from glognn.training.config import ThresholdRule, TrainingConfig
from glognn.training.devices import resolve_device
from glognn.training.new_nodes import predict_new_nodes
from glognn.training.predict import predict
from glognn.training.threshold import choose_threshold, describe_rule

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from glognn.experiments.saved_ensemble import SavedEnsemble

Probabilities = npt.NDArray[np.float64]
_MOST_CLASS_BYTES = 2**28


class Saved(ABC):
    """What a folder holds that predicts: one trained model, the mean of several, or an ensemble.

    Attributes:
        folder: Where it lies.
        config: The settings of its first model.
        splits: The columns of the graph's masks that its models were trained on.
        why: What was chosen, where there was a choice.
        threshold: Of two classes, the probability from which on the positive one is predicted; ``None``: the more
            likely is.
        threshold_for: What it was chosen for, in words, where that is known.
    """

    folder: Path
    why: str
    threshold: float | None
    threshold_for: str

    if TYPE_CHECKING:  # fields of some, and computed by others

        @property
        def config(self) -> RunConfig: ...

        @property
        def splits(self) -> Sequence[int]: ...

    @property
    @abstractmethod
    def tables(self) -> KeptTables | None:
        """What is kept of a user's tables, if that is what it was trained on."""

    @property
    @abstractmethod
    def classes(self) -> Classes | None:
        """The classes by name, where they have names."""

    @property
    @abstractmethod
    def positive(self) -> int | None:
        """The number of the class that metrics of one class and the threshold are about."""

    @abstractmethod
    def graph(self, mirror: Path | None = None) -> tuple[Data, Graph]:
        """The graph it was trained on, as loaded and as prepared; another in its place is an error."""

    @abstractmethod
    def score_all(self, data: Data, device: str = "auto", *, changes: GraphChanges | None = None) -> Probabilities:
        """Probabilities of all nodes of the graph, which is given as loaded, with what has changed in it since."""

    @abstractmethod
    def score_new(self, data: Data, new: Data, *, changes: GraphChanges | None = None) -> Probabilities:
        """Probabilities of nodes that were not in the graph, which is given as loaded, with what has changed in it."""

    @abstractmethod
    def validated(self, mirror: Path | None = None) -> list[tuple[Probabilities, IntArray]]:
        """What it says of nodes that chose among its models and did not train them, with their classes; of each model
        by itself where each has a threshold of its own."""

    def deciding(self, wanted: str, mirror: Path | None = None) -> Self:
        """The same with another threshold of two classes, without training again.

        Args:
            wanted: A probability, or a rule as in training (``precision=0.8``), by which it is chosen anew on the
                validation nodes of training; ``none``: the more likely class is predicted; ``auto``: as it is.
            mirror: Folder of published files.
        """
        if wanted == "auto":
            return self
        try:
            given = float(wanted)
        except ValueError:
            given = None
        if given is not None and not 0 < given < 1:
            raise InputError(f"--threshold must be a probability between 0 and 1, or a rule. Got {wanted} instead.")
        rule = ThresholdRule("none") if given is not None else ThresholdRule.parse(wanted)
        _, graph = self.graph(mirror)
        if graph.num_classes != 2 and (given is not None or rule.kind != "none"):
            raise InputError(f"--threshold is for two classes. '{self.folder}' has {graph.num_classes}: leave it out.")
        if given is not None or rule.kind == "none":
            return self._with_threshold(given, "given" if given is not None else "")
        training = self.config.training
        judge, found = Scoring(training.metric, self.positive, training.top_k), []
        for said, y in self.validated(mirror):
            if not len(y):
                raise InputError(f"'{self.folder}' has no validation nodes: give --threshold a probability.")
            found.append(choose_threshold(said, y, judge, rule))
        chosen = statistics.fmean(each for each in found if each is not None)
        return self._with_threshold(chosen, describe_rule(rule, training.metric))

    def _with_threshold(self, threshold: float | None, words: str) -> Self:
        changed: Any = replace(self, threshold=threshold, threshold_for=words)  # type: ignore[type-var]
        return changed  # type: ignore[no-any-return]

    def describe_threshold(self) -> str:
        """From where on the positive class is predicted, in words; empty where the more likely one is."""
        if self.threshold is None:
            return ""
        name = self.positive if self.classes is None or self.positive is None else self.classes.names[self.positive]
        why = f" ({self.threshold_for})" if self.threshold_for == "given" else ""
        if self.threshold_for and not why:
            why = f" (chosen for {self.threshold_for} on validation nodes)"
        return f"{name} is predicted from its probability {self.threshold:.4g} on{why}"

    def held_out(self, mirror: Path | None = None) -> tuple[Predictions, Graph, IntArray, str]:
        """Predictions, the graph, the nodes of it that no model that scored them has learned from, and which those are
        in words."""
        found, graph = self.predict(mirror)
        nodes = np.flatnonzero(graph.masks["test"][:, self.splits[0]].cpu().numpy())
        return found, graph, nodes, f"test set of split {self.splits[0]}"

    def name(
        self, found: Probabilities, ids: Values | None = None, *, said: Probabilities | None = None
    ) -> Predictions:
        """Probabilities of all nodes of the graph, or of those with some ids, by the names that a user knows; and what
        was said before they were calibrated."""
        import pyarrow as pa

        column = "node" if self.tables is None else self.tables.id_column
        if ids is None:
            ids = pa.array(np.arange(len(found))) if self.tables is None else self.tables.ids
        classes = self.classes or Classes(tuple(range(found.shape[1])), "integer")
        return Predictions(column, ids, classes, found, self.threshold, self.positive, said)

    def predict(self, mirror: Path | None = None, device: str = "auto") -> tuple[Predictions, Graph]:
        """Predictions for all nodes of the graph."""
        data, graph = self.graph(mirror)
        return self.name(self.score_all(data, device)), graph

    def predict_new(
        self, nodes: Any, edges: Any = None, *, unknown_edges: str = "error"
    ) -> tuple[Predictions, dict[str, int]]:
        """Predictions for nodes that were not in the graph, from files or frames, and how many of their edges were left
        out and why.

        The graph stays as it was in training: edges between two of its nodes are left out.
        """
        tables = self._tables_for(nodes)
        found = read_changes(tables, nodes, edges, unknown_edges=unknown_edges)
        if found.known.size:
            held = name_some(tables.ids.take(found.known))
            raise InputError(
                f"The ids in column '{tables.id_column}' of '{nodes}' must be new. Got {held}, which the graph of "
                "training holds: predict without --nodes gives their classes."
            )
        scored = self.score_new(self.graph()[0], found.new)
        left_out = {"unknown": found.unknown, "known": int(found.changes.edge_index.shape[1])}
        return self.name(scored, found.new_ids), left_out

    def predict_changed(
        self, nodes: Any = None, edges: Any = None, *, unknown_edges: str = "error", device: str = "auto"
    ) -> tuple[Predictions, IntArray | None, str, Callable[[], Graph]]:
        """Predictions on the graph as it is now, from files or frames, without training again.

        Rows of known ids give these nodes other features, and edges between known nodes join the graph, as if they had
        stood in the tables of training. Nodes with new ids are scored on that, unnoticed by known ones.

        Returns:
            Predictions for all known and new nodes; the places among them that the node table names, in its order;
            what has changed, in words; and what makes the graph as it is now, prepared, with new nodes last.
        """
        tables = self._tables_for(nodes if nodes is not None else edges)
        data, _ = self.graph()
        found = read_changes(tables, nodes, edges, unknown_edges=unknown_edges, data=data)
        scored = self.score_all(data, device, changes=found.changes)
        ids = tables.ids
        if len(found.new_ids):
            scored = np.concatenate([scored, self.score_new(data, found.new, changes=found.changes)])
            ids = joined_ids(tables.ids, found.new_ids)
        return self.name(scored, ids), found.rows, found.describe(data), partial(self._graph_now, data, found)

    def _graph_now(self, data: Data, found: TableChanges) -> Graph:
        _, graph = self.graph()
        data, graph = found.changes.apply(data, graph) if found.changes else (data, graph)
        return Extension.from_data(graph, found.new, data.x).graph() if len(found.new_ids) else graph

    def _tables_for(self, given: Any) -> KeptTables:
        if self.tables is None:
            what = f"'{given}'" if isinstance(given, str | Path) else "others"
            raise InputError(f"'{self.folder}' was not trained on tables, so that it cannot read {what}.")
        return self.tables


@dataclass(frozen=True, eq=False)
class SavedModel(Saved):
    """One trained model of a folder, opened but not yet read.

    Attributes:
        kind: ``run`` or ``classifier``: what the folder holds.
        folder: Of this model, which may be one of several in the folder that was opened.
        why: How it was chosen, where there was a choice.
        config: Its settings; ``dataset`` is the graph it was trained on.
        record: What its folder says about it: ``report.json`` or ``estimator.json``.
        weights: Their file.
        split: Which column of the graph's masks.
        scores: The metric on train, val and test nodes, with the epoch selected and the engine.
        epochs: That were trained.
        threshold: Of two classes, the probability from which on the positive one is predicted; ``None``: the more
            likely is.
        fingerprint: Of the graph: prepared as in training, or as given (``directed``) where it is a classifier's.
    """

    kind: str
    folder: Path
    why: str
    config: RunConfig
    record: Report
    weights: Path
    split: int
    scores: dict[str, Any]
    epochs: int
    threshold: float | None
    fingerprint: str
    threshold_for: str = ""

    @cached_property
    def tables(self) -> KeptTables | None:
        """What is kept of a user's tables, if that is what the model was trained on."""
        graph = Path(self.config.dataset)
        if self.kind == "classifier" and {"tables", "nodes"} <= set(self.record["files"]):
            return KeptTables.load(graph.parent, self.record["files"]["tables"], self.record["files"]["nodes"])
        return KeptTables.load(graph.parent) if is_of_tables(graph) else None

    @cached_property
    def classes(self) -> Classes | None:
        """The classes by name, where they have names."""
        if self.kind == "classifier":
            return Classes.from_array(self.class_array())
        return None if self.tables is None else self.tables.classes

    @property
    def positive(self) -> int | None:
        """The number of the class that metrics of one class and the threshold are about."""
        return None if self.record["positive_class"] is None else int(self.record["positive_class"]["number"])

    @property
    def splits(self) -> Sequence[int]:
        return [self.split]

    def class_array(self) -> Array:
        """The classes of a saved classifier, of the type that they had."""
        return class_array(self.folder, self.record)

    def model(self, graph: Graph) -> NodeModel[Any]:
        """Its weights, which must be those of a model of this graph."""
        model = read_model(self.weights)
        found = (model.config_class.name, model.in_channels, model.out_channels, model.num_nodes or graph.num_nodes)
        num_classes = graph.num_classes if self.classes is None else len(self.classes)
        wanted = (self.config.model.name, graph.num_features, num_classes, graph.num_nodes)
        if found != wanted:
            must, got = ("{} of {:,} features, {:,} classes, {:,} nodes".format(*each) for each in (wanted, found))
            raise InputError(f"'{self.weights}' must hold {must}. It holds {got} instead.")
        return model

    def graph(self, mirror: Path | None = None, data: Data | None = None) -> tuple[Data, Graph]:
        """The graph it was trained on, as loaded (now, or before) and as prepared; another in its place is an error."""
        if data is None:
            data = load_source(find_source(self.config.dataset), mirror=mirror).data
        graph = prepare_graph(data, self.config)
        given = Graph.from_data(data, GraphConfig(directed=True)) if self.kind == "classifier" else graph
        if given.fingerprint() != self.fingerprint:
            raise InputError(f"The graph '{self.config.dataset}' is not the one that '{self.folder}' was trained on.")
        if self.tables is not None and len(self.tables.ids) != graph.num_nodes:
            place, found = Path(self.config.dataset).with_name(NODES), len(self.tables.ids)
            raise InputError(f"'{place}' must hold the ids of {graph.num_nodes:,} nodes. Got {found:,} instead.")
        return data, graph

    @cached_property
    def calibration(self) -> Calibration | None:
        """How its probabilities are corrected, where that was asked for."""
        names = self.record["classes"]["values"] if self.kind == "classifier" else range(self._num_classes)
        return read_calibration(self.folder, self.record.get("calibration"), len(names))

    @property
    def _num_classes(self) -> int:
        return int(self.record["data"].get("num_classes", 0))

    def probabilities(self, graph: Graph, device: str = "auto") -> Probabilities:
        """Of all nodes of its prepared graph."""
        return self._both(self.uncalibrated(graph, device))[0]

    def uncalibrated(self, graph: Graph, device: str = "auto") -> Probabilities:
        """Of all nodes of its prepared graph, as the model says them."""
        found: Probabilities = predict(self.model(graph).to(resolve_device(device)), graph).double().cpu().numpy()
        return found

    def new_probabilities(self, data: Data, graph: Graph, new: Data) -> Probabilities:
        """Of nodes that were not in its graph, which is given as loaded and as prepared."""
        return self._both(self.new_uncalibrated(data, graph, new))[0]

    def new_uncalibrated(self, data: Data, graph: Graph, new: Data) -> Probabilities:
        """Of nodes that were not in its graph, as the model says them."""
        logits = predict_new_nodes(self.model(graph), data, new, self.config.graph)
        found: Probabilities = logits.double().softmax(dim=1).cpu().numpy()
        return found

    def predict(self, mirror: Path | None = None, device: str = "auto") -> tuple[Predictions, Graph]:
        _, graph = self.graph(mirror)
        found, said = self._both(self.uncalibrated(graph, device))
        return self.name(found, said=said), graph

    def _both(self, said: Probabilities) -> tuple[Probabilities, Probabilities | None]:
        """Calibrated probabilities, and where there is a difference, what the model said."""
        return (said, None) if self.calibration is None else (self.calibration.apply(said), said)

    def validated(self, mirror: Path | None = None) -> list[tuple[Probabilities, IntArray]]:
        _, graph = self.graph(mirror)
        return [on_validation(graph, self.split, self.probabilities(graph))]

    def score_all(self, data: Data, device: str = "auto", *, changes: GraphChanges | None = None) -> Probabilities:
        return self.probabilities(self._prepared(data, changes)[1], device)

    def score_new(self, data: Data, new: Data, *, changes: GraphChanges | None = None) -> Probabilities:
        return self.new_probabilities(*self._prepared(data, changes), new)

    def _prepared(self, data: Data, changes: GraphChanges | None) -> tuple[Data, Graph]:
        data, graph = self.graph(data=data)
        return changes.apply(data, graph) if changes else (data, graph)


def on_validation(graph: Graph, split: int, found: Probabilities) -> tuple[Probabilities, IntArray]:
    """Of the validation nodes of a split, with their classes."""
    nodes = graph.indices(split)["val"].cpu().numpy()
    return found[nodes], graph.y.cpu().numpy()[nodes]


def mean_threshold(models: Sequence[SavedModel]) -> float | None:
    """Of models that are averaged, where all have one."""
    known = [model.threshold for model in models if model.threshold is not None]
    return statistics.fmean(known) if len(known) == len(models) else None


def read_calibration(place: Path, content: Any, num_classes: int) -> Calibration | None:
    """What a record says of calibration; records of versions without it say nothing."""
    if content is None:
        return None
    try:
        return Calibration.from_dict(content, num_classes)
    except ValueError as error:
        raise InputError(f"'{place}' is damaged: {error}.") from None


def class_array(folder: Path, record: Report) -> Array:
    """The classes that the record of a saved classifier names, of the type that they had."""
    values, kind = (record["classes"][name] for name in ("values", "dtype"))
    try:
        dtype = np.dtype(kind)
        if dtype.kind not in "iufbUO" or dtype.itemsize * len(values) > _MOST_CLASS_BYTES:
            raise TypeError(f"classes of the type {kind!r:.60}")
        found: Array = np.array(values, dtype=dtype)
        if len(values) < 2 or found.tolist() != values:
            raise ValueError(f"classes {values!r:.60} of the type {kind!r:.60}")
    except (TypeError, ValueError, OverflowError) as error:
        raise damaged(folder, error) from None
    return found


def open_saved(folder: Path, models: Sequence[str] = (), split: int | None = None, *, average: bool = True) -> Saved:
    """A trained model of a folder: of several models the best on validation, of several splits the mean of theirs, or
    what was trained on all labels after them.

    Of an automatic run, and of a classifier fitted by one, it is the ensemble.

    Its files must be those that it was finished with, as far as that is recorded.

    Args:
        folder: A run folder, or that of a saved classifier.
        models: Names of models, one of which it must be; none: whichever it is.
        split: One split of a run alone.
        average: ``False``: of several splits the first, where none is named.
    """
    if (folder / CLASSIFIER).is_file():
        return _open_classifier(folder, models, split)
    if (folder / AUTO).is_file():
        from glognn.experiments.saved_ensemble import open_ensemble

        return open_ensemble(folder, models, split)
    if (folder / CONFIG).is_file():
        from glognn.experiments.saved_mean import open_mean

        return open_mean(folder, models) if split is None and average else open_run(folder, models, split)
    raise InputError(
        f"'{folder}' holds no trained model: no {CONFIG} of a run, and no readable {CLASSIFIER} of a saved classifier."
    )


def holds_ensemble(folder: Path) -> bool:
    """Whether it is of an automatic run, or of a classifier fitted by one."""
    if (folder / CLASSIFIER).is_file():
        return "ensemble" in read_classifier(folder)[0]["files"]
    return (folder / AUTO).is_file()


def open_run(folder: Path, models: Sequence[str] = (), split: int | None = None) -> SavedModel:
    """A trained model of a run folder on one split, the first unless another is named."""
    chosen = choose_run(folder, models)
    if split is not None and split not in chosen.splits:
        raise InputError(
            f"'{chosen.folder}' was not trained on split {split}. It was on: {', '.join(map(str, chosen.splits))}."
        )
    why = [chosen.why] if chosen.why else []
    if split is None and len(chosen.splits) > 1:
        why.append(f"split {chosen.splits[0]}, the first of {len(chosen.splits)} (--split)")
    return replace(chosen.open(chosen.splits[0] if split is None else split), why=", ".join(why))


@dataclass(frozen=True)
class ChosenRun:
    """The runs of one model in a folder, finished.

    Attributes:
        folder: Of the model.
        why: How it was chosen, where there was a choice.
        splits: That were trained.
        places: The folder and the settings of each.
    """

    folder: Path
    why: str
    splits: Sequence[int]
    places: Mapping[int, tuple[Path, RunConfig]]

    def open(self, split: int) -> SavedModel:
        """The model of a split; files that are not as they were are refused."""
        child, config = self.places[split]
        report = read_report(child)
        check_settings(child, report, config)
        check_files(child)
        check_tables(child, config.dataset)
        return SavedModel(
            kind="run",
            folder=child,
            why="",
            config=config,
            record=report,
            weights=child / MODEL,
            split=report["split"],
            scores={"metric": report["metric"], "engine": report.get("engine"), **report["scores"]["selected"]},
            epochs=report["scores"]["last"]["epoch"],
            threshold=report.get("threshold"),
            threshold_for=str(report.get("threshold_for", "")),
            fingerprint=report["data"]["fingerprint"],
        )


def choose_run(folder: Path, models: Sequence[str] = ()) -> ChosenRun:
    """Of the models in a run folder, or of some of them by name, the best on validation."""
    runs = by_model(find_runs(folder))
    wanted = {place: group for place, group in runs.items() if not models or group[0][1].model.name in models}
    if not wanted:
        held = ", ".join(group[0][1].model.name for group in runs.values())
        raise InputError(f"'{folder}' holds no run of the model {_either(models)}. It holds: {held}.")
    for child in (child for group in wanted.values() for child, _ in group):
        if not (child / DONE).exists():
            raise InputError(f"The run in '{child}' is not finished: glognn train --resume {folder}.")
    reports = {place: [read_report(child) for child, _ in group] for place, group in wanted.items()}
    best = max(wanted, key=lambda place: statistics.fmean(map(_validation, reports[place])))
    why = ""
    if len(wanted) > 1:
        why = f"model {wanted[best][0][1].model.name}, the best of {len(wanted)} on validation (--model)"
    places: dict[int, tuple[Path, RunConfig]] = {}
    for (child, config), report in zip(wanted[best], reports[best], strict=True):
        if report["kind"] == "splits":
            check_settings(child, report, config)
            places |= {split: (inside(child, f"split-{split}"), config.for_split(split)) for split in report["splits"]}
        else:
            places[report["split"]] = child, config
    return ChosenRun(best, why, list(places), places)


def _either(models: Sequence[str]) -> str:
    return " or ".join(f"'{name}'" for name in models)


def _validation(report: Report) -> float:
    score = report["scores"]["selected"]["val"]
    return float(score if report["kind"] == "run" else score["mean"])


def _open_classifier(folder: Path, models: Sequence[str], split: int | None) -> SavedModel | SavedEnsemble:
    record, files = read_classifier(folder)
    refuse_changed(folder, files)
    if split is not None:
        raise InputError(f"'{folder}' is a saved classifier, which was fitted once: leave out split {split}.")
    if "ensemble" in record["files"]:
        from glognn.experiments.saved_ensemble import open_ensemble

        found = open_ensemble(folder / record["files"]["ensemble"], models, record["split"])
        return replace(found, kind="classifier", fitted=record)
    params = {name: "none" if value is None else value for name, value in record["params"].items()}
    params["seed"] = record["seed"]

    def pick(config: type[Any]) -> Any:
        return config.from_mapping({name: params[name] for name in config.names() if name in params})

    groups = record.get("settings", {})
    if wrong := misfit(groups, dict, "settings") or misfit(groups, dict.fromkeys(groups, dict), "settings"):
        raise damaged(folder, wrong)
    params |= {name: value for group in groups.values() for name, value in group.items()}
    try:
        model = find_model(params["model"])
        config = RunConfig(
            dataset=str(folder / record["files"]["graph"]),
            splits="0",
            graph=pick(GraphConfig),
            model=pick(model),
            training=pick(TrainingConfig),
        )
    except InputError as error:
        raise damaged(folder, error) from None
    if models and model.name not in models:
        raise InputError(f"'{folder}' is a saved classifier of the model '{model.name}', not {_either(models)}.")
    return SavedModel(
        kind="classifier",
        folder=folder,
        why="",
        config=config,
        record=record,
        weights=folder / record["files"]["model"],
        split=0,
        scores={"test": None, **record["scores"]},
        epochs=record["epochs"],
        threshold=record["threshold"],
        fingerprint=record["data"]["fingerprint"],
    )
