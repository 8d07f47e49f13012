"""The released method, as the benchmark times it, is the method we compute."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from glognn.bench.released import Released
from glognn.errors import InputError
from glognn.experiments.config import RunConfig, resolve
from glognn.experiments.run import build_model
from glognn.graph.graph import Graph
from glognn.models.glognn import GloGNN
from glognn.training.driver import train
from tests.conftest import make_data

CPU = torch.device("cpu")
SETTINGS = {
    "alpha": 0.3,
    "beta1": 0.5,
    "beta2": 2.0,
    "gamma": 0.4,
    "num_hops": 3,
    "num_layers": 2,
    "hidden_channels": 8,
    "dropout": 0.0,
    "dtype": "float64",
    "early_stopping": "none",
    "selection": "last",
    "device": "cpu",
    "epochs": 30,
}


def configuration(model: str, **settings: object) -> RunConfig:
    extra = {"coefficient": "released"} if model == "glognn++" else {}
    [config] = resolve([model], None, SETTINGS | extra | settings, None, None)
    return config


def same_weights(released: Released, ours: GloGNN) -> None:
    """Give the released network our model's weights."""
    network = released.network
    with torch.no_grad():
        pairs = [
            (network.from_features, ours.encoder.inputs["features"]),
            (network.from_adjacency, ours.encoder.inputs["adjacency"]),
            (network.to_classes, ours.encoder.tails[0][-1]),
        ]
        if network.between is not None:
            pairs.append((network.between, ours.encoder.tails[0][0]))
        for theirs, mine in pairs:
            theirs.weight.copy_(mine.weight.T)
            theirs.bias.copy_(mine.bias)
        assert ours.layer.hops is not None
        network.hop_weights.copy_(ours.layer.hops.weight.unsqueeze(1))
        if network.scale is not None:
            assert ours.layer.scale is not None
            network.scale.copy_(ours.layer.scale.unsqueeze(1))


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("normalization", ["row", "none"])
@pytest.mark.parametrize("model", ["glognn", "glognn++"])
def test_the_same_forward_and_the_same_training(model: str, normalization: str, depth: int) -> None:
    config = configuration(model, normalization=normalization, num_encoder_layers=depth)
    graph = Graph.from_data(make_data(), dtype=torch.float64)
    ours = build_model(config, graph)
    assert isinstance(ours, GloGNN)
    released = Released(config, graph, 0, CPU)
    same_weights(released, ours)
    wanted = torch.log_softmax(ours.logits(ours.prepare(graph)), dim=1)
    torch.testing.assert_close(released.outputs(), wanted, rtol=1e-9, atol=1e-9)
    curve = train(ours, graph, config=config.training).curve
    theirs = [released.epoch() for _ in curve]
    for name in ("train_loss", "val_loss"):
        assert [row[name] for row in theirs] == pytest.approx([row[name] for row in curve], rel=1e-7)
    assert theirs[-1]["val"] == curve[-1]["val_accuracy"]
    assert curve[-1]["train_loss"] < 0.9 * curve[0]["train_loss"]


def test_the_small_program_evaluates_with_gradients_and_the_large_one_without() -> None:
    graph = Graph.from_data(make_data())
    for depth, wanted in ((2, True), (3, False)):
        released = Released(configuration("glognn", num_encoder_layers=depth), graph, 0, CPU)
        assert released.evaluate().requires_grad is wanted
        assert released.x.dtype == torch.float64
        assert released.adjacency.layout == torch.sparse_coo


def test_what_was_never_released_is_refused() -> None:
    graph = Graph.from_data(make_data())
    with pytest.raises(InputError, match="fused at the hidden layer"):
        Released(configuration("glognn", fusion="output"), graph, 0, CPU)
    with pytest.raises(InputError, match="the graph has none"):
        Released(configuration("glognn"), replace(graph, x=None), 0, CPU)
