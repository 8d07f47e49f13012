"""A user's tables of nodes and edges: CSV, TSV, Parquet and Feather; the text ones may be gzipped. Imports no torch.

Ids may be whole numbers, text or UUIDs. In a text file they are numbers where all of the node table's are written as
numbers are ('7', not '007'), and text otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from glognn.errors import InputError
from glognn.settings import suggest
from glognn.storage import write_atomically

Table = Any
"""A ``pyarrow.Table``; its columns are chunked arrays. pyarrow has no types of its own."""
Values = Any

IntArray = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]
FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
}
MISSING = ["", "NA", "N/A", "NaN", "nan", "NULL", "null"]
"""What stands for a missing value in the text files of nodes; in those of edges only nothing at all does."""
UNKNOWN = ("error", "drop")
_BLOCK = 1 << 24
_SPARSEST = 8
"""Numbers for each id, above which a place for every number no longer pays."""
_NAMELESS = re.compile(r"\s*|__index_level_\d+__|Unnamed: \d+")
"""What pandas calls the numbers of rows that it writes."""
_NAMED = 3


def table_format(path: Path) -> tuple[str, bool]:
    """The format that a name's ending stands for, and whether it is gzipped."""
    name = path.name.lower()
    gzipped = name.endswith(".gz")
    kind = FORMATS.get(Path(name.removesuffix(".gz")).suffix)
    if kind is None or (gzipped and kind not in ("csv", "tsv")):
        raise InputError(
            f"The name of a table must end in {', '.join(FORMATS)}, .csv.gz or .tsv.gz. Got '{path}' instead."
        )
    return kind, gzipped


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise InputError(f"There is no table '{path}'.") from None
    except (UnicodeDecodeError, pa.ArrowException, OSError, EOFError) as error:
        reason = " ".join(str(error).split()).rstrip(".")[:200] or type(error).__name__
        if "UTF8" in reason or isinstance(error, UnicodeDecodeError):
            raise InputError(f"'{path}' is not in UTF-8: save it in that encoding.") from None
        raise InputError(f"The table '{path}' cannot be read: {reason}.") from None


def _csv_options(kind: str, types: Mapping[str, Any], columns: Sequence[str] | None, nodes: bool) -> dict[str, Any]:
    from pyarrow import csv

    missing = {"null_values": MISSING if nodes else [""], "strings_can_be_null": True}
    return {
        "read_options": csv.ReadOptions(block_size=_BLOCK),
        "parse_options": csv.ParseOptions(delimiter="\t" if kind == "tsv" else ",", newlines_in_values=nodes),
        "convert_options": csv.ConvertOptions(column_types=dict(types), include_columns=columns or [], **missing),
    }


