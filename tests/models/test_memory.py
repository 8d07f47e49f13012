"""Predicted memory: exact in the weights, close to what torch allocates in the rest."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from glognn.graph.graph import Graph
from glognn.graph.sparse import SparseMatrix
from glognn.models.configs import MODELS, ModelConfig
from glognn.models.memory import Sizes, sparse_bytes
from glognn.training.config import TrainingConfig
from glognn.training.driver import train
from tests.conftest import make_data

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "glognn": [{}, {"alpha": 0.0}, {"alpha": 1.0, "beta2": 0.0}, {"fusion": "output", "num_encoder_layers": 3}],
    "glognn++": [{}, {"num_encoder_layers": 1, "num_layers": 3}],
    "linkx": [{}, {"num_layers": 3, "num_edge_layers": 2, "num_node_layers": 2}],
    "acmgcn": [{}, {"num_layers": 1}, {"num_layers": 5}],
    "ggcn": [{}, {"num_layers": 4, "hidden_channels": 128}],
    "gprgnn": [{}, {"num_hops": 3, "hidden_channels": 8}],
    "wrgat": [{}, {"num_layers": 1}, {"num_rings": 1, "num_similar": 6, "hidden_channels": 128, "num_layers": 3}],
    "h2gcn": [{}, {"num_rounds": 1}],
    "dirgnn": [
        {},
        {"jumping_knowledge": "cat", "normalize": True},
        {"jumping_knowledge": "none", "root_weight": False},
    ],
    "polynormer": [{}, {"convolution": "gat", "heads": 2, "num_global_layers": 2}],
    "sgformer": [{}, {"aggregate": "cat", "heads": 2, "num_attention_layers": 2, "num_layers": 4}],
    "gcnii": [{}, {"shared_weights": True, "num_layers": 3, "in_dropout": 0.5}],
    "mixhop": [{}, {"batch_norm": True, "num_hops": 3, "num_layers": 3}],
    "gat": [{}, {"heads": 2, "num_layers": 3}, {"num_layers": 1}],
    "gcn": [{}, {"num_layers": 1}, {"num_layers": 4}],
    "mlp": [{}, {"num_layers": 1}, {"num_layers": 4}],
}
CASES = [
    pytest.param(MODELS[name](**each), id=f"{name}-{k}") for name in SETTINGS for k, each in enumerate(SETTINGS[name])
]


@pytest.mark.parametrize("config", CASES)
def test_the_number_of_weights_is_exact(config: ModelConfig) -> None:
    model = config.model_class()(7, 3, 50, **config.as_dict())
    assert config.num_parameters(Sizes(50, 100, 7, 3)) == sum(each.numel() for each in model.parameters())


@pytest.mark.parametrize("config", CASES)
def test_the_peak_is_close_to_the_allocated(config: ModelConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights and activations of three epochs; the inputs are counted, not measured."""
    monkeypatch.setenv("GLOGNN_NATIVE", "0")  # what compiled code allocates is not torch's
    graph = Graph.from_data(make_data(3000, 24, 3, 12000))
    if config.name == "polynormer":
        config = type(config)(**config.as_dict() | {"local_epochs": 1})
    model = config.model_class().for_graph(graph, config)
    weights = 4 * sum(each.numel() for each in model.parameters())
    inputs = model.prepare(graph)
    model.prepare = lambda graph: inputs  # type: ignore[method-assign]
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        train(model, graph, config=TrainingConfig(epochs=3, early_stopping="none", threads=1))
    now = peak = 0
    changes = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    for event in sorted(changes, key=lambda event: event.start_ns()):
        now += event.nbytes()
        peak = max(peak, now)
    sizes = Sizes(graph.num_nodes, graph.adjacency.matrix.nnz, graph.num_features, graph.num_classes)
    predicted = config.activation_bytes(sizes.nodes, sizes.entries, sizes.features, sizes.classes)
    assert predicted - config.input_bytes(sizes) == pytest.approx(peak + weights, rel=0.25)


def test_sparse_inputs_are_what_they_take() -> None:
    dense = (torch.rand(40, 30) < 0.2).float()
    matrix = SparseMatrix.from_torch(dense)
    parts = [
        part
        for csr in (matrix.csr, matrix.csr_transposed)
        for part in (csr.crow_indices(), csr.col_indices(), csr.values())
    ]
    assert sparse_bytes(40, 30, matrix.nnz) == sum(part.nbytes for part in parts)


def test_sparse_features_take_less() -> None:
    config = MODELS["gcn"]()
    assert config.activation_bytes(1000, 5000, 500, 3, num_feature_entries=5000) < config.activation_bytes(
        1000, 5000, 500, 3
    )


def test_a_model_without_its_own_prediction_has_one() -> None:
    class Plain(ModelConfig):
        title, name, summary, paper, implementation = "Plain", "plain", "", "", ""

    assert Plain().activation_bytes(1000, 5000, 50, 3) > 4 * 1000 * 50
