"""A user's tables as a graph, and what of them is kept in a run folder so that it can go on without them.

``graph.npz`` (see :mod:`glognn.data.npz`), ``nodes.parquet`` (the ids, in the order of the graph's nodes) and
``tables.json`` (how columns became features, names of the classes, columns and options, what was read).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from glognn.data.arrow import IntArray, Table, Values, plain
from glognn.data.classes import KINDS, Classes
from glognn.data.dialect import Dialect
from glognn.data.edge_tables import EdgeColumns, Edges, read_relations
from glognn.data.encoding import COLUMN, IN, OUT, RARE_SHARE, Encoding
from glognn.data.frames import Frame, as_edge_table, as_table
from glognn.data.ids import distinct, name_some, positions, read_ids, spelling, unique_ids
from glognn.data.layout import GRAPH, NODES, TABLES, tables_folder
from glognn.data.tables import DETECTED, check_header, column_names, find_column, read_table, text_signs, write_table
from glognn.errors import InputError
from glognn.records import NUMBER, Form, check_version, misfit, read_record
from glognn.settings import suggest
from glognn.storage import file_sha256, write_json

if TYPE_CHECKING:
    from torch_geometric.data import Data

SCHEMA_VERSION = 1
_KEPT: Form = {
    "id": str,
    "label": str,
    "edges": (dict, list),
    "classes": {"names": list, "kind": set(KINDS)},
    "encoding": {"columns": [COLUMN], "dropped": dict},
    "read": dict,
}
_EDGES: Form = {"source": str, "target": str, "weights": [str], "means": [NUMBER]}
_FIRST_EDGES: Form = {"source": str, "target": str, "weight": (str, type(None))}
"""Of the first version, which had one edge table."""
_SIGNS: Form = {"separator": (str, type(None)), "decimal": (str, type(None))}
_SETS = {"train": "train", "val": "val", "valid": "val", "validation": "val", "test": "test"}


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """Which tables and columns make a graph; ``None`` for a column: the first, for ends of edges the first two.

    Tables are files, or frames in memory; several of edges are added up. ``edge_weight`` names a column or several.
    Without a split column there are random splits, by default one of 50/25/25, or so many ``folds`` of all labels.
    """

    nodes: Any
    edges: Any
    label: str
    id: str | None = None
    source: str | None = None
    target: str | None = None
    edge_weight: str | Sequence[str] | None = None
    unknown_edges: str = "error"
    split_column: str | None = None
    random_splits: int | None = None
    fractions: str | None = None
    folds: int = 0
    split_seed: int = 0
    drop_columns: Sequence[str] = ()
    category_columns: Sequence[str] = ()
    rare_share: float = RARE_SHARE
    separator: str | None = None
    decimal: str | None = None

    @property
    def name(self) -> str:
        """What a folder made of them is called: the file of the nodes, without its endings."""
        return Path(self.nodes).name.partition(".")[0] if isinstance(self.nodes, str | Path) else "tables"

    @property
    def dialect(self) -> Dialect:
        return Dialect(self.separator, self.decimal)

    @property
    def node_table(self) -> Path | Frame:
        return as_table(self.nodes, "node table")

    @property
    def edge_tables(self) -> list[Path | Frame]:
        return list_edge_tables(self.edges)

    @property
    def weight_columns(self) -> list[str]:
        given = [self.edge_weight] if isinstance(self.edge_weight, str) else self.edge_weight or []
        return list(given)


def list_edge_tables(given: Any) -> list[Path | Frame]:
    """One edge table, or each of a list or tuple of them; a list of ids is an edge."""
    if not isinstance(given, list | tuple) or any(isinstance(each, list | tuple) for each in given):
        return [as_edge_table(given, "edge table")]
    return [as_edge_table(each, f"edge table {place}") for place, each in enumerate(given, 1)]


@dataclass(frozen=True, eq=False)
class KeptTables:
    """What is kept of the tables a graph was made from.

    Attributes:
        ids: Of the nodes, in the graph's order.
        id_column, label_column: Their columns in the node table.
        edge_columns: Those read of each edge table.
        read: What was read: files, rows, columns, class sizes, edges left out, how splits were made.
    """

    ids: Values
    id_column: str
    label_column: str
    edge_columns: tuple[EdgeColumns, ...]
    classes: Classes
    encoding: Encoding
    read: dict[str, Any]

    def save(self, folder: Path, data: Data) -> Path:
        """Write the three files; the path of the graph file."""
        from glognn.data.npz import write_npz

        try:
            write_npz(data, folder / GRAPH)
        except OSError as error:
            raise InputError(str(error)) from None
        self.save_names(folder)
        return folder / GRAPH

    def save_names(self, folder: Path, tables: str = TABLES, nodes: str = NODES) -> None:
        """Write what is kept beside a graph file."""
        import pyarrow as pa

        content = {
            "schema_version": SCHEMA_VERSION,
            "id": self.id_column,
            "label": self.label_column,
            "edges": [asdict(each) for each in self.edge_columns],
            "classes": self.classes.as_dict(),
            "encoding": self.encoding.as_dict(),
            "read": self.read,
        }
        try:
            write_table(pa.table({self.id_column: self.ids}), folder / nodes)
            write_json(folder / tables, content)
        except OSError as error:
            raise InputError(str(error)) from None

    @classmethod
    def load(cls, folder: Path, tables: str = TABLES, ids: str = NODES) -> KeptTables:
        """What :meth:`save_names` wrote."""
        path, nodes = folder / tables, folder / ids
        try:
            check_version(path, read_record(path, {}), SCHEMA_VERSION)
            content = read_record(path, _KEPT)
        except FileNotFoundError:
            raise InputError(f"There is no file '{path}'.") from None
        try:
            classes, encoding = Classes.from_dict(content["classes"]), Encoding.from_dict(content["encoding"])
            edge_columns = _read_edge_columns(content["edges"])
            _read_dialect(content["read"])
        except (TypeError, ValueError) as error:
            raise InputError(f"'{path}' is damaged: {str(error).removesuffix('.')}.") from None
        column = find_column(nodes, column_names(nodes), content["id"], 0, f"which '{path}' names")
        return cls(
            ids=read_ids(read_table(nodes, [column])[column], f"column '{column}' of '{nodes}'").combine_chunks(),
            id_column=column,
            label_column=content["label"],
            edge_columns=edge_columns,
            classes=classes,
            encoding=encoding,
            read=content["read"],
        )

    @property
    def dialect(self) -> Dialect:
        """How the text files of training were said to be written, which later ones are, too."""
        return _read_dialect(self.read)


def _read_dialect(read: dict[str, Any]) -> Dialect:
    options = read.get("options", {})
    if wrong := misfit(options, {}, "read.options"):
        raise ValueError(wrong)
    signs = {name: options.get(name) for name in _SIGNS}
    if wrong := misfit(signs, _SIGNS, "read.options"):
        raise ValueError(wrong)
    return Dialect(**signs)


def _read_edge_columns(content: Any) -> tuple[EdgeColumns, ...]:
    if isinstance(content, dict):
        if wrong := misfit(content, _FIRST_EDGES, "edges"):
            raise ValueError(wrong)
        weights = () if content["weight"] is None else (content["weight"],)
        return (EdgeColumns(content["source"], content["target"], weights, (1.0,) * len(weights)),)
    if wrong := misfit(content, [_EDGES], "edges"):
        raise ValueError(wrong)
    for each in content:
        if len(each["weights"]) != len(each["means"]) or not all(mean > 0 for mean in each["means"]):
            raise ValueError("edges must have a mean above 0 for each column of weights")
    if not content:
        raise ValueError("edges must be at least one table")
    return tuple(EdgeColumns(e["source"], e["target"], tuple(e["weights"]), tuple(e["means"])) for e in content)


def degree_table(index: IntArray, count: int) -> Table:
    """How many edges lead out of each node, and into it."""
    return table_of_degrees([np.bincount(ends, minlength=count) for ends in index])


def table_of_degrees(degrees: Sequence[IntArray]) -> Table:
    """A table of how many edges lead out of each node and into it, given in this order."""
    import pyarrow as pa

    return pa.table({name: pa.array(each) for name, each in zip((OUT, IN), degrees, strict=True)})


def kept_classes(graph: Path) -> Classes | None:
    """The classes of a graph that was made of tables."""
    if (folder := tables_folder(graph)) is None:
        return None
    path = folder / TABLES
    check_version(path, read_record(path, {}), SCHEMA_VERSION)
    content = read_record(path, {"classes": _KEPT["classes"]})
    try:
        return Classes.from_dict(content["classes"])
    except (TypeError, ValueError) as error:
        raise InputError(f"'{path}' is damaged: {error}.") from None


@dataclass(frozen=True)
class NodeColumns:
    """What the columns of a node table are to a graph; ``apart`` are those that are no features."""

    names: list[str]
    id: str
    label: str
    dropped: list[str]
    categories: list[str]
    apart: set[str]

    @classmethod
    def of(cls, options: TableOptions) -> NodeColumns:
        nodes = options.node_table
        names = column_names(nodes, options.dialect)
        id_column = find_column(nodes, names, options.id, 0, "--id")
        label = find_column(nodes, names, options.label, 0, "--label")
        if label == id_column:
            raise InputError(f"--id and --label must be two columns of '{nodes}'. Got '{label}' for both.")
        dropped = _named(options.drop_columns, names, nodes, "--drop-columns")
        categories = _named(options.category_columns, names, nodes, "--category-columns")
        apart = {id_column, label, *dropped}
        if options.split_column is not None:
            apart.add(find_column(nodes, names, options.split_column, 0, "--split-column"))
        return cls(names, id_column, label, dropped, categories, apart)

    @property
    def features(self) -> list[str]:
        return [name for name in self.names if name not in self.apart]


def graph_from_tables(options: TableOptions) -> tuple[KeptTables, Data]:
    """The graph that tables describe, as a ``Data``, and what is worth keeping of them.

    A table without columns to learn from gives its nodes their numbers of edges as features.
    """
    import torch
    from torch_geometric.data import Data

    nodes, dialect, columns = options.node_table, options.dialect, NodeColumns.of(options)
    left_out = set(columns.dropped)
    table = read_table(
        nodes,
        [name for name in columns.names if name not in left_out],
        ids=[columns.id],
        text=[columns.label, *columns.categories],
        dialect=dialect,
    )
    ids, classes, y = read_nodes(table, columns, options)
    edges = read_relations(options.edge_tables, ids, **edge_options(options))
    encoding = Encoding.learn(
        table, columns.features, str(nodes), categories=columns.categories, rare=options.rare_share
    )
    rows = table
    if not encoding.columns:
        rows = degree_table(edges.index, len(ids))
        encoding = Encoding(Encoding.of_edges(rows).columns, encoding.dropped)
    data = Data(edge_index=torch.from_numpy(edges.index), y=torch.from_numpy(y), num_nodes=len(ids))
    if encoding.num_features:
        data.x, data.encoded = torch.from_numpy(encoding.encode(rows, str(nodes))), True
    if edges.weight is not None:
        data.edge_weight = torch.from_numpy(edges.weight)
    origin = add_splits(data, table, options)
    read = read_facts(options, columns.dropped, y, len(classes), edges, origin)
    return KeptTables(ids, columns.id, columns.label, edges.columns, classes, encoding, read), data


def read_nodes(table: Table, columns: NodeColumns, options: TableOptions) -> tuple[Values, Classes, IntArray]:
    """Ids, classes and each node's class, of a node table."""
    ids = unique_ids(table[columns.id], f"column '{columns.id}' of '{options.node_table}'")
    place = f"column '{columns.label}' of '{options.node_table}'"
    classes = Classes.learn(table[columns.label], place)
    return ids, classes, classes.numbers(table[columns.label], place)


