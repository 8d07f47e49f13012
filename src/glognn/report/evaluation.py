"""What predictions are worth, as tables and pictures, from the record of an evaluation alone."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from glognn.report.document import Cell, Table, columns, numeral, row, table
from glognn.report.figures import COLOURS, line_look, new_figure
from glognn.report.text import class_score, score_text, visible
from glognn.storage import write_atomically
from glognn.training.config import OF_ONE_CLASS

_NUMBERED_UP_TO, _NAMED_UP_TO = 12, 40


def score_table(found: dict[str, Any]) -> Table:
    """Metrics, those of one class with its name, beside those of the baselines; calibration error, also before it."""
    baselines = found.get("baselines", {})
    rows = []
    for name, score in found["scores"].items():
        if found["positive_class"] is None and name in OF_ONE_CLASS:
            continue
        every = [score, *(scores.get(name) for scores in baselines.values())]
        shown = (Cell(score_text(name, each), each) for each in every)
        rows.append(row(class_score(name, found["positive_class"], found["top_k"]), *shown))
    rows.append(row("expected calibration error", _error(found["calibration"])))
    if found["uncalibrated"] is not None:
        rows.append(row("  before calibration", _error(found["uncalibrated"])))
    return table(columns("metric", "score", *baselines, numbers=["score", *baselines]), rows)


def _error(calibration: dict[str, Any]) -> str:
    return f"{100 * calibration['expected_calibration_error']:.2f} %"


def class_table(found: dict[str, Any]) -> Table:
    """For each class its nodes, how many were found and how many predictions were right; few classes: confusion."""
    names, confusion = [str(name) for name in found["classes"]], np.array(found["confusion"])
    few = len(names) <= _NUMBERED_UP_TO
    numbers = ["nodes", "recall, %", "precision, %", *(f"as {name}" for name in names if few)]
    shown = range(len(names)) if few else np.argsort(-confusion.sum(axis=1), kind="stable")[:_NUMBERED_UP_TO]
    rows = []
    for each in shown:
        right, of_class, as_class = confusion[each, each], confusion[each].sum(), confusion[:, each].sum()
        shares = [Cell("-") if not total else numeral(100 * right / total, ".1f") for total in (of_class, as_class)]
        counts = [numeral(int(count), ",") for count in confusion[each] if few]
        rows.append(row(names[each], numeral(int(of_class), ","), *shares, *counts))
    if not few:
        rows.append(row(f"... {len(names) - _NUMBERED_UP_TO} more classes"))
    return table(columns("truth", *numbers, numbers=numbers), rows)


def plot_confusion(found: dict[str, Any], path: Path) -> Path:
    """Shares of each class's nodes by predicted class."""
    names, confusion = [_short(name) for name in found["classes"]], np.array(found["confusion"])
    shares = 100 * confusion / np.maximum(confusion.sum(axis=1, keepdims=True), 1)
    size = 2.6 + 0.35 * min(len(names), _NUMBERED_UP_TO)
    figure = new_figure(size + 1.2, size)
    axes = figure.subplots()
    image = axes.imshow(shares, cmap="cividis", vmin=0, vmax=100)
    if len(names) <= _NAMED_UP_TO:
        rotation = 45 if max(map(len, names)) > 3 and len(names) > 2 else 0
        axes.set_xticks(range(len(names)), names, rotation=rotation, ha="right" if rotation else "center",
                        rotation_mode="anchor", parse_math=False)  # fmt: skip
        axes.set_yticks(range(len(names)), names, parse_math=False)
    if len(names) <= _NUMBERED_UP_TO:
        for (row, column), count in np.ndenumerate(confusion):
            colour = "black" if shares[row, column] > 50 else "white"
            axes.text(column, row, f"{count:,}", ha="center", va="center", color=colour, fontsize=9)
    label = visible(found.get("label") or "class")
    axes.set_xlabel(f"predicted {label}", parse_math=False)
    axes.set_ylabel(f"true {label}", parse_math=False)
    axes.set_title(f"{found['nodes']:,} nodes")
    figure.colorbar(image, ax=axes, label="% of the class's nodes")
    write_atomically(path, partial(figure.savefig, format="png", dpi=150))
    return path


