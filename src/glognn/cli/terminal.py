"""The terminal, on which nothing that a user's tables, files and names hold is taken for markup or a command."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console
from rich.status import Status
from rich.text import Text

from glognn.report.text import visible


def write_lines(lines: str) -> None:
    """Put lines of a table where output goes: exactly, for programs, and to a terminal without what commands it.

    What echoes elsewhere takes escape codes out of lines for programs, which would change ids.
    """
    sys.stdout.write(visible(lines) if sys.stdout.isatty() else lines)
    sys.stdout.flush()


class Terminal(Console):
    """A console that shows every text as it is, in tables too; what is to have a style says so as ``style``."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)

    def out(self, *objects: Any, **options: Any) -> None:
        super().out(*(visible(str(each)) for each in objects), **options)

    def status(self, status: Any, **options: Any) -> Status:
        return super().status(Text(visible(status)) if isinstance(status, str) else status, **options)