def column_names(path: Path) -> list[str]:
    """The columns of a table, each named once; those that are only the numbers of rows, nameless, are left out."""
    from pyarrow import csv, ipc, parquet

    kind, _ = table_format(path)
    names: list[str]
    with _reading(path):
        if kind == "parquet":
            names = parquet.read_schema(path).names
        elif kind == "feather":
            with ipc.open_file(path) as reader:
                names = reader.schema.names
        else:
            options = _csv_options(kind, {}, None, True) | {"read_options": csv.ReadOptions(block_size=_BLOCK // 16)}
            with csv.open_csv(path, **options) as reader:
                names = reader.schema.names
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(f"The columns of '{path}' must have different names. Got '{repeated[0]}' more than once.")
    return [name for name in names if not _NAMELESS.fullmatch(name)]


def check_header(path: Path, columns: Sequence[str], ids: Values) -> None:
    """Refuse a text file without a header line, whose first row of ids would be lost as names of columns."""
    import pyarrow as pa
    from pyarrow import compute as pc

    if table_format(path)[0] not in ("csv", "tsv"):
        return
    names = as_numbers(pa.chunked_array([pa.array(columns, pa.string())]))
    if names.type == ids.type and all(pc.index(ids, name).as_py() >= 0 for name in names):
        named = ", ".join(repr(column) for column in columns)
        raise InputError(f"The first line of '{path}' must name its columns. Got ids instead: {named}.")


def find_column(path: Path, names: Sequence[str], wanted: str | None, place: int, option: str) -> str:
    """The column a user names, or the one at a place."""
    if wanted is not None and wanted not in names:
        raise InputError(f"'{path}' has no column '{wanted}' ({option}).{suggest(wanted, names)}")
    if wanted is None and place >= len(names):
        raise InputError(f"'{path}' must have at least {place + 1} columns. Got {', '.join(names) or 'none'} instead.")
    return names[place] if wanted is None else wanted


def read_table(
    path: Path,
    columns: Sequence[str] | None = None,
    *,
    text: Sequence[str] = (),
    whole: Sequence[str] = (),
    nodes: bool = True,
) -> Table:
    """Some or all columns of a table, which must have rows.

    Args:
        path: The file.
        columns: Those to read; ``None``: all.
        text: Columns that text files are to give as they are written.
        whole: Columns that text files are to give as whole numbers.
        nodes: Whether it may have values over several lines, and words such as NA that stand for a missing one.
    """
    import pyarrow as pa
    from pyarrow import csv, feather, parquet

    kind, _ = table_format(path)
    types = dict.fromkeys(text, pa.string()) | dict.fromkeys(whole, pa.int64())
    with _reading(path):
        if kind == "parquet":
            table = parquet.read_table(path, columns=columns)
        elif kind == "feather":
            table = feather.read_table(path, columns=columns)
        else:
            table = csv.read_csv(path, **_csv_options(kind, types, columns, nodes))
            if any(pa.types.is_binary(field.type) for field in table.schema):
                raise InputError(f"'{path}' is not in UTF-8: save it in that encoding.")
    if not table.num_rows:
        raise InputError(f"The table '{path}' must have rows. Got only the header instead.")
    return table.select(columns) if columns else table


def write_table(table: Table, path: Path) -> None:
    """Write a table in the format of its name, as a whole or not at all."""
    import pyarrow as pa
    from pyarrow import csv, feather, parquet

    kind, gzipped = table_format(path)

    def write(temporary: Path) -> None:
        if kind == "parquet":
            parquet.write_table(table, temporary)
        elif kind == "feather":
            feather.write_feather(table, str(temporary))
        else:
            options = csv.WriteOptions(delimiter="\t" if kind == "tsv" else ",")
            with pa.output_stream(str(temporary), compression="gzip" if gzipped else None) as stream:
                csv.write_csv(table, stream, options)

    write_atomically(path, write)


def plain(column: Values) -> Values:
    """A column without its storage: dictionaries decoded, one kind of text, NaN as missing."""
    import pyarrow as pa
    from pyarrow import compute as pc

    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    if isinstance(column.type, pa.BaseExtensionType):
        named = getattr(column.type, "extension_name", "")
        if named == "arrow.uuid":
            texts = [None if value is None else str(value) for value in column.to_pylist()]
            return pa.chunked_array([pa.array(texts, pa.string())])
        column = column.cast(column.type.storage_type)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    if pa.types.is_floating(column.type):
        column = column.cast(pa.float64())
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, pa.float64()), column)
    return column


def read_ids(column: Values, place: str) -> Values:
    """Ids as text or whole numbers, none of them missing; ``place`` names the column in errors."""
    import pyarrow as pa
    from pyarrow import compute as pc

    column = plain(column)
    if pa.types.is_floating(column.type):
        try:
            column = column.cast(pa.int64())
        except pa.ArrowInvalid:
            raise InputError(f"The ids in {place} must be text or whole numbers. Got fractions instead.") from None
    if pa.types.is_integer(column.type):
        column = column.cast(pa.string() if pa.types.is_uint64(column.type) else pa.int64())
    elif not pa.types.is_string(column.type) and not pa.types.is_null(column.type):
        raise InputError(f"The ids in {place} must be text or whole numbers. Got {column.type} instead.")
    text = pa.types.is_string(column.type)
    if column.null_count or (text and len(column) and not pc.min(pc.binary_length(column)).as_py()):
        empty = pc.is_null(column)
        if text:
            empty = pc.or_(empty, pc.equal(pc.fill_null(column, ""), ""))
        missing = pc.sum(empty).as_py()
        row = pc.index(empty, pa.scalar(True)).as_py() + 1
        raise InputError(
            f"Every row of {place} must have an id. Got {missing:,} without one, the first in row {row:,}."
        )
    return column


def as_numbers(ids: Values) -> Values:
    """Text ids as whole numbers where all are written as numbers are, else as they are."""
    import pyarrow as pa
    from pyarrow import compute as pc

    if not pa.types.is_string(ids.type):
        return ids
    try:
        numbers = ids.cast(pa.int64())
    except pa.ArrowInvalid:
        return ids
    return numbers if pc.all(pc.equal(numbers.cast(pa.string()), ids)).as_py() else ids


def unique_ids(column: Values, place: str) -> Values:
    """The ids of a node table as one array, each of them once."""
    from pyarrow import compute as pc

    ids = as_numbers(read_ids(column, place)).combine_chunks()
    if pc.count_distinct(ids).as_py() < len(ids):
        counts = pc.value_counts(ids)
        repeated = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
        raise InputError(f"The ids in {place} must be unique. Got {name_some(repeated)} more than once.")
    return ids


