"""Nodes that were not in the training graph: the formula, twins of known nodes, and every other model."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from glognn.errors import InputError
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.models.configs import MODELS
from glognn.models.glognn import GloGNN, GloGNNPlusPlus
from glognn.training.config import TrainingConfig
from glognn.training.driver import train
from glognn.training.new_nodes import KnownNodes, predict_new_nodes
from glognn.training.predict import predict
from tests.conftest import make_data
from tests.reference.new_nodes import new_scores

NEW = 5


def new_nodes(data: Data, *, weighted: bool = False, seed: int = 1) -> Data:
    """Five nodes linked to known ones, to each other, one to itself; the last has no edge."""
    generator = torch.Generator().manual_seed(seed)
    n = data.num_nodes
    known = torch.randint(0, n, (12,), generator=generator)
    own = n + torch.arange(12) % (NEW - 1)
    between = torch.tensor([[n, n + 1, n + 2, n], [n + 1, n + 2, n + 2, n + 3]])
    edges = torch.cat([torch.stack([own[:6], known[:6]]), torch.stack([known[6:], own[6:]]), between], dim=1)
    new = Data(x=torch.randn(NEW, data.num_features, generator=generator), edge_index=edges)
    if weighted:
        new.edge_weight = torch.rand(edges.shape[1], generator=generator) + 0.1
    return new


def build(graph: Graph, kind: type[GloGNN] = GloGNNPlusPlus, **settings: Any) -> GloGNN:
    torch.manual_seed(3)
    model = kind(graph.num_features, graph.num_classes, graph.num_nodes, hidden_channels=8, **settings).double()
    if model.layer.scale is not None:
        torch.nn.init.uniform_(model.layer.scale, 0.2, 1.0)
    if model.layer.hops is not None:
        torch.nn.init.uniform_(model.layer.hops.weight, -1.0, 1.0)
    return model.eval()


@pytest.mark.parametrize(
    ("settings", "config"),
    [
        ({"normalization": "row"}, {}),
        ({"normalization": "symmetric", "coefficient": "exact", "num_hops": 4}, {"feature_normalization": "row"}),
        ({"normalization": "none", "fusion": "output", "num_layers": 3}, {"self_loops": "remove"}),
        ({"normalization": "symmetric", "num_encoder_layers": 3}, {"directed": True}),
        ({"normalization": "row", "fusion": "output", "coefficient": "exact"}, {"directed": True}),
        ({"alpha": 0.0, "gamma": 0.0, "num_encoder_layers": 1}, {"feature_normalization": "standard"}),
        ({"alpha": 1.0, "beta1": 0.0}, {}),
        ({"beta2": 0.0}, {}),
        ({"gamma": 1.0}, {}),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_formula(settings: dict[str, Any], config: dict[str, Any], weighted: bool) -> None:
    data = make_data(weighted=weighted)
    prepared = GraphConfig(**config)
    graph = Graph.from_data(data, prepared, dtype=torch.float64)
    new = new_nodes(data, weighted=weighted)
    kind = GloGNNPlusPlus if "coefficient" in settings else GloGNN
    model = build(graph, kind, **settings)
    found = predict_new_nodes(model, data, new, prepared)
    whole = Data(
        x=torch.cat([data.x, new.x]),
        edge_index=torch.cat([data.edge_index, new.edge_index], dim=1),
        edge_weight=torch.cat([data.edge_weight, new.edge_weight]) if weighted else None,
    )
    extended = Graph.from_data(whole, prepared, dtype=torch.float64)
    x = extended.x
    if prepared.feature_normalization == "standard":
        x = ((whole.x.double() - data.x.double().mean(0)) / data.x.double().std(0)).detach()
    wanted = new_scores(model, graph, x, extended.adjacency.matrix.csr.to_dense())
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "settings",
    [
        {"alpha": 0.0, "normalization": "row"},
        {"alpha": 0.0, "normalization": "symmetric", "coefficient": "exact"},
        {"alpha": 0.5, "normalization": "none"},
    ],
)
def test_a_twin_of_a_known_node_gets_its_scores(settings: dict[str, Any]) -> None:
    """Exactly, unless the adjacency is read with self-loops: a new node's own column has no weights."""
    data = make_data()
    data.edge_index = data.edge_index[:, data.edge_index[0] != data.edge_index[1]]
    graph = Graph.from_data(data, dtype=torch.float64)
    model = build(graph, **settings)
    scores = model.logits(model.prepare(graph))
    for node in (0, 7, data.num_nodes - 1):
        rows, columns = graph.adjacency.matrix.entries()
        neighbours = columns[rows == node]
        edges = torch.stack([torch.full_like(neighbours, data.num_nodes), neighbours])
        twin = predict_new_nodes(model, graph, Data(x=data.x[[node]], edge_index=edges))
        torch.testing.assert_close(twin[0], scores[node], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", list(MODELS))
def test_every_model_scores_new_nodes(name: str) -> None:
    data = make_data(num_splits=1)
    config = MODELS[name]()
    model = config.model_class()(data.num_features, 3, data.num_nodes, **config.as_dict())
    train(model, data, config=TrainingConfig(epochs=2, device="cpu"))
    before = predict(model, data)
    known = KnownNodes(model, data)
    new = new_nodes(data)
    scores = known.logits(new)
    assert scores.shape == (NEW, 3)
    assert torch.isfinite(scores).all()
    assert torch.equal(known.logits(new), scores)
    assert torch.equal(predict(model, data), before)


def test_what_new_nodes_must_be() -> None:
    data = make_data()
    graph = Graph.from_data(data, dtype=torch.float64)
    model, n = build(graph), data.num_nodes
    x = torch.zeros(1, 7)
    wrong: list[tuple[Data, str]] = [
        (Data(x=x, edge_index=torch.tensor([[3], [4]])), "Got an edge between the known nodes 3 and 4 instead"),
        (Data(x=x, edge_index=torch.tensor([[0], [n + 1]])), f"holds node {n + 1}"),
        (Data(x=x[:, :3]), "x must have 7 features for each new node. Got 3 instead"),
        (Data(x=x[:0]), "at least 1 new node"),
        (Data(edge_index=torch.tensor([[0], [n]]), num_nodes=1), "must have features"),
        (Data(x=x * torch.nan), "x must be finite"),
    ]
    for new, message in wrong:
        with pytest.raises(InputError, match=message):
            predict_new_nodes(model, graph, new)
    standard = Graph.from_data(data, GraphConfig(feature_normalization="standard"), dtype=torch.float64)
    with pytest.raises(InputError, match="need the Data it was prepared from"):
        predict_new_nodes(model, standard, Data(x=x))


def test_a_graph_without_features() -> None:
    data = make_data()
    data.x = None
    graph = Graph.from_data(data, dtype=torch.float64)
    model = build(graph, alpha=1.0)
    n = data.num_nodes
    new = Data(edge_index=torch.tensor([[n, n + 1], [3, n]]), num_nodes=2)
    assert predict_new_nodes(model, graph, new).shape == (2, 3)
