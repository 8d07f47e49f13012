"""What a terminal is sent."""

from __future__ import annotations

import io
import sys

import pytest
from rich.table import Table

from glognn.cli.terminal import Terminal, write_lines
from glognn.report.text import visible
from tests import program

STRANGE = ["income [/month]", "age [years]", "[bold]x[/bold]", ":smile:", "a\\", "\\[b]"]


@pytest.mark.parametrize("text", STRANGE)
def test_no_text_is_taken_for_markup(text: str) -> None:
    file = io.StringIO()
    console = Terminal(file=file, width=200, force_terminal=True, color_system=None)
    table = Table(text, title=text)
    table.add_row(text)
    console.print(table)
    console.print(text)
    console.out(text)
    assert file.getvalue().count(text) == 5
    with console.status(text):
        pass
    assert text in file.getvalue().split("\x1b[?25l")[1]


def test_what_commands_a_terminal_is_written_out() -> None:
    assert visible("\x1b[31mr\x9b\r\x00\u202e\udc80\x7f") == r"\x1b[31mr\x9b\r\x00\u202e\udc80\x7f"
    assert visible("käfer\t1\n\u200d🙂") == "käfer\t1\n\u200d🙂"
    file = io.StringIO()
    console = Terminal(file=file, width=200)
    table = Table("\x1b[31ma")
    table.add_row("\x1b[32mb")
    console.print(table)
    console.print("\x1b[33mc")
    console.out("\x1b[34md")
    assert "\x1b" not in file.getvalue()
    assert all(rf"\x1b[3{place}m" in file.getvalue() for place in range(1, 5))


def test_tables_for_programs_are_exact_and_command_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_lines("id\n\x1b[31mx\r\n")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    write_lines("id\n\x1b[31mx\n")
    assert capsys.readouterr().out == "id\n\x1b[31mx\r\nid\n\\x1b[31mx\n"


def test_lines_of_the_log_command_no_terminal() -> None:
    code = "import logging\nfrom glognn.cli.main import _speak_plainly\n_speak_plainly()\n"
    code += "logging.getLogger('glognn.data.fetch').warning('%s', 'a\\x1b[31mb')\n"
    assert program.run(program=code).stderr == "a\\x1b[31mb\n"
