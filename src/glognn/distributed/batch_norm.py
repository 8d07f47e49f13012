"""Batch normalisation over the nodes of all ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from glognn.distributed.ranks import over_ranks


class BatchNormOverRanks(TorchFunctionMode):
    """Within this context every ``F.batch_norm`` in training takes mean and variance over the nodes of all ranks.

    Args:
        count: Nodes of all ranks together.
    """

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is F.batch_norm:
            return self._batch_norm(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

    def _batch_norm(
        self,
        input: Tensor,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        training: bool = False,
        momentum: float = 0.1,
        eps: float = 1e-5,
    ) -> Tensor:
        if not training:
            return F.batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
        mean = over_ranks(input.sum(dim=0)) / self.count
        centred = input - mean
        variance = over_ranks(centred.square().sum(dim=0)) / self.count
        if running_mean is not None and running_var is not None:
            with torch.no_grad():
                running_mean.lerp_(mean.detach().to(running_mean.dtype), momentum)
                unbiased = variance.detach() * (self.count / max(self.count - 1, 1))
                running_var.lerp_(unbiased.to(running_var.dtype), momentum)
        normed = centred * torch.rsqrt(variance + eps)
        normed = normed if weight is None else normed * weight
        return normed if bias is None else normed + bias
