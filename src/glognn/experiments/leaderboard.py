"""What each model of an automatic run is worth, and the ensemble made of them: ``ensemble.json`` as a table.

Imports no torch. The table is of what is finished so far: the run may be under way, or have been interrupted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from glognn.experiments.reports import read_ensemble

FINISHED = "done"
OF_ALL = "ensemble"
"""Name of the first row."""
BASELINE = "baseline"
"""State of the last rows, which are no members but what members must beat."""


@dataclass(frozen=True)
class Standing:
    """One row of a leaderboard: a member, the ensemble of them all, or a baseline. Scores are shares, larger is better.

    Attributes:
        name: Of the member, or ``ensemble``.
        model: Which model it is; of the ensemble, how many members have a weight.
        state: ``done``, ``tried`` on some splits alone, ``baseline``, or why it has no scores: ``failed``, ``too
            large``, ``not reached``.
        reason: More about that, in words.
        best_single: Whether it is the best single member on validation.
        val: Mean over splits or folds, on the nodes that choose; ``val_spread`` is the standard deviation.
        test: Mean over splits, where there are test nodes.
        weight: Its share in the ensemble, the mean over splits.
        seconds_to_fit: To train it on all splits.
        seconds_to_predict: To score all nodes, with the models of all splits.
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
    seconds_to_fit: float | None
    seconds_to_predict: float | None
    memory_mib: float | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def leaderboard(folder: str | Path) -> list[Standing]:
    """The ensemble of an automatic run, then its members, the best on validation first, then the baselines.

    ``pandas.DataFrame(leaderboard(folder))`` makes a data frame of it.
    """
    return standings(read_ensemble(Path(folder)))


def standings(record: Mapping[str, Any]) -> list[Standing]:
    """The rows that a record of an automatic run makes."""
    members = [_standing(member, record["best_single"]["name"]) for member in record["members"]]
    used = [member for member in members if member.weight > 0]
    predicting, memory = ([getattr(each, name) for each in used] for name in ("seconds_to_predict", "memory_mib"))
    ensemble = Standing(
        name=OF_ALL,
        model=f"{len(used)} of {len(members)}",
        state=FINISHED,
        reason="",
        best_single=False,
        **_scores(record),
        weight=1.0,
        seconds_to_fit=record["seconds"],
        seconds_to_predict=None if None in predicting else sum(predicting),
        memory_mib=max((each for each in memory if each is not None), default=None),
    )
    finished = [member for member in members if member.val is not None]
    others = [member for member in members if member.val is None]
    baselines = [_baseline(name, scores) for name, scores in record.get("baselines", {}).items()]
    return [ensemble, *sorted(finished, key=lambda member: -(member.val or 0.0)), *others, *baselines]


def _baseline(name: str, scores: Mapping[str, Any]) -> Standing:
    unknown = dict.fromkeys(("seconds_to_fit", "seconds_to_predict", "memory_mib"))
    return Standing(
        name=name,
        model=BASELINE,
        state=BASELINE,
        reason="",
        best_single=False,
        weight=0.0,
        **_scores(scores),
        **unknown,
    )


def _standing(member: Mapping[str, Any], best: str) -> Standing:
    same = ("name", "model", "state", "reason", "weight", "seconds_to_fit", "seconds_to_predict", "memory_mib")
    return Standing(**{name: member[name] for name in same}, **_scores(member), best_single=member["name"] == best)


def _scores(record: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: record[name] or {"mean": None, "std": None} for name in ("val", "test")}
    means = {name: scores["mean"] for name, scores in found.items()}
    return means | {f"{name}_spread": scores["std"] for name, scores in found.items()}
