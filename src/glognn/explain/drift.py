"""Whether new nodes are like those that a model was trained on: column by column, and in what is predicted for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
LIMIT = 0.001
"""Chance, after as many tests as there are columns, below which a difference is one."""
LEAST = 0.1
"""A smaller difference does not matter, however sure it is."""


@dataclass(frozen=True)
class Drift:
    """How one column of known and of new nodes differs.

    Attributes:
        column: Its name.
        known, new: Means of known and new nodes.
        distance: The largest difference between the two distributions (Kolmogorov and Smirnov), from 0 to 1.
        chance: Of a difference so large where there is none, times the number of columns.
        drifted: Whether it is one that matters.
    """

    column: str
    known: float
    new: float
    distance: float
    chance: float
    drifted: bool


def find_drift(names: Sequence[str], known: Floats, new: Floats) -> list[Drift]:
    """Differences between the columns of known and of new nodes, the largest first."""
    from scipy.stats import ks_2samp

    found = []
    for name, before, after in zip(names, known.T, new.T, strict=True):
        before, after = before[np.isfinite(before)], after[np.isfinite(after)]
        if not len(before) or not len(after):
            continue
        result = ks_2samp(before, after, method="asymp")
        chance = min(1.0, float(result.pvalue) * len(names))
        distance = float(result.statistic)
        drifted = chance < LIMIT and distance > LEAST
        found.append(Drift(name, float(before.mean()), float(after.mean()), distance, chance, drifted))
    return sorted(found, key=lambda each: -each.distance)
