"""The places of many ids among known ones, and tables of edges read that way, by compiled code."""

from __future__ import annotations

import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from glognn.native.library import find_library

PART = 1 << 23
LINE = 1 << 12


class Ids:
    """Known ids, each of them once.

    Args:
        values: A ``pyarrow`` array of int64 or string, without missing ones; it must have at least one.
    """

    def __init__(self, values: Any) -> None:
        library: Any = find_library()
        self._library = library
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

    def read_rows(
        self, text: npt.NDArray[np.uint8], delimiter: str, columns: int, ends: tuple[int, int]
    ) -> npt.NDArray[np.int64] | None:
        """Two columns of the lines of a CSV file (without its header) looked up, 2 x rows, in all threads.

        Only plain tables are read: every line with as many columns, no quotes inside of values, no id that is missing,
        not known or, among numbers, written in an unusual way. ``None`` for others.
        """
        address = text.ctypes.data
        parts = _cut(text, PART)
        with ThreadPoolExecutor() as pool:
            count = self._library.glognn_count_lines
            starts = np.cumsum([0, *pool.map(lambda part: count(address + part[0], part[1] - part[0]), parts)])
            found = np.empty((2, starts[-1]), dtype=np.int64)

            def read(number: int) -> bool:
                start, end = parts[number]
                first, second = (row[starts[number] :].ctypes.data for row in found)
                rows: int = self._library.glognn_read_rows(
                    self._handle, address + start, end - start, ord(delimiter), columns, *ends, first, second
                )
                return bool(rows == starts[number + 1] - starts[number])

            return found if all(pool.map(read, range(len(parts)))) else None


def _cut(text: npt.NDArray[np.uint8], size: int) -> list[tuple[int, int]]:
    """Parts of a text that end where lines do."""
    parts, start = [], 0
    while start < len(text):
        end = min(start + size, len(text))
        while end < len(text):
            ends = np.flatnonzero(text[end - 1 : end + LINE] == ord("\n"))
            if ends.size:
                end += int(ends[0])
                break
            end = min(end + LINE, len(text))
        parts.append((start, end))
        start = end
    return parts


def _addresses(values: Any) -> list[int]:
    """Where the numbers of an array lie, or the offsets and the bytes of its texts."""
    _, *parts = values.buffers()
    width = 8 if len(parts) == 1 else 4
    return [parts[0].address + width * values.offset, *(part.address if part else 0 for part in parts[1:])]
