"""Classes of very different size: weights in the loss, selection by other metrics, a threshold from validation."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch_geometric.data import Data

from glognn.data.npz import write_npz
from glognn.data.splits import random_splits
from glognn.errors import InputError
from glognn.experiments.config import resolve
from glognn.experiments.folder import load_model
from glognn.experiments.plan import settings_hash
from glognn.experiments.run import load_graph, run_splits
from glognn.experiments.saved import open_saved
from glognn.graph.graph import Graph
from glognn.metrics import Scoring, Thresholds
from glognn.models.glognn import GloGNNPlusPlus
from glognn.models.mlp import MLP
from glognn.native.library import find_library, why_not
from glognn.training.calibration import Calibration, log_loss
from glognn.training.config import METRIC_NAMES, TrainingConfig
from glognn.training.driver import train, train_batch
from glognn.training.evaluation import class_weights
from glognn.training.history import TrainingResult
from glognn.training.predict import predict
from glognn.training.threshold import calibrate_and_choose

CONFIG = TrainingConfig(
    epochs=40, dtype="float64", device="cpu", threads=1, class_weight="balanced", early_stopping="none"
)


def rare_data(num_nodes: int = 300) -> Data:
    """One node in ten is of class 1, and not easily told from the others."""
    generator = torch.Generator().manual_seed(0)
    y = (torch.arange(num_nodes) % 10 == 0).long()
    x = torch.randn(num_nodes, 5, generator=generator)
    x[:, 0] += 1.5 * y
    edges = torch.randint(0, num_nodes, (2, 3 * num_nodes), generator=generator)
    masks = {f"{name}_mask": mask for name, mask in random_splits(y, 2).items()}
    return Data(x=x, y=y, edge_index=edges, **masks)


def build(seed: int) -> GloGNNPlusPlus:
    torch.manual_seed(seed)
    return GloGNNPlusPlus(5, 2, 300, hidden_channels=8, dropout=0.0)


def test_weights_are_those_of_scikit_learn() -> None:
    from sklearn.utils.class_weight import compute_class_weight

    y = torch.tensor([0, 0, 0, 2, 2, 0])
    graph = Graph.from_data(Data(edge_index=torch.empty(2, 0).long(), y=torch.tensor([0, 1, 2, 3])))
    wanted = compute_class_weight("balanced", classes=np.array([0, 2]), y=y.numpy())
    balanced = class_weights(y, graph, TrainingConfig(class_weight="balanced"))
    assert balanced is not None
    assert balanced.tolist() == pytest.approx([wanted[0], 0, wanted[1], 0])
    assert class_weights(y, graph, TrainingConfig()) is None
    given = class_weights(y, graph, TrainingConfig(class_weight={0: wanted[0], 2: wanted[1]}))
    assert given is not None
    assert given[[0, 2]].tolist() == pytest.approx(wanted), "they are those of balanced classes"
    twice = class_weights(y, graph, TrainingConfig(class_weight={0: 2 * wanted[0], 2: 2 * wanted[1]}))
    assert twice is not None
    assert twice[[0, 2]].tolist() == pytest.approx(wanted), "only their relations count"


def test_weights_of_classes_are_one_setting_in_every_form() -> None:
    forms = ["yes=5,no=0.5", '{"no": 0.5, "yes": 5}', {"yes": 5, "no": 0.5}]
    assert {TrainingConfig(class_weight=form).class_weight for form in forms} == {'{"no": 0.5, "yes": 5.0}'}
    assert TrainingConfig(class_weight={1: 3}).class_weight == '{"1": 3.0}'
    for wrong in ("heavy", "", "yes=", "=3", "yes=-1", "yes=0", "yes=nan", "yes=1,yes=2", "{}", "{", {"yes": "much"}):
        with pytest.raises(InputError, match="'class_weight' parameter of training must be 'none', 'balanced' or"):
            TrainingConfig(class_weight=wrong)
    graph = replace(Graph.from_data(rare_data()), class_names=("no", "yes"))
    with pytest.raises(InputError, match=r"must name classes of the graph. Got 'yess' instead. Did you mean 'yes'\?"):
        class_weights(graph.y, graph, TrainingConfig(class_weight="yess=2"))


@pytest.mark.parametrize("kind", ["text", "number"])
def test_a_classifier_takes_weights_of_its_classes(kind: str, tmp_path: Path) -> None:
    from glognn import GloGNNClassifier

    data = rare_data()
    data.y = data.y if kind == "number" else np.array(["no", "yes"])[data.y.numpy()]
    rare = 1 if kind == "number" else "yes"
    options = {"epochs": 15, "hidden_channels": 8, "device": "cpu", "selection": "last"}
    plain = GloGNNClassifier(**options).fit(data)
    weighted = GloGNNClassifier(**options, class_weight={rare: 30.0}).fit(data)
    assert (weighted.transduction_ == rare).sum() > (plain.transduction_ == rare).sum()
    weighted.save(tmp_path / "saved")
    loaded = GloGNNClassifier.load(tmp_path / "saved")
    assert loaded.class_weight == {rare: 30.0}
    np.testing.assert_array_equal(loaded.predict_proba(), weighted.predict_proba())
    with pytest.raises(InputError, match="'class_weight' parameter of GloGNNClassifier must be weights of the classes"):
        GloGNNClassifier(class_weight={"maybe": 2}).fit(data)


@pytest.mark.parametrize(
    ("given", "why"), [({"threshold": "recall=0.9"}, "recall 0.9"), ({"metric": "roc_auc"}, "macro-F1"), ({}, "")]
)
def test_a_saved_classifier_says_what_its_threshold_was_chosen_for(
    given: dict[str, str], why: str, tmp_path: Path
) -> None:
    from glognn import GloGNNClassifier

    GloGNNClassifier(epochs=3, hidden_channels=8, device="cpu", **given).fit(rare_data()).save(tmp_path)
    told = f"(chosen for {why} on validation nodes)"
    assert (told in open_saved(tmp_path).describe_threshold()) == bool(why)
    assert (told in (tmp_path / "README.md").read_text()) == bool(why)


@pytest.mark.parametrize("weight", ["balanced", "0=3,1=20"])
def test_alone_and_together_end_alike_and_by_hand(weight: str) -> None:
    config = replace(CONFIG, class_weight=weight)
    graph = Graph.from_data(rare_data(), dtype=torch.float64)
    alone, together = [build(0), build(1)], [build(0), build(1)]
    wanted = [train(model, graph, split=split, config=config) for split, model in enumerate(alone)]
    found = train_batch(together, graph, splits=[0, 1], configs=[config] * 2)
    for one, other, a, b in zip(alone, together, wanted, found, strict=True):
        assert isinstance(b, TrainingResult)
        assert [row["train_loss"] for row in b.curve] == pytest.approx([row["train_loss"] for row in a.curve], rel=1e-6)
        torch.testing.assert_close(predict(other, graph), predict(one, graph), rtol=1e-5, atol=1e-7)
    nodes = graph.indices(0)["train"]
    model = build(0).double()
    losses = F.cross_entropy(model.logits(model.prepare(graph))[nodes], graph.y[nodes], reduction="none")
    by_class = torch.stack([losses[graph.y[nodes] == label].mean() for label in (0, 1)])
    by_node = torch.tensor([3.0, 20.0])[graph.y[nodes]]
    expected = by_class.mean() if weight == "balanced" else (by_node * losses).sum() / by_node.sum()
    assert wanted[0].curve[0]["train_loss"] == pytest.approx(float(expected.detach()))


def test_compiled_code_leaves_weights_to_torch() -> None:
    graph = Graph.from_data(rare_data())
    result = train(build(0), graph, config=replace(CONFIG, dtype="float32", epochs=2))
    assert result.engine == "eager"
    wanted = "it needs class_weight 'none', not 'balanced'" if find_library() is not None else why_not()
    assert result.engine_reason.startswith(f"not native, because {wanted}")


def test_balanced_classes_find_more_of_the_rare_one() -> None:
    graph = Graph.from_data(rare_data())
    shares = []
    for weight in ("none", "balanced"):
        torch.manual_seed(0)
        model = MLP(5, 2, dropout=0.0)
        train(model, graph, config=replace(CONFIG, dtype="float32", class_weight=weight, selection="last"))
        shares.append(float((predict(model, graph).argmax(1) == 1)[graph.y == 1].double().mean()))
    assert shares[1] > shares[0] + 0.1


@pytest.mark.parametrize("metric", METRIC_NAMES)
def test_the_metric_selects(metric: str) -> None:
    graph = Graph.from_data(rare_data())
    model = build(0)
    result = train(model, graph, config=replace(CONFIG, metric=metric, class_weight="none", dtype="float32"))
    curve = [row[f"val_{metric}"] for row in result.curve]
    assert result.selected.val == max(curve)
    nodes = graph.indices(0)["val"]
    assert Scoring(metric, 1)(predict(model, graph)[nodes].log(), graph.y[nodes]) == pytest.approx(max(curve), abs=1e-6)


def test_a_run_keeps_its_threshold(tmp_path: Path) -> None:
    write_npz(rare_data(), tmp_path / "rare.npz")
    given = {"epochs": 5, "device": "cpu", "threshold": "validation", "calibrate": "none", "metric": "roc_auc"}
    [config] = resolve(["glognn++"], None, given, str(tmp_path / "rare.npz"), "0-1")
    loaded = load_graph(config)
    run_splits(tmp_path / "both", config, loaded)
    for split in (0, 1):
        folder, nodes = tmp_path / f"both/split-{split}", loaded.graph.indices(split)["val"]
        scores = predict(load_model(folder), loaded.graph)[nodes].double().numpy()
        found = json.loads((folder / "report.json").read_text())["threshold"]
        wanted = Thresholds.of(scores, loaded.graph.y[nodes].numpy(), 1).for_metric("macro_f1")
        assert found == pytest.approx(wanted, abs=1e-6)
    [plain] = resolve(["mlp"], None, {"epochs": 1, "device": "cpu"}, str(tmp_path / "rare.npz"), "0")
    assert run_splits(tmp_path / "plain", plain, loaded)["threshold"] is None


@pytest.mark.parametrize("metric", ["average_precision", "recall_at_k"])
def test_what_ranks_select_is_calibrated_and_decides(metric: str, tmp_path: Path) -> None:
    write_npz(rare_data(), tmp_path / "rare.npz")
    reports = {}
    for asked in ({}, {"threshold": "none", "calibrate": "none"}):
        given = {"epochs": 30, "device": "cpu", "metric": metric, "top_k": 8} | asked
        [config] = resolve(["mlp"], None, given, str(tmp_path / "rare.npz"), "0")
        loaded = load_graph(config)
        reports[len(asked)] = run_splits(tmp_path / f"run-{len(asked)}", config, loaded)
    found, plain = reports[0], reports[2]
    assert found["scores"] == plain["scores"], "the order of nodes, and so the score, is as it was"
    assert (plain["threshold"], plain["calibration"], plain["threshold_for"]) == (None, None, "")
    assert found["threshold_for"] == "macro-F1"
    assert len(found["calibration"]["shifts"]) == 2
    nodes = loaded.graph.indices(0)["val"]
    said, y = (
        predict(load_model(tmp_path / "run-0"), loaded.graph)[nodes].double().numpy(),
        loaded.graph.y[nodes].numpy(),
    )
    told = Calibration.from_dict(found["calibration"], 2).apply(said)
    assert found["threshold"] == pytest.approx(Thresholds.of(told, y, 1).for_metric("macro_f1"), abs=1e-6)
    assert log_loss(told, y) <= log_loss(said, y)
    assert (found["threshold"] <= told[:, 1]).sum() >= (said[:, 1] >= 0.5).sum()
    [usual] = resolve(["mlp"], None, {"epochs": 1, "device": "cpu"}, str(tmp_path / "rare.npz"), "0")
    report = run_splits(tmp_path / "usual", usual, loaded)
    assert (report["threshold"], report["calibration"]) == (None, None)


def test_a_threshold_needs_two_classes(tmp_path: Path) -> None:
    data = rare_data()
    data.y[:150:10] = 2
    write_npz(data, tmp_path / "three.npz")
    [config] = resolve(["mlp"], None, {"threshold": "validation"}, str(tmp_path / "three.npz"), "0")
    with pytest.raises(InputError, match="'threshold' parameter of training must be 'auto' or 'none' for 3 classes"):
        run_splits(tmp_path / "run", config, load_graph(config))


def test_runs_made_before_these_settings_keep_their_names() -> None:
    [config] = resolve(["mlp"], None, {}, "pairs", None)
    tables = config.tables()
    before = {name: value for name, value in tables["training"].items() if name not in ("class_weight", "threshold")}
    assert settings_hash(tables) == settings_hash(tables | {"training": before})
    changed = tables["training"] | {"class_weight": "balanced"}
    assert settings_hash(tables) != settings_hash(tables | {"training": changed})


def test_validation_nodes_of_one_class_decide_nothing_that_was_left_open() -> None:
    data = rare_data()
    data.val_mask &= (data.y == 0).unsqueeze(1)
    graph = Graph.from_data(data, dtype=torch.float64)
    model, config = build(0).double(), replace(CONFIG, metric="precision_at_k", positive_class="1")
    assert calibrate_and_choose(model, graph, 0, config) == (None, None)
    calibration, threshold = calibrate_and_choose(model, graph, 0, replace(config, calibrate="temperature"))
    assert calibration is not None
    assert threshold is None
    with pytest.raises(InputError, match="A threshold must be chosen on nodes of both classes"):
        calibrate_and_choose(model, graph, 0, replace(config, threshold="validation"))
