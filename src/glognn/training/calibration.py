"""Whether probabilities mean what they say: of predictions made with probability p, a share p should be right.

Guo et al., "On Calibration of Modern Neural Networks", ICML 2017.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

BINS = 10


@dataclass(frozen=True)
class Bin:
    """Predictions whose probability is in (low, high]: their number, mean probability and share of right ones."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


def reliability(confidence: npt.NDArray[np.float64], right: npt.NDArray[np.bool_], bins: int = BINS) -> list[Bin]:
    """Predictions by their probability, in bins of equal width; empty ones are left out."""
    place = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    return [
        Bin(
            low=number / bins,
            high=(number + 1) / bins,
            count=int(inside.sum()),
            confidence=float(confidence[inside].mean()),
            accuracy=float(right[inside].mean()),
        )
        for number in range(bins)
        if (inside := place == number).any()
    ]


def expected_calibration_error(bins: list[Bin]) -> float:
    """Mean distance between probability and share of right ones, over predictions."""
    total = sum(each.count for each in bins)
    return sum(each.count * abs(each.confidence - each.accuracy) for each in bins) / total
