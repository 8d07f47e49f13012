"""What training a model takes, predicted from sizes alone. Imports no torch.

Counted are float32 values with 32-bit indices on a CPU, where dropout keeps its factors as floats; on a GPU it keeps
bits, so there less is needed. Float64 doubles all but the indices. Activations are those that the backward pass needs
plus the largest passing ones: benchmarks/memory.py compares the sum with what torch allocates.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

VALUE_BYTES = 4
INDEX_BYTES = 4
PARAMETER_COPIES = 5
"""Weights, gradient, two moments of Adam, and the weights of the best epoch."""


@dataclass(frozen=True)
class Sizes:
    """A graph as far as memory depends on it.

    Args:
        nodes: Number of nodes, n.
        entries: Entries of the adjacency matrix: an edge that goes both ways is two.
        features: Number of features, f.
        classes: Number of classes, c.
        feature_entries: Entries of the features where they are stored sparse; ``None`` where dense.
    """

    nodes: int
    entries: int
    features: int
    classes: int
    feature_entries: int | None = None

    @property
    def looped(self) -> int:
        """Entries of the adjacency with a self-loop at every node."""
        return self.entries + self.nodes

    def feature_bytes(self, *, dense: bool = False) -> int:
        """Features as the graph has them, or dense."""
        if dense or self.feature_entries is None:
            return VALUE_BYTES * self.nodes * self.features
        return sparse_bytes(self.nodes, self.features, self.feature_entries)

    def adjacency_bytes(self, *, loops: bool) -> int:
        """An n x n matrix with the entries of the adjacency, and perhaps self-loops, with its transpose."""
        return sparse_bytes(self.nodes, self.nodes, self.looped if loops else self.entries)

    def pattern_bytes(self) -> int:
        """Rows, columns and order of the adjacency's entries, both ways, for attention over neighbours."""
        return INDEX_BYTES * (6 * self.looped + 2 * (self.nodes + 1))


def sparse_bytes(rows: int, columns: int, entries: int) -> int:
    """A sparse matrix by rows and its transpose."""
    return 2 * (VALUE_BYTES + INDEX_BYTES) * entries + INDEX_BYTES * (rows + columns + 2)


def chain(*widths: int) -> int:
    """Parameters of linear maps with bias from each width to the next."""
    return sum((before + 1) * after for before, after in pairwise(widths))
