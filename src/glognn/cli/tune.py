"""``glognn tune``: search for settings on validation scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from glognn.cli.options import MIRROR, WORKERS, with_settings
from glognn.cli.tables import table_options, with_tables
from glognn.experiments.config import DEFAULT_MODEL
from glognn.experiments.search import SAMPLERS
from glognn.experiments.tune import DEFAULT_SPACE, tune
from glognn.models.configs import MODELS


@with_settings
@with_tables
def command(
    tables: dict[str, Any],
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            "--dataset",
            "-d",
            help="A dataset by name, a twin or a .npz file; repeat it, or write commas, for several. "
            "[dim]Default: pairs.[/dim]",
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help=f"One of {', '.join(MODELS)}; repeat it, or write commas, for several. "
            f"[dim]Default: {DEFAULT_MODEL}.[/dim]",
        ),
    ] = None,
    trials: Annotated[int, typer.Option("--trials", min=1, help="Trials of each study in all.")] = 100,
    space: Annotated[
        str, typer.Option("--space", help="wide (ours), paper-small or paper-large (the paper's grids; GloGNN only).")
    ] = DEFAULT_SPACE,
    splits: Annotated[str, typer.Option("--splits", "-s", help="Splits whose validation scores are averaged.")] = "all",
    sampler: Annotated[str, typer.Option("--sampler", help=f"{', '.join(SAMPLERS)}.")] = "tpe",
    prune: Annotated[bool, typer.Option("--prune/--no-prune", help="Give up trials below the median early.")] = True,
    keep_default: Annotated[
        bool,
        typer.Option(
            "--keep-default/--no-keep-default",
            help="The default settings are trial 0, and stay where the winner does not beat them beyond noise. "
            "Without: whatever scores best on validation is taken, as in published tables.",
        ),
    ] = True,
    workers: WORKERS = None,
    together: Annotated[
        int | None,
        typer.Option(
            "--together",
            min=1,
            max=1000,
            help="Trials taken at a time; those of one shape train as one batch (tpe: all have the shape of the "
            "first). [dim]Default: 1, with --device cuda 8, with --sampler random all.[/dim]",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="[dim]Default: runs/tune/<dataset>/<model>-<space>.[/dim] With several models or datasets a folder "
            "with <model>/<dataset> for each, which 'glognn reproduce table1 --settings FOLDER' reads.",
        ),
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option("--storage", help="An Optuna storage URL. [dim]Default: a journal in --out.[/dim]"),
    ] = None,
    best: Annotated[
        bool, typer.Option("--best", help="Run nothing; write the best settings found so far (best.toml).")
    ] = False,
    data_mirror: MIRROR = None,
    **settings: Any,
) -> None:
    """Search for settings; the objective is the mean validation score over splits, never a test score.

    The default settings are the first trial, those that a model's authors published for the dataset the next. The
    winner is compared with the default on fresh divisions of train and validation nodes, and is used only if it is
    better by more than the noise of that. Settings given as flags are held. Stop it whenever you like; the same
    command goes on. Several of these commands may work on one folder at a time. At the end best.toml holds the
    settings that 'glognn train --config' reads, and importance and slice plots lie beside it. With several models and
    datasets there is a study for each pair, and a table of what was found instead.

    Examples:

      glognn tune --model glognn++ --dataset cora --trials 200

      glognn tune --model glognn++ --coefficient released --dataset texas --out runs/tune/texas-released

      glognn train --config runs/tune/cora/glognn++-wide/best.toml

      glognn tune --nodes nodes.csv --edges edges.csv --id user_id --label is_fraud --trials 50 --out runs/search

      glognn tune -m mlp,gcn -d texas,cora --trials 25 --sampler random --splits 0-2 --no-keep-default --out runs/equal

    The validation nodes of one split may be test nodes of another: test scores with settings that were searched on
    several splits, as published tables have them, are not independent of the search. 'glognn train --tune' searches
    for every split by itself.
    """
    from glognn.cli.progress import Display
    from glognn.cli.terminal import Terminal

    with Display(Terminal()) as display:
        tune(
            ",".join(datasets or []) or None,
            ",".join(models or [DEFAULT_MODEL]),
            trials=trials,
            space=space,
            splits=splits,
            sampler=sampler,
            prune=prune,
            keep_default=keep_default,
            workers=workers,
            together=together,
            out=out,
            storage=storage,
            best=best,
            tables=table_options(tables) if tables else None,
            data_mirror=data_mirror,
            progress=display,
            **settings,
        )
