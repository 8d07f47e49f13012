"""``glognn verify``: whether the files of runs and models are those that training ended with."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from glognn.errors import InputError


def command(
    folder: Annotated[
        Path,
        typer.Argument(
            help="A run, a saved GloGNNClassifier, a search, a reproduction or a graph in parts; all folders below it "
            "count.",
            show_default=False,
        ),
    ],
    form: Annotated[str, typer.Option("--format", help="'table', or 'json' for programs.")] = "table",
) -> None:
    """Check that the files of finished runs and saved models are those that training ended with.

    When a run is finished, size and sha256 of its record, curve, weights and of what is kept of your tables are
    written down (in DONE; of a classifier in estimator.json), and by 'glognn shard' those of all parts (in
    shards.json). Loading them checks them, too, and refuses changed ones; this command tells the state of every file:
    'ok', 'changed', 'missing' or 'damaged'; 'not recorded' in folders of earlier versions, whose files are read as they
    are; 'unfinished' where training has not ended.

    The exit code is 1 when a file is changed, missing or damaged: put it back from a copy, or train again. Your own
    files in these folders are not looked at.

    Examples:

      glognn verify runs/fraud

      glognn verify runs --format json
    """
    from glognn.experiments.verify import verify

    if form not in ("table", "json"):
        raise InputError(f"--format must be table or json. Got {form!r} instead.")
    found = verify(folder)
    wrong = any(each.wrong for each in found)
    if form == "json":
        files = [asdict(each) | {"path": str(each.path)} for each in found]
        typer.echo(json.dumps({"folder": str(folder), "ok": not wrong, "files": files}, indent=2))
    else:
        from rich.table import Table

        from glognn.cli.terminal import Terminal

        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in ("file", "state", ""):
            table.add_column(heading, overflow="fold")
        for each in found:
            table.add_row(str(each.path), each.state, each.note, style="bold" if each.wrong else None)
        console = Terminal()
        console.print(table)
        counts = Counter(each.state for each in found)
        console.out(f"{len(found):,} files: {', '.join(f'{number:,} {state}' for state, number in counts.items())}")
    if wrong:
        raise typer.Exit(1)
