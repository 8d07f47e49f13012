"""``report.json``: what a run, or a run over several splits, has come to. Imports no torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from glognn.errors import InputError
from glognn.experiments.layout import REPORT
from glognn.records import NUMBER, Form, misfit, read_record

Report = dict[str, Any]

_REPORT: Form = {
    "kind": str,
    "config": {"data": {"dataset": str}, "model": {"name": str}, "training": {"seed": int}},
    "metric": str,
    "selection": str,
    "seconds": NUMBER,
    "num_parameters": int,
    "data": {"fingerprint": str},
    "versions": dict,
    "machine": dict,
}
_SCORES = ("selected", "best", "last")
_RUN: Form = {
    "split": int,
    "threshold": (*NUMBER, type(None)),
    "scores": {which: {"epoch": int, "train": NUMBER, "val": NUMBER, "test": NUMBER} for which in _SCORES},
}
_OVER_SPLITS = {name: {"mean": NUMBER, "std": NUMBER} for name in ("train", "val", "test")}
_SPLITS: Form = {"splits": [int], "epochs": int, "scores": dict.fromkeys(_SCORES, _OVER_SPLITS)}


def read_report(folder: Path) -> Report:
    """The record of a run, or of a run over several splits."""
    path = folder / REPORT
    try:
        report: Report = read_record(path, _REPORT)
    except FileNotFoundError:
        raise InputError(f"'{folder}' has no readable {REPORT}: there is none.") from None
    if report["kind"] == "run":
        report.setdefault("threshold", None)  # which came later
    form = {"run": _RUN, "splits": _SPLITS}.get(report["kind"])
    wrong = f"kind must be run or splits, not {report['kind']!r}" if form is None else misfit(report, form)
    if wrong or report.get("splits") == []:
        raise InputError(f"'{path}' is damaged: {wrong or 'splits is empty'}.")
    return report
