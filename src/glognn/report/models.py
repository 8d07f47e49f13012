"""The picture that compares models: their scores with the spread over splits, beside the baselines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from glognn.experiments.reports import read_report
from glognn.report.curves import split_folders
from glognn.report.figures import COLOURS, LINE_STYLES, new_figure, plain, save_picture, shortened
from glognn.report.text import scale_of, score_name, unit

PICTURE = "models.png"
_SETS = {"val": ("validation", "o", COLOURS[0], -0.14), "test": ("test", "D", COLOURS[1], 0.14)}
"""By name: what it is called, its marker and colour, and how far from the middle of a row it lies."""
_ROW_HEIGHT, _LONGEST = 0.42, 44  # inches, characters


@dataclass(frozen=True)
class Scores:
    """Of a model on a set, as shares: mean and standard deviation over splits, and where they are known all of them."""

    mean: float
    std: float | None = None
    splits: tuple[float, ...] = ()


@dataclass(frozen=True)
class Row:
    """A model by name, its scores by set, and what is written beside them; the one that matters most is strong."""

    name: str
    scores: Mapping[str, Scores]
    beside: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Baseline:
    """What models must beat: means by set."""

    name: str
    scores: Mapping[str, float] = field(default_factory=dict)


def compare_runs(folder: Path, runs: Sequence[Path], path: Path | None = None) -> Path:
    """The models of a run folder, the best on validation first, into ``models.png`` or another file."""
    rows, reports = [], [read_report(run) for run in runs]
    for run, report in zip(runs, reports, strict=True):
        splits = [read_report(split)["scores"]["selected"] for split in split_folders(run)]
        summed = report["scores"]["selected"]
        scores = {}
        for name in _SETS:
            values = tuple(float(split[name]) for split in splits if _known(split.get(name)))
            found = _mean(summed.get(name))
            if found is not None:
                std = summed[name]["std"] if isinstance(summed[name], dict) else None
                scores[name] = Scores(found, std, values if len(values) > 1 else ())
        rows.append(Row(run.name, scores))
    rows.sort(key=lambda row: -row.scores["val"].mean if "val" in row.scores else math.inf)
    judged: Mapping[str, Any] = next((report["baselines"] for report in reports if "baselines" in report), {})
    baselines = [
        Baseline(name, {each: mean for each in _SETS if (mean := _mean(found.get(each))) is not None})
        for name, found in judged.items()
    ]
    return plot_models(rows, score_name(reports[0]), path or folder / PICTURE, baselines, metric=reports[0]["metric"])


def _known(value: Any) -> bool:
    return value is not None and math.isfinite(value)


def _mean(score: Any) -> float | None:
    """Of a score of one split, or of the mean and deviation of several."""
    mean = score["mean"] if isinstance(score, Mapping) else score
    return float(mean) if _known(mean) else None


def plot_models(
    rows: Sequence[Row],
    score: str,
    path: Path,
    baselines: Sequence[Baseline] = (),
    heading: str = "",
    metric: str = "accuracy",
) -> Path:
    """Points for means, bars for standard deviations, faint points for splits, vertical lines for baselines.

    Args:
        rows: From above to below.
        score: What it is called.
        path: The picture, .png or .svg.
        baselines: On test nodes, where models are shown on them.
        heading: Above what is written beside the rows.
        metric: Whether scores are shares follows from it.
    """
    scale = scale_of(metric)
    shown = [row for row in rows if row.scores]
    tested = any("test" in row.scores for row in shown)
    both = len({name for row in shown for name in row.scores}) > 1
    figure = new_figure(7.6, 1.6 + _ROW_HEIGHT * max(len(shown), 1))
    axes = figure.subplots()
    handles: dict[str, Any] = {}
    for place, row in enumerate(shown):
        for name, found in row.scores.items():
            called, marker, colour, away = _SETS[name]
            away = away if both else 0.0
            drawn_at = [scale * value for value in found.splits], [place + away] * len(found.splits)
            axes.plot(*drawn_at, marker, color=colour, markersize=3.5, alpha=0.4, markeredgewidth=0)
            drawn = axes.errorbar([scale * found.mean], [place + away], xerr=scale * found.std if found.std else None,
                                  fmt=marker, color=colour, markeredgecolor="black", markeredgewidth=0.6, markersize=6,
                                  elinewidth=1.2, capsize=2)  # fmt: skip
            handles.setdefault(called, drawn)
        if row.beside:
            axes.annotate(row.beside, (1.0, place), (6, 0), xycoords=("axes fraction", "data"),
                          textcoords="offset points", va="center", fontsize=9, annotation_clip=False)  # fmt: skip
    for number, baseline in enumerate(baselines):
        value = baseline.scores.get("test" if tested else "val")
        if value is not None:
            line = axes.axvline(scale * value, color="#555555", linewidth=1.2, zorder=0,
                                linestyle=LINE_STYLES[1 + number % (len(LINE_STYLES) - 1)])  # fmt: skip
            handles[f"{shortened(baseline.name, _LONGEST)} ({'test' if tested else 'validation'})"] = line
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_yticks(range(len(shown)), [shortened(row.name, _LONGEST) for row in shown], parse_math=False)
    for label, row in zip(axes.get_yticklabels(), shown, strict=True):
        label.set_fontweight("bold" if row.strong else "normal")
    if heading:
        axes.annotate(heading, (1.0, 1.0), (6, 3), xycoords="axes fraction", textcoords="offset points", fontsize=9)
    spread = ", mean and standard deviation" if any(each.std for row in shown for each in row.scores.values()) else ""
    figure.supxlabel(f"{shortened(score, 60)}{' (%)' if unit(metric) else ''}{spread}", fontsize=10, parse_math=False)
    plain(axes)
    if handles:
        figure.legend(handles.values(), handles, frameon=False, fontsize=9, loc="outside upper center",
                      ncols=2 if len(handles) > 3 else len(handles))  # fmt: skip
    return save_picture(figure, path)
