"""Which runs of a plan are trained as one batch. Imports no torch.

Runs that differ in seed and split alone share a batch. While it is under way, ``together/<name>.json`` beside them
lists its members and ``together/<name>.safetensors`` is its checkpoint; a run that is a batch by itself has its
checkpoint in its own folder. What was interrupted goes on with the same members, and so with the same bits, however the
command that goes on with it would have batched them; only where they do not fit the memory any more is it halved, from
its checkpoint, and each member still ends as it would alone, to rounding.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from glognn.errors import InputError
from glognn.experiments.layout import CHECKPOINT
from glognn.experiments.plan import Job
from glognn.records import is_file_name, read_record
from glognn.storage import write_json

STOPPED = "stopped"
MOST_MEMBERS = 60
"""Of one batch: more would not be faster, and would be seen to end only all at once."""


@dataclass(frozen=True)
class Batch:
    """Runs of equal settings, by seed and split, below one folder; one run is a batch, too."""

    group: Path
    jobs: tuple[Job, ...]

    @property
    def names(self) -> list[str]:
        return [job.folder.relative_to(self.group).as_posix() for job in self.jobs]

    @property
    def identity(self) -> str:
        return hashlib.sha256(json.dumps(self.names).encode()).hexdigest()[:12]

    @property
    def listing(self) -> Path:
        return self.group / "together" / f"{self.identity}.json"

    @property
    def checkpoint(self) -> Path:
        return self.jobs[0].folder / CHECKPOINT if len(self.jobs) == 1 else self.listing.with_suffix(".safetensors")

    @property
    def begun(self) -> bool:
        """Whether it must go on as it is, to end with the same bits: from its checkpoint, or from the beginning where
        it was interrupted when all of it had been trained and some of it was done.
        """
        return self.checkpoint.exists() or (self.listing.exists() and any(job.done for job in self.jobs))

    @property
    def stopped(self) -> Path:
        """Where its state is kept when it was stopped and might go on; beside it lies a list of its members."""
        return self.group / STOPPED / f"{self.identity}.safetensors"

    def begin(self) -> None:
        if len(self.jobs) > 1:
            write_json(self.listing, {"members": self.names})

    def end(self) -> None:
        self.checkpoint.unlink(missing_ok=True)
        self.listing.unlink(missing_ok=True)

    def pending(self) -> Batch | None:
        """What is left to do: the whole batch where it was begun, else the runs not done."""
        left = tuple(job for job in self.jobs if not job.done)
        if not left:
            return None
        return self if self.begun else Batch(self.group, left)


def make_batches(
    jobs: Iterable[Job], workers: int = 1, *, group: Path | None = None, together: bool = True
) -> list[Batch]:
    """Runs that are not done: interrupted ones as they were, others anew, in batches enough for all workers.

    Args:
        jobs: Runs, done or not.
        workers: Processes that share them.
        group: The folder they lie in, where it is one; else runs of equal settings share the folder above their seeds.
        together: Whether new batches have several members.
    """
    groups: dict[Path, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.folder.parent.parent if group is None else group, []).append(job)
    batches: list[Batch] = []
    for place, members in groups.items():
        left = [job for job in members if not job.done]
        begun = _interrupted(place, members)
        taken = {job.folder for batch in begun for job in batch.jobs}
        for alone in (Batch(place, (job,)) for job in members if (job.folder / CHECKPOINT).exists()):
            if alone.jobs[0].done:
                alone.end()
            elif alone.jobs[0].folder not in taken:
                begun.append(alone)
                taken.add(alone.jobs[0].folder)
        fresh = [job for job in left if job.folder not in taken]
        share = -(-len(members) // max(1, -(-workers // len(groups))))
        size = min(MOST_MEMBERS, share) if together else 1
        batches += begun
        batches += [Batch(place, tuple(fresh[start : start + size])) for start in range(0, len(fresh), size)]
    return batches


def can_go_on(group: Path) -> bool:
    """Whether batches below a folder were stopped that might go on."""
    return any((group / STOPPED).glob("*.json"))


def go_on_in(target: Path, group: Path, ended: Iterable[str]) -> None:
    """Make a folder in which batches that were stopped below another go on, as if they had been interrupted there.

    Args:
        target: The new folder, which is there as a whole or not at all.
        group: Where they were stopped; it stays as it is.
        ended: Runs of them that had come to an end of their own: the new folder has them too.
    """
    made = target.with_name(f".{target.name}")
    shutil.rmtree(made, ignore_errors=True)
    for name in ended:
        shutil.copytree(group / name, made / name, copy_function=_same_file)
    for listing in sorted((group / STOPPED).glob("*.json")):
        names = read_record(listing, {"members": [str]})["members"]
        if not names or not all(map(is_file_name, names)):
            raise InputError(f"'{listing}' is damaged: it must name runs of its folder, not {names!r:.60}.")
        together = made / "together" / listing.name
        place = made / names[0] / CHECKPOINT if len(names) == 1 else together.with_suffix(".safetensors")
        place.parent.mkdir(parents=True, exist_ok=True)
        _same_file(listing.with_suffix(".safetensors"), place)
        if len(names) > 1:
            write_json(together, {"members": names})
    made.replace(target)


def _same_file(source: Path | str, target: Path | str) -> None:
    """A second name of a file, which nobody writes into; a copy where the disk knows no such names."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _interrupted(group: Path, jobs: list[Job]) -> list[Batch]:
    """Batches of several of these runs that were begun and not ended.

    The largest first: a batch that was about to be halved is there beside its halves, and is the one to go on with.
    """
    by_name = {job.folder.relative_to(group).as_posix(): job for job in jobs}
    found: list[Batch] = []
    for path in sorted((group / "together").glob("*.json")):
        try:
            names = read_record(path, {"members": [str]})["members"]
        except FileNotFoundError:  # another process has just ended it
            continue
        if names and all(name in by_name for name in names):
            batch = Batch(group, tuple(by_name[name] for name in names))
            if all(job.done for job in batch.jobs):  # and it was killed before it could say so
                batch.end()
            elif batch.begun:
                found.append(batch)
    taken: set[Path] = set()
    whole = []
    for batch in sorted(found, key=lambda batch: -len(batch.jobs)):
        folders = {job.folder for job in batch.jobs}
        if not folders & taken:
            whole.append(batch)
            taken |= folders
    return whole
