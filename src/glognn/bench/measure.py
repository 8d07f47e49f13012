"""Times that can be compared: alternating rounds in one process, medians and quartiles."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from glognn.bench.method import Method

TURN_SECONDS = 0.25
FEWEST_EPOCHS = 5
MOST_EPOCHS = 500


@dataclass(frozen=True)
class Spread:
    """Median and quartiles of what the rounds gave."""

    median: float
    lower: float
    upper: float
    rounds: list[float]

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        if len(values) == 1:
            return cls(values[0], values[0], values[0], list(values))
        lower, median, upper = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, lower, upper, list(values))

    def record(self) -> dict[str, float | list[float]]:
        return asdict(self)


def ratio(of: Sequence[float], to: Sequence[float]) -> Spread:
    """``of`` over ``to``, round by round: what slows the whole machine for a while slows both."""
    return Spread.of([first / second for first, second in zip(of, to, strict=True)])


def choose_epochs(method: Method, wanted: int) -> int:
    """The number of timed epochs of a turn: ``wanted``, or when that is 0, enough to fill a quarter of a second."""
    if wanted:
        return wanted
    once = method.seconds(FEWEST_EPOCHS)
    return min(max(FEWEST_EPOCHS, math.ceil(TURN_SECONDS / once)), MOST_EPOCHS)


def alternate(
    turns: Mapping[str, Callable[[], float]], repeats: int, on_turn: Callable[[str, int], None]
) -> dict[str, list[float]]:
    """Give each its turn, round after round, every other round in reverse order; the seconds of every turn, by name."""
    found: dict[str, list[float]] = {name: [] for name in turns}
    for number in range(repeats):
        for name in list(turns)[:: 1 if number % 2 == 0 else -1]:
            on_turn(name, number)
            found[name].append(turns[name]())
    return found
