"""Homophily on graphs small enough to count by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import homophily as pyg_homophily

from glognn.graph import homophily as module
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.graph.homophily import Homophily, class_edges, measure_homophily, measure_kinship
from tests.conftest import make_data

Edges = list[tuple[int, int]]


def prepare(edges: Edges, y: list[int], **settings: object) -> Graph:
    edge_index = torch.tensor(edges).T if edges else torch.zeros(2, 0, dtype=torch.long)
    return Graph.from_data(Data(edge_index=edge_index, y=torch.tensor(y)), GraphConfig(**settings))


def measure(edges: Edges, y: list[int], **settings: object) -> Homophily:
    graph = prepare(edges, y, **settings)
    return measure_homophily(graph.adjacency.matrix, graph.y)


def test_edge_homophily_counted_by_hand() -> None:
    y = [0, 0, 1, 1]
    assert measure([(0, 1), (1, 2), (2, 3)], y).edge == pytest.approx(2 / 3)
    assert measure([(0, 1), (1, 0), (1, 2), (1, 2)], y).edge == pytest.approx(1 / 2)  # each undirected edge once
    found = measure([(0, 0), (1, 2)], y)
    assert found.edge_with_loops == pytest.approx(1 / 2)  # a self-loop counts once
    assert found.edge == 0.0
    assert measure([(0, 1), (1, 0), (1, 2)], y, directed=True).edge == pytest.approx(2 / 3)
    only_loops = measure([(0, 0), (1, 1)], y)
    assert only_loops.edge_with_loops == 1.0
    assert math.isnan(only_loops.edge)


def test_a_path_of_four_counted_by_hand() -> None:
    """0 - 1 - 2 - 3 with classes a, a, b, b, and the self-loop at 3, which only one measure counts."""
    found = measure([(0, 1), (1, 2), (2, 3), (3, 3)], [0, 0, 1, 1])
    assert found.edge_with_loops == pytest.approx(3 / 4)
    assert found.node == pytest.approx((1 + 1 / 2 + 1 / 2 + 1) / 4)
    # class a: edge ends 0-1, 1-0, 1-2, so 2/3 in the class, half of the nodes; class b likewise
    assert found.class_insensitive == pytest.approx(2 * (2 / 3 - 1 / 2))
    # half of the edge ends are at each class: chance is 1/4 + 1/4
    assert found.adjusted == pytest.approx((2 / 3 - 1 / 2) / (1 - 1 / 2))
    p_same, p_other = 2 / 6, 1 / 6
    joint = -2 * p_same * math.log(p_same) - 2 * p_other * math.log(p_other)
    assert found.label_informativeness == pytest.approx(2 - joint / math.log(2))


def test_a_star_counted_by_hand() -> None:
    """A centre of class 0 with three leaves of classes 0, 1, 1: classes of unequal size."""
    found = measure([(0, 1), (0, 2), (0, 3)], [0, 0, 1, 1])
    assert found.edge == pytest.approx(1 / 3)
    assert found.node == pytest.approx((1 / 3 + 1 + 0 + 0) / 4)
    # class 0: four edge ends, two of them in the class, but half of all nodes: no excess; class 1: none
    assert found.class_insensitive == pytest.approx(0)
    chance = (4 / 6) ** 2 + (2 / 6) ** 2
    assert found.adjusted == pytest.approx((1 / 3 - chance) / (1 - chance))


def test_extremes() -> None:
    triangles = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]
    alike = measure(triangles, [0, 0, 0, 1, 1, 1])
    assert (alike.edge, alike.node, alike.adjusted, alike.label_informativeness) == (1.0, 1.0, 1.0, 1.0)
    assert alike.class_insensitive == pytest.approx(1.0)
    # all neighbours differ, yet a neighbour's class tells everything
    bipartite = measure([(i, j) for i in range(3) for j in range(3, 6)], [0, 0, 0, 1, 1, 1])
    assert (bipartite.edge, bipartite.adjusted, bipartite.label_informativeness) == (0.0, -1.0, 1.0)


def test_edges_at_unlabelled_nodes_do_not_count() -> None:
    assert measure([(0, 1), (1, 2)], [0, 0, -1]).edge == 1.0
    assert measure([(0, 1), (1, 2)], [0, 0, -1]).node == 1.0
    assert math.isnan(measure([(0, 1)], [0, -1]).edge)
    nothing = measure([], [0, 1])
    assert all(math.isnan(value) for value in vars(nothing).values())
    assert set(nothing.as_dict().values()) == {None}


def test_agrees_with_pytorch_geometric_and_needs_no_large_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_data(make_data(num_nodes=300, num_edges=900, isolated=0), GraphConfig(self_loops="remove"))
    found = measure_homophily(graph.adjacency.matrix, graph.y)
    edges = torch.from_numpy(np.stack(graph.adjacency.matrix.to_scipy().nonzero()))
    linked = Data(edge_index=edges).edge_index[0].unique().numel() / graph.num_nodes
    assert found.edge == pytest.approx(pyg_homophily(edges, graph.y, method="edge"), abs=1e-6)
    assert found.node * linked == pytest.approx(pyg_homophily(edges, graph.y, method="node"), abs=1e-6)
    wanted = pyg_homophily(edges, graph.y, method="edge_insensitive")
    assert found.class_insensitive == pytest.approx(wanted, abs=1e-6)
    monkeypatch.setattr(module, "BLOCK", 7)
    assert measure_homophily(graph.adjacency.matrix, graph.y) == found


def test_class_edges() -> None:
    graph = prepare([(0, 1), (0, 2), (0, 3), (1, 1)], [0, 0, 1, 1])
    assert class_edges(graph.adjacency.matrix, graph.y).tolist() == [[0.5, 0.5], [1.0, 0.0]]


def blocks(seed: int, num_nodes: int = 300, labelled: float = 1.0) -> Graph:
    """Three classes of random edges, twice as many within a class as between two; some labels are hidden."""
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 3, num_nodes)
    chance = np.where(y[:, None] == y, 8 / num_nodes, 4 / num_nodes)
    edges = np.argwhere(np.triu(generator.random((num_nodes, num_nodes)) < chance, 1))
    known = np.where(generator.random(num_nodes) < labelled, y, -1)
    return Graph.from_data(Data(edge_index=torch.from_numpy(edges.T), y=torch.from_numpy(known), num_nodes=num_nodes))


@pytest.mark.parametrize("directed", [False, True])
def test_kinship_is_the_measures_of_edges_between_labelled_nodes(directed: bool) -> None:
    graph = Graph.from_data(make_data(), GraphConfig(directed=directed))
    y = torch.where(torch.arange(60) % 3 == 0, -1, graph.y)
    found, plain = measure_kinship(graph.adjacency.matrix, y), measure_homophily(graph.adjacency.matrix, y)
    rows, columns = (each[each != -1] for each in graph.adjacency.matrix.entries())
    between = (y[rows] >= 0) & (y[columns] >= 0) & (rows != columns)
    assert found.edges == int(between.sum()) / (1 if directed else 2)
    assert found.adjusted == pytest.approx(plain.adjusted)
    assert found.informativeness < plain.label_informativeness
    assert found.adjusted_error > 0


def test_the_errors_of_kinship_are_what_other_labelled_nodes_would_make_of_it() -> None:
    found = [measure_kinship(graph.adjacency.matrix, graph.y) for graph in (blocks(seed) for seed in range(40))]
    for name in ("adjusted", "informativeness"):
        spread = np.std([getattr(each, name) for each in found], ddof=1)
        assert 0.7 < np.mean([getattr(each, f"{name}_error") for each in found]) / spread < 2.0, name
    few = blocks(0, labelled=0.2)
    assert measure_kinship(few.adjacency.matrix, few.y).adjusted_error > 2 * found[0].adjusted_error


def test_edges_that_ignore_classes_tell_nothing_on_average() -> None:
    """Without what is taken off, few edges would seem to tell something."""
    graphs = [blocks(seed, 120, 0.4) for seed in range(40)]
    mixed = [torch.where(graph.y >= 0, graph.y.roll(1).abs() % 3, -1) for graph in graphs]
    told = [measure_kinship(graph.adjacency.matrix, y).informativeness for graph, y in zip(graphs, mixed, strict=True)]
    assert abs(np.mean(told)) < 2 * np.std(told) / math.sqrt(len(told)) + 0.01


def test_kinship_without_edges_or_classes_is_undefined() -> None:
    graph = prepare([(0, 1), (1, 2)], [0, 1, -1])
    alone = measure_kinship(graph.adjacency.matrix, torch.tensor([0, -1, 1]))
    assert alone.edges == 0
    assert math.isnan(alone.adjusted)
    assert math.isnan(measure_kinship(graph.adjacency.matrix, torch.tensor([0, 0, 0])).adjusted)
