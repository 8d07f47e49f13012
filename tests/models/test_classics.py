"""The tuned classics against their equations on small graphs of every kind, forward and gradients."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.nn.conv import GATConv, GCNConv, SAGEConv

from glognn.errors import InputError
from glognn.experiments.config import resolve
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.models.classic import Classic
from glognn.models.configs import MODELS
from glognn.models.gat import GATPlus
from glognn.models.gcn import GCNPlus
from glognn.models.sage import SAGEPlus
from glognn.training.config import TrainingConfig
from glognn.training.driver import train
from tests.conftest import make_data
from tests.reference import baselines as reference

NUM_NODES, NUM_FEATURES, NUM_CLASSES, WIDTH, HEADS = 23, 5, 3, 4, 2
CLASSICS = ("gcn+", "sage+", "gat+")
DEEP = {"num_layers": 3, "hidden_channels": WIDTH}
CASES = [
    {"norm": norm, "residual": residual, "input_map": input_map, "sum_layers": sum_layers}
    for norm, residual, (input_map, sum_layers) in itertools.product(
        ("layer", "batch", "none"), (True, False), ((False, False), (True, True))
    )
]


def build(name: str, **settings: Any) -> Classic:
    """In double precision, with no weight left at a value that hides an error."""
    known = MODELS[name].names()
    given = {key: value for key, value in {**DEEP, "heads": HEADS, "dropout": 0.0, **settings}.items() if key in known}
    torch.manual_seed(0)
    model = MODELS[name].model_class()(NUM_FEATURES, NUM_CLASSES, **given).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    assert isinstance(model, Classic)
    return model


def convolved(name: str, A: Tensor, H: Tensor, weights: dict[str, Tensor], layer: int) -> Tensor:
    """One convolution with n x n matrices; A[i, j] is an edge from i to j."""
    prefix = f"network.convs.{layer}"
    if name == "gcn+":
        return reference.propagation(A.T) @ H @ weights[f"{prefix}.lin.weight"].T + weights[f"{prefix}.bias"]
    if name == "sage+":
        return reference.incoming_mean(A.T) @ H @ weights[f"{prefix}.weight"].T
    values = (H @ weights[f"{prefix}.lin.weight"].T).chunk(HEADS, dim=1)
    sources, targets = (weights[f"{prefix}.att_{end}"][0] for end in ("src", "dst"))
    heads = [
        reference.attention(A.T, V @ target, V @ source, V, 0.2)
        for V, source, target in zip(values, sources, targets, strict=True)
    ]
    return torch.cat(heads, dim=1)


def equations(name: str, A: Tensor, X: Tensor, weights: dict[str, Tensor], case: dict[str, Any]) -> Tensor:
    H = X @ weights["network.lin_in.weight"].T if case["input_map"] else X
    layers = []
    for layer in range(DEEP["num_layers"]):
        mixed = convolved(name, A, H, weights, layer)
        if case["residual"] or name == "sage+":
            prefix = f"network.residuals.{layer}"
            mixed = mixed + H @ weights[f"{prefix}.weight"].T + weights[f"{prefix}.bias"]
        if case["norm"] != "none":
            scale, shift = (weights[f"network.norms.{layer}.{part}"] for part in ("weight", "bias"))
            mixed = reference.normalised(mixed, 1 if case["norm"] == "layer" else 0, scale, shift)
        H = torch.relu(mixed)
        layers.append(H)
    read = torch.stack(layers).sum(dim=0) if case["sum_layers"] else H
    return read @ weights["network.lin_out.weight"].T + weights["network.lin_out.bias"]


@pytest.mark.parametrize("kind", ["undirected", "directed", "weighted directed"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(str(value) for value in case.values()))
@pytest.mark.parametrize("name", CLASSICS)
def test_equals_the_equations(name: str, case: dict[str, Any], kind: str) -> None:
    """In training, where batch normalisation takes the statistics of the nodes; some nodes have no edges."""
    data = make_data(NUM_NODES, NUM_FEATURES, NUM_CLASSES, 40, weighted="weighted" in kind, isolated=3)
    data.x = data.x.double().requires_grad_()
    graph = Graph.from_data(data, GraphConfig(directed="directed" in kind.split()), dtype=torch.float64)
    model = build(name, **case)
    weights = dict(model.named_parameters())
    found = model.logits(model.prepare(graph))
    wanted = equations(name, graph.adjacency.matrix.csr.to_dense(), data.x, weights, case)
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-11)
    direction = torch.randn_like(found)
    leaves = [data.x, *weights.values()]
    gradients = (torch.autograd.grad((scores * direction).sum(), leaves) for scores in (found, wanted))
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", CLASSICS)
def test_one_layer_equals_pyg(name: str) -> None:
    data = make_data(NUM_NODES, NUM_FEATURES, NUM_CLASSES, 40)
    data.edge_index, x = torch.unique(data.edge_index, dim=1), data.x.double()
    model = build(name, num_layers=1, norm="none", residual=False)
    conv = model.network.convs[0]
    theirs: torch.nn.Module
    if isinstance(model, GCNPlus):
        theirs = GCNConv(NUM_FEATURES, WIDTH)
        state = conv.state_dict()
    elif isinstance(model, GATPlus):
        theirs = GATConv(NUM_FEATURES, WIDTH // HEADS, HEADS, bias=False)
        state = conv.state_dict()
    else:
        assert isinstance(model, SAGEPlus)
        theirs = SAGEConv(NUM_FEATURES, WIDTH)
        own = model.network.residuals[0]
        state = {"lin_l.weight": conv.weight, "lin_l.bias": own.bias, "lin_r.weight": own.weight}
    theirs.double().load_state_dict(state)
    wanted = model.network.lin_out(torch.relu(theirs(x, data.edge_index)))
    torch.testing.assert_close(model(x, data.edge_index), wanted)


@pytest.mark.parametrize("norm", ["layer", "batch"])
@pytest.mark.parametrize("name", CLASSICS)
def test_twelve_layers_learn_their_training_nodes(name: str, norm: str) -> None:
    """With smaller steps than a few layers want."""
    data = make_data(NUM_NODES, NUM_FEATURES, NUM_CLASSES, 40)
    torch.manual_seed(0)
    config = MODELS[name](num_layers=12, norm=norm, hidden_channels=16, dropout=0.0)
    model = config.model_class()(NUM_FEATURES, NUM_CLASSES, **config.as_dict())
    settings = TrainingConfig(epochs=100, learning_rate=0.003, early_stopping="none", selection="last")
    result = train(model, data, config=settings)
    assert result.last.train > 0.9


@pytest.mark.parametrize("name", CLASSICS)
def test_training_and_evaluation_are_the_same_without_dropout_and_batch_normalisation(name: str) -> None:
    data = make_data(NUM_NODES, NUM_FEATURES, NUM_CLASSES, 40)
    for norm, same in (("layer", True), ("none", True), ("batch", False)):
        model = build(name, norm=norm)
        training, evaluation = (model.train(mode)(data.x.double(), data.edge_index) for mode in (True, False))
        assert model.deterministic == torch.equal(training, evaluation) == same


@pytest.mark.parametrize("name", CLASSICS)
def test_features_are_scaled_as_they_need_unless_stated_otherwise(name: str) -> None:
    [config] = resolve([name], None, {}, "texas", None)
    assert config.graph.feature_normalization == "auto"
    [config] = resolve([name], None, {"feature_normalization": "none"}, "texas", None)
    assert config.graph.feature_normalization == "none"


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(InputError, match="'hidden_channels' parameter of GAT[+] must be a multiple of heads, 4. Got 6"):
        GATPlus(7, 3, hidden_channels=6)
