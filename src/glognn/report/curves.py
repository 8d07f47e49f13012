"""The learning curves of run folders: a panel for each model, made from its records alone."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from glognn.experiments.layout import CURVE
from glognn.experiments.reports import read_report
from glognn.report.figures import LINE_COLOURS, limits, new_figure, plain, save_picture, shortened
from glognn.report.text import scale_of, score_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURE = "curve.png"
_LOOKS: dict[str, dict[str, Any]] = {
    "train": {"color": LINE_COLOURS[1], "linestyle": "--"},
    "val": {"color": LINE_COLOURS[0], "linestyle": "-"},
}
_NAMES = {"train": "training", "val": "validation"}
_MOST_COLUMNS, _LONGEST = 5, 26
_MOST_LINES = 12
"""Splits up to which each has a line of its own behind the mean."""

Curve = dict[str, list[float]]


def read_curves(run: Path) -> list[Curve]:
    """The curves of a run folder, one for each split."""
    return [_read(folder / CURVE) for folder in split_folders(run)]


def split_folders(run: Path) -> list[Path]:
    """The folders of a run's splits that hold a curve: itself, where it is of one split."""
    return [run] if (run / CURVE).is_file() else sorted(path.parent for path in run.glob(f"split-*/{CURVE}"))


def _read(path: Path) -> Curve:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [float(row[name]) for row in rows] for name in (rows[0] if rows else ())}


def metric_of(curve: Curve) -> str:
    """The score that a curve holds beside the losses."""
    return next(name for name in curve if name.startswith("val_") and name != "val_loss").removeprefix("val_")


def plot_curves(folder: Path, runs: Sequence[Path], path: Path | None = None) -> Path:
    """Score above, loss below, a column for each model, into ``curve.png`` or another file; all have the same axes.

    Lines are means over splits as far as all of them go, bands reach from the lowest to the highest split, thin lines
    are splits, and a diamond marks the epoch whose model was kept. Axes leave out what lies far away from the rest.
    """
    from matplotlib.ticker import MaxNLocator

    found = {run: [(split, curve) for split in split_folders(run) if (curve := _read(split / CURVE))] for run in runs}
    found = {run: curves for run, curves in found.items() if curves}
    blocks = max(1, -(-len(found) // _MOST_COLUMNS))
    columns = max(1, -(-len(found) // blocks))
    figure = new_figure(max(6.0, 2.5 * columns + 0.6), 3.6 * blocks + 0.9)
    grid = figure.subplots(2 * blocks, columns, squeeze=False, height_ratios=(3, 2) * blocks)
    for axes in grid.flat:
        axes.set_visible(False)
    every = [curve for curves in found.values() for _, curve in curves]
    metric = metric_of(every[0]) if every else "score"
    score = score_name(read_report(next(iter(found)))) if found else metric
    scale = scale_of(metric)
    scores = [scale * value for curve in every for name in _NAMES for value in curve.get(f"{name}_{metric}", ())]
    losses = [value for curve in every for name in _NAMES for value in curve[f"{name}_loss"]]
    bounds = {"score": limits(scores, robust=False), "loss": limits(losses)}
    handles: dict[str, Any] = {}
    for place, (run, curves) in enumerate(found.items()):
        block, column = divmod(place, columns)
        upper, lower = grid[2 * block, column], grid[2 * block + 1, column]
        last = max(1.0, *(curve["epoch"][-1] for _, curve in curves))
        for axes, what, unit in ((upper, "score", scale), (lower, "loss", 1.0)):
            axes.set_visible(True)
            axes.set_ylim(bounds[what])
            axes.set_xlim(0, 1.04 * last)
            axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
            handles |= _draw(axes, [curve for _, curve in curves], metric if what == "score" else "loss", unit)
            axes.tick_params(labelsize=8, labelleft=column == 0, labelbottom=axes is lower)
        handles |= _mark(upper, curves, metric)
        if len(runs) > 1:
            upper.set_title(shortened(run.name, _LONGEST), fontsize=10, parse_math=False)
        if column == 0:
            upper.set_ylabel(f"{shortened(score, _LONGEST)}{' (%)' if scale > 1 else ''}", parse_math=False)
            lower.set_ylabel("loss (nats)")
        if place + columns >= len(found):
            lower.set_xlabel("epoch")
    splits = max(map(len, found.values()), default=1)
    spread = f": means over {splits} splits, bands from the lowest to the highest" if splits > 1 else ""
    figure.suptitle(f"{shortened(folder.name, 2 * _LONGEST)}{spread}", fontsize=10, parse_math=False)
    figure.legend(handles.values(), handles, frameon=False, fontsize=9, ncols=len(handles), loc="outside lower center")
    return save_picture(figure, path or folder / PICTURE)


def _draw(axes: Axes, curves: Sequence[Curve], what: str, unit: float) -> dict[str, Any]:
    """Training and validation of all splits of a model, and what they are called."""
    handles: dict[str, Any] = {}
    beyond = []
    for name, look in _LOOKS.items():
        values = [unit * np.asarray(curve[f"{name}_{what}"]) for curve in curves if f"{name}_{what}" in curve]
        if not values:
            continue
        values = [np.where(np.isfinite(each), each, np.nan) for each in values]
        epochs = [np.asarray(curve["epoch"]) for curve in curves]
        length = min(map(len, values))
        marker = "o" if length == 1 else ""
        if 1 < len(values) <= _MOST_LINES:
            for place, each in zip(epochs, values, strict=True):
                axes.plot(place, each, linewidth=0.6, alpha=0.35, **look)
        together = np.stack([each[:length] for each in values])
        known = np.isfinite(together)
        count = known.sum(axis=0)
        mean = np.where(count > 0, np.where(known, together, 0.0).sum(axis=0) / np.maximum(count, 1), np.nan)
        [line] = axes.plot(epochs[0][:length], mean, linewidth=1.6, marker=marker, markersize=4, **look)
        handles[_NAMES[name]] = line
        if len(values) > 1:
            lowest = np.where(known, together, np.inf).min(axis=0)
            highest = np.where(known, together, -np.inf).max(axis=0)
            axes.fill_between(epochs[0][:length], lowest, highest, where=count > 0, color=look["color"], alpha=0.15,
                              linewidth=0)  # fmt: skip
        beyond += [each for one in values for each in one[np.isfinite(one)]]
    low, high = axes.get_ylim()
    far = [("↑", max(beyond))] if beyond and max(beyond) > high else []
    far += [("↓", min(beyond))] if beyond and min(beyond) < low else []
    if not beyond:
        axes.text(0.5, 0.5, "no finite value", transform=axes.transAxes, ha="center", va="center", fontsize=8)
    for number, (arrow, value) in enumerate(far):
        behind = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}
        axes.text(0.99, 0.97 - 0.12 * number, f"{arrow} {value:.3g}", transform=axes.transAxes, ha="right", va="top",
                  fontsize=7, color="#555555", bbox=behind)  # fmt: skip
    plain(axes)
    return handles


def _mark(axes: Axes, curves: Sequence[tuple[Path, Curve]], metric: str) -> dict[str, Any]:
    """The epoch of each split whose model was kept."""
    handles = {}
    for split, curve in curves:
        epoch = read_report(split)["scores"]["selected"]["epoch"]
        score = dict(zip(curve["epoch"], curve[f"val_{metric}"], strict=True)).get(epoch, math.nan)
        [handle] = axes.plot([epoch], [scale_of(metric) * score], "D", markersize=4, color="white",
                             markeredgecolor="black", markeredgewidth=0.9, linestyle="none", zorder=5)  # fmt: skip
        handles["epoch kept"] = handle
    return handles
