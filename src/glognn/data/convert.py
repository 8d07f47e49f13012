"""Between what readers and users hold and PyTorch Geometric's ``Data``."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from glognn.data.readers.raw import FloatArray, RawGraph
from glognn.data.splits import IntArray, random_splits
from glognn.errors import InputError
from glognn.graph.graph import SPARSE_BELOW
from glognn.graph.sparse import SparseMatrix


def to_data(raw: RawGraph) -> Data:
    """A read graph as ``Data``; without published splits it gets five random ones."""
    y = torch.from_numpy(raw.y.astype(np.int64))
    masks = random_splits(y) if raw.masks is None else {name: torch.from_numpy(m) for name, m in raw.masks.items()}
    return Data(
        x=_features(raw.x),
        edge_index=torch.from_numpy(raw.edge_index),
        y=y,
        num_nodes=len(raw.y),
        **{f"{name}_mask": mask for name, mask in masks.items()},
    )


def _features(x: FloatArray | sp.csr_array | None) -> Tensor | None:
    if x is None:
        return None
    if sp.issparse(x):
        x.sum_duplicates()
        wide = x.dtype == np.float64
        return SparseMatrix.from_scipy(x, torch.float64 if wide else torch.float32).csr
    return torch.from_numpy(np.require(x, requirements=["C", "W"]))


def to_features(x: Any) -> Tensor:
    """A NumPy array or SciPy sparse matrix of features as a tensor, in one form whichever it was."""
    if not sp.issparse(x):
        return torch.from_numpy(np.array(x, order="C"))
    matrix = sp.csr_array(cast(sp.coo_array, x))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if matrix.nnz >= SPARSE_BELOW * matrix.shape[0] * matrix.shape[1]:
        return torch.from_numpy(matrix.toarray())
    found = _features(matrix)
    assert found is not None
    return found


def to_edges(adjacency: Any, num_nodes: int) -> tuple[Tensor, Tensor | None]:
    """``edge_index`` and, unless every edge weighs 1, ``edge_weight`` of a graph in any of its usual forms.

    These are a square matrix (NumPy, SciPy, pandas, torch) whose entry i, j is the edge from i to j; a list of edges
    with shape (2, edges); a NetworkX graph, whose nodes are numbered in the order of ``nodes()``; and a PyTorch
    Geometric ``Data``.
    """
    if _is_networkx(adjacency):
        adjacency = from_networkx(adjacency)
    if isinstance(adjacency, Data):
        if adjacency.num_nodes != num_nodes:
            raise InputError(f"The graph must have a node for each of {num_nodes} rows. Got {adjacency.num_nodes}.")
        return adjacency.edge_index, getattr(adjacency, "edge_weight", None)
    if isinstance(adjacency, Tensor):
        adjacency = adjacency.detach().cpu()
        strided = adjacency.layout == torch.strided
        adjacency = adjacency.numpy() if strided else SparseMatrix.from_torch(adjacency).to_scipy()
    sparse = sp.issparse(adjacency)
    matrix = adjacency if sparse else np.asarray(adjacency)
    if not sparse and matrix.ndim == 2 and matrix.shape[0] == 2 and matrix.shape != (num_nodes, num_nodes):
        if matrix.dtype.kind not in "iu" and matrix.size:
            raise InputError(f"A list of edges must hold integers. Got {matrix.dtype} instead.")
        return torch.from_numpy(matrix.astype(np.int64)), None
    if matrix.shape != (num_nodes, num_nodes) or not np.can_cast(matrix.dtype, np.float64, "same_kind"):
        raise InputError(
            f"The 'adjacency' parameter of fit must be numbers of shape ({num_nodes}, {num_nodes}), a list of edges of "
            f"shape (2, edges) or a graph. Got {matrix.dtype} of shape {tuple(matrix.shape)} instead."
        )
    entries = sp.coo_array(sp.csr_array(matrix))
    index = torch.from_numpy(np.stack([entries.row, entries.col]).astype(np.int64))
    plain = bool((entries.data == 1).all())
    return index, None if plain else torch.from_numpy(entries.data.astype(np.float64))


def _is_networkx(graph: Any) -> bool:
    return type(graph).__module__.startswith("networkx.") or (hasattr(graph, "adjacency") and hasattr(graph, "nodes"))


def is_graph(thing: Any) -> bool:
    """Whether it is a graph as such, a ``Data`` or a NetworkX graph, and no matrix."""
    return isinstance(thing, Data) or _is_networkx(thing)


def to_graph(graph: Any) -> Data:
    """A ``Data`` as it is, or what :func:`from_networkx` makes of a NetworkX graph."""
    if isinstance(graph, Data):
        return graph
    if _is_networkx(graph):
        return from_networkx(graph)
    raise InputError(
        "The 'graph' parameter of GloGNNClassifier must be a PyTorch Geometric Data or a NetworkX graph. "
        f"Got {type(graph).__name__} instead."
    )


def from_networkx(graph: Any) -> Data:
    """A NetworkX graph as ``Data``; nodes are numbered in the order of ``nodes()``.

    Read are the node attributes ``x`` (numbers, of all nodes or of none) and ``y`` (labels of any type; in a list), and
    the edge attribute ``weight`` where any edge has it. An undirected edge goes both ways.
    """
    number = {node: place for place, node in enumerate(graph.nodes())}
    edges = [(number[a], number[b], weight) for a, b, weight in graph.edges(data="weight")]
    weighted = any(weight is not None for _, _, weight in edges)
    if not graph.is_directed():
        edges += [(b, a, weight) for a, b, weight in edges if a != b]
    data = Data(num_nodes=len(number))
    data.edge_index = torch.tensor([edge[:2] for edge in edges], dtype=torch.int64).view(-1, 2).T.contiguous()
    if weighted:
        weights = [1.0 if weight is None else float(weight) for _, _, weight in edges]
        data.edge_weight = torch.tensor(weights, dtype=torch.float64)
    features = [attributes.get("x") for _, attributes in graph.nodes(data=True)]
    if any(row is not None for row in features):
        try:
            data.x = torch.from_numpy(np.array([np.atleast_1d(row) for row in features], dtype=np.float64))
        except (TypeError, ValueError):
            raise InputError("The node attribute 'x' must hold equally many numbers for every node.") from None
    labels = [attributes.get("y") for _, attributes in graph.nodes(data=True)]
    if any(label is not None for label in labels):
        data.y = labels
    return data


def to_nodes(given: Any, num_nodes: int) -> IntArray:
    """Numbers of nodes, as a list or as a column."""
    nodes = np.asarray(given)
    nodes = nodes.reshape(-1) if nodes.ndim == 2 and nodes.shape[1] == 1 else nodes
    if nodes.ndim != 1 or (nodes.dtype.kind not in "iu" and nodes.size):
        raise InputError(
            f"Nodes of a graph must be a list of whole numbers. Got {nodes.dtype} of shape {nodes.shape} instead."
        )
    if nodes.size and not 0 <= nodes.min() <= nodes.max() < num_nodes:
        wrong = nodes[(nodes < 0) | (nodes >= num_nodes)][0]
        raise InputError(f"The nodes must be in the range [0, {num_nodes - 1}]. Got {wrong} instead.")
    return nodes.astype(np.int64)


def to_edge_list(edges: Any) -> Tensor:
    """Edges of new nodes, 2 x edges, from a tensor, an array or lists."""
    found = edges.detach().cpu().numpy() if isinstance(edges, Tensor) else np.asarray(edges)
    if found.ndim != 2 or found.shape[0] != 2 or (found.dtype.kind not in "iu" and found.size):
        raise InputError(
            f"The 'edges' parameter of predict must be integers of shape (2, edges). "
            f"Got {found.dtype} of shape {found.shape} instead."
        )
    return torch.from_numpy(found.astype(np.int64))


def same(first: Tensor | None, second: Tensor | None) -> bool:
    """Whether two matrices, dense or sparse, hold the same in the same layout."""
    if first is None or second is None or first.shape != second.shape or first.layout != second.layout:
        return first is second
    if first.layout == torch.strided:
        return torch.equal(first, second.to(first.dtype))
    first, second = first.to_sparse_csr(), second.to_sparse_csr()
    parts = ("crow_indices", "col_indices", "values")
    return all(torch.equal(getattr(first, part)(), getattr(second, part)()) for part in parts)
