"""How the time of a portfolio is divided among its members."""

from __future__ import annotations

import statistics
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

WORTH_STARTING = 0.25
"""A member is started while the time left is at least this share of what those before it took on average."""
FIRST_SECONDS, FIRST_SHARE = 20.0, 1 / 15
"""The first member is stopped after so many seconds, or so large a share of the limit if that is more, so that there is
an answer soon.
"""
FEWEST_TRIED, TRIED_SHARE, QUICK = 3, 5, 100
"""Of three splits and more the first fifth is enough to try a member on. All are trained at once where that is quick:
if a hundred times what the first member took is within the limit;
"""
TOGETHER = 500_000
"""and on a GPU, which trains splits in the time of one, up to so many nodes of all splits."""
ROUND, ROUND_TRIED, FAIR, LEAST_SHARE = 0.5, 0.35, 1.5, 1 / 60
"""All members have a turn in this share of the limit (the second where they are tried on some splits): each is stopped
after so many times its equal share of what is left of it, or after this share of the limit if that is more. The rest of
the time is for those that were stopped or tried.
"""
FEWEST_TURNS = 3
"""So many members have a turn, however long they take."""
FEWEST_EPOCHS, LONGEST_TURN = 30, 1 / 6
"""A turn is not over before so many epochs, for less says little of a member. One that is too slow to come to twice as
many by the end of all, or when some have had their turn to so many in this share of the limit, is given up after its
second.
"""
RISEN = 0.001
"""A member whose best scores have risen by less in the last half of its epochs is at rest, once these are as many as
two turns have at least: it goes on when there is nothing else to do.
"""
PATIENT = 1 / 6
"""A member that will hardly become the best goes on before all others have had a turn if it is level with the best and
takes no more than this share of the time left.
"""
MOST_RESERVED = 0.15
"""Of the limit, for the baselines that are fitted when the members are done."""


@dataclass
class Turn:
    """When a member is to be stopped.

    Args:
        deadline: By the clock, at the end of its turn.
        end: By the clock, at the end of all.
        least: Epochs that it has nevertheless, if there is time for twice as many.
        longest: Seconds that these may take.
        parts: How many splits are trained at once, one part after the other; each has its share of the time.
        slow: Seconds of an epoch, where that is too long.
        patient: It goes on though it is at rest.
    """

    deadline: float
    end: float
    least: int = 0
    longest: float = float("inf")
    parts: Sequence[int] = (1,)
    slow: float = 0.0
    patient: bool = False
    _first: int = 0
    _last: int = 0
    _began: float = 0.0
    _share: tuple[float, float] = (0.0, 0.0)

    def over(self, epoch: int) -> bool:
        """Whether to stop after an epoch of the part that is under way; the epochs of the next begin anew."""
        now = time.perf_counter()
        if epoch <= self._last or not self._first:
            part = self.parts[0] / sum(self.parts)
            self.longest *= 1 if self._first else part
            self._began, self._first = now, epoch
            self._share = (now + (self.deadline - now) * part, now + (self.end - now) * part)
            self.parts = self.parts[1:] or (1,)
        self._last = epoch
        deadline, end = self._share
        if epoch >= self.least or now >= end:
            return now >= deadline
        each = (now - self._began) / max(epoch - self._first, 1)
        slow = now + each * (2 * self.least - epoch) > end or each * self.least > self.longest
        self.slow = each if slow else self.slow
        return slow


def promise(curves: Mapping[int, Sequence[float]], taken: float, left: float) -> float:
    """What a member with these validation scores by split and epoch may reach in the seconds that are left.

    Its best score, and if it was stopped what it gained in the last half of its epochs, as if each time as long again
    brought half as much, as far as there is time for that. One that has hardly begun may reach anything, if it
    can be brought to a number of epochs that says something.

    Args:
        curves: The scores of each split.
        taken: Seconds that they took; 0, if it was not stopped.
        left: Seconds.
    """
    epochs, reached = min(map(len, curves.values())), statistics.fmean(map(max, curves.values()))
    if taken and epochs < FEWEST_EPOCHS and 2 * FEWEST_EPOCHS * taken / epochs <= left:
        return float("inf")
    return reached + _risen(curves.values()) * left / (taken + left) if taken and epochs >= FEWEST_EPOCHS else reached


def at_rest(curves: Collection[Sequence[float]]) -> bool:
    """Whether validation scores, of each split by epoch, hardly rise any more (``RISEN``)."""
    return min(map(len, curves)) >= 2 * FEWEST_EPOCHS and _risen(curves) < RISEN


def _risen(curves: Iterable[Sequence[float]]) -> float:
    """What the best scores have gained in the last half of the epochs, mean over splits."""
    return statistics.fmean(max(curve) - max(curve[: (len(curve) + 1) // 2]) for curve in curves)


@dataclass(frozen=True)
class Prospect:
    """What is to be expected of a member that goes on.

    Attributes:
        affordable: There is time to train it on all splits.
        on_all: It goes on on all splits, for it is level with the best or ended where it was tried; else only on those
            that it was tried on, which takes less and tells whether it comes near.
        level: It was tried on some splits, and is level with the best, or weighs much in an ensemble there.
        share: That weight; 0 while others have had no turn, for it would change.
        score: What it has on the splits that all are tried on.
        reached: What it may reach there.
        seconds: What it takes to have on the other splits what it has where it was tried, or to go on as long again.
        least: What it takes at least until it is on all splits.
        behind: It is not expected to become the best.
        rests: Where it would go on, it is at rest.
    """

    affordable: bool
    on_all: bool
    level: bool
    share: float
    score: float
    reached: float
    seconds: float
    least: float
    behind: bool
    rests: bool

    def level_within(self, seconds: float) -> bool:
        return self.level and self.seconds <= seconds


def next_to_go_on(found: Mapping[str, Prospect], left: float, *, others_wait: bool) -> str | None:
    """Which member goes on, if any: the most promising; before it those that are level with the best and take no more
    than a third of the time left, as long as there is time for both, what weighs most first.

    While others wait for a turn, so do those that will hardly become the best, but for the level and quick ones. Those
    at rest come when all others have ended.

    Args:
        found: By the names of members.
        left: Seconds.
        others_wait: Some have had no turn, and there is time for one.
    """
    going = {name: each for name, each in found.items() if each.affordable}
    rising = {name: each for name, each in going.items() if not each.rests}
    going = rising if rising or others_wait else going
    if others_wait:
        going = {name: each for name, each in going.items() if not each.behind or each.level_within(PATIENT * left)}
    if not going:
        return None
    first = max(going, key=lambda name: going[name].reached)
    longest = min(left / 3, left - going[first].least)
    soon = [name for name, each in going.items() if each.level_within(longest)]
    return max(soon, key=lambda name: (going[name].share, going[name].score)) if soon else first
