"""Ids of nodes: their text exactly as it is written, in every table and every format. Imports no torch.

'7', '007', ' 7', '+7' and '7.0' are five ids, and the whole number 7 of a Parquet file is the first of them. Numbers
are only the fast form of columns in which all ids are written as whole numbers are.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from glognn.data.arrow import IntArray, Values, plain
from glognn.errors import InputError

Places = npt.NDArray[np.int32]
_SPARSEST = 8
"""Numbers for each id, above which a place for every number no longer pays."""
_NAMED, _SHOWN = 3, 80
_FIRST = 100
_FACTOR = np.int64(secrets.randbits(62) | 1)
_BYTES = bytes(secrets.SystemRandom().sample(range(256), 256))


def read_ids(column: Values, place: str, before: int = 0) -> Values:
    """Ids as text or whole numbers, none of them missing; ``place`` names the column in errors, which is read so many
    rows ``before``.

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
        row = before + pc.index(empty, pa.scalar(True)).as_py() + 1
        raise InputError(f"Every row of {place} must have an id. Got none in row {row:,}.")
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
    shown = ", ".join(map(_show, values.slice(0, _NAMED).to_pylist()))
    more = len(values) - _NAMED
    return f"{shown} and {more:,} more" if more > 0 else shown


def _show(value: Any) -> str:
    """A value in quotation marks, and of one that fills a screen its beginning: a mark of quotation that was never
    closed makes one id of all that follows."""
    if isinstance(value, str) and len(value) > _SHOWN:
        return f"{value[:_SHOWN]!r}... ({len(value):,} characters)"
    return repr(value)


def spelling(strange: Values, ids: Values) -> str:
    """What to say of unknown ids, the first of which would be known if it were written otherwise; or nothing."""
    import pyarrow as pa

    for text in map(str, strange.slice(0, _NAMED).to_pylist()):
        usual = _usual(text)
        if positions(pa.array([usual], pa.string()), ids)[0] >= 0:
            return f" Ids count as they are written: {_show(text)} is not {_show(usual)}."
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
    found: IntArray = locate([values], ids)[0]
    return found


def locate(columns: list[Values], ids: Values) -> IntArray:
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
