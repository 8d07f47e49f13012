"""``python -m documents.pictures``: draw the pictures of documents that are made of records."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from documents.tables import ROOT, auto_records, best_searched, glognn2_plain

_SERIES = (
    ("logistic regression", "#999999", "|"),
    ("GloGNN2's defaults", "#56b4e9", "o"),
    ("best of 17, searched", "#d55e00", "D"),
    ("auto, two cores, 300 s", "#009e73", "s"),
    ("auto, GPU, 60 s", "#000000", "^"),
)
"""Colours that are told apart by everyone (Okabe and Ito), and marks that are without colours."""


_LEAST = -5.0
"""Points below which a score is drawn at the edge, with its number."""


def auto() -> None:
    """Scores of auto and of what it must beat, as differences from logistic regression, a line for each graph."""
    gpu, cpu = auto_records()
    base = {name: 100 * each["baselines"]["logistic regression"]["test"]["mean"] for name, each in gpu.items()}
    values = {
        "logistic regression": base,
        "GloGNN2's defaults": glognn2_plain(),
        "best of 17, searched": {name: mean for name, (mean, _) in best_searched().items()},
        "auto, two cores, 300 s": {name: 100 * each["test"]["mean"] for name, each in cpu.items()},
        "auto, GPU, 60 s": {name: 100 * each["test"]["mean"] for name, each in gpu.items()},
    }
    names = sorted(base, key=lambda name: values["auto, GPU, 60 s"][name] - base[name])
    figure, axes = plt.subplots(figsize=(8, 6.5), layout="constrained")
    for label, colour, mark in _SERIES:
        known = [(values[label][name] - base[name], place) for place, name in enumerate(names) if name in values[label]]
        axes.plot(
            [max(gain, _LEAST) for gain, _ in known], [place for _, place in known], mark, color=colour, label=label
        )
        for gain, place in known:
            if gain < _LEAST:
                axes.annotate(f"  {gain:.0f}", (_LEAST, place), va="center", fontsize=8)
    axes.set_yticks(range(len(names)), [f"{name} ({base[name]:.1f})" for name in names])
    axes.set_xlabel("points above logistic regression (its score in brackets)")
    axes.grid(axis="y", color="#dddddd")
    axes.set_axisbelow(True)
    axes.legend(loc="lower right", frameon=True)
    figure.savefig(ROOT / "docs/images/auto.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    auto()
