"""What is particular to GloGNN and GloGNN++."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch_geometric.data import Data

from glognn.errors import InputError
from glognn.graph.graph import Graph
from glognn.models.glognn import GloGNN, GloGNNPlusPlus
from tests.conftest import make_data
from tests.reference.dense import Problem, reachability


@pytest.mark.parametrize("normalization", ["row", "symmetric", "none"])
@pytest.mark.parametrize("coefficient", ["plain", "exact", "released"])
@pytest.mark.parametrize(("fusion", "depth"), [("hidden", 2), ("hidden", 3), ("output", 2)])
def test_the_whole_model_equals_its_equations(normalization: str, coefficient: str, fusion: str, depth: int) -> None:
    """Dense n x n reference of the full model, from features and adjacency to class scores."""
    graph = Graph.from_data(make_data(25, 5, 3, 60), dtype=torch.float64)
    settings = {"alpha": 0.3, "beta1": 0.5, "beta2": 2.0, "gamma": 0.4, "num_hops": 3, "num_layers": 2}
    settings |= {"normalization": normalization, "fusion": fusion, "num_encoder_layers": depth, "hidden_channels": 8}
    if coefficient == "plain":
        model: GloGNN = GloGNN(5, 3, 25, **settings)
    else:
        model = GloGNNPlusPlus(5, 3, 25, coefficient=coefficient, **settings)
    model.double().eval()
    A = graph.adjacency.normalized(normalization).csr.to_dense()
    inputs = {"features": graph.x, "adjacency": A}
    weights = {"features": 0.7, "adjacency": 0.3}
    first = {name: inputs[name] @ m.weight + m.bias for name, m in model.encoder.inputs.items()}

    def tail(layers: torch.nn.Module, value: torch.Tensor) -> torch.Tensor:
        for layer in layers.children():
            value = torch.relu(value) @ layer.weight + layer.bias
        return value

    if fusion == "hidden":
        H0 = tail(model.encoder.tails[0], sum(weights[name] * first[name] for name in weights))
    else:
        H0 = sum(weights[name] * tail(t, first[name]) for name, t in zip(weights, model.encoder.tails, strict=True))
    S = torch.eye(3).double() if model.layer.scale is None else torch.diag(model.layer.scale)
    P = reachability(A, model.layer.hops.weight)
    H = H0
    for _ in range(2):
        H = Problem(H, H0, P, S, 0.5, 2.0, 0.4, coefficient).update()
    torch.testing.assert_close(model.logits(model.prepare(graph)), H, rtol=1e-10, atol=1e-12)


def test_parameters_start_as_in_the_paper() -> None:
    model = GloGNNPlusPlus(5, 4, 25, num_hops=5)
    assert torch.equal(model.layer.hops.weight, torch.full((5,), 0.2))
    assert torch.equal(model.layer.scale, torch.full((4,), 0.25))
    assert GloGNN(5, 4, 25).layer.scale is None


def test_alpha_zero_has_no_weights_for_the_adjacency() -> None:
    model = GloGNN(5, 3, alpha=0.0)
    assert list(model.encoder.inputs) == ["features"]
    assert model(torch.rand(9, 5), torch.tensor([[0, 1], [1, 0]])).shape == (9, 3)


def test_alpha_one_reads_no_features() -> None:
    model = GloGNN(0, 3, 9, alpha=1.0)
    assert list(model.encoder.inputs) == ["adjacency"]
    edge_index = torch.tensor([[0, 1], [1, 0]])
    assert model(None, edge_index).shape == (9, 3)
    assert torch.equal(model.eval()(None, edge_index), model(torch.full((9, 0), torch.nan), edge_index))


def test_no_graph_at_all_is_needed_when_nothing_uses_it() -> None:
    model = GloGNN(5, 3, alpha=0.0, beta2=0.0)
    inputs = model.prepare(Graph.from_data(Data(x=torch.rand(9, 5))))
    assert inputs.operators == {}
    assert list(inputs.matrices) == ["features"]


def test_layers_share_lambda_and_s() -> None:
    one, many = GloGNNPlusPlus(5, 3, 9, num_layers=1), GloGNNPlusPlus(5, 3, 9, num_layers=5)
    assert sum(p.numel() for p in one.parameters()) == sum(p.numel() for p in many.parameters())


def test_released_and_exact_coefficients_differ() -> None:
    data = make_data()
    outputs = []
    for coefficient in ("exact", "released"):
        torch.manual_seed(0)
        outputs.append(GloGNNPlusPlus(7, 3, 60, coefficient=coefficient).eval()(data.x, data.edge_index))
    assert not torch.allclose(*outputs)


def test_wrong_use() -> None:
    with pytest.raises(InputError, match="'num_nodes' parameter of GloGNN must be given when the adjacency is read"):
        GloGNN(5, 3)
    model = GloGNN(5, 3, 10)
    with pytest.raises(InputError, match="'alpha' parameter of GloGNN must be 1.0 for a graph without features"):
        model(None, torch.tensor([[0], [1]]))
    with pytest.raises(InputError, match="'num_nodes' parameter of GloGNN must be the graph's number of nodes, 12"):
        model(torch.rand(12, 5), torch.tensor([[0], [1]]))


def test_edge_weights_reach_the_scores() -> None:
    data = make_data(weighted=True)
    model = GloGNN(7, 3, 60).eval()
    plain = model(data.x, data.edge_index)
    weighted = model(data.x, data.edge_index, data.edge_weight)
    assert not torch.allclose(plain, weighted)
    ones = model(data.x, data.edge_index, torch.ones_like(data.edge_weight))
    pairs = set(map(tuple, data.edge_index.T.tolist()))
    if len(pairs) == data.edge_index.shape[1]:
        torch.testing.assert_close(ones, plain)


def test_settings_span_what_they_promise() -> None:
    x, edge_index = torch.rand(12, 5), torch.randint(0, 12, (2, 30))
    for fusion, depth, hops in itertools.product(("hidden", "output"), (1, 2, 3), (1, 6)):
        model = GloGNN(5, 4, 12, fusion=fusion, num_encoder_layers=depth, num_hops=hops, num_layers=3)
        assert torch.isfinite(model(x, edge_index)).all()
