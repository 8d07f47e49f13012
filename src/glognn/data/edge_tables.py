"""Tables of edges between known ids: one, or several that are added up. Imports no torch.

An edge weighs 1, or what its column of weights says. Where several columns or tables are added up, each column of
weights is divided by its mean over the edges of its table, so that none outweighs the others by its unit alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from glognn.data.arrow import IntArray, Table, Values, plain
from glognn.data.dialect import Dialect
from glognn.data.frames import Frame
from glognn.data.ids import distinct, locate, name_some, read_ids, spelling
from glognn.data.tables import DETECTED, check_header, column_names, find_column, read_blocks, read_table
from glognn.errors import InputError
from glognn.settings import check_word, suggest

UNKNOWN = ("error", "drop")
_NO_EDGE = "No edge of '{}' joins two nodes of the node table: are these the same ids?"
_MOST_STRANGE = 10_000
"""Ends of edges that are kept to be named, where a table is read in blocks."""


@dataclass(frozen=True)
class EdgeColumns:
    """The columns of an edge table that are read: its ends, and weights with what each is divided by."""

    source: str
    target: str
    weights: tuple[str, ...] = ()
    means: tuple[float, ...] = ()

    def among(self, names: Sequence[str]) -> bool:
        """Whether a table has all of them."""
        return {self.source, self.target, *self.weights} <= set(names)


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges between numbered nodes.

    Attributes:
        index: 2 x edges, places among the ids.
        weight: One number for each edge, or none at all.
        columns: Those read of each table.
        counts: Rows of each table.
        unknown: Edges left out because an end is no known id.
    """

    index: IntArray
    weight: npt.NDArray[np.float64] | None
    columns: tuple[EdgeColumns, ...]
    counts: tuple[int, ...]
    unknown: int


def read_edges(
    path: Path | Frame,
    ids: Values,
    *,
    source: str | None = None,
    target: str | None = None,
    weight: Sequence[str] = (),
    means: Sequence[float] | None = None,
    unknown: str = "error",
    scaled: bool = False,
    dialect: Dialect = DETECTED,
) -> Edges:
    """Edges between known ids; an edge to another one is an error, or left out and counted (``unknown='drop'``).

    Args:
        path: The table.
        ids: Of the nodes.
        source: Column of one end, by default the first.
        target: Column of the other, by default the next.
        weight: Columns of weights, which are added up.
        means: What each of them is divided by; by default its mean where there are several, or ``scaled`` says so.
        unknown: ``error`` or ``drop``.
        scaled: Whether one column of weights is divided by its mean, too.
        dialect: How a text file writes its tables.
    """
    first, second = _ends(path, ids, source, target, weight, unknown, dialect)
    table = read_table(path, [first, second, *weight], ids=[first, second], nodes=False, dialect=dialect)
    index = locate([read_ids(table[name], f"column '{name}' of '{path}'") for name in (first, second)], ids)
    weights = [_weights(table[name], path, name) for name in weight]
    if means is None:
        means = [float(each.mean()) or 1.0 if scaled or len(weights) > 1 else 1.0 for each in weights]
    scaled_weights = [each / mean for each, mean in zip(weights, means, strict=True)]
    total: npt.NDArray[np.float64] | None = np.sum(scaled_weights, axis=0) if weights else None
    count = 0
    if index.min() < 0:
        lost = (index[0] < 0) | (index[1] < 0)
        count = int(lost.sum())
        if unknown == "error":
            strange = distinct(_strange(table, [first, second], index))
            raise InputError(_unknown_ends(strange, count, table.num_rows, path, ids))
        index = index[:, ~lost]
        total = None if total is None else total[~lost]
    if not index.shape[1]:
        raise InputError(_NO_EDGE.format(path))
    return Edges(index, total, (EdgeColumns(first, second, tuple(weight), tuple(means)),), (table.num_rows,), count)


def _ends(
    path: Path | Frame,
    ids: Values,
    source: str | None,
    target: str | None,
    weight: Sequence[str],
    unknown: str,
    dialect: Dialect,
) -> tuple[str, str]:
    """The columns of an edge table's ends; what cannot be its columns is refused."""
    check_word("--unknown-edges", unknown, UNKNOWN)
    names = column_names(path, dialect)
    find_column(path, names, None, 1, "")
    first = find_column(path, names, source, 0, "--source")
    second = find_column(path, names, target, 0 if names.index(first) else 1, "--target")
    if first == second:
        raise InputError(f"--source and --target must be two columns of '{path}'. Got '{first}' for both.")
    check_header(path, [first, second], ids)
    for name in weight:
        find_column(path, names, name, 2, "--edge-weight")
        if name in (first, second):
            raise InputError(f"--edge-weight must be a column other than the edges' ends. Got '{name}' instead.")
    return first, second


