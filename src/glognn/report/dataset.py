"""The picture of a dataset: how many neighbours its nodes have, and which classes link to which."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from glognn.data.statistics import Statistics
from glognn.report.figures import new_figure, plain, save_picture, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NUMBERED_UP_TO, _NAMED_UP_TO = 10, 40
"""Classes up to which the matrix carries numbers, and up to which each has its name beside it."""
_LONGEST_CLASS = 18


def plot_dataset(name: str, found: Statistics, path: Path, class_names: Sequence[Any] | None = None) -> Path:
    """Degree distribution and class-to-class edge matrix into a PNG, SVG or PDF file, by its suffix.

    Args:
        name: Of the dataset.
        found: What was measured of it.
        path: The picture.
        class_names: Of classes 0, 1, ...; their numbers where it has none.
    """
    figure = new_figure(*((9.6, 4.4) if found.classes <= _NUMBERED_UP_TO else (11.4, 6.0)))
    degree_axes, class_axes = figure.subplots(1, 2, width_ratios=(1.1, 1))
    isolated = f", {found.isolated:,} of them isolated and not shown" if found.isolated else ""
    figure.suptitle(
        f"{shortened(name, 60)}: {found.nodes:,} nodes{isolated}, {found.edges_undirected:,} undirected edges",
        fontsize=10,
        parse_math=False,
    )
    _plot_degrees(degree_axes, found)
    image = _plot_classes(class_axes, found, range(found.classes) if class_names is None else class_names)
    figure.colorbar(image, ax=class_axes, label="% of the class's edges", shrink=0.9)
    return save_picture(figure, path)


def _plot_degrees(axes: Axes, found: Statistics) -> None:
    degrees, counts = np.unique(found.degrees[found.degrees > 0], return_counts=True)
    axes.loglog(degrees, counts, "o", markersize=3.5, color="#0072B2", alpha=0.7, markeredgewidth=0)
    mean = found.degree_summary()["mean"]
    axes.axvline(max(mean, 1), color="#D55E00", linestyle="--", linewidth=1, zorder=0)
    axes.set_title(f"dashed: mean degree {mean:.1f}", fontsize=10, color="#D55E00")
    axes.set(xlabel="degree (linked nodes)", ylabel="number of nodes")
    plain(axes)


def _plot_classes(axes: Axes, found: Statistics, class_names: Sequence[Any]) -> Any:
    """Shares of each class's edges by class of the neighbour, and what to make a colour bar of."""
    shares = 100 * found.class_edges
    image = axes.imshow(shares, cmap="cividis", vmin=0, vmax=max(shares.max(initial=1), 1), aspect="auto")
    if found.classes <= _NAMED_UP_TO:
        names = [shortened(each, _LONGEST_CLASS) for each in class_names]
        slanted = max(map(len, names), default=0) > 3
        size = 10 if found.classes <= _NUMBERED_UP_TO else 7
        axes.set_xticks(range(len(names)), names, fontsize=size, rotation=45 if slanted else 0,
                        ha="right" if slanted else "center", rotation_mode="anchor" if slanted else "default",
                        parse_math=False)  # fmt: skip
        axes.set_yticks(range(len(names)), names, fontsize=size, parse_math=False)
    if found.classes <= _NUMBERED_UP_TO:
        middle = shares.max(initial=1) / 2
        for (row, column), share in np.ndenumerate(shares):
            colour = "black" if share > middle else "white"
            axes.text(column, row, f"{share:.0f}", ha="center", va="center", color=colour, fontsize=9)
    edge = found.homophily.edge
    words = f"edge homophily {edge:.2f} (without self-loops)" if not np.isnan(edge) else "no labelled edges"
    axes.set_title(words, fontsize=10)
    axes.set(xlabel="class of the neighbour", ylabel="class of the node")
    return image
