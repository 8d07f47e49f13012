"""Documents as Markdown."""

from __future__ import annotations

from glognn.report.document import BEST, SECOND, STRONG, Block, Cell, Document, Figure, Heading, Table, Text
from glognn.report.text import visible

_MARKS = {BEST: "**{}**", SECOND: "<u>{}</u>", "": "{}"}


def document_markdown(document: Document) -> str:
    """All of it."""
    return "\n".join([f"# {_plain(document.title)}\n", *(block_markdown(block) for block in document.blocks)])


def block_markdown(block: Block) -> str:
    """One part of a document, with a newline at its end."""
    if isinstance(block, Table):
        return (f"{_plain(block.title)}\n\n" if block.title else "") + table_markdown(block)
    if isinstance(block, Heading):
        return f"{'#' * (block.level + 1)} {_plain(block.text)}\n"
    if isinstance(block, Figure):
        return f"![{_plain(block.caption)}]({block.path.as_posix()})\n"
    assert isinstance(block, Text)
    return f"```\n{visible(block.text)}\n```\n" if block.code else f"{visible(block.text)}\n"


def table_markdown(table: Table) -> str:
    """Best in bold, runner-up underlined, arrows and what stands beside after the number; its note below it."""
    lines = [f"| {' | '.join(_plain(column.name) for column in table.columns)} |"]
    lines.append(f"|{'|'.join('---:' if column.number else '---' for column in table.columns)}|")
    lines += [f"| {' | '.join(_cell(cell, row.style) for cell in row.cells)} |" for row in table.rows]
    text = "\n".join(lines) + "\n"
    return f"{text}\n{table.note}\n" if table.note else text


def _cell(cell: Cell, style: str) -> str:
    mark = cell.mark or (BEST if style == STRONG and cell.text else "")
    parts = [_MARKS[mark].format(_plain(cell.text)), cell.arrow, _plain(cell.beside)]
    return " ".join(part for part in parts if part)


def _plain(text: str) -> str:
    """On one line, and no end of a cell."""
    return " ".join(visible(text).split()).replace("|", "/")
