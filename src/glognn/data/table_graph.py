"""A user's tables as a graph, and what of them is kept in a run folder so that it can go on without them.

``graph.npz`` (see :mod:`glognn.data.npz`), ``nodes.parquet`` (the ids, in the order of the graph's nodes) and
``tables.json`` (how columns became features, names of the classes, columns and options, what was read).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from glognn.data.classes import KINDS, Classes
from glognn.data.encoding import RARE_SHARE, WANTED, Encoding
from glognn.data.fetch import file_sha256
from glognn.data.layout import GRAPH, NODES, TABLES
from glognn.data.tables import (
    Edges,
    IntArray,
    Table,
    Values,
    check_header,
    column_names,
    distinct,
    find_column,
    name_some,
    plain,
    positions,
    read_edges,
    read_ids,
    read_table,
    spelling,
    unique_ids,
    write_table,
)
from glognn.errors import InputError
from glognn.records import NUMBER, Form, check_version, read_record
from glognn.settings import suggest
from glognn.storage import write_json

if TYPE_CHECKING:
    from torch_geometric.data import Data

SCHEMA_VERSION = 1
_KEPT: Form = {
    "id": str,
    "label": str,
    "edges": dict.fromkeys(("source", "target", "weight"), (str, type(None))),
    "classes": {"names": list, "kind": set(KINDS)},
    "encoding": {
        "columns": [
            {
                "name": str,
                "kind": set(WANTED),
                "mean": NUMBER,
                "std": NUMBER,
                "values": [str],
                "other": bool,
                "missing": bool,
            }
        ],
        "dropped": dict,
    },
    "read": dict,
}
_SETS = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """Which tables and columns make a graph; ``None`` for a column: the first, for ends of edges the first two.

    Without a split column there are random splits, by default one, or so many ``folds`` of all labels.
    """

    nodes: Path
    edges: Path
    label: str
    id: str | None = None
    source: str | None = None
    target: str | None = None
    edge_weight: str | None = None
    unknown_edges: str = "error"
    split_column: str | None = None
    random_splits: int | None = None
    folds: int = 0
    split_seed: int = 0
    drop_columns: Sequence[str] = ()
    category_columns: Sequence[str] = ()
    rare_share: float = RARE_SHARE


@dataclass(frozen=True, eq=False)
class KeptTables:
    """What is kept of the tables a graph was made from.

    Attributes:
        ids: Of the nodes, in the graph's order.
        id_column, label_column: Their columns in the node table.
        edge_columns: ``source``, ``target`` and ``weight`` columns of the edge table.
        read: What was read: files, rows, columns, class sizes, edges left out, how splits were made.
    """

    ids: Values
    id_column: str
    label_column: str
    edge_columns: dict[str, str | None]
    classes: Classes
    encoding: Encoding
    read: dict[str, Any]

    def save(self, folder: Path, data: Data) -> Path:
        """Write the three files; the path of the graph file."""
        import pyarrow as pa

        from glognn.data.npz import write_npz

        content = {
            "schema_version": SCHEMA_VERSION,
            "id": self.id_column,
            "label": self.label_column,
            "edges": self.edge_columns,
            "classes": self.classes.as_dict(),
            "encoding": self.encoding.as_dict(),
            "read": self.read,
        }
        try:
            write_npz(data, folder / GRAPH)
            write_table(pa.table({self.id_column: self.ids}), folder / NODES)
            write_json(folder / TABLES, content)
        except OSError as error:
            raise InputError(str(error)) from None
        return folder / GRAPH

    @classmethod
    def load(cls, folder: Path) -> KeptTables:
        """What :meth:`save` wrote."""
        path, nodes = folder / TABLES, folder / NODES
        try:
            check_version(path, read_record(path, {}), SCHEMA_VERSION)
            content = read_record(path, _KEPT)
        except FileNotFoundError:
            raise InputError(f"There is no file '{path}'.") from None
        try:
            classes, encoding = Classes.from_dict(content["classes"]), Encoding.from_dict(content["encoding"])
        except (TypeError, ValueError) as error:
            raise InputError(f"'{path}' is damaged: {error}.") from None
        column = find_column(nodes, column_names(nodes), content["id"], 0, f"which '{path}' names")
        return cls(
            ids=read_ids(read_table(nodes, [column])[column], f"column '{column}' of '{nodes}'").combine_chunks(),
            id_column=column,
            label_column=content["label"],
            edge_columns=content["edges"],
            classes=classes,
            encoding=encoding,
            read=content["read"],
        )

    def new_nodes(
        self, nodes: Path, edges: Path | None, *, unknown_edges: str = "error"
    ) -> tuple[Data, Values, dict[str, int]]:
        """Nodes that were not in the graph: a ``Data`` of their rows and edges, their ids, and what was left out.

        Its ``edge_index`` numbers the graph's nodes first and the new ones after them. Edges between two nodes of the
        graph are left out: the graph stays as it was in training.
        """
        import pyarrow as pa
        import torch
        from torch_geometric.data import Data

        names = column_names(nodes)
        column = find_column(nodes, names, self.id_column, 0, "the id column of training")
        table = read_table(nodes, ids=[column], text=self.encoding.text_columns)
        ids = unique_ids(table[column], f"column '{column}' of '{nodes}'")
        known = positions(ids, self.ids) >= 0
        if known.any():
            raise InputError(
                f"The ids in column '{column}' of '{nodes}' must be new. Got {name_some(ids.filter(pa.array(known)))}, "
                "which the graph of training holds: predict without --nodes gives their classes."
            )
        x = torch.from_numpy(self.encoding.encode(table, str(nodes))) if self.encoding.num_features else None
        if ids.type != self.ids.type:
            every = pa.concat_arrays([self.ids.cast(pa.string()), ids.cast(pa.string())])
        else:
            every = pa.concat_arrays([self.ids, ids])
        index, weight, left_out = np.empty((2, 0), np.int64), None, {"unknown": 0, "known": 0}
        if edges is not None:
            columns = {name: self.edge_columns[name] for name in ("source", "target", "weight")}
            found = read_edges(edges, every, unknown=unknown_edges, **columns)
            old = (found.index < len(self.ids)).all(axis=0)
            index, left_out = found.index[:, ~old], {"unknown": found.unknown, "known": int(old.sum())}
            weight = None if found.weight is None else found.weight[~old]
        data = Data(x=x, edge_index=torch.from_numpy(index), num_nodes=len(ids))
        if weight is not None:
            data.edge_weight = torch.from_numpy(weight)
        return data, ids, left_out


def kept_classes(graph: Path) -> Classes | None:
    """The classes of a graph file that was made of tables, which lie beside it."""
    path = graph.parent / TABLES
    if graph.suffix != ".npz" or not path.is_file():
        return None
    try:
        return Classes.from_dict(read_record(path, {"classes": _KEPT["classes"]})["classes"])
    except (TypeError, ValueError) as error:
        raise InputError(f"'{path}' is damaged: {error}.") from None


def graph_from_tables(options: TableOptions) -> tuple[KeptTables, Data]:
    """The graph that tables describe, as a ``Data``, and what is worth keeping of them."""
    import torch
    from torch_geometric.data import Data

    nodes = options.nodes
    names = column_names(nodes)
    id_column = find_column(nodes, names, options.id, 0, "--id")
    label = find_column(nodes, names, options.label, 0, "--label")
    if label == id_column:
        raise InputError(f"--id and --label must be two columns of '{nodes}'. Got '{label}' for both.")
    dropped = _named(options.drop_columns, names, nodes, "--drop-columns")
    categories = _named(options.category_columns, names, nodes, "--category-columns")
    apart = {id_column, label, *dropped}
    if options.split_column is not None:
        apart.add(find_column(nodes, names, options.split_column, 0, "--split-column"))
    left_out = set(dropped)
    table = read_table(
        nodes, [name for name in names if name not in left_out], ids=[id_column], text=[label, *categories]
    )
    ids = unique_ids(table[id_column], f"column '{id_column}' of '{nodes}'")
    place = f"column '{label}' of '{nodes}'"
    classes = Classes.learn(table[label], place)
    y = classes.numbers(table[label], place)
    edges = read_edges(
        options.edges,
        ids,
        source=options.source,
        target=options.target,
        weight=options.edge_weight,
        unknown=options.unknown_edges,
    )
    features = [name for name in names if name not in apart]
    encoding = Encoding.learn(table, features, str(nodes), categories=categories, rare=options.rare_share)
    data = Data(edge_index=torch.from_numpy(edges.index), y=torch.from_numpy(y), num_nodes=len(ids))
    if encoding.num_features:
        data.x = torch.from_numpy(encoding.encode(table, str(nodes)))
    if edges.weight is not None:
        data.edge_weight = torch.from_numpy(edges.weight)
    origin = _add_splits(data, table, options)
    read = _facts(options, dropped, table, y, len(classes), edges, origin)
    return KeptTables(ids, id_column, label, edges.columns, classes, encoding, read), data


def _named(given: Sequence[str], names: Sequence[str], path: Path, option: str) -> list[str]:
    """Columns named one by one or with commas between them."""
    found, known = [], set(names)
    for text in given:
        for name in [text] if text in known else text.split(","):
            if name.strip() not in known:
                raise InputError(f"'{path}' has no column '{name.strip()}' ({option}).{suggest(name.strip(), names)}")
            found.append(name.strip())
    return found


def _add_splits(data: Data, table: Table, options: TableOptions) -> str:
    """Put masks into the graph; where they are from, in words."""
    import torch

    from glognn.data.splits import add_folds, random_splits

    if options.split_column is None and options.folds:
        return add_folds(data, options.folds, options.split_seed)
    if options.split_column is None:
        for name, mask in random_splits(data.y, options.random_splits or 1, seed=options.split_seed).items():
            data[f"{name}_mask"] = mask
        return f"random 50/25/25, stratified, seed {options.split_seed}"
    place = f"column '{options.split_column}' of '{options.nodes}'"
    values = [None if value is None else str(value).strip() for value in plain(table[options.split_column]).to_pylist()]
    strange = sorted({value for value in values if value and value.lower() not in _SETS})
    if strange:
        raise InputError(f"{place} must hold train, val, test or nothing. Got {strange[0]!r} instead.")
    sets = np.array([_SETS.get((value or "").lower(), "") for value in values])
    for name in ("train", "val", "test"):
        data[f"{name}_mask"] = torch.from_numpy(sets == name).view(-1, 1)
        if not bool((data[f"{name}_mask"].view(-1) & (data.y >= 0)).any()):
            raise InputError(f"{place} must put labelled nodes into train, val and test. Got none in {name}.")
    return f"column '{options.split_column}'"


def _facts(
    options: TableOptions,
    dropped: list[str],
    table: Table,
    y: IntArray,
    num_classes: int,
    edges: Edges,
    origin: str,
) -> dict[str, Any]:
    given: dict[str, Any] = {
        name: str(each) if isinstance(each, Path) else each for name, each in asdict(options).items()
    }
    given |= {"drop_columns": list(options.drop_columns), "category_columns": list(options.category_columns)}
    return {
        "options": given,
        "files": {str(path): file_sha256(path) for path in (options.nodes, options.edges)},
        "nodes": table.num_rows,
        "edges": int(edges.index.shape[1]) + edges.unknown,
        "unknown_edges_dropped": edges.unknown,
        "columns_left_out": dropped,
        "class_sizes": np.bincount(y[y >= 0], minlength=num_classes).tolist(),
        "unlabelled": int((y < 0).sum()),
        "splits": origin,
    }


def read_labels(tables_ids: Values, classes: Classes, path: Path, id: str, label: str) -> tuple[IntArray, IntArray]:
    """Places of nodes and their classes from a table of truth; rows without a label are left out."""
    table = read_table(path, [id, label], ids=[id], text=[label])
    check_header(path, [id], tables_ids)
    found = find_nodes(table[id], tables_ids, f"column '{id}' of '{path}'")
    y = classes.numbers(table[label], f"column '{label}' of '{path}'")
    if not (y >= 0).any():
        raise InputError(f"Column '{label}' of '{path}' must hold labels. Got none instead.")
    if len(np.unique(found)) < len(found):
        raise InputError(f"The ids in column '{id}' of '{path}' must be unique.")
    return found[y >= 0], y[y >= 0]


def find_nodes(column: Values, ids: Values, place: str) -> IntArray:
    """Places of ids that must be known."""
    import pyarrow as pa

    values = read_ids(column, place)
    found = positions(values, ids)
    if (found < 0).any():
        strange = distinct(values.filter(pa.array(found < 0)).cast(pa.string()))
        raise InputError(
            f"The ids in {place} must be nodes of the graph. Got {len(strange):,} others: {name_some(strange)}."
            f"{spelling(strange, ids)}"
        )
    return found
