"""The processes that train one model, and what they say to each other.

They are started by ``torchrun`` and talk through ``torch.distributed``: gloo between CPUs, nccl between GPUs. One
process alone is a group of one, which sends nothing.
"""

from __future__ import annotations

import atexit
import os
import socket
import threading
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.rendezvous import rendezvous

from glognn.errors import TrainingError

TIMEOUT = 600.0
"""Seconds after which a rank that does not answer is given up."""
_ASKING = 0.2
"""Share of these seconds in which those that wait for it find out which one it is."""
_CLOSED = 1.0
"""The same where one has ended, which all others notice at once."""
_BEATING = 0.1
"""The same between two signs of life, which a rank gives while the others have nothing to do but wait for it."""
_LOOKING = 0.01
"""Seconds between two looks at whether such a wait has ended."""


class RankError(TrainingError):
    """A rank has died or hangs; the others cannot go on."""


class Ranks:
    """The processes of one training, each with a part of the nodes.

    ``seconds`` counts the time spent in waiting for others and in sending, ``sent`` the bytes that left this rank;
    ``restarted`` says, on rank 0, whether ``torchrun`` has started the ranks again after one of them failed.

    Args:
        rank: Which of them this process is, from 0.
        size: How many there are.
        store: Where they meet, of ``torch.distributed``; one process alone needs none.
        timeout: Seconds after which a rank that does not answer is given up.
    """

    def __init__(self, rank: int = 0, size: int = 1, store: Any = None, *, timeout: float = TIMEOUT) -> None:
        self.rank, self.size, self.timeout = rank, size, timeout
        self.seconds, self.sent = 0.0, 0
        self.restarted = False
        self._told, self._met = 0, 0
        self._store = store
        if store is None:
            return
        store.set(f"who/{rank}", f"process {os.getpid()} on {socket.gethostname()}")
        store.set(f"beat/{rank}", "0")
        cuda = torch.cuda.is_available()
        if cuda:
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
        with self._waiting():
            dist.init_process_group(
                "cpu:gloo,cuda:nccl" if cuda else "gloo",
                store=store,
                rank=rank,
                world_size=size,
                timeout=timedelta(seconds=(1 - _ASKING) * timeout),
            )
        self.seconds = 0.0  # the start is no exchange
        self._left = threading.Event()
        self._beats = threading.Thread(target=self._beat, daemon=True)
        self._beats.start()
        atexit.register(self._stop_beating)

    @classmethod
    def from_environment(cls, timeout: float = TIMEOUT) -> Ranks:
        """The group that ``torchrun`` has started this process in; one of its own where there is none."""
        if "RANK" not in os.environ:
            return cls(timeout=timeout)
        store, rank, size = next(rendezvous("env://"))
        store.set_timeout(timedelta(seconds=timeout))
        counted = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
        again = (store.add("starts", 1) > 1 if rank == 0 else False) or counted > 0
        start = dist.PrefixStore(_start(store, rank, size, timeout), store)  # type: ignore[attr-defined]
        ranks = cls(rank, size, start, timeout=timeout)
        ranks.restarted = again
        return ranks

    @property
    def leads(self) -> bool:
        """Whether this is the rank that writes files and talks to the user."""
        return self.rank == 0

    @property
    def local_size(self) -> int:
        """How many ranks share this machine."""
        return int(os.environ.get("LOCAL_WORLD_SIZE", self.size))

    def close(self) -> None:
        """Leave the group."""
        if self._store is not None:
            self._stop_beating()
            atexit.unregister(self._stop_beating)
            dist.destroy_process_group()
            self._store = None

    def _beat(self) -> None:
        count = 0
        with suppress(RuntimeError, OSError):  # the store may be gone with the rank that held it
            while not self._left.wait(_BEATING * self.timeout):
                count += 1
                self._store.set(f"beat/{self.rank}", str(count))

    def _stop_beating(self) -> None:
        self._left.set()
        self._beats.join()

    def sum(self, tensor: Tensor) -> Tensor:
        """The sum of a tensor over ranks, in its place."""
        return self._reduce(tensor, dist.ReduceOp.SUM)

    def maximum(self, tensor: Tensor) -> Tensor:
        """The largest over ranks of each number, in its place."""
        return self._reduce(tensor, dist.ReduceOp.MAX)

    def _reduce(self, tensor: Tensor, how: Any) -> Tensor:
        if self.size > 1:
            with self._waiting():
                dist.all_reduce(tensor, how)
            self.sent += 2 * tensor.nbytes * (self.size - 1) // self.size
        return tensor

    def exchange(self, rows: Tensor, leaving: Sequence[int], arriving: Sequence[int]) -> Arriving:
        """Begin to send ``leaving[p]`` of the rows to each rank p and to receive ``arriving[p]`` from it, in order."""
        received = rows.new_empty(sum(arriving), *rows.shape[1:])
        if self.size == 1:
            return Arriving(self, received.copy_(rows), None)
        self.sent += rows.nbytes
        with self._waiting():
            work = dist.all_to_all_single(received, rows.contiguous(), list(arriving), list(leaving), async_op=True)
        return Arriving(self, received, work)

    def gather(self, value: Any) -> list[Any]:
        """What every rank has, in their order; small things."""
        if self.size == 1:
            return [value]
        found: list[Any] = [None] * self.size
        with self._waiting():
            dist.all_gather_object(found, value)
        return found

    def from_leader(self, value: Any) -> Any:
        """What rank 0 has; small things."""
        if self.size == 1:
            return value
        found = [value]
        with self._waiting():
            dist.broadcast_object_list(found, src=0)
        return found[0]

    def to_leader(self, rows: Tensor, counts: Sequence[int]) -> Iterator[Tensor]:
        """For rank 0, the rows of every rank, one after the other; for the others nothing. All must go through it."""
        if self.leads:
            yield rows
            for rank in range(1, self.size):
                theirs = rows.new_empty(counts[rank], *rows.shape[1:])
                with self._waiting():
                    dist.recv(theirs, src=rank)
                yield theirs
        else:
            with self._waiting():
                dist.send(rows.contiguous(), dst=0)
            self.sent += rows.nbytes

    def meet(self) -> None:
        """Go on when every rank has come here, however long another one may take, as long as it lives."""
        self._met += 1
        if self.size > 1:
            self._store.set(f"met/{self._met}/{self.rank}", "")
            self._wait_for({rank: f"met/{self._met}/{rank}" for rank in range(self.size)})

    def tell(self, value: Any) -> None:
        """From rank 0 to ranks that :meth:`listen`, which may wait for it as long as it takes."""
        self._told += 1
        if self.size > 1:
            self._store.set(f"told/{self._told}", "")
            self.from_leader(value)

    def listen(self) -> Any:
        """What rank 0 tells next."""
        self._told += 1
        self._wait_for({0: f"told/{self._told}"})
        return self.from_leader(None)

    def _wait_for(self, keys: Mapping[int, str]) -> None:
        """Until ranks have set their keys; those that give no sign of life are given up."""
        beats: dict[int, tuple[bytes, float]] = {}
        looked = time.monotonic()
        try:
            while not self._store.check(list(keys.values())):
                time.sleep(_LOOKING)
                if (now := time.monotonic()) < looked + _BEATING * self.timeout:
                    continue
                looked = now
                for rank in (rank for rank, key in keys.items() if not self._store.check([key])):
                    beat = self._store.get(f"beat/{rank}")
                    known, since = beats.get(rank, (b"", now))
                    beats[rank] = (beat, since if beat == known else now)
                if silent := [rank for rank, (_, since) in beats.items() if now - since > (1 - _ASKING) * self.timeout]:
                    raise self._silent(silent)
        except dist.DistError as error:
            raise self._missing(error) from None

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        except RuntimeError as error:
            raise self._missing(error) from None
        finally:
            self.seconds += time.perf_counter() - began

    def _missing(self, error: RuntimeError) -> RankError:
        """Which ranks do not answer: those that do not come here too, to say that they wait for others."""
        reason = " ".join(str(error).split())
        store, absent = self._store, set(range(self.size)) - {self.rank}
        if store is None:
            return RankError(f"Ranks cannot reach each other: {reason:.200}.")
        with suppress(RuntimeError, OSError):  # the store may be gone with the rank that held it
            store.set(f"waits/{self.rank}", "")
            late = "timed out" in reason.lower() or "timeout" in reason.lower()
            until = time.monotonic() + (_ASKING * self.timeout if late else _CLOSED)
            while absent and time.monotonic() < until:
                absent = {rank for rank in absent if not store.check([f"waits/{rank}"])}
                time.sleep(0.05)
        return self._silent(absent) if absent else RankError(f"Ranks cannot reach each other: {reason:.200}.")

    def _silent(self, absent: Collection[int]) -> RankError:
        names: dict[int, str] = {}
        with suppress(RuntimeError, OSError):
            names = {rank: self._store.get(f"who/{rank}").decode() for rank in absent}
        said = ", ".join(f"rank {rank} of {self.size} ({names.get(rank, 'unknown')})" for rank in sorted(absent))
        return RankError(f"No answer within {self.timeout:g} s (--timeout) from {said}: it has ended, or hangs.")


