"""Small tables of results, made from reports alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from glognn.report.document import SOFT, Cell, Column, Table, numeral, row, table
from glognn.report.text import score_name


def score_text(report: dict[str, Any], which: str = "selected") -> str:
    """``82.19 ± 1.17`` over splits, or the one score, in percent."""
    return percent(report["scores"][which]["test"])


def percent(score: dict[str, float | None] | float | None) -> str:
    """``82.19 ± 1.17``, from a mean and a standard deviation; ``82.19`` without one; nothing without a score."""
    mean, std = (score["mean"], score["std"]) if isinstance(score, dict) else (score, None)
    return "" if mean is None else f"{100 * mean:.2f}" + ("" if std is None else f" ± {100 * std:.2f}")


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
            for name in (f"test {score_name(first)}, % ({chosen})", "splits", "epochs", "seconds")
        ),
    ]
    rows = []
    for report in reports:
        single = report["kind"] == "run"
        epochs = report["scores"]["last"]["epoch"] if single else report["epochs"]
        name = report["config"]["model"]["name"]
        rows.append(row(name, _score(report["scores"]["selected"]["test"]), _splits(report), numeral(epochs, ","),
                        numeral(report["seconds"], ".1f")))  # fmt: skip
    judged = next((report for report in reports if "baselines" in report), None)
    for name, scores in judged["baselines"].items() if judged else ():
        assert judged is not None
        rows.append(row(f"baseline: {name}", _score(scores["test"]), _splits(judged), style=SOFT))
    return table(heads, rows)


def _score(score: dict[str, float | None] | float | None) -> Cell:
    mean = score["mean"] if isinstance(score, dict) else score
    return Cell(percent(score), None if mean is None else 100 * mean)


def _splits(report: dict[str, Any]) -> Cell:
    return numeral(1 if report["kind"] == "run" else len(report["splits"]), "d")


def baselines_text(baselines: dict[str, Any], name: str) -> str:
    """The scores of baselines on a set, in a line: ``constant 20.00, logistic regression 61.30``."""
    shown = {each: percent(scores[name]) for each, scores in baselines.items()}
    return ", ".join(f"{each} {score}" for each, score in shown.items() if score)


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