def edge_options(options: TableOptions) -> dict[str, Any]:
    """What is said of edge tables, as :func:`read_relations` takes it."""
    return {
        "source": options.source,
        "target": options.target,
        "weight": options.weight_columns,
        "unknown": options.unknown_edges,
        "dialect": options.dialect,
    }


def _named(given: Sequence[str], names: Sequence[str], path: Path | Frame, option: str) -> list[str]:
    """Columns named one by one or with commas between them."""
    found, known = [], set(names)
    for text in given:
        for name in [text] if text in known else text.split(","):
            if name.strip() not in known:
                raise InputError(f"'{path}' has no column '{name.strip()}' ({option}).{suggest(name.strip(), names)}")
            found.append(name.strip())
    return found


def add_splits(data: Data, table: Table, options: TableOptions) -> str:
    """Put masks into the graph; where they are from, in words."""
    import torch

    from glognn.data.splits import FRACTIONS, add_folds, describe_splits, parse_fractions, random_splits

    if options.split_column is not None and options.fractions:
        raise InputError("--split-column says which nodes train, and so does --fractions. Leave out one of them.")
    if options.split_column is None and options.folds:
        return add_folds(data, options.folds, options.split_seed)
    if options.split_column is None:
        fractions = parse_fractions(options.fractions) if options.fractions else FRACTIONS
        count, seed = options.random_splits or 1, options.split_seed
        for name, mask in random_splits(data.y, count, seed=seed, fractions=fractions).items():
            data[f"{name}_mask"] = mask
        return describe_splits(fractions, seed)
    place = f"column '{options.split_column}' of '{options.node_table}'"
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


