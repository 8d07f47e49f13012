"""Tables that are in memory: pandas and polars frames, pyarrow tables, arrays of edges. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from glognn.data.arrow import Table
from glognn.errors import InputError

_ENDS = ("source", "target", "weight")


@dataclass(frozen=True, eq=False)
class Frame:
    """A table with the name that errors call it by, for doors that take files, too.

    ``has_names``: whether its columns are called so by its user; those of an array are not.
    """

    name: str
    table: Table
    has_names: bool = True

    def __str__(self) -> str:
        return self.name


def is_frame(thing: Any) -> bool:
    """Whether it is a table of columns by name, of pandas, polars or pyarrow."""
    return hasattr(thing, "columns") and (hasattr(thing, "to_arrow") or hasattr(thing, "iloc") or _is_arrow(thing))


def _is_arrow(thing: Any) -> bool:
    return type(thing).__module__.startswith("pyarrow.") and hasattr(thing, "column_names")


def as_table(thing: Any, name: str) -> Path | Frame:
    """A file by its path, or a frame under a name."""
    if isinstance(thing, Path | Frame):
        return thing
    if isinstance(thing, str):
        return Path(thing)
    if not is_frame(thing):
        raise InputError(f"The {name} must be a file or a table (pandas, polars, pyarrow). Got {type(thing).__name__}.")
    return Frame(name, _arrow(thing, name))


def as_edge_table(thing: Any, name: str) -> Path | Frame:
    """The same of edges, which may also be an array or a list with a row of two ids, or two and a weight, for each."""
    if isinstance(thing, str | Path | Frame) or is_frame(thing):
        return as_table(thing, name)
    import pyarrow as pa

    found = np.asarray(thing.cpu() if hasattr(thing, "cpu") else thing)
    if found.ndim != 2 or found.shape[1] not in (2, 3):
        raise InputError(
            f"The {name} must be a table, or an array with a row of two ids for each edge. "
            f"Got {found.dtype} of shape {found.shape} instead."
        )
    try:
        columns = {end: pa.array(found[:, place]) for place, end in enumerate(_ENDS[: found.shape[1]])}
    except (pa.ArrowException, TypeError) as error:
        raise InputError(f"The {name} must hold ids that are text or whole numbers: {error}.") from None
    return Frame(name, pa.table(columns), has_names=False)


def _arrow(thing: Any, name: str) -> Table:
    import pyarrow as pa

    if _is_arrow(thing):
        return thing
    if hasattr(thing, "to_arrow"):
        return thing.to_arrow()
    names = [str(column) for column in thing.columns]
    repeated = next((each for each in names if names.count(each) > 1), None)
    if repeated is not None:
        raise InputError(f"The columns of the {name} must have different names. Got '{repeated}' more than once.")
    columns = []
    for place, each in enumerate(names):
        try:
            columns.append(pa.Array.from_pandas(thing.iloc[:, place]))
        except (pa.ArrowException, TypeError, ValueError) as error:
            reason = " ".join(str(error).split())[:200]
            raise InputError(f"Column '{each}' of the {name} must hold values of one kind: {reason}.") from None
    return pa.table(columns, names=names)
