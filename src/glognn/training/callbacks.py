"""Hooks into training: derive from :class:`Callback` and override what you need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glognn.training.history import TrainingResult


class Callback:
    """Called while one model trains, or several as one; an exception raised here ends the training.

    Resumed training calls ``on_epoch_end`` only for the epochs that are still to be done.
    """

    def on_train_begin(self, info: dict[str, Any]) -> None:
        """``info``: model, split, seed, epochs (at most), start_epoch, metric, device, engine, num_parameters, members.

        Where several train as one, ``members`` counts them, and split and seed are the first one's.
        """

    def on_epoch_end(self, metrics: dict[str, float]) -> None:
        """``metrics``: epoch (from 1), train_loss, val_loss, train_<metric>, val_<metric>, seconds so far.

        Where several train as one, means over those that still do, and the sum of their seconds.
        """

    def on_train_end(self, result: TrainingResult) -> None:
        """For each model, which has its selected weights; not for one that ends with an error.

        Where several train as one, ``result.member`` says which.
        """

    def on_saved(self, members: Sequence[int]) -> None:
        """No checkpoint needs these members any more: they ended, before or in the epoch just saved."""
