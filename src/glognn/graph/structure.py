"""How alike two nodes are by the degrees around them, whether or not they are near each other.

The distance of struc2vec (Ribeiro et al., KDD 2017), which WRGAT (Suresh et al., KDD 2021) makes its graph from:

    f_k(u, v) = f_(k-1)(u, v) + dtw(s(R_k(u)), s(R_k(v))),    f_(-1) = 0

R_k(u) are the nodes at distance exactly k of u (R_0 is u itself) and s their degrees in order, in the compact form:
each degree d once, with the number c of nodes that have it. dtw is dynamic time warping with the cost
((max(d, d') + 1/2) / (min(d, d') + 1/2) - 1) max(c, c') for setting (d, c) against (d', c').

Only pairs that are likely to be alike are compared: the nodes are put in order by degree (equal degrees by the mean
degrees of the rings), and each is paired with those next to it, O(n log n) pairs where each has 2 log2(n). Deviations
from the published code: dtw is exact where that takes an approximation (fastdtw); there all nodes of one degree are
paired with the same first ones among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Array = npt.NDArray[Any]

_VISITED_BYTES = 2**24
_CELLS_AT_ONCE = 2**12


@dataclass(frozen=True, eq=False)
class SimilarNodes:
    """Compared pairs of nodes, 2 x pairs, and f_k of each, rings x pairs; infinite where a ring is empty."""

    pairs: Array
    distances: Array


def undirected_pattern(matrix: sp.csr_array) -> sp.csr_array:
    """Who is linked with whom, in either direction and without self-loops or weights."""
    coo = sp.coo_array(matrix)
    keep = (coo.row != coo.col) & (coo.data != 0)
    rows = np.concatenate([coo.row[keep], coo.col[keep]])
    columns = np.concatenate([coo.col[keep], coo.row[keep]])
    pattern = sp.coo_array((np.ones(rows.size, dtype=np.float32), (rows, columns)), shape=matrix.shape).tocsr()
    pattern.sum_duplicates()
    pattern.data[:] = 1
    return pattern


def similar_nodes(
    pattern: sp.csr_array,
    *,
    num_similar: int,
    num_rings: int,
    threads: int = 1,
    progress: Callable[[str, float], None] = lambda what, share: None,
) -> SimilarNodes:
    """Structural distances of the pairs that are likely to be alike.

    Args:
        pattern: See :func:`undirected_pattern`.
        num_similar: About how many nodes each node is compared with: half of them before it in the order, half after.
        num_rings: Rings around a node that are looked at, besides the node itself.
        threads: How many threads to use.
        progress: Called with what is being done and the share of it that is, from 0 to 1.
    """
    blocks = []
    for block, share in _degree_counts(pattern, num_rings, threads):
        blocks.append(block)
        progress("collecting the degrees around nodes", share)
    rings = [_Ring.of(parts) for parts in zip(*blocks, strict=True)]
    order = np.lexsort([ring.means for ring in reversed(rings)])
    steps = range(1, min((num_similar + 1) // 2, len(order) - 1) + 1)
    empty = np.empty((2, 0), dtype=np.int64)
    pairs = np.concatenate([empty, *(np.stack([order[:-step], order[step:]]) for step in steps)], axis=1)
    work = [job for number, ring in enumerate(rings) for job in ring.jobs(pairs, number)]
    distances = np.zeros((len(rings), pairs.shape[1]))
    for number, ring in enumerate(rings):
        distances[number, ring.lengths[pairs].min(axis=0) == 0] = np.inf
    total, done = sum(job.cost for job in work) or 1, 0
    with ThreadPoolExecutor(threads) as pool:
        for future in as_completed([pool.submit(job.run) for job in work]):
            job, found = future.result()
            distances[job.number, job.where] = found[job.same]
            done += job.cost
            progress("comparing the structure around nodes", done / total)
    return SimilarNodes(pairs, distances.cumsum(axis=0))


_Counts = list[tuple[Array, Array, Array]]


def _degree_counts(pattern: sp.csr_array, num_rings: int, threads: int) -> Iterator[tuple[_Counts, float]]:
    """For blocks of nodes and each ring: how many degrees each node meets, which, how often; the share done."""
    degree = np.diff(pattern.indptr)
    known, number = np.unique(degree, return_inverse=True)
    size = max(1, _VISITED_BYTES // max(pattern.shape[0], 1))

    def block(start: int) -> _Counts:
        count = min(size, pattern.shape[0] - start)
        row, column = np.arange(count), np.arange(start, start + count)
        visited = np.zeros((count, pattern.shape[0]), dtype=bool)
        found = []
        for ring in range(num_rings + 1):
            visited[row, column] = True
            totals = np.bincount(row * known.size + number[column], minlength=count * known.size)
            filled = totals.nonzero()[0]
            lengths = np.bincount(filled // known.size, minlength=count)
            found.append((lengths, known[filled % known.size], totals[filled]))
            if ring < num_rings:
                ones = np.ones(row.size, dtype=np.float32)
                reached = sp.coo_array((ones, (row, column)), shape=visited.shape).tocsr() @ pattern
                row, column = reached.nonzero()
                new = ~visited[row, column]
                row, column = row[new], column[new]
        return found

    starts = range(0, pattern.shape[0], size)
    with ThreadPoolExecutor(threads) as pool:
        for done, found in enumerate(pool.map(block, starts), start=1):
            yield found, done / len(starts)


@dataclass(frozen=True, eq=False)
class _Ring:
    """The compact degree sequences of one ring: node i has ``lengths[i]`` degrees from position ``starts[i]`` on.

    Nodes with equal sequences have equal ``labels``; ``means`` are mean logarithms of the degrees, -1 for none.
    """

    lengths: Array
    starts: Array
    degrees: Array
    counts: Array
    labels: Array
    means: Array

    @classmethod
    def of(cls, parts: tuple[tuple[Array, Array, Array], ...]) -> _Ring:
        lengths, degrees, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
        ends = lengths.cumsum()
        starts = ends - lengths
        both = np.stack([degrees, counts], axis=1).astype(np.int64)
        seen: dict[bytes, int] = {}
        labels = np.array(
            [seen.setdefault(both[a:b].tobytes(), len(seen)) for a, b in zip(starts, ends, strict=True)], dtype=np.int64
        )
        node = np.repeat(np.arange(lengths.size), lengths)
        sums = np.bincount(node, counts * np.log1p(degrees), minlength=lengths.size)
        sizes = np.bincount(node, counts, minlength=lengths.size)
        means = np.where(sizes > 0, sums / np.maximum(sizes, 1), -1.0)
        return cls(lengths, starts, degrees, counts, labels, means)

    def jobs(self, pairs: Array, number: int) -> Iterator[_Job]:
        """The comparisons of this ring in batches of similar lengths, each different pair of sequences once."""
        where = (self.lengths[pairs].min(axis=0) > 0).nonzero()[0]
        first, second = self.labels[pairs[:, where]]
        keys = np.minimum(first, second) * (self.labels.max(initial=0) + 1) + np.maximum(first, second)
        different = first != second
        where, keys = where[different], keys[different]
        _, example, same = np.unique(keys, return_index=True, return_inverse=True)
        nodes = pairs[:, where[example]]
        lengths = self.lengths[nodes]
        nodes = np.where(lengths[0] <= lengths[1], nodes, nodes[::-1])
        order = np.lexsort(self.lengths[nodes])
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        members = np.argsort(rank[same], kind="stable")
        edges = np.searchsorted(rank[same][members], np.arange(order.size + 1))
        start = 0
        while start < order.size:
            shorter = self.lengths[nodes[0, order[start]]]
            stop = min(order.size, start + max(1, _CELLS_AT_ONCE // int(shorter)))
            batch = nodes[:, order[start:stop]]
            inside = members[edges[start] : edges[stop]]
            yield _Job(self, number, batch, where[inside], rank[same][inside] - start)
            start = stop


@dataclass(frozen=True, eq=False)
class _Job:
    """One batch: pairs of nodes, and which compared pairs (``where``) they stand for (``same``)."""

    ring: _Ring
    number: int
    nodes: Array
    where: Array
    same: Array

    @property
    def cost(self) -> int:
        shorter, longer = self.ring.lengths[self.nodes].max(axis=1).tolist()
        return int(self.nodes.shape[1] * shorter * (shorter + longer))

    def run(self) -> tuple[_Job, Array]:
        sides = [self._padded(nodes) for nodes in self.nodes]
        return self, time_warping(*sides[0], *sides[1], *self.ring.lengths[self.nodes])

    def _padded(self, nodes: Array) -> tuple[Array, Array]:
        """Degrees and counts of the sequences, one in each column."""
        lengths = self.ring.lengths[nodes]
        steps = np.arange(lengths.max())[:, None]
        position = np.minimum(self.ring.starts[nodes] + steps, self.ring.degrees.size - 1)
        inside = steps < lengths
        degrees = np.where(inside, self.ring.degrees[position], 0).astype(np.float32)
        counts = np.where(inside, self.ring.counts[position], 0).astype(np.float32)
        return degrees, counts


def time_warping(a: Array, count_a: Array, b: Array, count_b: Array, length_a: Array, length_b: Array) -> Array:
    """Dynamic time warping of many pairs of sequences at once, one in each column, from diagonal to diagonal.

    O(rows of a x (rows of a + rows of b)) for each pair, so a should have the shorter ones; 6 rows of a in memory.
    """
    rows, columns, width = len(a), len(b), a.shape[1]
    a, b, count_b = a + 0.5, b[::-1] + 0.5, count_b[::-1]
    inverse_a, inverse_b = 1 / a, 1 / b
    before, previous, new = (np.full((rows + 1, width), np.inf, dtype=np.float32) for _ in range(3))
    cost, other = np.empty((rows, width), dtype=np.float32), np.empty((rows, width), dtype=np.float32)
    last = length_a + length_b - 2
    result = np.empty(width, dtype=np.float32)
    before[0] = 0
    for diagonal in range(rows + columns - 1):
        low, high = max(0, diagonal - columns + 1), min(rows, diagonal + 1)
        here, there = slice(low, high), slice(columns - 1 - diagonal + low, columns - 1 - diagonal + high)
        price, spare = cost[here], other[here]
        np.multiply(a[here], inverse_b[there], out=price)
        np.multiply(inverse_a[here], b[there], out=spare)
        np.maximum(price, spare, out=price)
        price -= 1
        np.maximum(count_a[here], count_b[there], out=spare)
        price *= spare
        np.minimum(previous[low + 1 : high + 1], previous[here], out=spare)
        np.minimum(spare, before[here], out=spare)
        np.add(price, spare, out=new[low + 1 : high + 1])
        ended = (last == diagonal).nonzero()[0]
        result[ended] = new[length_a[ended], ended]
        before[0] = np.inf
        before, previous, new = previous, new, before
    return result
