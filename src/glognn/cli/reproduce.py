"""``glognn reproduce``: the paper's tables and studies, run, resumed and rendered."""

from __future__ import annotations

import json
import os
import statistics
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glognn.cli.options import MIRROR
from glognn.data.catalog import DATASETS
from glognn.data.fetch import fetch, mirror_dir
from glognn.data.sources import warn_once
from glognn.errors import DataWarning, GloGNNError, InputError, MissingFileError
from glognn.experiments.plan import SETTINGS, VARIANTS, Job, make_plan, parse_names, parse_seeds
from glognn.experiments.studies import ABLATIONS, DRAWN, HETEROPHILOUS, ablation_plan, examine, matrices, same_as_full
from glognn.models.configs import MODELS

if TYPE_CHECKING:
    from rich.console import Console

    from glognn.report.comparison import Comparison

GLOGNN = ("glognn++", "glognn")
TABLES = {"table1": "small", "table2": "large"}
STUDIES = (*TABLES, "efficiency", "ablation", "grouping", "global-homophily", "all")
EFFICIENCY: dict[str, Any] = {"epochs": 300, "early_stopping": "none"}
EFFICIENCY_SEEDS = [0, 1, 2]
QUICK: dict[str, Any] = {
    "datasets": {"table1": ["texas", "wisconsin", "cornell", "cora"], "table2": ["arxiv-year"]},
    "other_datasets": ["texas", "wisconsin", "cornell"],
    "splits": "0-2",
    "epochs": 200,
}
"""What --quick does: small enough for a few minutes, with three splits so that means and ranks still say something."""


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
            help=f"{', '.join(SETTINGS[:-1])} or {SETTINGS[-1]}. 'published' takes the settings that a model's "
            "authors state, 'tuned' those that our searches found (glognn tune); models without any take defaults.",
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
    if study == "all":
        for each in STUDIES[:-1]:
            fitting = _fitting(models, _models_of(each)[1])
            where = _fitting(datasets, _datasets_of(each, quick)[1])
            if "" not in (fitting, where):
                command(each, fitting, where, splits, seeds, settings, workers, device, quick, out, data_mirror)
        return
    table = study in TABLES
    usual_models, possible_models = _models_of(study)
    chosen_models = parse_names(models, possible_models, "model") if models else usual_models
    usual, possible = _datasets_of(study, quick)
    chosen = parse_names(datasets, possible, f"dataset of {study}") if datasets else usual
    given: dict[str, Any] = {"device": device, "threads": 0 if device == "cuda" else 1}
    if quick:
        given["epochs"] = QUICK["epochs"]
    options: dict[str, Any] = {
        "settings": settings,
        "splits": splits or (QUICK["splits"] if quick else "all" if study in (*TABLES, "ablation") else "0"),
        "seeds": parse_seeds(seeds) if seeds else None,
        "given": given,
    }
    work = Workshop(
        console=Console(),
        root=out,
        folder=out / (f"{study}-quick" if quick else study),
        mirror=mirror_dir(data_mirror),
        workers=1 if device == "cuda" else workers,
    )
    if study == "efficiency":
        failures = _efficiency(work, chosen, chosen_models, options)
    elif table:
        failures = _table(work, chosen, chosen_models, options)
    elif study == "ablation":
        failures = _ablation(work, chosen, chosen_models, options)
    else:
        failures = _examination(work, study, chosen, chosen_models, options)
    if failures:
        raise GloGNNError(f"{len(failures)} cells have runs that failed; the output names them.")


def _fitting(names: str | None, known: Iterable[str]) -> str | None:
    """Of the names given, those that a study knows; nothing given stays nothing."""
    return None if names is None else ",".join(name for name in names.split(",") if name.strip() in known)


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


def _models_of(study: str) -> tuple[list[str], list[str]]:
    """What a study compares by default, and what it can compare."""
    if study not in (*TABLES, "efficiency"):
        return list(GLOGNN), list(GLOGNN)
    return list(MODELS), [*MODELS, *VARIANTS]


