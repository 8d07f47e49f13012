"""Rounding errors stay what they are: no model makes whole steps of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.models.base import BoostedModel, FollowsEpochs, NodeModel
from glognn.models.configs import MODELS
from glognn.training.config import TrainingConfig
from glognn.training.engines import EagerEngine, Members
from tests.conftest import make_data

CASES: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name, config in MODELS.items() if not issubclass(config.model_class(), BoostedModel)),
    ("polynormer", {"local_epochs": 0}),
    ("polynormer", {"convolution": "gat", "heads": 2}),
    ("sgformer", {"aggregate": "cat", "heads": 2}),
    ("mixhop", {"batch_norm": True}),
    *((name, {"norm": "batch", "input_map": True}) for name in ("gcn+", "sage+", "gat+")),
]


def build(name: str, settings: dict[str, Any], dtype: torch.dtype) -> tuple[NodeModel[Any], Graph]:
    config = MODELS[name](**settings)
    graph = Graph.from_data(make_data(), GraphConfig.from_mapping(config.graph_settings), dtype=dtype)
    torch.manual_seed(0)
    return config.model_class().for_graph(graph, config), graph


def derivatives(name: str, settings: dict[str, Any], dtype: torch.dtype) -> dict[str, Tensor]:
    model, graph = build(name, settings, dtype)
    model.train()
    if isinstance(model, FollowsEpochs):
        model.on_epoch(1)
    torch.manual_seed(1)
    scores = model.logits(model.prepare(graph))
    torch.nn.functional.cross_entropy(scores, graph.y).backward()
    return {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_a_derivative_that_is_zero_is_zero_in_every_precision(name: str, settings: dict[str, Any]) -> None:
    """Such as that of a bias before batch normalisation: Adam divides what rounding leaves of it by its own size."""
    without_dropout = {each: 0.0 for each in MODELS[name].names() if each.endswith("dropout")} | settings
    wide, narrow = (derivatives(name, without_dropout, dtype) for dtype in (torch.float64, torch.float32))
    largest = max(float(each.abs().max()) for each in wide.values())
    for weight, derivative in wide.items():
        if float(derivative.abs().max()) < 1e-13 * largest:
            assert not narrow[weight].any(), weight


def moved(name: str, settings: dict[str, Any], dtype: torch.dtype, *, noise: float, steps: int) -> float:
    """How far weights are apart after some steps, relative to their size, if they begin as far apart as ``noise``."""
    ends = []
    for amount in (0.0, noise):
        model, graph = build(name, settings, dtype)
        random = torch.Generator().manual_seed(2)
        with torch.no_grad():
            for weight in model.parameters():
                weight *= 1 + amount * (2 * torch.rand(weight.shape, generator=random) - 1)
        engine = EagerEngine(Members(graph, [model], [TrainingConfig(engine="eager")], [0]))
        for epoch in range(1, steps + 1):
            engine.begin_epoch(epoch)
            engine.step()
            engine.evaluate()
        ends.append(torch.cat([weight.detach().flatten().double() for weight in model.parameters()]))
    return float((ends[1] - ends[0]).norm() / ends[0].norm())


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_weights_rounded_otherwise_are_alike_after_a_step(name: str, settings: dict[str, Any]) -> None:
    assert moved(name, settings, torch.float32, noise=1e-7, steps=1) < 1e-4


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_rounding_errors_do_not_grow_from_step_to_step(name: str, settings: dict[str, Any]) -> None:
    assert moved(name, settings, torch.float64, noise=1e-12, steps=10) < 1e-8
