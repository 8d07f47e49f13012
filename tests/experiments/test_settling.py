"""Short trainings on training labels that decide what a linear look cannot tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from glognn.experiments import settling
from glognn.experiments.config import RunConfig, resolve
from glognn.experiments.settling import settled
from glognn.graph.graph import Graph
from glognn.training.callbacks import Callback
from tests.models.test_reading import by_features, graph_of


def by_surroundings() -> Graph:
    """The class is whether a node and the one that it points to have numbers of one sign: no sum of them tells that."""
    generator = torch.Generator().manual_seed(4)
    x = torch.randn(1200, 2, generator=generator)
    targets = torch.randperm(1200, generator=generator)
    y = (x[:, 0] * x[targets, 0] > 0).long()
    return graph_of(y, torch.stack([torch.arange(1200), targets]), x)


def config_of(**settings: Any) -> RunConfig:
    [config] = resolve(["glognn2"], None, {"threads": 1, "device": "cpu"} | settings, "pairs", None)
    return config


def test_local_blocks_are_taken_where_surroundings_tell_the_class() -> None:
    blocks, plain = settled([config_of(), config_of(dropout=0.7, num_layers=1)], by_surroundings(), [0, 1])
    assert (blocks.model.reads, blocks.model.num_blocks, blocks.model.num_layers) == ("features degrees", 3, 0)
    assert blocks.training.weight_decay == 5e-5
    assert plain.model == config_of(dropout=0.7, num_layers=1, reads="features").model


def test_wishes_for_training_do_not_go_before_what_is_given() -> None:
    [given] = settled([config_of(weight_decay=0.01)], by_surroundings(), [0])
    assert (given.model.num_blocks, given.training.weight_decay) == (3, 0.01)


@pytest.mark.parametrize(("name", "value"), [("FEWEST", 601), ("MOST", 1199)])
def test_few_labels_and_large_graphs_are_not_tried(name: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, name, value)
    graph = by_surroundings()
    assert len(graph.indices(0)["train"]) == 600
    assert settled([config_of()], graph, [0])[0].model.num_blocks == 0


def test_trials_are_shorter_where_epochs_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, lengths = by_surroundings(), list[int]()

    def train(models: Any, *args: Any, configs: list[Any], **more: Any) -> list[None]:
        lengths.append(configs[0].epochs)
        return [None] * len(models)

    monkeypatch.setattr(settling, "train_batch", train)
    for rows, wanted in ((4_000_000, 200), (1200 * 90, 90), (1200 * 10, 60)):
        monkeypatch.setattr(settling, "ROWS", rows)
        trials(graph, [0])
        assert set(lengths) == {wanted}
        lengths.clear()
    trials(graph, [0], epochs=7)
    assert set(lengths) == {7}


def trials(graph: Graph, splits: list[int], **settings: Any) -> list[settling._Trial]:
    config = config_of(**settings)
    found = [
        settling._Trial.of([replace(config, model=each) for each in config.model.offers(graph, 0)], graph, split)
        for split in splits
    ]
    settling._try(found, graph, [])
    return found


def test_each_node_is_judged_by_models_that_did_not_see_it() -> None:
    graph = by_features()
    [trial] = trials(graph, [0], epochs=3)
    assert set(trial.nodes.tolist()) <= set(graph.indices(0)["train"].tolist())
    assert trial.folds == 5  # of 202 training nodes
    assert len(set(trial.nodes.tolist())) == len(trial.nodes) == len(graph.indices(0)["train"])
    masks = {name: torch.zeros(400, 5, dtype=torch.bool) for name in ("train", "val")}
    trial.divide(masks)
    for fold in range(trial.folds):
        held = trial.trained[trial.part == fold]
        assert masks["val"][:, fold].nonzero().view(-1).tolist() == sorted(held.tolist())
        assert not masks["train"][held, fold].any()


def test_labels_of_validation_and_test_nodes_are_not_looked_at() -> None:
    graph = by_surroundings()
    others = ~graph.masks["train"][:, 0]
    changed = graph.y.clone()
    changed[others] = graph.y[others].flip(0)
    assert not torch.equal(changed, graph.y)
    [first], [second] = trials(graph, [0], epochs=5), trials(replace(graph, y=changed), [0], epochs=5)
    assert first.said.keys() == second.said.keys() == {0, 1, 2, 3}
    for number in first.said:
        np.testing.assert_array_equal(first.said[number], second.said[number])


def test_splits_together_are_decided_as_alone() -> None:
    graph = by_surroundings()
    together = trials(graph, [0, 1], epochs=8)
    alone = [*trials(graph, [0], epochs=8), *trials(graph, [1], epochs=8)]
    for one, other in zip(together, alone, strict=True):
        for number in one.said:
            np.testing.assert_allclose(one.said[number], other.said[number], atol=1e-6)


def test_what_is_far_behind_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "AFTER", 2)
    monkeypatch.setattr(settling, "FAR", -1.0)
    [trial] = trials(by_surroundings(), [0], epochs=5)
    assert trial.said.keys() == {0}
    assert trial.best() == trial.offered[0]


def test_a_gain_must_be_sure() -> None:
    graph, config = by_features(), config_of()
    offered = [replace(config, model=each) for each in config.model.offers(graph, 0)]
    trial = settling._Trial.of(offered, graph, 0)
    right = np.eye(3)[trial.y]
    wrong = np.eye(3)[(trial.y + 1) % 3]
    often = np.arange(len(right)) % 3 == 0
    one = np.arange(len(right)) == 0
    trial.said.update({0: wrong, 1: np.where(one[:, None], right, wrong), 2: wrong})
    assert trial.best() == offered[0]  # one node of 202 more
    trial.said[2] = np.where(often[:, None], right, wrong)
    assert trial.best() == offered[2]


def test_a_metric_that_cannot_be_computed_leaves_the_first() -> None:
    graph = by_surroundings()
    lonely = replace(graph, y=torch.zeros_like(graph.y).index_fill(0, graph.indices(0)["train"][:1], 1))
    [config] = settled([config_of(metric="roc_auc", epochs=3)], lonely, [0])
    assert config.model.num_blocks == 0


def test_progress_says_that_settings_are_tried_and_not_that_a_run_ended() -> None:
    class Listener(Callback):
        def __init__(self) -> None:
            self.begun: list[str] = []
            self.epochs, self.ended = 0, 0

        def on_train_begin(self, info: dict[str, Any]) -> None:
            self.begun.append(info["model"])

        def on_epoch_end(self, metrics: dict[str, float]) -> None:
            self.epochs += 1

        def on_train_end(self, result: object) -> None:
            self.ended += 1

    listener = Listener()
    settled([config_of(epochs=4)], by_surroundings(), [0], [listener])
    assert listener.begun == [f"glognn2, settings {number} of 4 tried on training labels" for number in range(1, 5)]
    assert (listener.epochs, listener.ended) == (16, 0)
