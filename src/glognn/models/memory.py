"""What training a model takes, predicted from sizes alone. Imports no torch.

Counted are float32 values with 32-bit indices on a CPU, where dropout keeps its factors as floats; on a GPU it keeps
bits, so there less is needed. Float64 doubles all but the indices. Activations are those that the backward pass needs
plus the largest passing ones: benchmarks/memory.py compares the sum with what torch allocates.
"""

from __future__ import annotations

from dataclasses import dataclass

VALUE_BYTES = 4
INDEX_BYTES = 4
LONG_BYTES = 8
PARAMETER_COPIES = 5
"""Weights, gradient, two moments of Adam, and the weights of the best epoch."""
SECOND_NEIGHBOURS = 17
"""Pairs of nodes at distance 2 for each entry of the adjacency: the median over eleven real graphs.

It depends on how hubs and triangles lie, and follows from no size: 2 on a grid (Minesweeper), 12 on Pubmed, 21 on
Squirrel, 47 on Actor.
"""


@dataclass(frozen=True)
class Sizes:
    """A graph as far as memory depends on it.

    Args:
        nodes: Number of nodes, n.
        entries: Entries of the adjacency matrix: an edge that goes both ways is two.
        features: Number of features, f.
        classes: Number of classes, c.
        feature_entries: Entries of the features where they are stored sparse; ``None`` where dense.
        second_paths: Paths of two edges, the sum over nodes of in-degree x out-degree, where it is known.
        symmetric: Whether the adjacency is known to be symmetric, and so stored once.
        undirected: Whether the graph is taken for an undirected one (:mod:`glognn.graph.directions`).
        joined: Entries with every edge in both directions; ``None`` where they are those that are given.
    """

    nodes: int
    entries: int
    features: int
    classes: int
    feature_entries: int | None = None
    second_paths: int | None = None
    symmetric: bool = False
    undirected: bool = True
    joined: int | None = None

    @property
    def often_gathered(self) -> bool:
        """Whether rows that are gathered along edges may be rounded to 16 bits first, on a GPU."""
        return self.entries >= 5 * self.nodes

    @property
    def looped(self) -> int:
        """Entries of the adjacency with a self-loop at every node."""
        return self.entries + self.nodes

    @property
    def second_ring(self) -> int:
        """Ordered pairs of nodes at distance 2: at most so many by the paths, else :data:`SECOND_NEIGHBOURS`."""
        paths = SECOND_NEIGHBOURS * self.entries if self.second_paths is None else self.second_paths
        return max(0, min(paths, self.nodes * (self.nodes - 1) - self.entries))

    @property
    def feature_values(self) -> int:
        """Stored values of the features."""
        return self.nodes * self.features if self.feature_entries is None else self.feature_entries

    def feature_bytes(self, *, dense: bool = False) -> int:
        """Features as the graph has them, or dense."""
        if dense or self.feature_entries is None:
            return VALUE_BYTES * self.nodes * self.features
        return sparse_bytes(self.nodes, self.features, self.feature_entries)

    def droppable_bytes(self) -> int:
        """Features as the graph has them; sparse ones with rows and order of their entries, both ways."""
        return self.feature_bytes() + 4 * INDEX_BYTES * (self.feature_entries or 0)

    def dropped(self, activations: int) -> int:
        """Activations with those of dropout on the features: at first values and factors, then the values stay."""
        return max(activations + self.feature_values, 2 * self.feature_values)

    def adjacency_bytes(self, *, loops: bool, symmetric: bool = False) -> int:
        """An n x n matrix with the entries of the adjacency, and perhaps self-loops, with its transpose.

        A ``symmetric`` form is stored once: that is where edges go both ways, and an underestimate elsewhere.
        """
        return sparse_bytes(self.nodes, self.nodes, self.looped if loops else self.entries) // (1 + symmetric)

    def direction_bytes(self, *, both: bool, once: bool) -> int:
        """An n x n matrix of the edges by direction, or of edges in ``both``; ``once``: without its transpose."""
        entries = self.entries if self.joined is None or not (both or self.undirected) else self.joined
        return sparse_bytes(self.nodes, self.nodes, entries) // (1 + once)

    def listed_bytes(self) -> int:
        """An n x n matrix of the edges as they are listed, and its transpose."""
        return sparse_bytes(self.nodes, self.nodes, self.entries)

    def propagation_bytes(self) -> int:
        """What PyTorch Geometric's normalisation of the adjacency takes while it is made, measured: lists of edges."""
        return 90 * self.looped

    def pattern_bytes(self) -> int:
        """Rows, columns and order of the adjacency's entries, both ways, for attention over neighbours."""
        return INDEX_BYTES * (6 * self.looped + 2 * (self.nodes + 1))


def sparse_bytes(rows: int, columns: int, entries: int) -> int:
    """A sparse matrix by rows and its transpose."""
    return 2 * (VALUE_BYTES + INDEX_BYTES) * entries + INDEX_BYTES * (rows + columns + 2)
