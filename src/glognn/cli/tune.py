"""``glognn tune``: search for settings on validation scores."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glognn.cli.options import MIRROR, WORKERS, with_settings, worker_count
from glognn.data.sources import find_source
from glognn.errors import GloGNNError, InputError
from glognn.experiments.config import RunConfig, resolve
from glognn.experiments.plan import parse_names
from glognn.experiments.search import BEST, SAMPLERS, Search, open_folder
from glognn.experiments.spaces import find_space
from glognn.graph.config import GraphConfig
from glognn.models.configs import MODELS
from glognn.training.config import TrainingConfig

if TYPE_CHECKING:
    from rich.console import Console

DEFAULT_SPACE = "wide"
POLL_SECONDS = 0.5


@with_settings
def command(
    datasets: Annotated[
        str, typer.Option("--dataset", "-d", help="A dataset by name, a twin or a .npz file; or several, with commas.")
    ] = "pairs",
    models: Annotated[
        str, typer.Option("--model", "-m", help=f"One or several of {', '.join(MODELS)}, with commas.")
    ] = "glognn++",
    trials: Annotated[int, typer.Option("--trials", min=1, help="Trials of each study in all.")] = 100,
    space: Annotated[
        str, typer.Option("--space", help="wide (ours), paper-small or paper-large (the paper's grids; GloGNN only).")
    ] = DEFAULT_SPACE,
    splits: Annotated[str, typer.Option("--splits", "-s", help="Splits whose validation scores are averaged.")] = "all",
    sampler: Annotated[str, typer.Option("--sampler", help=f"{', '.join(SAMPLERS)}.")] = "tpe",
    prune: Annotated[bool, typer.Option("--prune/--no-prune", help="Give up trials below the median early.")] = True,
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

    The settings that a model's authors published for a dataset are the first trial. Settings given as flags are held.
    Stop it whenever you like; the same command goes on. Several of these commands may work on one folder at a time. At
    the end best.toml holds the settings that 'glognn train --config' reads, and importance and slice plots lie beside
    it. With several models and datasets there is a study for each pair, and a table of what was found instead.

    Examples:

      glognn tune --model glognn++ --dataset cora --trials 200

      glognn tune --model glognn++ --coefficient released --dataset texas --out runs/tune/texas-released

      glognn train --config runs/tune/cora/glognn++-wide/best.toml

      glognn tune -m mlp,gcn,glognn -d texas,cora --trials 25 --sampler random --splits 0-2 --out runs/equal
    """
    from rich.console import Console

    names = parse_names(models, MODELS, "model")
    sources = [find_source(name.strip()) for name in datasets.split(",") if name.strip()]
    held: dict[str, Any] = {"device": "cpu", "threads": 1} | settings
    for name in names:
        find_space(name, space)
    checked = resolve(names, None, held, sources[0].name, splits)
    studies: dict[Path, Search] = {}
    for source in sources:
        for config in checked:
            owned = (*GraphConfig.names(), *TrainingConfig.names(), *config.model.names())
            given = {name: value for name, value in held.items() if name in owned}
            search = Search(config.model.name, source.name, space, splits, given, sampler, prune)
            if len(names) * len(sources) == 1:
                folder = out or Path("runs/tune") / source.label / f"{config.model.name}-{space}"
            else:
                folder = (out or Path("runs/tune")) / config.model.name / source.label
            studies[folder] = search
    for folder, search in studies.items():
        if best and not (folder / "study.json").is_file():
            raise InputError(f"'{folder}' holds no study yet: run the same command without --best.")
        open_folder(folder, search)
    console = Console()
    if not best:
        at_once = together or (trials if sampler == "random" else 8 if held["device"] == "cuda" else 1)
        _search(console, studies, trials, worker_count(workers, held["device"]), storage, data_mirror, at_once)
    if len(studies) == 1:
        [(folder, search)] = studies.items()
        _finish(console, folder, search, storage)
    else:
        _finish_all(console, studies, storage)


def search_settings(
    folder: Path, config: RunConfig, given: dict[str, Any], trials: int, mirror: Path | None
) -> RunConfig:
    """Search settings of a configuration's model in a folder of its own; the configuration with the best found."""
    from rich.console import Console

    model, console = config.model.name, Console()
    own = {*GraphConfig.names(), *TrainingConfig.names(), *config.model.names()}
    held = {name: value for name, value in given.items() if name in own}
    search = Search(model, config.dataset, DEFAULT_SPACE, config.splits, {"device": "cpu", "threads": 1} | held)
    open_folder(folder / model, search)
    _search(console, {folder / model: search}, trials, worker_count(None, search.given["device"]), None, mirror, 1)
    _finish(console, folder / model, search, None)
    [found] = resolve([model], str(folder / model / BEST), held, config.dataset, config.splits)
    return found


