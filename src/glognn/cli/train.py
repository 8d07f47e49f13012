"""``glognn train``: one or several models on the splits of a graph, into a run folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glognn.cli.options import MIRROR, WORKERS, flag, with_settings
from glognn.cli.tables import table_options, with_tables
from glognn.data.layout import TABLES
from glognn.distributed.methods import METHODS
from glognn.errors import InputError, MemoryExhaustedError
from glognn.experiments.auto import auto, means_auto
from glognn.experiments.train import train_models

if TYPE_CHECKING:
    from glognn.cli.terminal import Terminal
    from glognn.data.table_graph import KeptTables


@with_settings
@with_tables
def command(
    tables: dict[str, Any],
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset",
            "-d",
            help="A dataset by name ('glognn datasets' lists them), a twin (twin:pokec@0.1) or a .npz graph file. "
            "[dim]Default: pairs, which is generated.[/dim]",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="Model to train ('glognn models' lists them); repeat it to compare several; or auto, which trains a "
            "portfolio of them and makes an ensemble. [dim]Default: auto for your own tables, else glognn++.[/dim]",
        ),
    ] = None,
    splits: Annotated[
        str | None,
        typer.Option("--splits", "--split", "-s", help="'all', '3', '0,2,5' or '0-4'. [dim]Default: all.[/dim]"),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            "--config",
            "-c",
            help="Settings file (TOML), or published:NAME for the authors' settings, as in published:texas. "
            "Flags override the file.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Run folder. [dim]Default: runs/<time>-<dataset>.[/dim]")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", help="Go on with an interrupted run in this folder; takes no other settings."),
    ] = None,
    tune: Annotated[
        int | None,
        typer.Option(
            "--tune",
            min=1,
            help="First search settings in this many trials (see 'glognn tune'), then train; of several splits for "
            "each by itself.",
        ),
    ] = None,
    workers: WORKERS = None,
    refit: Annotated[
        bool,
        typer.Option(
            "--refit",
            help="Then train on all labels for as many epochs as validation chose, and predict with that. With "
            "--resume also of a finished run.",
        ),
    ] = False,
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", help="With auto: seconds of training. [dim]Default: 300.[/dim]"),
    ] = None,
    quality: Annotated[
        str | None,
        typer.Option(
            "--quality",
            help="With auto: 'fast', the first 3 members of the portfolio; 'good', the first 12, and the others where "
            "these leave time; 'best', all. [dim]Default: good.[/dim]",
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            "--folds",
            min=2,
            max=1000,
            help="With auto and no given split. [dim]Default: 5, on large graphs fewer.[/dim]",
        ),
    ] = None,
    portfolio: Annotated[
        Path | None, typer.Option("--portfolio", help="With auto: file of another portfolio than the package's.")
    ] = None,
    distributed: Annotated[
        bool,
        typer.Option(
            "--distributed",
            help="Train on all processes that torchrun has started, each with its part of the graph.",
            rich_help_panel="Several processes",
        ),
    ] = False,
    partition: Annotated[
        str | None,
        typer.Option(
            "--partition",
            metavar="|".join(METHODS),
            help="With --distributed: who owns which nodes. [dim]Default: balanced.[/dim]",
            rich_help_panel="Several processes",
        ),
    ] = None,
    parts: Annotated[
        int | None,
        typer.Option(
            "--parts",
            min=1,
            help="With --distributed: parts that the graph is divided into, at least as many as processes. "
            "[dim]Default: as many.[/dim]",
            rich_help_panel="Several processes",
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            min=1,
            help="With --distributed: seconds after which a process that does not answer ends the job. "
            "[dim]Default: 600.[/dim]",
            rich_help_panel="Several processes",
        ),
    ] = None,
    data_mirror: MIRROR = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show only the result.")] = False,
    **settings: Any,
) -> None:
    """Train and evaluate.

    Without options: GloGNN++ on an embedded graph, five splits. Everything is kept in a run folder: config.toml
    (complete settings), report.json (scores, baselines, time, versions, machine), curve.csv, model.safetensors,
    curve.png, README.md (a model card) and, of several models, models.png.

    Examples:

      glognn train --model glognn++ --model glognn --model mlp

      glognn train --dataset squirrel --split 3

      glognn train --config published:chameleon --splits all

      glognn train --dataset graph.npz --alpha 0.3 --num-hops 3 --splits 0 --out runs/mine

      glognn train --edges edges.csv --nodes nodes.parquet --id user_id --label is_fraud --out runs/fraud

      glognn train --resume runs/mine

      glognn train --model auto --dataset cora --time-limit 60

      torchrun --nproc-per-node 2 -m glognn train --dataset twin:pokec@0.1 --distributed --out runs/pokec

    A run on your own tables keeps the graph made of them: go on with 'glognn predict runs/fraud'. Where no model is
    named for them, a portfolio of models is trained on folds of all labels, within the time limit; the folder is
    usable after the first, and Ctrl-C ends with those that are finished. Every setting of training and of models is a
    flag, too: --help-all.
    """
    from glognn.cli.progress import Display
    from glognn.cli.terminal import Terminal
    from glognn.report.card import CARD, run_card
    from glognn.report.summary import beware, decisions, settlements, summary_table
    from glognn.storage import write_text

    ranks = {"timeout": timeout, "partition": partition, "parts": parts}
    if not distributed:
        for name in (name for name, value in ranks.items() if value is not None):
            raise InputError(f"{flag(name)} is for --distributed. Leave it out, or add --distributed.")
    console = Terminal()
    flags = tables if resume is not None else {}  # refused beside it, complete or not
    only_auto = {"time_limit": time_limit, "quality": quality, "folds": folds, "portfolio": portfolio}
    chosen = {name: value for name, value in only_auto.items() if value is not None}
    if distributed and (refit or workers):
        raise InputError(f"--distributed trains on given splits. Leave out {'--refit' if refit else '--workers'}.")
    if not distributed and "TORCHELASTIC_RUN_ID" in os.environ and int(os.environ["WORLD_SIZE"]) > 1:
        raise InputError("torchrun has started several processes, which train one model with --distributed: add it.")
    if means_auto(model or (), tables=bool(tables), config=config, tune=tune, resume=resume):
        if distributed:
            raise InputError(
                "--distributed trains models that are named, not the portfolio of --model auto: "
                "name one, such as --model glognn++."
            )
        if refit:
            raise InputError("--model auto uses all labels already, in folds. Leave out --refit, or name a model.")
        where = {"splits": splits, "out": out, "resume": resume, "data_mirror": data_mirror}
        own = table_options(tables) if tables and resume is None else None
        _auto(console, quiet, data=dataset, tables=own, **where, **chosen, **flags, **settings)
        return
    for name in chosen:
        raise InputError(f"{flag(name)} is for --model auto. Leave it out, or name no other model.")
    asked: dict[str, Any] = {"dataset": dataset, "model": model or (), "splits": splits, "config": config, "out": out}
    asked |= {"resume": resume, "tune": tune, "data_mirror": data_mirror} | flags | settings
    own = table_options(tables) if tables and resume is None else None
    with Display(console, quiet=quiet) as display:
        try:
            if distributed:
                from glognn.experiments.distributed import train_on_ranks

                if (trained := train_on_ranks(ranks, tables=own, progress=display, **asked)) is None:
                    return
                done = trained
            else:
                done = train_models(tables=own, workers=workers, refit=refit, progress=display, **asked)
        except (KeyboardInterrupt, OSError, MemoryExhaustedError) as error:
            if display.work is not None and display.work.unit == "splits":
                word = "Interrupted" if isinstance(error, KeyboardInterrupt) else "Stopped"
                console.out(f"{word}. Go on with: glognn train --resume {display.work.folder}")
            raise
    from glognn.experiments.refit import describe_refit, read_refit
    from glognn.report.curves import plot_curves
    from glognn.report.models import compare_runs

    plot_curves(done.folder, done.runs)
    kept = _kept_tables(done.folder)
    for place, report in zip(done.runs, done.reports, strict=True):
        record = read_refit(place)
        write_text(place / CARD, run_card(report, kept, "" if record is None else describe_refit(record)))
    if len(done.runs) > 1:
        compare_runs(done.folder, done.runs)
    console.print()
    console.print(summary_table(done.reports))
    for told in filter(None, (settlements(done.reports), decisions(done.reports), beware(done.reports))):
        console.out(f"\n{told}")
    console.out(f"\nRun folder: {done.folder}")
    if distributed:
        console.out(f"Beside baselines, in one process: glognn evaluate {done.folder}")


def _kept_tables(folder: Path) -> KeptTables | None:
    from glognn.data.table_graph import KeptTables

    return KeptTables.load(folder) if (folder / TABLES).is_file() else None


def _auto(console: Terminal, quiet: bool, **asked: Any) -> None:
    """Train a portfolio, show what became of its members, and write the card and the picture of it."""
    from glognn.cli.progress import Display
    from glognn.report.card import CARD, ensemble_card
    from glognn.report.leaderboard import BEST, STAR, leaderboard_table, plot_leaderboard
    from glognn.report.summary import beware, decisions, ensemble_decision
    from glognn.report.text import score_name
    from glognn.storage import write_text

    with Display(console, quiet=quiet) as display:
        try:
            done = auto(progress=display, **asked)
        except (KeyboardInterrupt, OSError, MemoryExhaustedError):
            if display.work is not None:
                console.out(f"Interrupted. Go on with: glognn train --resume {display.work.folder}")
            raise
    console.print()
    found = leaderboard_table(done.leaderboard, done.record["metric"])
    console.print(found)
    write_text(done.folder / CARD, ensemble_card(done.record, tables=_kept_tables(done.folder)))
    plot_leaderboard(done.leaderboard, score_name(done.record), done.folder / "leaderboard.png", done.record["metric"])
    console.out(f"\n{found.note}\n" if found.note else "")
    console.out(f"{STAR} {BEST} on validation; {score_name(done.record)}; splits: {done.record['splits_origin']}")
    for told in filter(None, (decisions([ensemble_decision(done.record)]), beware([done.record]))):
        console.out(f"\n{told}")
    if any(each["state"] in ("not reached", "tried") for each in done.record["members"]):
        console.out(f"\n{done.record['ended'].capitalize()}. Go on with: glognn train --resume {done.folder}")
    console.out(f"\nRun folder: {done.folder}")
