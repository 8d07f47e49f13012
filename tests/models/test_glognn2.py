"""GloGNN2 against its equations with dense matrices, its settings, and new nodes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from glognn.errors import InputError
from glognn.explain.coefficients import coefficient_rows
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.graph.sparse import SparseMatrix
from glognn.models.glognn import GloGNN
from glognn.models.glognn2 import GloGNN2
from glognn.nn.inputs import INPUTS, OPERATORS
from glognn.training.config import TrainingConfig
from glognn.training.driver import train
from glognn.training.new_nodes import predict_new_nodes
from tests.conftest import make_data
from tests.reference.dense import Problem

NORM = ("weight", "bias", "running_mean", "running_var")
SETTINGS: list[dict[str, Any]] = [
    {},
    {"reads": "features"},
    {"reads": "link link_in degrees", "num_blocks": 1},
    {"reads": "features neighbours", "num_blocks": 3, "num_layers": 0},
    {"reads": "features neighbours_out neighbours_in", "num_layers": 0},
    {"reads": "features link degrees", "num_blocks": 2, "gated": "link degrees", "tau": "fixed"},
    {"reads": "features degrees", "num_blocks": 2, "block_norm": "batch", "num_layers": 1},
    {"directions": "separate", "num_hops": 2, "scale_free": False, "gamma": 0.0},
    {"beta2": 0.0, "num_layers": 3, "degree_weight": 1.0},
    {"degree_weight": 0.0},
]


def graph_of(data: Data, *, directed: bool = True) -> Graph:
    config = GraphConfig(directed=directed, feature_normalization="auto")
    return Graph.from_data(data, config, dtype=torch.float64)


def build(graph: Graph, **settings: Any) -> GloGNN2:
    """With weights of any sign, also where training begins with equal ones."""
    torch.manual_seed(3)
    model = GloGNN2(graph.num_features, graph.num_classes, graph.num_nodes, hidden_channels=8, **settings).double()
    for name, parameter in model.named_parameters():
        if name.startswith(("encoder.gates", "encoder.shares", "layer.")):
            torch.nn.init.uniform_(parameter, -0.5, 1.5)
    for name, met in model.named_buffers():  # means and variances of columns
        torch.nn.init.uniform_(met, *((0.5, 1.5) if name.endswith("var") else (-0.5, 0.5)))
    return model.eval()


def dense(matrix: Any) -> Tensor:
    return matrix.csr.to_dense() if isinstance(matrix, SparseMatrix) else matrix


def reference(model: GloGNN2, graph: Graph) -> Tensor:
    """The equations as they are written at the head of the model's file."""
    config, state = model.config, {name: value.detach() for name, value in model.state_dict().items()}

    def mapped(name: str) -> Tensor:
        X = dense(INPUTS[name].make(graph, "symmetric"))
        return X @ state[f"encoder.inputs.{name}.weight"] + state[f"encoder.inputs.{name}.bias"]

    def gate(name: str) -> Tensor | float:
        learnt = state[f"encoder.gates.{name}"].clamp(min=0) if name in config.gated.split() else 1.0
        return config.inputs[name] * learnt

    links = [name for name in config.inputs if INPUTS[name].of_nodes]
    joined = [name for name, weight in config.inputs.items() if name not in links and weight > 0]
    outputs = [torch.relu(sum(gate(name) * mapped(name) for name in joined))]
    operators = {name: dense(OPERATORS[name].make(graph, "symmetric")) for name in ("out", "in", "both")}
    for block in range(config.num_blocks):
        W, bias = state[f"blocks.blocks.{block}.maps.weight"], state[f"blocks.blocks.{block}.maps.bias"]
        out, into, own = (outputs[-1] @ W + bias).split(config.hidden_channels, dim=1)
        total = operators["out"] @ out + operators["in"] @ into + own
        norm = {name: state.get(f"blocks.blocks.{block}.norm.{name}") for name in NORM}
        if config.block_norm == "batch":
            mean, variance = norm["running_mean"], norm["running_var"]
        else:
            mean, variance = total.mean(1, keepdim=True), total.var(1, correction=0, keepdim=True)
        outputs.append(torch.relu((total - mean) / (variance + 1e-5).sqrt() * norm["weight"] + norm["bias"]))
    outputs += [gate(name) * torch.relu(mapped(name)) for name in links]
    shares = state["encoder.shares"].softmax(0)
    total = sum(share * value for share, value in zip(shares, outputs, strict=True))
    H0 = total @ state["encoder.tails.0.0.weight"] + state["encoder.tails.0.0.bias"]
    P = torch.zeros(graph.num_nodes, graph.num_nodes).double()
    for word, weight in zip(config.words, state.get("layer.hops.weight", torch.zeros(0)), strict=True):
        P = P + weight * torch.linalg.multi_dot([torch.eye(len(P)).double(), *(operators[o] for o in word)])
    H = H0
    for _ in range(config.num_layers):
        t = float(H.square().sum()) / H.shape[1] if config.scale_free else 1.0
        S = torch.eye(H.shape[1]).double()
        new = Problem(H, H0, P, S, t * config.beta1, t * config.beta2, config.gamma, "plain").update()
        H = H + state.get("layer.tau", torch.ones(1)) * (new - H)
    return H


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("directed", [True, False])
def test_scores_equal_the_dense_formula(settings: dict[str, Any], directed: bool) -> None:
    graph = graph_of(make_data(), directed=directed)
    model = build(graph, **settings)
    torch.testing.assert_close(model.logits(model.prepare(graph)), reference(model, graph), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("directed", [True, False])
def test_a_twin_of_a_known_node_gets_its_scores(settings: dict[str, Any], directed: bool) -> None:
    data = make_data()
    data.edge_index = data.edge_index[:, data.edge_index[0] != data.edge_index[1]].unique(dim=1)
    graph = graph_of(data, directed=directed)
    model = build(graph, **settings)
    scores = model.logits(model.prepare(graph))
    A, n = graph.adjacency.matrix.csr.to_dense(), data.num_nodes
    for node in (0, 7, n - 1):
        out, into = A[node].nonzero().view(-1), A[:, node].nonzero().view(-1)
        edges = torch.stack([torch.full_like(out, n), out])
        weights = A[node, out]
        if directed:
            edges = torch.cat([edges, torch.stack([into, torch.full_like(into, n)])], dim=1)
            weights = torch.cat([weights, A[into, node]])
        new = Data(x=data.x[[node]], edge_index=edges, edge_weight=weights)
        twin = predict_new_nodes(model, data, new, GraphConfig(directed=directed, feature_normalization="auto"))
        torch.testing.assert_close(twin[0], scores[node], rtol=1e-9, atol=1e-11)


def test_features_are_left_out_where_there_are_none() -> None:
    data = make_data()
    data.x = None
    graph = graph_of(data)
    model = GloGNN2.for_graph(graph, GloGNN2.config_class())
    assert set(model.encoder.weights) == {"link", "degrees"}
    assert train(model, graph, config=TrainingConfig(epochs=3)).best.val > 0
    with pytest.raises(InputError, match="'reads' parameter of GloGNN2 must name more than features"):
        GloGNN2(0, 3, 60, reads="features neighbours")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"reads": "features links"},
            "words out of 'auto', 'features', 'link', .*, separated by spaces. Got 'features links'",
        ),
        ({"reads": ""}, "must name at least one input"),
        ({"beta1": 0.0, "beta2": 0.0}, r"sum in the range \(0.0, inf\)"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GloGNN2(7, 3, 60, **settings)


def test_inputs_are_named_in_any_order() -> None:
    first, second = (GloGNN2.config_class(reads=reads) for reads in ("degrees features", "features  degrees features"))
    assert first == second
    assert first.reads == "features degrees"


def test_a_gate_that_reaches_zero_leaves_the_input_out() -> None:
    graph = graph_of(make_data())
    model = build(graph, gated="link")
    torch.nn.init.constant_(model.encoder.gates["link"], -0.1)
    before = model.logits(model.prepare(graph))
    torch.nn.init.normal_(model.encoder.inputs["link"].weight)
    assert torch.equal(model.logits(model.prepare(graph)), before)


def test_rows_of_coefficients_make_the_scores() -> None:
    """Without tau: Z* H is the embedding that the last layer gives."""
    graph = graph_of(make_data())
    model = build(graph, tau="fixed")
    assert isinstance(model, GloGNN)
    *_, before, last = model.embeddings(model.prepare(graph))
    Z = coefficient_rows(model, graph, range(graph.num_nodes))
    g = model.config.gamma
    H0 = model.embeddings(model.prepare(graph))[0]
    torch.testing.assert_close((1 - g) * Z @ before + g * H0, last, rtol=1e-9, atol=1e-11)


def test_feature_scaling_is_decided_from_the_data_and_said() -> None:
    words = (torch.rand(60, 30) < 0.1).float()
    for x, wanted in (
        (words, "length"),
        (torch.randn(60, 5), "standard"),
        (-words, "standard"),
        (words + 1, "standard"),
    ):
        data = make_data()
        data.x = x
        graph = graph_of(data)
        assert graph.config.feature_normalization == wanted
        sparse = Graph.from_data(
            Data(x=x.to_sparse_csr(), edge_index=data.edge_index), GraphConfig(feature_normalization="auto")
        )
        assert sparse.config.feature_normalization == wanted
    lengths = dense(graph_of(Data(x=words, edge_index=make_data().edge_index)).x).norm(dim=1)
    torch.testing.assert_close(lengths[lengths > 0], torch.ones(int((lengths > 0).sum())).double())
