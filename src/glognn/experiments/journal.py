"""The journal of a study, which neither a full disk nor a kill makes unreadable. Imports Optuna."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from filelock import FileLock
from optuna.storages.journal import JournalFileBackend
from optuna.storages.journal._file import BaseJournalFileLock

from glognn.errors import WriteError


class _Lock(BaseJournalFileLock):
    """Let go by the system when its holder dies. Optuna's own stay, and make everyone wait for half a minute."""

    def __init__(self, path: Path) -> None:
        self.file = FileLock(path.with_name(f".{path.name}.lock"))

    def acquire(self) -> bool:
        self.file.acquire()
        return True

    def release(self) -> None:
        self.file.release()


class Journal(JournalFileBackend):
    """Optuna's file, a line of JSON for each change.

    A line without an end was never told to its writer as written. It is cut before the next one is appended, which
    would otherwise join it, and the two could never be read again. Opening a study appends a line, too.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.lock = path, _Lock(path)
        try:
            super().__init__(str(path), self.lock)
        except OSError as error:
            raise self._error(error) from None

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        try:
            with self.lock.file:
                self._cut()
                super().append_logs(logs)
        except OSError as error:
            raise self._error(error) from None

    def _error(self, error: OSError) -> WriteError:
        return WriteError(f"'{self.path}' cannot be written: {error.strerror or error}.")

    def _cut(self) -> None:
        with self.path.open("rb+") as file:
            end = size = file.seek(0, 2)
            while end:
                start = max(0, end - 4096)
                file.seek(start)
                block = file.read(end - start)
                if (found := block.rfind(b"\n")) >= 0:
                    end = start + found + 1
                    break
                end = start
            if end < size:
                file.truncate(end)
