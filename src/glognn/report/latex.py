"""Tables as LaTeX, for the booktabs package."""

from __future__ import annotations

from glognn.report.document import BEST, SECOND, Cell, Table
from glognn.report.text import visible

_SYMBOLS = {
    "\\": r"\textbackslash{}", "_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "↑": r"$\uparrow$", "↓": r"$\downarrow$",
    "<": "$<$", ">": "$>$",
}  # fmt: skip
_MARKS = {BEST: r"\textbf{{{}}}", SECOND: r"\underline{{{}}}", "": "{}"}


def table_latex(table: Table) -> str:
    """A tabular; what its signs mean is a comment below it."""
    lines = [
        r"\begin{tabular}{" + "".join("c" if column.number else "l" for column in table.columns) + "}",
        r"\toprule",
        " & ".join(escaped(column.name) for column in table.columns) + r" \\",
        r"\midrule",
        *(" & ".join(map(_cell, row.cells)) + r" \\" for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join([*lines, *([f"% {escaped(table.note)}"] if table.note else []), ""])


def _cell(cell: Cell) -> str:
    return _MARKS[cell.mark].format(escaped(cell.text)) + escaped(cell.arrow)


def escaped(text: str) -> str:
    """Text in which nothing is a command."""
    return "".join(_SYMBOLS.get(character, character) for character in " ".join(visible(text).split()))
