"""Losses and hits of lists of nodes, of many models at once."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from glognn.ops.kernels import usable


class _Losses(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, nodes: Tensor, labels: Tensor, shares: Tensor) -> Tensor:
        from glognn.ops.kernels.scores import measured

        ctx.save_for_backward(logits, nodes, labels, shares)
        return measured(logits, nodes, labels, shares)[0].to(logits.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        from glognn.ops.kernels.scores import measured_backward

        logits, nodes, labels, shares = ctx.saved_tensors
        return measured_backward(logits, nodes, labels, shares, gradients[0].contiguous()), None, None, None


def losses(logits: Tensor, nodes: Tensor, labels: Tensor, shares: Tensor) -> Tensor:
    """The sum over a member's list of share times cross entropy, one for each member.

    Args:
        logits: Class scores, members x n x classes.
        nodes: A list for each member, members x length, of nodes that are different where their share is not 0.
        labels: Their classes.
        shares: How much each counts.
    """
    if usable(logits):
        found: Tensor = _Losses.apply(logits.contiguous(), nodes, labels, shares.to(logits.dtype))  # type: ignore[no-untyped-call]
        return found
    chosen = _gathered(logits, nodes).log_softmax(2).gather(2, labels.unsqueeze(2)).squeeze(2)
    return -(chosen * shares.to(logits.dtype)).sum(1)


def hits(logits: Tensor, nodes: Tensor, labels: Tensor, inside: Tensor) -> Tensor:
    """How many nodes of each list score highest in their class; those not ``inside`` are left out."""
    if usable(logits):
        from glognn.ops.kernels.scores import measured

        return measured(logits.contiguous(), nodes, labels, inside.to(logits.dtype))[1]
    return ((_gathered(logits, nodes).argmax(2) == labels) & inside).sum(1)


def _gathered(logits: Tensor, nodes: Tensor) -> Tensor:
    return logits.gather(1, nodes.unsqueeze(2).expand(-1, -1, logits.shape[2]))
