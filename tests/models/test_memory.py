"""Predicted memory: exact in the weights and in the compiled core, close to what torch allocates in the rest."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from glognn.errors import TooLargeError
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.graph.sparse import SparseMatrix
from glognn.models.base import BoostedModel, NodeModel
from glognn.models.configs import MODELS, GloGNN2Config, GloGNNConfig, ModelConfig
from glognn.models.glognn import GloGNN
from glognn.models.memory import Sizes, sparse_bytes
from glognn.native.library import find_library
from glognn.training.config import TrainingConfig
from glognn.training.driver import train
from glognn.training.engines import Members, NativeEngine, native
from glognn.training.preflight import Need, core_sizes, need_of, sizes_of
from tests.conftest import make_data

needs_core = pytest.mark.skipif(find_library() is None, reason="the native core is not built")

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "glognn": [{}, {"alpha": 0.0}, {"alpha": 1.0, "beta2": 0.0}, {"fusion": "output", "num_encoder_layers": 3}],
    "glognn++": [{}, {"num_encoder_layers": 1, "num_layers": 3}],
    "linkx": [{}, {"num_layers": 3, "num_edge_layers": 2, "num_node_layers": 2}],
    "acmgcn": [{}, {"num_layers": 1}, {"num_layers": 5}],
    "ggcn": [{}, {"num_layers": 4, "hidden_channels": 128}],
    "gprgnn": [{}, {"num_hops": 3, "hidden_channels": 8}],
    "wrgat": [{}, {"num_layers": 1}, {"num_rings": 1, "num_similar": 6, "hidden_channels": 128, "num_layers": 3}],
    "h2gcn": [{}, {"num_rounds": 1}],
    "gcn+": [{}, {"norm": "batch", "input_map": True, "sum_layers": True}, {"num_layers": 12, "norm": "none"}],
    "sage+": [{}, {"norm": "batch", "num_layers": 1}, {"num_layers": 12, "sum_layers": True}],
    "gat+": [{}, {"norm": "batch", "heads": 1, "num_layers": 1}, {"num_layers": 12, "residual": False, "heads": 8}],
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
    pytest.param(config(**each), id=f"{name}-{k}")
    for name, config in MODELS.items()
    for k, each in enumerate(SETTINGS.get(name, [{}]))
]


@pytest.mark.parametrize("config", CASES)
def test_the_number_of_weights_is_exact(config: ModelConfig) -> None:
    model = config.model_class()(7, 3, 50, **config.as_dict())
    assert config.num_parameters(Sizes(50, 100, 7, 3)) == sum(each.numel() for each in model.parameters())


def torch_peak(model: NodeModel[Any], graph: Graph) -> int:
    """The most bytes that torch allocates at once in three epochs."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        train(model, graph, config=TrainingConfig(epochs=3, early_stopping="none", threads=1))
    now = peak = 0
    changes = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    for event in sorted(changes, key=lambda event: event.start_ns()):
        now += event.nbytes()
        peak = max(peak, now)
    return peak


