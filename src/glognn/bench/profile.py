"""Where the time of an epoch goes, by operation."""

from __future__ import annotations

from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from glognn.bench.method import WARM_UP, Method

EPOCHS = 5
OPERATIONS = 12


def profile_method(method: Method, device: torch.device) -> list[dict[str, Any]]:
    """The operations that take most of the time themselves, calls they make not counted; and the rest as one.

    ``ms`` is for one epoch. On a GPU it is the time of its kernels, on a CPU that of the calls. The profiler slows
    small operations down, so that shares mean more than milliseconds.
    """
    method.seconds(1)
    gpu = device.type == "cuda"
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA] if gpu else [ProfilerActivity.CPU]
    with profile(activities=activities) as observed:
        method.seconds(EPOCHS)
    seen = WARM_UP + EPOCHS
    times: dict[str, tuple[float, int]] = {}
    for event in observed.key_averages():
        # A kernel's time is also that of the operation which started it: operations alone are counted.
        spent = event.self_device_time_total if gpu else event.self_cpu_time_total
        if spent > 0 and event.device_type.name == "CPU":
            times[event.key] = (spent / 1000 / seen, event.count)
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
