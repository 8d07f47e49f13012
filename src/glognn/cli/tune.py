"""``glognn tune``: search for settings on validation scores."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glognn.cli.options import MIRROR, with_settings
from glognn.data.sources import find_source
from glognn.errors import GloGNNError, InputError
from glognn.experiments.config import RunConfig, resolve
from glognn.experiments.search import BEST, SAMPLERS, Search, open_folder
from glognn.experiments.spaces import find_space
from glognn.graph.config import GraphConfig
from glognn.models.configs import MODELS, find_model
from glognn.training.config import TrainingConfig

if TYPE_CHECKING:
    from rich.console import Console

DEFAULT_SPACE = "wide"
POLL_SECONDS = 0.5


@with_settings
def command(
    dataset: Annotated[
        str, typer.Option("--dataset", "-d", help="A dataset by name, a twin or a .npz file.")
    ] = "pairs",
    model: Annotated[str, typer.Option("--model", "-m", help=f"One of {', '.join(MODELS)}.")] = "glognn++",
    trials: Annotated[int, typer.Option("--trials", min=1, help="Trials of the study in all.")] = 100,
    space: Annotated[
        str, typer.Option("--space", help="wide (ours), paper-small or paper-large (the paper's grids; GloGNN only).")
    ] = DEFAULT_SPACE,
    splits: Annotated[str, typer.Option("--splits", "-s", help="Splits whose validation scores are averaged.")] = "all",
    sampler: Annotated[str, typer.Option("--sampler", help=f"{', '.join(SAMPLERS)}.")] = "tpe",
    prune: Annotated[bool, typer.Option("--prune/--no-prune", help="Give up trials below the median early.")] = True,
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=256, help="Processes, each with one CPU thread.")
    ] = max(1, os.cpu_count() or 1),
    together: Annotated[
        int | None,
        typer.Option(
            "--together",
            min=1,
            max=1000,
            help="Trials taken at a time; they have the shape of the first and train as one batch. [dim]Default: 1, "
            "with --device cuda 8.[/dim]",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="[dim]Default: runs/tune/<dataset>/<model>-<space>.[/dim]"),
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

    Settings given as flags are held. Stop it whenever you like; the same command goes on. Several of these commands may
    work on one folder at a time. At the end best.toml holds the settings that 'glognn train --config' reads, and
    importance and slice plots lie beside it.

    Examples:

      glognn tune --model glognn++ --dataset cora --trials 200

      glognn tune --model glognn++ --coefficient released --dataset texas --out runs/tune/texas-released

      glognn train --config runs/tune/cora/glognn++-wide/best.toml
    """
    from rich.console import Console

    find_model(model)
    find_space(model, space)
    held = {"device": "cpu", "threads": 1} | settings
    source = find_source(dataset)
    search = Search(model, source.name, space, splits, held, sampler, prune)
    folder = out or Path("runs/tune") / source.label / f"{model}-{space}"
    if best and not (folder / "study.json").is_file():
        raise InputError(f"'{folder}' holds no study yet: run the same command without --best.")
    open_folder(folder, search)
    console = Console()
    if not best:
        at_once = together or (8 if held["device"] == "cuda" else 1)
        _search(console, folder, search, trials, workers, storage, data_mirror, at_once)
    _finish(console, folder, search, storage)


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
    _search(console, folder / model, search, trials, max(1, os.cpu_count() or 1), None, mirror, 1)
    _finish(console, folder / model, search, None)
    [found] = resolve([model], str(folder / model / BEST), held, config.dataset, config.splits)
    return found


def _search(
    console: Console,
    folder: Path,
    search: Search,
    trials: int,
    workers: int,
    storage: str | None,
    mirror: Path | None,
    together: int,
) -> None:
    import multiprocessing
    import time

    from glognn.cli.progress import counting
    from glognn.experiments.pool import work_for_parent
    from glognn.experiments.search import best_trial, finished_trials, open_study

    study = open_study(folder, search, storage)
    before = len(finished_trials(study))
    console.out(
        f"{search.model} on {search.dataset}: {before} of {trials} trials done already, space {search.space} "
        f"({len(search.whole_space().parameters)} settings), {workers} at a time, in {folder}",
        highlight=False,
    )
    context = multiprocessing.get_context("spawn")
    crew = [
        context.Process(target=work_for_parent, args=(os.getpid(), folder, trials, storage, mirror, together))
        for _ in range(min(workers, max(trials - before, 1)))
    ]
    for process in crew:
        process.start()
    with counting(console, "trials") as progress:
        task = progress.add_task("", total=trials, completed=before, note="")
        shown = before
        while any(process.is_alive() for process in crew):
            time.sleep(POLL_SECONDS)
            done = len(finished_trials(study))
            if done == shown:
                continue
            shown = done
            try:
                found = best_trial(study)
                text = f"best {100 * (found.value or 0):.2f} %"
            except InputError:
                text = ""
            progress.update(task, completed=done, note=text)
            if not console.is_terminal:
                console.out(f"  {done}/{trials} trials, {text}", highlight=False)
    for process in crew:
        process.join()
    if any(process.exitcode for process in crew) and len(finished_trials(study)) < trials:
        raise GloGNNError("A worker ended with an error (see above); the same command goes on with the study.")


def _finish(console: Console, folder: Path, search: Search, storage: str | None) -> None:
    from glognn.experiments.search import best_trial, chosen_settings, finished_trials, open_study, write_best
    from glognn.report.study import plot_study

    study = open_study(folder, search, storage)
    trial = best_trial(study)
    path = write_best(folder, study, search)
    metric = search.config({}).training.metric
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
