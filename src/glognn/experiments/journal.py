"""The journal of a study, which neither a full disk nor a kill makes unreadable. Imports Optuna."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock


class Journal(JournalFileBackend):
    """Optuna's file, a line of JSON for each change.

    A line without an end was never told to its writer as written. It is cut before the next one is appended, which
    would otherwise join it, and the two could never be read again. Opening a study appends a line, too.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.lock = path, JournalFileSymlinkLock(str(path))
        super().__init__(str(path), self.lock)

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        self.lock.acquire()
        try:
            self._cut()
        finally:
            self.lock.release()
        super().append_logs(logs)

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
