"""The paper's studies, each as a function: run, measure, print, draw."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from glognn.cli.workshop import Problems, Workshop, by_cell, failures, run_cells, write_table
from glognn.experiments.plan import make_plan
from glognn.experiments.studies import ABLATIONS, DRAWN, ablation_plan, examine, matrices, same_as_full

if TYPE_CHECKING:
    from rich.console import Console

    from glognn.report.curves import Curve

EFFICIENCY: dict[str, Any] = {"epochs": 300, "early_stopping": "none"}
EFFICIENCY_SEEDS = [0, 1, 2]


def table(work: Workshop, datasets: list[str], models: list[str], options: dict[str, Any]) -> Problems:
    plan = make_plan(work.root, datasets, models, **options)
    cells = by_cell(plan)
    problems = run_cells(work, cells)
    write_table(work, cells, datasets, models, problems)
    return failures(problems)


def efficiency(work: Workshop, datasets: list[str], models: list[str], options: dict[str, Any]) -> Problems:
    """Equal epochs, several seeds, one run at a time, so that times can be compared."""
    from glognn.experiments.folder import read_report
    from glognn.report.curves import read_curves
    from glognn.report.efficiency import summarise, to_markdown
    from glognn.report.figures import plot_efficiency
    from glognn.storage import write_json, write_text

    options["given"] = {**options["given"], **EFFICIENCY}
    options["splits"] = options["splits"] if options["splits"].isdecimal() else "0"
    options["seeds"] = options["seeds"] or EFFICIENCY_SEEDS
    cells = by_cell(make_plan(work.root / "efficiency-runs", datasets, models, **options))
    problems = run_cells(replace(work, workers=1, together=False), cells)
    panels: dict[str, dict[str, list[Curve]]] = {}
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for (dataset, model), jobs in cells.items():
        done = [job.folder for job in jobs if job.done]
        if done:
            curves = [read_curves(folder)[0] for folder in done]
            panels.setdefault(dataset, {})[model] = curves
            found.setdefault(dataset, {})[model] = summarise(curves, read_report(done[0]))
    if panels:
        write_json(work.folder / "efficiency.json", found)
        text = to_markdown(found)
        write_text(work.folder / "efficiency.md", text)
        typer.echo(f"\n{text}", nl=False)
        pictures = plot_efficiency(panels, work.folder / "efficiency")
        work.console.out(f"Picture: {pictures[0]}", highlight=False)
    return failures(problems)


def ablation(work: Workshop, datasets: list[str], models: list[str], options: dict[str, Any]) -> Problems:
    from glognn.report.figures import plot_bars

    cells, undefined = ablation_plan(work.root, datasets, models, **options)
    problems = run_cells(work, cells) | undefined
    families = [[f"{model}{suffix}" for suffix in ABLATIONS] for model in models]
    names = [name for family in families for name in family]
    best, _ = write_table(work, cells, datasets, names, problems)
    for model in models:
        same = [f"{dataset} ({', '.join(found)})" for dataset in datasets if (found := same_as_full(dataset, model))]
        if same and options["settings"] == "published":
            work.console.out(f"{model} already is, by the authors' settings: {', '.join(same)}", highlight=False)
    pictures = plot_bars(best, families, work.folder / "bars")
    work.console.out(f"Picture: {pictures[0]}", highlight=False)
    return failures(problems)


def examination(
    work: Workshop, study: str, datasets: list[str], models: list[str], options: dict[str, Any]
) -> Problems:
    """Train, then look at the coefficients of the trained models, one picture for each model."""
    from glognn.report.figures import plot_distances, plot_heat_maps
    from glognn.storage import write_json

    plan = make_plan(work.root, datasets, models, **options)
    cells = by_cell(plan)
    problems = run_cells(work, cells)
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
    return failures(problems)


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