@pytest.mark.usefixtures("no_garbage")
@pytest.mark.parametrize(
    "config", [each for each in CASES if not issubclass(each.values[0].model_class(), BoostedModel)]
)
def test_the_peak_is_close_to_the_allocated(config: ModelConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights and activations of three epochs by PyTorch; the inputs are counted, not measured."""
    monkeypatch.setenv("GLOGNN_NATIVE", "0")
    graph = Graph.from_data(make_data(3000, 24, 3, 12000))
    if config.name == "polynormer":
        config = type(config)(**config.as_dict() | {"local_epochs": 1})
    model = config.model_class().for_graph(graph, config)
    weights = 4 * sum(each.numel() for each in model.parameters())
    inputs = model.prepare(graph)
    model.prepare = lambda graph: inputs  # type: ignore[method-assign]
    peak = torch_peak(model, graph)
    sizes = Sizes(graph.num_nodes, graph.adjacency.matrix.nnz, graph.num_features, graph.num_classes)
    need = Need.of(config, sizes)
    assert need.weights + need.activations == pytest.approx(peak + weights, rel=0.25)


NATIVE: list[tuple[str, dict[str, Any]]] = [
    ("glognn", {}),
    ("glognn", {"alpha": 0.0, "dropout": 0.0}),
    ("glognn", {"alpha": 1.0, "beta2": 0.0}),
    ("glognn++", {"num_layers": 3, "num_hops": 5, "hidden_channels": 40}),
    ("glognn", {"num_encoder_layers": 4, "hidden_channels": 24}),
    ("glognn2", {}),
    ("glognn2", {"reads": "features degrees", "num_blocks": 2, "num_layers": 0}),
    ("glognn2", {"num_blocks": 1, "gated": "features link", "hidden_channels": 24, "dropout": 0.0}),
    ("glognn2", {"num_blocks": 3, "block_norm": "batch", "num_layers": 0}),
    ("glognn2", {"num_blocks": 1, "block_norm": "batch", "dropout": 0.0}),
]


def held_bytes(inputs: Any) -> int:
    """Of matrices and operators, each counted once."""
    matrices = [*inputs.matrices.values(), *inputs.operators.values()]
    sparse = [each for each in matrices if isinstance(each, SparseMatrix)]
    made = {id(csr): csr for each in sparse for csr in (each.csr, each.csr_transposed)}
    parts = [part for csr in made.values() for part in (csr.crow_indices(), csr.col_indices(), csr.values())]
    return sum(each.nbytes for each in [*matrices, *parts] if isinstance(each, torch.Tensor))


@pytest.mark.parametrize("edges", ["both ways", "one way", "some both ways"])
@pytest.mark.parametrize("settings", [{}, {"directions": "separate"}, {"num_blocks": 1, "reads": "link link_in"}])
def test_directions_that_share_a_matrix_are_counted_once(edges: str, settings: dict[str, Any]) -> None:
    data = make_data(300, 8, 3, 900)
    if edges != "both ways":
        one_way = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
        data.edge_index = one_way if edges == "one way" else torch.cat([one_way, one_way[:, :50].flip(0)], dim=1)
    graph = Graph.from_data(data, GraphConfig(directed=edges != "both ways"))
    config = GloGNN2Config(**settings)
    inputs = config.model_class().for_graph(graph, config).prepare(graph)
    assert need_of(config, graph, TrainingConfig(threads=1)).inputs == held_bytes(inputs)


@needs_core
@pytest.mark.usefixtures("no_garbage")
@pytest.mark.parametrize(("name", "settings"), NATIVE)
def test_the_default_engine_allocates_what_is_predicted(
    name: str, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What torch allocates and what the compiled core counts, in three epochs; the inputs are counted."""
    core = find_library()
    assert core is not None
    graph = Graph.from_data(make_data(3000, 24, 3, 12000), GraphConfig(self_loops="remove"))
    config = MODELS[name](**settings)
    assert isinstance(config, GloGNNConfig | GloGNN2Config)
    model = config.model_class().for_graph(graph, config)
    assert isinstance(model, GloGNN)
    inputs = native._inputs(graph, model)
    monkeypatch.setattr(native, "_inputs", lambda graph, model: inputs)
    weights = 4 * sum(each.numel() for each in model.parameters())
    before, _ = core.memory()
    peak = torch_peak(model, graph)
    held = core.memory()[1] - before
    assert held == core_sizes(config, sizes_of(graph)).core_bytes()
    need = need_of(config, graph, TrainingConfig(threads=1))
    assert need.weights + need.activations == pytest.approx(peak + held + weights, rel=0.02)
    assert need.inputs == held_bytes(inputs)


@needs_core
@pytest.mark.usefixtures("no_garbage")
@pytest.mark.parametrize("members", [1, 3, 11])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("name", "classes", "settings"),
    [
        *itertools.product(("glognn++", "glognn2"), (2, 5, 9, 18), ({},)),
        ("glognn2", 18, {"num_layers": 0, "num_blocks": 2, "block_norm": "batch"}),
        ("glognn2", 40, {"num_layers": 0}),
    ],
)
def test_the_core_counts_what_is_predicted_for_many(
    name: str, members: int, threads: int, classes: int, settings: dict[str, Any]
) -> None:
    """To the byte, with inputs that are cut into blocks and memory in huge pages."""
    core = find_library()
    assert core is not None
    graph = Graph.from_data(make_data(2000, 40, classes, 60_000), GraphConfig(self_loops="remove"))
    config = MODELS[name](hidden_channels=64, **settings)
    assert isinstance(config, GloGNNConfig | GloGNN2Config)
    models = [config.model_class().for_graph(graph, config) for _ in range(members)]
    before, _ = core.memory()
    made = NativeEngine(Members(graph, models, [TrainingConfig()] * members, [0] * members), threads=threads)
    sizes = core_sizes(config, sizes_of(graph), members=members, threads=threads)
    assert core.memory()[0] - before == sizes.core_bytes()
    assert made.snapshot()["weights"].shape[1] == sizes.parameters


@needs_core
def test_dense_features_are_predicted_as_they_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four bytes of a value: the core reads them where they are."""
    graph = Graph.from_data(make_data(500, 300, 3, 1000))
    config, training = MODELS["glognn"](), TrainingConfig(threads=1)
    by_core = need_of(config, graph, training)
    monkeypatch.setenv("GLOGNN_NATIVE", "0")
    by_torch = need_of(config, graph, training)
    assert (by_core.inputs, by_core.preparation) == (by_torch.inputs, by_torch.preparation)


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
    config, sizes = MODELS["gcn"](), Sizes(1000, 5000, 500, 3)
    assert Need.of(config, replace(sizes, feature_entries=5000)).training < Need.of(config, sizes).training


def test_a_model_without_its_own_prediction_has_one() -> None:
    class Plain(ModelConfig):
        title, name, summary, paper, implementation = "Plain", "plain", "", "", MODELS["mlp"].implementation

        def as_dict(self) -> dict[str, Any]:
            return MODELS["mlp"]().as_dict()

    assert Need.of(Plain(), Sizes(1000, 5000, 50, 3)).training > 4 * 1000 * 50


def test_counting_weights_takes_no_memory_and_no_random_numbers() -> None:
    sizes = Sizes(10**9, 10**10, 10**6, 3)
    before = torch.get_rng_state()
    assert MODELS["glognn"](hidden_channels=512).num_parameters(sizes) == 512 * (10**9 + 10**6 + 2 + 3) + 3 + 2
    assert torch.equal(torch.get_rng_state(), before)
    with pytest.raises(TooLargeError, match="MLP does not fit: it has more weights than can be counted"):
        MODELS["mlp"](hidden_channels=10**12, num_layers=3).num_parameters(sizes)
