"""Worker processes, supervised: searches and reproductions hand them tasks and hear what comes of these.

A worker that dies, as when the system runs out of memory, leaves its task to the others, after all those not yet begun.
Workers have equal shares of the memory that is free at the start, and end with the process that started them.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from glognn.errors import DataWarning, TrainingError

PARENT_CHECK_SECONDS = 1.0
SECONDS_TO_END = 5.0
"""For a worker that is told to end, before it is made to."""

_Task = TypeVar("_Task")
_Message = TypeVar("_Message")


def worker_count(workers: int | None, device: str) -> int:
    """As many as asked for; else one for each core, or 1 where they would share a GPU."""
    return workers or (1 if device == "cuda" else max(1, os.cpu_count() or 1))


def do_tasks(
    work: Callable[[Iterator[_Task]], Iterator[_Message]], tasks: Sequence[_Task], workers: int
) -> Iterator[_Message]:
    """Do tasks, and yield what the work tells of them as it comes.

    Args:
        work: Is given tasks until there are no more, and yields messages. Every worker calls it once, so that what it
            keeps from task to task, such as a graph, is kept in each process. It must be of a module's top level.
        tasks: What is to be done; also what each worker may have to do again after the death of another.
        workers: Processes, at most one for each task; 1 is this process itself.
    """
    size = min(workers, len(tasks))
    if size <= 1:
        yield from work(iter(tasks))
        return
    context = multiprocessing.get_context("spawn")
    share = _memory_share(size)
    waiting, idle = deque(tasks), set[Connection]()
    under_way: dict[Connection, _Task] = {}
    crew: dict[Connection, Any] = {}
    try:
        for _ in range(size):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, os.getpid(), share, work), daemon=True)
            with _uninterrupted():
                process.start()
            theirs.close()
            crew[ours] = process
        alive = set(crew)
        while waiting or under_way:
            if not alive:
                raise TrainingError(
                    "A worker was killed from outside, as systems do when memory runs out: use fewer --workers. What "
                    "is done is kept, and the same command goes on."
                )
            for connection in alive.intersection(wait(list(alive))):
                try:
                    kind, content = connection.recv()
                except (EOFError, OSError):
                    alive.remove(connection)
                    idle.discard(connection)
                    if connection in under_way:
                        waiting.append(under_way.pop(connection))
                    continue
                if kind == "message":
                    yield content
                elif kind == "error":
                    raise content
                else:
                    under_way.pop(connection, None)
                    idle.add(connection)
            while waiting and idle:
                connection = idle.pop()
                under_way[connection] = waiting.popleft()
                with suppress(OSError):  # one that has just died is noticed above
                    connection.send(under_way[connection])
    finally:
        for process in crew.values():
            process.terminate()
        for process in crew.values():
            process.join(SECONDS_TO_END)
            process.kill()
            process.join()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Start a process within that a terminal does not interrupt, not even before it can say so itself."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it would lift the mask when it is started with the first process
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(
    connection: Connection, parent: int, share: tuple[float, int], work: Callable[[Iterator[Any]], Iterator[Any]]
) -> None:
    """A worker process."""
    from glognn.training.preflight import take_share

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal interrupts all processes, and the parent ends its own
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that locks are let go
    watch_parent(parent)
    take_share(*share)
    try:
        for message in work(_received(connection)):
            connection.send(("message", message))
    except Exception as error:
        error.add_note(traceback.format_exc())
        connection.send(("error", error))


def _received(connection: Connection) -> Iterator[Any]:
    """Tasks as the parent hands them out: it is asked for the next one when the one before is done."""
    with suppress(EOFError, OSError):  # the parent is gone
        while True:
            connection.send(("ready", None))
            yield connection.recv()


def _memory_share(workers: int) -> tuple[float, int]:
    """What each of some workers may take of the memory that is free now, and how many they are."""
    from glognn.training.preflight import free_memory

    return (free_memory() or math.inf) / workers, workers


def watch_parent(parent: int) -> None:
    """End with the parent; and leave to it what is to be said about datasets."""
    warnings.simplefilter("ignore", DataWarning)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_CHECK_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
