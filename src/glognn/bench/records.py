"""A benchmark as a record: everything measured, and on what."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from glognn.bench.config import BenchConfig
from glognn.experiments.environment import machine, versions
from glognn.storage import write_json

SCHEMA_VERSION = 1
KIND = "bench"

Row = dict[str, Any]
Record = dict[str, Any]


def empty_row(dataset: str, method: str) -> Row:
    """One method on one dataset, nothing measured yet. Times are in milliseconds, memory is in MiB.

    Attributes of a finished row:
        problem: Why the method could not be timed on this graph; everything below is then ``None``.
        epochs: Timed epochs of a turn.
        epoch_ms: An epoch of a single run: median, lower and upper quartile, and every round.
        ratios: How many times longer an epoch of ``released``, ``linkx`` and ``gcn`` takes, round by round.
        split_epoch_ms, split_ratios: The same for an epoch of one of several splits in one go; ours alone.
        floor: Count, rates, milliseconds and the share of them in the measured ones; GloGNN alone.
        memory_mib: ``peak``, and ``added`` to what was held before the method was made.
        profile: Operations with their milliseconds and share of an epoch.
    """
    fields = ("problem", "settings", "precision", "inputs", "num_parameters", "epochs", "epoch_ms", "ratios")
    later = ("split_epoch_ms", "split_ratios", "floor", "memory_mib", "profile")
    return {"dataset": dataset, "method": method} | dict.fromkeys((*fields, *later))


def make_record(config: BenchConfig, device: torch.device) -> Record:
    """A record without rows yet, with where and by what it is made."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": KIND,
        "config": config.as_dict(),
        "datasets": {},
        "rows": [],
        "versions": versions(),
        "machine": machine(device, config.threads),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def write_record(path: Path, record: Record) -> None:
    write_json(path, record)
