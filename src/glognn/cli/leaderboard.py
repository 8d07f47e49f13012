"""``glognn leaderboard``: what each model of an automatic run is worth, and the ensemble made of them."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """How the rows are written."""

    table = "table"
    csv = "csv"
    json = "json"


def command(
    folder: Annotated[
        Path, typer.Argument(help="Folder of 'glognn train --model auto', finished or not.", show_default=False)
    ],
    format: Annotated[
        Format, typer.Option("--format", "-f", help="Scores are percentages in the table, shares in CSV and JSON.")
    ] = Format.table,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Draw it, too, into this file: .png or .svg.", show_default=False)
    ] = None,
) -> None:
    """List the models of an automatic run: scores, weight in the ensemble, seconds, memory.

    The ensemble is the first row, baselines on the same nodes are the last; the best single model on validation has a
    star. Spreads are standard deviations over splits or folds, and seconds are those of all splits together. It may be
    asked while the run is under way.

    Examples:

      glognn leaderboard runs/fraud

      glognn leaderboard runs/fraud --format csv > leaderboard.csv

      glognn leaderboard runs/fraud --picture leaderboard.png
    """
    from glognn.cli.terminal import Terminal, write_lines
    from glognn.experiments.leaderboard import standings
    from glognn.experiments.reports import read_ensemble
    from glognn.report.leaderboard import BEST, STAR, as_csv, leaderboard_table, plot_leaderboard
    from glognn.report.summary import beware, decisions, ensemble_decision
    from glognn.report.text import score_name

    record = read_ensemble(folder)
    rows = standings(record)
    if format is Format.json:
        typer.echo(json.dumps([row.as_dict() for row in rows], indent=2))
    elif format is Format.csv:
        write_lines(as_csv(rows))
    else:
        console = Terminal()
        found = leaderboard_table(rows, record["metric"])
        console.print(found)
        console.out(f"\n{found.note}\n" if found.note else "")
        console.out(f"{STAR} {BEST} on validation; {score_name(record)}; splits: {record['splits_origin']}")
        console.out(f"\n{record['description']}")
        for told in filter(None, (decisions([ensemble_decision(record)]), beware([record]))):
            console.out(f"\n{told}")
    if picture is not None:
        plot_leaderboard(rows, score_name(record), picture, record["metric"])
