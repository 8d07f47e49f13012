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

LATER = 1_000_000


class Pruning(Watcher):
    """Takes down the best validation score of every split of every trial, and gives up trials that fall behind.

    Member ``t * splits + s`` is split s of trial t. Members may train in several batches, one after another: a trial is
    then judged by the splits begun so far. A split whose training fails counts as 0.
    """

    def __init__(self, trials: Sequence[optuna.Trial], splits: int) -> None:
        self.trials = trials
        self.splits = splits
        self.pruned: set[int] = set()
        self._best: dict[int, float] = {}
        self._batch: Sequence[int] = ()
        self._batches = 0

    def begin(self, members: Sequence[int]) -> None:
        """The next batch trains these members."""
        self._batch = members
        self._batches += 1

    def validation(self, place: int) -> list[float]:
        """The best score on each split of one trial that was begun."""
        members = range(place * self.splits, (place + 1) * self.splits)
        return [self._best[member] for member in members if member in self._best]

    def on_epoch_end(self, epoch: int, alive: Sequence[int], tracks: Sequence[Track]) -> Sequence[int]:
        if epoch % JUDGED_EVERY:
            return ()
        going = [self._batch[place] for place in alive]
        for member, track in zip(going, tracks, strict=True):
            self._best[member] = 0.0 if track.best is None else track.best.val
        for trial in sorted({member // self.splits for member in going}):
            # Later batches count as later steps, so that trials are compared at the same stage.
            self.trials[trial].report(statistics.fmean(self.validation(trial)), epoch + LATER * (self._batches - 1))
            if self.trials[trial].should_prune():
                self.pruned.add(trial)
        return [place for place in alive if self._batch[place] // self.splits in self.pruned]

    def on_member_end(self, member: int, outcome: Outcome) -> None:
        member = self._batch[member]
        if isinstance(outcome, TrainingError):
            self.trials[member // self.splits].set_user_attr("diverged", True)
            self._best[member] = 0.0
        else:
            self._best[member] = outcome.best.val
