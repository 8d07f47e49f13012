"""One table, every form: terminal, Markdown, LaTeX, CSV and HTML say the same and take nothing for a command."""

from __future__ import annotations

import csv
import io
from html.parser import HTMLParser
from pathlib import Path

import pytest

from glognn.cli.terminal import Terminal
from glognn.report.document import (
    BEST,
    GROUP,
    SECOND,
    STRONG,
    Cell,
    Document,
    Figure,
    Heading,
    Table,
    Text,
    columns,
    numeral,
    row,
    scored,
    table,
)
from glognn.report.html import document_html
from glognn.report.latex import table_latex
from glognn.report.lines import table_csv
from glognn.report.markdown import document_markdown, table_markdown

HOSTILE = "<b>|$x_1$&\x1b[31m"


@pytest.fixture
def found() -> Table:
    return table(
        columns("model", "cora", "n", numbers=["cora", "n"]),
        [
            row("ours:", style=GROUP),
            row("a_b", Cell("90.00 ± 1.00", 90.0, BEST, "↑", "(88.00, +2.00)"), numeral(1234, ",")),
            row(HOSTILE, Cell("80.00", 80.0, SECOND), numeral(None, ",")),
            row("all", scored("accuracy", 0.5, 0.25), style=STRONG),
        ],
        note="↑: better",
    )


def test_a_terminal_shows_marks_and_no_commands(found: Table) -> None:
    console = Terminal(width=100, record=True, file=io.StringIO())
    console.print(found)
    text = console.export_text(styles=True)
    assert "↑\x1b[1m90.00 ± 1.00" in text
    assert "\x1b[4m80.00" in text
    assert r"\x1b[31m" in text
    assert "(88.00" not in text


@pytest.mark.parametrize("width", [30, 60, 80, 200])
def test_a_narrow_terminal_cuts_neither_names_nor_numbers(width: int) -> None:
    names = [f"class-{number}" for number in range(8)]
    numbers = [[1000 * line + place for place in range(8)] for line in range(3)]
    ids = ["550e8400-e29b-41d4", "a", "b"]
    told = "a reason of many words that may be folded"
    rows = [row(one, told, *(numeral(each, ",") for each in line)) for one, line in zip(ids, numbers, strict=True)]
    heads = columns("node", "why", *(f"as {name}" for name in names), numbers=[f"as {name}" for name in names])
    console = Terminal(width=width, record=True, file=io.StringIO())
    console.print(table(heads, rows))
    text = console.export_text()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    assert set(ids + names + [f"{each:,}" for line in numbers for each in line]) <= set(text.split())
    parts = [line for line in text.splitlines() if line.startswith("node")]
    assert len(parts) == 1 if width == 200 else len(parts) > 1
    assert sum(line.startswith(ids[0]) for line in text.splitlines()) == len(parts)


def test_markdown(found: Table) -> None:
    lines = table_markdown(found).splitlines()
    assert lines[:2] == ["| model | cora | n |", "|---|---:|---:|"]
    assert lines[3] == "| a_b | **90.00 ± 1.00** ↑ (88.00, +2.00) | 1,234 |"
    assert lines[4] == r"| <b>/$x_1$&\x1b[31m | <u>80.00</u> |  |"
    assert lines[5].startswith("| **all** | **50.00 ± 25.00** |")
    assert lines[-1] == "↑: better"


def test_latex(found: Table) -> None:
    text = table_latex(found)
    assert r"\begin{tabular}{lcc}" in text
    assert r"a\_b & \textbf{90.00 $\pm$ 1.00}$\uparrow$ & 1,234 \\" in text
    assert r"$<$b$>$|\$x\_1\$\&\textbackslash{}x1b[31m & \underline{80.00} &  \\" in text
    assert text.endswith("% $\\uparrow$: better\n")


def test_csv_holds_numbers_in_full(found: Table) -> None:
    rows = list(csv.DictReader(io.StringIO(table_csv(found))))
    assert [each["cora"] for each in rows] == ["90.0", "80.0", "50.0"]
    assert rows[0]["n"] == "1234"
    assert rows[1]["model"] == HOSTILE


class Reader(HTMLParser):
    """Tags and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.texts, self.links = list[str](), list[str](), list[str]()
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attributes if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_html_needs_nothing_from_elsewhere_and_escapes_everything(found: Table, tmp_path: Path) -> None:
    picture = tmp_path / "a.svg"
    picture.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    blocks = (
        Heading("One"),
        Text("two\n\nthree <i>"),
        found,
        Figure(picture, 'of "x"'),
        Heading("Two"),
        Text("c", code=True),
    )
    page = Reader(document_html(Document(HOSTILE, blocks)))
    assert "b" not in page.tags
    assert "i" not in page.tags
    assert page.tags.count("table") == 1
    assert "three <i>" in page.texts
    assert any(r"<b>|$x_1$&\x1b[31m" in text for text in page.texts)
    assert all(link.startswith(("#", "data:image/svg+xml;base64,")) for link in page.links)


def test_a_document_as_markdown(found: Table) -> None:
    text = document_markdown(
        Document("Title", (Heading("One"), Text("two"), found, Figure(Path("a.png"), "a picture")))
    )
    assert text.startswith("# Title\n\n## One\n\ntwo\n\n| model |")
    assert "![a picture](a.png)" in text
