"""How a text file writes its tables: what is between columns, and before decimals. Imports no torch."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from glognn.errors import InputError

SEPARATORS = (",", ";", "\t", "|")
"""Those that are looked for; others must be given."""
_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
_HEAD_BYTES = 1 << 16
_ROWS = 100
_WITH_COMMA, _WITH_POINT = re.compile(r"\s*[+-]?\d*,\d+\s*"), re.compile(r"\s*[+-]?\d*\.\d+\s*")


@dataclass(frozen=True)
class Dialect:
    """A separator and a decimal sign; ``None``: whichever the file turns out to have."""

    separator: str | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        if self.separator is not None:
            found = _NAMES.get(self.separator, self.separator)
            if len(found) != 1 or found.isalnum() or found in '"\r\n':
                named = ", ".join(name for name in _NAMES if name.isalpha())
                raise InputError(
                    f"--separator must be one sign such as ';', or one of {named}. Got {self.separator!r} instead."
                )
            object.__setattr__(self, "separator", found)
        if self.decimal not in (None, ".", ","):
            raise InputError(f"--decimal must be '.' or ','. Got {self.decimal!r} instead.")
        if self.decimal is not None and self.decimal == self.separator:
            raise InputError(f"--separator and --decimal must be two signs. Got {self.decimal!r} for both.")

    def of(self, path: Path, kind: str, *, gzipped: bool) -> tuple[str, str]:
        """The separator and the decimal sign of a CSV or TSV file.

        That of the file's name separates if all of its first rows then have equally many columns, more than one; else
        the one with which they have the most. A comma is a decimal sign where it separates nothing, stands in numbers,
        and no number has a point.
        """
        usual = "\t" if kind == "tsv" else ","
        if self.separator is not None and (self.decimal is not None or self.separator == ","):
            return self.separator, self.decimal or "."
        head = _head(path, gzipped=gzipped)
        separator = self.separator
        if separator is None:
            allowed = [each for each in SEPARATORS if each != self.decimal]
            widths = {each: _width(_rows(head, each)) for each in allowed}
            separator = usual if widths.get(usual, 0) > 1 else max(allowed, key=lambda each: widths[each])
            separator = separator if widths[separator] > 1 else usual
        return separator, self.decimal or _decimal(_rows(head, separator), separator)


def _head(path: Path, *, gzipped: bool) -> str:
    """The first lines of a file, whole ones as far as it is longer; nothing of one that its reader will refuse."""
    try:
        with gzip.open(path) if gzipped else path.open("rb") as file:
            found = file.read(_HEAD_BYTES)
    except (OSError, EOFError, zlib.error):
        return ""
    if len(found) == _HEAD_BYTES and b"\n" in found:
        found = found[: found.rindex(b"\n")]
    return found.decode("utf-8-sig", errors="replace")


def _rows(head: str, separator: str) -> list[list[str]]:
    rows = []
    try:
        for row in csv.reader(io.StringIO(head, newline=""), delimiter=separator):
            if row:
                rows.append(row)
            if len(rows) == _ROWS:
                break
    except csv.Error:
        return []
    return rows


def _width(rows: list[list[str]]) -> int:
    """Columns, if all rows have equally many."""
    widths = {len(row) for row in rows}
    return widths.pop() if len(widths) == 1 else 0


def _decimal(rows: list[list[str]], separator: str) -> str:
    values = [value for row in rows[1:] for value in row]
    comma = separator != "," and any(_WITH_COMMA.fullmatch(value) for value in values)
    return "," if comma and not any(_WITH_POINT.fullmatch(value) for value in values) else "."