def plot_reliability(found: dict[str, Any], path: Path) -> Path:
    """What came true against what was said, before and after calibration, and how many nodes there are of each.

    Of two classes it is the probability of the positive one, of more that of the predicted class.
    """
    after, before = found["calibration"], found["uncalibrated"]
    class_name = found["positive_class"] if len(found["classes"]) == 2 else None
    figure = new_figure(5.2, 5.4)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1.3))
    upper.plot([0, 1], [0, 1], color="black", linewidth=1, linestyle="--", label="perfect")
    lines = [(after, "this model" if before is None else "calibrated", COLOURS[0], "o-")]
    if before is not None:
        lines.append((before, "before calibration", COLOURS[1], "s--"))
    for each, label, colour, style in lines:
        bins = each["bins"]
        places, shares = [one["confidence"] for one in bins], [one["accuracy"] for one in bins]
        upper.plot(places, shares, style, color=colour, label=f"{label}: error {_error(each)}", clip_on=False, zorder=3)
    said = "the predicted class" if class_name is None else _short(class_name)
    true = "share that is right" if class_name is None else f"share that is {_short(class_name)}"
    upper.set_ylabel(true, parse_math=False)
    upper.set(ylim=(0, 1))
    upper.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), fontsize=9)
    bins = after["bins"]
    width = bins[0]["high"] - bins[0]["low"]
    bars = lower.bar(
        [(each["low"] + each["high"]) / 2 for each in bins], [each["count"] for each in bins], 0.9 * width,
        color=COLOURS[0], alpha=0.6,
    )  # fmt: skip
    lower.bar_label(bars, [f"{each['count']:,}" for each in bins], fontsize=7, padding=1)
    lower.margins(y=0.2)
    lower.set(ylabel="nodes", xlim=(0, 1))
    lower.set_xlabel(f"probability of {said}", parse_math=False)
    for axes in (upper, lower):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    write_atomically(path, partial(figure.savefig, format="png", dpi=150))
    return path


def plot_rankings(found: dict[str, Any], path: Path) -> Path | None:
    """Precision against recall, and recall against false positives, of the positive class or of each of a few.

    Dotted is what chance has, a dot what was predicted. Nothing where the truth is of one class.
    """
    if not found["curves"]:
        return None
    several = len(found["curves"]) > 1
    figure = new_figure(9.4, 4.4 + 0.1 * len(found["curves"]))
    precision_axes, roc_axes = figure.subplots(1, 2)
    chosen, confusion = found["positive_class"], np.array(found["confusion"])
    for number, curve in enumerate(found["curves"]):
        recall, false = np.array(curve["recall"]), np.array(curve["false_positive_rate"])
        precision, look = np.array(curve["precision"]), line_look(number) | {"linewidth": 1.4}
        name = _short(curve["class"]).replace("$", r"\$")
        labels = (name, name) if several else ("average precision", "area")
        steps = float(np.sum(np.diff(recall, prepend=0) * precision))
        area = float(np.trapezoid(np.append(0, recall), np.append(0, false)))
        precision_axes.step(
            np.append(0, recall), np.append(precision[0], precision), where="pre",
            label=f"{labels[0]} {_of(found, 'average_precision', steps)}", **look,
        )  # fmt: skip
        roc_axes.plot(
            np.append(0, false), np.append(0, recall), label=f"{labels[1]} {_of(found, 'roc_auc', area)}", **look
        )
        place = [str(name) for name in found["classes"]].index(curve["class"])
        nodes, predicted = confusion[place].sum(), confusion[:, place].sum()
        right, share = confusion[place, place], nodes / confusion.sum()
        others = confusion.sum() - nodes
        chance = None if several else f"chance {100 * share:.1f} %"
        precision_axes.axhline(share, color=look["color"], linewidth=0.8, linestyle=":", label=chance)
        dot = {"color": look["color"], "markeredgecolor": "black", "markersize": 6}
        shown = None if several else "as predicted"
        if predicted:
            precision_axes.plot(right / nodes, right / predicted, "o", label=shown, **dot)
        roc_axes.plot((predicted - right) / others, right / nodes, "o", label=shown, **dot)
    roc_axes.plot([0, 1], [0, 1], color="black", linewidth=0.8, linestyle=":", label="chance")
    if several:  # below the names of the classes
        precision_axes.plot([], [], color="black", linewidth=0.8, linestyle=":", label="chance")
        for axes in (precision_axes, roc_axes):
            axes.plot([], [], "o", color="white", markeredgecolor="black", markersize=6, label="as predicted")
    of = "of each class" if chosen is None else f"of {_short(chosen)}"
    precision_axes.set_xlabel(f"recall {of}", parse_math=False)
    precision_axes.set_ylabel(f"precision {of}", parse_math=False)
    roc_axes.set_xlabel("share of the others taken for it" if chosen is None else
                        f"share of the others taken for {_short(chosen)}", parse_math=False)  # fmt: skip
    roc_axes.set_ylabel(f"recall {of}", parse_math=False)
    drawn, every = len(found["curves"]), int((confusion.sum(axis=1) > 0).sum())
    largest = f", the {drawn} largest of {every} classes" if several and drawn < every else ""
    for axes, title in ((precision_axes, f"average precision{largest}"), (roc_axes, f"area{largest}")):
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(
            frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncols=2,
            title=title if several else None, title_fontsize=8, alignment="left",
        )  # fmt: skip
    write_atomically(path, partial(figure.savefig, format="png", dpi=150))
    return path


def _of(found: dict[str, Any], metric: str, area: float) -> str:
    """The metric of the one class that is drawn, or of each the area below its curve."""
    score = found["scores"][metric] if found["positive_class"] is not None else area
    return f"{100 * (area if score is None else score):.1f} %"


def _short(name: object) -> str:
    text = visible(str(name))
    return text if len(text) <= 16 else f"{text[:15]}…"
