"""What is told about class scores that depend on how numbers are rounded."""

from __future__ import annotations

import json
import warnings
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from glognn.data.npz import write_npz
from glognn.errors import RoundingWarning
from glognn.graph.graph import Graph
from glognn.models.configs import MODELS, find_model
from glognn.models.glognn import GloGNN, GloGNNPlusPlus
from glognn.native.library import why_not
from glognn.training.config import TrainingConfig
from glognn.training.driver import train
from glognn.training.rounding import TOO_MUCH, rounding_difference, rounding_warning
from tests.conftest import make_data
from tests.program import run


def complete(num_nodes: int) -> Data:
    """Every node is joined to every other; the features tell the classes."""
    random = torch.Generator().manual_seed(0)
    y = torch.randint(0, 3, (num_nodes,), generator=random)
    order = torch.randperm(num_nodes, generator=random)
    sets = {f"{name}_mask": (order % 3 == number).unsqueeze(1) for number, name in enumerate(("train", "val", "test"))}
    x = torch.randn(num_nodes, 8, generator=random) + y.unsqueeze(1)
    return Data(x=x, edge_index=torch.combinations(torch.arange(num_nodes)).T, y=y, num_nodes=num_nodes, **sets)


def build(graph: Graph, **settings: object) -> GloGNNPlusPlus:
    torch.manual_seed(0)
    return GloGNNPlusPlus(graph.num_features, graph.num_classes, graph.num_nodes, **settings)


@torch.no_grad()
def disagreement(model: GloGNN, data: Data) -> float:
    """Of float32 and float64, relative to the class scores."""
    scores: list[Tensor] = []
    for dtype in (torch.float32, torch.float64):
        each = deepcopy(model).to(dtype).eval()
        scores.append(each.logits(each.prepare(Graph.from_data(data, dtype=dtype))).double())
    return float((scores[0] - scores[1]).norm() / scores[1].norm())


@pytest.mark.parametrize("normalization", ["none", "row", "symmetric"])
@pytest.mark.parametrize("num_hops", [1, 2, 3])
@pytest.mark.parametrize("num_layers", [1, 2, 3])
@pytest.mark.parametrize("num_nodes", [100, 400])
def test_what_is_measured_is_how_far_float32_and_float64_disagree(
    num_nodes: int, num_layers: int, num_hops: int, normalization: str
) -> None:
    data = complete(num_nodes)
    graph = Graph.from_data(data)
    model = build(graph, normalization=normalization, num_hops=num_hops, num_layers=num_layers)
    truth, measured = disagreement(model, data), rounding_difference(model, graph)
    if truth < TOO_MUCH / 10:
        assert measured < TOO_MUCH
        assert rounding_warning(model, graph) == ""
    elif truth > TOO_MUCH * 10:
        assert measured > TOO_MUCH
        assert rounding_warning(model, graph)
    assert normalization == "none" or truth < 1e-5


@pytest.mark.parametrize("engine", ["native", "eager", "stacked"])
def test_every_engine_tells_it_once_with_a_remedy(engine: str) -> None:
    if engine == "native" and why_not():
        pytest.skip(why_not())
    graph = Graph.from_data(complete(500))
    config = TrainingConfig(epochs=3, engine=engine)
    with pytest.warns(RoundingWarning) as told:
        result = train(build(graph, normalization="none", num_hops=3), graph, config=config)
    [text] = [str(each.message) for each in told]
    assert "GloGNN++ on this graph depend on rounding: in float32" in text
    assert text.endswith("Take float64, normalization 'row' or 'symmetric', or fewer hops (num_hops is 3).")
    assert result.warnings == (text,)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RoundingWarning)
        assert train(build(graph, num_hops=3), graph, config=config).warnings == ()


@pytest.mark.parametrize("name", sorted(MODELS))
def test_no_model_with_its_defaults_is_suspected(name: str) -> None:
    graph = Graph.from_data(make_data())
    config = find_model(name)()
    assert rounding_warning(config.model_class().for_graph(graph, config), graph) == ""


def test_the_model_is_as_before() -> None:
    graph = Graph.from_data(complete(100))
    model = build(graph, normalization="none", num_hops=4, num_layers=2)
    before, state = torch.get_rng_state(), deepcopy(model.state_dict())
    assert rounding_difference(model, graph) > TOO_MUCH
    assert model.training
    assert not any(part._forward_hooks for part in model.modules())
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())


def test_the_command_line_says_it_and_the_record_keeps_it(tmp_path: Path) -> None:
    write_npz(complete(400), tmp_path / "complete.npz")
    out = tmp_path / "run"
    ended = run(
        "train", "--dataset", str(tmp_path / "complete.npz"), "--normalization", "none", "--num-hops", "3",
        "--epochs", "3", "--splits", "0", "--out", str(out),
    )  # fmt: skip
    said = [line for line in ended.stderr.splitlines() if "depend on rounding" in line]
    assert len(said) == 1
    assert said[0].startswith("warning: The class scores of GloGNN++")
    [kept] = json.loads((out / "report.json").read_text())["warnings"]
    assert f"warning: {kept}" == said[0]