def name_some(values: Values) -> str:
    """A few values, and how many more there are."""
    shown = ", ".join(repr(value) for value in values.slice(0, _NAMED).to_pylist())
    more = len(values) - _NAMED
    return f"{shown} and {more:,} more" if more > 0 else shown


def positions(values: Values, ids: Values) -> IntArray:
    """The place of each value among the ids, -1 for those that are not there."""
    import pyarrow as pa

    values = pa.chunked_array([values]) if isinstance(values, pa.Array) else values
    found: IntArray = _locate([values], ids)[0]
    return found


def _locate(columns: list[Values], ids: Values) -> IntArray:
    """The place of each value of some columns among the ids, columns x rows."""
    import pyarrow as pa

    columns = [column if column.type == ids.type else as_numbers(column) for column in columns]
    if any(column.type != ids.type for column in columns):
        columns, ids = [column.cast(pa.string()) for column in columns], ids.cast(pa.string())
    ids = pa.concat_arrays(ids.chunks) if isinstance(ids, pa.ChunkedArray) else ids
    found = np.empty((len(columns), len(columns[0])), dtype=np.int64)
    with ThreadPoolExecutor() as pool:
        for row, places in zip(found, pool.map(_finder(ids), columns), strict=True):
            row[:] = places
    return found


def _finder(ids: Values) -> Callable[[Values], Places]:
    """What looks a column up among the ids: by a place for every number where numbers lie close, else by hashing."""
    import pyarrow as pa
    from pyarrow import compute as pc

    def hashed(column: Values) -> Places:
        found: Places = pc.fill_null(pc.index_in(column, value_set=ids), -1).to_numpy()
        return found

    if not pa.types.is_integer(ids.type) or not len(ids):
        return hashed
    known = ids.to_numpy()
    low, span = known.min(), int(known.max()) - int(known.min())
    if span > _SPARSEST * len(ids):
        return hashed
    places = np.full(span + 2, -1, dtype=np.int32)  # the last is that of all numbers that are no id
    places[known - low] = np.arange(len(ids))

    def placed(column: Values) -> Places:
        offsets = (column.to_numpy() - low).view(np.uint64)  # numbers below the least wrap round to large ones
        found: Places = places[np.minimum(offsets, span + 1, out=offsets).view(np.int64)]
        return found

    return placed


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
        raise InputError(f"--source and --target must be two columns. Got '{first}' for both.")
    wanted = [first, second]
    check_header(path, wanted, ids)
    if weight is not None:
        wanted.append(find_column(path, names, weight, 2, "--edge-weight"))
        if weight in wanted[:2]:
            raise InputError(f"--edge-weight must be a column other than the edges' ends. Got '{weight}' instead.")
    table = _read_ends(path, wanted, ids)
    index = _locate([read_ids(table[name], f"column '{name}' of '{path}'") for name in wanted[:2]], ids)
    weights = None if weight is None else _weights(table[weight], path, weight)
    count = 0
    if index.min() < 0:
        lost = (index[0] < 0) | (index[1] < 0)
        count = int(lost.sum())
        if unknown == "error":
            raise InputError(_unknown_ends(table, wanted, index, count, path))
        index = index[:, ~lost]
        weights = None if weights is None else weights[~lost]
    if not index.shape[1]:
        raise InputError(f"No edge of '{path}' joins two nodes of the node table: are these the same ids?")
    return Edges(index, weights, {"source": first, "target": second, "weight": weight}, count)


def _read_ends(path: Path, wanted: list[str], ids: Values) -> Table:
    """The columns of an edge table; ids in a text file as numbers where the nodes' are, if they can be."""
    import pyarrow as pa

    if pa.types.is_integer(ids.type):
        try:
            return read_table(path, wanted, whole=wanted[:2], nodes=False)
        except InputError as error:
            if "conversion error" not in str(error):
                raise
    return read_table(path, wanted, text=wanted[:2], nodes=False)


def _unknown_ends(table: Table, wanted: list[str], index: IntArray, count: int, path: Path) -> str:
    import pyarrow as pa
    from pyarrow import compute as pc

    strange = [table[name].filter(pa.array(index[side] < 0)) for side, name in enumerate(wanted[:2])]
    chunks = [chunk for column in strange for chunk in plain(column).chunks]
    named = name_some(pc.unique(pa.chunked_array(chunks)))
    return (
        f"Every edge of '{path}' must join two ids of the node table. Got {count:,} of {table.num_rows:,} edges to "
        f"unknown ids ({named}): add them to the nodes, or leave such edges out with --unknown-edges drop."
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
