"""Every registered model, trained many at once. A new model joins by being in the registry."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.models.base import NodeModel
from glognn.models.configs import MODELS, ModelConfig
from glognn.training.callbacks import Callback
from glognn.training.checkpoint import Checkpoint
from glognn.training.config import TrainingConfig
from glognn.training.driver import train, train_batch
from glognn.training.engines import CapturedEngine, Members
from glognn.training.history import TrainingResult
from glognn.training.preflight import BATCH_BYTES, members_at_once, sizes_of
from tests.conftest import make_data

VARIANTS: dict[str, list[dict[str, Any]]] = {
    "linkx": [{"num_layers": 2, "num_edge_layers": 2, "num_node_layers": 2}],
    "ggcn": [{"num_layers": 4}],
    "gcnii": [{"shared_weights": True, "num_layers": 2}],
    "mixhop": [{"batch_norm": True, "num_layers": 1}],
    "gcn+": [{"norm": "batch", "input_map": True}],
    "sage+": [{"norm": "none", "sum_layers": True}],
    "gat+": [{"norm": "batch", "residual": False}],
    "polynormer": [{"convolution": "gat", "heads": 2, "num_layers": 2}],
    "sgformer": [{"aggregate": "cat", "heads": 2}],
    "wrgat": [{"aggregation": "mean", "similarity": "share"}],
}
CASES = [
    pytest.param(config, settings, id=f"{name}-{number}")
    for name, config in MODELS.items()
    for number, settings in enumerate([{}, *VARIANTS.get(name, [])])
]
SPLITS = [0, 1, 2]
SMALL = {"hidden_channels": 8, "num_leaves": 8}
PHASES = {"local_epochs": 2}
STARTING = {"gprgnn": ("restart",)}
"""Settings that only decide the initial weights, and so may differ, too."""


def make_graph(config: type[ModelConfig], *, sparse: bool) -> Graph:
    data = make_data(40, num_features=9, num_edges=90, num_splits=3)
    if sparse:
        data.x = data.x * (torch.rand_like(data.x) < 0.15)
    return Graph.from_data(data, GraphConfig.from_mapping(config.graph_settings), dtype=torch.float64)


def complete(config: type[ModelConfig], settings: dict[str, Any], dropout: float, member: int) -> dict[str, Any]:
    """With this share of dropout wherever there is one, small, and with both phases where there are two.

    The numbers in which members may differ are each member's own.
    """
    values = config().as_dict() | {name: dropout for name in config.names() if name.endswith("dropout")}
    numbers = {name: values[name] for name in (*config.varying, *STARTING.get(config.name, ()))}
    own = {name: type(value)(value * (1 - 0.1 * member)) for name, value in numbers.items()}
    small = {name: value for name, value in (SMALL | PHASES).items() if name in config.names()}
    return values | small | settings | own


def build(graph: Graph, config: type[ModelConfig], settings: dict[str, Any], seed: int) -> NodeModel[Any]:
    """No weight is zero, so that decay is a gradient of those that have no other (a bias before normalisation)."""
    torch.manual_seed(seed)
    model = config.model_class().for_graph(graph, config(**settings))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.rand_like(parameter)
    return model


def training(member: int, *, epochs: int) -> TrainingConfig:
    return TrainingConfig(
        seed=member,
        epochs=epochs,
        learning_rate=(0.01, 0.02, 0.005)[member],
        weight_decay=(1e-2, 5e-2, 2e-2)[member],
        optimizer=("adam", "adamw", "adam")[member],
        early_stopping="none",
        dtype="float64",
        device="cpu",
        threads=1,
    )


def assert_equal_states(found: NodeModel[Any], wanted: NodeModel[Any]) -> None:
    for (name, value), other in zip(found.state_dict().items(), wanted.state_dict().values(), strict=True):
        torch.testing.assert_close(value, other, rtol=1e-7, atol=1e-9, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize(("config", "settings"), CASES)
def test_members_end_as_they_do_alone(config: type[ModelConfig], settings: dict[str, Any]) -> None:
    """Also those that stop earlier, in another phase of training, or select an epoch of one."""
    graph = make_graph(config, sparse=True)
    configs = [training(member, epochs=epochs) for member, epochs in enumerate((6, 2, 4))]
    every = [complete(config, settings, 0.0, member) for member in SPLITS]
    alone, together = ([build(graph, config, every[member], member) for member in SPLITS] for _ in range(2))
    wanted = [train(alone[i], graph, split=i, config=configs[i]) for i in SPLITS]
    found = train_batch(together, graph, splits=SPLITS, configs=configs)
    for i in SPLITS:
        assert isinstance(found[i], TrainingResult)
        assert found[i].selected.epoch == wanted[i].selected.epoch
        assert found[i].last.epoch == configs[i].epochs
        for name in ("train_loss", "val_loss"):
            curves = ([row[name] for row in result.curve] for result in (found[i], wanted[i]))
            assert next(curves) == pytest.approx(next(curves), rel=1e-7)
        assert_equal_states(together[i], alone[i])
        assert not together[i].training


@pytest.mark.parametrize(("config", "settings"), CASES)
def test_a_member_with_dropout_does_not_depend_on_the_others(
    config: type[ModelConfig], settings: dict[str, Any]
) -> None:
    graph = make_graph(config, sparse=False)
    every = [complete(config, settings, 0.4, member) for member in SPLITS]
    every[0] = every[1]

    def trained(*members: int) -> list[Tensor]:
        models = [build(graph, config, every[member], 0) for member in members]
        configs = [replace(training(0, epochs=4), seed=member) for member in members]
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="There is a performance drop")
            train_batch(models, graph, splits=[0] * len(members), configs=configs)
        return [model.logits(model.prepare(graph)).detach() for model in models]

    three = trained(0, 1, 2)
    torch.testing.assert_close(trained(1, 2), three[1:], rtol=1e-7, atol=1e-9)
    torch.testing.assert_close(trained(2), three[2:], rtol=1e-7, atol=1e-9)  # alone, by another engine
    draws = config.name != "linkx" or settings.get("num_layers", 1) > 1  # with one layer it has nothing to drop
    assert torch.allclose(three[0], three[1]) != draws


@pytest.mark.parametrize("epoch", [3, 7])
def test_an_interruption_keeps_the_phase(tmp_path: Path, epoch: int) -> None:
    """The selected weights are left with the phase they were selected in, whether or not training was interrupted."""
    config = MODELS["polynormer"]
    graph, settings = make_graph(config, sparse=False), complete(config, {"local_epochs": 4}, 0.4, 0)

    class Interruption(Callback):
        def on_epoch_end(self, metrics: dict[str, float]) -> None:
            if metrics["epoch"] == epoch:
                raise KeyboardInterrupt

    def trained(callbacks: list[Callback], checkpoint: Checkpoint | None = None) -> list[NodeModel[Any]]:
        models = [build(graph, config, settings, member) for member in SPLITS]
        configs = [training(member, epochs=8) for member in SPLITS]
        train_batch(models, graph, splits=SPLITS, configs=configs, callbacks=callbacks, checkpoint=checkpoint)
        return models

    def checkpoint() -> Checkpoint:
        return Checkpoint(tmp_path / "latest", interval=0.0, identity="one")

    wanted = trained([])
    assert {bool(model.state_dict()["_extra_state"]) for model in wanted} == {True, False}
    with pytest.raises(KeyboardInterrupt):
        trained([Interruption()], checkpoint())
    for found, model in zip(trained([], checkpoint()), wanted, strict=True):
        assert_equal_states(found, model)


@pytest.mark.parametrize(
    ("name", "first", "second", "same"),
    [
        ("gat", {"in_dropout": 0.0}, {"in_dropout": 0.1}, False),
        ("gat", {"in_dropout": 0.1}, {"in_dropout": 0.2, "dropout": 0.0}, True),
        ("polynormer", {"in_dropout": 0.0}, {"in_dropout": 0.1}, False),
        ("gcnii", {"in_dropout": 0.0}, {"in_dropout": 0.1}, False),
        ("gcnii", {"theta": 0.1}, {"residual_weight": 0.0}, True),
        ("dirgnn", {"outgoing_weight": 0.2}, {"outgoing_weight": 0.7}, True),
        ("dirgnn", {"outgoing_weight": 0.0}, {"outgoing_weight": 0.7}, False),
        ("dirgnn", {"outgoing_weight": 0.0}, {"outgoing_weight": 1.0}, False),
        ("gprgnn", {"restart": 0.1}, {"propagation_dropout": 0.0}, True),
        ("gprgnn", {"num_hops": 3}, {}, False),
    ],
)
def test_numbers_are_no_part_of_the_shape(name: str, first: dict[str, Any], second: dict[str, Any], same: bool) -> None:
    assert (MODELS[name](**first).shape() == MODELS[name](**second).shape()) == same


@pytest.mark.parametrize("config", [pytest.param(config, id=name) for name, config in MODELS.items()])
def test_every_share_of_dropout_is_a_number(config: type[ModelConfig]) -> None:
    assert {name for name in config.names() if name.endswith("dropout")} <= set(config.varying)


@pytest.mark.parametrize("config", [pytest.param(config, id=name) for name, config in MODELS.items()])
def test_as_many_train_together_as_memory_is_predicted_to_hold(
    config: type[ModelConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = make_graph(config, sparse=True)
    [size] = SMALL.keys() & set(config.names())
    narrow, wide = (config(**{size: width}) for width in (8, 64))
    double = TrainingConfig(dtype="float64", device="cpu")
    many = members_at_once(narrow, graph, double)
    assert many > members_at_once(wide, graph, double) > 1
    assert members_at_once(narrow, graph, replace(double, dtype="float32")) == pytest.approx(2 * many, rel=0.01)
    monkeypatch.setitem(BATCH_BYTES, "cpu", 1000)
    assert members_at_once(narrow, graph, double) == 1


def test_whether_a_run_alone_is_captured_depends_on_the_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusal(name: str, *, device: str = "cuda", metric: str = "accuracy") -> str:
        graph = make_graph(MODELS[name], sparse=True)
        model = build(graph, MODELS[name], {}, 0)
        placed = SimpleNamespace(
            **vars(graph) | {"y": SimpleNamespace(device=torch.device(device)), "exchanged_rows": 0}
        )
        monkeypatch.setattr("glognn.training.preflight.sizes_of", lambda _: sizes_of(graph))
        return CapturedEngine.refusal(Members(placed, [model], [TrainingConfig(device="cuda", metric=metric)], [0]))

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr("glognn.training.preflight.free_memory", lambda device: 0)
    assert not refusal("glognn")
    assert refusal("glognn", device="cpu") == "it needs a GPU"
    assert refusal("glognn", metric="roc_auc") == ""
    assert "macro_f1" in refusal("glognn", metric="macro_f1")
    assert "Polynormer changes with the epochs" in refusal("polynormer")
    monkeypatch.setitem(BATCH_BYTES, "cuda", 1000)
    assert not refusal("glognn")


@pytest.mark.gpu
@pytest.mark.parametrize(("config", "settings"), CASES)
def test_members_on_a_gpu_end_as_alone_on_a_cpu(config: type[ModelConfig], settings: dict[str, Any]) -> None:
    """Long enough for steps to be captured, and with members that leave."""
    graph = make_graph(config, sparse=True)
    configs = [training(member, epochs=epochs) for member, epochs in enumerate((12, 5, 8))]
    every = [complete(config, settings, 0.0, member) for member in SPLITS]
    alone, together = ([build(graph, config, every[member], member) for member in SPLITS] for _ in range(2))
    for i in SPLITS:
        train(alone[i], graph, split=i, config=configs[i])
    train_batch(together, graph, splits=SPLITS, configs=[replace(each, device="cuda") for each in configs])
    for i in SPLITS:
        assert_equal_states(together[i].cpu(), alone[i])
