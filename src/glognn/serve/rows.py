"""Posted rows as tables: what JSON holds becomes columns that are read as those of a file are. Imports no torch."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from glognn.data.arrow import Table, Values
from glognn.data.ids import as_numbers
from glognn.errors import InputError
from glognn.settings import suggest

Row = Mapping[str, Any]
_SHOWN = 60
_NEEDED = ("id", "list", "weight")
"""Kinds of columns without gaps."""


def rows_table(
    rows: Sequence[Row], what: str, columns: Mapping[str, str], ignored: Collection[str] = frozenset()
) -> Table:
    """Rows as a table of some columns, each of which every row must have.

    Args:
        rows: The rows.
        what: One of them, for errors.
        columns: What each column holds: an ``id``, a ``list`` of numbers, a ``weight``, or what an encoding calls it.
        ignored: Further columns that may be there; any other is refused.
    """
    import pyarrow as pa

    for number, row in enumerate(rows, start=1):
        if strange := [name for name in row if name not in columns and name not in ignored]:
            name = strange[0][:_SHOWN]
            raise InputError(f"'{name}' of {what} {number} is no column of training.{suggest(name, columns)}")
        if missing := [name for name in columns if name not in row]:
            gap = ": null stands for a value that is not known" * (columns[missing[0]] not in _NEEDED)
            raise InputError(f"Every posted {what} must have '{missing[0]}', which {what} {number} has not{gap}.")
    return pa.table({name: _column([row[name] for row in rows], name, what, kind) for name, kind in columns.items()})


def _column(values: list[Any], name: str, what: str, kind: str) -> Values:
    import pyarrow as pa

    if kind == "list":
        _refuse([value for value in values if not _is_list(value)], name, what, "a list of numbers")
        return pa.array(values, pa.list_(pa.float64()))
    _refuse([value for value in values if isinstance(value, list | dict)], name, what, "a single value")
    if kind == "id":
        wrong = [value for value in values if isinstance(value, bool) or not isinstance(value, str | int)]
        _refuse(wrong, name, what, "an id: text or a whole number")
        return as_numbers(pa.chunked_array([pa.array([str(value) for value in values], pa.string())]))
    present = [None if value is None or _is_nan(value) else value for value in values]
    if kind == "category":
        return pa.array([None if value is None else _as_text(value) for value in present], pa.string())
    try:
        return pa.array(present)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        kinds = sorted({type(value).__name__ for value in present if value is not None})
        raise InputError(
            f"'{name}' of the posted {what}s must be of one kind. Got {' and '.join(kinds)} that do not go together."
        ) from None


def _refuse(wrong: list[Any], name: str, what: str, wanted: str) -> None:
    if wrong:
        raise InputError(f"'{name}' of a posted {what} must be {wanted}. Got {str(wrong[0])[:_SHOWN]!r} instead.")


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, int | float) and not isinstance(each, bool) for each in value
    )


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _as_text(value: Any) -> str:
    """A category as a text file would hold it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
