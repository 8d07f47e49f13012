"""Who works on a study: one lock under which trials are taken, and one for each worker that says that it lives.

A study in a folder has them in the folder, one in PostgreSQL there: workers then need no common folder.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from glognn.experiments.database import Database, is_postgres


class StudyLocks(ABC):
    """The locks of one study."""

    @abstractmethod
    def taking(self) -> AbstractContextManager[Any]:
        """Hold the study while trials are taken."""

    @abstractmethod
    def alive(self) -> AbstractContextManager[str]:
        """Hold a lock that says this worker lives; its name."""

    @abstractmethod
    def is_alive(self, worker: str) -> bool:
        """Whether a worker lives."""

    def forget(self, worker: str) -> None:  # noqa: B027
        """Remove what is left of a worker that has died."""


class FolderLocks(StudyLocks):
    """Locks of files in the study's folder, which the system drops when their holder dies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _path(self, worker: str) -> Path:
        return self.folder / "workers" / f"{worker}.lock"

    def taking(self) -> AbstractContextManager[Any]:
        from filelock import FileLock

        return FileLock(self.folder / ".lock")

    @contextmanager
    def alive(self) -> Iterator[str]:
        from filelock import FileLock

        name = uuid.uuid4().hex
        path = self._path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(path):
                yield name
        finally:
            path.unlink(missing_ok=True)

    def is_alive(self, worker: str) -> bool:
        from filelock import FileLock, Timeout

        path = self._path(worker)
        if not path.exists():
            return False
        try:
            with FileLock(path, timeout=0):
                return False
        except Timeout:
            return True

    def forget(self, worker: str) -> None:
        self._path(worker).unlink(missing_ok=True)


class PostgresLocks(StudyLocks):
    """Locks in the database of the study.

    Args:
        database: Where the study lies.
        study: The study's name in it.
    """

    def __init__(self, database: Database, study: str) -> None:
        self.database, self.study = database, study

    def taking(self) -> AbstractContextManager[Any]:
        return self.database.held(f"{self.study}/taking")

    @contextmanager
    def alive(self) -> Iterator[str]:
        name = uuid.uuid4().hex
        with self.database.held(f"{self.study}/{name}"):
            yield name

    def is_alive(self, worker: str) -> bool:
        return self.database.is_held(f"{self.study}/{worker}")


def study_locks(folder: Path, storage: str | None, study: str) -> StudyLocks:
    """The locks of a study: in its database where that is PostgreSQL, else in its folder."""
    return PostgresLocks(Database(storage), study) if storage and is_postgres(storage) else FolderLocks(folder)


def making(storage: str | None) -> AbstractContextManager[Any]:
    """Held while a study is made: of two workers that come to an empty database, one makes its tables."""
    return Database(storage).held("making") if storage and is_postgres(storage) else nullcontext()
