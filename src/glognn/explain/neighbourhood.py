"""Where other nodes lie from a node, and what they share with it: for the few that an explanation names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from glognn.graph.graph import Graph
from glognn.graph.sparse import SparseMatrix

IntArray = npt.NDArray[np.int64]


class Neighbourhood:
    """The edges of a graph in either direction and its features, on the CPU; made once, when first asked for."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @cached_property
    def links(self) -> sp.csr_array:
        """Entries where there is an edge between two different nodes."""
        matrix = self.graph.adjacency.matrix
        given = matrix.to_scipy()
        either = given if matrix.is_symmetric else sp.csr_array(given + given.T)
        if not either.diagonal().any():
            return either
        coo = either.tocoo()
        apart = coo.row != coo.col
        return sp.csr_array(sp.coo_array((coo.data[apart], (coo.row[apart], coo.col[apart])), shape=coo.shape))

    def of(self, node: int) -> IntArray:
        """The nodes linked with a node."""
        found: IntArray = self.links.indices[self.links.indptr[node] : self.links.indptr[node + 1]].astype(np.int64)
        return found

    def hops(self, node: int, others: Sequence[int]) -> list[int | None]:
        """Edges from a node to others along the shortest path; the search ends when all are found."""
        indptr, indices = self.links.indptr, self.links.indices
        seen = np.zeros(self.graph.num_nodes, dtype=bool)
        seen[node] = True
        wanted: dict[int, int | None] = dict.fromkeys(others)
        if node in wanted:
            wanted[node] = 0
        missing = {other for other in wanted if other != node}
        frontier, distance = np.array([node]), 0
        while missing and frontier.size:
            distance += 1
            begins, ends = indptr[frontier], indptr[frontier + 1]
            counts = ends - begins
            total = int(counts.sum())
            offsets = np.repeat(begins - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
            reached = indices[np.arange(total) + offsets]
            fresh = np.zeros_like(seen)
            fresh[reached] = True
            fresh &= ~seen
            seen |= fresh
            frontier = np.flatnonzero(fresh)
            for other in [other for other in missing if seen[other]]:
                wanted[other] = distance
                missing.discard(other)
        return [wanted[other] for other in others]

    def shared_neighbours(self, node: int, others: Sequence[int]) -> list[int]:
        own = self.of(node)
        return [len(np.intersect1d(own, self.of(other), assume_unique=True)) for other in others]

    def shared_features(self, node: int, others: Sequence[int]) -> list[tuple[int | None, float | None]]:
        """How many features a node and others both have (of sparse features alone), and the cosine of all."""
        x = self.graph.x
        if x is None:
            return [(None, None)] * len(others)
        rows = [self._features(each) for each in (node, *others)]
        own, length = rows[0], np.linalg.norm(rows[0][1])
        found: list[tuple[int | None, float | None]] = []
        for columns, values in rows[1:]:
            _, first, second = np.intersect1d(own[0], columns, assume_unique=True, return_indices=True)
            lengths = length * np.linalg.norm(values)
            cosine = float(own[1][first] @ values[second] / lengths) if lengths else None
            found.append((len(first) if isinstance(x, SparseMatrix) else None, cosine))
        return found

    def _features(self, node: int) -> tuple[IntArray, npt.NDArray[np.float64]]:
        x = self.graph.x
        if isinstance(x, SparseMatrix):
            begin, end = (int(each) for each in x.csr.crow_indices()[node : node + 2])
            columns, values = x.csr.col_indices()[begin:end], x.csr.values()[begin:end]
            return columns.long().cpu().numpy(), values.double().cpu().numpy()
        assert x is not None
        row = x[node].double().cpu().numpy()
        return np.arange(len(row)), row
