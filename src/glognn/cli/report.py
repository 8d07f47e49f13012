"""``glognn report``: what lies in a folder as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from glognn.errors import InputError


def command(
    folder: Annotated[
        Path,
        typer.Argument(
            help="A run, automatic run, search, or table of 'reproduce', a folder of these, or a record of 'bench'.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Page to write: .html, or .md with pictures beside it.")
    ] = Path("report.html"),
) -> None:
    """Write one page about what has been run: scores, curves, settings, environment, and how to make each number again.

    Of a run: scores beside baselines, learning curves, splits, classes, settings. Of an automatic run its leaderboard,
    of a search its trials and which settings mattered, of a reproduction its tables with intervals and significance, of
    a benchmark its times. Of a folder of these: all of them, and in what its runs differ. Tables sort by a click, and
    the page prints to PDF. It is read from records alone: nothing is trained, and nothing in the folder is changed.

    Examples:

      glognn report runs/fraud

      glognn report runs/reproduce/table1 --out table1.html

      glognn report runs --out everything.html
    """
    import tempfile

    from glognn.cli.terminal import Terminal
    from glognn.report.html import document_html
    from glognn.report.markdown import document_markdown
    from glognn.report.overview import folder_document
    from glognn.storage import write_text

    if out.suffix not in (".html", ".htm", ".md"):
        raise InputError(f"--out must end in .html or .md. Got '{out}' instead.")
    console = Terminal()
    if out.suffix == ".md":
        beside = out.with_name(f"{out.stem}-pictures")
        text = document_markdown(folder_document(folder, beside))
        write_text(out, text.replace(f"]({beside.as_posix()}/", f"]({beside.name}/"))
    else:
        with tempfile.TemporaryDirectory() as pictures, console.status("Drawing ..."):
            write_text(out, document_html(folder_document(folder, Path(pictures))))
    console.out(f"Report: {out} ({out.stat().st_size / 1e6:.1f} MB)")
