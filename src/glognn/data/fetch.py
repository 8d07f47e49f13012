"""Published files on this machine: from the cache, from a mirror, or downloaded; checked every time. Imports no torch.

The cache is the folder ``GLOGNN_DATA``, else the platform's place for caches. A mirror (``GLOGNN_MIRROR`` or given) is
a folder laid out like the cache, for machines without internet: with one, nothing is downloaded. A file appears in
the cache only whole and checked.
"""

from __future__ import annotations

import gzip
import logging
import os
import shutil
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from glognn.data.entry import Dataset, PublishedFile
from glognn.errors import InputError, MissingFileError
from glognn.storage import file_sha256

logger = logging.getLogger(__name__)

ATTEMPTS = 3
TIMEOUT_SECONDS = 30
STALE_SECONDS = 3600
_BLOCK = 2**20


def cache_dir() -> Path:
    """Where downloads are kept."""
    if given := os.environ.get("GLOGNN_DATA"):
        return Path(given).expanduser()
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("glognn")) / "data"


def mirror_dir(given: str | Path | None = None) -> Path | None:
    """The mirror in use, if any; it must be a folder."""
    named = given or os.environ.get("GLOGNN_MIRROR")
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise InputError(f"The data mirror must be a folder. Got '{named}' instead.")
    return folder


def _in_mirror(file: PublishedFile, mirror: Path) -> Path | None:
    """The file in a mirror, plain or with ``.gz`` added to its published name."""
    plain = mirror / file.path
    packed = mirror / f"{file.path}.gz"
    return plain if plain.is_file() else packed if packed.is_file() else None


def is_present(dataset: Dataset, mirror: Path | None) -> bool:
    """Whether a dataset can be loaded without a download; its optional files do not count."""
    needed = [*dataset.files.values(), *(() if dataset.splits_optional else dataset.splits)]
    return all(_is_here(file, mirror) or (file.archive and _is_here(file.archive, mirror)) for file in needed)


def _is_here(file: PublishedFile, mirror: Path | None) -> bool:
    return (cache_dir() / file.path).is_file() or bool(mirror and _in_mirror(file, mirror))


def fetch(file: PublishedFile, mirror: Path | None = None) -> Path:
    """A local path of the file, its checksum verified."""
    cached = cache_dir() / file.path
    if cached.is_file():
        problem = _mismatch(cached, file, cached)
        if not problem:
            return cached
        logger.warning("%s It is fetched again.", problem)
    if mirror is not None:
        return _from_mirror(file, mirror, cached)
    if file.url is None:
        raise MissingFileError(f"{_missing(file)} {file.note} Put it by hand at {cached}.")
    if file.archive is not None:
        return _from_archive(file, fetch(file.archive), cached)
    _write_checked(cached, file, lambda target: _download(file, target))
    return cached


def forget_unverified(file: PublishedFile) -> bool:
    """Drop a download (and its archive) whose published checksum nobody knows; what was put there by hand stays."""
    dropped = False
    for each in (file, file.archive):
        if each is not None and each.sha256 is None and _remembered(cache_dir() / each.path).is_file():
            (cache_dir() / each.path).unlink(missing_ok=True)
            _remembered(cache_dir() / each.path).unlink()
            dropped = True
    return dropped


def _missing(file: PublishedFile) -> str:
    return f"The file '{file.path}' is not on this machine."


def _remembered(path: Path) -> Path:
    """Where the checksum of a first download lies, for files whose published one is unknown."""
    return path.with_name(f"{path.name}.sha256")


def _mismatch(path: Path, file: PublishedFile, cached: Path) -> str:
    """What is wrong with a file's content, or nothing."""
    wanted, whose = file.sha256, "published"
    if wanted is None and _remembered(cached).is_file():
        wanted, whose = _remembered(cached).read_text(encoding="ascii").strip(), "first downloaded"
    if wanted is None:
        return ""
    found = file_sha256(path)
    if found == wanted:
        return ""
    return f"'{path}' is not the {whose} file: its sha256 must be {wanted}. Got {found} instead."


def _from_mirror(file: PublishedFile, mirror: Path, cached: Path) -> Path:
    found = _in_mirror(file, mirror)
    if found is None and file.archive is not None and (packed := _in_mirror(file.archive, mirror)):
        if problem := _mismatch(packed, file.archive, packed):
            raise InputError(f"{problem} Replace it in the mirror.")
        return _from_archive(file, packed, cached)
    if found is None:
        place = f"published at {file.url}" if file.url else file.note
        raise MissingFileError(f"{_missing(file)} Put it at {mirror / file.path} ({place})")
    if found == mirror / file.path:
        if problem := _mismatch(found, file, found):
            raise InputError(f"{problem} Replace it in the mirror.")
        return found
    try:
        _write_checked(cached, file, lambda target: _unzip(found, target), remember=False)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"'{found}' is no readable gzip file: {error}. Replace it in the mirror.") from None
    return cached


