"""Nodes that are copies of one another: those of a test node among the training nodes inflate its score.

In squirrel and chameleon most nodes have a twin with the same links and the same class (Platonov et al., ICLR 2023).
Two nodes are near duplicates where their sets of links, or of features, overlap by a share of their union (Jaccard) of
at least 0.9; sets of fewer than three are no evidence. Candidates are found by MinHash, in O(entries), and verified.
Features that are not sparse are compared as they are: equal rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from glognn.graph.directions import edges
from glognn.graph.graph import Graph
from glognn.graph.sparse import SparseMatrix

SHARE = 0.9
SMALLEST = 3
BANDS, ROWS = 12, 4
"""Sets with a Jaccard index of 0.9 agree in at least one band with a probability of 0.99999."""
MOST_IN_BUCKET = 64
"""Of a larger bucket, neighbours in it alone are compared."""
_PRIME = np.int64(2**31 - 1)


@dataclass(frozen=True)
class Duplicate:
    """A test node and a node like it that trained the model.

    Attributes:
        node, twin: The test node and the training node.
        links, features: Jaccard index of what both point to and of their features (equal rows: 1); ``None``: too few.
        same_label: Whether both have one label.
    """

    node: int
    twin: int
    links: float | None
    features: float | None
    same_label: bool


def find_duplicates(graph: Graph, split: int = 0, share: float = SHARE, *, seed: int = 0) -> list[Duplicate]:
    """The training node most like each test node that has one; those alike in both respects first."""
    train = graph.masks["train"][:, split].cpu().numpy() | graph.masks["val"][:, split].cpu().numpy()
    test = graph.masks["test"][:, split].cpu().numpy()
    y = graph.y.cpu().numpy()
    links = _sets(edges(graph.adjacency))
    features = _sets(graph.x.to_scipy()) if isinstance(graph.x, SparseMatrix) else None
    like: dict[tuple[int, int], dict[str, float]] = {}
    for name, sets in (("links", links), ("features", features)):
        if sets is not None:
            for pair, index in _alike(sets, test, train, share, seed):
                like.setdefault(pair, {})[name] = index
    if graph.x is not None and features is None:
        for pair in _equal(np.asarray(graph.x.cpu().numpy()), test, train):  # type: ignore[union-attr]
            like.setdefault(pair, {})["features"] = 1.0
    best: dict[int, Duplicate] = {}
    for (node, twin), found in like.items():
        each = Duplicate(node, twin, found.get("links"), found.get("features"), bool(y[node] == y[twin]))
        if node not in best or _rank(each) > _rank(best[node]):
            best[node] = each
    return sorted(best.values(), key=_rank, reverse=True)


def _rank(found: Duplicate) -> tuple[float, bool, int]:
    return (found.links or 0.0) + (found.features or 0.0), found.same_label, -found.node


def _sets(matrix: sp.csr_array) -> sp.csr_array:
    """Which columns a row has, sorted."""
    found = sp.csr_array(matrix, copy=True)
    found.eliminate_zeros()
    found.sort_indices()
    return found


def _alike(
    sets: sp.csr_array, first: npt.NDArray[np.bool_], second: npt.NDArray[np.bool_], share: float, seed: int
) -> Iterator[tuple[tuple[int, int], float]]:
    sizes = np.diff(sets.indptr)
    able = np.flatnonzero((sizes >= SMALLEST) & (first | second))
    if not able.size:
        return
    signatures = _signatures(sets, seed)[able]
    tried: set[tuple[int, int]] = set()
    for band in range(BANDS):
        keys = signatures[:, band * ROWS : (band + 1) * ROWS]
        order = np.lexsort(keys.T)
        changes = np.flatnonzero((keys[order[1:]] != keys[order[:-1]]).any(axis=1)) + 1
        for bucket in np.split(able[order], changes):
            if len(bucket) < 2:
                continue
            ours, theirs = bucket[first[bucket]], bucket[second[bucket]]
            for node in ours.tolist():
                near = theirs if len(theirs) <= MOST_IN_BUCKET else theirs[:MOST_IN_BUCKET]
                for twin in near.tolist():
                    if twin == node or (node, twin) in tried:
                        continue
                    tried.add((node, twin))
                    one = sets.indices[sets.indptr[node] : sets.indptr[node + 1]]
                    other = sets.indices[sets.indptr[twin] : sets.indptr[twin + 1]]
                    common = len(np.intersect1d(one, other, assume_unique=True))
                    index = common / (len(one) + len(other) - common)
                    if index >= share:
                        yield (node, twin), index


def _signatures(sets: sp.csr_array, seed: int) -> npt.NDArray[np.int64]:
    """MinHash: the smallest of each of several hashes over the members of each set, n x hashes."""
    generator = np.random.default_rng(seed)
    count = BANDS * ROWS
    factors, shifts = generator.integers(1, _PRIME, count), generator.integers(0, _PRIME, count)
    found = np.full((sets.shape[0], count), _PRIME, dtype=np.int64)
    filled = np.flatnonzero(np.diff(sets.indptr))
    if filled.size:
        columns = sets.indices.astype(np.int64)
        for place in range(count):
            hashed = (factors[place] * (columns + 1) + shifts[place]) % _PRIME
            found[filled, place] = np.minimum.reduceat(hashed, sets.indptr[filled])
    return found


def _equal(
    x: npt.NDArray[np.floating], first: npt.NDArray[np.bool_], second: npt.NDArray[np.bool_]
) -> Iterator[tuple[int, int]]:
    """Rows of the first that are equal to one of the second; rows of zeros are no evidence."""
    keys: dict[bytes, int] = {}
    for place in np.flatnonzero(second & (x != 0).any(axis=1)).tolist():
        keys.setdefault(x[place].tobytes(), place)
    for place in np.flatnonzero(first & (x != 0).any(axis=1)).tolist():
        if (twin := keys.get(x[place].tobytes())) is not None:
            yield place, twin
