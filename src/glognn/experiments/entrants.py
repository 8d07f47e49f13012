"""The members of a portfolio as they stand on one graph: their runs, their folders, what they said of the nodes."""

from __future__ import annotations

import csv
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from glognn.errors import InputError
from glognn.experiments.batches import can_go_on, go_on_in
from glognn.experiments.config import RunConfig, parse_splits
from glognn.experiments.layout import CURVE, MEMBERS, PROBABILITIES
from glognn.experiments.plan import Job
from glognn.experiments.portfolio import Member
from glognn.experiments.reports import Report, read_report
from glognn.graph.graph import Graph
from glognn.metrics import Floats, Integers
from glognn.records import inside
from glognn.storage import write_atomically

DONE_STATE, TRIED, FAILED, TOO_LARGE, NOT_REACHED = "done", "tried", "failed", "too large", "not reached"
"""What became of a member: trained on all splits, on some of them, or on none."""


@dataclass(frozen=True)
class Entrant:
    """A member with its complete configuration, its folder, and its runs by split below it."""

    member: Member
    config: RunConfig
    place: Path
    jobs: tuple[Job, ...]

    def at(self, place: Path) -> Entrant:
        """The same in another folder."""
        jobs = [replace(job, folder=place / job.folder.name) for job in self.jobs]
        return replace(self, place=place, jobs=tuple(jobs))

    @property
    def trained(self) -> list[Job]:
        """The runs whose models have said something of the nodes."""
        return [job for job in self.jobs if (job.folder / PROBABILITIES).is_file()]

    @property
    def stopped(self) -> bool:
        """Whether it was stopped by time, and could go on."""
        return can_go_on(self.place)

    def longer(self, resumable: Collection[str]) -> Entrant:
        """The same in the folder in which it goes on after it was stopped or tried: ``deep``, ``deep~2``, ``deep~3``.

        The folder is made, with the runs that had come to an end of their own and not for one of these reasons.
        """
        _, _, number = self.place.name.removeprefix(self.member.name).rpartition("~")
        found = self.at(self.place.with_name(f"{self.member.name}~{int(number or 1) + 1}"))
        if not found.place.exists():
            reports = {job.folder.name: read_report(job.folder) for job in self.trained}
            go_on_in(
                found.place,
                self.place,
                [name for name, report in reports.items() if report["stopped_by"] not in resumable],
            )
        return found

    def going(self, resumable: Collection[str]) -> list[int]:
        """The splits whose runs were stopped for one of these reasons."""
        return [job.split for job in self.trained if read_report(job.folder)["stopped_by"] in resumable]

    def curves(self, metric: str) -> dict[int, list[float]]:
        """The validation scores by split, epoch by epoch."""
        found = {}
        for job in self.trained:
            with (job.folder / CURVE).open(encoding="utf-8", newline="") as file:
                found[job.split] = [float(row[f"val_{metric}"]) for row in csv.DictReader(file)]
        return found

    def line(self, state: str = NOT_REACHED, reason: str = "", **found: Any) -> Report:
        """Its line in the record."""
        unknown = ("val", "test", "seconds_to_fit", "seconds_to_predict", "memory_mib")
        return {
            "name": self.member.name,
            "model": self.member.model,
            "settings": dict(self.member.settings),
            "place": self.place.name,
            "state": state,
            "reason": reason,
            **dict.fromkeys(unknown),
            "weight": 0.0,
            "stopped_by": [],
        } | found


def enter(folder: Path, member: Member, config: RunConfig, splits: Sequence[int]) -> Entrant:
    places = {split: inside(folder, MEMBERS, member.name, f"split-{split}") for split in splits}
    jobs = [Job(place, config.for_split(split), split, member.name, "portfolio") for split, place in places.items()]
    return Entrant(member, config, folder / MEMBERS / member.name, tuple(jobs))


def available_splits(config: RunConfig, graph: Graph) -> list[int]:
    """The splits of a configuration, each of which can be trained on."""
    splits = parse_splits(config.splits, graph.num_splits)
    for split in splits:
        graph.check_trainable(split, tested=False)
    return splits


def write_probabilities(path: Path, said: Floats) -> None:
    def save(file: Path) -> None:
        with file.open("wb") as opened:
            np.save(opened, said, allow_pickle=False)

    write_atomically(path, save)


def read_probabilities(path: Path, shape: tuple[int, int], nodes: Integers) -> Floats:
    """What a member says of some nodes of a split, in float64; ``shape``: nodes and classes of the graph."""
    try:
        said = np.load(path, mmap_mode="r")
        if said.shape != shape or said.dtype != np.float32:
            raise ValueError(f"it must hold {shape} numbers of 32 bits, not {said.shape} of type {said.dtype}")
        found: Floats = said[nodes].astype(np.float64)
        if not np.isfinite(found).all() or found.min(initial=0) < 0 or found.max(initial=1) > 1.001:
            raise ValueError("it must hold probabilities")
    except Exception as error:  # whatever the reader raises is about the file
        reason = " ".join(str(error).split())
        raise InputError(f"'{path}' is damaged: {reason}. Delete it: --resume makes it anew.") from None
    return found
