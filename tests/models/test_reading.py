"""Which inputs are read: told by training labels alone, by the regression that the dense formula gives."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from glognn.data.splits import random_splits
from glognn.errors import InputError
from glognn.graph import directions
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.models import reading
from glognn.models.configs import GloGNN2Config, glognn
from glognn.models.glognn2 import GloGNN2
from glognn.models.reading import choose_inputs, tell_ends_apart
from tests.conftest import make_data

OFFERED = ("features", "link", "degrees")


def graph_of(y: torch.Tensor, edges: torch.Tensor, x: torch.Tensor | None, splits: int = 2) -> Graph:
    data = Data(x=x, edge_index=edges, y=y, num_nodes=len(y))
    for name, mask in random_splits(y, splits, seed=0).items():
        data[f"{name}_mask"] = mask
    return Graph.from_data(data, GraphConfig(directed=True))


def by_name(features: bool = True) -> Graph:
    """The class of a node is told by which hubs it points to, and by nothing else."""
    generator = torch.Generator().manual_seed(1)
    y = torch.arange(400) % 2
    hubs = 2 * torch.randint(0, 10, (400, 3), generator=generator) + y[:, None]
    edges = torch.stack([torch.arange(400).repeat_interleave(3), hubs.flatten()])
    return graph_of(y, edges[:, edges[0] >= 20], torch.randn(400, 5, generator=generator) if features else None)


def by_features() -> Graph:
    """Features tell the class; links and degrees are drawn."""
    generator = torch.Generator().manual_seed(2)
    y = torch.arange(400) % 3
    x = torch.randn(400, 6, generator=generator)
    x[:, 0] += 2.0 * y
    return graph_of(y, torch.randint(0, 400, (2, 1600), generator=generator), x)


def by_degrees() -> Graph:
    """Nodes of one class have ten links, those of the other two, to anybody."""
    generator = torch.Generator().manual_seed(3)
    y = torch.arange(400) % 2
    sources = torch.arange(400).repeat_interleave(torch.where(y == 1, 10, 2))
    targets = torch.randint(0, 400, sources.shape, generator=generator)
    return graph_of(y, torch.stack([sources, targets]), torch.randn(400, 5, generator=generator))


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (by_name, ["features", "link"]),
        (by_features, ["features"]),
        (by_degrees, ["features", "degrees"]),
    ],
)
@pytest.mark.parametrize("split", [0, 1])
def test_what_tells_classes_is_read_and_nothing_else(made, wanted: list[str], split: int) -> None:
    assert choose_inputs(made(), split, OFFERED) == wanted


def test_a_graph_without_features_is_read_by_what_it_has() -> None:
    assert choose_inputs(by_name(features=False), 0, OFFERED) == ["link"]
    nothing = graph_of(torch.arange(40) % 2, torch.tensor([[0], [1]]), None)
    assert choose_inputs(nothing, 0, OFFERED) == ["link", "degrees"]


@pytest.mark.parametrize("made", [by_name, by_features, by_degrees])
def test_labels_of_validation_and_test_nodes_are_not_looked_at(made) -> None:
    graph = made()
    others = ~graph.masks["train"][:, 0]
    changed = graph.y.clone()
    changed[others] = graph.y[others].flip(0)
    assert not torch.equal(changed, graph.y)
    first, second = reading._Probe(graph, 0), reading._Probe(replace(graph, y=changed), 0)
    for one, other in zip(first.fit(OFFERED, (1.0,)), second.fit(OFFERED, (1.0,)), strict=True):
        assert torch.equal(one, other)


def test_the_regression_is_that_of_the_dense_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every fold and penalty: w = (Z'Z + p b I)^-1 Z'Y with the b matrices of length 1 side by side in Z."""
    monkeypatch.setattr(reading, "STEPS", 400)
    graph = Graph.from_data(make_data(), GraphConfig(directed=True), dtype=torch.float64)
    probe = reading._Probe(graph, 0)
    *_, said = probe.fit(OFFERED, reading.PENALTIES)
    both = directions.operator(graph, "both").to_scipy().toarray()
    x = graph.x.numpy()
    parts = {
        "features": [x, both @ x, both @ both @ x],
        "link": [directions.link_rows(graph, "out").to_scipy().toarray()],
        "degrees": [directions.degrees(graph).numpy()],
    }
    pairs = [
        (part, scale) for name in OFFERED for part, scale in zip(parts[name], probe._made(name).scales, strict=True)
    ]
    scales = np.array([scale for _, scale in pairs])
    lengths = np.array([np.sqrt((part[probe.nodes] ** 2).sum(axis=1).mean()) for part, _ in pairs])
    assert scales * lengths == pytest.approx(1.0, rel=0.4)  # told by 16 random weights
    dense = np.concatenate([part * scale for part, scale in pairs], axis=1)
    found = said.view(graph.num_nodes, len(reading.PENALTIES), reading.FOLDS, -1).numpy()
    place = np.full(graph.num_nodes, -1)
    place[probe.nodes[probe.held]] = probe.fold
    truth = np.zeros((graph.num_nodes, graph.num_classes))
    truth[probe.nodes] = probe.truth
    for number, penalty in enumerate(reading.PENALTIES):
        for fold in range(reading.FOLDS):
            nodes = (place >= 0) & (place != fold)
            Z = dense[nodes]
            system = Z.T @ Z + penalty * len(pairs) * np.eye(Z.shape[1])
            weights = np.linalg.solve(system, Z.T @ truth[nodes])
            np.testing.assert_allclose(found[:, number, fold], dense @ weights, atol=1e-8)


