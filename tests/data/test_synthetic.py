"""The embedded graph is what its docstring says, and shows that the graph helps."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from glognn.data.synthetic import best_from_features, pairs
from glognn.errors import InputError
from glognn.graph.graph import Graph
from glognn.graph.homophily import edge_homophily
from glognn.models.glognn import GloGNN, GloGNNPlusPlus
from glognn.models.mlp import MLP
from glognn.training.config import TrainingConfig
from glognn.training.driver import train


@pytest.fixture(scope="module")
def data() -> Data:
    return pairs()


def mean_accuracy(model_class: type, data: Data, **settings: object) -> float:
    """Mean test accuracy of the default settings over two splits."""
    graph = Graph.from_data(data)
    scores = []
    for split in range(2):
        torch.manual_seed(split)
        model = model_class.for_graph(graph, model_class.config_class(**settings))
        scores.append(train(model, graph, split=split, config=TrainingConfig(seed=split)).selected.test)
    return sum(scores) / len(scores)


def test_size_and_homophily(data: Data) -> None:
    graph = Graph.from_data(data)
    assert (graph.num_nodes, graph.num_features, graph.num_classes, graph.num_splits) == (3000, 120, 6, 5)
    assert edge_homophily(graph.adjacency.matrix, graph.y) == pytest.approx(0.2, abs=0.02)
    degrees = graph.adjacency.matrix.csr.crow_indices().diff()
    assert degrees.float().mean() == pytest.approx(12, abs=1)
    assert degrees.max() > 5 * degrees.float().mean()  # skewed
    torch.testing.assert_close(data.x.sum(1)[data.x.sum(1) > 0], torch.ones(int((data.x.sum(1) > 0).sum())))


def test_the_same_seed_gives_the_same_graph() -> None:
    first, again, other = pairs(300), pairs(300), pairs(300, seed=1)
    assert Graph.from_data(first).fingerprint() == Graph.from_data(again).fingerprint()
    assert Graph.from_data(first).fingerprint() != Graph.from_data(other).fingerprint()


def test_features_alone_are_weak_and_neighbours_mislead(data: Data) -> None:
    """No use of the features alone gets beyond this; and the neighbours' true classes point elsewhere."""
    bound = float((best_from_features(data.x) == data.y).float().mean())
    assert 0.45 < bound < 0.6
    adjacency = Graph.from_data(data).adjacency.matrix.to_scipy()
    votes = (adjacency @ np.eye(6)[data.y.numpy()]).argmax(axis=1)
    assert (votes == data.y.numpy()).mean() < 1 / 6  # worse than guessing
    assert mean_accuracy(MLP, data) < bound + 0.03


def test_features_and_graph_together_are_strong(data: Data, figures: dict[str, str]) -> None:
    """GloGNN gets far beyond the best possible without the graph, and not when the graph carries no information."""
    bound = float((best_from_features(data.x) == data.y).float().mean())
    plain, plus = mean_accuracy(GloGNN, data), mean_accuracy(GloGNNPlusPlus, data)
    assert min(plain, plus) > bound + 0.2
    assert mean_accuracy(GloGNN, data, alpha=1.0) < plain  # the graph alone is not as good as both
    shuffled = data.clone()
    order = torch.randperm(data.edge_index.shape[1], generator=torch.Generator().manual_seed(0))
    shuffled.edge_index = torch.stack([data.edge_index[0], data.edge_index[1, order]])
    without = mean_accuracy(GloGNN, shuffled)
    assert without < bound
    figures["pairs, test accuracy: best from features, GloGNN, GloGNN++, GloGNN on shuffled edges"] = (
        f"{bound:.3f}, {plain:.3f}, {plus:.3f}, {without:.3f}"
    )


def test_too_small() -> None:
    with pytest.raises(InputError, match=r"in the range \[24, inf\). Got 10"):
        pairs(10)
