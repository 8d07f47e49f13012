"""A user's tables of nodes and edges: CSV, TSV, Parquet and Feather; the text ones may be gzipped. Imports no torch."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from glognn.data.arrow import Table, Values
from glognn.data.dialect import Dialect
from glognn.data.frames import Frame
from glognn.data.ids import as_numbers, positions
from glognn.errors import InputError
from glognn.settings import nearest, suggest
from glognn.storage import write_atomically

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
_BLOCK = 1 << 24
BLOCK_ROWS = 1 << 20
"""Rows of a table of edges that are read at a time, where it is read in blocks."""
_NAMELESS = re.compile(r"\s*|__index_level_\d+__|Unnamed: \d+")
"""What pandas calls the numbers of rows that it writes."""
_FORMULA = r"=+\-@\t\r\n＝＋－＠"
"""First characters of what Excel, LibreOffice and Google Sheets may run."""
DETECTED = Dialect()


def table_format(path: Path | Frame) -> tuple[str, bool]:
    """The format that a name's ending stands for, and whether it is gzipped."""
    if isinstance(path, Frame):
        return "frame", False
    name = path.name.lower()
    gzipped = name.endswith(".gz")
    kind = FORMATS.get(Path(name.removesuffix(".gz")).suffix)
    if kind is None or (gzipped and kind not in ("csv", "tsv")):
        raise InputError(
            f"The name of a table must end in {', '.join(FORMATS)}, .csv.gz or .tsv.gz. Got '{path}' instead."
        )
    return kind, gzipped


@contextmanager
def _reading(path: Path | Frame) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        place = Path(str(path))
        beside = sorted(each.name for each in place.parent.glob("*") if each.is_file())
        raise InputError(f"There is no table '{path}'.{nearest(place.name, beside)}") from None
    except (UnicodeDecodeError, pa.ArrowException, OSError, EOFError) as error:
        reason = " ".join(str(error).split()).rstrip(".")[:200] or type(error).__name__
        if "UTF8" in reason or isinstance(error, UnicodeDecodeError):
            raise InputError(f"'{path}' is not in UTF-8: save it in that encoding.") from None
        raise InputError(f"The table '{path}' cannot be read: {reason}.") from None


def text_signs(path: Path | Frame, dialect: Dialect = DETECTED) -> tuple[str, str] | None:
    """The separator and the decimal sign of a text file; ``None`` of others."""
    kind, gzipped = table_format(path)
    if kind not in ("csv", "tsv"):
        return None
    assert isinstance(path, Path)
    with _reading(path):
        return dialect.of(path, kind, gzipped=gzipped)


def dialect_of_later(path: Path, dialect: Dialect) -> Dialect:
    """How a table that comes after training is read: as those of training were said to be written, where it then has
    more than one column, else as it turns out to be."""
    as_told = table_format(path)[0] not in ("csv", "tsv") or len(column_names(path, dialect)) > 1
    return dialect if as_told else DETECTED


def _csv_options(
    signs: tuple[str, str], types: Mapping[str, Any], columns: Sequence[str] | None, nodes: bool, lines: bool
) -> dict[str, Any]:
    from pyarrow import csv

    missing = {"null_values": MISSING if nodes else [""], "strings_can_be_null": False}
    separator, decimal = signs
    return {
        "read_options": csv.ReadOptions(block_size=_BLOCK),
        "parse_options": csv.ParseOptions(delimiter=separator, newlines_in_values=lines),
        "convert_options": csv.ConvertOptions(
            column_types=dict(types), include_columns=columns or [], decimal_point=decimal, **missing
        ),
    }


