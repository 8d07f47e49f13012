"""``glognn doctor``: whether this installation and this machine are in order, and what to do where they are not."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from glognn.cli.options import MIRROR

_STYLES = {"ok": "green", "note": "yellow", "wrong": "bold red"}


def command(
    data_mirror: MIRROR = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON instead of a table.")] = False,
) -> None:
    """Show versions, compiled core, GPU, memory and data folders, and what is wrong with them.

    The exit code is 1 where something is wrong. Whether datasets are what was published: 'glognn datasets --verify';
    whether a run folder is as it was written: 'glognn verify'.

    Examples:

      glognn doctor

      glognn doctor --data-mirror /data/mirror --json
    """
    from glognn.experiments.doctor import NOTE, OK, PACKAGES, WRONG, Finding, examine

    found = examine(data_mirror)
    wrong = sum(each.state == WRONG for each in found)
    if as_json:
        typer.echo(json.dumps({"wrong": wrong, "findings": [each.as_dict() for each in found]}, indent=2))
    else:
        from rich.table import Table
        from rich.text import Text

        from glognn.cli.terminal import Terminal
        from glognn.report.text import visible

        table = Table("", "", "found", box=None, pad_edge=False, header_style="bold")
        if any(each.remedy for each in found):
            table.add_column("what to do")
        versions = [each for each in found if each.what in PACKAGES and each.state == OK]
        joined = Finding("packages", OK, ", ".join(f"{each.what} {each.found}" for each in versions))
        for each in found:
            if each in versions[1:]:
                continue
            shown = joined if each in versions else each
            table.add_row(Text(shown.state, _STYLES[shown.state]), visible(shown.what), shown.found, shown.remedy)
        console = Terminal()
        console.print(table)
        notes = sum(each.state == NOTE for each in found)
        count = f"{wrong} wrong" if wrong else "Nothing is wrong"
        console.out(f"\n{count}; {notes} {'note' if notes == 1 else 'notes'}.")
    if wrong:
        raise typer.Exit(1)
