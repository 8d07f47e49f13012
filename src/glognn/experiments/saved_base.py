"""What everything has that was saved and predicts: one model, the mean of several, or an ensemble."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from glognn.data.arrow import IntArray, Values
from glognn.data.classes import Classes
from glognn.data.dialect import Dialect
from glognn.data.ids import name_some
from glognn.data.table_changes import TableChanges, joined_ids, read_changes
from glognn.data.table_graph import KeptTables, find_nodes
from glognn.data.tables import DETECTED, check_header, column_names, dialect_of_later, find_column, read_table
from glognn.errors import InputError
from glognn.experiments.config import RunConfig
from glognn.experiments.predictions import Predictions
from glognn.graph.changes import GraphChanges
from glognn.graph.extension import Extension
from glognn.graph.graph import Graph
from glognn.metrics import Scoring
from glognn.training.config import ThresholdRule, mean_threshold
from glognn.training.threshold import choose_threshold, describe_rule

if TYPE_CHECKING:
    from torch_geometric.data import Data

Probabilities = npt.NDArray[np.float64]


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

    def dialect_of(self, path: Path) -> Dialect:
        """How a text file that comes after training is written: as those of training were, where it can be."""
        return DETECTED if self.tables is None else dialect_of_later(path, self.tables.dialect)

    def read_nodes(self, path: Path, ids: Values, usual: str, option: str) -> IntArray:
        """Places of the nodes that a table lists, in the column called as usual or in its first."""
        dialect = self.dialect_of(path)
        names = column_names(path, dialect)
        column = find_column(path, names, usual if usual in names else None, 0, option)
        check_header(path, [column], ids)
        listed = read_table(path, [column], ids=[column], dialect=dialect)[column]
        return find_nodes(listed, ids, f"column '{column}' of '{path}'")

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
        return self._with_threshold(mean_threshold(found), describe_rule(rule, training.metric))

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
