"""What would change a prediction: few supporters or edges without which the model predicts another class.

Greedy, and every step is a run of the model: the set is small and does what it says, and no smaller one is promised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from glognn.explain.explanation import Change

Probabilities = npt.NDArray[np.float64]
Run = Callable[[list[Any]], Probabilities]
"""The class probabilities of the node after taking some away."""

MOST_NODES = 256
"""Supporters that are silenced at most, the strongest."""
MOST_EDGES = 32
"""Edges that are tried, one by one, in each round: those of the node."""
PRUNED = 64
"""A set of so many is looked through for those that it can do without."""


def fewest_nodes(
    supporters: Sequence[int], prediction: int, decide: Callable[[Probabilities], int], run: Run
) -> Change:
    """Silence supporters from the strongest on, twice as many each time, then as few as do; then leave out what is not
    needed."""
    runs = 0

    def tried(removed: list[Any]) -> tuple[bool, Probabilities]:
        nonlocal runs
        runs += 1
        found = run(removed)
        return decide(found) != prediction, found

    ordered = list(supporters[:MOST_NODES])
    few, many, found = 0, 1, np.empty(0)
    flipped = False
    while ordered and not flipped:
        many = min(many, len(ordered))
        flipped, found = tried(ordered[:many])
        if not flipped:
            few = many
            if many == len(ordered):
                break
            many *= 2
    if not flipped:
        found = run([]) if not ordered else found
        return _change("nodes", ordered, decide(found), found, False, runs)
    while many - few > 1:
        middle = (few + many) // 2
        enough, seen = tried(ordered[:middle])
        few, many, found = (few, middle, seen) if enough else (middle, many, found)
    kept = ordered[:many]
    if len(kept) <= PRUNED:
        for each in kept[-2::-1]:
            enough, seen = tried(without := [other for other in kept if other != each])
            if enough:
                kept, found = without, seen
    return _change("nodes", kept, decide(found), found, True, runs)


def fewest_edges(
    edges: Sequence[tuple[int, int]], prediction: int, decide: Callable[[Probabilities], int], run: Run
) -> Change:
    """Cut the edge whose loss lowers the probability of the class most, again and again."""
    left, removed, runs = list(edges[:MOST_EDGES]), list[Any](), 0
    found, flipped = run([]), False
    while left and not flipped:
        trials = [run([*removed, edge]) for edge in left]
        runs += len(trials)
        flips = [place for place, each in enumerate(trials) if decide(each) != prediction]
        best = flips[0] if flips else int(np.argmin([each[prediction] for each in trials]))
        flipped, found = bool(flips), trials[best]
        removed.append(left.pop(best))
    return _change("edges", removed, decide(found), found, flipped, runs)


def _change(kind: str, removed: list[Any], prediction: int, found: Probabilities, flipped: bool, runs: int) -> Change:
    return Change(kind, removed, prediction, tuple(float(each) for each in found), flipped, runs)
