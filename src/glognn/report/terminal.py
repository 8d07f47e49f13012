"""Documents on a terminal, by Rich."""

from __future__ import annotations

from rich.table import Table as RichTable
from rich.text import Text

from glognn.report.document import BEST, GROUP, SECOND, SOFT, STRONG, Cell, Table
from glognn.report.text import visible

_MARKS = {BEST: "bold", SECOND: "underline", "": ""}
_STYLES = {STRONG: "bold", SOFT: "dim", GROUP: "italic"}


def rich_table(table: Table) -> RichTable:
    """Best in bold, runner-up underlined, arrows first so that digits align."""
    found = RichTable(box=None, pad_edge=False, header_style="bold")
    for column in table.columns:
        name = column.short or column.name
        if column.number:
            found.add_column(name, justify="right", no_wrap=column.whole)
        else:
            found.add_column(name, no_wrap=column.whole, overflow="fold")
    for row in table.rows:
        found.add_row(*map(_shown, row.cells), style=_STYLES.get(row.style))
    return found


def _shown(cell: Cell) -> Text | str:
    if not cell.mark and not cell.arrow:
        return cell.text
    return Text.assemble(cell.arrow, (visible(cell.text), _MARKS[cell.mark]))
