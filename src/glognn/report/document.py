"""What is reported, before it has a form: text, tables and pictures, of which a document is made.

Marks, ranks and differences are computed where a table is made, once; terminal, Markdown, LaTeX, CSV and HTML
(:mod:`~glognn.report.terminal`, :mod:`~glognn.report.markdown`, :mod:`~glognn.report.latex`,
:mod:`~glognn.report.lines`, :mod:`~glognn.report.html`) only write them down. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from glognn.report.text import figures, scale_of

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table as RichTable

BEST, SECOND = "best", "second"
STRONG, SOFT, GROUP = "strong", "soft", "group"


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        text: As it is read.
        value: What it is sorted by, and its number in a file, where it is one.
        mark: ``best`` or ``second`` among those it is compared with.
        arrow: ↑ or ↓ where it differs significantly from the reference.
        beside: More about it, where there is room: not on a terminal.
    """

    text: str = ""
    value: float | None = None
    mark: str = ""
    arrow: str = ""
    beside: str = ""


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        name: Its heading.
        number: Whether it holds numbers, which are aligned at the right.
        whole: Whether a terminal keeps its words on one line.
        short: The heading on a terminal, where that is another one.
    """

    name: str
    number: bool = False
    whole: bool = False
    short: str = ""


@dataclass(frozen=True)
class Row:
    """One row; its style is ``strong``, ``soft``, ``group`` (a heading of the rows below it) or nothing."""

    cells: tuple[Cell, ...]
    style: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells below columns.

    Attributes:
        note: What its signs mean, below it.
        title: Above it.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str = ""
    title: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RichTable | str]:
        from glognn.report.terminal import rich_tables

        yield from rich_tables(self, options.max_width)


@dataclass(frozen=True)
class Text:
    """A paragraph, or lines that are kept as they are (``code``)."""

    text: str
    code: bool = False


@dataclass(frozen=True)
class Heading:
    """What begins a part; ``level`` 1 is below the title."""

    text: str
    level: int = 1


@dataclass(frozen=True)
class Figure:
    """A picture in a file, .svg or .png, and what it shows, in words."""

    path: Path
    caption: str


Block = Text | Heading | Table | Figure


@dataclass(frozen=True)
class Document:
    """A title and what follows it."""

    title: str
    blocks: tuple[Block, ...]


def numeral(value: float | None, form: str) -> Cell:
    """A number in a form of its own; empty where there is none."""
    return Cell() if value is None else Cell(format(value, form), value)


def scored(metric: str, mean: float | None, spread: float | None = None) -> Cell:
    """A score as ``82.19 ± 1.17``, in percent where it is a share."""
    return Cell() if mean is None else Cell(figures(metric, mean, spread), scale_of(metric) * mean)


def columns(*names: str, numbers: Iterable[str] = ()) -> tuple[Column, ...]:
    """Columns by name, some of which hold numbers."""
    wanted = set(numbers)
    return tuple(Column(name, number=name in wanted) for name in names)


def row(*values: Cell | str, style: str = "") -> Row:
    """Cells, or texts that are cells as they are."""
    return Row(tuple(value if isinstance(value, Cell) else Cell(value) for value in values), style)


def table(heads: Sequence[Column], rows: Iterable[Row], *, note: str = "", title: str = "") -> Table:
    """A table whose rows may end early: the rest is empty."""
    width = len(heads)
    filled = [Row((*each.cells, *[Cell()] * (width - len(each.cells))), each.style) for each in rows]
    return Table(tuple(heads), tuple(filled), note, title)