def column_names(path: Path | Frame, dialect: Dialect = DETECTED) -> list[str]:
    """The columns of a table, each named once; those that are only the numbers of rows, nameless, are left out."""
    from pyarrow import csv, ipc, parquet

    kind, signs = table_format(path)[0], text_signs(path, dialect)
    names: list[str]
    with _reading(path):
        if isinstance(path, Frame):
            names = path.table.column_names
        elif kind == "parquet":
            names = parquet.read_schema(path).names
        elif kind == "feather":
            with ipc.open_file(path) as reader:
                names = reader.schema.names
        else:
            assert signs is not None
            options = _csv_options(signs, {}, None, True, True) | {
                "read_options": csv.ReadOptions(block_size=_BLOCK // 16)
            }
            with csv.open_csv(path, **options) as reader:
                names = reader.schema.names
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise InputError(f"The columns of '{path}' must have different names. Got '{repeated[0]}' more than once.")
    return [name for name in names if not _NAMELESS.fullmatch(name)]


def check_header(path: Path | Frame, columns: Sequence[str], ids: Values) -> None:
    """Refuse a text file without a header line, whose first row of ids would be lost as names of columns."""
    import pyarrow as pa

    if table_format(path)[0] not in ("csv", "tsv"):
        return
    if (positions(pa.array(columns, pa.string()), ids) >= 0).all():
        named = ", ".join(repr(column) for column in columns)
        raise InputError(f"The first line of '{path}' must name its columns. Got ids instead: {named}.")


def find_column(path: Path | Frame, names: Sequence[str], wanted: str | None, place: int, option: str) -> str:
    """The column a user names, or the one at a place."""
    if wanted is not None and wanted not in names:
        raise InputError(f"'{path}' has no column '{wanted}' ({option}).{suggest(wanted, names)}")
    if wanted is None and place >= len(names):
        raise InputError(f"'{path}' must have at least {place + 1} columns. Got {', '.join(names) or 'none'} instead.")
    return names[place] if wanted is None else wanted


def read_table(
    path: Path | Frame,
    columns: Sequence[str] | None = None,
    *,
    ids: Sequence[str] = (),
    text: Sequence[str] = (),
    nodes: bool = True,
    dialect: Dialect = DETECTED,
) -> Table:
    """Some or all columns of a table, which must have rows.

    Args:
        path: The file.
        columns: Those to read; ``None``: all.
        ids: Columns that text files are to give as they are written, words such as NA included.
        text: Those to give as they are written where they are not missing.
        nodes: Whether words such as NA stand for a missing value.
        dialect: How a text file writes its tables.
    """
    import pyarrow as pa
    from pyarrow import csv, feather, parquet

    kind, signs = table_format(path)[0], text_signs(path, dialect)
    types = dict.fromkeys((*ids, *text), pa.string())
    with _reading(path):
        if isinstance(path, Frame):
            table = path.table
        elif kind == "parquet":
            table = parquet.read_table(path, columns=columns)
            table.validate(full=True)  # Arrow itself believes places in memory that a file gives, wherever they lead
        elif kind == "feather":
            table = feather.read_table(path, columns=columns)
            table.validate(full=True)
        else:
            assert signs is not None
            table = None if nodes else _read_lines(path, signs, types, columns)
            if table is None:
                table = csv.read_csv(path, **_csv_options(signs, types, columns, nodes, lines=True))
            if any(pa.types.is_binary(field.type) for field in table.schema):
                raise InputError(f"'{path}' is not in UTF-8: save it in that encoding.")
            table = _as_written(table, set(ids), types.keys(), MISSING if nodes else [""])
    if not table.num_rows:
        raise InputError(f"The table '{path}' must have rows. Got only the header instead.")
    return table.select(columns) if columns else table


def read_blocks(
    path: Path | Frame,
    columns: Sequence[str],
    *,
    ids: Sequence[str],
    numbers: Sequence[str] = (),
    dialect: Dialect = DETECTED,
) -> Iterator[Table]:
    """Columns of a table of edges, some rows at a time; those of ``numbers`` must be numbers."""
    import pyarrow as pa

    signs, rows = text_signs(path, dialect), 0
    with _reading(path):
        for batch in _batches(path, signs, columns, ids, numbers):
            table = pa.Table.from_batches([batch]).select(columns)
            if not isinstance(path, Frame):
                table.validate(full=True)
            if signs is not None:
                table = _as_written(table, set(ids), set(ids), [""])
            rows += table.num_rows
            if table.num_rows:
                yield table
    if not rows:
        raise InputError(f"The table '{path}' must have rows. Got only the header instead.")


def _batches(
    path: Path | Frame,
    signs: tuple[str, str] | None,
    columns: Sequence[str],
    ids: Sequence[str],
    numbers: Sequence[str],
) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv, ipc, parquet

    if isinstance(path, Frame):
        yield from path.table.select(columns).to_batches(BLOCK_ROWS)
    elif signs is not None:
        types = dict.fromkeys(ids, pa.string()) | dict.fromkeys(numbers, pa.float64())
        with csv.open_csv(path, **_csv_options(signs, types, columns, nodes=False, lines=True)) as lines:
            yield from lines
    elif table_format(path)[0] == "parquet":
        with parquet.ParquetFile(path) as file:
            yield from file.iter_batches(BLOCK_ROWS, columns=list(columns))
    else:
        with pa.memory_map(str(path)) as memory, ipc.open_file(memory) as reader:
            yield from (reader.get_batch(place) for place in range(reader.num_record_batches))


def _read_lines(
    path: Path, signs: tuple[str, str], types: Mapping[str, Any], columns: Sequence[str] | None
) -> Table | None:
    """A text file with a row in each line, which is read faster; none where it cannot be read so."""
    import pyarrow as pa
    from pyarrow import csv

    try:
        return csv.read_csv(path, **_csv_options(signs, types, columns, nodes=False, lines=False))
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
