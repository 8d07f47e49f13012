"""Doing the runs of a plan, one after another or by several workers, so that a kill at any moment loses nothing.

A worker holds the lock of a run's folder while it works on it, and goes on from the run's checkpoint. What is done is
never done again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from glognn.errors import GloGNNError, MemoryExhaustedError, TooLargeError, WriteError
from glognn.experiments.batches import Batch, make_batches
from glognn.experiments.graphs import Graphs
from glognn.experiments.plan import Job
from glognn.experiments.workers import do_tasks
from glognn.storage import locked


@dataclass(frozen=True)
class RunOutcome:
    """How one run ended: ``error`` is empty when it is done. A run of a batch took its share of the seconds.

    ``fits`` is false when the error is that memory is too small for it.
    """

    job: Job
    seconds: float
    error: str = ""
    fits: bool = True


@dataclass(frozen=True)
class _Task:
    """A batch, its runs whose end is to be told: those that were not done before, and those done beside them."""

    batch: Batch
    wanted: tuple[Job, ...]
    done: tuple[Job, ...]


def run_jobs(
    jobs: list[Job], *, workers: int = 1, mirror: Path | None = None, together: bool = True
) -> Iterator[RunOutcome]:
    """Do what is not done yet and yield each run as it ends; one that fails does not keep the others from running.

    Args:
        jobs: Runs of a plan.
        workers: Processes.
        mirror: Folder of published files.
        together: Train runs that differ in seed and split alone as one batch; else one after another.
    """
    batches = make_batches(jobs, workers, together=together)
    done: dict[Path, list[Job]] = {}
    for job in jobs:
        if job.done:
            done.setdefault(job.folder.parent.parent, []).append(job)
    tasks = [
        _Task(batch, tuple(job for job in batch.jobs if not job.done), tuple(done.get(batch.group, ())))
        for batch in batches
    ]
    yield from do_tasks(partial(_run_batches, mirror=mirror), tasks, workers)


def _run_batches(tasks: Iterator[_Task], mirror: Path | None) -> Iterator[RunOutcome]:
    graphs = Graphs(mirror)
    for task in tasks:
        yield from _run(task, graphs)


def _run(task: _Task, graphs: Graphs) -> list[RunOutcome]:
    """Do a batch; how each of its runs ended."""
    from glognn.experiments.run import finished_report, run_batch
    from glognn.training.preflight import ran_out

    started = time.perf_counter()
    jobs, wanted = task.batch.jobs, task.wanted
    errors: dict[Path, str] = {}
    fits = True
    try:
        loaded = graphs.of(jobs[0].config)
        for job in task.done:  # which are averaged with what is to be done
            finished_report(job, loaded)
        with ExitStack() as stack:
            for folder in sorted(job.folder for job in jobs):
                stack.enter_context(locked(folder))
            if (left := task.batch.pending()) is not None:
                errors = run_batch(left, loaded)
    except WriteError:  # a full disk is no fault of the run, and ends all
        raise
    except (GloGNNError, MemoryError, RuntimeError) as error:
        fits = not (isinstance(error, TooLargeError | MemoryExhaustedError) or ran_out(error))
        if fits and not isinstance(error, GloGNNError):
            raise
        text = " ".join(str(error).split()) or "out of memory"
        errors = {job.folder: text for job in wanted if not job.done}
    seconds = (time.perf_counter() - started) / max(len(wanted), 1)
    return [RunOutcome(job, seconds, errors.get(job.folder, ""), fits or job.done) for job in wanted]
