"""Columns of tables as pyarrow holds them, which has no types of its own. Imports no torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from glognn.errors import InputError

Table = Any
"""A ``pyarrow.Table``; its columns are chunked arrays."""
Values = Any

IntArray = npt.NDArray[np.int64]


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
        try:
            column = column.cast(pa.string())
        except pa.ArrowInvalid:
            raise InputError(
                f"A column of text must have less than 2 GiB in one piece. Got {column.nbytes / 2**30:.1f} GiB: store "
                "it in several (row groups or chunks)."
            ) from None
    if pa.types.is_floating(column.type):
        column = column.cast(pa.float64())
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, pa.float64()), column)
    return column


DAY_FIRST, MONTH_FIRST, EITHER_FIRST = "day first", "month first", "either first"
"""Orders of dates as 31/12/2024 and 12/31/2024 have them; the empty one is that of 2024-12-31 and 31.12.2024."""
_BEFORE_YEAR = (
    r"^\s*(?P<one>\d{{1,2}}){sign}(?P<two>\d{{1,2}}){sign}(?P<year>\d{{4}})"
    r"(?:[ T]+(?P<hour>\d{{1,2}}):(?P<rest>\d{{2}}(?::\d{{2}}(?:\.\d{{1,9}})?)?))?\s*$"
)
_DOTTED, _OTHERS = _BEFORE_YEAR.format(sign=r"\."), _BEFORE_YEAR.format(sign="[/-]")


def text_dates(column: Values, order: str = "") -> Values:
    """Text that holds nothing but dates as times; pandas writes some with nine digits after the second.

    Dates begin with the year or, where they are written with dots, with the day; of others the order must be known.
    """
    import pyarrow as pa

    try:
        return _times(column)
    except pa.ArrowInvalid:
        if not _begins_with_day_or_month(column):
            raise
    column = _year_first(column, _DOTTED, DAY_FIRST)
    return _times(_year_first(column, _OTHERS, order) if order else column)


def date_order(column: Values) -> str | None:
    """The order of day, month and year in a column of text that holds nothing but dates; ``None`` where it does not."""
    found = [order for order in ("", DAY_FIRST, MONTH_FIRST) if _reads_as(column, order)]
    if found == [DAY_FIRST, MONTH_FIRST]:
        return EITHER_FIRST
    return found[0] if found else None


def _times(column: Values) -> Values:
    import pyarrow as pa

    try:
        return column.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return column.cast(pa.timestamp("ns")).cast(pa.timestamp("us"), safe=False)


def _begins_with_day_or_month(column: Values) -> bool:
    """Whether any of the first values is such a date: most columns are none, and need not be read to the end."""
    from pyarrow import compute as pc

    some = column.slice(0, 1000).drop_null()
    return any(pc.any(pc.match_substring_regex(some, each)).as_py() for each in (_DOTTED, _OTHERS))


def _year_first(column: Values, form: str, order: str) -> Values:
    """Dates of a form as 2024-12-31 08:05, and all other values as they are."""
    from pyarrow import compute as pc

    found = pc.extract_regex(column, form)
    one, two, hour = (pc.utf8_lpad(pc.struct_field(found, name), 2, "0") for name in ("one", "two", "hour"))
    year, rest = (pc.struct_field(found, name) for name in ("year", "rest"))
    day, month = (one, two) if order == DAY_FIRST else (two, one)
    date = pc.binary_join_element_wise(year, month, day, "-")
    time = pc.binary_join_element_wise(hour, rest, ":")
    timed = pc.if_else(pc.equal(rest, ""), date, pc.binary_join_element_wise(date, time, " "))
    return pc.coalesce(timed, column)


def _reads_as(column: Values, order: str) -> bool:
    import pyarrow as pa

    try:
        text_dates(column, order)
    except pa.ArrowInvalid:
        return False
    return True
