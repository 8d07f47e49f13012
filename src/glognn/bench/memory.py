"""The most memory a method holds, measured by itself."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import torch

from glognn.bench.method import Method, synchronize
from glognn.experiments.workers import watch_parent

EPOCHS = 2
STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")

_Result = TypeVar("_Result")


def alone(work: Callable[..., _Result], *arguments: Any) -> _Result:
    """Call a function in a new process, which holds nothing else and ends with this one."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=watch_parent, initargs=(os.getpid(),)) as pool:
        return pool.submit(work, *arguments).result()


def process_memory(build: Callable[[], Method]) -> dict[str, float] | None:
    """MiB of this process at the peak, and above what it held before the method was made; ``None`` where not known.

    The peak is the system's high-water mark of resident memory, set back before the method is made, so that reading or
    generating the graph does not count.
    """
    try:
        CLEAR.write_text("5", encoding="ascii")
        before = _status("VmRSS")
        build().seconds(EPOCHS)
        peak = _status("VmHWM")
    except OSError:
        return None
    return {"peak": round(peak, 1), "added": round(max(peak - before, 0.0), 1)}


def _status(name: str) -> float:
    lines = STATUS.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


def gpu_memory(build: Callable[[], Method], device: torch.device) -> dict[str, float]:
    """MiB allocated on the GPU at the peak, inputs included, and above what was allocated before."""
    torch.cuda.empty_cache()
    synchronize(device)
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    build().seconds(EPOCHS)
    synchronize(device)
    peak = torch.cuda.max_memory_allocated(device)
    torch.cuda.empty_cache()
    return {"peak": round(peak / 2**20, 1), "added": round((peak - before) / 2**20, 1)}
