"""What a loaded graph is: counts, degrees, classes, homophily, splits; and whether that is what the catalog expects."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch_geometric.data import Data

from glognn.data.entry import Expected
from glognn.graph.config import GraphConfig
from glognn.graph.graph import SET_NAMES, Graph
from glognn.graph.homophily import Homophily, class_edges, measure_homophily

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Statistics:
    """Measured on the graph as published; degrees, isolated nodes and homophily on its undirected form.

    Attributes:
        edges_given: Columns of the published edge list.
        edges_directed: Distinct ones among them.
        edges_undirected: Distinct pairs of nodes, self-loops included.
        degrees: Number of other nodes linked to each node, in either direction.
        class_edges: Share of a class's (row) edges that lead to each class (column).
        given_homophily: Share of the columns of the edge list, loops and repetitions included, that join a class with
            itself.
        set_sizes: Smallest and largest number of labelled nodes in each set, over the splits.
        fingerprint: Hash of directed edges, features, labels and splits.
    """

    nodes: int
    edges_given: int
    edges_directed: int
    edges_undirected: int
    self_loops: int
    isolated: int
    degrees: IntArray
    features: int
    feature_density: float
    class_sizes: list[int]
    unlabelled: int
    homophily: Homophily
    given_homophily: float
    class_edges: npt.NDArray[np.float64]
    splits: int
    set_sizes: dict[str, tuple[int, int]]
    fingerprint: str

    @property
    def classes(self) -> int:
        return len(self.class_sizes)

    def record(self) -> dict[str, Any]:
        """As plain values, for JSON: degrees as five numbers."""
        content = asdict(self) | {"homophily": self.homophily.as_dict(), "class_edges": self.class_edges.tolist()}
        given = None if np.isnan(self.given_homophily) else self.given_homophily
        return content | {"classes": self.classes, "degrees": self.degree_summary(), "given_homophily": given}

    def degree_summary(self) -> dict[str, float]:
        low, median, high = np.quantile(self.degrees, [0, 0.5, 1])
        return {"min": float(low), "median": float(median), "mean": float(self.degrees.mean()), "max": float(high)}


def measure(data: Data) -> Statistics:
    """Count and measure a loaded graph."""
    directed = Graph.from_data(data, GraphConfig(directed=True))
    undirected = Graph.from_data(Data(edge_index=data.edge_index, y=data.y, num_nodes=data.num_nodes))
    matrix = undirected.adjacency.matrix.to_scipy()
    has_loop = (matrix.diagonal() != 0).astype(np.int64)
    loops = int(has_loop.sum())
    y = directed.y
    source, target = y[data.edge_index[0]], y[data.edge_index[1]]
    labelled = (source >= 0) & (target >= 0)
    sizes = {name: mask.sum(dim=0).tolist() for name, mask in directed.masks.items()}
    return Statistics(
        nodes=directed.num_nodes,
        edges_given=data.edge_index.shape[1],
        edges_directed=directed.adjacency.matrix.nnz,
        edges_undirected=(matrix.nnz - loops) // 2 + loops,
        self_loops=loops,
        isolated=undirected.num_isolated,
        degrees=np.diff(matrix.indptr).astype(np.int64) - has_loop,
        features=directed.num_features,
        feature_density=_density(data),
        class_sizes=torch.bincount(y[y >= 0], minlength=directed.num_classes).tolist(),
        unlabelled=int((y < 0).sum()),
        homophily=measure_homophily(undirected.adjacency.matrix, y),
        given_homophily=float((source == target)[labelled].double().mean()),
        class_edges=class_edges(undirected.adjacency.matrix, y),
        splits=directed.num_splits,
        set_sizes={name: (min(sizes[name]), max(sizes[name])) for name in SET_NAMES} if directed.num_splits else {},
        fingerprint=directed.fingerprint(),
    )


def _density(data: Data) -> float:
    if data.x is None or not data.x.numel():
        return 0.0
    nonzeros = torch.count_nonzero(data.x if data.x.layout == torch.strided else data.x.values())
    return float(nonzeros / (data.x.shape[0] * data.x.shape[1]))


def differences(found: Statistics, expected: Expected) -> list[str]:
    """Where a graph is not what the catalog expects, one line each."""
    given = expected.counted == "given"
    homophily = found.given_homophily if given else found.homophily.edge_with_loops
    pairs: list[tuple[str, object, object]] = [
        ("nodes", found.nodes, expected.nodes),
        ("edges", found.edges_given if given else found.edges_undirected, expected.edges),
        ("features", found.features, expected.features),
        ("classes", found.classes, expected.classes),
        ("edge homophily", round(homophily, 2), expected.homophily),
        ("fingerprint", found.fingerprint, expected.fingerprint),
    ]
    return [f"{name} {got} instead of {wanted}" for name, got, wanted in pairs if wanted is not None and got != wanted]
