"""Worker processes: what they tell, how they die, and that none is left behind."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from glognn.errors import TrainingError
from glognn.experiments.workers import do_tasks, worker_count

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are killed as on POSIX systems")


def squares(tasks: Iterator[int]) -> Iterator[tuple[int, int]]:
    yield from ((task, task**2) for task in tasks)


def who(tasks: Iterator[int]) -> Iterator[int]:
    for _ in tasks:
        yield os.getpid()
        time.sleep(0.01)


def dies(tasks: Iterator[int], folder: Path, often: int) -> Iterator[int]:
    """Task 0 kills the worker that takes it, as often as asked for."""
    for task in tasks:
        if task == 0 and len(list(folder.iterdir())) < often:
            (folder / str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield task


def fails(tasks: Iterator[int]) -> Iterator[int]:
    for task in tasks:
        yield task // 0


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("workers", [1, 2])
def test_everything_is_done_and_told(workers: int) -> None:
    assert sorted(do_tasks(squares, range(5), workers)) == [(k, k**2) for k in range(5)]
    assert list(do_tasks(squares, [], workers)) == []


def test_one_worker_is_this_process_and_more_are_not() -> None:
    assert set(do_tasks(who, range(3), 1)) == {os.getpid()}
    assert os.getpid() not in set(do_tasks(who, range(3), 2))
    assert (worker_count(3, "cuda"), worker_count(None, "cuda"), worker_count(None, "cpu")) == (3, 1, os.cpu_count())


def test_the_task_of_a_worker_that_dies_is_done_by_another(tmp_path: Path) -> None:
    told = list(do_tasks(partial(dies, folder=tmp_path, often=1), range(4), 2))
    assert sorted(told) == [0, 1, 2, 3]
    assert len(list(tmp_path.iterdir())) == 1


def test_a_task_that_kills_every_worker_comes_last_and_is_an_error(tmp_path: Path) -> None:
    told: list[int] = []
    with pytest.raises(TrainingError, match="killed from outside, as systems do when memory runs out: use fewer"):
        told.extend(do_tasks(partial(dies, folder=tmp_path, often=9), range(4), 2))
    assert sorted(told) == [1, 2, 3]
    assert len(list(tmp_path.iterdir())) == 2


def test_an_error_that_the_work_does_not_know_is_raised_with_its_place() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        list(do_tasks(fails, [1, 2], 2))
    assert "in fails" in caught.value.__notes__[0]


def test_workers_end_when_nobody_listens_any_more() -> None:
    messages = do_tasks(who, range(10_000), 2)
    found = {next(messages)}
    while len(found) < 2:
        found.add(next(messages))
    messages.close()  # type: ignore[attr-defined]
    assert not any(is_running(pid) for pid in found)


def test_a_terminal_s_interrupt_does_not_reach_workers_that_are_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parent ends them: a worker that is interrupted while it imports would write a traceback of its own."""
    start = BaseProcess.start

    def interrupted(process: BaseProcess) -> None:
        start(process)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGINT)

    monkeypatch.setattr(BaseProcess, "start", interrupted)
    assert sorted(do_tasks(squares, range(5), 2)) == [(k, k**2) for k in range(5)]
