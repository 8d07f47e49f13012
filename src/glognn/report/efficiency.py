"""The curves of the efficiency study: in numbers (time of an epoch, best score, time until near it), and drawn."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from glognn.report.curves import Curve, metric_of
from glognn.report.document import Cell, Table, columns, row, table
from glognn.report.figures import line_look, new_figure, plain, save_figure

NEAR = 1.0
"""Percentage points below a run's best validation score that count as having reached it."""
LEGEND_ENTRY = 1.6  # inches
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


def efficiency_table(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Table:
    """A row for each model; for each dataset ms per epoch, best validation score and seconds until near it."""
    models = list(dict.fromkeys(model for by_model in found.values() for model in by_model))
    first = f"ms per epoch; best validation, %; s until within {NEAR:g} of it"
    rows = [row(model, *(_cell(by_model.get(model)) for by_model in found.values())) for model in models]
    return table(columns(first, *found, numbers=found), rows)


def _cell(cell: Mapping[str, Any] | None) -> Cell:
    if cell is None:
        return Cell("not run")
    words = (
        f"{_number(cell['milliseconds_per_epoch'], 3)}; {cell['validation']:.1f}; "
        f"{_number(cell['seconds_until_near'], 2)}"
    )
    return Cell(words, cell["milliseconds_per_epoch"])


def _number(value: float, digits: int) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.{digits}g}"


def plot_efficiency(panels: Mapping[str, Mapping[str, Sequence[Curve]]], stem: Path) -> list[Path]:
    """Best validation score so far against training time: the median over repeats, and a band from least to most.

    ``panels`` holds, by dataset and model, a curve for each repeat.
    """
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    width = max(3.2 * columns, 6.4)
    figure = new_figure(width, 2.6 * rows + 0.5)
    grid = figure.subplots(rows, columns, squeeze=False)
    names = list(dict.fromkeys(model for models in panels.values() for model in models))
    for place, axes in enumerate(grid.flat):
        if place >= len(panels):
            axes.set_visible(False)
            continue
        name, models = list(panels.items())[place]
        metric = metric_of(next(iter(models.values()))[0])
        for model, curves in models.items():
            first = max(curve["seconds"][0] for curve in curves)
            times = np.geomspace(first, min(curve["seconds"][-1] for curve in curves), 200)
            best = [np.maximum.accumulate(np.asarray(curve[f"val_{metric}"]) * 100) for curve in curves]
            values = np.stack(
                [
                    score[np.searchsorted(curve["seconds"], times, side="right") - 1]
                    for score, curve in zip(best, curves, strict=True)
                ]
            )
            look = line_look(names.index(model))
            thick = 2.4 if model.startswith("glognn") else 1.3
            axes.plot(times, np.median(values, axis=0), linewidth=thick, label=model, **look)
            band = values.min(axis=0), values.max(axis=0)
            axes.fill_between(times, *band, color=look["color"], alpha=0.18, linewidth=0)
        axes.set_xscale("log")
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("training time (s)")
        axes.set_ylabel(f"validation {metric.replace('_', ' ')} (%)")
        plain(axes)
    handles = {
        label: handle for axes in grid.flat for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        [handles[name] for name in names],
        names,
        frameon=False,
        fontsize=9,
        ncols=min(len(names), int(width / LEGEND_ENTRY)),
        loc="outside upper center",
        handlelength=3.5,
    )
    return save_figure(figure, stem)
