"""Judging the trials of a search while they train."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from glognn.errors import TrainingError
from glognn.training.together import Outcome, Watcher
from glognn.training.track import Track

if TYPE_CHECKING:
    import optuna

JUDGED_EVERY = 25
"""Epochs between two looks at a trial."""


class Pruning(Watcher):
    """Takes down the best validation score of every split of every trial, and gives up trials that fall behind.

    Member ``t * splits + s`` of the batch is split s of trial t. A split whose training fails counts as 0.
    """

    def __init__(self, trials: Sequence[optuna.Trial], splits: int) -> None:
        self.trials = trials
        self.splits = splits
        self.pruned: set[int] = set()
        self._best = [0.0] * (len(trials) * splits)

    def validation(self, place: int) -> list[float]:
        """The best score on each split of one trial."""
        return self._best[place * self.splits : (place + 1) * self.splits]

    def on_epoch_end(self, epoch: int, alive: Sequence[int], tracks: Sequence[Track]) -> Sequence[int]:
        if epoch % JUDGED_EVERY:
            return ()
        for member, track in zip(alive, tracks, strict=True):
            self._best[member] = 0.0 if track.best is None else track.best.val
        for place in sorted({member // self.splits for member in alive}):
            self.trials[place].report(statistics.fmean(self.validation(place)), epoch)
            if self.trials[place].should_prune():
                self.pruned.add(place)
        return [member for member in alive if member // self.splits in self.pruned]

    def on_member_end(self, member: int, outcome: Outcome) -> None:
        if isinstance(outcome, TrainingError):
            self.trials[member // self.splits].set_user_attr("diverged", True)
            self._best[member] = 0.0
        else:
            self._best[member] = outcome.best.val
