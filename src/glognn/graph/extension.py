"""New nodes beside a known graph, whose own nodes, edges and degrees stay as they are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from glognn.errors import InputError
from glognn.graph.adjacency import Adjacency, check_edges, merge_edges
from glognn.graph.graph import Graph, prepare_features
from glognn.graph.sparse import Matrix, SparseMatrix

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True, eq=False)
class Extension:
    """m new nodes of a graph with n: features and edges, prepared as the graph was.

    Attributes:
        known: The graph.
        x: Features of the new nodes, m x f.
        rows: Edges from the new nodes, m x (n + m), in float64.
        columns: Edges to the new nodes, (n + m) x m.
    """

    known: Graph
    x: Matrix | None
    rows: sp.csr_array
    columns: sp.csr_array
    _normalized: dict[str, tuple[SparseMatrix, SparseMatrix]] = field(default_factory=dict, repr=False)

    @classmethod
    def from_data(cls, known: Graph, new: Data, like: Tensor | None = None) -> Extension:
        """Check and prepare new nodes.

        Args:
            known: The graph they join.
            new: ``x`` with a row for each new node (``num_nodes`` when the graph has no features), and ``edge_index``
                with the known nodes as 0 to n-1 and the new ones as n to n+m-1; ``edge_weight`` is optional.
            like: The features of the graph before normalisation; needed when they were standardised.
        """
        config, num_known = known.config, known.num_nodes
        count = _count(new)
        if (new.x is None) != (known.x is None):
            which = ("have", "none") if new.x is None else ("have no", "some")
            raise InputError(f"New nodes must {which[0]} features, as the training graph does. Got {which[1]} instead.")
        if config.feature_normalization == "standard" and like is None and known.x is not None:
            raise InputError("New nodes of a graph with standardised features need the Data it was prepared from.")
        if isinstance(new.x, Tensor) and new.x.dim() == 2 and new.x.shape[1] != known.num_features:
            found = new.x.shape[1]
            raise InputError(f"x must have {known.num_features} features for each new node. Got {found} instead.")
        x = prepare_features(new.x, count, config.feature_normalization, known.adjacency.matrix.dtype, like)
        edges = torch.empty(2, 0, dtype=torch.int64) if new.edge_index is None else new.edge_index
        weights = getattr(new, "edge_weight", None)
        check_edges(edges, weights, num_known + count)
        inside = (edges < num_known).all(dim=0)
        if bool(inside.any()):
            first, second = edges[:, int(inside.nonzero()[0])].tolist()
            raise InputError(
                f"The edges of new nodes must lead to or from a new node, {num_known} or above. "
                f"Got an edge between the known nodes {first} and {second} instead."
            )
        matrix, _ = merge_edges(
            edges, weights, num_known + count, directed=config.directed, self_loops=config.self_loops
        )
        device = known.adjacency.matrix.device
        return cls(
            known=known,
            x=None if x is None else x.to(device=device),
            rows=sp.csr_array(matrix[num_known:]),
            columns=sp.csr_array(matrix[:, num_known:]),
        )

    @property
    def num_new(self) -> int:
        return int(self.rows.shape[0])

    def normalized(self, name: str) -> tuple[SparseMatrix, SparseMatrix]:
        """The new rows of a normalised adjacency, over the known (m x n) and over the new columns (m x m).

        Degrees of known nodes are those of the known graph.
        """
        if name not in self._normalized:
            self._normalized[name] = self._normalize(name)
        return self._normalized[name]

    def _normalize(self, name: str) -> tuple[SparseMatrix, SparseMatrix]:
        num_known, rows = self.known.num_nodes, self.rows
        if name != "none":
            rows = sp.csr_array(rows + sp.eye_array(*rows.shape, k=num_known, format="csr"))
            scale = np.asarray(rows.sum(axis=1)).ravel() ** (-1.0 if name == "row" else -0.5)
            rows = sp.csr_array(sp.diags_array(scale) @ rows)
        if name == "symmetric":
            known_degrees = self.known.adjacency.kept("in-degrees", _in_degrees)
            degrees = np.concatenate([known_degrees, np.asarray(self.columns.sum(axis=0)).ravel()]) + 1
            rows = sp.csr_array(rows @ sp.diags_array(degrees**-0.5))
        return self._sparse(rows[:, :num_known]), self._sparse(rows[:, num_known:])

    def incoming(self) -> SparseMatrix:
        """The known nodes that point to each new one: m x n."""
        return self._sparse(sp.csr_array(self.columns[: self.known.num_nodes].T))

    def _sparse(self, matrix: sp.csr_array) -> SparseMatrix:
        like = self.known.adjacency.matrix
        return SparseMatrix.from_scipy(sp.csr_array(matrix), like.dtype).to(device=like.device)

    def graph(self) -> Graph:
        """The graph with the new nodes in it, which come last and have no label."""
        like = self.known.adjacency.matrix
        left = sp.hstack([like.to_scipy().astype(np.float64), self.columns[: self.known.num_nodes]])
        matrix = sp.csr_array(sp.vstack([left, self.rows]))
        sparse = SparseMatrix.from_scipy(matrix, like.dtype, symmetric=like.is_symmetric).to(device=like.device)
        y = self.known.y
        return replace(
            self.known,
            x=None if self.known.x is None or self.x is None else _stack(self.known.x, self.x),
            adjacency=Adjacency(sparse),
            y=torch.cat([y, torch.full((self.num_new,), -1, dtype=y.dtype, device=y.device)]),
            masks={},
        )


def _in_degrees(matrix: SparseMatrix) -> npt.NDArray[np.float64]:
    return np.asarray(matrix.to_scipy().astype(np.float64).sum(axis=0), dtype=np.float64).ravel()


def _count(new: Data) -> int:
    stated = new.to_dict().get("num_nodes") if new.x is None else len(new.x)
    if not stated:
        raise InputError(
            f"There must be at least 1 new node: a row of x, or num_nodes when there are no features. Got {stated}."
        )
    return int(stated)


def _stack(first: Matrix, second: Matrix) -> Matrix:
    if isinstance(first, Tensor):
        return torch.cat([first, second.csr.to_dense() if isinstance(second, SparseMatrix) else second])
    rows = second if isinstance(second, SparseMatrix) else SparseMatrix.from_torch(second)
    stacked = sp.csr_array(sp.vstack([first.to_scipy(), rows.to_scipy()]))
    return SparseMatrix.from_scipy(stacked, first.dtype).to(device=first.device)
