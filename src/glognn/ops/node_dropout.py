"""Dropout that follows from seed, epoch, layer, node and column alone, whichever process computes the node.

Each group of four columns of a node has a counter, which the finaliser of SplitMix64 (Steele, Lea and Flood, 2014)
makes 64 bits of: four numbers of 16. The probability is thereby rounded to a multiple of 2^-16, and the values kept are
scaled by the rounded one, as in :mod:`glognn.ops.dropout`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from glognn.ops.dropout_mode import DropoutMode

_LEVELS = 2**16
_AT_ONCE = 2**20
"""Numbers that are drawn at a time: what is held of them passes."""


def _signed(number: int) -> int:
    """The same 64 bits as torch has them."""
    number %= 2**64
    return number - 2**64 if number >= 2**63 else number


_STEP, _FIRST, _SECOND = (_signed(each) for each in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def _shifted(bits: Tensor, places: int) -> Tensor:
    """To the right, zeros coming in."""
    return (bits >> places) & ((1 << (64 - places)) - 1)


def mixed(counters: Tensor) -> Tensor:
    """64 bits for each counter, int64; every bit depends on all bits of the counter."""
    bits = counters * _STEP
    bits = (bits ^ _shifted(bits, 30)) * _FIRST
    bits = (bits ^ _shifted(bits, 27)) * _SECOND
    return bits ^ _shifted(bits, 31)


class NodeDropout(DropoutMode):
    """Within this context every dropout of values with a row for each node draws by node.

    Args:
        nodes: The number of each row's node in the whole graph.
        seed: Of the training.
        split: It trains on.
    """

    def __init__(self, nodes: Tensor, seed: int, split: int) -> None:
        super().__init__()
        self.nodes = nodes
        self._seed, self._split = seed, split
        self._key, self._layer = 0, 0

    def begin(self, epoch: int) -> None:
        """The draws of an epoch begin; they are the same however often it is begun."""
        self._key, self._layer = 0, 0
        for number in (self._seed, self._split, epoch):
            self._key = int(mixed(torch.tensor(_signed(self._key + number + 1))))

    def _dropout(self, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        if not training or p == 0:
            return input
        return input * self.factors(input.shape[1], p, input.dtype)

    def factors(self, width: int, p: float, dtype: torch.dtype) -> Tensor:
        """0 with probability p, else 1 / (1 - p), for each node and column of the next layer."""
        self._layer += 1
        key = int(mixed(torch.tensor(_signed(self._key + self._layer))))
        threshold = min(round(p * _LEVELS), _LEVELS - 1)
        groups = -(-width // 4)
        columns = torch.arange(groups, device=self.nodes.device)
        places = torch.arange(0, 64, 16, device=self.nodes.device)
        factors = torch.empty(len(self.nodes), width, dtype=dtype, device=self.nodes.device)
        step = max(1, _AT_ONCE // groups)
        for first in range(0, len(self.nodes), step):
            rows = mixed(self.nodes[first : first + step] + key).unsqueeze(1)
            numbers = (mixed(rows + columns).unsqueeze(2) >> places) & (_LEVELS - 1)
            factors[first : first + step] = (numbers.flatten(1)[:, :width] >= threshold).to(dtype)
        return factors.mul_(_LEVELS / (_LEVELS - threshold))
