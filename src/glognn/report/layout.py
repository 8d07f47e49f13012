"""Where the nodes of a graph are drawn: computed once, from what the model says of them and from their links.

A node is described by the class scores of the model, and by random vectors of all nodes, added up along its links over
three hops (so that nodes with the same surroundings get the same sum, whatever their classes). t-SNE of scikit-learn
draws the descriptions on a plane. Of large graphs it draws some nodes, and each of the others lies between those that
it is most like, so that the time grows with nodes and edges alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Floats = npt.NDArray[np.float64]

DRAWN = 2500
"""Nodes up to which t-SNE draws them all."""
_WIDTH, _HOPS, _LINKS = 32, 3, 0.7
_NEAREST, _SPREAD = 4, 0.008
_STRETCHED = 2.5
_STEPS, _COARSE = 400, 0.7
"""Of t-SNE: more steps and finer forces take thrice the time for the same picture."""


def place_nodes(scores: Floats, links: Any, *, seed: int = 0) -> tuple[Floats, str]:
    """Places of all nodes between 0 and 1, n x 2, and how they were found, in words.

    Args:
        scores: Of each node, n x c.
        links: Entries where there is an edge, n x n, symmetric.
        seed: Of the random vectors, and of which nodes are drawn first.
    """
    generator = np.random.default_rng(seed)
    described = np.concatenate([_scaled(scores), _LINKS * _scaled(_surroundings(links, generator))], axis=1)
    count = len(described)
    if count <= DRAWN:
        words = "t-SNE (scikit-learn) of class scores and links within three hops"
        return _into_square(_tsne(described, seed)), words
    chosen = np.sort(generator.choice(count, DRAWN, replace=False))
    drawn = _into_square(_tsne(described[chosen], seed))
    places = _between(described, described[chosen], drawn)
    places += generator.normal(scale=_SPREAD, size=places.shape)
    places[chosen] = drawn
    words = f"t-SNE (scikit-learn) of class scores and links within three hops; {DRAWN:,} nodes drawn, others between"
    return _into_square(places), words


def _surroundings(links: Any, generator: np.random.Generator) -> Floats:
    """Random vectors added up along links, one block for each number of hops."""
    count = links.shape[0]
    degree = np.maximum(np.diff(links.indptr), 1)
    mean = sp.diags_array(1 / degree) @ sp.csr_array((np.ones(links.nnz), links.indices, links.indptr), links.shape)
    found, blocks = generator.choice([-1.0, 1.0], size=(count, _WIDTH)) / np.sqrt(degree)[:, np.newaxis], []
    for _ in range(_HOPS):
        found = mean @ found
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        blocks.append(found / np.where(lengths > 0, lengths, 1))
    return np.concatenate(blocks, axis=1)


def _scaled(values: Floats) -> Floats:
    """Columns around 0, all together of length 1 on average."""
    centred = values - values.mean(axis=0)
    size = np.sqrt(np.square(centred).sum(axis=1).mean())
    found: Floats = centred / size if size > 0 else centred
    return found


def _tsne(described: Floats, seed: int) -> Floats:
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    count = len(described)
    if count < 4:
        return np.stack([np.arange(count), np.zeros(count)], axis=1)
    width = min(described.shape[1], count, 20)
    reduced = PCA(width, random_state=seed).fit_transform(described)
    perplexity = min(30.0, (count - 1) / 3)
    start = reduced[:, :2] / max(float(reduced[:, 0].std()), 1e-12) * 1e-4
    found: Floats = (
        TSNE(init=start, perplexity=perplexity, random_state=seed, max_iter=_STEPS, angle=_COARSE)
        .fit_transform(reduced.astype(np.float32))
        .astype(np.float64)
    )
    return found


def _between(described: Floats, known: Floats, drawn: Floats) -> Floats:
    """Means of the places of the most alike of those that are drawn, the more alike the more they count."""
    from sklearn.neighbors import NearestNeighbors

    distances, nearest = NearestNeighbors(n_neighbors=_NEAREST).fit(known).kneighbors(described)
    weights = 1 / (distances + 1e-9) ** 2
    weights /= weights.sum(axis=1, keepdims=True)
    # far apart on the plane, a mean would lie where nothing is: then the most alike decides
    mean: Floats = np.einsum("nk,nkd->nd", weights, drawn[nearest])
    apart = np.linalg.norm(drawn[nearest] - mean[:, np.newaxis], axis=2).max(axis=1) > 0.08
    mean[apart] = drawn[nearest[apart, 0]]
    return mean


def _into_square(places: Floats) -> Floats:
    """The same picture between 0 and 1; one that is long is stretched, as distances along and across mean the same."""
    low, high = places.min(axis=0), places.max(axis=0)
    sizes = np.maximum(high - low, 1e-12)
    sizes = np.maximum(sizes, sizes.max() / _STRETCHED)
    found: Floats = (places - (low + high) / 2) / sizes + 0.5
    return np.clip(found, 0, 1)
