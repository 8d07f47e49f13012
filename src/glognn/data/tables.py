"""A user's tables of nodes and edges: CSV, TSV, Parquet and Feather; the text ones may be gzipped. Imports no torch.

An id is its text exactly as it is written, in every table and every format: '7', '007', ' 7', '+7' and '7.0' are five
ids, and the whole number 7 of a Parquet file is the first of them. Numbers are only the fast form of columns in which
all ids are written as whole numbers are.
"""

from __future__ import annotations

import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
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
_FIRST = 100
_FORMULA = r"=+\-@\t\r\n＝＋－＠"
"""First characters of what Excel, LibreOffice and Google Sheets may run."""
_FACTOR = np.int64(secrets.randbits(62) | 1)
_BYTES = bytes(secrets.SystemRandom().sample(range(256), 256))


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


def _csv_options(
    kind: str, types: Mapping[str, Any], columns: Sequence[str] | None, nodes: bool, lines: bool
) -> dict[str, Any]:
    from pyarrow import csv

    missing = {"null_values": MISSING if nodes else [""], "strings_can_be_null": False}
    return {
        "read_options": csv.ReadOptions(block_size=_BLOCK),
        "parse_options": csv.ParseOptions(delimiter="\t" if kind == "tsv" else ",", newlines_in_values=lines),
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
            options = _csv_options(kind, {}, None, True, True) | {
                "read_options": csv.ReadOptions(block_size=_BLOCK // 16)
            }
            with csv.open_csv(path, **options) as reader:
                names = reader.schema.names
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise InputError(f"The columns of '{path}' must have different names. Got '{repeated[0]}' more than once.")
    return [name for name in names if not _NAMELESS.fullmatch(name)]


def check_header(path: Path, columns: Sequence[str], ids: Values) -> None:
    """Refuse a text file without a header line, whose first row of ids would be lost as names of columns."""
    import pyarrow as pa

    if table_format(path)[0] not in ("csv", "tsv"):
        return
    if (positions(pa.array(columns, pa.string()), ids) >= 0).all():
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
    ids: Sequence[str] = (),
    text: Sequence[str] = (),
    nodes: bool = True,
) -> Table:
    """Some or all columns of a table, which must have rows.

    Args:
        path: The file.
        columns: Those to read; ``None``: all.
        ids: Columns that text files are to give as they are written, words such as NA included.
        text: Those to give as they are written where they are not missing.
        nodes: Whether words such as NA stand for a missing value.
    """
    import pyarrow as pa
    from pyarrow import csv, feather, parquet

    kind, _ = table_format(path)
    types = dict.fromkeys((*ids, *text), pa.string())
    with _reading(path):
        if kind == "parquet":
            table = parquet.read_table(path, columns=columns)
            table.validate(full=True)  # Arrow itself believes places in memory that a file gives, wherever they lead
        elif kind == "feather":
            table = feather.read_table(path, columns=columns)
            table.validate(full=True)
        else:
            table = None if nodes else _read_lines(path, kind, types, columns)
            if table is None:
                table = csv.read_csv(path, **_csv_options(kind, types, columns, nodes, lines=True))
            if any(pa.types.is_binary(field.type) for field in table.schema):
                raise InputError(f"'{path}' is not in UTF-8: save it in that encoding.")
            table = _as_written(table, set(ids), types.keys(), MISSING if nodes else [""])
    if not table.num_rows:
        raise InputError(f"The table '{path}' must have rows. Got only the header instead.")
    return table.select(columns) if columns else table


def _read_lines(path: Path, kind: str, types: Mapping[str, Any], columns: Sequence[str] | None) -> Table | None:
    """A text file with a row in each line, which is read faster; none where it cannot be read so."""
    import pyarrow as pa
    from pyarrow import csv

    try:
        return csv.read_csv(path, **_csv_options(kind, types, columns, nodes=False, lines=False))
    except pa.ArrowInvalid:
        return None


def _as_written(table: Table, ids: Set[str], written: Set[str], missing: Sequence[str]) -> Table:
    """A table of a text file: text that stands for a missing value is missing, but in ids, and numbers are numbers."""
    import pyarrow as pa
    from pyarrow import compute as pc

    def convert(name: str) -> Values:
        column = table[name]
        if pa.types.is_string(column.type) and name not in ids:
            column = pc.if_else(pc.is_in(column, value_set=pa.array(missing)), pa.scalar(None, pa.string()), column)
        return as_numbers(column) if name in written else column

    with ThreadPoolExecutor() as pool:
        return pa.table(list(pool.map(convert, table.column_names)), names=table.column_names)


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


def for_spreadsheets(table: Table) -> Table:
    """A table whose texts a spreadsheet shows and does not run, with an apostrophe before what looks like a formula."""
    import pyarrow as pa
    from pyarrow import compute as pc

    def escape(texts: Values) -> Values:
        return pc.replace_substring_regex(texts, rf"\A([{_FORMULA}])", r"'\1")

    columns = [escape(column) if pa.types.is_string(column.type) else column for column in table.columns]
    return pa.table(columns, names=escape(pa.array(table.column_names)).to_pylist())


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


def is_dates(column: Values) -> bool:
    """Whether a column of text holds nothing but dates."""
    import pyarrow as pa

    try:
        column.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return False
    return True


def read_ids(column: Values, place: str) -> Values:
    """Ids as text or whole numbers, none of them missing; ``place`` names the column in errors.

    Fractions are refused, whole ones too: what a table holds as 7.0 is '7' to one program and '7.0' to the next, and
    above 2**53 different ids are one fraction.
    """
    import pyarrow as pa
    from pyarrow import compute as pc

    column = plain(column)
    if pa.types.is_floating(column.type) and column.null_count < len(column):
        raise InputError(
            f"The ids in {place} must be text or whole numbers. Got fractions such as {column.drop_null()[0]} instead: "
            "store them as whole numbers (in pandas: astype('Int64')) or as text."
        )
    if pa.types.is_integer(column.type):
        with suppress(pa.ArrowInvalid):  # above 2**63 they stay what they are
            column = column.cast(pa.int64())
    elif not (pa.types.is_string(column.type) or pa.types.is_null(column.type) or pa.types.is_floating(column.type)):
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


def as_numbers(column: Values) -> Values:
    """Text as whole numbers where all of it is the one way to write them ('7', not '007' or '-0'), else as it is."""
    import pyarrow as pa
    from pyarrow import compute as pc

    if not pa.types.is_string(column.type) or column.null_count == len(column):
        return column
    try:
        column.slice(0, _FIRST).cast(pa.int64())  # Arrow would look at all of a column whose first value is a word
        numbers = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column
    zero_first = pc.and_(pc.starts_with(column, "0"), pc.greater(pc.binary_length(column), 1))
    digits = all(
        (_letters(chunk)[0] - ord("0") <= 9).all() for chunk in column.chunks if len(chunk)
    )  # those below wrap round
    return (
        numbers
        if (digits and not pc.any(zero_first).as_py()) or pc.all(pc.equal(numbers.cast(pa.string()), column)).as_py()
        else column
    )


def unique_ids(column: Values, place: str) -> Values:
    """The ids of a node table as one array, each of them once."""
    import pyarrow as pa

    ids = read_ids(column, place).combine_chunks()
    again = positions(ids, ids) < np.arange(len(ids))
    if again.any():
        repeated = distinct(ids.filter(pa.array(again)))
        raise InputError(f"The ids in {place} must be unique. Got {name_some(repeated)} more than once.")
    return ids


def distinct(values: Values) -> Values:
    """Each value once, in the order of their first rows."""
    import pyarrow as pa

    return values.filter(pa.array(positions(values, values) == np.arange(len(values))))


def name_some(values: Values) -> str:
    """A few values, and how many more there are."""
    shown = ", ".join(repr(value) for value in values.slice(0, _NAMED).to_pylist())
    more = len(values) - _NAMED
    return f"{shown} and {more:,} more" if more > 0 else shown


def spelling(strange: Values, ids: Values) -> str:
    """What to say of unknown ids, the first of which would be known if it were written otherwise; or nothing."""
    import pyarrow as pa

    for text in map(str, strange.slice(0, _NAMED).to_pylist()):
        usual = _usual(text)
        if positions(pa.array([usual], pa.string()), ids)[0] >= 0:
            return f" Ids count as they are written: {text!r} is not {usual!r}."
    return ""


def _usual(text: str) -> str:
    """Text as a person may have meant it: a whole number, or without spaces around it."""
    for read in (int, lambda text: int(text, 0), lambda text: int(text.removesuffix(".0"))):
        with suppress(ValueError):
            return str(read(text.strip()))
    return text.strip()


def positions(values: Values, ids: Values) -> IntArray:
    """The place of each value among the ids, the first if there are several, -1 for those that are not there.

    Only text may have missing values.
    """
    import pyarrow as pa

    values = pa.chunked_array([values]) if isinstance(values, pa.Array) else values
    found: IntArray = _locate([values], ids)[0]
    return found


def _locate(columns: list[Values], ids: Values) -> IntArray:
    """The place of each value of some columns among the ids, columns x rows; as text unless all are numbers."""
    import pyarrow as pa

    if any(column.type != ids.type for column in columns):
        columns, ids = [column.cast(pa.string()) for column in columns], ids.cast(pa.string())
    ids = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    found = np.empty((len(columns), len(columns[0])), dtype=np.int64)
    with ThreadPoolExecutor() as pool:
        for row, places in zip(found, pool.map(_finder(ids), columns), strict=True):
            row[:] = places
    return found


def _finder(ids: Values) -> Callable[[Values], Places]:
    """What looks a column up among the ids: by a place for every number where numbers lie close, else by hashing."""
    import pyarrow as pa
    from pyarrow import compute as pc

    if pa.types.is_int64(ids.type) and len(ids):
        known = ids.to_numpy()
        low, span = known.min(), int(known.max()) - int(known.min())
        if span <= _SPARSEST * len(ids):
            places = np.full(span + 2, -1, dtype=np.int32)  # the last is that of all numbers that are no id
            places[(known - low)[::-1]] = np.arange(len(ids), dtype=np.int32)[::-1]

            def placed(column: Values) -> Places:
                offsets = (column.to_numpy() - low).view(np.uint64)  # numbers below the least wrap round to large ones
                found: Places = places[np.minimum(offsets, span + 1, out=offsets).view(np.int64)]
                return found

            return placed
    table = _unforeseen(ids)

    def hashed(column: Values) -> Places:
        chunks = [_unforeseen(chunk) for chunk in column.chunks]
        found: Places = pc.fill_null(pc.index_in(pa.chunked_array(chunks, table.type), value_set=table), -1).to_numpy()
        return found

    return hashed


def _letters(texts: Values) -> tuple[npt.NDArray[np.uint8], int]:
    """The bytes of all texts of an array, one after another, and where in its memory they start."""
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return np.frombuffer(data or b"", dtype=np.uint8)[ends[0] : ends[-1]], int(ends[0])


def _unforeseen(values: Values) -> Values:
    """An array under a one-to-one map that differs from process to process.

    Arrow hashes by a fixed function, for which many ids with one hash are easily found: 40,000 of them take 15 s.
    """
    import pyarrow as pa

    if pa.types.is_int64(values.type) or pa.types.is_uint64(values.type):
        with np.errstate(over="ignore"):
            return pa.array(values.to_numpy().view(np.int64) * _FACTOR)
    if not pa.types.is_string(values.type) or not len(values):
        return values.cast(pa.binary()) if pa.types.is_string(values.type) else values
    valid, offsets, _ = values.buffers()
    letters, start = _letters(values)
    mapped = np.empty(start + len(letters), dtype=np.uint8)
    mapped[start:] = np.frombuffer(letters.tobytes().translate(_BYTES), dtype=np.uint8)
    return pa.Array.from_buffers(pa.binary(), len(values), [valid, offsets, pa.py_buffer(mapped)], offset=values.offset)


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
    index = _locate([read_ids(table[name], f"column '{name}' of '{path}'") for name in wanted[:2]], ids)
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
