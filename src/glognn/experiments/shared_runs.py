"""Who works on which run of a plan, where several commands share one: by a common folder, or by a database.

In a folder a run is held by the lock of its own folder. In PostgreSQL it is held by its name, and its files go there
when it is done, so that every machine comes to have all of them. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from glognn.errors import BusyError, InputError
from glognn.experiments.database import EXAMPLE, Database, is_postgres
from glognn.experiments.layout import CONFIG, CURVE, DONE, MODEL, REPORT
from glognn.experiments.plan import Job
from glognn.records import is_file_name
from glognn.storage import locked, write_atomically

_TABLE = "glognn_runs"


class SharedRuns:
    """Runs in a folder that commands have in common."""

    @contextmanager
    def held(self, jobs: Sequence[Job], *, wait: bool) -> Iterator[bool]:
        """Hold runs for this process; whether all are held, which without waiting they may not be."""
        with ExitStack() as stack:
            try:
                for folder in sorted(job.folder for job in jobs):
                    stack.enter_context(locked(folder, wait=wait))
                free = True
            except BusyError:
                free = False
            yield free

    def bring(self, jobs: Iterable[Job]) -> None:
        """Have here what others have done."""

    def send(self, jobs: Iterable[Job]) -> None:
        """Have others have what is done here."""


class DatabaseRuns(SharedRuns):
    """Runs of commands that have a database in common, each with a folder of its own.

    Args:
        storage: The URL of the database.
        root: The folder of all runs; below it they have the same names everywhere.
    """

    def __init__(self, storage: str, root: Path) -> None:
        self.database, self.root = Database(storage), root
        with self.database.held(_TABLE):
            self.database.ask(
                f"CREATE TABLE IF NOT EXISTS {_TABLE} "
                "(run TEXT, name TEXT, content BYTEA NOT NULL, PRIMARY KEY (run, name))"
            )

    def _name(self, job: Job) -> str:
        return job.folder.relative_to(self.root).as_posix()

    @contextmanager
    def held(self, jobs: Sequence[Job], *, wait: bool) -> Iterator[bool]:
        with super().held(jobs, wait=wait) as here:
            if not here:
                yield False
                return
            with self.database.held(*(f"{_TABLE}/{self._name(job)}" for job in jobs), wait=wait) as everywhere:
                yield everywhere

    def _known(self) -> set[str]:
        return {run for (run,) in self.database.ask(f"SELECT run FROM {_TABLE} WHERE name = :done", done=DONE)}

    def bring(self, jobs: Iterable[Job]) -> None:
        known = self._known()
        for job in jobs:
            if job.done or self._name(job) not in known:
                continue
            rows = self.database.ask(f"SELECT name, content FROM {_TABLE} WHERE run = :run", run=self._name(job))
            files = {name: bytes(content) for name, content in rows}
            if not all(map(is_file_name, files)):
                raise InputError(f"The run '{self._name(job)}' in the storage is damaged: {sorted(files)!r:.100}.")
            for name in sorted(files, key=lambda name: name == DONE):  # which comes last
                write_atomically(job.folder / name, partial(_write, content=files[name]))

    def send(self, jobs: Iterable[Job]) -> None:
        known = self._known()
        for job in jobs:
            if not job.done or self._name(job) in known:
                continue
            present = [name for name in (CONFIG, REPORT, CURVE, MODEL, DONE) if (job.folder / name).is_file()]
            self.database.add(
                f"INSERT INTO {_TABLE} VALUES (:run, :name, :content) ON CONFLICT DO NOTHING",
                [
                    {"run": self._name(job), "name": name, "content": (job.folder / name).read_bytes()}
                    for name in present
                ],
            )


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def shared_runs(storage: str | None, root: Path) -> SharedRuns:
    """By a database where one is named, which must be PostgreSQL; else by the folder."""
    if storage is None:
        return SharedRuns()
    if not is_postgres(storage):
        raise InputError(f"Runs are shared by PostgreSQL ({EXAMPLE}) or by a common --out. Got {storage!r} instead.")
    return DatabaseRuns(storage, root)
