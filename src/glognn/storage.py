"""Files that are either the old one or the new one, never half of either; and whether they are as they were."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from glognn.errors import BusyError, WriteError

_UNFINISHED = ".glognn-unfinished"
MISSING = "is missing"
Files = Mapping[str, dict[str, Any]]
"""By name in a folder: bytes and sha256."""


def write_atomically(path: Path, write: Callable[[Path], None], *, synced: bool = True) -> None:
    """Call ``write`` with a path in a new folder beside ``path`` that is this writer's alone, then move the result into
    place, with the mode that a new file has.

    A kill or a full disk at any moment leaves the previous file readable, and of several writers at a time the last one
    wins. What a kill leaves behind is removed by the next write in the folder. Only what is ``synced`` outlasts a power
    cut.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _workplace(path) as place:
            temporary = place / path.name
            temporary.touch(exist_ok=False)
            mode = stat.S_IMODE(temporary.stat().st_mode)
            write(temporary)
            temporary.chmod(mode)  # some writers put a file of their own there, which others may not read
            if synced:
                with temporary.open("rb") as written:
                    os.fsync(written.fileno())
            temporary.replace(path)
        if synced:
            _sync_folder(path.parent)
    except OSError as error:
        raise WriteError(f"'{path}' cannot be written: {error.strerror or error}.") from None


@contextmanager
def _workplace(path: Path) -> Iterator[Path]:
    """A new folder beside a file, locked for as long as its writer lives; those that are not are removed."""
    for left in path.parent.glob(f".*{_UNFINISHED}"):
        if (lock := _lock(left, wait=False)) is not None:
            shutil.rmtree(left, ignore_errors=True)
            os.close(lock)
    while True:
        place = Path(tempfile.mkdtemp(_UNFINISHED, f".{path.name[:40]}.", path.parent))
        lock = _lock(place, wait=True)
        if place.exists():  # else another writer has removed it before it was locked
            break
        if lock is not None:
            os.close(lock)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _lock(folder: Path, *, wait: bool) -> int | None:
    """A handle that holds a folder until it is closed; none where another one does, or where folders have no locks."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _sync_folder(folder: Path) -> None:
    """Make a new name in a folder outlast a power cut, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


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
        raise BusyError(
            f"Another process is writing to '{folder}': wait until it has ended, or take another folder."
        ) from None
    except OSError as error:
        raise WriteError(f"The folder '{folder}' cannot be written: {error.strerror or error}.") from None
    try:
        yield
    finally:
        lock.release()


def write_text(path: Path, text: str) -> None:
    """Write text in UTF-8, with a line feed at the end of each line, as a whole or not at all."""
    write_atomically(path, lambda temporary: _write_text(temporary, text))


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, content: Any) -> None:
    """Write JSON in the same way."""
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")


def file_sha256(path: Path) -> str:
    """Of the content of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def measure_files(folder: Path, names: Iterable[str]) -> Files:
    """Size and sha256 of files as they are now; about 1 GB/s."""
    return {name: {"bytes": (folder / name).stat().st_size, "sha256": file_sha256(folder / name)} for name in names}


def difference(path: Path, wanted: Mapping[str, Any]) -> str:
    """How a file differs from what it was, in words; empty where it does not. One of another size is not read."""
    try:
        if not path.is_file():
            return MISSING
        if (size := path.stat().st_size) != wanted["bytes"]:
            return f"was changed: it had {wanted['bytes']:,} bytes and has {size:,}"
        return "" if file_sha256(path) == wanted["sha256"] else "was changed: its sha256 is another"
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
