"""The compiled training step against the modules, autograd and torch.optim."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.models.configs import find_model
from glognn.models.glognn import GloGNN
from glognn.native import library
from glognn.native.members import NativeMembers
from glognn.training.config import TrainingConfig
from tests.conftest import make_data

needs_library = pytest.mark.skipif(library.find_library() is None, reason="the native core is not built")

STEPS = 20
TRAINING = TrainingConfig(learning_rate=0.01, weight_decay=5e-4, seed=3)


def make_graph(*, sparse: bool = False, classes: int = 3, **settings: Any) -> Graph:
    weighted = settings.pop("weighted", False)
    data = make_data(num_classes=classes, num_features=13, weighted=weighted, num_splits=4)
    if sparse:
        data.x = data.x * (torch.rand(data.x.shape) < 0.1)
    return Graph.from_data(data, GraphConfig(**settings))


def make_model(graph: Graph, seed: int = 0, **settings: Any) -> GloGNN:
    torch.manual_seed(seed)
    coefficient = settings.get("coefficient", "plain")
    name = "glognn" if coefficient == "plain" else "glognn++"
    given = {key: value for key, value in settings.items() if key != "coefficient" or value != "plain"}
    config = find_model(name).from_mapping({"dropout": 0.0, "hidden_channels": 24, "num_layers": 2} | given)
    model = config.model_class().for_graph(graph, config)
    assert isinstance(model, GloGNN)
    return model


class Reference:
    """A member trained with autograd and torch.optim, in any precision."""

    def __init__(self, graph: Graph, model: GloGNN, config: TrainingConfig, split: int, dtype: torch.dtype) -> None:
        self.graph = graph.to(dtype=dtype)
        self.model = type(model).for_graph(graph, model.config)
        self.model.load_state_dict(model.state_dict())
        self.model.to(dtype)
        self.inputs = self.model.prepare(self.graph)
        self.train = graph.masks["train"][:, split]
        kind = torch.optim.Adam if config.optimizer == "adam" else torch.optim.AdamW
        self.optimizer = kind(self.model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)

    def step(self, mask: Tensor | None = None) -> float:
        self.optimizer.zero_grad()
        encoded = self.model.encode(self.inputs)
        if mask is None:
            logits = self.model.decode(encoded, self.inputs)
        else:
            [layer] = self.model.encoder.tails[0].children()
            hidden = F.relu(encoded[0]) * mask / (1 - self.model.config.dropout)
            logits = self.model._layers(layer(hidden), self.inputs)[-1]
        loss = F.cross_entropy(logits[self.train], self.graph.y[self.train])
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())

    def logits(self) -> Tensor:
        self.model.eval()
        with torch.no_grad():
            return self.model.logits(self.inputs).double()


def difference(a: Tensor, b: Tensor) -> float:
    return float((a.double() - b.double()).abs().max() / b.double().abs().max().clamp(min=1e-3))


CASES = [
    ({}, {}, {}),
    ({"alpha": 0.0}, {}, {"sparse": True}),
    ({"alpha": 1.0, "num_hops": 1}, {}, {}),
    ({"alpha": 0.3, "num_layers": 1, "num_hops": 4, "gamma": 0.0}, {}, {"sparse": True, "classes": 5}),
    ({"num_layers": 3, "num_hops": 3, "gamma": 0.8, "beta1": 0.0, "beta2": 50.0}, {}, {"classes": 7}),
    ({"gamma": 1.0, "coefficient": "exact"}, {}, {}),
    ({"beta2": 0.0, "gamma": 0.2, "coefficient": "released"}, {}, {"classes": 4}),
    ({"coefficient": "exact", "num_layers": 3, "beta1": 0.0}, {"optimizer": "adamw"}, {"directed": True}),
    ({"coefficient": "released", "num_hops": 3, "gamma": 0.3}, {"weight_decay": 0.0}, {"weighted": True}),
    ({"coefficient": "released", "num_layers": 1, "beta2": 0.0}, {"optimizer": "adamw"}, {"classes": 6}),
    ({"coefficient": "exact", "normalization": "symmetric"}, {}, {"weighted": True, "directed": True}),
    ({"normalization": "none", "beta1": 30.0, "hidden_channels": 80, "gamma": 0.1}, {}, {"classes": 2}),
    ({"coefficient": "exact", "hidden_channels": 7}, {}, {"classes": 11}),
    ({"hidden_channels": 40, "num_hops": 18}, {}, {"classes": 16}),
]


@needs_library
@pytest.mark.parametrize(("model", "training", "graph"), CASES)
def test_equals_autograd_step_by_step(model: dict[str, Any], training: dict[str, Any], graph: dict[str, Any]) -> None:
    """Without dropout the float32 error against a float64 run is that of the PyTorch path, within a factor of 10."""
    prepared = make_graph(**graph)
    config = TrainingConfig.from_mapping(TRAINING.as_dict() | training)
    first = make_model(prepared, **model)
    exact = Reference(prepared, first, config, 1, torch.float64)
    rounded = Reference(prepared, first, config, 1, torch.float32)
    native = NativeMembers(prepared, [first], [config], [1])
    assert difference(native.logits()[0], exact.logits()) < 1e-5
    for number in range(STEPS):
        loss = float(native.step()[0])
        expected = exact.step()
        usual = abs(rounded.step() - expected)
        assert abs(loss - expected) < 10 * usual + 2e-5 * (1 + number), number
    error, usual = (difference(found, exact.logits()) for found in (native.logits()[0], rounded.logits()))
    assert error < 10 * usual + 1e-4
    state = native.state_dict(0)
    assert set(state) == set(first.state_dict())
    for name, value in exact.model.state_dict().items():
        usual = difference(rounded.model.state_dict()[name], value)
        assert difference(state[name], value) < 10 * usual + 1e-4, name
