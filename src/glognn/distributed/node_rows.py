"""Which rows of weights with one for each node a rank has, and how these are drawn as one process would draw them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

_AT_ONCE = 2**16


@dataclass(frozen=True, eq=False)
class NodeRows:
    """The rows of own nodes.

    Args:
        total: Nodes of the whole graph.
        own: The numbers of own nodes.
    """

    total: int
    own: Tensor

    def drawn(self, width: int, draw: Callable[[Tensor], Tensor]) -> Tensor:
        """Own rows of what ``draw`` would fill a total x width tensor with; of the others few are held at a time."""
        ordered, back = self.own.sort()
        kept = []
        for first in range(0, self.total, _AT_ONCE):
            block = draw(torch.empty(min(_AT_ONCE, self.total - first), width))
            begin, end = (
                int(place) for place in torch.searchsorted(ordered, torch.tensor([first, first + len(block)]))
            )
            kept.append(block[ordered[begin:end] - first])
        return torch.cat(kept)[back.argsort()]
