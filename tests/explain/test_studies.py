"""Grouping effect and global homophily against the dense Z* and plain graph search."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch

from glognn.errors import InputError
from glognn.explain.coefficients import coefficient_rows
from glognn.explain.global_homophily import by_distance
from glognn.explain.grouping import measure_grouping, ordered_by_class
from glognn.graph.graph import Graph
from glognn.models.glognn import GloGNN, GloGNNPlusPlus
from tests.conftest import make_data


@pytest.fixture
def graph() -> Graph:
    data = make_data(num_nodes=70, num_edges=75, isolated=3)
    data.y[[5, 9]] = -1
    return Graph.from_data(data, dtype=torch.float64)


@pytest.mark.parametrize("kind", [GloGNN, GloGNNPlusPlus])
def test_grouping(kind: type[GloGNN], graph: Graph) -> None:
    model = kind(7, 3, 70).double()
    z = coefficient_rows(model, graph, range(70)).numpy()
    y = graph.y.numpy()
    known = (y[:, None] >= 0) & (y >= 0) & ~np.eye(70, dtype=bool)
    same = (y[:, None] == y) & known
    other = (y[:, None] != y) & known
    for block in (7, 256):
        found = measure_grouping(model, graph, block=block)
        assert found.within == pytest.approx(z[same].mean())
        assert found.between == pytest.approx(z[other].mean())
        assert found.contrast == pytest.approx((z[same].mean() - z[other].mean()) / np.abs(z[known]).mean())
        assert found.within_positive == pytest.approx((z[same] > 0).mean())
        assert found.between_positive == pytest.approx((z[other] > 0).mean())


def test_a_trained_model_groups_its_classes() -> None:
    from glognn.data.synthetic import pairs
    from glognn.training.config import TrainingConfig
    from glognn.training.driver import train

    torch.manual_seed(0)
    graph = Graph.from_data(pairs(600))
    model = GloGNN(120, 6, 600)
    before = measure_grouping(model, graph).contrast
    train(model, graph, config=TrainingConfig(epochs=150))
    assert measure_grouping(model, graph).contrast > before + 0.5


def test_ordered_by_class(graph: Graph) -> None:
    model = GloGNN(7, 3, 70).double()
    z, h, y = ordered_by_class(model, graph)
    order = torch.argsort(graph.y, stable=True)
    assert torch.equal(y, graph.y[order])
    torch.testing.assert_close(z, coefficient_rows(model, graph, order)[:, order])
    assert h.shape == (70, 3)
    big = Graph.from_data(make_data(num_nodes=3001, num_edges=10))
    with pytest.raises(InputError, match="up to 3000 nodes. Got 3001"):
        ordered_by_class(GloGNN(7, 3, 3001), big)


def test_counts_by_distance(graph: Graph) -> None:
    model = GloGNN(7, 3, 70).double()
    z = coefficient_rows(model, graph, range(70)).numpy()
    y = graph.y.numpy()
    plain = nx.Graph()
    plain.add_nodes_from(range(70))
    plain.add_edges_from(np.stack(graph.adjacency.matrix.to_scipy().nonzero()).T.tolist())
    lengths = dict(nx.all_pairs_shortest_path_length(plain))
    wanted: dict[str, list[int]] = {}
    for i in np.flatnonzero(y >= 0):
        for j in np.flatnonzero(y >= 0):
            if i == j:
                continue
            length = lengths[i].get(j)
            name = "unreachable" if length is None else str(length) if length <= 3 else ">3"
            row = wanted.setdefault(name, [0, 0, 0, 0])
            same, positive = y[i] == y[j], z[i, j] > 0
            for k, counted in enumerate((True, same, same and positive, positive)):
                row[k] += bool(counted)
    number = int((y >= 0).sum())
    for block in (11, 256):
        rows = by_distance(model, graph, max_hops=3, block=block)
        assert [row.distance for row in rows] == ["1", "2", "3", ">3", "unreachable"]
        for row in rows:
            found = [row.nodes, row.same, row.same_positive, row.positive]
            assert found == pytest.approx([value / number for value in wanted[row.distance]])
