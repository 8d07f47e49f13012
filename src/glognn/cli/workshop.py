"""Doing the runs of a study with a progress display, and writing its tables: what all studies of the paper share."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from glognn.data.catalog import DATASETS
from glognn.data.fetch import fetch
from glognn.data.sources import warn_once
from glognn.errors import DataWarning, MissingFileError
from glognn.experiments.plan import DOES_NOT_FIT, Job

if TYPE_CHECKING:
    from rich.console import Console

    from glognn.report.comparison import Comparison


@dataclass(frozen=True)
class Workshop:
    """Where and with what a study is done."""

    console: Console
    root: Path
    folder: Path
    mirror: Path | None
    workers: int
    together: bool = True


Cells = dict[tuple[str, str], list[Job]]
Problems = dict[tuple[str, str], str]


def by_cell(plan: list[Job]) -> Cells:
    """The runs of a plan by dataset and model."""
    cells: Cells = {}
    for job in plan:
        cells.setdefault((job.dataset, job.label), []).append(job)
    return cells


def failures(problems: Problems) -> Problems:
    return {key: text for key, text in problems.items() if text.startswith("failed")}


def _fetch_all(console: Console, datasets: list[str], mirror: Path | None) -> dict[str, str]:
    """Have all files here before anything runs; why that is not possible, by dataset."""
    problems = {}
    for name in datasets:
        entry = DATASETS[name]
        warn_once(entry)
        try:
            for file in entry.files.values():
                fetch(file, mirror)
        except MissingFileError as error:
            problems[name] = "not to be had"
            console.out(f"{name} is left out: {error}", highlight=False)
            continue
        try:
            for file in entry.splits:
                fetch(file, mirror)
        except MissingFileError as error:
            if not entry.splits_optional:
                raise
            warnings.warn(f"{name}: random splits stand in for the published ones. {error}", DataWarning, stacklevel=2)
    return problems


def run_cells(work: Workshop, cells: Cells) -> Problems:
    """Do the runs with a progress display; why cells are not complete."""
    from glognn.cli.progress import counting
    from glognn.experiments.pool import run_jobs

    console = work.console
    missing = _fetch_all(console, list(dict.fromkeys(dataset for dataset, _ in cells)), work.mirror)
    problems = {key: missing[key[0]] for key in cells if key[0] in missing}
    labels = {job.folder: key for key, found in cells.items() for job in found}
    jobs = list({job.folder: job for key, found in cells.items() if key not in problems for job in found}.values())
    done = sum(job.done for job in jobs)
    console.out(f"{len(jobs)} runs, {done} of them done already, {work.workers} at a time", highlight=False)
    with counting(console, "runs") as progress:
        task = progress.add_task("", total=len(jobs), completed=done, note="")
        for outcome in run_jobs(jobs, workers=work.workers, mirror=work.mirror, together=work.together):
            done += 1
            job, (dataset, label) = outcome.job, labels[outcome.job.folder]
            progress.advance(task)
            failed = "failed" if outcome.fits else DOES_NOT_FIT
            ended = f"{failed}: {outcome.error}" if outcome.error else f"{outcome.seconds:.1f} s"
            console.out(
                f"  {done}/{len(jobs)} {dataset}, {label}, seed {job.seed}, split {job.split}: {ended}", highlight=False
            )
            if outcome.error:
                problems[dataset, label] = f"failed: {outcome.error}" if outcome.fits else DOES_NOT_FIT
    return problems


def _list_origins(origins: dict[tuple[str, str], str]) -> str:
    """Where the settings of each model are from, a line for each."""
    found: dict[str, dict[str, list[str]]] = {}
    for (dataset, label), origin in origins.items():
        found.setdefault(label, {}).setdefault(origin, []).append(dataset)
    lines = []
    for label, by_origin in found.items():
        words = [
            origin if len(by_origin) == 1 else f"{origin} ({', '.join(names)})" for origin, names in by_origin.items()
        ]
        lines.append(f"- {label}: {'; '.join(words)}\n")
    return f"Settings are from:\n\n{''.join(lines)}"


def write_table(
    work: Workshop, cells: Cells, datasets: list[str], models: list[str], problems: Problems
) -> list[Comparison]:
    """The tables, from the records: judged at the best validation epoch and at the last one."""
    from glognn.experiments.folder import read_report
    from glognn.report.comparison import (
        JUDGED,
        compact_records,
        compare,
        explain_arrows,
        to_csv,
        to_latex,
        to_markdown,
        to_terminal,
    )
    from glognn.storage import locked, write_json, write_text

    folder, console = work.folder, work.console
    wanted = {key: max(len(jobs), 1) for key, jobs in cells.items()}
    scores = {
        key: {(job.seed, job.split): read_report(job.folder) for job in jobs if job.done} for key, jobs in cells.items()
    }
    origins = {key: jobs[0].origin for key, jobs in cells.items() if jobs}
    comparisons = [
        compare(scores, datasets, models, judged=judged, wanted=wanted, problems=problems, origins=origins)
        for judged in JUDGED
    ]
    text = "".join(
        f"Test score in %, {JUDGED[each.judged]}; in brackets the paper's mean and the difference to it.\n\n"
        f"{to_markdown(each)}\n"
        for each in comparisons
    )
    text += _list_origins(origins)
    with locked(folder):
        write_text(folder / "table.md", text)
        write_text(folder / "table.csv", to_csv(comparisons))
        for each in comparisons:
            write_text(folder / f"table-{each.judged}.tex", to_latex(each))
        write_json(folder / "table.json", [each.record() for each in comparisons])
        write_text(folder / "records.jsonl", "".join(f"{json.dumps(cell)}\n" for cell in compact_records(scores)))
    if console.is_terminal:
        for each in comparisons:
            console.out(f"\nTest score in %, {JUDGED[each.judged]}:", highlight=False)
            console.print(to_terminal(each))
            if meaning := explain_arrows(each):
                console.out(meaning, highlight=False)
        console.out(f"\n{_list_origins(origins)}", highlight=False)
    else:
        typer.echo(f"\n{text}", nl=False)
    console.out(f"Tables: {folder}", highlight=False)
    return comparisons