def read_facts(
    options: TableOptions,
    dropped: list[str],
    y: IntArray,
    num_classes: int,
    edges: Edges,
    origin: str,
) -> dict[str, Any]:
    """What a record tells of tables that were read: what was asked, the files by their sha256, and what they hold."""
    tables = [options.node_table, *options.edge_tables]
    given = {each.name: getattr(options, each.name) for each in fields(options)}
    given |= {name: list(given[name]) for name in ("drop_columns", "category_columns")}
    paths = [str(path) for path in tables[1:]]
    given |= {"nodes": str(tables[0]), "edges": paths[0] if len(paths) == 1 else paths}
    given["edge_weight"] = (
        options.edge_weight if isinstance(options.edge_weight, str) else options.weight_columns or None
    )
    signs = {str(path): text_signs(path, options.dialect) for path in tables}
    return {
        "options": given,
        "files": {str(path): file_sha256(path) for path in tables if isinstance(path, Path)},
        "signs": {name: list(found) for name, found in signs.items() if found is not None},
        "edges_of": list(edges.counts),
        "nodes": len(y),
        "edges": sum(edges.counts),
        "unknown_edges_dropped": edges.unknown,
        "columns_left_out": dropped,
        "class_sizes": np.bincount(y[y >= 0], minlength=num_classes).tolist(),
        "unlabelled": int((y < 0).sum()),
        "splits": origin,
    }


def read_labels(
    tables_ids: Values, classes: Classes, path: Path, id: str, label: str, dialect: Dialect = DETECTED
) -> tuple[IntArray, IntArray]:
    """Places of nodes and their classes from a table of truth; rows without a label are left out."""
    table = read_table(path, [id, label], ids=[id], text=[label], dialect=dialect)
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
