"""Groups of real processes for tests: forked from one that has loaded torch, so that a group starts in a moment."""

from __future__ import annotations

import multiprocessing
import pickle
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from glognn.distributed.ranks import Ranks

_CONTEXT = multiprocessing.get_context("forkserver")
_TESTS = [f"tests.distributed.test_{name}" for name in ("faults", "matrix", "training")]
_CONTEXT.set_forkserver_preload(
    ["glognn.experiments.run", "glognn.distributed.shards", *_TESTS, "tests.distributed.loaded"]
)
LONGEST = 120
"""Seconds after which a group is given up."""


class Group:
    """Processes that run one function, each with its rank."""

    def __init__(
        self, size: int, function: Callable[..., Any], *args: Any, folder: Path | None = None, timeout: float = 60
    ) -> None:
        place = Path(tempfile.mkdtemp(dir=folder))
        self.processes, self._results = [], []
        for rank in range(size):
            receiving, sending = _CONTEXT.Pipe(duplex=False)
            process = _CONTEXT.Process(
                target=_work, args=(rank, size, str(place / "store"), timeout, sending, function, args), daemon=True
            )
            process.start()
            sending.close()
            self.processes.append(process)
            self._results.append(receiving)

    def outcome(self, rank: int) -> Any:
        """What the function returned, or the exception it raised; ``None`` where the process was killed."""
        try:
            if not self._results[rank].poll(LONGEST):
                return TimeoutError(f"rank {rank}")
            return pickle.loads(self._results[rank].recv_bytes())
        except EOFError:
            return None

    def results(self) -> list[Any]:
        """What every rank returned."""
        found = [self.outcome(rank) for rank in range(len(self.processes))]
        for process in self.processes:
            process.join(LONGEST)
        for each in found:
            if isinstance(each, BaseException):
                raise each
        return found


def _work(rank: int, size: int, store: str, timeout: float, sending: Any, function: Any, args: Any) -> None:
    torch.set_num_threads(1)
    try:
        ranks = Ranks(rank, size, dist.FileStore(store, size), timeout=timeout)
        result = function(ranks, *args)
        ranks.close()
    except BaseException as error:
        error.add_note("".join(traceback.format_exception(error)))
        result = error
    sending.send_bytes(pickle.dumps(result))  # with the content of tensors, which outlasts the process


def on_ranks(size: int, function: Callable[..., Any], *args: Any, **how: Any) -> list[Any]:
    """What a function returns on every rank of a group."""
    return Group(size, function, *args, **how).results()