def _datasets_of(study: str, quick: bool) -> tuple[list[str], list[str]]:
    """What a study does by default, and what it can do."""
    group = TABLES.get(study, "small")
    possible = [name for name, entry in DATASETS.items() if entry.group == group]
    if quick:
        return (QUICK["datasets"][study] if study in TABLES else QUICK["other_datasets"]), possible
    return (list(HETEROPHILOUS) if study in ("ablation", "global-homophily") else possible), possible


def _table(work: Workshop, datasets: list[str], models: list[str], options: dict[str, Any]) -> Problems:
    plan = make_plan(work.root, datasets, models, **options)
    cells: Cells = {}
    for job in plan:
        cells.setdefault((job.dataset, job.label), []).append(job)
    problems = _run(work, cells)
    _write_table(work, cells, datasets, models, problems)
    return _failures(problems)


def _efficiency(work: Workshop, datasets: list[str], models: list[str], options: dict[str, Any]) -> Problems:
    """Equal epochs, several seeds, one run at a time, so that times can be compared."""
    from glognn.report.curves import read_curves
    from glognn.report.figures import plot_efficiency
    from glognn.storage import write_json

    options["given"] = {**options["given"], **EFFICIENCY}
    options["splits"] = options["splits"] if options["splits"].isdecimal() else "0"
    options["seeds"] = options["seeds"] or EFFICIENCY_SEEDS
    cells: Cells = {}
    for job in make_plan(work.root / "efficiency-runs", datasets, models, **options):
        cells.setdefault(_cell(job), []).append(job)
    problems = _run(replace(work, workers=1, together=False), cells)
    panels: dict[str, dict[str, list[dict[str, list[float]]]]] = {}
    for (dataset, model), jobs in cells.items():
        curves = [read_curves(job.folder)[0] for job in jobs if job.done]
        if curves:
            panels.setdefault(dataset, {})[model] = curves
    times = {
        dataset: {
            model: {
                "seconds": [curve["seconds"][-1] for curve in curves],
                "epochs": len(curves[0]["epoch"]),
                "milliseconds_per_epoch": 1000
                * statistics.median(curve["seconds"][-1] for curve in curves)
                / len(curves[0]["epoch"]),
            }
            for model, curves in found.items()
        }
        for dataset, found in panels.items()
    }
    write_json(work.folder / "efficiency.json", times)
    for dataset, by_model in times.items():
        text = ", ".join(f"{model} {found['milliseconds_per_epoch']:.1f}" for model, found in by_model.items())
        work.console.out(f"{dataset}, ms per epoch (median of {len(options['seeds'])}): {text}", highlight=False)
    if panels:
        pictures = plot_efficiency(panels, "accuracy", work.folder / "efficiency")
        work.console.out(f"Picture: {pictures[0]}", highlight=False)
    return _failures(problems)


def _ablation(work: Workshop, datasets: list[str], models: list[str], options: dict[str, Any]) -> Problems:
    from glognn.report.figures import plot_bars

    cells, undefined = ablation_plan(work.root, datasets, models, **options)
    problems = _run(work, cells) | undefined
    families = [[f"{model}{suffix}" for suffix in ABLATIONS] for model in models]
    names = [name for family in families for name in family]
    best, _ = _write_table(work, cells, datasets, names, problems)
    for model in models:
        same = [f"{dataset} ({', '.join(found)})" for dataset in datasets if (found := same_as_full(dataset, model))]
        if same and options["settings"] == "published":
            work.console.out(f"{model} already is, by the authors' settings: {', '.join(same)}", highlight=False)
    pictures = plot_bars(best, families, work.folder / "bars")
    work.console.out(f"Picture: {pictures[0]}", highlight=False)
    return _failures(problems)


