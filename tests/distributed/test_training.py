"""Training on ranks: the same losses, scores and weights as one process, whatever their number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from glognn.data.sources import load_dataset
from glognn.distributed.partition import by_owner, make_partition
from glognn.distributed.ranks import Ranks, together
from glognn.distributed.shards import Shards, write_graph
from glognn.errors import InputError
from glognn.graph.graph import Graph
from glognn.models.configs import MODELS
from glognn.models.parts import node_weights, refusal, whole_model
from glognn.training.config import TrainingConfig
from glognn.training.driver import train, train_batch
from tests.conftest import make_data
from tests.distributed.processes import on_ranks

LONG, SHORT = 50, 8
"""Epochs; ranks that share a core wait for each other, so that models which exchange the same go a short way."""
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "glognn": ("glognn", {"alpha": 0.4, "normalization": "row", "dropout": 0.0}),
    "glognn, dropped": ("glognn", {"alpha": 0.4, "dropout": 0.5}),
    "glognn++": ("glognn++", {"alpha": 0.7, "normalization": "symmetric", "dropout": 0.0, "num_layers": 2}),
    "glognn++, dropped": ("glognn++", {"alpha": 0.7, "fusion": "output", "dropout": 0.3}),
    "mlp": ("mlp", {"dropout": 0.0}),
    "mlp, dropped": ("mlp", {"dropout": 0.5}),
    "linkx": ("linkx", {"dropout": 0.0, "num_edge_layers": 2, "num_node_layers": 2}),
    "linkx, dropped": ("linkx", {"dropout": 0.5}),
    "gcn": ("gcn", {"dropout": 0.0}),
    "gcn, dropped": ("gcn", {"dropout": 0.5, "num_layers": 3}),
    "glognn2": (
        "glognn2",
        {
            "dropout": 0.0,
            "num_blocks": 1,
            "block_norm": "batch",
            "reads": "features link degrees neighbours neighbours_in",
        },
    ),
    "glognn2, dropped": ("glognn2", {"dropout": 0.5, "directions": "separate", "reads": "features link_in degrees"}),
}
THOROUGH = ("glognn++", "glognn++, dropped")


def training(name: str, **other: Any) -> TrainingConfig:
    settings = {"epochs": LONG if name in THOROUGH else SHORT, "early_stopping": "none", "engine": "distributed"}
    return TrainingConfig(**{**settings, "dtype": "float64", "seed": 3, **other})


def graph(name: str) -> Graph:
    model = MODELS[CASES[name][0]]
    data = make_data(num_nodes=90, num_features=12, num_classes=3, num_edges=400, seed=4)
    return Graph.from_data(data, model.model_class()(12, 3, 90).graph_config, dtype=torch.float64)


def divide(folder: Path, parts: int) -> None:
    """Graphs of all cases; with four parts, scattered nodes."""
    for name in CASES:
        whole = graph(name)
        matrix = whole.adjacency.matrix.to_scipy()
        owner = np.random.default_rng(5).permutation(np.arange(90) % parts)
        own = by_owner(owner, parts, "metis") if parts == 4 else make_partition(matrix, parts, "balanced")
        write_graph(whole, own, folder / name, {})


def model_of(name: str, whole: Graph, seed: int = 7) -> Any:
    kind, settings = CASES[name]
    torch.manual_seed(seed)
    return MODELS[kind].model_class().for_graph(whole, MODELS[kind].from_mapping(settings))


def _train(ranks: Ranks, folder: Path, names: list[str], metric: str = "accuracy") -> Any:
    found = {}
    for name in names:
        part = Shards.open(folder / name).read_for(ranks)
        model = model_of(name, part)
        config = training(name, metric=metric)
        with together(ranks):
            [ending] = train_batch([model], part, splits=[0], configs=[config])
        assert not isinstance(ending, Exception), ending
        assert ending is not None
        whole = whole_model(model, part, folder)
        state = None if whole is None else {key: value.clone() for key, value in whole.state_dict().items()}
        found[name] = ([row["train_loss"] for row in ending.curve], vars(ending.last), state)
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Any]:
    """What every case comes to on 1, 2 and 4 ranks."""
    found = {}
    for size in (1, 2, 4):
        folder = tmp_path_factory.mktemp(f"parts-{size}")
        divide(folder, size)
        found[size] = on_ranks(size, _train, folder, list(CASES), folder=folder)
    return found


@pytest.mark.parametrize("name", CASES)
def test_losses_scores_and_weights_are_those_of_one_rank(runs: dict[int, Any], name: str) -> None:
    losses, last, weights = runs[1][0][name]
    for size in (2, 4):
        for other in runs[size]:
            np.testing.assert_allclose(other[name][0], losses, rtol=1e-9)
            assert other[name][1] == pytest.approx(last, rel=1e-9)
        state = runs[size][0][name][2]
        for key, weight in weights.items():
            torch.testing.assert_close(state[key], weight, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", [name for name in CASES if "dropped" not in name])
def test_without_dropout_ranks_do_what_the_eager_engine_does(runs: dict[int, Any], name: str) -> None:
    whole = graph(name)
    model = model_of(name, whole)
    result = train(model, whole, config=training(name, engine="eager"))
    np.testing.assert_allclose(runs[4][0][name][0], [row["train_loss"] for row in result.curve], rtol=1e-9)
    state = runs[4][0][name][2]
    for key, weight in model.state_dict().items():
        torch.testing.assert_close(state[key], weight, rtol=1e-6, atol=1e-8)


def test_other_metrics_are_those_of_the_whole_sets(tmp_path: Path) -> None:
    divide(tmp_path, 2)
    [first, second] = on_ranks(2, _train, tmp_path, ["mlp"], "roc_auc", folder=tmp_path)
    whole = graph("mlp")
    config = training("mlp", engine="eager", metric="roc_auc")
    result = train(model_of("mlp", whole), whole, config=config)
    assert first["mlp"][1] == second["mlp"][1] == pytest.approx(vars(result.last), rel=1e-9)


def test_weights_with_a_row_for_each_node_are_found() -> None:
    whole = graph("glognn")
    assert node_weights(model_of("glognn", whole)) == {"encoder.inputs.adjacency.weight"}
    assert node_weights(model_of("linkx", whole)) == {"network.edge_lin.weight"}
    assert node_weights(model_of("gcn", whole)) == set()


def test_only_models_that_can_are_trained_on_ranks(tmp_path: Path) -> None:
    able = {name for name, config in MODELS.items() if not refusal(config())}
    assert able == {"glognn", "glognn++", "glognn2", "mlp", "linkx", "gcn"}
    divide(tmp_path, 1)
    part = Shards.open(tmp_path / "gcn").read_for(Ranks())
    with pytest.raises(InputError, match="GAT cannot be trained with --distributed, because it is not written for"):
        MODELS["gat"].model_class().for_graph(part, MODELS["gat"]())


def test_a_graph_of_one_process_is_not_taken() -> None:
    data = load_dataset("pairs")
    from glognn import MLP

    with pytest.raises(InputError, match="not divided among ranks"):
        train(MLP(data.num_features, 6), data, config=TrainingConfig(engine="distributed"))
