"""Tables of edges between known ids. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from glognn.data.arrow import IntArray, Table, Values, plain
from glognn.data.ids import distinct, locate, name_some, read_ids, spelling
from glognn.data.tables import check_header, column_names, find_column, read_table
from glognn.errors import InputError

UNKNOWN = ("error", "drop")


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges between numbered nodes.

    Attributes:
        index: 2 x edges, places among the ids.
        weight: One number for each edge, or none at all.
        columns: The names of the columns read: source, target and weight.
        unknown: Edges left out because an end is no known id.
    """

    index: IntArray
    weight: npt.NDArray[np.float64] | None
    columns: dict[str, str | None]
    unknown: int


def read_edges(
    path: Path,
    ids: Values,
    *,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    unknown: str = "error",
) -> Edges:
    """Edges between known ids; an edge to another one is an error, or left out and counted (``unknown='drop'``)."""
    if unknown not in UNKNOWN:
        raise InputError(f"--unknown-edges must be one of {', '.join(UNKNOWN)}. Got {unknown!r} instead.")
    names = column_names(path)
    find_column(path, names, None, 1, "")
    first = find_column(path, names, source, 0, "--source")
    second = find_column(path, names, target, 0 if names.index(first) else 1, "--target")
    if first == second:
        raise InputError(f"--source and --target must be two columns of '{path}'. Got '{first}' for both.")
    wanted = [first, second]
    check_header(path, wanted, ids)
    if weight is not None:
        wanted.append(find_column(path, names, weight, 2, "--edge-weight"))
        if weight in wanted[:2]:
            raise InputError(f"--edge-weight must be a column other than the edges' ends. Got '{weight}' instead.")
    table = read_table(path, wanted, ids=wanted[:2], nodes=False)
    index = locate([read_ids(table[name], f"column '{name}' of '{path}'") for name in wanted[:2]], ids)
    weights = None if weight is None else _weights(table[weight], path, weight)
    count = 0
    if index.min() < 0:
        lost = (index[0] < 0) | (index[1] < 0)
        count = int(lost.sum())
        if unknown == "error":
            raise InputError(_unknown_ends(table, wanted, index, count, path, ids))
        index = index[:, ~lost]
        weights = None if weights is None else weights[~lost]
    if not index.shape[1]:
        raise InputError(f"No edge of '{path}' joins two nodes of the node table: are these the same ids?")
    return Edges(index, weights, {"source": first, "target": second, "weight": weight}, count)


def _unknown_ends(table: Table, wanted: list[str], index: IntArray, count: int, path: Path, ids: Values) -> str:
    import pyarrow as pa

    strange = [plain(table[name]).filter(pa.array(index[side] < 0)) for side, name in enumerate(wanted[:2])]
    chunks = [chunk for column in strange for chunk in column.cast(pa.string()).chunks]
    every = distinct(pa.chunked_array(chunks, pa.string()))
    return (
        f"Every edge of '{path}' must join two ids of the node table. Got {count:,} of {table.num_rows:,} edges to "
        f"unknown ids ({name_some(every)}): add them to the nodes, or leave such edges out with --unknown-edges drop."
        f"{spelling(every, ids)}"
    )


def _weights(column: Values, path: Path, name: str) -> npt.NDArray[np.float64]:
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
            f"Got {values[row]} in row {row + 1:,} instead."
        )
    return np.require(values, requirements="W")  # Arrow lends its own memory, which torch must not be given
