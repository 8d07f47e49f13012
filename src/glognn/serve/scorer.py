"""What a service answers, without HTTP: predictions by id, and of nodes that are brought with their columns and edges.

Nodes and edges arrive as rows under the names of the columns of training, as ``DataFrame.to_dict("records")`` gives
them, and go the way of ``glognn predict --nodes --edges``.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from glognn.data.arrow import IntArray, Table, Values
from glognn.data.frames import Frame
from glognn.data.ids import name_some
from glognn.data.table_graph import KeptTables
from glognn.errors import DataWarning, InputError
from glognn.experiments.predictions import Predictions
from glognn.serve.held import Held
from glognn.serve.rows import Row, rows_table

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from glognn.graph.graph import Graph

Id = str | int
LeftOut = dict[str, int]
_NODES, _EDGES = "posted nodes", "posted edges"
_DROP = '"unknown_edges": "drop"'
_WORDS = {
    "--unknown-edges drop": _DROP,
    "predict without --nodes gives": "asking by id gives",
    "of the node table": "of the graph or the posted nodes",
    "add them to the nodes": "post them, too",
}
_LEFT_OUT = {"unknown": "to unknown ids", "known": "between nodes that the graph holds already"}


class UnknownIdError(InputError):
    """An id that no node of the graph has."""


@dataclass(frozen=True, eq=False)
class Scorer:
    """A held model; new nodes must be asked about by one thread at a time."""

    saved: Held
    mirror: Path | None = None

    @cached_property
    def predictions(self) -> Predictions:
        """Of all nodes of the graph."""
        return self.saved.predict(self.mirror)[0]

    @cached_property
    def known(self) -> Table:
        """The same as a table with a row each, as ``glognn predict`` writes it."""
        return self.predictions.table()

    @cached_property
    def places(self) -> dict[str, int]:
        """The row of each node, by the text of its id."""
        import pyarrow as pa

        return {text: place for place, text in enumerate(self.predictions.ids.cast(pa.string()).to_pylist())}

    @property
    def graph(self) -> Graph:
        return self.saved.graph()[1]

    @property
    def node_columns(self) -> dict[str, str]:
        """The columns of a new node, and what they hold."""
        tables = self.saved.tables
        if tables is None:
            return {"node": "id"} | ({} if self.graph.x is None else {"x": "list"})
        given = () if tables.encoding.reads_edges else tables.encoding.columns
        return {tables.id_column: "id"} | {column.name: column.kind for column in given}

    @property
    def edge_columns(self) -> list[dict[str, str]]:
        """The columns of an edge, and what they hold, for each of the edge tables that there were."""
        tables = self.saved.tables
        if tables is None:
            return [{"source": "id", "target": "id"} | ({"weight": "weight"} if self._weighted else {})]
        return [
            {each.source: "id", each.target: "id"} | dict.fromkeys(each.weights, "weight")
            for each in tables.edge_columns
        ]

    @property
    def _weighted(self) -> bool:
        return "edge_weight" in self.saved.graph()[0]

    def warm(self) -> None:
        """Read and compute all that the first questions would wait for."""
        _ = self.known, self.places
        x = None if self.graph.x is None else np.zeros((1, self.graph.num_features), np.float32)
        with warnings.catch_warnings(record=True):
            self.saved.score(_new_data(x, np.empty((2, 0), np.int64), None, 1))

    def by_ids(self, ids: Sequence[Id]) -> dict[str, Any]:
        """Predictions of nodes of the graph, in the order in which they are asked for."""
        import pyarrow as pa

        texts = [str(each) for each in ids]
        if unknown := [text for text in texts if text not in self.places]:
            raise UnknownIdError(
                f"The graph of training has no id {name_some(pa.array(unknown))}. Ids count as they are written: "
                "7, 007 and 7.0 are three."
            )
        chosen = np.array([self.places[text] for text in texts], dtype=np.int64)
        return {"predictions": _answers(self.known.take(chosen), self.predictions)}

    def by_rows(self, nodes: Sequence[Row], edges: Sequence[Row], unknown_edges: str) -> dict[str, Any]:
        """Predictions of nodes that were not in the graph, and notes on what was left out."""
        score = self._numbered if self.saved.tables is None else self._from_tables
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", DataWarning)
            found, left_out = score(nodes, edges, unknown_edges)
        notes = [str(each.message) for each in said if issubclass(each.category, DataWarning)]
        notes += [f"Edges left out: {left_out[why]:,} {words}." for why, words in _LEFT_OUT.items() if left_out[why]]
        return {"predictions": _answers(found.table(), found), "notes": notes}

    def _from_tables(
        self, nodes: Sequence[Row], edges: Sequence[Row], unknown_edges: str
    ) -> tuple[Predictions, LeftOut]:
        tables = self.saved.tables
        assert tables is not None
        new: Any = Frame(_NODES, rows_table(nodes, "node", self.node_columns, _without_features(tables)))
        kept, unknown = self._joining(nodes, edges) if unknown_edges == "drop" else (edges, 0)
        joining: Any = [
            Frame(_EDGES, rows_table(rows, "edge", self.edge_columns[place]))
            for place, rows in self._by_table(kept).items()
        ]
        try:
            predicted, left_out = self.saved.predict_new(new, joining or None)
        except InputError as error:
            raise InputError(_about_rows(str(error))) from None
        return predicted, {**left_out, "unknown": unknown}

    def _by_table(self, edges: Sequence[Row]) -> dict[int, list[Row]]:
        """Edges by the table of training whose columns they have; those that fit none are the first one's."""
        columns, found = [set(each) for each in self.edge_columns], dict[int, list[Row]]()
        for edge in edges:
            place = next((place for place, names in enumerate(columns) if names == set(edge)), 0)
            found.setdefault(place, []).append(edge)
        return found

    def _joining(self, nodes: Sequence[Row], edges: Sequence[Row]) -> tuple[list[Row], int]:
        """The edges between ids that are known or posted, and how many others there are; it may be all of them."""
        (id,) = _ids(self.node_columns)
        ends = {name for columns in self.edge_columns for name in _ids(columns)}
        new = {str(node[id]) for node in nodes}
        kept = [
            edge
            for edge in edges
            if all(end not in edge or str(edge[end]) in new or str(edge[end]) in self.places for end in ends)
        ]
        return kept, len(edges) - len(kept)

    def _numbered(self, nodes: Sequence[Row], edges: Sequence[Row], unknown_edges: str) -> tuple[Predictions, LeftOut]:
        """Of a graph without tables: known nodes go by their numbers, features are a list."""
        import pyarrow as pa

        table = rows_table(nodes, "node", self.node_columns)
        ids = [str(each) for each in table["node"].to_pylist()]
        if again := [text for text, count in Counter(ids).items() if count > 1]:
            raise InputError(f"The ids of the posted nodes must be unique. Got {name_some(pa.array(again))} twice.")
        if held := [text for text in ids if text in self.places]:
            raise InputError(
                f"The ids of the posted nodes must be new. Got {name_some(pa.array(held))}, which the graph of "
                "training holds: asking by id gives their classes."
            )
        x = None if self.graph.x is None else _features(table["x"].to_pylist(), self.graph.num_features)
        index, weight, left_out = self._numbered_edges(edges, ids, unknown_edges)
        found = self.saved.score(_new_data(x, index, weight, len(ids)))
        return replace(self.predictions, id_column="node", ids=pa.array(ids), probabilities=found), left_out

    def _numbered_edges(
        self, edges: Sequence[Row], ids: list[str], unknown_edges: str
    ) -> tuple[IntArray, npt.NDArray[np.float64] | None, LeftOut]:
        if not edges:
            return np.empty((2, 0), np.int64), None, {"unknown": 0, "known": 0}
        count = len(self.places)
        table = rows_table(edges, "edge", self.edge_columns[0])
        new = {text: count + place for place, text in enumerate(ids)}
        ends = [[str(each) for each in table[side].to_pylist()] for side in ("source", "target")]
        index = np.array([[new.get(text, self.places.get(text, -1)) for text in side] for side in ends], np.int64)
        lost = (index < 0).any(axis=0)
        if lost.any() and unknown_edges == "error":
            first, second = (side[int(lost.argmax())] for side in ends)
            raise InputError(
                f"Every edge must join two ids of the graph or the posted nodes. Got {int(lost.sum()):,} others, such "
                f"as from {first!r} to {second!r}: post both, or leave such edges out with {_DROP}."
            )
        old = ~lost & (index < count).all(axis=0)
        kept = ~lost & ~old
        weight = table["weight"].to_numpy().astype(np.float64)[kept] if self._weighted else None
        return index[:, kept], weight, {"unknown": int(lost.sum()), "known": int(old.sum())}


