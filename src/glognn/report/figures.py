"""What all pictures share, and the figures of the paper's studies: readable in grey and at column width."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from glognn.experiments.comparison import Comparison
from glognn.report.text import visible
from glognn.storage import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")
HATCHES = ("", "//", "..", "xx")
LINE_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LINE_STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)))
_FONTS = ("Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "Microsoft YaHei", "PingFang SC",
          "Hiragino Sans", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari", "Arial Unicode MS",
          "Unifont")  # fmt: skip
"""Tried, where they are installed, for letters that matplotlib's own font lacks."""


def save_picture(figure: Figure, path: Path) -> Path:
    """Write a picture in the format of its suffix; names may be in any script that an installed font has."""
    from matplotlib import font_manager, rc_context, rcParams

    installed = {font.name for font in font_manager.fontManager.ttflist}
    families = [*rcParams["font.sans-serif"], *(name for name in _FONTS if name in installed)]
    with rc_context({"font.sans-serif": families}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        write_atomically(path, partial(figure.savefig, format=path.suffix[1:] or "png", dpi=150))
    return path


def save_figure(figure: Figure, stem: Path) -> list[Path]:
    """``stem.png`` and ``stem.svg``."""
    return [save_picture(figure, stem.with_name(f"{stem.name}.{suffix}")) for suffix in ("png", "svg")]


def shortened(name: Any, most: int) -> str:
    """A name of a user on a picture: nothing in it is a command, and what is too long ends in dots."""
    text = " ".join(visible(str(name)).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def limits(values: Iterable[float], *, robust: bool = True) -> tuple[float, float]:
    """Limits of an axis, with some room; unless not ``robust``, values far away from the others do not stretch it.

    Far is beyond Tukey's outer fences: further from the middle half of the values than three times its width. Where
    that half is one value, the middle nine tenths count instead.
    """
    found = np.asarray(list(values), dtype=float)
    found = found[np.isfinite(found)]
    if not found.size:
        return 0.0, 1.0
    for inner in (0.25, 0.05) if robust else ():
        first, last = np.quantile(found, (inner, 1 - inner))
        if last > first:
            found = found[np.abs(found - (first + last) / 2) <= 3.5 * (last - first)]
            break
    low, high = found.min(), found.max()
    margin = 0.05 * (high - low) or max(0.05 * abs(high), 1e-3)
    return float(low - margin), float(high + margin)


def line_look(number: int) -> dict[str, Any]:
    """Colour and style of a line, as matplotlib takes them: no two alike among the first 35."""
    turn, place = divmod(number, len(LINE_COLOURS))
    return {"color": LINE_COLOURS[place], "linestyle": LINE_STYLES[(place + turn) % len(LINE_STYLES)]}


def plain(axes: Axes) -> None:
    """A faint grid behind the data, and no frame above and at the right."""
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


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
