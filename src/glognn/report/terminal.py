"""Documents on a terminal, by Rich."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.table import Table as RichTable
from rich.text import Text

from glognn.report.document import BEST, GROUP, SECOND, SOFT, STRONG, Cell, Column, Table
from glognn.report.text import visible

_MARKS = {BEST: "bold", SECOND: "underline", "": ""}
_STYLES = {STRONG: "bold", SOFT: "dim", GROUP: "italic"}
_GAP = 2
_LONGEST, _NAME = 40, 20
"""A longer word, as a path is, may be broken; what names a row stays on one line up to this length."""


@dataclass(frozen=True)
class _Width:
    """How wide a column would be, and how narrow it may be: no number and no name is cut."""

    place: int
    wanted: int
    least: int


def rich_tables(table: Table, width: int) -> Iterator[RichTable | str]:
    """A table for a terminal of that width: best in bold, runner-up underlined, arrows first so that digits align.

    Words are folded where there is no room for all on a line. Columns that have none at all follow below, beside the
    first column once more.
    """
    parts = _parts([_width(place, column, table) for place, column in enumerate(table.columns)], width)
    for number, part in enumerate(parts):
        if number:
            yield ""
        yield _drawn(table, part, _fitted(part, width))


def _width(place: int, column: Column, table: Table) -> _Width:
    """Of a heading only the longest word must fit, and of a cell of words, too; numbers and names stay as they are."""
    heading = column.short or column.name
    headed = max(map(cell_len, heading.split()), default=0)
    texts = [each.arrow + visible(each.text) for each in (row.cells[place] for row in table.rows)]
    longest = max(map(cell_len, texts), default=0)
    wanted = max(cell_len(heading), longest)
    if column.number or column.whole:
        return _Width(place, wanted, max(headed, longest))
    words = max((cell_len(word) for text in texts for word in text.split()), default=0)
    named = 0 if place else min(longest, _NAME)
    return _Width(place, wanted, max(headed, named, min(words, _LONGEST)))


def _parts(widths: Sequence[_Width], width: int) -> list[list[_Width]]:
    """Columns in groups that fit beside the first one."""
    first, *others = widths
    parts = [[first]]
    for each in others:
        if len(parts[-1]) > 1 and _GAP * len(parts[-1]) + sum(one.least for one in [*parts[-1], each]) > width:
            parts.append([first])
        parts[-1].append(each)
    return parts


def _fitted(part: Sequence[_Width], width: int) -> list[int]:
    """Widths that add up to what there is: the widest gives first."""
    found = [each.wanted for each in part]
    over = sum(found) + _GAP * (len(part) - 1) - width
    while over > 0:
        able = [place for place, each in enumerate(part) if found[place] > each.least]
        if not able:
            break
        found[max(able, key=lambda place: found[place])] -= 1
        over -= 1
    return found


def _drawn(table: Table, part: Sequence[_Width], widths: Sequence[int]) -> RichTable:
    found = RichTable(box=None, pad_edge=False, header_style="bold")
    for each, wide in zip(part, widths, strict=True):
        column = table.columns[each.place]
        found.add_column(
            column.short or column.name, justify="right" if column.number else "left", width=wide, overflow="fold"
        )
    for row in table.rows:
        found.add_row(*(_shown(row.cells[each.place]) for each in part), style=_STYLES.get(row.style))
    return found


def _shown(cell: Cell) -> Text | str:
    if not cell.mark and not cell.arrow:
        return cell.text
    return Text.assemble(cell.arrow, (visible(cell.text), _MARKS[cell.mark]))
