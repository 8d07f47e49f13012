"""Documents as one HTML file, with the styles of all pages; tables sort by a click on a heading."""

from __future__ import annotations

import base64
import re
from html import escape

from glognn.report.document import BEST, SECOND, Block, Cell, Column, Document, Figure, Heading, Row, Table, Text
from glognn.report.page import make_page
from glognn.report.text import visible

_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}
_MARKS = {BEST: ("<strong>", "</strong>"), SECOND: ("<u>", "</u>"), "": ("", "")}
_MOST_CONTENTS = 2


def document_html(document: Document) -> str:
    """The page as text."""
    contents = [
        f'<li><a href="#part-{number}">{_text(block.text)}</a></li>'
        for number, block in enumerate(document.blocks)
        if isinstance(block, Heading) and block.level == 1
    ]
    inside = "\n".join(_block(block, number) for number, block in enumerate(document.blocks))
    listed = f'<nav aria-label="Contents"><ul>{"".join(contents)}</ul></nav>'
    return make_page(
        "report.html",
        title=document.title,
        styles=["shell.css", "report.css"],
        scripts=["shell.js", "report.js"],
        parts={
            "heading": _text(document.title),
            "contents": listed if len(contents) >= _MOST_CONTENTS else "",
            "body": inside,
        },
        connect=False,
    )


def _block(block: Block, number: int) -> str:
    if isinstance(block, Heading):
        level = block.level + 1
        return f'<h{level} id="part-{number}">{_text(block.text)}</h{level}>'
    if isinstance(block, Text):
        if block.code:
            return f"<pre>{_text(block.text)}</pre>"
        return "".join(f"<p>{_text(part)}</p>" for part in re.split(r"\n\s*\n", block.text.strip()))
    if isinstance(block, Figure):
        content = base64.b64encode(block.path.read_bytes()).decode("ascii")
        caption = _text(block.caption)
        source = f"data:{_TYPES[block.path.suffix]};base64,{content}"
        return f'<figure><img src="{source}" alt="{caption}"><figcaption>{caption}</figcaption></figure>'
    return _table(block)


def _table(table: Table) -> str:
    heads = "".join(_head(column) for column in table.columns)
    rows = "".join(_row(row, table.columns) for row in table.rows)
    caption = f"<caption>{_text(table.title)}</caption>" if table.title else ""
    note = f'<p class="small soft">{_text(table.note)}</p>' if table.note else ""
    inside = f"{caption}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody>"
    return f'<div class="wide"><table class="sortable">{inside}</table></div>{note}'


def _head(column: Column) -> str:
    kind = ' class="number"' if column.number else ""
    return f'<th scope="col"{kind}>{_text(column.name)}</th>'


def _row(row: Row, columns: tuple[Column, ...]) -> str:
    kind = f' class="{row.style}"' if row.style else ""
    return f"<tr{kind}>{''.join(_cell(cell, column) for cell, column in zip(row.cells, columns, strict=True))}</tr>"


def _cell(cell: Cell, column: Column) -> str:
    kind = ' class="number"' if column.number else ' class="whole"' if column.whole else ""
    value = "" if cell.value is None else f' data-value="{cell.value!r}"'
    before, after = _MARKS[cell.mark]
    arrow = f' <span class="arrow">{cell.arrow}</span>' if cell.arrow else ""
    beside = f' <span class="small soft">{_text(cell.beside)}</span>' if cell.beside else ""
    return f"<td{kind}{value}>{before}{_text(cell.text)}{after}{arrow}{beside}</td>"


def _text(text: str) -> str:
    return escape(visible(text))
