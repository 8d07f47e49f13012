"""From a list of edges to the matrices models multiply with.

Convention: ``A[i, j]`` is the weight of the edge *from i to j* (``edge_index[0]`` to ``edge_index[1]``), as
in the paper and the released code; a node gathers from the nodes it points to. For undirected graphs this
is the usual adjacency matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from glognn.errors import InputError
from glognn.graph.config import NORMALIZATIONS
from glognn.graph.last_made import LastMade
from glognn.graph.sparse import SparseMatrix

Made = TypeVar("Made")


@dataclass(frozen=True)
class EdgeCounts:
    """What building the adjacency did to the list of edges."""

    given: int
    duplicates_merged: int
    self_loops_kept: int
    self_loops_removed: int
    reverse_added: int


def check_edges(edge_index: Tensor, edge_weight: Tensor | None, num_nodes: int) -> None:
    """Refuse edges that name no node, and weights that are negative, not finite or of another length."""
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise InputError(f"edge_index must have shape (2, edges). Got {tuple(edge_index.shape)} instead.")
    if edge_index.is_floating_point() or edge_index.is_complex() or edge_index.dtype == torch.bool:
        raise InputError(f"edge_index must hold integers. Got {edge_index.dtype} instead.")
    if edge_index.numel():
        low, high = (int(bound) for bound in edge_index.aminmax())
        if low < 0 or high >= num_nodes:
            wrong = low if low < 0 else high
            raise InputError(
                f"edge_index holds node {wrong}, but nodes must be in the range [0, {num_nodes - 1}] "
                f"(the graph has {num_nodes} nodes)."
            )
    if edge_weight is None:
        return
    if edge_weight.dim() != 1 or edge_weight.numel() != edge_index.shape[1]:
        raise InputError(
            f"edge_weight must have one number per edge ({edge_index.shape[1]}). "
            f"Got shape {tuple(edge_weight.shape)} instead."
        )
    if edge_weight.is_complex():
        raise InputError(f"edge_weight must hold real numbers. Got {edge_weight.dtype} instead.")
    bad = ~(torch.isfinite(edge_weight) & (edge_weight >= 0))
    if bool(bad.any()):
        where = int(bad.nonzero()[0])
        raise InputError(
            f"edge_weight must be finite and in the range [0.0, inf). "
            f"Got {edge_weight[where].item()} at edge {where} instead."
        )


def merge_edges(
    edge_index: Tensor,
    edge_weight: Tensor | None,
    num_nodes: int,
    *,
    directed: bool,
    self_loops: str,
) -> tuple[sp.csr_array, EdgeCounts]:
    """The adjacency matrix with one entry per pair of nodes, and what was merged on the way.

    Repeated edges become one: without weights it has weight 1, with weights their sum. Without
    ``directed`` the entries (i, j) and (j, i) both become the larger of the two, which leaves an already
    symmetric graph as it is.
    """
    source, target = edge_index.cpu().numpy()
    given = source.size
    weights = np.ones(given) if edge_weight is None else edge_weight.detach().cpu().double().numpy()
    index_type = np.int32 if max(num_nodes, given) < np.iinfo(np.int32).max else np.int64
    pairs = (source.astype(index_type, copy=False), target.astype(index_type, copy=False))
    matrix = sp.coo_array((weights, pairs), shape=(num_nodes, num_nodes)).tocsr()
    matrix.sum_duplicates()
    merged = given - matrix.nnz
    if edge_weight is None:
        matrix.data[:] = 1.0
    else:
        matrix.eliminate_zeros()
    loops = int(np.count_nonzero(matrix.diagonal()))
    if self_loops == "remove" and loops:
        matrix.setdiag(0)
        matrix.eliminate_zeros()
    one_way = matrix.nnz
    if not directed:
        matrix = sp.csr_array(matrix.maximum(matrix.T.tocsr()))
    return matrix, EdgeCounts(
        given=given,
        duplicates_merged=merged,
        self_loops_kept=loops if self_loops == "keep" else 0,
        self_loops_removed=loops if self_loops == "remove" else 0,
        reverse_added=matrix.nnz - one_way,
    )


def without_loops(matrix: sp.csr_array) -> sp.csr_array:
    """The entries off the diagonal."""
    coo = matrix.tocoo()
    keep = coo.row != coo.col
    return sp.coo_array((coo.data[keep], (coo.row[keep], coo.col[keep])), shape=matrix.shape).tocsr()


def _normalize(matrix: sp.csr_array, name: str) -> sp.csr_array:
    if name == "none":
        return matrix
    looped = sp.csr_array(matrix + sp.eye_array(matrix.shape[0], format="csr"))
    out_degree = np.asarray(looped.sum(axis=1)).ravel()
    if name == "row":
        return sp.csr_array(sp.diags_array(1.0 / out_degree) @ looped)
    in_degree = np.asarray(looped.sum(axis=0)).ravel()
    left, right = sp.diags_array(out_degree**-0.5), sp.diags_array(in_degree**-0.5)
    return sp.csr_array(left @ looped @ right)


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The adjacency matrix of a graph, and its normalised forms, made when first asked for.

    ===========  =====================================================================================
    "none"       A as it is: the released large-scale code
    "row"        (A + I) with rows divided by their sum: the released small-scale code
    "symmetric"  D^-1/2 (A + I) D^-1/2: the paper. For directed graphs the left D sums over rows and
                 the right one over columns, which keeps the largest singular value at 1
    ===========  =====================================================================================

    A self-loop already in the data adds to the one that "row" and "symmetric" put there.
    """

    matrix: SparseMatrix
    _forms: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_edges(
        cls,
        edge_index: Tensor,
        edge_weight: Tensor | None,
        num_nodes: int,
        *,
        directed: bool,
        self_loops: str,
        dtype: torch.dtype,
    ) -> tuple[Adjacency, EdgeCounts]:
        check_edges(edge_index, edge_weight, num_nodes)
        matrix, counts = merge_edges(edge_index, edge_weight, num_nodes, directed=directed, self_loops=self_loops)
        if matrix.nnz and matrix.data.max() > torch.finfo(dtype).max:
            raise InputError(
                f"edge_weight, summed over repeated edges, must fit {dtype}. Got {matrix.data.max()} instead."
            )
        sparse = SparseMatrix.from_scipy(matrix, dtype, symmetric=not directed)
        return cls(sparse.to(device=edge_index.device)), counts

    @property
    def num_nodes(self) -> int:
        return self.matrix.shape[0]

    def normalized(self, name: str) -> SparseMatrix:
        """The matrix under one of the three normalisations."""
        if name not in NORMALIZATIONS:
            raise InputError(f"The normalisation must be one of {NORMALIZATIONS}. Got {name!r} instead.")
        if name == "none":
            return self.matrix
        return self.derived(name, lambda matrix: _normalize(matrix, name), symmetric=name == "symmetric")

    def derived(
        self, name: str, make: Callable[[sp.csr_array], sp.csr_array], *, symmetric: bool = True
    ) -> SparseMatrix:
        """What ``make`` makes of the matrix in float64, kept under a name; ``symmetric``: it is where A is."""

        def form(matrix: SparseMatrix) -> SparseMatrix:
            made = make(matrix.to_scipy().astype(np.float64))
            alike = symmetric and matrix.is_symmetric
            return SparseMatrix.from_scipy(made, matrix.dtype, symmetric=alike).to(device=matrix.device)

        return self.kept(name, form)

    def kept(self, name: str, make: Callable[[SparseMatrix], Made]) -> Made:
        """What ``make`` makes of the matrix, on its device and in its precision, kept under a name."""
        if name not in self._forms:
            self._forms[name] = make(self.matrix)
        made: Made = self._forms[name]
        return made

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> Adjacency:
        """A copy elsewhere. Matrices are moved along; in another precision, and all else, is made anew."""
        matrix = self.matrix.to(device=device, dtype=dtype)
        if matrix.csr is self.matrix.csr:
            return self
        if matrix.dtype != self.matrix.dtype:
            return Adjacency(matrix)
        forms = {name: form for name, form in self._forms.items() if isinstance(form, SparseMatrix)}
        return Adjacency(matrix, {name: form.to(device=device) for name, form in forms.items()})


class AdjacencyCache:
    """Remembers the adjacency made from the last ``edge_index``, so that ``forward`` makes it only once."""

    def __init__(self) -> None:
        self._last: LastMade[Adjacency] = LastMade()

    def get(self, edge_index: Tensor, edge_weight: Tensor | None, num_nodes: int, like: Tensor) -> Adjacency:
        """The adjacency of edges taken as they are given (directed, self-loops kept), typed as ``like``."""

        def make() -> Adjacency:
            adjacency, _ = Adjacency.from_edges(
                edge_index, edge_weight, num_nodes, directed=True, self_loops="keep", dtype=like.dtype
            )
            return adjacency.to(device=like.device)

        return self._last.get((edge_index, edge_weight), (num_nodes, like.dtype, like.device), make)