def _start(store: Any, rank: int, size: int, timeout: float) -> str:
    """A name that the ranks of one start have in common.

    The store outlasts a restart, with old addresses, and hosts may count their restarts differently. So every rank asks
    with a word of its own, which only rank 0 of the same start answers.
    """
    word = uuid.uuid4().hex
    if rank:
        store.set(f"asks/{rank}", word)
        try:
            store.wait([f"answer/{word}"])
        except dist.DistStoreError:
            raise _not_started([0], size, timeout) from None
        name = str(store.get(f"answer/{word}").decode())
        store.set(f"came/{name}/{rank}", "")
        return name
    absent, until = set(range(1, size)), time.monotonic() + timeout
    while absent and time.monotonic() < until:
        for other in [each for each in absent if store.check([f"asks/{each}"])]:
            store.set(f"answer/{store.get(f'asks/{other}').decode()}", word)
            if store.check([f"came/{word}/{other}"]):
                absent.remove(other)
        time.sleep(0.02)
    if absent:
        raise _not_started(sorted(absent), size, timeout)
    return word


def _not_started(absent: Sequence[int], size: int, timeout: float) -> RankError:
    missing = ", ".join(f"rank {other} of {size}" for other in absent)
    return RankError(f"No answer within {timeout:g} s (--timeout) from {missing}: it has not started.")


