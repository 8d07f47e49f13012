"""Records: ``report.json`` of a run or of several splits, ``ensemble.json``, ``estimator.json``. Imports no torch."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from glognn.errors import InputError
from glognn.experiments.config import SCHEMA_VERSION, RunConfig
from glognn.experiments.integrity import check_files, unseal
from glognn.experiments.layout import CLASSIFIER, CONFIG, ENSEMBLE, REPORT
from glognn.experiments.plan import INDIFFERENT
from glognn.graph.config import GraphConfig
from glognn.models.configs import find_model
from glognn.records import NUMBER, Form, check_version, is_file_name, misfit, read_record
from glognn.settings import Settings
from glognn.storage import Files
from glognn.training.config import TrainingConfig

Report = dict[str, Any]

_REPORT: Form = {
    "kind": {"run", "splits"},
    "config": {"schema_version": int, "data": {"dataset": str}, "model": {"name": str}, "training": {"seed": int}},
    "metric": str,
    "selection": str,
    "seconds": NUMBER,
    "num_parameters": int,
    "data": {"fingerprint": str},
    "versions": dict,
    "machine": dict,
}
_SCORES = ("selected", "best", "last")
_POSITIVE: Form = {"name": str, "number": int}
"""The class that metrics of one class are of."""
_RUN: Form = {
    "split": int,
    "threshold": (*NUMBER, type(None)),
    "scores": {
        which: {"epoch": int, "train": NUMBER, "val": NUMBER, "test": (*NUMBER, type(None))} for which in _SCORES
    },
}
_OVER_SPLITS = {name: {"mean": NUMBER, "std": NUMBER} for name in ("train", "val", "test")}
_SPLITS: Form = {"splits": [int], "epochs": int, "scores": dict.fromkeys(_SCORES, _OVER_SPLITS)}


_MAYBE = (*NUMBER, type(None))
_BY_CLASS: Form = [{"class": (str, int, float, bool), "nodes": int, "predicted": int, "right": int}]
_APPRAISED: Form = {"baselines": dict, "held_out": {"set": {"val", "test"}, "classes": _BY_CLASS}, "cautions": [str]}
_SETS = ("train", "val", "test")


def _wrong_appraisal(record: Report, *, single: bool = False) -> str:
    """What of baselines, classes and cautions has not its form, in words; records of earlier versions have none."""
    if "baselines" not in record:
        return ""
    under_way = record.get("ended") == ""
    if wrong := misfit(record, {"baselines": dict} if under_way else _APPRAISED):
        return wrong
    single = single or record.get("kind") == "run"
    for name, found in record["baselines"].items():
        kinds = dict.fromkeys(_SETS, _MAYBE if single else (dict, type(None)))
        if wrong := misfit(found, kinds, f"baselines.{name}"):
            return wrong
        known = {} if single else {each: _SPREAD for each in _SETS if found[each] is not None}
        if wrong := misfit(found, known, f"baselines.{name}"):
            return wrong
    return ""


CLASSIFIER_VERSION = 1
_CLASSIFIER: Form = {
    "files": {"model": str, "graph": str},
    "params": {"model": str},
    "has_graph_param": bool,
    "has_graph": bool,
    "seed": int,
    "classes": {"dtype": str, "values": [(str, int, float, bool)]},
    "feature_names": [str],
    "epochs": int,
    "scores": {"metric": str, "train": NUMBER, "val": NUMBER, "epoch": int},
    "threshold": (*NUMBER, type(None)),
    "data": {"fingerprint": str},
}
_OF_ENSEMBLE: Form = _CLASSIFIER | {
    "files": {"ensemble": str},
    "split": (int, type(None)),
    "given": dict,
    "scores": {"metric": str, "val": NUMBER},
}


ENSEMBLE_VERSION = 1
_UNKNOWN = type(None)
_MEMBER: Form = {
    "name": str,
    "model": str,
    "settings": dict,
    "state": str,
    "reason": str,
    "val": (dict, _UNKNOWN),
    "test": (dict, _UNKNOWN),
    "seconds_to_fit": (*NUMBER, _UNKNOWN),
    "seconds_to_predict": (*NUMBER, _UNKNOWN),
    "memory_mib": (*NUMBER, _UNKNOWN),
    "weight": NUMBER,
    "stopped_by": [str],
}
_SPREAD: Form = {"mean": NUMBER, "std": (*NUMBER, _UNKNOWN)}
_OF_SPLIT: Form = {
    "weights": dict,
    "temperatures": dict,
    "temperature": NUMBER,
    "threshold": (*NUMBER, _UNKNOWN),
    "val": NUMBER,
    "test": (*NUMBER, _UNKNOWN),
}
_STATES = ("done", "tried", "failed", "too large", "not reached")
_ENSEMBLE: Form = {
    "metric": str,
    "classes": [(str, int, float, bool)],
    "fingerprint": str,
    "splits_origin": str,
    "folds": bool,
    "members": [_MEMBER],
    "splits": dict,
    "val": _SPREAD,
    "test": (dict, _UNKNOWN),
    "best_single": {"name": str, "val": _SPREAD, "test": (dict, _UNKNOWN)},
    "description": str,
    "ended": str,
    "seconds": NUMBER,
    "versions": dict,
    "machine": dict,
}


def _sealed_record(folder: Path, name: str, version: int, form: Form, absent: str) -> Report:
    """A record of a folder as it was when that was finished, of a known version and form."""
    path = folder / name
    check_files(folder, [name])
    try:
        check_version(path, read_record(path, {}), version)
        record: Report = read_record(path, form)
    except FileNotFoundError:
        raise InputError(f"'{folder}' {absent}.") from None
    return record


def read_ensemble(folder: Path) -> Report:
    """The record of an ``auto`` folder: its members, and for each split the weights of its ensemble.

    ``ended`` says why it ended, and is empty while it is under way.
    """
    record = _sealed_record(
        folder, ENSEMBLE, ENSEMBLE_VERSION, _ENSEMBLE, f"has no trained member yet: there is no {ENSEMBLE}"
    )
    for member in record["members"]:
        member.setdefault("place", member["name"])  # which came later
    if wrong := _take_positive(record, record["classes"]) or _contradiction(record):
        raise InputError(f"'{folder / ENSEMBLE}' is damaged: {wrong}.")
    return record


def _contradiction(record: Report) -> str:
    """What a record of an ensemble says that cannot be, in words."""
    members = {member["name"]: member for member in record["members"]}
    for scores in (record, record["best_single"], *members.values()):
        known = [name for name in ("val", "test") if scores[name] is not None]
        if wrong := misfit(scores, dict.fromkeys(known, _SPREAD)):
            return wrong
    for name, member in members.items():
        places = name, member["place"]
        named = all(isinstance(place, str) and is_file_name(place) for place in places)
        if member["state"] not in _STATES or not named:
            return f"members must be named as folders, in a state of {', '.join(_STATES)}, not {name!r:.60}"
        if member["state"] in ("done", "tried") and None in (member["val"], member["seconds_to_fit"]):
            return f"the member {name!r:.60} is {member['state']}, without a score"
    if wrong := misfit(record["splits"], dict.fromkeys(record["splits"], _OF_SPLIT), "splits"):
        return wrong
    for split, each in record["splits"].items():
        weights = each["weights"]
        if wrong := misfit(weights, dict.fromkeys(weights, NUMBER), f"splits.{split}.weights"):
            return wrong
        done = all(name in members and members[name]["state"] == "done" for name in weights)
        if not split.isdecimal() or not weights or not done:
            return f"splits must give weights to members that are done, not {split!r:.20}: {weights!r:.60}"
    if not record["splits"] or not members:
        return "it must hold members, and weights for splits"
    return _wrong_appraisal(record)


def read_report(folder: Path) -> Report:
    """The record of a run, or of a run over several splits, as it was when that was finished."""
    path = folder / REPORT
    report = _sealed_record(folder, REPORT, SCHEMA_VERSION, _REPORT, f"has no readable {REPORT}: there is none")
    if report["kind"] == "run":
        report.setdefault("threshold", None)  # which came later
    if wrong := _take_positive(report, _numbers(report["data"].get("num_classes"))):
        raise InputError(f"'{path}' is damaged: {wrong}.")
    wrong = misfit(report, _RUN if report["kind"] == "run" else _SPLITS) or _wrong_appraisal(report)
    if wrong or report.get("splits") == []:
        raise InputError(f"'{path}' is damaged: {wrong or 'splits is empty'}.")
    return report


def _take_positive(record: Report, classes: Sequence[Any]) -> str:
    """Complete what a record says of the positive class; what is wrong with it, in words.

    Records of versions that did not say it are about the second of two classes.
    """
    usual = {"name": str(classes[1]), "number": 1} if len(classes) == 2 else None
    found = record.setdefault("positive_class", usual)
    if found is None:
        return ""
    if wrong := misfit(found, _POSITIVE, "positive_class"):
        return wrong
    known = 0 <= found["number"] < len(classes)
    return "" if known else f"positive_class must be one of {len(classes)} classes, not {found['number']}"


def _numbers(count: object) -> Sequence[int]:
    """The classes of a run, whose record says how many they are."""
    return range(min(count, sys.maxsize) if isinstance(count, int) else 0)


def check_settings(folder: Path, report: Report, config: RunConfig) -> None:
    """Refuse a finished run whose settings file says something else than its record.

    Where its graph lies may change: a graph is known by its fingerprint.
    """
    wanted = _decisive(json.loads(json.dumps(config.tables())))
    try:
        found = _decisive(report["config"])
    except InputError as error:
        raise InputError(f"'{folder / REPORT}' is damaged: {error}") from None
    undecided = config.model.undecided
    decided = {*undecided, *config.model.wished_training} if undecided else set()
    names = sorted((found.keys() | wanted.keys()) - decided)
    names = [name for name in names if found.get(name) != wanted.get(name)]
    if names:
        was, now = (", ".join(f"{name} {values.get(name)!r}" for name in names) for values in (found, wanted))
        raise InputError(
            f"'{folder}' is done, with {was}. Got {now} instead: put it back into {CONFIG}, or start again in a new "
            "folder."
        )


def _decisive(tables: dict[str, Any]) -> dict[str, Any]:
    """Of the settings in a record, those that decide what a run comes to on a graph, by name."""
    indifferent = {*INDIFFERENT, "dataset"} - {"seed"}
    kinds: dict[str, type[Settings]] = {
        "data": GraphConfig,
        "model": find_model(tables["model"]["name"]),
        "training": TrainingConfig,
    }
    settings = [kind.without_added(tables[group]) for group, kind in kinds.items()]
    return {name: value for group in settings for name, value in group.items() if name not in indifferent}


def read_classifier(folder: Path) -> tuple[Report, Files]:
    """The record of a saved classifier, and the files that it was written with."""
    path = folder / CLASSIFIER
    record: Report = read_record(path, {})
    versions = record.get("versions")
    made = versions.get("glognn", "?") if isinstance(versions, dict) else "?"
    remedy = f"load it with glognn {made}, which wrote it, or fit and save again"
    check_version(path, record, CLASSIFIER_VERSION, remedy)
    files = unseal(path, record)
    of_ensemble = isinstance(record.get("files"), dict) and "ensemble" in record["files"]
    wrong = misfit(record, _OF_ENSEMBLE if of_ensemble else _CLASSIFIER)
    wrong = wrong or _take_positive(record, record["classes"]["values"]) or _wrong_appraisal(record, single=True)
    if wrong or not all(map(is_file_name, record["files"].values())):
        raise damaged(folder, wrong or "files must name files of its folder")
    return record, files


def damaged(folder: Path, error: Exception | str) -> InputError:
    """What is wrong with the record of a saved classifier."""
    return InputError(f"'{folder / CLASSIFIER}' is damaged: {str(error).rstrip('.')}. Save the classifier again.")
