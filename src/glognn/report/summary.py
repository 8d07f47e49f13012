"""Small tables of results, made from reports alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from glognn.report.document import SOFT, Cell, Column, Table, numeral, row, table
from glognn.report.text import figures, in_unit, scale_of, score_name, visible
from glognn.training.config import mean_threshold


def score_text(report: dict[str, Any], which: str = "selected") -> str:
    """``82.19 ± 1.17`` over splits, or the one score, in percent where it is a share."""
    return shown(report["metric"], report["scores"][which]["test"])


def shown(metric: str, score: dict[str, float | None] | float | None) -> str:
    """``82.19 ± 1.17``, from a mean and a standard deviation; ``82.19`` without one; nothing without a score."""
    mean, std = (score["mean"], score["std"]) if isinstance(score, dict) else (score, None)
    return "" if mean is None else figures(metric, mean, std)


def summary_table(reports: Sequence[dict[str, Any]]) -> Table:
    """One row per model: test score as mean ± standard deviation over splits, epochs and seconds; then the baselines.

    Baselines are fitted on the same splits and scored on the same nodes.
    """
    first = reports[0]
    chosen = "best validation" if first["selection"] == "best" else "last epoch"
    heads = [
        Column("model", whole=True),
        *(
            Column(name, number=True)
            for name in (
                f"{in_unit(f'test {score_name(first)}', first['metric'])} ({chosen})",
                "splits",
                "epochs",
                "seconds",
            )
        ),
    ]
    rows = []
    for report in reports:
        single = report["kind"] == "run"
        epochs = report["scores"]["last"]["epoch"] if single else report["epochs"]
        name = report["config"]["model"]["name"]
        score = _score(report, report["scores"]["selected"]["test"])
        rows.append(row(name, score, _splits(report), numeral(epochs, ","), numeral(report["seconds"], ".1f")))
    judged = next((report for report in reports if "baselines" in report), None)
    for name, scores in judged["baselines"].items() if judged else ():
        assert judged is not None
        rows.append(row(f"baseline: {name}", _score(judged, scores["test"]), _splits(judged), style=SOFT))
    return table(heads, rows)


def _score(report: dict[str, Any], score: dict[str, float | None] | float | None) -> Cell:
    mean = score["mean"] if isinstance(score, dict) else score
    return Cell(shown(report["metric"], score), None if mean is None else scale_of(report["metric"]) * mean)


def _splits(report: dict[str, Any]) -> Cell:
    return numeral(1 if report["kind"] == "run" else len(report["splits"]), "d")


def baselines_text(report: dict[str, Any], name: str) -> str:
    """The scores of baselines on a set, in a line: ``constant 20.00, logistic regression 61.30``."""
    found = {each: shown(report["metric"], scores[name]) for each, scores in report.get("baselines", {}).items()}
    return ", ".join(f"{each} {score}" for each, score in found.items() if score)


def decisions(reports: Iterable[dict[str, Any]]) -> str:
    """From where on models predict the positive class, in a line; empty where none has a threshold."""
    known = [each for each in reports if each.get("threshold") is not None and each.get("positive_class") is not None]
    if not known:
        return ""
    first = known[0]
    if len(known) == 1:
        found = f"{first['threshold']:.4g}"
    else:
        found = ", ".join(f"{each['config']['model']['name']} {each['threshold']:.4g}" for each in known)
    mean = " (means over splits)" if first.get("kind") == "splits" else ""
    why = f"; chosen for {first['threshold_for']} on validation nodes" if first.get("threshold_for") else ""
    return f"{visible(str(first['positive_class']['name']))} is predicted from this probability on: {found}{mean}{why}."


def settled_text(report: dict[str, Any]) -> str:
    """Settings that were left to the graph, as they were decided: ``reads features (7 of the splits), ...``."""
    texts = []
    for name, values in report.get("settled", {}).items():
        several = len(values) > 1
        told = [f"{value} ({count} of the splits)" if several else value for value, count in values.items()]
        texts.append(f"{name} {', '.join(told)}")
    return "; ".join(texts)


def settlements(reports: Iterable[dict[str, Any]]) -> str:
    """The same of several models, a line for each; empty where nothing was left to the graph."""
    told = {report["config"]["model"]["name"]: settled_text(report) for report in reports}
    return "\n".join(f"{name} {text}: what training labels speak for." for name, text in told.items() if text)


def ensemble_decision(ensemble: dict[str, Any]) -> dict[str, Any]:
    """How an ensemble decides between two classes, as a run's record says it: of several splits on average."""
    splits = list(ensemble["splits"].values())
    return {
        "kind": "run" if ensemble["folds"] or len(splits) == 1 else "splits",
        "threshold": mean_threshold(split["threshold"] for split in splits),
        "threshold_for": splits[0].get("threshold_for", ""),
        "calibration": splits[0].get("calibration") or {"kind": "temperature"},
        "positive_class": ensemble["positive_class"],
    }


def beware(reports: Iterable[dict[str, Any]]) -> str:
    """What records say to beware of, a line for each; those that several models share are said once."""
    reports = list(reports)
    found: dict[str, list[str]] = {}
    for report in reports:
        for caution in report.get("cautions", ()):
            found.setdefault(caution, []).append(report["config"]["model"]["name"] if "config" in report else "")
    lines = []
    for caution, models in found.items():
        everyone = len(reports) == 1 or len(models) == len(reports)
        lines.append(f"  {caution}" if everyone else f"  {', '.join(models)}: {caution}")
    return "\n".join(["Beware:", *lines]) if lines else ""
