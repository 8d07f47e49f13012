"""Files that are either the old one or the new one, never half of either."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from glognn.errors import InputError, WriteError


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Call ``write`` with a temporary path beside ``path``, then move the result into place.

    A kill or a full disk at any moment leaves the previous file readable; what a kill leaves behind
    beside it is overwritten by the next write.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    except OSError as error:
        _remove(temporary)
        raise WriteError(f"'{path}' cannot be written: {error.strerror or error}.") from None
    except BaseException:
        _remove(temporary)
        raise


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)


@contextmanager
def locked(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold a folder for this process. Another one that wants it waits, or with ``wait=False`` is refused at once.

    The system holds the lock, not the file: a process that dies lets go of it.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(folder / ".lock", timeout=-1 if wait else 0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise InputError(
            f"Another process is writing to '{folder}': wait until it has ended, or take another folder."
        ) from None
    except OSError as error:
        raise WriteError(f"The folder '{folder}' cannot be written: {error.strerror or error}.") from None
    try:
        yield
    finally:
        lock.release()


def write_text(path: Path, text: str) -> None:
    write_atomically(path, lambda temporary: _write_text(temporary, text))


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, content: Any) -> None:
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")
