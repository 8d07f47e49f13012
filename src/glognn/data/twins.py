"""Generated twins of the large datasets: the same sizes, for time and memory where the dataset is out of reach.

A twin has the dataset's number of nodes, of directed and of undirected edges, features, classes and edge homophily, and
skewed degrees. It is not the dataset: its scores say nothing about it, and no record calls it by that name.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from glognn.data.entry import Dataset, Twin
from glognn.data.splits import random_splits
from glognn.errors import InputError
from glognn.graph.sparse import SparseMatrix

IntArray = npt.NDArray[np.int64]

DEGREE_SPREAD = 1.0
"""Standard deviation of the logarithm of a node's popularity."""
SHIFT = 0.3
"""How far the dense features of a class lie from those of another, in standard deviations, in one column per class."""
TOPIC = 0.2
"""Share of the ones of sparse features that lie in the class's own part of the columns."""


def generate(entry: Dataset, scale: float = 1.0, *, seed: int = 0) -> Data:
    """A twin of a dataset, with ``scale`` times its nodes and edges.

    Node i has popularity exp(N(0, 1)). The wanted number of same-class pairs, and that of pairs of different classes,
    is drawn with both ends in proportion to popularity, repeated pairs left out, so that counts and homophily are met
    exactly; as many pairs as the dataset has reciprocal edges are stored in both directions, the others in one.
    Features tell a little about the class. All nodes are labelled; five random 50/25/25 splits.

    Cost: O(edges log edges) time and about 60 bytes per directed edge at the peak.
    """
    twin, expected = entry.twin, entry.expected
    if twin is None:
        raise InputError(f"There is no twin of '{entry.name}'.")
    num_nodes = round(scale * expected.nodes)
    pairs = round(scale * twin.undirected_edges)
    directed = min(round(scale * twin.directed_edges), 2 * pairs)
    if num_nodes < 10 * expected.classes or pairs > num_nodes * (num_nodes - 1) // 8:
        raise InputError(f"A twin with {num_nodes} nodes and {pairs} edges is too small: raise the scale {scale:g}.")
    generator = np.random.default_rng(seed)
    labels = _labels(num_nodes, expected.classes, twin, generator)
    draw = _Ends(labels, expected.classes, generator)
    same = round(twin.homophily * pairs)
    low, high = np.divmod(np.concatenate([draw.pairs(same, True), draw.pairs(pairs - same, False)]), num_nodes)
    edges = _orient(low, high, directed - pairs, generator)
    y = torch.from_numpy(labels)
    return Data(
        x=_features(labels, expected.features, twin, generator),
        edge_index=torch.from_numpy(edges),
        y=y,
        num_nodes=num_nodes,
        **{f"{name}_mask": mask for name, mask in random_splits(y).items()},
    )


def _labels(num_nodes: int, num_classes: int, twin: Twin, generator: np.random.Generator) -> IntArray:
    shares = np.array(twin.class_shares or [1 / num_classes] * num_classes)
    bounds = np.round(num_nodes * np.cumsum(shares)).astype(np.int64)
    labels = np.searchsorted(bounds, np.arange(num_nodes), side="right").clip(max=num_classes - 1)
    return generator.permutation(labels)


class _Ends:
    """Draws ends of edges in proportion to popularity, by one look into a list that names each node often enough."""

    def __init__(self, labels: IntArray, num_classes: int, generator: np.random.Generator) -> None:
        self.generator, self.labels, self.num_nodes = generator, labels, labels.size
        popularity = np.exp(generator.normal(0.0, DEGREE_SPREAD, labels.size))
        times = np.floor(8 * popularity / popularity.mean() + generator.random(labels.size)).astype(np.int64)
        by_class = np.argsort(labels, kind="stable").astype(np.int32)
        self.ends = np.repeat(by_class, np.maximum(times[by_class], 1))
        self.starts = np.searchsorted(labels[self.ends], np.arange(num_classes + 1))

    def pairs(self, wanted: int, same_class: bool) -> IntArray:
        """Distinct pairs i < j as i n + j, of one class or of two."""
        found: IntArray = np.empty(0, dtype=np.int64)
        while found.size < wanted:
            missing = wanted - found.size
            found = np.concatenate([found, self._draw(missing + missing // 8 + 1000, same_class)])
            found.sort()
            found = found[np.concatenate([[True], found[1:] != found[:-1]])]
        surplus = self.generator.choice(found.size, found.size - wanted, replace=False, shuffle=False)
        keep = np.ones(found.size, dtype=bool)
        keep[surplus] = False
        return found[keep]

    def _draw(self, size: int, same_class: bool) -> IntArray:
        first = self.ends[self.generator.integers(0, self.ends.size, size)]
        begin, end = self.starts[self.labels[first]], self.starts[self.labels[first] + 1]
        share = self.generator.random(size)
        if same_class:
            second = self.ends[(begin + share * (end - begin)).astype(np.int64)]
        else:
            place = (share * (self.ends.size - (end - begin))).astype(np.int64)
            second = self.ends[np.where(place < begin, place, place + (end - begin))]
        low, high = np.minimum(first, second), np.maximum(first, second)
        numbers: IntArray = (low.astype(np.int64) * self.num_nodes + high)[low != high]
        return numbers


def _orient(low: IntArray, high: IntArray, both_ways: int, generator: np.random.Generator) -> IntArray:
    """Each pair in a random direction, and the first ``both_ways`` of a random order in the other one too."""
    turned = generator.random(low.size) < 0.5
    edges = np.empty((2, low.size + both_ways), dtype=np.int64)
    edges[0, : low.size] = np.where(turned, high, low)
    edges[1, : low.size] = np.where(turned, low, high)
    chosen = generator.choice(low.size, both_ways, replace=False, shuffle=False)
    edges[0, low.size :] = edges[1, chosen]
    edges[1, low.size :] = edges[0, chosen]
    return edges


def _features(labels: IntArray, width: int, twin: Twin, generator: np.random.Generator) -> Tensor:
    n, classes = labels.size, int(labels.max()) + 1
    if twin.ones_per_row == 0:
        dense = generator.standard_normal((n, width), dtype=np.float32)
        dense[np.arange(n), labels % width] += SHIFT
        return torch.from_numpy(dense)
    part = width // twin.ones_per_row
    columns = generator.integers(0, part, (n, twin.ones_per_row), dtype=np.int32)
    own = generator.random(columns.shape, dtype=np.float32) < TOPIC
    topic = part // classes
    in_topic = generator.integers(0, topic, columns.shape, dtype=np.int32) + (topic * labels[:, None]).astype(np.int32)
    columns = np.where(own, in_topic, columns) + part * np.arange(twin.ones_per_row, dtype=np.int32)
    starts = np.arange(0, n * twin.ones_per_row + 1, twin.ones_per_row)
    matrix = sp.csr_array((np.ones(columns.size, np.float32), columns.ravel(), starts), shape=(n, width))
    return SparseMatrix.from_scipy(matrix).csr
