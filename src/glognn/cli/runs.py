"""``glognn runs``: what has been run, with its scores; and in what runs differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glognn.cli.options import DATASET_NAMES, MODEL_NAMES
from glognn.errors import InputError

if TYPE_CHECKING:
    from glognn.cli.terminal import Terminal
    from glognn.report.listing import RunGroup


def command(
    folder: Annotated[Path, typer.Argument(help="Where to look; all folders below it count.")] = Path("runs"),
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset",
            "-d",
            help="Only runs on this dataset, or on a table of this name.",
            autocompletion=DATASET_NAMES,
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Only runs of this model.", autocompletion=MODEL_NAMES)
    ] = None,
    key: Annotated[
        list[str] | None, typer.Option("--key", "-k", help="Only runs with this key (or its beginning); repeat it.")
    ] = None,
    differences: Annotated[
        bool, typer.Option("--differences", help="Show the settings in which the listed runs differ.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON instead of tables.")] = False,
) -> None:
    """List finished runs, one line for all splits and seeds of the same settings.

    The key is a hash of everything that decides the outcome but split and seed. Of runs on your own tables their files
    and the column of labels are named; beside the metric stands the class that it is of, where it is of one, and beside
    the scores the better of the baselines on the same nodes.

    Examples:

      glognn runs --dataset cora

      glognn runs runs/reproduce --model glognn++ --dataset texas --differences
    """
    from glognn.cli.terminal import Terminal
    from glognn.report.listing import find_groups

    if not folder.is_dir():
        raise InputError(f"There is no folder '{folder}'.")
    groups = [
        group
        for group in find_groups(folder)
        if dataset
        in (None, group.dataset, Path(group.dataset).stem, *(group.tables or "").rpartition(": ")[0].split(", "))
        and model in (None, group.model)
        and (not key or any(group.key.startswith(wanted) for wanted in key))
    ]
    if as_json:
        typer.echo(json.dumps([group.record() for group in groups], indent=2))
        return
    console = Terminal()
    if not groups:
        console.out(f"No finished run below '{folder}' fits.")
        return
    _list(console, groups)
    if differences:
        _differences(console, groups)


def _percent(score: tuple[float | None, float | None]) -> str:
    mean, std = score
    if mean is None:
        return ""
    return f"{mean:.2f}" if std is None else f"{mean:.2f} ± {std:.2f}"


def _list(console: Terminal, groups: list[RunGroup]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("key", no_wrap=True)
    table.add_column("dataset or tables", overflow="fold")
    table.add_column("model", no_wrap=True)
    table.add_column("metric", overflow="fold")
    headings = ("splits", "seeds", "validation, %", "test, best epoch, %", "test, last epoch, %", "best baseline, %")
    for heading in (*headings, "seconds"):
        table.add_column(heading, justify="right")
    table.add_column("folder", overflow="fold")
    for group in groups:
        table.add_row(
            group.key,
            group.name,
            group.model,
            group.score_name,
            str(len(group.splits)),
            str(len(group.seeds)),
            _percent(group.score("best", "val")),
            _percent(group.score("best")),
            _percent(group.score("last")),
            "" if (beside := group.baseline()) is None else f"{beside[1]:.2f} ({beside[0]})",
            f"{group.seconds:.1f}",
            str(group.common_folder),
        )
    console.print(table)


def _differences(console: Terminal, groups: list[RunGroup]) -> None:
    from rich.table import Table

    from glognn.report.listing import differing_settings

    found = differing_settings(groups)
    if not found:
        console.out("\nTheir settings are the same.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("setting", *(group.key for group in groups)):
        table.add_column(heading)
    for name, values in found.items():
        table.add_row(name, *("" if value is None else str(value) for value in values))
    console.out("")
    console.print(table)
