"""The curves of the efficiency study in numbers: time of an epoch, best validation score, time until near it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from glognn.report.curves import Curve, metric_of

NEAR = 1.0
"""Percentage points below a run's best validation score that count as having reached it."""
RECORDED = ("config", "split", "engine", "versions", "machine")
"""Of a report, what makes the numbers a record."""


def summarise(curves: Sequence[Curve], report: Mapping[str, Any]) -> dict[str, Any]:
    """Medians over the repeats of a model on a dataset, the seconds of each, and from a report what makes a record."""
    scores = [[100 * value for value in accumulate(curve[f"val_{metric_of(curve)}"], max)] for curve in curves]
    near = [
        next(second for second, value in zip(curve["seconds"], score, strict=True) if value >= score[-1] - NEAR)
        for curve, score in zip(curves, scores, strict=True)
    ]
    epochs = len(curves[0]["epoch"])
    seconds = [curve["seconds"][-1] for curve in curves]
    return {
        "seconds": seconds,
        "epochs": epochs,
        "milliseconds_per_epoch": 1000 * statistics.median(seconds) / epochs,
        "validation": statistics.median(score[-1] for score in scores),
        "seconds_until_near": statistics.median(near),
    } | {name: report[name] for name in RECORDED if name in report}


def to_markdown(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """A row for each model; for each dataset ms per epoch, best validation score and seconds until near it."""
    models = list(dict.fromkeys(model for by_model in found.values() for model in by_model))
    lines = [f"| ms per epoch; best validation, %; s until within {NEAR:g} of it | {' | '.join(found)} |"]
    lines.append("|---" + "|---:" * len(found) + "|")
    for model in models:
        cells = [
            f"{_number(cell['milliseconds_per_epoch'], 3)}; {cell['validation']:.1f}; "
            f"{_number(cell['seconds_until_near'], 2)}"
            if (cell := by_model.get(model))
            else "not run"
            for by_model in found.values()
        ]
        lines.append(f"| {model} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _number(value: float, digits: int) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.{digits}g}"
