"""One rank's part of a graph: a ``Graph`` of its own nodes, whose matrices reach the nodes of the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from glognn.distributed.matrix import PartMatrix
from glognn.distributed.partition import PartSizes
from glognn.distributed.ranks import Ranks
from glognn.distributed.rows import IntArray, Numbers, PartRows
from glognn.errors import InputError
from glognn.graph.adjacency import Adjacency
from glognn.graph.config import NORMALIZATIONS
from glognn.graph.directions import COUNTS, QUANTILES, feature_counts
from glognn.graph.graph import SET_NAMES, Graph
from glognn.graph.sparse import SparseMatrix


@dataclass(frozen=True, eq=False)
class PartAdjacency(Adjacency):
    """The edges of own nodes. What models make of an adjacency is made here by name, across ranks.

    Args:
        rows: The adjacency's rows, before any normalisation.
        features: Of own nodes; their numbers are among the degrees.
    """

    matrix: PartMatrix
    _forms: dict[str, Any] = field(default_factory=dict, repr=False)
    rows: PartRows = field(kw_only=True)
    features: Tensor | SparseMatrix | None = field(kw_only=True, default=None, repr=False)

    @classmethod
    def of(
        cls, rows: PartRows, dtype: torch.dtype, *, symmetric: bool, features: Tensor | SparseMatrix | None
    ) -> PartAdjacency:
        return cls(rows.matrix(dtype, symmetric=symmetric), rows=rows, features=features)

    def normalized(self, name: str) -> SparseMatrix:
        if name not in NORMALIZATIONS:
            raise InputError(f"The normalisation must be one of {NORMALIZATIONS}. Got {name!r} instead.")
        return self.matrix if name == "none" else self.derived(name, lambda matrix: matrix)

    def derived(
        self, name: str, make: Callable[[sp.csr_array], sp.csr_array], *, symmetric: bool = True
    ) -> SparseMatrix:
        made: SparseMatrix = self.kept(name, make)
        return made

    def kept(self, name: str, make: Callable[[Any], Any]) -> Any:
        """What goes by a name, made by all ranks together."""
        if name not in self._forms:
            if name not in _FORMS:
                raise InputError(f"What a model wants of the graph ('{name}') cannot be made on several ranks.")
            made = _FORMS[name](self)
            if isinstance(made, PartRows):
                alike = self.matrix.is_symmetric and name in ("symmetric", "pyg-incoming", "direction-out")
                made = made.matrix(self.matrix.dtype, symmetric=alike or name == "direction-both")
                made = made.transpose if name.startswith("pyg-") else made
            elif isinstance(made, Tensor):
                made = made.to(self.matrix.dtype)
            self._forms[name] = made.to(device=self.matrix.device) if hasattr(made, "to") else made
        return self._forms[name]

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> PartAdjacency:
        matrix = self.matrix.to(device=device, dtype=dtype)
        if matrix.csr is self.matrix.csr:
            return self
        return PartAdjacency(matrix, rows=self.rows, features=self.features)

    @cached_property
    def turned(self) -> PartRows:
        """The edges that lead to own nodes."""
        return self.rows if self.matrix.is_symmetric else self.rows.turned()

    @cached_property
    def edges(self) -> tuple[PartRows, PartRows]:
        """Edges out of own nodes and edges into them; both ways where the list says nothing of direction."""
        if self.matrix.is_symmetric or _says_direction(self):
            return self.rows, self.turned
        joined = self.rows.of(sp.csr_array(self.rows.csr.maximum(self.turned.csr)))
        return joined, joined

    @cached_property
    def either(self) -> PartRows:
        """Edges out of and into own nodes."""
        out, into = self.edges
        return out if out is into else self.rows.of(sp.csr_array(out.csr.maximum(into.csr)))


def _says_direction(part: PartAdjacency) -> bool:
    rows, turned = part.rows.csr, part.turned.csr
    difference = abs(rows - turned)
    difference.eliminate_zeros()
    loops = int(np.count_nonzero(part.rows.loops()))
    ones, others = (sp.csr_array((np.ones(m.nnz), m.indices, m.indptr), shape=m.shape) for m in (rows, turned))
    local = [ones.multiply(others).nnz - loops, rows.nnz - loops, difference.nnz]
    mutual, entries, unlike = part.rows.ranks.sum(torch.tensor(local)).tolist()
    return bool(0 < mutual < entries or (mutual > 0 and unlike > 0))


def _inverse_root(sums: Numbers) -> Numbers:
    return np.where(sums > 0, np.where(sums > 0, sums, 1.0) ** -0.5, 0.0)


def _row(part: PartAdjacency) -> PartRows:
    looped = part.rows.plus_diagonal(np.ones(part.rows.count))
    return looped.scaled(1.0 / looped.row_sums(), None)


def _symmetric(part: PartAdjacency) -> PartRows:
    looped = part.rows.plus_diagonal(np.ones(part.rows.count))
    out = looped.row_sums()
    into = out if part.matrix.is_symmetric else looped.column_sums()
    return looped.scaled(out**-0.5, into**-0.5)


def _propagation(part: PartAdjacency) -> PartRows:
    """D^-1/2 (A + I) D^-1/2 as PyTorch Geometric has it, its transpose, which ``kept`` turns."""
    looped = part.rows.plus_diagonal((part.rows.loops() == 0).astype(np.float64))
    degrees = _inverse_root(looped.row_sums() if part.matrix.is_symmetric else looped.column_sums())
    return looped.scaled(degrees, degrees)


def _out(out: PartRows, into: PartRows) -> PartRows:
    return out.scaled(_inverse_root(out.row_sums()), _inverse_root(into.row_sums()))


def _both(part: PartAdjacency) -> PartRows:
    degrees = _inverse_root(part.either.row_sums())
    return part.either.scaled(degrees, degrees)


def _link(part: PartAdjacency, into: bool) -> PartRows:
    rows, others = part.edges[::-1] if into else part.edges
    scaled = rows.scaled(None, _inverse_root(others.row_sums()))
    squares = scaled.like(scaled.csr.data**2).row_sums()
    return scaled.scaled(_inverse_root(squares), None)


def _degrees(part: PartAdjacency) -> Tensor:
    out, into = part.edges
    logs = np.log1p(part.either.row_counts())
    neighbours = part.either.like(part.either.at_columns(logs)).row_sums() / np.maximum(part.either.row_counts(), 1)
    features = feature_counts(part.features, part.rows.count)
    own = np.stack([np.log1p(out.row_counts()), np.log1p(into.row_counts()), features, neighbours])
    return torch.from_numpy(_by_quantiles(own, part.rows.ranks))


def _by_quantiles(own: Numbers, ranks: Ranks) -> Numbers:
    """Each count standardised, and which quantiles of all nodes' it exceeds; counts of all nodes one by one."""
    standard, above = [], []
    for counts in own:
        known = np.concatenate(ranks.gather(counts))
        spread = known.std()
        constant = spread <= 1e-12 * np.abs(known).max()
        standard.append(np.zeros_like(counts) if constant else (counts - known.mean()) / spread)
        steps = np.quantile(known, np.arange(1, QUANTILES + 1) / (QUANTILES + 1))
        above.append(counts[None] > steps[:, None])
    by_step = np.stack(above, axis=1).reshape(QUANTILES * COUNTS, -1)
    return np.vstack([np.stack(standard), by_step]).T.copy()


