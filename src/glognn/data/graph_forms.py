"""Graphs in the forms that users hold them in, as PyTorch Geometric's ``Data``.

==================================  ====================================================================================
``Data``, NetworkX graph            as it is, with features and labels where it has them
square matrix                       NumPy, SciPy, pandas or torch, dense or sparse: entry i, j is the edge from i to j
(2, edges) or (edges, 2) integers   node numbers; of shape (2, 2) they are taken for the first
(edges, 2) text                     ids
table                               pandas, polars or pyarrow: ids in the first two columns, or those called source and
                                    target; weights in one called weight
==================================  ====================================================================================

Nodes of ids are known by them; elsewhere by their numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from glognn.data.arrow import Values
from glognn.data.edge_tables import Edges, read_edges
from glognn.data.frames import Frame, as_edge_table, is_frame
from glognn.data.ids import distinct, read_ids
from glognn.data.splits import IntArray
from glognn.data.table_graph import KeptTables, find_nodes
from glognn.errors import InputError
from glognn.graph.sparse import SparseMatrix

_FORMS = "a PyTorch Geometric Data, a NetworkX graph, a square matrix, a list or a table of edges"


@dataclass(frozen=True, eq=False)
class NamedGraph:
    """A graph whose nodes may have ids.

    Attributes:
        data: The graph.
        ids: Of its nodes, in their order; ``None``: they are known by their numbers.
        tables: What is kept of the tables that it was made of.
    """

    data: Data
    ids: Values | None = field(default=None, repr=False)
    tables: KeptTables | None = field(default=None, repr=False)

    def find(self, given: Any) -> IntArray:
        """Numbers of nodes given by ids; by their numbers where there are no ids, or ids are text and these are not."""
        return find_named(given, self.ids, int(self.data.num_nodes))


def find_named(given: Any, ids: Values | None, num_nodes: int, what: str = "X") -> IntArray:
    """See :meth:`NamedGraph.find`."""
    import pyarrow as pa

    values = np.asarray(given)
    values = values.reshape(-1) if values.ndim == 2 and values.shape[1] == 1 else values
    if ids is not None and values.ndim == 1 and not (values.dtype.kind in "iu" and pa.types.is_string(ids.type)):
        return find_nodes(pa.chunked_array([pa.array(values)]), ids, what)
    if values.ndim != 1 or (values.dtype.kind not in "iu" and values.size):
        wanted = "whole numbers" if ids is None else "ids"
        remedy = " Features of nodes are fitted with edges as 'adjacency', not as the parameter 'graph'."
        raise InputError(
            f"Nodes of a graph must be a list of {wanted}. Got {values.dtype} of shape {values.shape} instead."
            f"{remedy if values.ndim == 2 else ''}"
        )
    if values.size and not 0 <= values.min() <= values.max() < num_nodes:
        wrong = values[(values < 0) | (values >= num_nodes)][0]
        raise InputError(f"The nodes must be in the range [0, {num_nodes - 1}]. Got {wrong} instead.")
    return values.astype(np.int64)


def to_edges(adjacency: Any, num_nodes: int, ids: Values | None = None) -> tuple[Tensor, Tensor | None]:
    """``edge_index`` and, unless every edge weighs 1, ``edge_weight`` of a graph in any of the forms above.

    Args:
        adjacency: The graph.
        num_nodes: Its nodes, which need not all have edges.
        ids: By which a table names them; their numbers where there are none.
    """
    if _is_networkx(adjacency):
        adjacency = from_networkx(adjacency)
    if isinstance(adjacency, Data | NamedGraph):
        data = adjacency if isinstance(adjacency, Data) else adjacency.data
        if data.num_nodes != num_nodes:
            raise InputError(f"The graph must have a node for each of {num_nodes} rows. Got {data.num_nodes}.")
        return data.edge_index, getattr(data, "edge_weight", None)
    if is_frame(adjacency) and tuple(adjacency.shape) != (num_nodes, num_nodes):
        return _from_table(as_edge_table(adjacency, "table of edges"), _named_or_numbered(ids, num_nodes))
    matrix = _matrix(adjacency)
    if not sp.issparse(matrix) and matrix.ndim == 2 and matrix.shape != (num_nodes, num_nodes):
        if (
            matrix.shape[1] == 2
            and matrix.dtype.kind in "iuUOS"
            and (matrix.shape[0] != 2 or matrix.dtype.kind in "UOS")
        ):
            return _from_table(as_edge_table(matrix, "list of edges"), _named_or_numbered(ids, num_nodes))
        if matrix.shape[0] == 2:
            return _numbered(matrix), None
    if matrix.shape != (num_nodes, num_nodes) or not np.can_cast(matrix.dtype, np.float64, "same_kind"):
        raise InputError(
            f"The 'adjacency' parameter of fit must be numbers of shape ({num_nodes}, {num_nodes}), a list of edges of "
            f"shape (2, edges) or (edges, 2), or a graph. Got {matrix.dtype} of shape {tuple(matrix.shape)} instead."
        )
    return _entries(matrix)


def is_graph(thing: Any) -> bool:
    """Whether it is a graph as such, a ``Data`` or a NetworkX graph, and no matrix."""
    return isinstance(thing, Data | NamedGraph) or _is_networkx(thing)


def to_graph(graph: Any) -> NamedGraph:
    """A graph in any of the forms above; a list of numbers has as many nodes as the largest says."""
    if isinstance(graph, NamedGraph):
        return graph
    if isinstance(graph, Data):
        return NamedGraph(graph)
    if _is_networkx(graph):
        return NamedGraph(from_networkx(graph))
    if is_frame(graph) and graph.shape[0] != graph.shape[1]:
        return _of_ids(as_edge_table(graph, "table of edges"))
    matrix = _matrix(graph)
    if sp.issparse(matrix) or (matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] != 2):
        if matrix.shape[0] != matrix.shape[1] or not np.can_cast(matrix.dtype, np.float64, "same_kind"):
            raise InputError(f"The 'graph' must be a square matrix of numbers. Got {matrix.dtype} of {matrix.shape}.")
        index, weight = _entries(matrix)
        data = Data(edge_index=index, num_nodes=matrix.shape[0])
        if weight is not None:
            data.edge_weight = weight
        return NamedGraph(data)
    if matrix.ndim == 2 and matrix.shape[1] == 2 and matrix.dtype.kind in "UOS":
        return _of_ids(as_edge_table(matrix, "list of edges"))
    if matrix.ndim == 2 and 2 in matrix.shape and matrix.dtype.kind in "iu" and matrix.size:
        index = _numbered(matrix if matrix.shape[0] == 2 else matrix.T)
        return NamedGraph(Data(edge_index=index, num_nodes=int(index.max()) + 1))
    raise InputError(f"The 'graph' parameter of GloGNNClassifier must be {_FORMS}. Got {type(graph).__name__} instead.")


def _is_networkx(graph: Any) -> bool:
    return type(graph).__module__.startswith("networkx.") or (hasattr(graph, "adjacency") and hasattr(graph, "nodes"))


def _matrix(thing: Any) -> Any:
    """A matrix of SciPy, or an array."""
    if isinstance(thing, Tensor):
        thing = thing.detach().cpu()
        return thing.numpy() if thing.layout == torch.strided else SparseMatrix.from_torch(thing).to_scipy()
    return thing if sp.issparse(thing) else np.asarray(thing)


def _numbered(index: Any) -> Tensor:
    if index.dtype.kind not in "iu" and index.size:
        raise InputError(f"A list of edges must hold integers. Got {index.dtype} instead.")
    return torch.from_numpy(np.ascontiguousarray(index, dtype=np.int64))


def _entries(matrix: Any) -> tuple[Tensor, Tensor | None]:
    entries = sp.coo_array(sp.csr_array(matrix))
    index = torch.from_numpy(np.stack([entries.row, entries.col]).astype(np.int64))
    plain = bool((entries.data == 1).all())
    return index, None if plain else torch.from_numpy(entries.data.astype(np.float64))


def _named_or_numbered(ids: Values | None, num_nodes: int) -> Values:
    import pyarrow as pa

    return pa.array(np.arange(num_nodes)) if ids is None else ids


def _read(table: Any, ids: Values) -> Edges:
    names = table.table.column_names
    source, target = ("source", "target") if {"source", "target"} <= set(names) else (None, None)
    return read_edges(table, ids, source=source, target=target, weight=["weight"] if "weight" in names else [])


def _from_table(table: Any, ids: Values) -> tuple[Tensor, Tensor | None]:
    found = _read(table, ids)
    return torch.from_numpy(found.index), None if found.weight is None else torch.from_numpy(found.weight)


def _of_ids(table: Any) -> NamedGraph:
    """The nodes that a table of edges names, in the order of their first rows."""
    import pyarrow as pa

    assert isinstance(table, Frame)
    names = table.table.column_names
    ends = ["source", "target"] if {"source", "target"} <= set(names) else names[:2]
    if len(ends) < 2:
        raise InputError(f"The {table} must have two columns of ids. Got {', '.join(names) or 'none'} instead.")
    columns = [read_ids(table.table[name], f"column '{name}' of the {table}") for name in ends]
    kind = columns[0].type if columns[0].type == columns[1].type else pa.string()
    ids = distinct(pa.chunked_array([chunk for each in columns for chunk in each.cast(kind).chunks]).combine_chunks())
    found = _read(table, ids)
    data = Data(edge_index=torch.from_numpy(found.index), num_nodes=len(ids))
    if found.weight is not None:
        data.edge_weight = torch.from_numpy(found.weight)
    return NamedGraph(data, ids)


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


def to_edge_list(edges: Any) -> Tensor:
    """Edges of new nodes, 2 x edges, from a tensor, an array or lists."""
    found = edges.detach().cpu().numpy() if isinstance(edges, Tensor) else np.asarray(edges)
    if found.ndim != 2 or found.shape[0] != 2 or (found.dtype.kind not in "iu" and found.size):
        raise InputError(
            f"The 'edges' parameter of predict must be integers of shape (2, edges). "
            f"Got {found.dtype} of shape {found.shape} instead."
        )
    return torch.from_numpy(found.astype(np.int64))
