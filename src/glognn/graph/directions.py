"""A graph by the directions of its edges: which nodes a node points to, and which point to it.

A list of edges in which no two nodes point to each other, or all do, says nothing of direction: such a graph is taken
for an undirected one. Otherwise the directions are kept apart:

=======  =============================================================================
"out"    D_out^-1/2 A D_in^-1/2: a node gathers from the nodes that it points to
"in"     its transpose: a node gathers from the nodes that point to it
"both"   D^-1/2 B D^-1/2 with B the edges in both directions
=======  =============================================================================

For an undirected graph all three are one matrix. "listed_out" and "listed_in" are the first two with edges as they are
listed, whatever the list says. There are no self-loops but those of the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch

from glognn.graph.adjacency import Adjacency
from glognn.graph.extension import Extension
from glognn.graph.graph import Graph
from glognn.graph.sparse import SparseMatrix

Numbers = npt.NDArray[np.float64]
LISTED = "listed_"
"""Before the names of operators along edges as they are listed."""
QUANTILES = 15
DEGREE_NAMES = ("edges out", "edges in", "features other than 0", "mean edges of neighbours")
COUNTS = len(DEGREE_NAMES)
DEGREE_COLUMNS = COUNTS * (1 + QUANTILES)
"""Of :func:`degrees`: each count standardised, and which of its quantiles it exceeds."""


def edges(adjacency: Adjacency) -> sp.csr_array:
    """A in float64, with edges in both directions where the list of edges says nothing of direction."""

    def make(matrix: SparseMatrix) -> sp.csr_array:
        given = _given(adjacency)
        return _both_ways(given, sp.csr_array(given.T))

    adds = not adjacency.matrix.is_symmetric and is_undirected(adjacency)
    return adjacency.kept("edges", make) if adds else _given(adjacency)


def _given(adjacency: Adjacency) -> sp.csr_array:
    return adjacency.matrix.to_scipy().astype(np.float64)


def is_undirected(adjacency: Adjacency) -> bool:
    """Whether the graph is taken for an undirected one."""

    def look(matrix: SparseMatrix) -> bool:
        if matrix.is_symmetric:
            return True
        given, (mutual, loops) = matrix.to_scipy(), _mutual(adjacency)
        return mutual == 0 or (mutual == given.nnz - loops and abs(given - given.T).nnz == 0)

    return adjacency.kept("undirected", look)


def lists_one_way(adjacency: Adjacency) -> bool:
    """Whether edges are taken to go both ways that are listed one way."""

    def look(matrix: SparseMatrix) -> bool:
        return not matrix.is_symmetric and is_undirected(adjacency) and _mutual(adjacency)[0] == 0

    return adjacency.kept("lists-one-way", look)


def joined_entries(adjacency: Adjacency) -> int:
    """How many there are with every edge in both directions."""
    return adjacency.matrix.nnz if adjacency.matrix.is_symmetric else 2 * adjacency.matrix.nnz - sum(_mutual(adjacency))


def _mutual(adjacency: Adjacency) -> tuple[int, int]:
    """How many entries off the diagonal have their reverse, and how many lie on it."""

    def count(matrix: SparseMatrix) -> tuple[int, int]:
        given = matrix.to_scipy()
        ones = sp.csr_array((np.ones(given.nnz, dtype=np.int8), given.indices, given.indptr), shape=given.shape)
        loops = int(ones.diagonal().sum(dtype=np.int64))
        return ones.multiply(ones.T).nnz - loops, loops

    return adjacency.kept("mutual", count)


def _both_ways(matrix: sp.csr_array, transposed: sp.csr_array) -> sp.csr_array:
    """Each edge in both directions; of two weights the larger one."""
    return sp.csr_array(matrix.maximum(transposed))


def operator(graph: Graph, name: str) -> SparseMatrix:
    """The matrix of a graph by one of the names above."""
    adjacency = graph.adjacency
    name = _first_name(adjacency, name)
    if name.endswith("in"):
        return operator(graph, name.replace("in", "out")).transpose

    def make(matrix: SparseMatrix) -> SparseMatrix:
        given = operator_entries(adjacency, name)
        made = _divided(given, _sums(given, 1), _sums(given, 0), 0.5)
        symmetric = name == "both" or (name == "out" and is_undirected(adjacency))
        return SparseMatrix.from_scipy(made, matrix.dtype, symmetric=symmetric).to(device=matrix.device)

    return adjacency.kept(f"direction-{name}", make)


def _first_name(adjacency: Adjacency, name: str) -> str:
    """The first of the names that such a matrix has."""
    if name.startswith(LISTED) and lists_one_way(adjacency):
        return name
    return "out" if is_undirected(adjacency) else name.removeprefix(LISTED)


def operator_entries(adjacency: Adjacency, name: str) -> sp.csr_array:
    """What such a matrix is made of, by dividing its entries."""
    name = _first_name(adjacency, name)
    if name == "both":
        return joined_edges(adjacency)
    given = _given(adjacency) if name.startswith(LISTED) else edges(adjacency)
    return sp.csr_array(given.T) if name.endswith("in") else given


def new_operator_rows(extension: Extension, name: str) -> tuple[SparseMatrix, SparseMatrix]:
    """Rows of new nodes in such a matrix, over the known (m x n) and the new columns (m x m); known degrees stay."""
    adjacency = extension.known.adjacency
    name = _first_name(adjacency, name)
    known = operator_entries(adjacency, name)
    rows, columns = new_edges(extension)
    if name == "both":
        rows = columns = _both_ways(rows, columns)
    elif name.startswith(LISTED):
        rows, columns = _new_given(extension)
    own, mine = (columns, rows) if name.endswith("in") else (rows, columns)
    degrees = np.concatenate([_sums(known, 0), _sums(mine, 1)])
    scaled = _divided(own, _sums(own, 1), degrees, 0.5)
    split = extension.known.num_nodes
    return _sparse(scaled[:, :split], extension.known), _sparse(scaled[:, split:], extension.known)


def new_edges(extension: Extension) -> tuple[sp.csr_array, sp.csr_array]:
    """Edges from the new nodes and edges to them, a row for each new node: m x (n + m)."""
    rows, columns = _new_given(extension)
    if is_undirected(extension.known.adjacency):
        rows = columns = _both_ways(rows, columns)
    return rows, columns


def _new_given(extension: Extension) -> tuple[sp.csr_array, sp.csr_array]:
    return extension.rows, sp.csr_array(extension.columns.T)


def link_rows(graph: Graph, name: str) -> SparseMatrix:
    """Which nodes a node points to ("out") or is pointed to by ("in"), each divided by the root of how many others do
    the same, and rows of length 1: n x n."""
    adjacency = graph.adjacency

    def make(matrix: SparseMatrix) -> SparseMatrix:
        given = edges(adjacency) if name == "out" else sp.csr_array(edges(adjacency).T)
        return _sparse(_unit(_divided(given, None, _sums(given, 0), 0.5)), graph)

    return adjacency.kept(f"link-{name}", make)


def new_link_rows(extension: Extension, name: str) -> SparseMatrix:
    """The same of new nodes, over the known ones: m x n."""
    known = edges(extension.known.adjacency)
    rows = new_edges(extension)[name == "in"][:, : extension.known.num_nodes]
    return _sparse(_unit(_divided(rows, None, _sums(known, 0 if name == "out" else 1), 0.5)), extension.known)


def neighbour_means(graph: Graph, way: str = "both") -> Any:
    """Mean of the features of all neighbours, or of those that a node points to ("out") or is pointed to by ("in"):
    n x f, sparse where features are."""
    if (made := graph.made_together(f"neighbour-means-{way}")) is not None:
        return made
    return _means(_neighbours(graph.adjacency, way), graph)


def neighbour_shares(graph: Graph, way: str = "both") -> sp.csr_array:
    """With which weight each neighbour is in that mean, n x n."""

    def make(matrix: SparseMatrix) -> sp.csr_array:
        given = _neighbours(graph.adjacency, way)
        return _divided(given, _sums(given, 1), None, 1.0)

    return graph.adjacency.kept(f"neighbour-shares-{way}", make)


def _neighbours(adjacency: Adjacency, way: str) -> sp.csr_array:
    if way == "both":
        return joined_edges(adjacency)
    return edges(adjacency) if way == "out" else sp.csr_array(edges(adjacency).T)


def joined_edges(adjacency: Adjacency) -> sp.csr_array:
    """The edges in both directions."""
    return _both_ways(edges(adjacency), sp.csr_array(edges(adjacency).T))


def new_neighbour_means(extension: Extension, way: str = "both") -> Any:
    """The same of new nodes, over known neighbours: m x f."""
    leaving, arriving = new_edges(extension)
    given = _both_ways(leaving, arriving) if way == "both" else leaving if way == "out" else arriving
    return _means(sp.csr_array(given[:, : extension.known.num_nodes]), extension.known)


def _means(rows: sp.csr_array, graph: Graph) -> Any:
    means = _divided(rows, _sums(rows, 1), None, 1.0)
    if isinstance(graph.x, SparseMatrix):
        return _sparse(means @ graph.x.to_scipy().astype(np.float64), graph)
    assert graph.x is not None
    return (_sparse(means, graph).csr @ graph.x).contiguous()


def degrees(graph: Graph) -> Any:
    """What is known of a node's place without labels: logarithms of its numbers of edges out and in, of its nonzero
    features, and the mean of those of its neighbours' edges; each standardised and by quantiles, n x 64."""
    if (made := graph.made_together("degrees")) is not None:
        return made
    counts = _kept_counts(graph)
    return _encoded(counts, counts, graph)


