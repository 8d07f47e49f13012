"""A graph as if some of its nodes or edges were not there: what explanations are verified on, by running the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch

from glognn.graph.adjacency import Adjacency
from glognn.graph.graph import Graph
from glognn.graph.sparse import SparseMatrix

IntArray = npt.NDArray[np.int64]


def without_nodes(graph: Graph, nodes: Sequence[int] | IntArray) -> Graph:
    """The graph in which nodes say nothing: their prepared features are zeros, and all their edges are cut.

    They stay in their places, so that weights for each node do too.
    """
    chosen = np.asarray(nodes, dtype=np.int64)
    gone = np.zeros(graph.num_nodes, dtype=bool)
    gone[chosen] = True
    matrix = graph.adjacency.matrix.to_scipy().tocoo()
    kept = ~(gone[matrix.row] | gone[matrix.col])
    x = graph.x
    if isinstance(x, SparseMatrix):
        features = x.to_scipy().tocoo()
        stay = ~gone[features.row]
        parts = (features.data[stay], (features.row[stay], features.col[stay]))
        x = SparseMatrix.from_scipy(sp.csr_array(sp.coo_array(parts, shape=features.shape)), x.dtype).to(x.device)
    elif x is not None:
        x = x.clone()
        x[torch.from_numpy(chosen).to(x.device)] = 0
    return replace(graph, x=x, adjacency=_adjacency(graph, matrix, kept))


def without_edges(graph: Graph, pairs: Sequence[tuple[int, int]]) -> Graph:
    """The graph without the edges between pairs of nodes, in either direction."""
    matrix = graph.adjacency.matrix.to_scipy().tocoo()
    first, second = np.asarray(pairs, dtype=np.int64).reshape(-1, 2).T
    numbers = matrix.row.astype(np.int64) * graph.num_nodes + matrix.col
    cut = np.concatenate([first * graph.num_nodes + second, second * graph.num_nodes + first])
    return replace(graph, adjacency=_adjacency(graph, matrix, ~np.isin(numbers, cut)))


def _adjacency(graph: Graph, matrix: sp.coo_array, kept: npt.NDArray[np.bool_]) -> Adjacency:
    like = graph.adjacency.matrix
    parts = (matrix.data[kept], (matrix.row[kept], matrix.col[kept]))
    left = sp.csr_array(sp.coo_array(parts, shape=matrix.shape))
    return Adjacency(SparseMatrix.from_scipy(left, like.dtype, symmetric=like.is_symmetric).to(like.device))