def _examination(
    work: Workshop, study: str, datasets: list[str], models: list[str], options: dict[str, Any]
) -> Problems:
    """Train, then look at the coefficients of the trained models, one picture for each model."""
    from glognn.report.figures import plot_distances, plot_heat_maps
    from glognn.storage import write_json

    plan = make_plan(work.root, datasets, models, **options)
    cells: Cells = {}
    for job in plan:
        cells.setdefault(_cell(job), []).append(job)
    problems = _run(work, cells)
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for job in plan:
        if job.done:
            with work.console.status(f"{job.dataset}, {job.model}, split {job.split}"):
                result = examine(job, work.mirror, study)
            found.setdefault(job.model, {}).setdefault(job.dataset, []).append(result | {"split": job.split})
    write_json(work.folder / f"{study}.json", found)
    for model, by_dataset in found.items():
        first = {dataset: results[0] for dataset, results in by_dataset.items()}
        stem = work.folder / f"{study}-{model}"
        if study == "grouping":
            _print_grouping(work.console, model, by_dataset)
            drawn = [job for job in plan if job.model == model and job.dataset in DRAWN and job.done]
            firsts = {job.dataset: job for job in reversed(drawn)}
            panels = {
                dataset: tuple(matrix.numpy() for matrix in matrices(firsts[dataset], work.mirror))
                for dataset in DRAWN
                if dataset in firsts
            }
            pictures = plot_heat_maps(panels, stem) if panels else []  # type: ignore[arg-type]
        else:
            _print_distances(work.console, model, first)
            pictures = plot_distances({dataset: result["rows"] for dataset, result in first.items()}, stem)
        for path in pictures[:1]:
            work.console.out(f"Picture: {path}\n", highlight=False)
    return _failures(problems)


def _cell(job: Job) -> tuple[str, str]:
    return job.dataset, job.label


def _print_grouping(console: Console, model: str, found: dict[str, list[dict[str, Any]]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(model, no_wrap=True)
    for heading in ("within a class", "between classes", "contrast", "positive within, %", "positive between, %"):
        table.add_column(heading, justify="right")
    for dataset, results in found.items():
        mean = {name: sum(result[name] for result in results) / len(results) for name in results[0]}
        table.add_row(
            dataset,
            f"{mean['within']:.2e}",
            f"{mean['between']:.2e}",
            f"{mean['contrast']:.2f}",
            f"{100 * mean['within_positive']:.1f}",
            f"{100 * mean['between_positive']:.1f}",
        )
    console.print(table)


def _print_distances(console: Console, model: str, found: dict[str, dict[str, Any]]) -> None:
    from rich.table import Table

    names = [row["distance"] for row in next(iter(found.values()))["rows"]]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(f"{model}: same class / with Z* > 0", no_wrap=True)
    for name in names:
        table.add_column(f"{name} hops" if name[0] in "123456>" else name, justify="right")
    for dataset, result in found.items():
        table.add_row(dataset, *(f"{row['same']:.1f} / {row['same_positive']:.1f}" for row in result["rows"]))
    console.print(table)


def _failures(problems: Problems) -> Problems:
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


def _run(work: Workshop, cells: Cells) -> Problems:
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
            ended = f"failed: {outcome.error}" if outcome.error else f"{outcome.seconds:.1f} s"
            console.out(
                f"  {done}/{len(jobs)} {dataset}, {label}, seed {job.seed}, split {job.split}: {ended}", highlight=False
            )
            if outcome.error:
                problems[dataset, label] = f"failed: {outcome.error}"
    return problems


def _write_table(
    work: Workshop, cells: Cells, datasets: list[str], models: list[str], problems: Problems
) -> list[Comparison]:
    """The tables, from the records: judged at the best validation epoch and at the last one."""
    from glognn.experiments.folder import read_report
    from glognn.report.comparison import JUDGED, compact_records, compare, to_csv, to_latex, to_markdown, to_terminal
    from glognn.storage import write_json, write_text

    folder, console = work.folder, work.console
    wanted = {key: max(len(jobs), 1) for key, jobs in cells.items()}
    scores = {
        key: {(job.seed, job.split): read_report(job.folder) for job in jobs if job.done} for key, jobs in cells.items()
    }
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
    write_text(folder / "records.jsonl", "".join(f"{json.dumps(cell)}\n" for cell in compact_records(scores)))
    if console.is_terminal:
        for each in comparisons:
            console.out(f"\nTest score in %, {JUDGED[each.judged]}:", highlight=False)
            console.print(to_terminal(each))
    else:
        typer.echo(f"\n{text}", nl=False)
    console.out(f"Tables: {folder}", highlight=False)
    return comparisons
