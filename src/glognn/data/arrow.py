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


def text_dates(column: Values) -> Values:
    """Text that holds nothing but dates as times; pandas writes some with nine digits after the second."""
    import pyarrow as pa

    try:
        return column.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return column.cast(pa.timestamp("ns")).cast(pa.timestamp("us"), safe=False)


def is_dates(column: Values) -> bool:
    """Whether a column of text holds nothing but dates."""
    import pyarrow as pa

    try:
        text_dates(column)
    except pa.ArrowInvalid:
        return False
    return True
