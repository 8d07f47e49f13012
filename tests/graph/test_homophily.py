"""Edge homophily on graphs small enough to count by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch_geometric.data import Data

from glognn.data.sources import load_data
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.graph.homophily import edge_homophily
from tests.conftest import REAL_DATA


def homophily(edges: list[tuple[int, int]], y: list[int], **settings: object) -> float:
    edge_index = torch.tensor(edges).T if edges else torch.zeros(2, 0, dtype=torch.long)
    graph = Graph.from_data(Data(edge_index=edge_index, y=torch.tensor(y)), GraphConfig(**settings))
    return edge_homophily(graph.adjacency.matrix, graph.y)


def test_counted_by_hand() -> None:
    y = [0, 0, 1, 1]
    assert homophily([(0, 1), (1, 2), (2, 3)], y) == pytest.approx(2 / 3)
    assert homophily([(0, 1), (1, 0), (1, 2), (1, 2)], y) == pytest.approx(1 / 2)  # each undirected edge once
    assert homophily([(0, 0), (1, 2)], y) == pytest.approx(1 / 2)  # a self-loop counts once
    assert homophily([(0, 1), (1, 0), (1, 2)], y, directed=True) == pytest.approx(2 / 3)


def test_edges_at_unlabelled_nodes_do_not_count() -> None:
    assert homophily([(0, 1), (1, 2)], [0, 0, -1]) == 1.0
    assert math.isnan(homophily([(0, 1)], [0, -1]))
    assert math.isnan(homophily([], [0, 1]))


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "wanted"),
    [("texas", 0.11), ("wisconsin", 0.21), ("cornell", 0.30), ("chameleon", 0.23), ("squirrel", 0.22), ("cora", 0.81)],
)
def test_equals_the_papers_table(name: str, wanted: float) -> None:
    graph = Graph.from_data(load_data(str(REAL_DATA / f"{name}.npz")))
    assert round(edge_homophily(graph.adjacency.matrix, graph.y), 2) == wanted
