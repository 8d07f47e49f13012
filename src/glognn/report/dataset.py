"""The picture of a dataset: how many neighbours its nodes have, and which classes link to which."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from glognn.data.statistics import Statistics
from glognn.report.text import visible
from glognn.storage import write_atomically

_NUMBERED_UP_TO = 10
"""Classes up to which the matrix carries numbers."""


def plot_dataset(name: str, found: Statistics, path: Path) -> Path:
    """Degree distribution and class-to-class edge matrix into a PNG or SVG file, by its suffix."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    degree_axes, class_axes = figure.subplots(1, 2, width_ratios=(1.25, 1))
    degrees, counts = np.unique(found.degrees[found.degrees > 0], return_counts=True)
    degree_axes.loglog(degrees, counts, "o", markersize=3.5, color="#0072B2", alpha=0.7, markeredgewidth=0)
    summary = found.degree_summary()
    degree_axes.axvline(max(summary["mean"], 1), color="#D55E00", linestyle="--", linewidth=1)
    degree_axes.annotate(
        f"mean {summary['mean']:.1f}",
        (max(summary["mean"], 1), 0.97),
        xycoords=("data", "axes fraction"),
        xytext=(4, 0),
        textcoords="offset points",
        va="top",
        color="#D55E00",
    )
    title = f"{visible(name)}: {found.nodes:,} nodes, {found.edges_undirected:,} undirected edges"
    if found.isolated:
        title += f"\n{found.isolated:,} isolated nodes are not shown"
    degree_axes.set_title(title, fontsize=10, parse_math=False)
    degree_axes.set(xlabel="degree (linked nodes)", ylabel="number of nodes")
    degree_axes.grid(alpha=0.3)
    degree_axes.spines[["top", "right"]].set_visible(False)
    shares = 100 * found.class_edges
    image = class_axes.imshow(shares, cmap="cividis", vmin=0, vmax=max(100 * found.class_edges.max(initial=0.01), 1))
    ticks = np.arange(found.classes)
    class_axes.set_xticks(ticks)
    class_axes.set_yticks(ticks)
    class_axes.tick_params(labelsize=10 if found.classes <= _NUMBERED_UP_TO else 7)
    if found.classes <= _NUMBERED_UP_TO:
        middle = shares.max(initial=1) / 2
        for (row, column), share in np.ndenumerate(shares):
            colour = "black" if share > middle else "white"
            class_axes.text(column, row, f"{share:.0f}", ha="center", va="center", color=colour, fontsize=9)
    edge = found.homophily.edge
    class_axes.set_title(
        f"edge homophily {edge:.2f} (without self-loops)" if not np.isnan(edge) else "no labelled edges", fontsize=10
    )
    class_axes.set(xlabel="class of the neighbour", ylabel="class of the node")
    figure.colorbar(image, ax=class_axes, label="% of the class's edges")
    kind = path.suffix.removeprefix(".") or "png"
    write_atomically(path, lambda temporary: figure.savefig(temporary, format=kind, dpi=150))
    return path
