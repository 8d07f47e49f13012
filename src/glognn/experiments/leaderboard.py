"""What each model of an automatic run is worth, and the ensemble made of them: ``ensemble.json`` as a table.

Imports no torch. The table is of what is finished so far: the run may be under way, or have been interrupted.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from glognn.errors import InputError
from glognn.experiments.integrity import check_files
from glognn.experiments.layout import ENSEMBLE
from glognn.records import NUMBER, Form, check_version, misfit, read_record

ENSEMBLE_VERSION = 1
FINISHED = "done"
OF_ALL = "ensemble"
"""Name of the first row."""

_MAYBE_NUMBER = (*NUMBER, type(None))
_SPREAD: Form = {"mean": NUMBER, "std": _MAYBE_NUMBER}
_MEMBER: Form = {"name": str, "model": str, "state": str, "reason": str, "weight": NUMBER}
_FINISHED: Form = {
    "val": _SPREAD,
    "fit_seconds": NUMBER,
    "predict_seconds": _MAYBE_NUMBER,
    "peak_memory_mib": _MAYBE_NUMBER,
}
_SPLIT: Form = {"weights": dict, "temperature": NUMBER, "threshold": _MAYBE_NUMBER}
_RECORD: Form = {
    "metric": str,
    "fingerprint": str,
    "splits_origin": str,
    "members": [_MEMBER],
    "splits": dict,
    "val": _SPREAD,
    "best_single": {"name": str},
    "description": str,
    "seconds": NUMBER,
    "versions": dict,
    "machine": dict,
}


@dataclass(frozen=True)
class Standing:
    """One row of a leaderboard: a member, or the ensemble of them all. Scores are shares, larger is better.

    Attributes:
        name: Of the member, or ``ensemble``.
        model: Which model it is; of the ensemble, how many members have a weight.
        state: ``done``, or why it has no scores: ``failed``, ``too large``, ``not reached``.
        reason: More about that, in words.
        best_single: Whether it is the best single member on validation.
        val: Mean over splits or folds, on the nodes that choose; ``val_spread`` is the standard deviation.
        test: Mean over splits, where there are test nodes.
        weight: Its share in the ensemble, the mean over splits.
        fit_seconds: To train it on all splits.
        predict_seconds: To score all nodes, with the models of all splits.
        memory_mib: The most that training took.
    """

    name: str
    model: str
    state: str
    reason: str
    best_single: bool
    val: float | None
    val_spread: float | None
    test: float | None
    test_spread: float | None
    weight: float
    fit_seconds: float | None
    predict_seconds: float | None
    memory_mib: float | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def leaderboard(folder: str | Path) -> list[Standing]:
    """The ensemble of an automatic run, then its members, the best on validation first.

    ``pandas.DataFrame(leaderboard(folder))`` makes a data frame of it.
    """
    return standings(read_ensemble(Path(folder)))


def read_ensemble(folder: Path) -> dict[str, Any]:
    """The record of an automatic run, as it was when that ended, or as it is now if it has not."""
    path = folder / ENSEMBLE
    check_files(folder, [ENSEMBLE])
    try:
        check_version(path, read_record(path, {}), ENSEMBLE_VERSION)
        record: dict[str, Any] = read_record(path, _RECORD)
    except FileNotFoundError:
        raise InputError(
            f"'{folder}' holds no automatic run with a finished model: it has no {ENSEMBLE}. 'glognn train --model "
            "auto' writes it."
        ) from None
    finished = [member for member in record["members"] if member["state"] == FINISHED]
    wrong = misfit(finished, [_FINISHED], "members") or misfit(
        record["splits"], dict.fromkeys(record["splits"], _SPLIT), "splits"
    )
    if wrong or not finished or not record["splits"]:
        raise InputError(f"'{path}' is damaged: {wrong or 'it names no finished member or no split'}.")
    return record


def standings(record: dict[str, Any]) -> list[Standing]:
    """The rows that a record of an automatic run makes."""
    members = [_standing(member, record["best_single"]["name"]) for member in record["members"]]
    used = [member for member in members if member.weight > 0]
    predicting, memory = ([getattr(each, name) for each in used] for name in ("predict_seconds", "memory_mib"))
    ensemble = Standing(
        name=OF_ALL,
        model=f"{len(used)} of {len(members)} members",
        state=FINISHED,
        reason="",
        best_single=False,
        **_scores(record),
        weight=1.0,
        fit_seconds=record["seconds"],
        predict_seconds=None if None in predicting else sum(predicting),
        memory_mib=max((each for each in memory if each is not None), default=None),
    )
    finished = [member for member in members if member.val is not None]
    others = [member for member in members if member.val is None]
    return [ensemble, *sorted(finished, key=lambda member: -(member.val or 0.0)), *others]


def _standing(member: dict[str, Any], best: str) -> Standing:
    done = member["state"] == FINISHED
    return Standing(
        name=member["name"],
        model=member["model"],
        state=member["state"],
        reason=member["reason"],
        best_single=member["name"] == best,
        **_scores(member if done else {}),
        weight=member["weight"],
        fit_seconds=member["fit_seconds"] if done else None,
        predict_seconds=member["predict_seconds"] if done else None,
        memory_mib=member["peak_memory_mib"] if done else None,
    )


def _scores(record: dict[str, Any]) -> dict[str, float | None]:
    found = {name: record.get(name) or {"mean": None, "std": None} for name in ("val", "test")}
    means = {name: scores["mean"] for name, scores in found.items()}
    return means | {f"{name}_spread": scores["std"] for name, scores in found.items()}