def stream_relations(
    paths: Sequence[Path | Frame],
    ids: Values,
    sink: Callable[[IntArray, npt.NDArray[np.float64] | None], None],
    *,
    weight: Sequence[str] = (),
    source: str | None = None,
    target: str | None = None,
    unknown: str = "error",
    dialect: Dialect = DETECTED,
) -> Edges:
    """:func:`read_relations` of tables that need not fit the memory: edges go to ``sink`` a block at a time, and the
    result has none. Means of weights are the same to rounding.
    """
    own = _own_weights(paths, weight, dialect)
    columns, counts, dropped = [], [], 0
    for path, named in zip(paths, own, strict=True):
        first, second = _ends(path, ids, source, target, named, unknown, dialect)
        wanted: dict[str, Any] = {"columns": [first, second, *named], "ids": [first, second], "dialect": dialect}
        scaled = named and (len(named) > 1 or len(paths) > 1)
        means = _streamed_means(path, named, wanted) if scaled else [1.0] * len(named)
        rows, kept, lost, strange = 0, 0, 0, list[Any]()
        for table in read_blocks(path, numbers=named, **wanted):
            ends = [read_ids(table[name], f"column '{name}' of '{path}'", rows) for name in (first, second)]
            index = locate(ends, ids)
            weights = [_weights(table[name], path, name, rows) / mean for name, mean in zip(named, means, strict=True)]
            total = np.sum(weights, axis=0) if named else np.ones(table.num_rows) if any(own) else None
            known = (index >= 0).all(axis=0)
            if not known.all():
                lost += int((~known).sum())
                if len(strange) < _MOST_STRANGE:
                    strange += _strange(table, [first, second], index).to_pylist()[:_MOST_STRANGE]
                index, total = index[:, known], None if total is None else total[known]
            rows, kept = rows + table.num_rows, kept + index.shape[1]
            if unknown != "error" or not lost:
                sink(index, total)
        if lost and unknown == "error":
            raise InputError(_unknown_ends(distinct(_texts(strange)), lost, rows, path, ids))
        if not kept:
            raise InputError(_NO_EDGE.format(path))
        columns.append(EdgeColumns(first, second, tuple(named), tuple(means)))
        counts.append(rows)
        dropped += lost
    return Edges(np.empty((2, 0), dtype=np.int64), None, tuple(columns), tuple(counts), dropped)


def _streamed_means(path: Path | Frame, named: Sequence[str], wanted: dict[str, Any]) -> list[float]:
    totals, rows = np.zeros(len(named)), 0
    for table in read_blocks(path, numbers=named, **wanted):
        totals += [_weights(table[name], path, name, rows).sum() for name in named]
        rows += table.num_rows
    return [float(total / rows) or 1.0 for total in totals]


def _own_weights(paths: Sequence[Path | Frame], weight: Sequence[str], dialect: Dialect) -> list[list[str]]:
    """Of each table the columns of weights that it has; of one table all, which it must have."""
    if not paths:
        raise InputError("There must be at least one table of edges. Got none instead.")
    if len(paths) == 1:
        return [list(weight)]
    headers = [column_names(path, dialect) for path in paths]
    for name in weight:
        if not any(name in header for header in headers):
            known_names = sorted({each for header in headers for each in header})
            raise InputError(f"No table of edges has a column '{name}' (--edge-weight).{suggest(name, known_names)}")
    return [[name for name in weight if name in header] for header in headers]


def read_relations(
    paths: Sequence[Path | Frame],
    ids: Values,
    *,
    weight: Sequence[str] = (),
    known: Sequence[EdgeColumns] = (),
    source: str | None = None,
    target: str | None = None,
    unknown: str = "error",
    dialect: Dialect = DETECTED,
) -> Edges:
    """The edges of several tables, added up; a table without a named column of weights has edges that weigh 1.

    ``known`` are the columns of training: a later table has those of its place, or of the first that it can have.
    """
    weights_of = _own_weights(paths, weight, dialect)
    found: list[Edges] = []
    common: dict[str, Any] = {"unknown": unknown, "dialect": dialect}
    for place, (path, named) in enumerate(zip(paths, weights_of, strict=True)):
        own: dict[str, Any] = {"source": source, "target": target, "weight": named, "scaled": len(paths) > 1}
        header = column_names(path, dialect) if known else []
        if known and isinstance(path, Frame) and not path.has_names:
            own |= {"source": None, "target": None, "weight": header[2:]}
        elif known:
            usual = known[min(place, len(known) - 1)]
            same = next((each for each in (usual, *known) if each.among(header)), usual)
            own = {"source": same.source, "target": same.target, "weight": same.weights, "means": same.means}
        found.append(read_edges(path, ids, **own, **common))
    if len(found) == 1:
        return found[0]
    weighted = any(each.weight is not None for each in found)
    weights = [np.ones(each.index.shape[1]) if each.weight is None else each.weight for each in found]
    return Edges(
        np.concatenate([each.index for each in found], axis=1),
        np.concatenate(weights) if weighted else None,
        tuple(each.columns[0] for each in found),
        tuple(each.counts[0] for each in found),
        sum(each.unknown for each in found),
    )


def _texts(values: Sequence[str]) -> Values:
    import pyarrow as pa

    return pa.chunked_array([pa.array(values, pa.string())])


def _strange(table: Table, ends: list[str], index: IntArray) -> Values:
    """The ends of edges that are no known ids, as text."""
    import pyarrow as pa

    strange = [plain(table[name]).filter(pa.array(index[side] < 0)) for side, name in enumerate(ends)]
    return pa.chunked_array([chunk for column in strange for chunk in column.cast(pa.string()).chunks], pa.string())


def _unknown_ends(strange: Values, count: int, rows: int, path: Path | Frame, ids: Values) -> str:
    return (
        f"Every edge of '{path}' must join two ids of the node table. Got {count:,} of {rows:,} edges to "
        f"unknown ids ({name_some(strange)}): add them to the nodes, or leave such edges out with --unknown-edges drop."
        f"{spelling(strange, ids)}"
    )


def _weights(column: Values, path: Path | Frame, name: str, before: int = 0) -> npt.NDArray[np.float64]:
    import pyarrow as pa

    column = plain(column)
    numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)
    if not numeric:
        raise InputError(f"The weights in column '{name}' of '{path}' must be numbers. Got {column.type} instead.")
    values: npt.NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy()
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise InputError(
            f"The weights in column '{name}' of '{path}' must be finite and in the range [0.0, inf). "
            f"Got {values[row]} in row {before + row + 1:,} instead."
        )
    return np.require(values, requirements="W")  # Arrow lends its own memory, which torch must not be given
