"""What predictions are worth, as tables and pictures, from the record of an evaluation alone."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from glognn.report.figures import COLOURS, new_figure
from glognn.report.text import class_score, visible
from glognn.storage import write_atomically

_NUMBERED_UP_TO, _NAMED_UP_TO = 12, 40


def score_table(found: dict[str, Any]) -> Table:
    """Metrics, those of one class with its name, beside those of the baselines; calibration error; all in percent."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("metric")
    baselines = found.get("baselines", {})
    for heading in ("%", *(f"{name}, %" for name in baselines)):
        table.add_column(heading, justify="right")
    for name, score in found["scores"].items():
        every = [score, *(scores.get(name) for scores in baselines.values())]
        shown = ["undefined" if each is None else f"{100 * each:.2f}" for each in every]
        table.add_row(escape(class_score(name, found["positive_class"])), *shown)
    table.add_row("expected calibration error", f"{100 * found['calibration']['expected_calibration_error']:.2f}")
    return table


def class_table(found: dict[str, Any]) -> Table:
    """For each class its nodes, how many were found and how many predictions were right; few classes: confusion."""
    names, confusion = [str(name) for name in found["classes"]], np.array(found["confusion"])
    few = len(names) <= _NUMBERED_UP_TO
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("truth")
    for heading in ("nodes", "recall, %", "precision, %", *(f"as {name}" for name in names if few)):
        table.add_column(heading, justify="right")
    shown = range(len(names)) if few else np.argsort(-confusion.sum(axis=1), kind="stable")[:_NUMBERED_UP_TO]
    for row in shown:
        right, of_class, as_class = confusion[row, row], confusion[row].sum(), confusion[:, row].sum()
        shares = [f"{100 * right / total:.1f}" if total else "-" for total in (of_class, as_class)]
        table.add_row(names[row], f"{of_class:,}", *shares, *(f"{n:,}" for n in confusion[row] if few))
    if not few:
        table.add_row(f"... {len(names) - _NUMBERED_UP_TO} more classes")
    return table


def plot_confusion(found: dict[str, Any], path: Path) -> Path:
    """Shares of each class's nodes by predicted class."""
    names, confusion = [visible(str(name)) for name in found["classes"]], np.array(found["confusion"])
    shares = 100 * confusion / np.maximum(confusion.sum(axis=1, keepdims=True), 1)
    size = 2.6 + 0.35 * min(len(names), _NUMBERED_UP_TO)
    figure = new_figure(size + 1.2, size)
    axes = figure.subplots()
    image = axes.imshow(shares, cmap="cividis", vmin=0, vmax=100)
    if len(names) <= _NAMED_UP_TO:
        short = [name if len(name) <= 16 else f"{name[:15]}…" for name in names]
        rotation = 45 if max(map(len, short)) > 3 else 0
        axes.set_xticks(range(len(names)), short, rotation=rotation, ha="center", parse_math=False)
        axes.set_yticks(range(len(names)), short, parse_math=False)
    if len(names) <= _NUMBERED_UP_TO:
        for (row, column), count in np.ndenumerate(confusion):
            colour = "black" if shares[row, column] > 50 else "white"
            axes.text(column, row, f"{count:,}", ha="center", va="center", color=colour, fontsize=9)
    axes.set(xlabel="predicted class", ylabel="true class", title=f"{found['nodes']:,} nodes")
    figure.colorbar(image, ax=axes, label="% of the class's nodes")
    write_atomically(path, partial(figure.savefig, format="png", dpi=150))
    return path


def plot_reliability(found: dict[str, Any], path: Path) -> Path:
    """Share of right predictions against their probability, and how many there are of each."""
    calibration = found["calibration"]
    bins = calibration["bins"]
    figure = new_figure(4.6, 4.6)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    upper.plot([0, 1], [0, 1], color="black", linewidth=1, linestyle="--", label="perfect")
    places = [each["confidence"] for each in bins]
    upper.plot(places, [each["accuracy"] for each in bins], "o-", color=COLOURS[0], label="this model")
    error = 100 * calibration["expected_calibration_error"]
    upper.set(ylabel="share of right predictions", ylim=(0, 1), title=f"expected calibration error {error:.1f} %")
    upper.legend(frameon=False, loc="upper left")
    width = 0.9 * (bins[0]["high"] - bins[0]["low"])
    lower.bar([(each["low"] + each["high"]) / 2 for each in bins], [each["count"] for each in bins], width,
              color=COLOURS[1])  # fmt: skip
    lower.set(xlabel="probability of the predicted class", ylabel="nodes", xlim=(0, 1))
    for axes in (upper, lower):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    write_atomically(path, partial(figure.savefig, format="png", dpi=150))
    return path
