"""Losses and hits of chosen nodes in one pass over their class scores."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

ROWS = 256


@triton.jit
def _rows(logits, nodes, labels, position, inside, total, classes, CLASSES: tl.constexpr):
    """Class scores of nodes at some positions of the list, where they are, and what loss and gradient need of them."""
    node = tl.load(nodes + position, mask=inside, other=0)
    label = tl.load(labels + position, mask=inside, other=0)
    column = tl.arange(0, CLASSES)
    known = inside[:, None] & (column < classes)[None, :]
    place = (tl.program_id(1).to(tl.int64) * total + node)[:, None] * classes + column[None, :]
    score = tl.load(logits + place, mask=known, other=float("-inf"))
    score = tl.where(inside[:, None], score, 0.0)
    largest = tl.max(score, axis=1)
    exponents = tl.exp(score - largest[:, None])
    summed = tl.sum(exponents, axis=1)
    return (
        score,
        place,
        known,
        exponents / summed[:, None],
        largest + tl.log(summed),
        column[None, :] == label[:, None],
        label,
    )


@triton.jit
def measure(
    logits, nodes, labels, shares, losses, hits, length, total, classes, CLASSES: tl.constexpr, ROWS: tl.constexpr
):
    """For each program the sum of share * cross entropy over its positions, and of those whose class scores highest."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    position = tl.program_id(1).to(tl.int64) * length + row
    share = tl.load(shares + position, mask=row < length, other=0.0)
    inside = share > 0
    score, _, _, _, summed, own, label = _rows(logits, nodes, labels, position, inside, total, classes, CLASSES)
    picked = tl.sum(tl.where(own, score, 0.0), axis=1)
    loss = tl.where(inside, share.to(tl.float64) * (summed - picked).to(tl.float64), 0.0)
    right = inside & (tl.argmax(score, axis=1, tie_break_left=True) == label)
    out = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
    tl.store(losses + out, tl.sum(loss, axis=0))
    tl.store(hits + out, tl.sum(right.to(tl.int32), axis=0))


@triton.jit
def measure_backward(
    logits, nodes, labels, shares, scale, gradient, length, total, classes, CLASSES: tl.constexpr, ROWS: tl.constexpr
):
    """gradient[node] = scale * share * (softmax - label), for nodes that are each in the list once."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    position = tl.program_id(1).to(tl.int64) * length + row
    share = tl.load(shares + position, mask=row < length, other=0.0)
    inside = share > 0
    _, place, known, likely, _, own, _ = _rows(logits, nodes, labels, position, inside, total, classes, CLASSES)
    factor = share * tl.load(scale + tl.program_id(1))
    tl.store(gradient + place, (likely - own.to(likely.dtype)) * factor[:, None], mask=known)


def measured(logits: Tensor, nodes: Tensor, labels: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
    """Loss, in float64, and hits of each member."""
    (members, total, classes), length = logits.shape, nodes.shape[1]
    programs = triton.cdiv(length, ROWS)
    losses = torch.zeros(members, programs, dtype=torch.float64, device=logits.device)
    hits = torch.zeros(members, programs, dtype=torch.int32, device=logits.device)
    if length:
        measure[(programs, members)](
            logits,
            nodes,
            labels,
            shares,
            losses,
            hits,
            length,
            total,
            classes,
            CLASSES=triton.next_power_of_2(classes),
            ROWS=ROWS,
        )
    return losses.sum(1), hits.sum(1)


def measured_backward(logits: Tensor, nodes: Tensor, labels: Tensor, shares: Tensor, scale: Tensor) -> Tensor:
    """The gradient of the losses, each times the member's ``scale``."""
    (members, total, classes), length = logits.shape, nodes.shape[1]
    gradient = torch.zeros_like(logits)
    if length:
        measure_backward[(triton.cdiv(length, ROWS), members)](
            logits,
            nodes,
            labels,
            shares,
            scale,
            gradient,
            length,
            total,
            classes,
            CLASSES=triton.next_power_of_2(classes),
            ROWS=ROWS,
        )
    return gradient
