"""Tables that came after training: rows of new nodes, other features of known ones, edges between any of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from glognn.data.arrow import IntArray, Values
from glognn.data.edge_tables import read_relations
from glognn.data.frames import as_table
from glognn.data.ids import positions, unique_ids
from glognn.data.table_graph import KeptTables, degree_table, list_edge_tables
from glognn.data.tables import column_names, find_column, read_table
from glognn.graph.changes import GraphChanges

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data


@dataclass(frozen=True, eq=False)
class TableChanges:
    """What tables say that the graph of training does not hold.

    Attributes:
        new: Nodes that are not in the graph with their edges, as :func:`~glognn.predict_new_nodes` takes them; their
            ``edge_index`` numbers the graph's nodes first.
        new_ids: Their ids, in the order of the table.
        known: The other rows of the node table, by the numbers of their nodes.
        changes: What is to change in the graph itself.
        rows: Of each row of the node table the number of its node, new ones after those of the graph; ``None``
            without one.
        unknown: Edges left out because an end is in no table.
    """

    new: Data
    new_ids: Values
    known: IntArray
    changes: GraphChanges
    rows: IntArray | None
    unknown: int

    def describe(self, data: Data) -> str:
        """What changes in a graph, as it was loaded, and what does not, in a line."""
        added = self.changes.edge_index.shape[1]
        said = []
        if added:
            again = _held(data, self.changes.edge_index.numpy())
            more = f" ({again:,} repeating {'an edge' if again == 1 else 'edges'} that it has)" if again else ""
            said.append(f"{_counted(added, 'edge')} between its nodes added{more}")
        if self.known.size:
            other = np.isin(self.known, self._changed(data)).sum()
            said.append(f"{_counted(self.known.size, 'node')} of it in the table, {other:,} with other features")
        if len(self.new_ids):
            edges = _counted(self.new.edge_index.shape[1], "edge")
            said.append(f"{_counted(len(self.new_ids), 'new node')} with {edges}")
        if self.unknown:
            said.append(f"{_counted(self.unknown, 'edge')} to unknown ids left out")
        return "; ".join(said)

    def _changed(self, data: Data) -> IntArray:
        """The nodes whose features become other ones."""
        if self.changes.x is None:
            return np.empty(0, dtype=np.int64)
        found: IntArray = self.changes.nodes[(self.changes.before(data) != self.changes.x).any(dim=1)].numpy()
        return found


def read_changes(
    tables: KeptTables, nodes: Any, edges: Any, *, unknown_edges: str = "error", data: Data | None = None
) -> TableChanges:
    """Read tables of the form that training read, files or frames, against the graph that is kept of that.

    Categories that training did not have are counted in a warning. Features that are numbers of edges count those of
    the graph, as it was loaded, with those that join it; without ``data``, those of the tables alone.
    """
    import pyarrow as pa
    import torch
    from torch_geometric.data import Data

    count, rows, dialect, encoding = len(tables.ids), None, tables.dialect, tables.encoding
    every, new_ids, x = tables.ids, tables.ids.slice(0, 0), None
    places = fresh = np.empty(0, dtype=np.int64)
    if nodes is not None:
        given = as_table(nodes, "table of nodes")
        column = find_column(given, column_names(given, dialect), tables.id_column, 0, "the id column of training")
        table = read_table(given, ids=[column], text=encoding.text_columns, dialect=dialect)
        ids = unique_ids(table[column], f"column '{column}' of '{given}'")
        places = positions(ids, tables.ids)
        fresh = np.flatnonzero(places < 0)
        new_ids = ids.take(pa.array(fresh))
        rows = places.copy()
        rows[fresh] = count + np.arange(len(fresh))
        every = joined_ids(tables.ids, new_ids)
        if encoding.num_features and not encoding.reads_edges:
            x = torch.from_numpy(encoding.encode(table, str(given)))
            encoding.warn_of_unknown(table, str(given))
    index, weight, unknown = np.empty((2, 0), np.int64), None, 0
    if edges is not None:
        found = read_relations(
            list_edge_tables(edges), every, known=tables.edge_columns, unknown=unknown_edges, dialect=dialect
        )
        index, weight, unknown = found.index, found.weight, found.unknown
    inside = (index < count).all(axis=0)
    changed = places[places >= 0]
    old_x: Tensor | None = None
    new_x: Tensor | None = None
    if encoding.reads_edges:
        known = np.empty((2, 0), np.int64) if data is None or data.edge_index is None else data.edge_index.numpy()
        grown = degree_table(np.concatenate([known, index[:, inside]], axis=1), count)
        joining = degree_table(index[:, ~inside], len(every)).slice(count)
        changed = np.unique(index[:, inside])
        old_x = torch.from_numpy(encoding.encode(grown, "the edges")[changed])
        new_x = torch.from_numpy(encoding.encode(joining, "the edges"))
    elif x is not None:
        old_x, new_x = x[torch.from_numpy(places >= 0)], x[torch.from_numpy(fresh)]
    new = Data(x=new_x, edge_index=torch.from_numpy(index[:, ~inside]), num_nodes=len(fresh))
    if weight is not None:
        new.edge_weight = torch.from_numpy(weight[~inside])
    changes = GraphChanges(
        edge_index=torch.from_numpy(index[:, inside]),
        edge_weight=None if weight is None else torch.from_numpy(weight[inside]),
        nodes=torch.from_numpy(changed),
        x=old_x,
    )
    return TableChanges(new, new_ids, places[places >= 0], changes, rows, unknown)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def joined_ids(known: Values, new: Values) -> Values:
    """The ids of the graph and new ones after them, as text where they are of different types."""
    import pyarrow as pa

    parts = (known, new) if known.type == new.type else (known.cast(pa.string()), new.cast(pa.string()))
    return pa.concat_arrays(list(parts))


def _held(data: Data, index: IntArray) -> int:
    """How many edges a graph has already, in either direction."""
    if data.edge_index is None:
        return 0
    count, known = int(data.num_nodes), data.edge_index.numpy()
    pairs = np.concatenate([known[0] * count + known[1], known[1] * count + known[0]])
    return int(np.isin(index[0] * count + index[1], pairs).sum())
