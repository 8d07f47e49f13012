"""Tables that came after training: rows of new nodes, other features of known ones, edges between any of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from glognn.data.tables import (
    IntArray,
    Values,
    column_names,
    find_column,
    positions,
    read_edges,
    read_table,
    unique_ids,
)
from glognn.graph.changes import GraphChanges

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from glognn.data.table_graph import KeptTables


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
            more = f" ({again:,} repeating edges that it has)" if again else ""
            said.append(f"{_counted(added, 'edge')} between its nodes added{more}")
        if self.known.size:
            other = 0 if self.changes.x is None else int((self.changes.before(data) != self.changes.x).any(dim=1).sum())
            said.append(f"{_counted(self.known.size, 'node')} of it in the table, {other:,} with other features")
        if len(self.new_ids):
            edges = _counted(self.new.edge_index.shape[1], "edge")
            said.append(f"{_counted(len(self.new_ids), 'new node')} with {edges}")
        if self.unknown:
            said.append(f"{_counted(self.unknown, 'edge')} to unknown ids left out")
        return "; ".join(said)


def read_changes(
    tables: KeptTables, nodes: Path | None, edges: Path | None, *, unknown_edges: str = "error"
) -> TableChanges:
    """Read tables of the form that training read, against the graph that is kept of that."""
    import pyarrow as pa
    import torch
    from torch_geometric.data import Data

    count, rows, x = len(tables.ids), None, None
    every, new_ids, fresh = tables.ids, tables.ids.slice(0, 0), np.empty(0, dtype=np.int64)
    places = fresh
    if nodes is not None:
        column = find_column(nodes, column_names(nodes), tables.id_column, 0, "the id column of training")
        table = read_table(nodes, ids=[column], text=tables.encoding.text_columns)
        ids = unique_ids(table[column], f"column '{column}' of '{nodes}'")
        places = positions(ids, tables.ids)
        fresh = np.flatnonzero(places < 0)
        new_ids = ids.take(pa.array(fresh))
        rows = places.copy()
        rows[fresh] = count + np.arange(len(fresh))
        x = torch.from_numpy(tables.encoding.encode(table, str(nodes))) if tables.encoding.num_features else None
        every = joined_ids(tables.ids, new_ids)
    index, weight, unknown = np.empty((2, 0), np.int64), None, 0
    if edges is not None:
        columns = {name: tables.edge_columns[name] for name in ("source", "target", "weight")}
        found = read_edges(edges, every, unknown=unknown_edges, **columns)
        index, weight, unknown = found.index, found.weight, found.unknown
    inside = (index < count).all(axis=0)
    old = np.flatnonzero(places >= 0)
    new = Data(
        x=None if x is None else x[torch.from_numpy(fresh)],
        edge_index=torch.from_numpy(index[:, ~inside]),
        num_nodes=len(fresh),
    )
    if weight is not None:
        new.edge_weight = torch.from_numpy(weight[~inside])
    changes = GraphChanges(
        edge_index=torch.from_numpy(index[:, inside]),
        edge_weight=None if weight is None else torch.from_numpy(weight[inside]),
        nodes=torch.from_numpy(places[old]),
        x=None if x is None else x[torch.from_numpy(old)],
    )
    return TableChanges(new, new_ids, places[old], changes, rows, unknown)


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
