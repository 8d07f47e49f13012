"""``verify``: whether a folder holds what its runs and classifiers were finished with. Imports no torch."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glognn.data.layout import GRAPH, NODES, SHARDS, TABLES, tables_folder
from glognn.errors import InputError
from glognn.experiments.config import read_config
from glognn.experiments.integrity import read_manifest, unlisted, unlisted_tables, unseal
from glognn.experiments.layout import AUTO, CLASSIFIER, CONFIG, CURVE, DONE, MEMBERS, MODEL, REFIT, REFIT_RECORD, REPORT
from glognn.experiments.reports import check_settings, read_classifier, read_report
from glognn.experiments.search import JOURNAL, STUDY
from glognn.records import FILE, inside, is_file_name, misfit, read_record, read_toml
from glognn.storage import MISSING, Files, difference

OK, CHANGED, MISSED, DAMAGED = "ok", "changed", "missing", "damaged"
NOT_RECORDED, UNFINISHED = "not recorded", "unfinished"
WRONG = (CHANGED, MISSED, DAMAGED)


@dataclass(frozen=True)
class FileState:
    """A file and how it compares with what was recorded of it; ``note`` says more.

    ``state`` is ``ok``, ``changed``, ``missing`` or ``damaged`` (a record that cannot be read); ``not recorded`` in a
    folder of an earlier version, or of a file that keeps growing; ``unfinished`` for a run that has not ended.
    """

    path: Path
    state: str
    note: str = ""

    @property
    def wrong(self) -> bool:
        return self.state in WRONG


Compared = dict[tuple[Path, str], FileState]
"""By path and the sha256 that it must have."""


def verify(folder: str | Path) -> list[FileState]:
    """The state of every recorded file below a folder, the same as ``glognn verify``.

    The folder is that of a run, of several models or splits, of a portfolio, of a reproduction, a search, a graph in
    parts or a saved classifier, or one that holds any of them. Files that no record names, such as pictures, are
    left out.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"There is no folder '{folder}'.")
    found: dict[Path, FileState] = {}
    compared: Compared = {}
    for place, folders, names in sorted(os.walk(folder)):
        for state in (*_links(Path(place), folders), *_states(Path(place), set(names), compared)):
            if state.wrong or state.path not in found:
                found[state.path] = state
    if not found:
        raise InputError(f"'{folder}' holds no run, no search, no graph in parts and no saved classifier.")
    return list(found.values())


def _links(folder: Path, names: Sequence[str]) -> Iterator[FileState]:
    """Folders of splits, models and members that are links, which nothing reads; other ones are a user's own."""
    runs = _settings(folder).get("runs")
    runs = runs if isinstance(runs, list) else []
    for name in sorted(names):
        ours = folder.name == MEMBERS or name in (MEMBERS, REFIT) or name.startswith("split-") or name in runs
        if ours and (folder / name).is_symlink():
            try:
                inside(folder, name)
            except InputError as error:
                yield FileState(folder / name, DAMAGED, str(error))


def _states(folder: Path, names: set[str], compared: Compared) -> Iterator[FileState]:
    if CLASSIFIER in names:
        yield from _classifier(folder, compared)
    if REFIT_RECORD in names:
        yield from _refit(folder, compared)
    if SHARDS in names:
        yield from _parts(folder, compared)
    if STUDY in names:
        yield from _study(folder)
    if names & {DONE, CONFIG, AUTO}:
        settings = _settings(folder)
        yield from _runs(folder, settings["runs"]) if "runs" in settings else _run(folder, settings, compared)


def _compare(folder: Path, files: Files, compared: Compared) -> Iterator[FileState]:
    """Files and their records; the graph of many splits is read once."""
    for name, wanted in files.items():
        path = Path(os.path.normpath(folder / name))
        if (key := (path, wanted["sha256"])) not in compared:
            wrong = difference(path, wanted)
            compared[key] = FileState(path, OK if not wrong else MISSED if wrong == MISSING else CHANGED, wrong)
        yield compared[key]


def _unrecorded(folder: Path, *names: str) -> Iterator[FileState]:
    for name in names:
        path = Path(os.path.normpath(folder / name))
        state = NOT_RECORDED if path.is_file() else MISSED
        yield FileState(path, state, "an earlier version wrote it" if state == NOT_RECORDED else "")


def _classifier(folder: Path, compared: Compared) -> Iterator[FileState]:
    try:
        record, files = read_classifier(folder)
    except InputError as error:
        yield FileState(folder / CLASSIFIER, DAMAGED, str(error))
        return
    if files or "ensemble" in record["files"]:
        yield FileState(folder / CLASSIFIER, OK)
        yield from _compare(folder, files, compared)
    else:
        yield from _unrecorded(folder, CLASSIFIER, *record["files"].values())


