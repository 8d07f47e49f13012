"""One trained model as it lies in a folder: of a finished run, or of a saved classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from glognn.data.arrow import IntArray
from glognn.data.classes import Array, Classes
from glognn.data.layout import NODES, tables_folder
from glognn.data.sources import find_source, load_source
from glognn.data.table_graph import KeptTables
from glognn.errors import InputError
from glognn.experiments.config import RunConfig
from glognn.experiments.folder import read_model
from glognn.experiments.predictions import Predictions
from glognn.experiments.reports import Report, damaged
from glognn.experiments.run import prepare_graph
from glognn.experiments.saved_base import Probabilities, Saved
from glognn.graph.changes import GraphChanges
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.models.base import NodeModel
from glognn.training.calibration import Calibration
from glognn.training.devices import resolve_device
from glognn.training.new_nodes import predict_new_nodes
from glognn.training.predict import predict

if TYPE_CHECKING:
    from torch_geometric.data import Data

_MOST_CLASS_BYTES = 2**28


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
        folder = tables_folder(graph)
        return None if folder is None else KeptTables.load(folder)

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
            place, found = Path(self.config.dataset), len(self.tables.ids)
            place = (tables_folder(place) or place.parent) / NODES
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
