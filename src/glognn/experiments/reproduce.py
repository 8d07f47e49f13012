"""``reproduce``: the paper's tables and studies, run and gone on with. Imports no torch."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glognn.data.catalog import DATASETS
from glognn.data.fetch import fetch, mirror_dir
from glognn.data.sources import warn_once
from glognn.errors import DataWarning, InputError, MissingFileError
from glognn.experiments.comparison import JUDGED, Comparison, compare
from glognn.experiments.graphs import Graphs
from glognn.experiments.jobs import run_jobs
from glognn.experiments.plan import DOES_NOT_FIT, Cells, Job, by_cell, make_plan, parse_seeds
from glognn.experiments.progress import Progress, Work
from glognn.experiments.shared_runs import shared_runs
from glognn.experiments.studies import (
    ABLATIONS,
    ALL,
    DRAWN,
    EXAMINATIONS,
    QUICK,
    TABLES,
    ablation_plan,
    choose_studies,
    examine,
    matrices,
)
from glognn.experiments.workers import worker_count

if TYPE_CHECKING:
    import torch

    from glognn.experiments.folder import Report

    Matrices = tuple[torch.Tensor, torch.Tensor, torch.Tensor]

EFFICIENCY: dict[str, Any] = {"epochs": 300, "early_stopping": "none"}
EFFICIENCY_SEEDS = [0, 1, 2]
FAILED = "failed"


@dataclass(frozen=True)
class Reproduction:
    """What a study came to, as far as it is done.

    Attributes:
        study: Its name.
        folder: Where its tables and pictures go, see :func:`~glognn.report.reproduction.render`.
        datasets: What was worked on.
        models: What was compared; in an ablation the variants of each model.
        settings: Whose settings the runs have.
        cells: The runs by dataset and model; records lie in their folders.
        problems: Why cells are not complete, where that is known.
        examined: In studies of coefficients what was measured, by model and dataset, for each run.
        matrices: In the study of the grouping effect Z*, H and classes of the graphs drawn, by model and dataset.
    """

    study: str
    folder: Path
    datasets: list[str]
    models: list[str]
    settings: str
    cells: Cells
    problems: dict[tuple[str, str], str]
    examined: dict[str, dict[str, list[dict[str, Any]]]] = field(default_factory=dict)
    matrices: dict[str, dict[str, Matrices]] = field(default_factory=dict, repr=False)

    @property
    def failures(self) -> dict[tuple[str, str], str]:
        """Cells with runs that failed, and why."""
        return {key: text for key, text in self.problems.items() if text.startswith(FAILED)}

    @property
    def origins(self) -> dict[tuple[str, str], str]:
        """Where the settings of each cell are from."""
        return {key: jobs[0].origin for key, jobs in self.cells.items() if jobs}

    def reports(self) -> dict[tuple[str, str], dict[tuple[int, int], Report]]:
        """The reports of finished runs, by dataset and model, then by seed and split; those of a cell on one graph."""
        from glognn.experiments.reports import read_report

        found = {}
        for key, jobs in self.cells.items():
            done = [job for job in jobs if job.done]
            found[key] = {(job.seed, job.split): read_report(job.folder) for job in done}
            graphs = {report["data"]["fingerprint"]: job for job, report in zip(done, found[key].values(), strict=True)}
            if len(graphs) > 1:
                told = ", ".join(f"'{job.folder}' with the fingerprint {each}" for each, job in graphs.items())
                raise InputError(
                    f"The runs of {key[1]} on {key[0]} must be of one graph. Got {told} instead: move those of the "
                    "wrong graph away, and the same command does them again."
                )
        return found

    def comparisons(self) -> list[Comparison]:
        """The table of the study, judged at the best validation epoch, and at the last one."""
        wanted = {key: max(len(jobs), 1) for key, jobs in self.cells.items()}
        facts: dict[str, Any] = {"wanted": wanted, "problems": self.problems, "origins": self.origins}
        reports = self.reports()
        return [compare(reports, self.datasets, self.models, judged=judged, **facts) for judged in JUDGED]


def reproduce(
    study: str,
    models: str | Sequence[str] | None = None,
    datasets: str | Sequence[str] | None = None,
    *,
    splits: str | None = None,
    seeds: str | Sequence[int] | None = None,
    settings: str | Path = "published",
    workers: int | None = None,
    device: str = "cpu",
    together: bool = True,
    quick: bool = False,
    render_only: bool = False,
    out: str | Path = "runs/reproduce",
    storage: str | None = None,
    data_mirror: str | Path | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Do a study of the paper again: run what is missing, skip what is done.

    The same as ``glognn reproduce``, which also writes tables and pictures (:func:`~glognn.report.reproduction.render`)
    and takes ``all`` for every study in turn. With several workers, which are processes of their own, a script needs
    ``if __name__ == "__main__":`` around the call.

    Args:
        study: ``table1``, ``table2``, ``efficiency``, ``ablation``, ``grouping`` or ``global-homophily``.
        models: Models or variants; by default all that the study compares.
        datasets: By default all of the study.
        splits: ``all``, ``3``, ``0,2,5`` or ``0-4``; by default all of a table and the first of other studies.
        seeds: ``0``, ``0,3`` or ``0-2``, or numbers; by default the one of the settings.
        settings: ``published``, ``tuned``, ``equal``, ``default`` or a folder of studies, see
            :func:`~glognn.experiments.plan.make_plan`.
        workers: Processes; by default one for each core, with ``device="cuda"`` 1.
        device: ``cpu`` or ``cuda``.
        together: Train the splits and seeds of a model as one batch, or each by itself.
        quick: Three splits of a few datasets, five models, 200 epochs.
        render_only: Run nothing; what the runs that are there came to.
        out: Folder of all runs and tables.
        storage: The URL of a PostgreSQL by which machines share runs; each comes to have all of them in its ``out``.
        data_mirror: Folder of published files.
        progress: Is told how the work goes on.
    """
    if study == ALL:
        raise InputError(f"reproduce does one study at a time. Got {study!r} instead.")
    [(_, rows, columns)] = choose_studies(study, models, datasets, quick=quick)
    if device not in ("cpu", "cuda"):
        raise InputError(f"The device must be cpu or cuda. Got {device!r} instead.")
    progress, root, mirror = (
        progress or Progress(),
        Path(out),
        mirror_dir(None if data_mirror is None else Path(data_mirror)),
    )
    given: dict[str, Any] = {"device": device, "threads": 0 if device == "cuda" else 1}
    given |= {"epochs": QUICK["epochs"]} if quick else {}
    options: dict[str, Any] = {
        "settings": str(settings),
        "splits": splits or (QUICK["splits"] if quick else "all" if study in (*TABLES, "ablation") else "0"),
        "seeds": None if seeds is None else parse_seeds(seeds),
        "given": given,
    }
    undefined: dict[tuple[str, str], str] = {}
    count = worker_count(workers, device)
    if study == "efficiency" and storage:
        raise InputError(
            "The times of 'efficiency' are compared, so all its runs are of one machine. Leave out --storage."
        )
    if study == "efficiency":  # equal epochs, several seeds, one run at a time, so that times can be compared
        options["given"] = given | EFFICIENCY
        options["splits"] = options["splits"] if options["splits"].isdecimal() else "0"
        options["seeds"] = options["seeds"] or EFFICIENCY_SEEDS
        cells = by_cell(make_plan(root / "efficiency-runs", columns, rows, **options))
        count, together = 1, False
    elif study == "ablation":
        cells, undefined = ablation_plan(root, columns, rows, **options)
        rows = [f"{model}{suffix}" for model in rows for suffix in ABLATIONS]
    else:
        cells = by_cell(make_plan(root, columns, rows, **options))
    if render_only and storage:
        shared_runs(storage, root).bring(job for jobs in cells.values() for job in jobs)
    problems = {} if render_only else _run_cells(cells, root, mirror, count, together, storage, progress)
    done = Reproduction(
        study, root / (f"{study}-quick" if quick else study), columns, rows, str(settings), cells, problems | undefined
    )
    if study in EXAMINATIONS:
        _examine(done, Graphs(mirror), progress)
    return done


