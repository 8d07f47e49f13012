"""A PostgreSQL that machines share: locks that die with their holder, and what is asked of it in one line.

Locks are advisory ones of a session: the server drops them when a process ends, and within a minute when its machine
does not answer any more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from glognn.errors import InputError

POSTGRES = "postgresql"
_KEEPALIVES = {"tcp_keepalives_idle": 30, "tcp_keepalives_interval": 10, "tcp_keepalives_count": 3}
"""Seconds without a word after which the server asks a holder, how often it does, and how often in vain."""


def is_postgres(storage: str | None) -> bool:
    return bool(storage) and str(storage).startswith(POSTGRES)


class Database:
    """A database by its URL; one that cannot be reached is refused in one line.

    Args:
        storage: The URL, such as ``postgresql+psycopg://me@host/studies``.
    """

    def __init__(self, storage: str) -> None:
        sqlalchemy = import_module("sqlalchemy")
        try:
            self._engine = sqlalchemy.create_engine(storage, poolclass=sqlalchemy.NullPool)
            self._engine.connect().close()
        except ImportError as error:
            raise InputError(
                f"A study in PostgreSQL needs a driver ({error}): pip install 'glognn[postgres]'."
            ) from None
        except sqlalchemy.exc.SQLAlchemyError as error:
            reason = " ".join(str(error).split()).partition(" (Background")[0]
            shown = sqlalchemy.make_url(storage).render_as_string(hide_password=True)
            raise InputError(f"The storage '{shown}' cannot be reached: {reason:.300}.") from None
        self._text = sqlalchemy.text

    def ask(self, statement: str, **values: Any) -> list[Any]:
        """The rows of a statement, in a transaction of its own."""
        with self._engine.begin() as connection:
            answer = connection.execute(self._text(statement), values)
            return list(answer) if answer.returns_rows else []

    def add(self, statement: str, rows: Sequence[dict[str, Any]]) -> None:
        """Put all rows in, or none."""
        with self._engine.begin() as connection:
            connection.execute(self._text(statement), list(rows))

    @contextmanager
    def held(self, *names: str, wait: bool = True) -> Iterator[bool]:
        """Hold names for this process; whether all are held, which without waiting they may not be."""
        keys = sorted({_key(name) for name in names})  # in one order, so that nobody waits in a circle
        with self._engine.connect() as connection:
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            for name, value in _KEEPALIVES.items():
                connection.execute(self._text(f"SET {name} = {value}"))
            take = self._text(f"SELECT {'pg_advisory_lock' if wait else 'pg_try_advisory_lock'}(:key)")
            try:
                yield all(connection.execute(take, {"key": key}).scalar() is not False for key in keys)
            finally:
                connection.execute(self._text("SELECT pg_advisory_unlock_all()"))

    def is_held(self, name: str) -> bool:
        """Whether another process holds a name."""
        with self.held(name, wait=False) as free:
            return not free


def _key(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)
