"""What a finished folder was when it was finished: its files, each with its size and sha256. Imports no torch.

The mark of a finished run, ``DONE``, holds them, and ``estimator.json`` those of a saved classifier. Only what is named
there is checked, so that a user may put other files beside it. Folders of versions that did not record their files have
an empty ``DONE``; they are read as they are. A list of files tells damage, and a file of another run; who can write the
folder can write the list, too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from glognn.data.layout import GRAPH, NODES, SHARDS, TABLES, tables_folder
from glognn.errors import InputError
from glognn.experiments.layout import CURVE, DONE, ENSEMBLE, MODEL, REPORT
from glognn.records import FILE, check_version, is_file_name, misfit, read_record
from glognn.storage import Files, difference, measure_files, write_json

MANIFEST_VERSION = 1
MANIFEST = "manifest"
_REMEDY = "put it back from a copy, or train again; 'glognn verify FOLDER' tells the state of every file"


@dataclass(frozen=True)
class Manifest:
    """The files of a finished folder, and those that are kept of the tables it was trained on, wherever they lie."""

    files: Files
    tables: Files = field(default_factory=dict)


def measure_tables(dataset: str) -> Files:
    """Of what is kept of a user's tables with the graph that was made of them; nothing of any other graph."""
    folder = tables_folder(Path(dataset))
    return {} if folder is None else measure_files(folder, _kept(folder))


def _kept(folder: Path) -> list[str]:
    return [name for name in (GRAPH, SHARDS, NODES, TABLES) if (folder / name).is_file()]


def seal(folder: Path, tables: Files) -> None:
    """Say that a run is finished, and with which files."""
    files = measure_files(folder, _present(folder))
    write_json(folder / DONE, {"schema_version": MANIFEST_VERSION, "files": files, "tables": tables})


def _present(folder: Path) -> list[str]:
    return [name for name in (REPORT, CURVE, MODEL, ENSEMBLE) if (folder / name).is_file()]


def read_manifest(folder: Path) -> Manifest | None:
    """What the mark of a finished run says; ``None`` where there is none, or an empty one of an earlier version."""
    path = folder / DONE
    try:
        if not path.stat().st_size:
            return None
        content = read_record(path, {})
    except FileNotFoundError:
        return None
    check_version(path, content, MANIFEST_VERSION)
    return Manifest(*(_files(path, content, part) for part in ("files", "tables")))


def _files(path: Path, content: dict[str, Any], part: str) -> Files:
    wrong = misfit(content, {part: dict}) or misfit(content[part], dict.fromkeys(content[part], FILE), part)
    if wrong or not all(map(is_file_name, content[part])):
        raise InputError(f"'{path}' is damaged: {wrong or f'{part} must name files of its folder'}.")
    files: Files = content[part]
    return files


def check_files(folder: Path, only: Iterable[str] | None = None) -> None:
    """Refuse a finished folder one of whose files, or one of some of them, is not as it was."""
    if (manifest := read_manifest(folder)) is not None:
        files, wanted = manifest.files, None if only is None else set(only)
        for name in unlisted(folder, files):
            if wanted is None or name in wanted:
                raise InputError(f"'{folder / DONE}' is damaged: it does not list {name}.")
        refuse_changed(folder, {name: files[name] for name in files if wanted is None or name in wanted})


def unlisted(folder: Path, files: Files) -> list[str]:
    """Files of a finished run that its mark must name, and does not."""
    return [name for name in _present(folder) if name not in files]


def check_tables(folder: Path, dataset: str) -> None:
    """Refuse the graph of a finished run, made of tables, when it or what is kept of them is not as it was."""
    if (manifest := read_manifest(folder)) is not None:
        refuse_changed(tables_folder(Path(dataset)) or Path(dataset).parent, manifest.tables)
        for name in unlisted_tables(Path(dataset), manifest.tables):
            raise InputError(f"'{folder / DONE}' is damaged: it does not list {name}.")


def unlisted_tables(graph: Path, files: Files) -> list[str]:
    """Files beside the graph of a finished run that its mark must name, and does not."""
    folder = tables_folder(graph)
    if folder is None or (folder == graph and not files):  # an earlier version listed nothing of a graph in parts
        return []
    return [name for name in _kept(folder) if name not in files]


def sealed(record: dict[str, Any], files: Files) -> dict[str, Any]:
    """A record together with the sha256 of its content, and the files that it names."""
    return {**record, MANIFEST: {"record": _content_sha256(record), "files": files}}


def unseal(path: Path, record: dict[str, Any]) -> Files:
    """The files that a record was sealed with, none by an earlier version; one that was changed since is refused."""
    if MANIFEST not in record:
        return {}
    if wrong := misfit(record, {MANIFEST: {"record": str, "files": dict}}):
        raise InputError(f"'{path}' is damaged: {wrong}.")
    content = {name: value for name, value in record.items() if name != MANIFEST}
    if _content_sha256(content) != record[MANIFEST]["record"]:
        raise InputError(f"'{path}' was changed: {_REMEDY}.")
    return _files(path, record[MANIFEST], "files")


def _content_sha256(record: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def refuse_changed(folder: Path, files: Files) -> None:
    """Refuse a folder with a file that is not as it was, and say which."""
    for name, wanted in files.items():
        if wrong := difference(folder / name, wanted):
            raise InputError(f"'{folder / name}' {wrong}: {_REMEDY}.")
