"""The baselines: what they read, what they are told, and that their work is bounded."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from glognn import random_splits
from glognn.experiments import baselines as module
from glognn.experiments.baselines import CONSTANT, LOGISTIC, Baselines
from glognn.graph.config import GraphConfig
from glognn.graph.extension import Extension
from glognn.graph.graph import Graph

NODES = 400


def neighbourly(*, sparse: bool = False, directed: bool = False, seed: int = 0) -> Graph:
    """The class is the sign of what the neighbours' first feature is on average; own features tell nothing of it."""
    generator = np.random.default_rng(seed)
    x = (generator.random((NODES, 12)) < 0.15).astype(np.float32) if sparse else generator.normal(size=(NODES, 12))
    edges = np.stack([np.repeat(np.arange(NODES), 10), generator.integers(0, NODES, 10 * NODES)])
    edges = edges[:, edges[0] != edges[1]]
    data = Data(x=torch.from_numpy(x).float(), edge_index=torch.from_numpy(edges), num_nodes=NODES)
    matrix = Graph.from_data(data, GraphConfig(directed=directed)).adjacency.matrix.to_scipy().astype(bool)
    means = (matrix @ x[:, 0]) / np.maximum(np.diff(matrix.indptr), 1)
    data.y = torch.from_numpy((means > np.median(means)).astype(np.int64))
    for name, mask in random_splits(data.y, 2).items():
        data[f"{name}_mask"] = mask
    return Graph.from_data(data, GraphConfig(directed=directed))


def right(graph: Graph, name: str, split: int = 0) -> float:
    nodes = graph.indices(split)["test"].numpy()
    said = Baselines(graph).probabilities(split, nodes)[name]
    np.testing.assert_allclose(said.sum(axis=1), 1)
    return float((said.argmax(axis=1) == graph.y.numpy()[nodes]).mean())


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_logistic_regression_reads_neighbours(sparse: bool, directed: bool) -> None:
    graph = neighbourly(sparse=sparse, directed=directed)
    found, constant = right(graph, LOGISTIC), right(graph, CONSTANT)
    assert found > constant + 0.1
    nobody = Data(x=graph.x.csr.to_dense() if sparse else graph.x, y=graph.y, edge_index=torch.zeros(2, 0).long())
    alone = Graph.from_data(nobody).with_masks(graph.masks)
    assert right(alone, LOGISTIC) < found - 0.1


def test_without_features_degrees_are_read() -> None:
    stars = [(centre, 10 * (1 + centre) + leaf) for centre in range(8) for leaf in range(9)]
    data = Data(edge_index=torch.tensor(stars).T, num_nodes=100, y=(torch.arange(100) < 8).long())
    graph = Graph.from_data(data).with_masks(random_splits(data.y, 1))
    assert right(graph, LOGISTIC) == 1.0


def test_the_constant_is_the_shares_of_training_labels() -> None:
    graph = neighbourly()
    train = graph.y[graph.masks["train"][:, 1]]
    said = Baselines(graph).probabilities(1, np.array([3, 5]))[CONSTANT]
    np.testing.assert_allclose(said[:, 1], train.double().mean())
    assert said.shape == (2, 2)


def test_no_label_of_a_test_node_is_read() -> None:
    graph = neighbourly()
    hidden = torch.where(graph.masks["test"][:, 0], 1 - graph.y, graph.y)
    other = Graph.from_data(Data(x=graph.x, edge_index=torch.stack(graph.adjacency.matrix.entries()), y=hidden))
    nodes = np.arange(NODES)
    first, second = (Baselines(each).probabilities(0, nodes) for each in (graph, other.with_masks(graph.masks)))
    for name in (CONSTANT, LOGISTIC):
        np.testing.assert_array_equal(first[name], second[name])


def test_few_of_many_training_nodes_are_fitted_and_every_class_is(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = neighbourly()
    y = graph.y.clone()
    y[graph.indices(0)["train"][0]] = 2  # the only one of its class
    rare = Graph.from_data(Data(x=graph.x, edge_index=torch.stack(graph.adjacency.matrix.entries()), y=y))
    monkeypatch.setattr(module, "MOST_FITTED", 40)
    monkeypatch.setattr(module, "FEWEST_FITTED", 40)
    monkeypatch.setattr(module, "MOST_KEPT", 100)
    seen: list[int] = []

    class Counting(module._Columns):
        def of(self, nodes: np.ndarray) -> object:
            seen.append(len(nodes))
            return super().of(nodes)

    monkeypatch.setattr(module, "_Columns", Counting)
    said = Baselines(rare.with_masks(graph.masks)).probabilities(0, np.arange(10))[LOGISTIC]
    assert said.shape == (10, 3)
    assert (said[:, 2] > 0).all()
    assert max(seen) <= 100  # rows that are looked at to see how wide they are


@pytest.mark.parametrize("sparse", [False, True])
def test_columns_that_are_kept_are_those_that_are_not(sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, nodes = neighbourly(sparse=sparse), np.array([3, 1, 99])
    kept = Baselines(graph).probabilities(0, nodes)[LOGISTIC]
    monkeypatch.setattr(module, "MOST_KEPT", 0)
    np.testing.assert_allclose(kept, Baselines(graph).probabilities(0, nodes)[LOGISTIC], atol=1e-6)


def test_classes_weigh_the_same_where_the_models_do() -> None:
    graph = neighbourly()
    scarce = torch.where((graph.y == 1) & (torch.arange(NODES) % 8 > 0), -1, graph.y)
    rare = Graph.from_data(Data(x=graph.x, edge_index=torch.stack(graph.adjacency.matrix.entries()), y=scarce))
    rare = rare.with_masks(graph.masks)
    nodes = np.arange(NODES)
    plain, balanced = (Baselines(rare, balanced=each).probabilities(0, nodes)[LOGISTIC] for each in (False, True))
    assert balanced[:, 1].mean() > 1.5 * plain[:, 1].mean()


@pytest.mark.parametrize("sparse", [False, True])
def test_nodes_that_came_later_are_read_where_they_are(sparse: bool) -> None:
    graph = neighbourly(sparse=sparse)
    neighbours = graph.adjacency.matrix.to_scipy()[[7]].nonzero()[1]
    x = (graph.x.csr.to_dense() if sparse else graph.x)[[7]]
    edges = torch.stack([torch.full((len(neighbours),), NODES), torch.from_numpy(neighbours).long()])
    now = Extension.from_data(graph, Data(x=x, edge_index=edges)).graph()
    fitted = Baselines(graph, now=now)
    found = fitted.probabilities(0, np.array([7, NODES]))
    assert set(found) == {CONSTANT, LOGISTIC}
    counts = np.diff(graph.adjacency.matrix.to_scipy().indptr)
    features = (graph.x.csr.to_dense() if sparse else graph.x).numpy()
    near = [features[neighbours].mean(axis=0), [np.log1p(counts[neighbours] + 1).mean()]]
    wanted = np.concatenate([x[0].numpy(), [np.log1p(len(neighbours))], *near])[np.newaxis]
    centre, scale = fitted._units
    expected = fitted._fitted[0].predict_proba((wanted - centre) / scale)
    np.testing.assert_allclose(found[LOGISTIC][1], expected[0], atol=1e-5)
