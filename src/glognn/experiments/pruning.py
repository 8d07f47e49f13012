"""Judging the trials of a search while they train."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from glognn.errors import TrainingError
from glognn.training.driver import Ending
from glognn.training.history import History

if TYPE_CHECKING:
    import optuna

JUDGED_EVERY = 25
"""Epochs between two looks at a trial."""

LATER = 1_000_000


class Pruning:
    """Takes down the best validation score of every split of every trial, and gives up trials that fall behind.

    Member ``t * splits + s`` is split s of trial t. Members may train in several batches, one after another: a trial is
    then judged by the splits begun so far. A split whose training fails counts as 0. The default settings, which the
    others are compared with, are never given up.
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

    def judge(self, epoch: int, going: Mapping[int, History]) -> list[int]:
        """The members of the batch whose trials are given up; see :data:`~glognn.training.driver.Judge`."""
        if epoch % JUDGED_EVERY:
            return []
        for place, history in going.items():
            self._best[self._batch[place]] = 0.0 if history.best is None else history.best.val
        for trial in sorted({self._batch[place] // self.splits for place in going}):
            # Later batches count as later steps, so that trials are compared at the same stage.
            self.trials[trial].report(statistics.fmean(self.validation(trial)), epoch + LATER * (self._batches - 1))
            if self.trials[trial].should_prune() and self.trials[trial].user_attrs.get("origin") != "default":
                self.pruned.add(trial)
        return [place for place in going if self._batch[place] // self.splits in self.pruned]

    def end(self, endings: Sequence[Ending | None]) -> None:
        """What the members of the batch came to; those that were given up keep the score they had then."""
        for member, ending in zip(self._batch, endings, strict=True):
            if isinstance(ending, TrainingError):
                self.trials[member // self.splits].set_user_attr("diverged", True)
                self._best[member] = 0.0
            elif ending is not None:
                self._best[member] = ending.best.val
