"""Who owns which nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from glognn.distributed.methods import METHODS
from glognn.errors import InputError
from glognn.settings import check_word

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Partition:
    """Nodes in parts. The nodes of part p have the places ``starts[p]`` to ``starts[p + 1]`` of ``order``.

    Args:
        method: How it was made.
        starts: One more than there are parts.
        order: The node at each place; ``None`` where a node's place is its number.
    """

    method: str
    starts: IntArray
    order: IntArray | None = None

    @property
    def parts(self) -> int:
        return len(self.starts) - 1

    def nodes(self, part: int) -> IntArray:
        """The numbers of a part's nodes, ascending."""
        first, last = int(self.starts[part]), int(self.starts[part + 1])
        return np.arange(first, last, dtype=np.int64) if self.order is None else self.order[first:last]

    def places(self) -> IntArray | None:
        """The place of each node; ``None`` where that is its number."""
        if self.order is None:
            return None
        places = np.empty_like(self.order)
        places[self.order] = np.arange(self.order.size)
        return places


def contiguous(num_nodes: int, parts: int) -> Partition:
    """Blocks of nodes as they are numbered, equal in number but for one."""
    return Partition("contiguous", np.linspace(0, num_nodes, parts + 1).round().astype(np.int64))


def balanced(degrees: npt.NDArray[Any], parts: int) -> Partition:
    """Blocks of equal weight, a node weighing one more than its entries; no block is empty."""
    weight = np.concatenate([[0], np.cumsum(degrees.astype(np.int64) + 1)])
    starts = np.searchsorted(weight, weight[-1] * np.arange(parts + 1) / parts)
    for part in range(1, parts):
        starts[part] = max(starts[part], starts[part - 1] + 1)
    for part in range(parts - 1, 0, -1):
        starts[part] = min(starts[part], starts[part + 1] - 1)
    starts[0], starts[parts] = 0, degrees.size
    return Partition("balanced", starts.astype(np.int64))


def by_owner(owner: IntArray, parts: int, method: str) -> Partition:
    """Of the part of each node."""
    counts = np.bincount(owner, minlength=parts)
    if not counts.all():
        raise InputError(f"Part {int(np.argmin(counts))} of {parts} would have no node: take fewer parts.")
    order = np.argsort(owner, kind="stable").astype(np.int64)
    return Partition(method, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), order)


def make_partition(matrix: sp.csr_array, parts: int, method: str) -> Partition:
    """Parts of the nodes of an adjacency matrix."""
    num_nodes = matrix.shape[0]
    check_word("The partition", method, METHODS)
    if not 1 <= parts <= num_nodes:
        raise InputError(f"The number of parts must be in the range [1, {num_nodes}] (the nodes). Got {parts} instead.")
    if method == "contiguous":
        return contiguous(num_nodes, parts)
    if method == "balanced":
        return balanced(np.diff(matrix.indptr), parts)
    try:
        pymetis = import_module("pymetis")
    except ImportError:
        raise InputError(
            "The partition 'metis' needs a package: pip install 'glognn[metis]', or take 'balanced'."
        ) from None
    joined = matrix + matrix.T
    joined.setdiag(0)
    joined.eliminate_zeros()
    weights = np.diff(matrix.indptr) + 1  # as of balanced blocks
    edges = pymetis.CSRAdjacency(joined.indptr, joined.indices)
    _, owner = pymetis.part_graph(parts, edges, vweights=weights)
    return by_owner(np.asarray(owner, dtype=np.int64), parts, method)


@dataclass(frozen=True)
class PartSizes:
    """Of one part, or of the parts of a rank: nodes and entries, the entries that lead to others, and to how many nodes
    these do."""

    nodes: int
    entries: int
    cut: int
    halo: int


def part_sizes(columns: npt.NDArray[Any], nodes: int, first: int) -> PartSizes:
    """Of a part with the places from ``first`` on, from the places its entries lead to."""
    outside = columns[(columns < first) | (columns >= first + nodes)]
    return PartSizes(nodes, columns.size, outside.size, np.unique(outside).size)


@dataclass(frozen=True)
class Balance:
    """What a partition costs, before anything is trained.

    Args:
        cut: Share of entries that lead to another part.
        halo: Nodes of other parts that a part reads, as a share of its own: the mean and the most.
        work: Nodes and entries of the largest part over the mean.
    """

    cut: float
    halo: tuple[float, float]
    work: float

    @classmethod
    def of(cls, parts: Sequence[PartSizes]) -> Balance:
        entries = sum(part.entries for part in parts)
        shares = [part.halo / part.nodes for part in parts]
        work = [part.nodes + part.entries for part in parts]
        return cls(
            cut=sum(part.cut for part in parts) / max(entries, 1),
            halo=(sum(shares) / len(shares), max(shares)),
            work=max(work) * len(work) / sum(work),
        )

    def of_each(self, owner: str) -> str:
        """In words, of parts or of the ranks that have them."""
        return (
            f"{self.cut:.1%} of the edges are cut, a {owner} reads {self.halo[0]:.2f} times as many nodes of others as "
            f"it owns (at most {self.halo[1]:.2f}), the largest has {self.work:.2f} times the mean work"
        )
