"""What a score must beat: that of a constant answer, and that of logistic regression on what is easily had.

===================  =================================================================================================
constant             the shares of the classes among training nodes, said of every node: the majority class is
                     predicted, and nodes are not told apart
logistic regression  on a node's features and degree and on their means over its neighbours, along edges and against
                     them; its penalty is the one of a few with the smallest loss on validation nodes
===================  =================================================================================================

Both are fitted on the training nodes of a split and judged as the models are: the same metric, the same nodes. Time and
memory are bounded on graphs of any size, since at most 10,000 training nodes are fitted, and fewer where columns and
classes are many.
"""

from __future__ import annotations

import copy
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch

from glognn.graph.graph import Graph
from glognn.graph.sparse import SparseMatrix
from glognn.training.class_weight import BALANCED
from glognn.training.config import TrainingConfig
from glognn.training.evaluation import class_weights

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

CONSTANT, LOGISTIC = "constant", "logistic regression"
MOST_FITTED, FEWEST_FITTED = 10_000, 1_000
"""Training nodes that logistic regression is fitted on, where there are as many."""
MOST_KEPT = 5 * 10**7
"""Entries of all nodes up to which they are kept for the next split."""
_DENSE_WORK, _SPARSE_WORK = 10**8, 10**7
"""Entries of what is fitted times classes: about 0.1 s for one pass."""
_DENSE_PENALTIES, _SPARSE_PENALTIES = (1e-3, 1e-2, 1e-1, 1.0), (1e-1, 1.0, 10.0)
"""Inverse strengths, of columns with deviation 1, and of columns of at most 1, most of which is 0; each fit begins
where the one before it, of a stronger penalty, has ended."""
_STEPS, _TOLERANCE = 100, 1e-3
_ROWS = 2**13


