"""``glognn runs``: what has been run, with its scores; and in what runs differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from glognn.cli.options import DATASET_NAMES, MODEL_NAMES
from glognn.errors import InputError


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

    Automatic runs come first, with the scores of their ensembles; the models of each are listed where --model, --key,
    --differences or --json ask for them.

    The key is a hash of everything that decides the outcome but split and seed. Of runs on your own tables their files
    and the column of labels are named; beside the metric stands the class that it is of, where it is of one, and beside
    the scores the better of the baselines on the same nodes.

    Examples:

      glognn runs --dataset cora

      glognn runs runs/reproduce --model glognn++ --dataset texas --differences
    """
    from glognn.cli.terminal import Terminal
    from glognn.report.listing import automatic_table, difference_table, find_automatic, find_groups, run_table

    if not folder.is_dir():
        raise InputError(f"There is no folder '{folder}'.")

    def on(found: str, tables: str | None) -> bool:
        return dataset in (None, found, Path(found).stem, *(tables or "").rpartition(": ")[0].split(", "))

    groups = [
        group
        for group in find_groups(folder)
        if on(group.dataset, group.tables)
        and model in (None, group.model)
        and (not key or any(group.key.startswith(wanted) for wanted in key))
    ]
    if as_json:
        typer.echo(json.dumps([group.record() for group in groups], indent=2))
        return
    console = Terminal()
    automatic = []
    if model is None and not key and not differences:
        automatic = [run for run in find_automatic(folder) if on(run.dataset, run.tables)]
        groups = [group for group in groups if not any(run.holds(group) for run in automatic)]
    if automatic:
        console.print(automatic_table(automatic))
        console.out("glognn leaderboard FOLDER lists the models of each." + "\n" * bool(groups))
    elif not groups:
        console.out(f"No finished run below '{folder}' fits.")
    if not groups:
        return
    console.print(run_table(groups))
    if differences:
        found = difference_table(groups)
        console.out("\nTheir settings are the same." if found is None else "")
        if found is not None:
            console.print(found)