def _unzip(path: Path, target: IO[bytes]) -> None:
    with gzip.open(path, "rb") as source:
        shutil.copyfileobj(source, target, _BLOCK)


def _from_archive(file: PublishedFile, archive: Path, cached: Path) -> Path:
    """Only the named member is read, and its place is the catalog's: what else an archive holds goes nowhere."""
    assert file.member is not None
    try:
        with zipfile.ZipFile(archive) as content, content.open(file.member) as source:
            _write_checked(cached, file, lambda target: shutil.copyfileobj(source, target, _BLOCK))
    except (zipfile.BadZipFile, KeyError, zlib.error, EOFError) as error:
        again = "Run again to download it." if forget_unverified(file) else "Replace it."
        raise InputError(f"'{archive}' has no readable '{file.member}': {error}. {again}") from None
    return cached


def _write_checked(
    path: Path, file: PublishedFile, write: Callable[[IO[bytes]], None], *, remember: bool = True
) -> None:
    """Write beside the final place, check, and only then move there; what an earlier kill left is removed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for old in path.parent.glob(f".{path.name}.*.tmp"):
            if time.time() - old.stat().st_mtime > STALE_SECONDS:
                old.unlink(missing_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    except OSError as error:
        raise InputError(f"The data cache '{cache_dir()}' cannot be written: {error}. Set GLOGNN_DATA.") from None
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as target:
            write(target)
            target.flush()
            os.fsync(target.fileno())
        if file.sha256 is not None and (found := file_sha256(temporary)) != file.sha256:
            raise InputError(
                f"What came for '{file.path}' is not the published file: its sha256 must be {file.sha256}. "
                f"Got {found} instead. Nothing was kept; run again, or put the file at {path}."
            )
        if file.sha256 is None and remember:
            noted = temporary.with_name(f"{temporary.name}.tmp")
            noted.write_text(file_sha256(temporary) + "\n", encoding="ascii")
            noted.replace(_remembered(path))
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _download(file: PublishedFile, target: IO[bytes]) -> None:
    """Download with retries; the server's certificate is verified."""
    from pooch import HTTPDownloader
    from requests.exceptions import HTTPError, RequestException

    by_hand = f"Put it by hand at {cache_dir() / file.path}, or name a mirror with --data-mirror."
    logger.info("downloading %s", file.url)
    for attempt in range(1, ATTEMPTS + 1):
        target.seek(0)
        target.truncate()
        bar = _progress(file)
        try:
            HTTPDownloader(progressbar=bar, timeout=TIMEOUT_SECONDS)(file.url, target, None)
            return
        except HTTPError as error:
            status = error.response.status_code
            if status in (404, 410):
                raise MissingFileError(f"{_missing(file)} {file.url} answers {status}: it is gone. {by_hand}") from None
            problem = str(error)
        except RequestException as error:
            problem = _reason(error)
        finally:
            if bar:
                bar.close()
        if attempt < ATTEMPTS:
            logger.warning("try %d of %d failed: %s", attempt, ATTEMPTS, problem)
            time.sleep(2.0**attempt)
    raise InputError(f"{_missing(file)} {file.url} could not be downloaded in {ATTEMPTS} tries: {problem}. {by_hand}")


def _reason(error: Exception) -> str:
    """What went wrong at the bottom, without the names of the classes on the way there."""
    inner = error.args[0] if error.args else error
    text = str(getattr(inner, "reason", inner))
    return text.removeprefix(text[: text.find("): ") + 3] if text.startswith("HTTP") else "") or type(error).__name__


def _progress(file: PublishedFile) -> Any:
    """A progress bar on a terminal, nothing elsewhere."""
    from rich.console import Console

    console = Console(stderr=True)
    return _Bar(console, Path(file.path).name) if console.is_terminal else False


class _Bar:
    """The progress bar that pooch talks to."""

    def __init__(self, console: Any, name: str) -> None:
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=console, transient=True)
        self._task = self._progress.add_task(name, total=None)
        self._progress.start()
        self.total = 0

    def update(self, size: int) -> None:
        self._progress.update(self._task, advance=size, total=self.total or None)

    def reset(self) -> None:
        self._progress.reset(self._task)

    def close(self) -> None:
        self._progress.stop()
