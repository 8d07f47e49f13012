"""Doing the runs of a plan, one after another or by several workers, so that a kill at any moment loses nothing.

A worker holds a run while it works on it, and goes on from the run's checkpoint. What is done is never done again.
Several commands may do one plan at a time (:mod:`~glognn.experiments.shared_runs`): each takes what nobody holds, then
waits for what others hold, and does what they leave.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from glognn.errors import GloGNNError, MemoryExhaustedError, TooLargeError, WriteError
from glognn.experiments.batches import Batch, make_batches
from glognn.experiments.graphs import Graphs
from glognn.experiments.plan import Job
from glognn.experiments.shared_runs import SharedRuns, shared_runs
from glognn.experiments.workers import do_tasks


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
    jobs: list[Job],
    *,
    workers: int = 1,
    mirror: Path | None = None,
    together: bool = True,
    storage: str | None = None,
    root: Path = Path(),
) -> Iterator[RunOutcome]:
    """Do what is not done yet and yield each run as it ends; one that fails does not keep the others from running.

    Args:
        jobs: Runs of a plan.
        workers: Processes.
        mirror: Folder of published files.
        together: Train runs that differ in seed and split alone as one batch; else one after another.
        storage: The URL of a PostgreSQL that commands share, each with a folder of its own.
        root: That folder.
    """
    runs = shared_runs(storage, root)
    runs.send(jobs)
    wanted = [job for job in jobs if not job.done]
    runs.bring(wanted)
    yield from (RunOutcome(job, 0.0) for job in wanted if job.done)
    batches = make_batches(jobs, workers, together=together)
    done: dict[Path, list[Job]] = {}
    for job in jobs:
        if job.done:
            done.setdefault(job.folder.parent.parent, []).append(job)
    tasks = [
        _Task(batch, tuple(job for job in batch.jobs if not job.done), tuple(done.get(batch.group, ())))
        for batch in batches
    ]
    for wait in (False, True):
        work, held = partial(_run_batches, mirror=mirror, storage=storage, root=root, wait=wait), []
        for ended in do_tasks(work, tasks, workers):
            if isinstance(ended, _Task):
                held.append(ended)
            else:
                yield ended
        tasks = held


def _run_batches(
    tasks: Iterator[_Task], mirror: Path | None, storage: str | None, root: Path, wait: bool
) -> Iterator[RunOutcome | _Task]:
    """The work of one process: how runs ended, and tasks that others hold."""
    graphs, runs = Graphs(mirror), shared_runs(storage, root)
    for task in tasks:
        ended = _run(task, graphs, runs, wait=wait)
        yield from [task] if ended is None else ended


def _run(task: _Task, graphs: Graphs, runs: SharedRuns, *, wait: bool) -> list[RunOutcome] | None:
    """Do a batch; how each of its runs ended, or nothing where others hold some of them and are not waited for."""
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
        with runs.held(jobs, wait=wait) as free:
            if not free:
                return None
            runs.bring(jobs)
            if (left := task.batch.pending()) is not None:
                try:
                    errors = run_batch(left, loaded)
                finally:
                    runs.send(jobs)
    except WriteError:  # a full disk, or a lost database, is no fault of the run, and ends all
        raise
    except (GloGNNError, MemoryError, RuntimeError) as error:
        fits = not (isinstance(error, TooLargeError | MemoryExhaustedError) or ran_out(error))
        if fits and not isinstance(error, GloGNNError):
            raise
        text = " ".join(str(error).split()) or "out of memory"
        errors = {job.folder: text for job in wanted if not job.done}
    seconds = (time.perf_counter() - started) / max(len(wanted), 1)
    return [RunOutcome(job, seconds, errors.get(job.folder, ""), fits or job.done) for job in wanted]