def _neighbour_means(part: PartAdjacency, way: str) -> Tensor:
    x = part.features
    if not isinstance(x, Tensor):
        raise InputError("Means of neighbours' features ('neighbours') need dense features on several ranks.")
    given = part.either if way == "both" else part.edges[way == "in"]
    counts = given.row_sums()
    means = given.scaled(np.where(counts > 0, 1 / np.where(counts > 0, counts, 1), 0.0), None)
    return means.matrix(x.dtype).multiply(x.cpu())


_FORMS: dict[str, Callable[[PartAdjacency], Any]] = {
    "row": _row,
    "symmetric": _symmetric,
    "pyg-incoming": _propagation,
    "undirected": lambda part: part.edges[0] is part.edges[1],
    "lists-one-way": lambda part: not part.matrix.is_symmetric and part.edges[0] is part.edges[1],
    "direction-out": lambda part: _out(*part.edges),
    "direction-listed_out": lambda part: _out(part.rows, part.turned),
    "direction-both": _both,
    "link-out": lambda part: _link(part, into=False),
    "link-in": lambda part: _link(part, into=True),
    "degrees": _degrees,
    **{f"neighbour-means-{way}": partial(_neighbour_means, way=way) for way in ("both", "out", "in")},
}
"""What models keep of an adjacency, by the names they keep it under."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Part(Graph):
    """The nodes that one rank owns, with their features, edges, labels and masks.

    Args:
        ranks: The group.
        nodes: The number of each own node in the whole graph.
        starts: Where the places of each rank begin, and where they end.
        labels: For each split and set, how many nodes of each class the whole graph has: splits x classes each.
        whole_fingerprint: That of the whole graph.
    """

    adjacency: PartAdjacency
    ranks: Ranks
    nodes: Tensor
    starts: IntArray
    labels: Mapping[str, Tensor]
    whole_fingerprint: str

    @property
    def whole_nodes(self) -> int:
        """Nodes of the whole graph."""
        return int(self.starts[-1])

    @property
    def halo(self) -> int:
        """Nodes of other ranks that this one reads."""
        return self.adjacency.matrix.halo.size

    @property
    def sizes(self) -> PartSizes:
        matrix = self.adjacency.matrix
        return PartSizes(self.num_nodes, matrix.nnz, int(matrix.remote.values().numel()), self.halo)

    @property
    def exchanged_rows(self) -> int:
        return self.halo + sum(self.adjacency.matrix.halo.leaving)

    def made_together(self, name: str) -> Any:
        return self.adjacency.kept(name, lambda matrix: None)

    def fingerprint(self) -> str:
        return self.whole_fingerprint

    def indices(self, split: int) -> dict[str, Tensor]:
        """Own nodes of each set; on a rank any of them may be empty."""
        self.check_trainable(split, tested=False)
        return {name: self.masks[name][:, split].nonzero().view(-1) for name in SET_NAMES}

    def class_counts(self, name: str, split: int) -> Tensor:
        """Of the whole graph."""
        return self.labels[name][split]

    def set_size(self, name: str, split: int) -> int:
        """Nodes of a set in the whole graph."""
        return int(self.class_counts(name, split).sum())

    def check_trainable(self, split: int, *, tested: bool = True) -> None:
        if not 0 <= split < self.num_splits:
            raise InputError(f"The split must be in the range [0, {self.num_splits - 1}]. Got {split} instead.")
        for name in SET_NAMES if tested else SET_NAMES[:2]:
            if self.set_size(name, split) == 0:
                raise InputError(f"The {name} set of split {split} must hold labelled nodes. Got none instead.")
        present = self.labels["train"][split].nonzero().view(-1)
        if present.numel() < 2:
            raise InputError(
                f"The train set of split {split} must hold at least 2 classes. "
                f"Got only class {int(present[0])} instead."
            )


def count_labels(y: Tensor, masks: Mapping[str, Tensor], num_classes: int, ranks: Ranks) -> dict[str, Tensor]:
    """For each set, how many nodes of each class all ranks together have in each split."""
    found = {}
    for name, mask in masks.items():
        counts = torch.zeros(mask.shape[1], num_classes, dtype=torch.int64)
        for split in range(mask.shape[1]):
            counts[split] = torch.bincount(y[mask[:, split]], minlength=num_classes)
        found[name] = ranks.sum(counts)
    return found
