"""Who works on a study: one lock under which trials are taken, and one for each worker that says that it lives.

A study in a folder has them in the folder. One in PostgreSQL has them there, as advisory locks of sessions, which the
server drops when a worker or its machine dies: workers then need no common folder.
"""

from __future__ import annotations

import hashlib
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from glognn.errors import InputError

POSTGRES = "postgresql"


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
    """Advisory locks in the database of the study.

    Args:
        storage: The URL of the database.
        study: The study's name in it.
    """

    def __init__(self, storage: str, study: str) -> None:
        sqlalchemy = import_module("sqlalchemy")
        self.study = study
        self._engine = sqlalchemy.create_engine(storage, poolclass=sqlalchemy.NullPool)
        self._text = sqlalchemy.text

    def _ask(self, connection: Any, function: str, name: str) -> Any:
        digest = hashlib.sha256(f"{self.study}/{name}".encode()).digest()
        key = int.from_bytes(digest[:8], "big", signed=True)
        return connection.execute(self._text(f"SELECT {function}(:key)"), {"key": key}).scalar()

    @contextmanager
    def _held(self, name: str) -> Iterator[None]:
        with self._engine.connect() as connection:
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            self._ask(connection, "pg_advisory_lock", name)
            try:
                yield
            finally:
                self._ask(connection, "pg_advisory_unlock", name)

    def taking(self) -> AbstractContextManager[Any]:
        return self._held("taking")

    @contextmanager
    def alive(self) -> Iterator[str]:
        name = uuid.uuid4().hex
        with self._held(name):
            yield name

    def is_alive(self, worker: str) -> bool:
        with self._engine.connect() as connection:
            if not self._ask(connection, "pg_try_advisory_lock", worker):
                return True
            self._ask(connection, "pg_advisory_unlock", worker)
            return False


def study_locks(folder: Path, storage: str | None, study: str) -> StudyLocks:
    """The locks of a study: in its database where that is PostgreSQL, else in its folder."""
    return PostgresLocks(storage, study) if storage and storage.startswith(POSTGRES) else FolderLocks(folder)


def check_storage(storage: str | None) -> None:
    """Refuse a database that cannot be reached, in one line."""
    if not storage or not storage.startswith(POSTGRES):
        return
    sqlalchemy = import_module("sqlalchemy")
    try:
        engine = sqlalchemy.create_engine(storage, poolclass=sqlalchemy.NullPool)
        engine.connect().close()
    except ImportError as error:
        raise InputError(f"A study in PostgreSQL needs a driver ({error}): pip install 'glognn[postgres]'.") from None
    except sqlalchemy.exc.SQLAlchemyError as error:
        reason = " ".join(str(error).split()).partition(" (Background")[0]
        raise InputError(f"The storage '{_without_password(storage)}' cannot be reached: {reason:.300}.") from None


def _without_password(storage: str) -> str:
    sqlalchemy = import_module("sqlalchemy")
    return str(sqlalchemy.make_url(storage).render_as_string(hide_password=True))