def degree_counts(graph: Graph) -> Numbers:
    """What :func:`degrees` encodes: the numbers themselves, of neighbours' edges their mean, of logarithms; 4 x n."""
    return np.expm1(_kept_counts(graph))


def _kept_counts(graph: Graph) -> Numbers:
    """Logarithms of the numbers."""
    return graph.adjacency.kept("degree-counts", lambda matrix: _known_counts(graph))


def new_degrees(extension: Extension) -> Any:
    """The same of new nodes, by the means, deviations and quantiles of the known ones."""
    known = extension.known
    counts = _kept_counts(known)
    rows, columns = new_edges(extension)
    either = _both_ways(rows, columns)
    logs = np.concatenate([_log_degrees(edges(known.adjacency)), np.log1p(_entries(either))])
    own = np.stack([_log_entries(rows), _log_entries(columns), feature_counts(extension.x, len(rows.indptr) - 1)])
    return _encoded(np.vstack([own, _neighbour_mean(either, logs)]), counts, known)


def _known_counts(graph: Graph) -> Numbers:
    given = edges(graph.adjacency)
    either = _both_ways(given, sp.csr_array(given.T))
    own = [_log_entries(given), _log_entries(sp.csr_array(given.T)), feature_counts(graph.x, graph.num_nodes)]
    return np.stack([*own, _neighbour_mean(either, _log_degrees(given))])


