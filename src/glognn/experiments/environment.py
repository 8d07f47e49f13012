"""On what a result was made: versions and machine."""

from __future__ import annotations

import os
import platform
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

import glognn

_PACKAGES = ("torch", "torch_geometric", "numpy", "scipy", "scikit-learn", "safetensors")


def versions() -> dict[str, str]:
    """Versions of Python, this package and what it computes with."""
    return dict(_versions())


@cache  # each takes milliseconds to look up, and a run has many records
def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "glognn": glognn.__version__}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "unknown"
    found["torch"] = torch.__version__
    return found


def machine(device: torch.device, threads: int = 0) -> dict[str, Any]:
    """Processor, cores, threads used (torch's number when 0 is given), memory and, when one is used, the GPU."""
    pages = os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    found: dict[str, Any] = {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": threads or torch.get_num_threads(),
        "memory_gib": round(pages * os.sysconf("SC_PAGE_SIZE") / 2**30, 1) if pages else None,
        "device": str(device),
    }
    if device.type == "cuda":
        found["gpu"] = torch.cuda.get_device_name(device)
    return found


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def peak_memory_mib(device: torch.device) -> dict[str, float]:
    """The most memory the process has held so far, and the most this run has held on the GPU."""
    found: dict[str, float] = {}
    try:
        import resource
    except ImportError:  # not on Windows
        pass
    else:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found["process"] = round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)
    if device.type == "cuda":
        found["gpu"] = round(torch.cuda.max_memory_allocated(device) / 2**20, 1)
    return found
