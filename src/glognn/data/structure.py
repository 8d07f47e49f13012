"""Structural similarities of a graph's nodes, computed once and kept in the cache.

They depend on the edges alone, so splits, features and models share them. A process that finds another one at work on
the same graph waits for it.
"""

from __future__ import annotations

import hashlib
import logging
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from glognn.data.fetch import cache_dir
from glognn.graph.structure import SimilarNodes, similar_nodes, undirected_pattern
from glognn.storage import locked, write_atomically

logger = logging.getLogger(__name__)

_VERSION = 1
_LINE_EVERY = 5.0


def structural_similarities(
    adjacency: sp.csr_array, *, num_similar: int, num_rings: int, threads: int = 1
) -> SimilarNodes:
    """See :func:`~glognn.graph.structure.similar_nodes`; from the cache when it is there."""
    pattern = undirected_pattern(adjacency)
    digest = hashlib.sha256(f"{_VERSION} {num_similar} {num_rings} {pattern.shape[0]}".encode())
    for part in (pattern.indptr, pattern.indices):
        digest.update(part.astype(np.int64).data)
    folder = cache_dir() / "structure" / digest.hexdigest()[:16]

    def compute() -> SimilarNodes:
        start, report = time.monotonic(), _reporter()
        found = similar_nodes(pattern, num_similar=num_similar, num_rings=num_rings, threads=threads, progress=report)
        logger.debug("compared %d pairs in %.1f s", found.pairs.shape[1], time.monotonic() - start)
        return found

    try:
        with locked(folder):
            return _read(folder / "similar.npz") or _write(folder / "similar.npz", compute())
    except OSError as error:
        logger.warning("The cache '%s' cannot be used (%s): structural similarities are not kept.", folder, error)
        return compute()


def _reporter() -> Callable[[str, float], None]:
    """A line now and then about how far it is; nothing for a graph that is done at once."""
    last = time.monotonic()

    def report(what: str, share: float) -> None:
        nonlocal last
        if time.monotonic() - last >= _LINE_EVERY:
            last = time.monotonic()
            logger.info("%s: %.0f %%", what, 100 * share)

    return report


def _read(path: Path) -> SimilarNodes | None:
    try:
        with np.load(path) as content:
            return SimilarNodes(content["pairs"], content["distances"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile):
        logger.warning("'%s' is damaged. It is made again.", path)
        return None


def _write(path: Path, found: SimilarNodes) -> SimilarNodes:
    def save(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.savez(file, pairs=found.pairs, distances=found.distances)

    write_atomically(path, save)
    return found
