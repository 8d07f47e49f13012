"""Where the time of an epoch goes: by operation on a CPU, by kernel on a GPU."""

from __future__ import annotations

from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from glognn.bench.method import WARM_UP, Method

EPOCHS = 5
OPERATIONS = 12
LONGEST = 70
"""Characters of a name."""


def _kernel(name: str) -> str:
    """A kernel by its name and, where its code is a template, what that is made with, as far as a table can show."""
    name = name.removeprefix("void ").replace("at::native::", "").replace("(anonymous namespace)::", "")
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def profile_method(method: Method, device: torch.device) -> list[dict[str, Any]]:
    """The operations or kernels that take most of the time themselves; and the rest as one.

    ``ms`` is for one epoch. On a CPU it is the time of calls, those they make not counted; the profiler slows small
    ones down, so that shares mean more than milliseconds. On a GPU it is that of kernels and copies: an epoch that is
    replayed as a whole is no operation of torch any more.
    """
    method.seconds(1)
    gpu = device.type == "cuda"
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA] if gpu else [ProfilerActivity.CPU]
    with profile(activities=activities) as observed:
        method.seconds(EPOCHS)
    seen = WARM_UP + EPOCHS
    times: dict[str, tuple[float, int]] = {}
    for event in observed.key_averages():
        spent = event.self_device_time_total if gpu else event.self_cpu_time_total
        if spent > 0 and event.device_type.name == ("CUDA" if gpu else "CPU") and "#" not in event.key:
            name = _kernel(event.key) if gpu else event.key
            before, count = times.get(name, (0.0, 0))
            times[name] = (before + spent / 1000 / seen, count + event.count)
    total = sum(spent for spent, _ in times.values())
    ranked = sorted(times.items(), key=lambda item: -item[1][0])
    rows = [
        {"operation": name, "ms": spent, "share": spent / total, "calls": calls / seen}
        for name, (spent, calls) in ranked[:OPERATIONS]
    ]
    rest = sum(spent for _, (spent, _) in ranked[OPERATIONS:])
    if rest > 0:
        calls = sum(number for _, (_, number) in ranked[OPERATIONS:]) / seen
        rows.append({"operation": "all others", "ms": rest, "share": rest / total, "calls": calls})
    return rows
