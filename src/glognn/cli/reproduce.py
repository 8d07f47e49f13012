"""``glognn reproduce``: the paper's tables and studies, run, resumed and rendered."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from glognn.cli.options import MIRROR, WORKERS
from glognn.errors import GloGNNError
from glognn.experiments.plan import SETTINGS, VARIANTS
from glognn.experiments.reproduce import reproduce
from glognn.experiments.studies import choose_studies
from glognn.models.configs import MODELS


def command(
    study: Annotated[
        str,
        typer.Argument(
            help="table1: the nine small datasets. table2: the six large ones. efficiency: validation score against "
            "training time, equal epochs, one run at a time. ablation: without adjacency (-na), "
            "features (-nf) or local regularisation (-nl). grouping: heat maps of Z* and H, coefficients within and "
            "between classes. global-homophily: same-class nodes by distance, and those with a positive coefficient."
        ),
    ],
    models: Annotated[
        str | None,
        typer.Option(
            "--models",
            help=f"Also {' and '.join(VARIANTS)}, to compare the two. [dim]Default: all ({','.join(MODELS)}).[/dim]",
        ),
    ] = None,
    datasets: Annotated[str | None, typer.Option("--datasets", help="[dim]Default: all of the table.[/dim]")] = None,
    splits: Annotated[str | None, typer.Option("--splits", help="As for train. [dim]Default: all.[/dim]")] = None,
    seeds: Annotated[
        str | None, typer.Option("--seeds", help="'0', '0,3' or '0-2'. [dim]Default: the one of the settings.[/dim]")
    ] = None,
    settings: Annotated[
        str,
        typer.Option(
            "--settings",
            help=f"{', '.join(SETTINGS)} or a folder. 'published' takes the settings that a model's authors state, "
            "'tuned' those that our searches found, 'equal' those of a search with 25 trials for every model, a folder "
            "those of your own (glognn tune --out FOLDER); models without any take published ones, then defaults.",
        ),
    ] = "published",
    workers: WORKERS = None,
    device: Annotated[str, typer.Option("--device", help="cpu or cuda.")] = "cpu",
    together: Annotated[
        bool,
        typer.Option(
            "--together/--one-by-one", help="Train the splits and seeds of a model as one batch, or each by itself."
        ),
    ] = True,
    quick: Annotated[
        bool, typer.Option("--quick", help="Three splits of a few datasets, five models, 200 epochs: a few minutes.")
    ] = False,
    render_only: Annotated[
        bool,
        typer.Option(
            "--render-only", help="Run nothing: tables and pictures of the runs that are there, 'not run' for others."
        ),
    ] = False,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of all runs and tables.")] = Path("runs/reproduce"),
    storage: Annotated[
        str | None,
        typer.Option(
            "--storage",
            help="A PostgreSQL (postgresql+psycopg://me@host/name) by which machines share the runs: the same command "
            "on each. [dim]Default: --out, which several commands may have in common.[/dim]",
        ),
    ] = None,
    data_mirror: MIRROR = None,
) -> None:
    """Do the paper again: run what is missing, skip what is done, and write the table.

    Stop it whenever you like, and give the same command to go on. Tables (Markdown, LaTeX, CSV, JSON) are made from the
    records of the runs alone: mean ± standard deviation over splits and seeds, beside the paper's.

    Examples:

      glognn reproduce table1 --quick

      glognn reproduce table1 --models mlp,gcn,linkx,glognn,glognn++ --workers 2

      glognn reproduce table1 --models glognn,glognn++ --datasets texas,cora --seeds 0-2
    """
    from glognn.cli.progress import Display
    from glognn.cli.terminal import Terminal
    from glognn.report.reproduction import render

    console = Terminal()
    for each, rows, columns in choose_studies(study, models, datasets, quick=quick):
        with Display(console) as display:
            done = reproduce(
                each,
                rows,
                columns,
                splits=splits,
                seeds=seeds,
                settings=settings,
                workers=workers,
                device=device,
                together=together,
                quick=quick,
                render_only=render_only,
                out=out,
                storage=storage,
                data_mirror=data_mirror,
                progress=display,
            )
        for part in render(done, terminal=console.is_terminal):
            if isinstance(part, str):
                console.out(part)
            else:
                console.print(part)
        if done.failures:
            raise GloGNNError(f"{len(done.failures)} cells have runs that failed; the output names them.")