def test_penalties_one_after_another_choose_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = by_degrees()
    at_once = reading._Probe(graph, 0).judge(OFFERED)
    monkeypatch.setattr(reading, "TOGETHER", 0)
    apart = reading._Probe(graph, 0).judge(OFFERED)
    assert torch.allclose(at_once.errors, apart.errors, rtol=1e-2, atol=1e-4)


def test_of_many_training_nodes_one_fold_is_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MANY", 100)
    graph = by_name()
    assert len(reading._Probe(graph, 0).held) == len(graph.indices(0)["train"]) // 5
    assert choose_inputs(graph, 0, OFFERED) == ["features", "link"]


def in_a_row(*, shuffled: bool = False, classes: int = 3) -> Graph:
    """Each node points to the next, whose class follows upon its own: 0, 1, 2, 0, ... Shuffled, edges go either way."""
    y = torch.arange(600) % classes
    edges = torch.stack([torch.arange(599), torch.arange(1, 600)])
    turned = torch.rand(599, generator=torch.Generator().manual_seed(4)) < 0.5
    return graph_of(y, torch.where(turned & shuffled, edges.flip(0), edges), torch.randn(600, 5))


def hubs_in_a_random_order(seed: int) -> Graph:
    """Edges from the lower number to the higher, of which hubs have many: with few hubs, more lead from one class."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 2, (600,), generator=generator)
    ends = torch.stack([torch.randint(0, 600, (8,), generator=generator).repeat(250), torch.randint(0, 600, (2000,))])
    low, high = ends.min(dim=0).values, ends.max(dim=0).values
    return graph_of(y, torch.stack([low, high])[:, low < high], None)


def test_labels_tell_the_ends_of_edges_apart() -> None:
    graph, shuffled = in_a_row(), in_a_row(shuffled=True)
    assert tell_ends_apart(graph, 0)
    assert not tell_ends_apart(shuffled, 0)
    assert not tell_ends_apart(in_a_row(classes=2), 0), "as many edges lead one way as the other"
    assert not tell_ends_apart(by_features(), 0), "its list says something of direction by itself"
    assert not any(tell_ends_apart(hubs_in_a_random_order(seed), 0) for seed in range(20))
    train = graph.masks["train"][:, 0]
    scrambled = torch.where(train, graph.y, graph.y[torch.randperm(600, generator=torch.Generator().manual_seed(5))])
    assert tell_ends_apart(replace(graph, y=scrambled), 0), "other labels are not looked at"
    assert not tell_ends_apart(replace(graph, y=torch.where(train, 0, graph.y)), 0)
    for blocks, each in itertools.product((0, 2), (graph, shuffled)):
        for offer in GloGNN2Config(reads="features", num_blocks=blocks).offers(each, 0):
            assert offer.block_edges == ("auto" if not blocks else "listed" if each is graph else "sensed")
            assert offer.undecided == ()
    assert [each.block_edges for each in GloGNN2Config().offers(graph, 0)] == ["auto", "auto", "listed", "listed"]
    assert (
        GloGNN2Config(reads="features", num_blocks=2, block_edges="sensed").offers(graph, 0)[0].block_edges == "sensed"
    )


def test_what_is_decided_and_what_else_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    config = GloGNN2Config()
    assert (config.reads, config.undecided) == ("auto", config.settles)
    assert list(config.inputs) == list(OFFERED)  # as long as nothing is decided
    first, direct, few, deep = config.offers(by_name(), 0)
    assert (first.reads, first.undecided) == ("features link", ())
    assert replace(first, reads="auto") == config
    assert (direct.reads, direct.degree_weight, direct.num_layers) == ("features link degrees", 1.0, 0)
    assert (few.reads, few.num_blocks, few.block_norm, few.dropout) == ("features degrees", 3, "batch", 0.7)
    assert (deep.reads, deep.num_blocks, deep.block_norm, deep.dropout) == ("features", 12, "batch", 0.2)
    monkeypatch.setattr(glognn, "_LARGE", by_name().num_nodes - 1)
    assert config.offers(by_name(), 0) == [first, direct, few, replace(deep, num_blocks=4)]
    assert first.offers(by_features(), 0) == [first]
    assert set(GloGNN2(5, 2, 400).encoder.weights) == set(OFFERED)
    assert GloGNN2Config(reads="degrees features").reads == "features degrees"
    with pytest.raises(InputError, match="must be 'auto' alone, or names of inputs. Got 'auto link' instead"):
        GloGNN2Config(reads="link auto")


def test_nothing_given_by_hand_is_offered_otherwise() -> None:
    graph = by_degrees()
    assert {each.dropout for each in GloGNN2Config(dropout=0.7).offers(graph, 0)} == {0.7}
    for given in ({"num_blocks": 1}, {"num_layers": 1}):
        [only] = GloGNN2Config(**given).offers(graph, 0)
        edges = "sensed" if "num_blocks" in given else "auto"
        assert only == GloGNN2Config(reads="features degrees", block_edges=edges, **given)
    assert [each.reads for each in GloGNN2Config().offers(by_name(features=False), 0)] == [
        "link",
        "link degrees",
        "degrees",
        "degrees",
    ]


@pytest.mark.gpu
def test_a_gpu_decides_as_the_cpu_does() -> None:
    for graph in (by_name(), by_features(), by_degrees()):
        for split in (0, 1):
            assert choose_inputs(graph.to(device="cuda"), split, OFFERED) == choose_inputs(graph, split, OFFERED)
