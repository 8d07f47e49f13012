"""A PostgreSQL that machines share: locks that die with their holder, and what is asked of it in one line.

Locks are advisory ones of a session: the server drops them when a process ends, and within a minute when its machine
does not answer any more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from typing import Any

from glognn.errors import InputError, WriteError

POSTGRES = "postgresql"
EXAMPLE = f"{POSTGRES}+psycopg://me@host/name"
_KEEPALIVES = {"tcp_keepalives_idle": 30, "tcp_keepalives_interval": 10, "tcp_keepalives_count": 3}
"""Seconds without a word after which the server asks a holder, how often it does, and how often in vain."""


def is_postgres(storage: str | None) -> bool:
    """Whether the URL of a storage is one of PostgreSQL."""
    return bool(storage) and str(storage).startswith(POSTGRES)


class Database:
    """A database by its URL; one that cannot be reached is refused in one line, as is one that is lost later.

    Args:
        storage: The URL, such as ``postgresql+psycopg://me@host/name``.
    """

    def __init__(self, storage: str) -> None:
        sqlalchemy = import_module("sqlalchemy")
        self._text, self._error = sqlalchemy.text, sqlalchemy.exc.SQLAlchemyError
        try:
            self._name = sqlalchemy.make_url(storage).render_as_string(hide_password=True)
        except (self._error, ValueError):
            raise InputError(f"--storage must be a URL such as {EXAMPLE}. Got what cannot be read as one.") from None
        try:
            self._engine = sqlalchemy.create_engine(storage, poolclass=sqlalchemy.NullPool)
            self._engine.connect().close()
        except ImportError as error:
            raise InputError(f"PostgreSQL needs a driver ({error}): pip install 'glognn[postgres]'.") from None
        except self._error as error:
            raise InputError(f"The storage '{self._name}' cannot be reached: {_reason(error)}.") from None

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except self._error as error:
            raise WriteError(f"The storage '{self._name}' does not answer as it did: {_reason(error)}.") from None

    def ask(self, statement: str, **values: Any) -> list[Any]:
        """The rows of a statement, in a transaction of its own."""
        with self._answering(), self._engine.begin() as connection:
            answer = connection.execute(self._text(statement), values)
            return list(answer) if answer.returns_rows else []

    def add(self, statement: str, rows: Sequence[dict[str, Any]]) -> None:
        """Put all rows in, or none."""
        with self._answering(), self._engine.begin() as connection:
            connection.execute(self._text(statement), list(rows))

    @contextmanager
    def held(self, *names: str, wait: bool = True) -> Iterator[bool]:
        """Hold names for this process; whether all are held, which without waiting they may not be."""
        keys = sorted({_key(name) for name in names})  # in one order, so that nobody waits in a circle
        take = self._text(f"SELECT {'pg_advisory_lock' if wait else 'pg_try_advisory_lock'}(:key)")
        with ExitStack() as stack:
            with self._answering():
                connection = stack.enter_context(self._engine.connect())
                connection = connection.execution_options(isolation_level="AUTOCOMMIT")
                for name, value in _KEEPALIVES.items():
                    connection.execute(self._text(f"SET {name} = {value}"))
                free = all(connection.execute(take, {"key": key}).scalar() is not False for key in keys)
            try:
                yield free
            finally:
                with suppress(self._error):  # a session that was lost holds nothing
                    connection.execute(self._text("SELECT pg_advisory_unlock_all()"))

    def is_held(self, name: str) -> bool:
        """Whether another process holds a name."""
        with self.held(name, wait=False) as free:
            return not free


def _key(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)


def _reason(error: Exception) -> str:
    return f"{' '.join(str(error).split()).partition(' (Background')[0]:.300}"
