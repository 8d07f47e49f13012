"""The places of many ids among known ones, by compiled code."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from glognn.native.library import find_library


class Ids:
    """Known ids, each of them once.

    Args:
        values: A ``pyarrow`` array of int64 or string, without missing ones; it must have at least one.
    """

    def __init__(self, values: Any) -> None:
        library: Any = find_library()
        self._values = values  # the library reads its memory
        kind = "numbers" if len(values.buffers()) == 2 else "text"
        handle = getattr(library, f"glognn_ids_{kind}")(*_addresses(values), len(values))
        if not handle:
            raise MemoryError(f"There is not enough memory for a table of {len(values):,} ids.")
        self._handle = handle
        self._find = getattr(library, f"glognn_find_{kind}")
        weakref.finalize(self, library.glognn_ids_free, handle)

    @staticmethod
    def supported() -> bool:
        return find_library() is not None

    def find(self, values: Any, out: npt.NDArray[np.int64]) -> None:
        """Write the place of each value of an array of the same type into ``out``, -1 for those that are not there."""
        self._find(self._handle, *_addresses(values), len(values), out.ctypes.data)


def _addresses(values: Any) -> list[int]:
    """Where the numbers of an array lie, or the offsets and the bytes of its texts."""
    _, *parts = values.buffers()
    width = 8 if len(parts) == 1 else 4
    return [parts[0].address + width * values.offset, *(part.address if part else 0 for part in parts[1:])]