def _fetch_all(datasets: Iterable[str], mirror: Path | None, progress: Progress) -> dict[str, str]:
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
            progress.on_left_out(name, str(error))
            continue
        try:
            for file in entry.splits:
                fetch(file, mirror)
        except MissingFileError as error:
            if not entry.splits_optional:
                raise
            warnings.warn(f"{name}: random splits stand in for the published ones. {error}", DataWarning, stacklevel=2)
    return problems


def _run_cells(
    cells: Cells,
    root: Path,
    mirror: Path | None,
    workers: int,
    together: bool,
    storage: str | None,
    progress: Progress,
) -> dict[tuple[str, str], str]:
    """Do the runs of all cells; why cells are not complete."""
    missing = _fetch_all(dict.fromkeys(dataset for dataset, _ in cells), mirror, progress)
    problems = {key: missing[key[0]] for key in cells if key[0] in missing}
    jobs = list({job.folder: job for key, found in cells.items() if key not in problems for job in found}.values())
    progress.on_begin(Work("runs", len(jobs), sum(job.done for job in jobs), workers, root))
    for outcome in run_jobs(jobs, workers=workers, mirror=mirror, together=together, storage=storage, root=root):
        progress.on_run_end(outcome)
        if outcome.error:
            key = (outcome.job.dataset, outcome.job.label)
            problems[key] = f"{FAILED}: {outcome.error}" if outcome.fits else DOES_NOT_FIT
    return problems


def _examine(done: Reproduction, graphs: Graphs, progress: Progress) -> None:
    """Look at the coefficients of trained models."""
    for (dataset, model), jobs in done.cells.items():
        ready: list[Job] = [job for job in jobs if job.done]
        for job in ready:
            progress.on_examine(job)
            result = examine(job, graphs, done.study) | {"split": job.split}
            done.examined.setdefault(model, {}).setdefault(dataset, []).append(result)
        if ready and done.study == "grouping" and dataset in DRAWN:
            done.matrices.setdefault(model, {})[dataset] = matrices(ready[0], graphs)
