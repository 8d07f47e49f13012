"""``glognn reproduce``: the paper's tables and studies, run, resumed and rendered."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glognn.cli.options import MIRROR
from glognn.data.catalog import DATASETS
from glognn.data.fetch import fetch, mirror_dir
from glognn.errors import GloGNNError, InputError, MissingFileError
from glognn.experiments.plan import SETTINGS, Job, make_plan, parse_names, parse_seeds
from glognn.models.configs import MODELS

if TYPE_CHECKING:
    from rich.console import Console

STUDIES = {"table1": "small", "table2": "large"}
QUICK: dict[str, Any] = {
    "datasets": {"table1": ["texas", "wisconsin", "cornell", "cora"], "table2": ["arxiv-year"]},
    "splits": "0-2",
    "epochs": 200,
}
"""What --quick does: small enough for a few minutes, with three splits so that means and ranks still say something."""


def command(
    study: Annotated[str, typer.Argument(help="table1: the nine small datasets. table2: the six large ones.")],
    models: Annotated[
        str | None, typer.Option("--models", help=f"[dim]Default: all ({','.join(MODELS)}).[/dim]")
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
            help=f"{' or '.join(SETTINGS)}. 'published' takes the authors' settings of GloGNN and GloGNN++ and "
            "defaults for models without any.",
        ),
    ] = "published",
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=256, help="Processes, each with one CPU thread.")
    ] = max(1, os.cpu_count() or 1),
    device: Annotated[str, typer.Option("--device", help="cpu, or cuda (one worker).")] = "cpu",
    quick: Annotated[
        bool, typer.Option("--quick", help="Three splits of a few datasets, 200 epochs: a few minutes.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of all runs and tables.")] = Path("runs/reproduce"),
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
    from rich.console import Console

    if study not in STUDIES:
        raise InputError(f"The study must be one of {', '.join(STUDIES)}. Got {study!r} instead.")
    if device not in ("cpu", "cuda"):
        raise InputError(f"The device must be cpu or cuda. Got {device!r} instead.")
    console = Console()
    mirror = mirror_dir(data_mirror)
    chosen_models = parse_names(models, MODELS, "model") if models else list(MODELS)
    of_table = [name for name, entry in DATASETS.items() if entry.group == STUDIES[study]]
    usual = QUICK["datasets"][study] if quick else of_table
    chosen = parse_names(datasets, of_table, f"dataset of {study}") if datasets else usual
    given: dict[str, Any] = {"device": device, "threads": 0 if device == "cuda" else 1}
    if quick:
        given["epochs"] = QUICK["epochs"]
    plan = make_plan(
        out,
        chosen,
        chosen_models,
        settings=settings,
        splits=splits or (QUICK["splits"] if quick else "all"),
        seeds=parse_seeds(seeds) if seeds else None,
        given=given,
    )
    problems = _fetch_all(console, chosen, mirror)
    jobs = [job for job in plan if job.dataset not in problems]
    failures = _run(console, jobs, 1 if device == "cuda" else workers, mirror)
    why = {(job.dataset, job.model): problems[job.dataset] for job in plan if job.dataset in problems}
    folder = out / (f"{study}-quick" if quick else study)
    _write(console, folder, plan, chosen, chosen_models, why | failures)
    if failures:
        raise GloGNNError(f"{len(failures)} cells have runs that failed; the table names them.")


def _fetch_all(console: Console, datasets: list[str], mirror: Path | None) -> dict[str, str]:
    """Have all files here before anything runs; why that is not possible, by dataset."""
    problems = {}
    for name in datasets:
        try:
            for file in DATASETS[name].files.values():
                fetch(file, mirror)
        except MissingFileError as error:
            problems[name] = "not to be had"
            console.out(f"{name} is left out: {error}", highlight=False)
    return problems


def _run(console: Console, jobs: list[Job], workers: int, mirror: Path | None) -> dict[tuple[str, str], str]:
    """Do the runs with a progress display; why runs failed, by dataset and model."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from glognn.experiments.pool import run_jobs

    failures: dict[tuple[str, str], str] = {}
    done = sum(job.done for job in jobs)
    console.out(f"{len(jobs)} runs, {done} of them done already, {workers} at a time", highlight=False)
    columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"))
    with Progress(
        *columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal, speed_estimate_period=1800
    ) as progress:
        task = progress.add_task("", total=len(jobs), completed=done)
        for outcome in run_jobs(jobs, workers=workers, mirror=mirror):
            done += 1
            job = outcome.job
            progress.advance(task)
            ended = f"failed: {outcome.error}" if outcome.error else f"{outcome.seconds:.1f} s"
            console.out(
                f"  {done}/{len(jobs)} {job.dataset}, {job.model}, seed {job.seed}, split {job.split}: {ended}",
                highlight=False,
            )
            if outcome.error:
                failures[job.dataset, job.model] = f"failed: {outcome.error}"
    return failures


def _write(
    console: Console,
    folder: Path,
    plan: list[Job],
    datasets: list[str],
    models: list[str],
    problems: dict[tuple[str, str], str],
) -> None:
    """The tables, from the records."""
    from glognn.experiments.folder import read_report
    from glognn.report.comparison import JUDGED, compare, to_csv, to_latex, to_markdown, to_terminal
    from glognn.storage import write_json, write_text

    scores: dict[tuple[str, str], dict[tuple[int, int], dict[str, Any]]] = {}
    wanted: dict[tuple[str, str], int] = {}
    for job in plan:
        key = (job.dataset, job.model)
        wanted[key] = wanted.get(key, 0) + 1
        if job.done:
            scores.setdefault(key, {})[job.seed, job.split] = read_report(job.folder)
    comparisons = [
        compare(scores, datasets, models, judged=judged, wanted=wanted, problems=problems) for judged in JUDGED
    ]
    text = "".join(
        f"Test score in %, {JUDGED[each.judged]}; in brackets the paper's mean and the difference to it.\n\n"
        f"{to_markdown(each)}\n"
        for each in comparisons
    )
    write_text(folder / "table.md", text)
    write_text(folder / "table.csv", to_csv(comparisons))
    for each in comparisons:
        write_text(folder / f"table-{each.judged}.tex", to_latex(each))
    write_json(folder / "table.json", [each.record() for each in comparisons])
    if console.is_terminal:
        for each in comparisons:
            console.out(f"\nTest score in %, {JUDGED[each.judged]}:", highlight=False)
            console.print(to_terminal(each))
    else:
        typer.echo(f"\n{text}", nl=False)
    console.out(f"Tables: {folder}", highlight=False)
