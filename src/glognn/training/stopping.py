"""When to stop before the last epoch."""

from __future__ import annotations

from collections.abc import Sequence


def exceeds_recent_mean(val_losses: Sequence[float], window: int) -> bool:
    """The paper's rule: the latest validation loss is above the mean of the ``window`` before it.

    It may hold only after more than ``window + 1`` epochs, as in the released code.
    """
    if len(val_losses) <= window + 1:
        return False
    return val_losses[-1] > sum(val_losses[-window - 1 : -1]) / window


def out_of_patience(epoch: int, best_epoch: int, patience: int) -> bool:
    """No improvement for ``patience`` epochs."""
    return epoch - best_epoch >= patience