def _search(
    console: Console,
    studies: dict[Path, Search],
    trials: int,
    workers: int,
    storage: str | None,
    mirror: Path | None,
    together: int,
) -> None:
    import multiprocessing
    import time

    from glognn.cli.progress import counting
    from glognn.experiments.pool import memory_share, work_for_parent
    from glognn.experiments.search import best_trial, finished_trials, open_study

    opened = [open_study(folder, search, storage) for folder, search in studies.items()]
    total = trials * len(studies)

    def count() -> int:
        return sum(min(len(finished_trials(study)), trials) for study in opened)

    before = count()
    folder, first = next(iter(studies.items()))
    what = f"{first.model} on {first.dataset}" if len(studies) == 1 else f"{len(studies)} studies"
    console.out(
        f"{what}: {before} of {total} trials done already, space {first.space} "
        f"({len(first.whole_space().parameters)} settings), {workers} at a time, in {folder}"
        if len(studies) == 1
        else f"{what}: {before} of {total} trials done already, space {first.space}, {workers} at a time, in "
        f"{folder.parent.parent}",
        highlight=False,
    )
    context = multiprocessing.get_context("spawn")
    size = min(workers, max(total - before, 1))
    arguments = (os.getpid(), memory_share(size), list(studies), trials, storage, mirror, together)
    crew = [context.Process(target=work_for_parent, args=arguments) for _ in range(size)]
    for process in crew:
        process.start()
    with counting(console, "trials") as progress:
        task = progress.add_task("", total=total, completed=before, note="")
        shown = before
        while any(process.is_alive() for process in crew):
            time.sleep(POLL_SECONDS * len(studies))
            done = count()
            if done == shown:
                continue
            shown = done
            try:
                text = f"best {100 * (best_trial(opened[0]).value or 0):.2f} %" if len(studies) == 1 else ""
            except InputError:
                text = ""
            progress.update(task, completed=done, note=text)
            if not console.is_terminal:
                console.out(f"  {done}/{total} trials{', ' if text else ''}{text}", highlight=False)
    for process in crew:
        process.join()
    if any(process.exitcode for process in crew) and count() < total:
        killed = any(process.exitcode == -9 for process in crew)
        why = "was killed from outside, as systems do when memory runs out" if killed else "ended with an error, above"
        raise GloGNNError(f"A worker {why}; the same command goes on with the study, perhaps with fewer --workers.")


def _finish_all(console: Console, studies: dict[Path, Search], storage: str | None) -> None:
    """The best of every study, as files and as a table of validation scores."""
    from glognn.experiments.search import best_trial, open_study, write_best

    found: dict[str, dict[str, str]] = {}
    for folder, search in studies.items():
        study = open_study(folder, search, storage)
        try:
            trial = best_trial(study)
        except InputError:
            continue
        write_best(folder, study, search)
        mark = " (published)" if trial.user_attrs.get("origin") == "published" else ""
        found.setdefault(search.model, {})[search.dataset] = f"{100 * (trial.value or 0):.2f}{mark}"
    columns = list(dict.fromkeys(search.dataset for search in studies.values()))
    typer.echo(f"| validation, % | {' | '.join(columns)} |")
    typer.echo("| --- |" + " ---: |" * len(columns))
    for model, row in found.items():
        typer.echo(f"| {model} | {' | '.join(row.get(column, '') for column in columns)} |")


def _finish(console: Console, folder: Path, search: Search, storage: str | None) -> None:
    from glognn.experiments.search import best_trial, chosen_settings, finished_trials, open_study, write_best
    from glognn.report.study import plot_study
    from glognn.storage import locked

    study = open_study(folder, search, storage)
    trial = best_trial(study)
    metric = search.config({}).training.metric
    with locked(folder):
        path = write_best(folder, study, search)
        pictures = plot_study(study, folder, metric)
    shown = ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in chosen_settings(search, trial).items()
    )
    console.out(
        f"best of {len(finished_trials(study))} trials: number {trial.number}, mean validation {metric} "
        f"{100 * (trial.value or 0):.2f} %\n  {shown}\nSettings: {path}"
        + (f"\nPictures: {', '.join(str(each) for each in pictures if each.suffix == '.png')}" if pictures else ""),
        highlight=False,
    )
