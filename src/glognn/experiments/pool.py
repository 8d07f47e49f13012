"""Doing the runs of a plan, one after another or in several processes, so that a kill at any moment loses nothing.

A worker holds the lock of a run's folder while it works on it, goes on from the run's checkpoint, and ends itself when
its parent is gone. What is done is never done again.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from glognn.errors import DataWarning, GloGNNError, MemoryExhaustedError, TooLargeError, TrainingError
from glognn.experiments.batches import Batch, make_batches
from glognn.experiments.config import RunConfig
from glognn.experiments.plan import Job
from glognn.storage import locked

if TYPE_CHECKING:
    from glognn.experiments.run import LoadedGraph

PARENT_CHECK_SECONDS = 1.0


@dataclass(frozen=True)
class Outcome:
    """How one run ended: ``error`` is empty when it is done. A run of a batch took its share of the seconds.

    ``fits`` is false when the error is that memory is too small for it.
    """

    job: Job
    seconds: float
    error: str = ""
    fits: bool = True


def run_jobs(
    jobs: list[Job], *, workers: int = 1, mirror: Path | None = None, together: bool = True
) -> Iterator[Outcome]:
    """Do what is not done yet and yield each run as it ends; one that fails does not keep the others from running.

    Args:
        jobs: Runs of a plan.
        workers: Processes.
        mirror: Folder of published files.
        together: Train runs that differ in seed and split alone as one batch; else one after another.
    """
    tasks = make_batches(jobs, workers, together=together)
    if workers == 1:
        for task in tasks:
            yield from _run(task, mirror)
        return
    context = multiprocessing.get_context("spawn")
    first = (os.getpid(), *memory_share(workers))
    with ProcessPoolExecutor(workers, mp_context=context, initializer=begin_work, initargs=first) as pool:
        pending: set[Future[list[Outcome]]] = set()
        remaining = iter(tasks)
        try:
            while True:
                for task in remaining:
                    pending.add(pool.submit(_run, task, mirror))
                    if len(pending) >= 2 * workers:
                        break
                if not pending:
                    return
                ended, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in ended:
                    yield from future.result()
        except BrokenProcessPool:
            raise TrainingError(
                "A worker was killed from outside, as systems do when memory runs out: use fewer --workers. What is "
                "done is kept, and the same command goes on."
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def work_for_parent(
    parent: int,
    share: tuple[float, int],
    folders: list[Path],
    trials: int,
    storage: str | None,
    mirror: Path | None,
    together: int,
) -> None:
    """A worker process of searches: :func:`~glognn.experiments.search.work` on each, until the parent is gone.

    ``share`` is its part of the memory. A study that cannot go on is left, with a line that says why.
    """
    from glognn.experiments.search import work

    begin_work(parent, *share)
    failed = False
    for folder in folders:
        try:
            work(folder, trials, storage=storage, mirror=mirror, together=together)
        except (GloGNNError, OSError, MemoryError) as error:
            sys.stderr.write(f"error: {folder}: {' '.join(str(error).split()) or 'out of memory'}\n")
            failed = True
    sys.exit(failed)


def memory_share(workers: int) -> tuple[float, int]:
    """What each of some workers may take of the memory that is free now, and how many they are."""
    from glognn.training.preflight import free_memory

    return (free_memory() or math.inf) / workers, workers


def begin_work(parent: int, size: float, workers: int) -> None:
    """Start a worker: it ends with its parent, and takes its share of memory."""
    from glognn.training.preflight import take_share

    watch_parent(parent)
    take_share(size, workers)


def watch_parent(parent: int) -> None:
    """End with the parent; and leave to it what is to be said about datasets."""
    warnings.simplefilter("ignore", DataWarning)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_CHECK_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


_graph: dict[tuple[object, ...], LoadedGraph] = {}
"""The graph of the last run: the runs of a plan come dataset by dataset."""


def _load(config: RunConfig, mirror: Path | None) -> LoadedGraph:
    from glognn.experiments.run import load_graph

    key = (config.dataset, config.graph, config.training.dtype)
    if key not in _graph:
        _graph.clear()
        _graph[key] = load_graph(config, mirror)
    return _graph[key]


def _run(batch: Batch, mirror: Path | None) -> list[Outcome]:
    """Do a batch; how each of its runs that were not done before ended."""
    from glognn.experiments.run import run_batch
    from glognn.training.preflight import ran_out

    started = time.perf_counter()
    wanted = [job for job in batch.jobs if not job.done]
    errors: dict[Path, str] = {}
    fits = True
    try:
        loaded = _load(batch.jobs[0].config, mirror)
        with ExitStack() as stack:
            for folder in sorted(job.folder for job in batch.jobs):
                stack.enter_context(locked(folder))
            if (left := batch.pending()) is not None:
                errors = run_batch(left, loaded)
    except (GloGNNError, MemoryError, RuntimeError) as error:
        fits = not (isinstance(error, TooLargeError | MemoryExhaustedError) or ran_out(error))
        if fits and not isinstance(error, GloGNNError):
            raise
        text = " ".join(str(error).split()) or "out of memory"
        errors = {job.folder: text for job in wanted if not job.done}
    seconds = (time.perf_counter() - started) / max(len(wanted), 1)
    return [Outcome(job, seconds, errors.get(job.folder, ""), fits or job.done) for job in wanted]
