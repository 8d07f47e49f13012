"""The learning-curve picture of a run folder, made from its curve.csv files alone."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from glognn.experiments.layout import CURVE
from glognn.storage import write_atomically

PICTURE = "curve.png"
LINE_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LINE_STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)))

Curve = dict[str, list[float]]


def read_curves(run: Path) -> list[Curve]:
    """The curves of a run folder, one for each split."""
    files = [run / CURVE] if (run / CURVE).is_file() else sorted(run.glob(f"split-*/{CURVE}"))
    curves = []
    for path in files:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        curves.append({name: [float(row[name]) for row in rows] for name in rows[0]})
    return curves


def line_look(number: int) -> dict[str, Any]:
    """Colour and style of a line, as matplotlib takes them: no two alike among the first 35."""
    turn, place = divmod(number, len(LINE_COLOURS))
    return {"color": LINE_COLOURS[place], "linestyle": LINE_STYLES[(place + turn) % len(LINE_STYLES)]}


def metric_of(curve: Curve) -> str:
    """The score that a curve holds beside the losses."""
    return next(name for name in curve if name.startswith("val_") and name != "val_loss").removeprefix("val_")


def plot_curves(folder: Path, runs: Sequence[Path]) -> Path:
    """Validation score and losses against epochs, one colour per model, one line per split; into ``curve.png``."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    score_axes, loss_axes = figure.subplots(1, 2)
    metric = ""
    for number, run in enumerate(runs):
        label = run.name if len(runs) > 1 else None
        for index, curve in enumerate(read_curves(run)):
            metric = metric_of(curve)
            style = line_look(number) | {"linewidth": 1.2, "alpha": 0.8}
            first = label if index == 0 else None
            score = [100 * value for value in curve[f"val_{metric}"]]
            score_axes.plot(curve["epoch"], score, label=first, **style)
            loss_axes.plot(curve["epoch"], curve["val_loss"], label=first, **style)
    score_axes.set(xlabel="epoch", ylabel=f"validation {metric.replace('_', ' ')} (%)")
    loss_axes.set(xlabel="epoch", ylabel="validation loss (nats)")
    for axes in (score_axes, loss_axes):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    if len(runs) > 1:
        score_axes.legend(frameon=False)
    path = folder / PICTURE
    write_atomically(path, lambda temporary: figure.savefig(temporary, format="png", dpi=150))
    return path
