"""Settings that are left to the graph: decided for each split, recorded, and the same wherever a run goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glognn import GloGNNClassifier
from glognn.data.npz import write_npz
from glognn.experiments.auto import auto
from glognn.experiments.batches import Batch
from glognn.experiments.config import RunConfig, read_config, resolve
from glognn.experiments.confirmation import validation_scores
from glognn.experiments.folder import load_model, read_report
from glognn.experiments.plan import Job
from glognn.experiments.run import load_graph, run_splits, settled_batches
from glognn.experiments.saved import choose_run
from glognn.experiments.settling import settled
from glognn.graph.graph import Graph
from glognn.models import reading
from glognn.models.configs import GloGNN2Config
from glognn.report.card import run_card
from glognn.report.summary import settlements
from glognn.training.callbacks import Callback
from tests.conftest import make_data

CHOSEN = {0: "features", 1: "features link", 2: "features"}


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunConfig:
    """GloGNN2 on three splits, of which the second speaks for links."""

    def choose(graph: Graph, split: int, offered: object) -> list[str]:
        return CHOSEN[split].split()

    monkeypatch.setattr(reading, "choose_inputs", choose)
    write_npz(make_data(num_splits=3), tmp_path / "g.npz")
    [config] = resolve(["glognn2"], None, {"epochs": 8, "threads": 1}, str(tmp_path / "g.npz"), None)
    return config


def test_every_split_has_its_own_and_says_so(config: RunConfig, tmp_path: Path) -> None:
    loaded = load_graph(config)
    summary = run_splits(tmp_path / "run", config, loaded)
    assert summary["config"]["model"]["reads"] == "auto"
    assert summary["settled"] == {"reads": {"features": 2, "features link": 1}}
    for split, reads in CHOSEN.items():
        folder = tmp_path / "run" / f"split-{split}"
        assert read_config(folder / "config.toml").model.as_dict()["reads"] == reads
        report = read_report(folder)
        assert report["settled"] == {"reads": {reads: 1}}
        assert report["trained_together"] == (1 if split == 1 else 2)
        assert set(load_model(folder).encoder.weights) == set(reads.split())
    told = "reads features (2 of the splits), features link (1 of the splits)"
    assert settlements([summary]) == f"glognn2 {told}: what training labels speak for."
    assert told in run_card(summary)
    chosen = choose_run(tmp_path / "run")
    assert {split: chosen.open(split).config.model.as_dict()["reads"] for split in chosen.splits} == CHOSEN


def test_local_blocks_of_a_split_are_told(config: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offers = GloGNN2Config.offers

    def offer(model: GloGNN2Config, graph: Graph, split: int) -> list[GloGNN2Config]:
        return [offers(model, graph, split)[-1 if split == 2 else 0]]

    monkeypatch.setattr(GloGNN2Config, "offers", offer)
    summary = run_splits(tmp_path / "run", config, load_graph(config))
    assert read_report(tmp_path / "run" / "split-0")["settled"] == {"reads": {"features": 1}}
    deep = {"num_blocks": "12", "block_norm": "batch", "num_layers": "0", "dropout": "0.2", "weight_decay": "5e-05"}
    decided = {"reads": "features", "degree_weight": "1.0", "block_edges": "sensed"} | deep
    report = read_report(tmp_path / "run" / "split-2")
    assert report["settled"] == {name: {value: 1} for name, value in decided.items()}
    assert report["config"]["training"]["weight_decay"] == 5e-5
    assert load_model(tmp_path / "run" / "split-2").blocks is not None
    assert "num_blocks 0 (2 of the splits), 12 (1 of the splits)" in settlements([summary])
    assert run_splits(tmp_path / "run", config, load_graph(config))["scores"] == summary["scores"]


def test_a_run_alone_is_as_one_of_several(config: RunConfig, tmp_path: Path) -> None:
    loaded = load_graph(config)
    run_splits(tmp_path / "all", config, loaded)
    alone = run_splits(tmp_path / "one", config.for_split(1), loaded)
    assert alone["scores"] == read_report(tmp_path / "all" / "split-1")["scores"]
    assert run_splits(tmp_path / "one", config.for_split(1), loaded) == alone  # it is done


def test_what_is_named_by_hand_stays_and_is_not_told_as_decided(config: RunConfig, tmp_path: Path) -> None:
    [named] = resolve(["glognn2"], None, {"epochs": 3, "reads": "degrees"}, config.dataset, "0")
    report = run_splits(tmp_path / "run", named, load_graph(named))
    assert (report["config"]["model"]["reads"], report["settled"]) == ("degrees", {})
    assert settlements([report]) == ""


def test_an_interrupted_run_goes_on_with_what_was_decided(config: RunConfig, tmp_path: Path) -> None:
    class Interrupt(Callback):
        def __init__(self, after: int) -> None:
            self.left = after

        def on_epoch_end(self, metrics: object) -> None:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

    loaded = load_graph(config)
    whole = run_splits(tmp_path / "whole", config, loaded)
    for after in (3, 11):  # in the first batch, and in the second
        folder = tmp_path / f"after-{after}"
        with pytest.raises(KeyboardInterrupt):
            run_splits(folder, config, loaded, [Interrupt(after)])
        assert run_splits(folder, config, loaded)["scores"] == whole["scores"]


def test_what_was_decided_of_an_interrupted_run_is_not_decided_again(
    config: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupt(Callback):
        def on_epoch_end(self, metrics: dict[str, float]) -> None:
            if metrics["epoch"] == 3:
                raise KeyboardInterrupt

    loaded, folder = load_graph(config), tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run_splits(folder, config, loaded, [Interrupt()])
    asked: list[int] = []

    def choose(graph: Graph, split: int, offered: object) -> list[str]:
        asked.append(split)
        return ["degrees"]

    monkeypatch.setattr(reading, "choose_inputs", choose)
    summary = run_splits(folder, config, loaded)
    assert asked == [1]  # the splits that train together had begun
    assert summary["settled"] == {"reads": {"features": 2, "degrees": 1}}
    [other] = resolve(["glognn2"], None, {"epochs": 8, "threads": 1, "num_hops": 2}, config.dataset, "0")
    assert settled_batches(Batch(folder, (Job(folder / "split-0", other, 0, "", ""),)), loaded.graph)
    assert asked == [1, 0]  # of other settings


def test_a_member_of_a_portfolio_may_be_another_model_on_each_split(config: RunConfig, tmp_path: Path) -> None:
    (tmp_path / "portfolio.toml").write_text('[[member]]\nname = "default"\nmodel = "glognn2"\n')
    options: dict[str, Any] = {"epochs": 8, "threads": 1, "portfolio": tmp_path / "portfolio.toml"}
    record = auto(config.dataset, out=tmp_path / "auto", **options).record
    alone = run_splits(tmp_path / "run", config, load_graph(config))
    assert record["members"][0]["val"] == pytest.approx(alone["scores"]["selected"]["val"])
    for split, reads in CHOSEN.items():
        member = tmp_path / "auto" / "members" / "default" / f"split-{split}"
        assert read_config(member / "config.toml").model.as_dict()["reads"] == reads


def test_searches_judge_the_default_as_it_is_used(config: RunConfig) -> None:
    graph = load_graph(config).graph
    together = validation_scores(config, graph, [0, 1, 2])
    apart = [validation_scores(settled([config], graph, [split])[0], graph, [split])[0] for split in range(3)]
    assert together == pytest.approx(apart)


def test_a_classifier_keeps_what_was_decided(config: RunConfig, tmp_path: Path) -> None:
    data = make_data(num_splits=1)
    labels = np.where(np.arange(60) < 40, data.y.numpy(), -1)
    classifier = GloGNNClassifier(model="glognn2", epochs=5).fit(data.x.numpy(), labels, adjacency=data.edge_index)
    assert set(classifier.model_.encoder.weights) == {"features"}
    classifier.save(tmp_path / "kept")
    loaded = GloGNNClassifier.load(tmp_path / "kept")
    assert set(loaded.model_.encoder.weights) == {"features"}
    np.testing.assert_array_equal(loaded.predict_proba(), classifier.predict_proba())
