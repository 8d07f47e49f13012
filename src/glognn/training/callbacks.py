"""Hooks into training: derive from :class:`Callback` and override what you need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from glognn.models.base import NodeModel
    from glognn.training.config import TrainingConfig
    from glognn.training.track import TrainingResult


class Callback:
    """Called by the training loop; an exception raised here ends the training and reaches the caller.

    Resumed training calls ``on_epoch_end`` only for the epochs that are still to be done.
    """

    def on_train_begin(self, info: dict[str, Any]) -> None:
        """``info``: model, split, seed, epochs (at most), start_epoch, metric, device, num_parameters."""

    def on_epoch_end(self, metrics: dict[str, float]) -> None:
        """``metrics``: epoch (from 1), train_loss, val_loss, train_<metric>, val_<metric>, seconds so far."""

    def on_train_end(self, result: TrainingResult) -> None:
        """Not called when training ends with an exception."""


def describe(
    model: NodeModel[Any], config: TrainingConfig, split: int, start_epoch: int, device: torch.device
) -> dict[str, Any]:
    """What :meth:`Callback.on_train_begin` is told."""
    return {
        "model": model.config_class.name,
        "split": split,
        "seed": config.seed,
        "epochs": config.epochs,
        "start_epoch": start_epoch,
        "metric": config.metric,
        "device": str(device),
        "num_parameters": sum(parameter.numel() for parameter in model.parameters()),
    }