class Baselines:
    """The baselines on the splits of a graph; what has been fitted is kept.

    Args:
        graph: A prepared graph with labels and splits.
        balanced: Classes weigh the same in the loss of logistic regression, as in that of the models beside it.
        now: The graph as it has become since, with nodes that came later after the others: what nodes are asked about
            is read there.
    """

    def __init__(self, graph: Graph, *, balanced: bool = False, now: Graph | None = None) -> None:
        self.graph, self.balanced = graph, balanced
        self._known = _Columns(graph)
        self._now = self._known if now is None else _Columns(now)
        self._fitted: dict[int, LogisticRegression] = {}

    def probabilities(self, split: int, nodes: Integers) -> dict[str, Floats]:
        """What each baseline, fitted on a split, says of some nodes: nodes x classes."""
        counts = np.bincount(self._y[self._set(split, "train")], minlength=self.graph.num_classes)
        constant = np.tile(counts / counts.sum(), (len(nodes), 1))
        if split not in self._fitted:
            self._fitted[split] = self._fit(split)
        return {CONSTANT: constant, LOGISTIC: self._predict(self._fitted[split], nodes)}

    @cached_property
    def _y(self) -> Integers:
        found: Integers = self.graph.y.cpu().numpy()
        return found

    def _set(self, split: int, name: str) -> Integers:
        found: Integers = self.graph.indices(split)[name].cpu().numpy()
        return found

    @property
    def _sparse(self) -> bool:
        return self._known.sparse

    @cached_property
    def _units(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """What is taken from each column and what it is divided by, so that its deviation over nodes, or of sparse
        ones the largest entry, is 1; a column that is constant becomes 0."""
        nodes = np.random.default_rng(0).permutation(self.graph.num_nodes)[:MOST_FITTED]
        columns = self._known.of(nodes)
        if self._sparse:
            peaks = abs(columns).max(axis=0).toarray().ravel()
            return np.zeros_like(peaks), np.where(peaks > 0, peaks, np.inf).astype(np.float32)
        centre, scale = columns.mean(axis=0, dtype=np.float64), columns.std(axis=0, dtype=np.float64)
        scale[scale <= 1e-6 * np.abs(centre)] = np.inf
        return centre.astype(np.float32), scale.astype(np.float32)

    def _normalised(self, nodes: Integers, read: _Columns | None = None) -> Any:
        if read in (None, self._known) and self.graph.num_nodes * self._entries <= MOST_KEPT:
            return self._every[nodes]
        return self._scaled((read or self._known).of(nodes))

    @cached_property
    def _every(self) -> Any:
        """The columns of all nodes: splits, and the sets of each, ask for the same ones again and again."""
        return self._scaled(self._known.of(np.arange(self.graph.num_nodes)))

    def _scaled(self, columns: Any) -> Any:
        centre, scale = self._units
        return sp.csr_array(columns @ sp.diags_array(1 / scale)) if self._sparse else (columns - centre) / scale

    def _fit(self, split: int) -> LogisticRegression:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        y = self._y
        train, val = self._some(self._set(split, "train")), self._some(self._set(split, "val"))
        columns, judged = self._normalised(train), self._normalised(val)
        weights = torch.ones(self.graph.num_classes, dtype=torch.float64)
        if self.balanced:
            found = class_weights(torch.from_numpy(y[train]), self.graph, TrainingConfig(class_weight=BALANCED))
            weights = weights if found is None else found
        weight = weights.numpy()
        model = LogisticRegression(max_iter=_STEPS, tol=_TOLERANCE, warm_start=True)
        best, least = None, np.inf
        for penalty in _SPARSE_PENALTIES if self._sparse else _DENSE_PENALTIES:
            model.set_params(C=penalty)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(columns, y[train], sample_weight=weight[y[train]])
            true = np.maximum(self._said(model, judged)[np.arange(len(val)), y[val]], 1e-6)
            loss = -float((np.log(true) * weight[y[val]]).sum())
            if loss >= least:
                break  # it rises again from here on
            best, least = copy.deepcopy(model), loss
        assert best is not None
        return best

    @cached_property
    def _entries(self) -> float:
        """Of a row: its columns, or of sparse ones about how many are not 0."""
        seen = self._known.of(np.random.default_rng(0).permutation(self.graph.num_nodes)[:100])
        return float(seen.nnz / seen.shape[0] if self._sparse else seen.shape[1])

    def _some(self, nodes: Integers) -> Integers:
        """All nodes of a set, or a random part with which the work is bounded and every class has a node at least."""
        wide = self._entries
        count = int((_SPARSE_WORK if self._sparse else _DENSE_WORK) / max(wide * self.graph.num_classes, 1))
        count = min(max(count, FEWEST_FITTED), MOST_FITTED)
        if len(nodes) <= count:
            return nodes
        mixed = np.random.default_rng(0).permutation(nodes)
        _, first = np.unique(self._y[mixed], return_index=True)
        found: Integers = np.unique(np.concatenate([mixed[first], mixed[:count]]))
        return found

    def _predict(self, model: LogisticRegression, nodes: Integers) -> Floats:
        blocks = [nodes[first : first + _ROWS] for first in range(0, len(nodes), _ROWS)]
        said = [self._said(model, self._normalised(block, self._now)) for block in blocks]
        return np.concatenate(said) if said else np.zeros((0, self.graph.num_classes))

    def _said(self, model: LogisticRegression, columns: Any) -> Floats:
        """Probabilities of nodes; those of a class without training nodes are 0."""
        found = np.zeros((columns.shape[0], self.graph.num_classes))
        found[:, model.classes_] = model.predict_proba(columns)
        return found


class _Columns:
    """What logistic regression reads of the nodes of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @property
    def sparse(self) -> bool:
        return isinstance(self.graph.x, SparseMatrix)

    def of(self, nodes: Integers) -> Any:
        """Columns of some nodes: their own, and the means of their neighbours'; 0 where there are none."""
        parts = [self._own[nodes]]
        for way in self._ways:
            rows = way[nodes]
            shares = sp.diags_array(1 / np.maximum(np.diff(rows.indptr), 1).astype(np.float32))
            parts.append((shares @ rows) @ self._own)
        return sp.csr_array(sp.hstack(parts)) if self.sparse else np.concatenate(parts, axis=1)

    @cached_property
    def _ways(self) -> list[sp.csr_array]:
        """Neighbours along edges and, where edges have directions, against them; every edge counts the same."""
        matrix = self.graph.adjacency.matrix
        links = matrix.to_scipy().astype(bool).astype(np.float32)
        links.setdiag(0)
        links.eliminate_zeros()
        return [sp.csr_array(links)] if matrix.is_symmetric else [sp.csr_array(links), sp.csr_array(links.T)]

    @cached_property
    def _own(self) -> Any:
        """Columns of the nodes themselves, features and degrees: sparse where features are."""
        degrees = [np.log1p(np.diff(way.indptr)).astype(np.float32)[:, np.newaxis] for way in self._ways]
        x = self.graph.x
        if isinstance(x, SparseMatrix):
            parts: list[Any] = [x.to_scipy().astype(np.float32), *degrees]
            return sp.csr_array(sp.hstack(parts))
        return np.concatenate([*([] if x is None else [x.float().cpu().numpy()]), *degrees], axis=1)
