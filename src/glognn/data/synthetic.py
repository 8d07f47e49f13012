"""Generated graphs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch_geometric.data import Data

from glognn.data.splits import random_splits
from glognn.errors import InputError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

NUM_CLASSES = 6
SAME_CLASS = 0.2
PARTNER_CLASS = 0.65
NUM_WORDS = 120
WORDS_PER_NODE = 10
TOPIC_BOOST = 2.2
DEGREE_SPREAD = 0.8


def pairs(num_nodes: int = 3000, *, average_degree: float = 12.0, num_splits: int = 5, seed: int = 0) -> Data:
    """The embedded default graph: six classes in three pairs, where a node mostly links to its partner class.

    Built so that neither features nor neighbours suffice, and so that what a method reaches can be compared with
    what is possible:

    * **Features alone are weak.** Every node holds about 10 of 120 words, drawn independently; a class prefers its
      20 topic words by a factor of 2.2 only. As the probabilities are known (:func:`word_probabilities`), so is the
      best possible classifier of features alone (:func:`best_from_features`): about 52 % are right, and no network
      that ignores the graph can do better.
    * **Neighbours mislead.** Of a node's links 20 % go to its own class (the edge homophily), 65 % to the partner
      class and 15 % elsewhere. Giving a node the most frequent *true* class of its neighbours is right for fewer
      than 10 % of the nodes, less than the 17 % of guessing, so smoothing over neighbours makes things worse.
    * **Together they are strong.** Nodes of a class link to the same kinds of nodes: they are alike across the
      whole graph (and two hops apart) though not next to each other. That is what GloGNN's global coefficients and
      the weights on the adjacency can use. With the same nodes and degrees but shuffled targets (no information in
      the graph) its advantage is gone.

    Degrees are skewed (log-normal). Features are stored as shares: the words of a node sum to 1.

    Args:
        num_nodes: Number of nodes.
        average_degree: Mean number of undirected edges at a node, before repeated ones are merged.
        num_splits: Random 50/25/25 splits, stratified by class.
        seed: Everything random follows from it.

    Returns:
        ``Data`` with ``x``, ``edge_index`` (each undirected edge stored once), ``y`` and n x splits masks.
    """
    if num_nodes < 4 * NUM_CLASSES:
        raise InputError(
            f"num_nodes must be an integer in the range [{4 * NUM_CLASSES}, inf). Got {num_nodes} instead."
        )
    generator = np.random.default_rng(seed)
    labels = generator.permutation(np.arange(num_nodes) % NUM_CLASSES)
    words = generator.random((num_nodes, NUM_WORDS)) < word_probabilities()[labels]
    features = words / np.maximum(words.sum(axis=1, keepdims=True), 1)
    edges = _paired_edges(labels, round(num_nodes * average_degree / 2), generator)
    y = torch.from_numpy(labels)
    masks = random_splits(y, num_splits, seed=seed)
    return Data(
        x=torch.from_numpy(features).float(),
        edge_index=torch.from_numpy(edges),
        y=y,
        **{f"{name}_mask": mask for name, mask in masks.items()},
    )


def word_probabilities() -> FloatArray:
    """Probability that a node of a class (row) holds a word (column), words being independent given the class."""
    topics = np.arange(NUM_WORDS) % NUM_CLASSES
    preference = np.where(topics == np.arange(NUM_CLASSES)[:, None], TOPIC_BOOST, 1.0)
    probabilities: FloatArray = WORDS_PER_NODE * preference / preference.sum(axis=1, keepdims=True)
    return probabilities


def best_from_features(x: torch.Tensor) -> torch.Tensor:
    """The most probable class of each node of :func:`pairs` given its features: no use of features does better."""
    held = (x > 0).double()
    probabilities = torch.from_numpy(word_probabilities())
    scores = held @ probabilities.log().T + (1 - held) @ (1 - probabilities).log().T
    return scores.argmax(dim=1)


def _paired_edges(labels: IntArray, num_edges: int, generator: np.random.Generator) -> IntArray:
    popularity = np.exp(generator.normal(0.0, DEGREE_SPREAD, labels.size))
    source = generator.choice(labels.size, num_edges, p=popularity / popularity.sum())
    own = labels[source]
    draw = generator.random(num_edges)
    elsewhere = ((own // 2) * 2 + 2 + generator.integers(0, NUM_CLASSES - 2, num_edges)) % NUM_CLASSES
    wanted = np.where(draw < SAME_CLASS, own, np.where(draw < SAME_CLASS + PARTNER_CLASS, own ^ 1, elsewhere))
    target = np.empty(num_edges, dtype=np.int64)
    for label in range(NUM_CLASSES):
        members, chosen = np.flatnonzero(labels == label), wanted == label
        weights = popularity[members] / popularity[members].sum()
        target[chosen] = generator.choice(members, int(chosen.sum()), p=weights)
    different = source != target
    return np.stack([source[different], target[different]])
