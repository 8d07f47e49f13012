"""The figures of the paper's studies: readable in grey and at column width, as PNG and SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from glognn.experiments.comparison import Comparison
from glognn.report.curves import Curve, line_look, metric_of
from glognn.storage import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")
HATCHES = ("", "//", "..", "xx")
LEGEND_ENTRY = 1.6  # inches


def save_figure(figure: Figure, stem: Path) -> list[Path]:
    """``stem.png`` and ``stem.svg``."""
    paths = [stem.with_name(f"{stem.name}.{suffix}") for suffix in ("png", "svg")]
    for path in paths:
        write_atomically(path, partial(figure.savefig, format=path.suffix[1:], dpi=150))
    return paths


def new_figure(width: float, height: float) -> Figure:
    """An empty figure that needs no screen; inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def plot_bars(comparison: Comparison, families: Sequence[Sequence[str]], stem: Path) -> list[Path]:
    """Grouped bars with standard deviations: a row of axes for each family of models, a group for each dataset."""
    figure = new_figure(max(6.0, 1.1 * len(comparison.datasets)), 2.5 * len(families))
    rows = figure.subplots(len(families), 1, squeeze=False)
    for axes, models in zip(rows[:, 0], families, strict=True):
        width = 0.8 / len(models)
        for number, model in enumerate(models):
            cells = [comparison.cells[dataset, model] for dataset in comparison.datasets]
            places = np.arange(len(cells)) + (number - (len(models) - 1) / 2) * width
            axes.bar(
                places,
                [np.nan if cell.mean is None else cell.mean for cell in cells],
                width,
                yerr=[cell.std or 0.0 for cell in cells],
                error_kw={"elinewidth": 0.8, "capsize": 1.5},
                color=COLOURS[number % len(COLOURS)],
                hatch=HATCHES[number % len(HATCHES)],
                edgecolor="black",
                linewidth=0.5,
                label=model,
            )
        axes.set_xticks(np.arange(len(comparison.datasets)), comparison.datasets)
        axes.set_ylabel("test score (%)")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, ncols=len(models), fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return save_figure(figure, stem)


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
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
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


def plot_heat_maps(panels: Mapping[str, tuple[Any, Any, Any]], stem: Path) -> list[Path]:
    """Z* above, H below, one column for each graph: red positive, blue negative, nodes ordered by class."""
    figure = new_figure(2.9 * len(panels), 5.6)
    grid = figure.subplots(2, len(panels), squeeze=False, height_ratios=(1, 1))
    for column, (name, (coefficients, embedding, classes)) in enumerate(panels.items()):
        bounds = np.flatnonzero(np.diff(classes)) + 0.5
        for row, (matrix, what) in enumerate(((coefficients, "Z*"), (embedding, "H"))):
            axes = grid[row, column]
            limit = float(np.quantile(np.abs(matrix), 0.98)) or 1.0
            image = axes.imshow(matrix, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest")
            for bound in bounds:
                axes.axhline(bound, color="black", linewidth=0.4)
                if row == 0:
                    axes.axvline(bound, color="black", linewidth=0.4)
            axes.set_title(f"{name}, {what}", fontsize=10)
            axes.set_xlabel("node, by class" if row == 0 else "class score")
            axes.set_ylabel("node, by class" if column == 0 else "")
            figure.colorbar(image, ax=axes, shrink=0.8)
    return save_figure(figure, stem)


def plot_distances(panels: Mapping[str, Sequence[Mapping[str, Any]]], stem: Path) -> list[Path]:
    """Same-class nodes by distance, and those with a positive coefficient, on a logarithmic scale."""
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure = new_figure(3.1 * columns, 2.5 * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    for place, axes in enumerate(grid.flat):
        if place >= len(panels):
            axes.set_visible(False)
            continue
        name, found = list(panels.items())[place]
        names = ["none" if row["distance"] == "unreachable" else row["distance"] for row in found]
        places = np.arange(len(found))
        axes.bar(places - 0.2, [row["same"] for row in found], 0.4, color=COLOURS[0], label="same class")
        axes.bar(
            places + 0.2,
            [row["same_positive"] for row in found],
            0.4,
            color=COLOURS[1],
            hatch="//",
            edgecolor="black",
            linewidth=0.4,
            label="same class, Z* > 0",
        )
        axes.set_yscale("symlog", linthresh=1)
        axes.set_xticks(places, names)
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("hops to the node (none: no path)")
        axes.set_ylabel("nodes, average" if place % columns == 0 else "")
        axes.spines[["top", "right"]].set_visible(False)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, fontsize=9, ncols=2, loc="outside upper center")
    return save_figure(figure, stem)