def _refit(folder: Path, compared: Compared) -> Iterator[FileState]:
    """Of what was trained on all labels."""
    path = folder / REFIT_RECORD
    try:
        record = read_record(path, {"models": list})
        files = unseal(path, record)
    except InputError as error:
        yield FileState(path, DAMAGED, str(error))
        return
    yield FileState(path, OK if record["models"] else UNFINISHED)
    yield from _compare(folder, files, compared)


def _parts(folder: Path, compared: Compared) -> Iterator[FileState]:
    """Of a graph in parts."""
    path = folder / SHARDS
    try:
        files = read_record(path, {}).get("files")
        wrong = misfit(files or {}, dict.fromkeys(files or {}, FILE), "files")
        if wrong or not all(re.fullmatch(r"part-\d+/\w+\.arrow", name) for name in files or ()):
            raise InputError(f"'{path}' is damaged: {wrong or 'files must name those of its parts'}.")
    except InputError as error:
        yield FileState(path, DAMAGED, str(error))
        return
    if files is None:
        yield from _unrecorded(folder, SHARDS)
        return
    yield FileState(path, OK)
    yield from _compare(folder, files, compared)


def _study(folder: Path) -> Iterator[FileState]:
    """Of a search, which goes on and on: whether its files can be read."""
    for name in (STUDY, JOURNAL):
        path = folder / name
        try:
            text = path.read_text(encoding="utf-8")
            for part in [text] if name == STUDY else text.splitlines():
                json.loads(part)
        except FileNotFoundError:
            if name == STUDY:
                raise
        except (OSError, ValueError, RecursionError) as error:
            yield FileState(path, DAMAGED, f"cannot be read: {error}")
        else:
            yield FileState(path, NOT_RECORDED, "a search changes it; it can be read")


def _settings(folder: Path) -> dict[str, Any]:
    try:
        return read_toml(folder / (AUTO if (folder / AUTO).is_file() else CONFIG))
    except (OSError, InputError):
        return {}


def _runs(folder: Path, names: Any) -> Iterator[FileState]:
    """Of a folder of several models, whose own folders come later."""
    if misfit(names, [str]) or not all(map(is_file_name, names)):
        yield FileState(folder / CONFIG, DAMAGED, "runs must name folders in it")
        return
    yield FileState(folder / CONFIG, OK)
    for name in names:
        if not (folder / name / CONFIG).is_file():
            yield FileState(folder / name / CONFIG, MISSED)


def _run(folder: Path, settings: dict[str, Any], compared: Compared) -> Iterator[FileState]:
    if not (folder / DONE).is_file():
        name = AUTO if (folder / AUTO).is_file() else CONFIG
        yield FileState(folder / name, UNFINISHED, "glognn train --resume goes on with it")
        return
    try:
        manifest = read_manifest(folder)
    except InputError as error:
        yield FileState(folder / DONE, DAMAGED, str(error))
        return
    data = settings.get("data", settings)
    graph = folder / str(data.get("dataset") if isinstance(data, dict) else GRAPH)
    yield from _settings_and_splits(folder)
    if manifest is not None:
        for name in (*unlisted(folder, manifest.files), *unlisted_tables(graph, manifest.tables)):
            yield FileState(folder / DONE, DAMAGED, f"it does not list {name}")
        yield from _compare(folder, manifest.files, compared)
        yield from _compare(tables_folder(graph) or graph.parent, manifest.tables, compared)
        return
    several = not (folder / MODEL).is_file() and any(folder.glob(f"split-*/{DONE}"))
    yield from _unrecorded(folder, *((REPORT,) if several else (REPORT, CURVE, MODEL)))
    if tables_folder(graph) == graph.parent:
        yield from _unrecorded(graph.parent, GRAPH, NODES, TABLES)


def _settings_and_splits(folder: Path) -> Iterator[FileState]:
    """Settings, which may be written anew as long as they say what the record says, and what the record names."""
    try:
        report = read_report(folder)
    except InputError:  # which is told with the file itself
        return
    try:
        check_settings(folder, report, read_config(folder / CONFIG))
        yield FileState(folder / CONFIG, OK)
    except InputError as error:
        yield FileState(folder / CONFIG, CHANGED if (folder / CONFIG).is_file() else MISSED, str(error))
    for split in report.get("splits", []):
        if not (folder / f"split-{split}" / DONE).is_file():
            yield FileState(folder / f"split-{split}" / DONE, MISSED)