class Arriving:
    """Rows that are under way."""

    def __init__(self, ranks: Ranks, rows: Tensor, work: Any) -> None:
        self._ranks, self._rows, self._work = ranks, rows, work

    def wait(self) -> Tensor:
        """The rows, once they are here."""
        if self._work is not None:
            with self._ranks._waiting():
                self._work.wait()
        return self._rows


_active: list[Ranks] = []


@contextmanager
def together(ranks: Ranks) -> Iterator[None]:
    """Within this context models compute on all ranks' nodes: what is summed over nodes is summed over ranks too."""
    _active.append(ranks)
    try:
        yield
    finally:
        _active.pop()


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, ranks: Ranks) -> Tensor:
        ctx.ranks = ranks
        return ranks.sum(tensor.clone())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return ctx.ranks.sum(gradients[0].clone()), None


def over_ranks(total: Tensor) -> Tensor:
    """A sum over nodes, completed over ranks, differentiable; itself where one process has all nodes."""
    if not _active or _active[-1].size == 1:
        return total
    whole: Tensor = _Sum.apply(total, _active[-1])  # type: ignore[no-untyped-call]
    return whole


def largest_over_ranks(value: float) -> float:
    """The largest of a number over ranks; itself where one process has all nodes."""
    if not _active or _active[-1].size == 1:
        return value
    return float(_active[-1].maximum(torch.tensor([value], dtype=torch.float64)))