def _log_degrees(given: sp.csr_array) -> Numbers:
    return _log_entries(_both_ways(given, sp.csr_array(given.T)))


def _neighbour_mean(rows: sp.csr_array, values: Numbers) -> Numbers:
    pattern = sp.csr_array((np.ones(rows.nnz), rows.indices, rows.indptr), shape=rows.shape)
    return np.asarray(pattern @ values / np.maximum(_entries(rows), 1))


def feature_counts(x: Any, count: int) -> Numbers:
    """Logarithms of the numbers of nonzero features of so many nodes."""
    if x is None:
        return np.zeros(count)
    if isinstance(x, SparseMatrix):
        return _log_entries(x.to_scipy())
    found = np.count_nonzero(x.detach().cpu().numpy(), axis=1)  # torch would make 64 bits of each value
    return np.asarray(torch.from_numpy(found).double().log1p().numpy())


def _encoded(counts: Numbers, known: Numbers, graph: Graph) -> Any:
    mean, spread = known.mean(axis=1, keepdims=True), known.std(axis=1, keepdims=True)
    constant = spread <= 1e-12 * np.abs(known).max(axis=1, keepdims=True)
    standard = np.where(constant, 0.0, (counts - mean) / np.where(constant, 1.0, spread))
    steps = np.quantile(known, np.arange(1, QUANTILES + 1) / (QUANTILES + 1), axis=1)
    like = graph.adjacency.matrix
    made = torch.empty(counts.shape[1], DEGREE_COLUMNS, dtype=like.dtype)
    made[:, :COUNTS] = torch.from_numpy(standard.T)
    for number, step in enumerate(steps, start=1):
        made[:, number * COUNTS : (number + 1) * COUNTS] = torch.from_numpy((counts > step[:, None]).T)
    return made.to(device=like.device)


def _entries(matrix: sp.csr_array) -> Numbers:
    return np.diff(matrix.indptr).astype(np.float64)


def _log_entries(matrix: sp.csr_array) -> Numbers:
    return np.log1p(_entries(matrix))


def _sums(matrix: sp.csr_array, axis: int) -> Numbers:
    return np.asarray(matrix.sum(axis=axis), dtype=np.float64).ravel()


def _divided(matrix: sp.csr_array, left: Numbers | None, right: Numbers | None, power: float) -> sp.csr_array:
    """Entries divided by powers of a number for each row and one for each column; by nothing where it is 0."""
    scaled = sp.csr_array(matrix, copy=True)
    if left is not None:
        scaled.data *= np.repeat(_inverse(left, power), np.diff(scaled.indptr))
    if right is not None:
        scaled.data *= _inverse(right, power)[scaled.indices]
    return scaled


def _inverse(values: Numbers, power: float) -> Numbers:
    return np.where(values > 0, np.where(values > 0, values, 1.0) ** -power, 0.0)


def _unit(matrix: sp.csr_array) -> sp.csr_array:
    """Rows of length 1; empty ones stay empty."""
    return _divided(matrix, _sums(matrix.multiply(matrix).tocsr(), 1), None, 0.5)


def _sparse(matrix: Any, graph: Graph) -> SparseMatrix:
    like = graph.adjacency.matrix
    return SparseMatrix.from_scipy(sp.csr_array(matrix), like.dtype).to(device=like.device)
