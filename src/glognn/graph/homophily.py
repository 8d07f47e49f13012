"""How alike linked nodes are: six measures, each from one pass over the edges, and how sure two of them are.

All take a prepared adjacency and labels. An undirected edge counts once, an edge of a directed graph as it is stored;
edge weights play no part; edges at an unlabelled node (label -1) do not count. A measure that is not defined (no edge
between labelled nodes, one class only) is nan. Cost: O(edges) time, memory of the order of the nodes.

Notation: p(c, d) is the share of edge ends of class c whose other end is of class d, counted in both directions, and
q(c) = sum_d p(c, d) the share of edge ends at class c. Only ``edge_with_loops`` counts self-loops.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from glognn.graph.sparse import SparseMatrix

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

BLOCK = 2**22
"""Adjacency entries looked at together."""
GROUPS = 30
"""Of labelled nodes, each of which is left out once to see how much a measure depends on it."""


@dataclass(frozen=True)
class Homophily:
    """Measures of one labelled graph.

    Attributes:
        edge_with_loops: Share of edges that join nodes of the same class, self-loops included: the rule of the
            GloGNN paper's table.
        edge: The same without self-loops (Zhu et al. 2020).
        node: Mean over the nodes with labelled neighbours of the share of them in the node's class (Pei et al. 2020).
        class_insensitive: 1/(C-1) sum_k max(0, h_k - n_k/n), where h_k is the share of same-class neighbours over all
            edge ends at class k, n_k its number of nodes (Lim et al. 2021, LINKX).
        adjusted: (h - sum_c q(c)^2) / (1 - sum_c q(c)^2), 0 for edges that ignore classes (Platonov et al. 2023).
        label_informativeness: 2 - H(p) / H(q) with H the entropy: how much a neighbour's class tells about a node's,
            1 when everything, also where all neighbours differ (Platonov et al. 2023).
    """

    edge_with_loops: float
    edge: float
    node: float
    class_insensitive: float
    adjusted: float
    label_informativeness: float

    def as_dict(self) -> dict[str, float | None]:
        """For records: an undefined measure is ``None``."""
        return {name: None if np.isnan(value) else value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class _Counts:
    """Edge ends by class of the node (row) and of its neighbour (column), without loops; loops; same-class shares."""

    classes: FloatArray
    loops: float
    per_node_same: IntArray
    per_node_all: IntArray
    symmetric: bool


def _count(adjacency: SparseMatrix, y: Tensor) -> _Counts:
    matrix, labels = adjacency.to_scipy(), y.cpu().numpy()
    num_classes = int(labels.max(initial=-1)) + 1
    # Unlabelled nodes form one more class, which is cut off at the end.
    labels = np.where(labels < 0, num_classes, labels)
    width = num_classes + 1
    has_loop = matrix.diagonal() != 0
    table = -np.diag(np.bincount(labels[has_loop], minlength=width).astype(np.float64))
    same, known = -has_loop.astype(np.int64), -has_loop.astype(np.int64)
    for first, last in _row_blocks(matrix.indptr):
        rows = np.repeat(np.arange(first, last), np.diff(matrix.indptr[first : last + 1]))
        own, other = labels[rows], labels[matrix.indices[matrix.indptr[first] : matrix.indptr[last]]]
        table += np.bincount(own * width + other, minlength=width * width).reshape(width, width).astype(np.float64)
        same[first:last] += np.bincount(rows[own == other] - first, minlength=last - first)
        known[first:last] += np.bincount(rows[other < num_classes] - first, minlength=last - first)
    labelled = labels < num_classes
    return _Counts(
        classes=table[:num_classes, :num_classes],
        loops=float(has_loop[labelled].sum()),
        per_node_same=same[labelled],
        per_node_all=known[labelled],
        symmetric=adjacency.is_symmetric,
    )


def _row_blocks(indptr: npt.NDArray[np.integer[Any]]) -> Iterator[tuple[int, int]]:
    """Ranges of rows with about ``BLOCK`` entries each, so that memory does not grow with the graph."""
    first, rows = 0, len(indptr) - 1
    while first < rows:
        last = int(np.searchsorted(indptr, indptr[first] + BLOCK, side="right")) - 1
        last = min(max(last, first + 1), rows)
        yield first, last
        first = last


def _ratio(above: float, below: float) -> float:
    return float(above / below) if below > 0 else float("nan")


def measure_homophily(adjacency: SparseMatrix, y: Tensor) -> Homophily:
    """All measures of a graph."""
    counts = _count(adjacency, y)
    ends = counts.classes + counts.classes.T  # both ends of every edge
    total, same = float(ends.sum()), float(np.trace(ends))
    edges = total / (4 if counts.symmetric else 2)
    sizes = np.bincount(y[y >= 0].cpu().numpy(), minlength=len(ends))
    by_class = np.divide(np.diag(ends), ends.sum(axis=1), out=np.zeros(len(ends)), where=ends.sum(axis=1) > 0)
    excess = np.maximum(by_class - sizes / max(sizes.sum(), 1), 0).sum()
    several = len(ends) > 1 and total > 0
    has_neighbours = counts.per_node_all > 0
    node_shares = counts.per_node_same[has_neighbours] / counts.per_node_all[has_neighbours]
    edge = _ratio(same, total)
    return Homophily(
        edge_with_loops=_ratio(edge * edges + counts.loops if total else counts.loops, edges + counts.loops),
        edge=edge,
        node=float(node_shares.mean()) if node_shares.size else float("nan"),
        class_insensitive=float(excess / (len(ends) - 1)) if several else float("nan"),
        adjusted=_adjusted(ends),
        label_informativeness=_informativeness(ends),
    )


def _adjusted(ends: FloatArray) -> float:
    total = float(ends.sum())
    q = ends.sum(axis=1) / total if total else ends.sum(axis=1)
    chance = float((q**2).sum())
    return _ratio(_ratio(float(np.trace(ends)), total) - chance, 1 - chance)


def _informativeness(ends: FloatArray) -> float:
    total = float(ends.sum())
    if len(ends) < 2 or not total:
        return float("nan")
    entropy = _entropy(ends.sum(axis=1) / total)
    return float(2 - _entropy(ends / total) / entropy) if entropy > 0 else float("nan")


@dataclass(frozen=True)
class Kinship:
    """What labels tell of linked nodes, with standard errors; nan where a number is not defined.

    Attributes:
        edges: Between labelled nodes, self-loops left out.
        adjusted: Adjusted homophily, see :class:`Homophily`.
        informativeness: Label informativeness less what chance alone gives so few edges: its numerator, a mutual
            information of k classes, is (k-1)^2 / (2 edges) too large on average (Miller 1955).
    """

    edges: int
    adjusted: float
    adjusted_error: float
    informativeness: float
    informativeness_error: float


def measure_kinship(adjacency: SparseMatrix, y: Tensor) -> Kinship:
    """Adjusted homophily and label informativeness with the errors that come of having these labelled nodes.

    Edges that share a node are not independent, so that it is nodes that are left out: labelled nodes are dealt into
    random groups, the measures are taken anew without the edges of each, and the error is that of the jackknife, which
    is on the safe side for counts of edges (Lin, Lunde and Sarkar, "On the Theoretical Properties of the Network
    Jackknife", ICML 2020).
    """
    matrix, labels = adjacency.to_scipy(), y.cpu().numpy()
    classes, known = int(labels.max(initial=-1)) + 1, np.flatnonzero(labels >= 0)
    number = int(min(GROUPS, len(known), max(2, BLOCK // max(classes, 1) ** 2)))
    if classes < 2 or number < 2:
        return Kinship(0, *[float("nan")] * 4)
    groups = np.full(len(labels), -1)
    groups[known] = np.random.default_rng(0).permutation(np.arange(len(known)) % number)
    touched = np.zeros((number, classes, classes))
    total = np.zeros((classes, classes))
    for first, last in _row_blocks(matrix.indptr):
        rows = np.repeat(np.arange(first, last), np.diff(matrix.indptr[first : last + 1]))
        columns = matrix.indices[matrix.indptr[first] : matrix.indptr[last]]
        counted = (labels[rows] >= 0) & (labels[columns] >= 0) & (rows != columns)
        rows, columns = rows[counted], columns[counted]
        pairs = labels[rows] * classes + labels[columns]
        total += np.bincount(pairs, minlength=total.size).reshape(total.shape)
        apart = groups[rows] != groups[columns]
        for group, chosen in ((groups[rows], pairs), (groups[columns][apart], pairs[apart])):
            touched += np.bincount(group * total.size + chosen, minlength=touched.size).reshape(touched.shape)
    total, touched = total + total.T, touched + touched.transpose(0, 2, 1)
    edges = int(total.sum()) // (4 if adjacency.is_symmetric else 2)
    present = int((total.sum(axis=1) > 0).sum())
    entropy = _entropy(total.sum(axis=1) / total.sum()) if edges else 0.0
    surplus = (present - 1) ** 2 / (2 * edges * entropy) if entropy > 0 else float("nan")
    without = total - touched
    return Kinship(
        edges=edges,
        adjusted=_adjusted(total),
        adjusted_error=_jackknife_error([_adjusted(each) for each in without]),
        informativeness=_informativeness(total) - surplus,
        informativeness_error=_jackknife_error([_informativeness(each) for each in without]),
    )


def _jackknife_error(values: list[float]) -> float:
    found = np.array(values)
    return float(np.sqrt((len(found) - 1) / len(found) * ((found - found.mean()) ** 2).sum()))


def _entropy(probabilities: FloatArray) -> float:
    present = probabilities[probabilities > 0]
    return float(-(present * np.log(present)).sum())


def edge_homophily(adjacency: SparseMatrix, y: Tensor) -> float:
    """The share of edges that join nodes of the same class, self-loops included (the paper's rule)."""
    return measure_homophily(adjacency, y).edge_with_loops


def class_edges(adjacency: SparseMatrix, y: Tensor) -> FloatArray:
    """Share of the edges at nodes of a class (row) that lead to each class (column), self-loops left out."""
    counts = _count(adjacency, y)
    ends = counts.classes + counts.classes.T
    totals = ends.sum(axis=1, keepdims=True)
    shares: FloatArray = np.divide(ends, totals, out=np.zeros_like(ends), where=totals > 0)
    return shares