def _ids(columns: Mapping[str, str]) -> list[str]:
    return [name for name, kind in columns.items() if kind == "id"]


def _without_features(tables: KeptTables) -> set[str]:
    """Columns that the table of training had and that no feature was made of."""
    return {tables.label_column, *tables.encoding.dropped, *tables.read.get("columns_left_out", [])}


def _answers(table: Table, found: Predictions) -> list[dict[str, Any]]:
    """Rows of a table of predictions as JSON: an id is its text, a float32 the shortest number that stands for it."""
    import pyarrow as pa

    names = [str(name) for name in found.classes.names]
    probabilities = zip(*(_shortest(table[f"probability_{name}"]) for name in found.classes.names), strict=True)
    ids = table.column(0).cast(pa.string()).to_pylist()
    rows = zip(ids, table["prediction"].to_pylist(), probabilities, _shortest(table["margin"]), strict=True)
    return [
        {"id": id, "prediction": prediction, "probabilities": dict(zip(names, each, strict=True)), "margin": margin}
        for id, prediction, each, margin in rows
    ]


def _shortest(column: Values) -> list[float]:
    return [float(str(value)) for value in column.to_numpy()]


def _features(rows: list[list[float]], count: int) -> npt.NDArray[np.float32]:
    if wrong := [len(row) for row in rows if len(row) != count]:
        raise InputError(f"'x' of every posted node must hold {count:,} numbers. Got {wrong[0]:,} instead.")
    return np.array(rows, dtype=np.float32).reshape(len(rows), count)


def _new_data(
    x: npt.NDArray[np.float32] | None, index: IntArray, weight: npt.NDArray[np.float64] | None, count: int
) -> Data:
    import torch
    from torch_geometric.data import Data

    data = Data(x=None if x is None else torch.from_numpy(x), edge_index=torch.from_numpy(index), num_nodes=count)
    if weight is not None:
        data.edge_weight = torch.from_numpy(weight)
    return data


def _about_rows(message: str) -> str:
    """An error about tables and flags in the words of who posted rows."""
    for name in (_NODES, _EDGES):
        message = message.replace(f"'{name}'", f"the {name}")
    for flag, words in _WORDS.items():
        message = message.replace(flag, words)
    return message
