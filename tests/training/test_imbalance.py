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
from glognn.graph.graph import Graph
from glognn.metrics import Scoring, Thresholds
from glognn.models.glognn import GloGNNPlusPlus
from glognn.models.mlp import MLP
from glognn.native.library import find_library, why_not
from glognn.training.config import METRIC_NAMES, TrainingConfig
from glognn.training.driver import train, train_batch
from glognn.training.evaluation import class_weights
from glognn.training.history import TrainingResult
from glognn.training.predict import predict

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
    wanted = compute_class_weight("balanced", classes=np.array([0, 2]), y=y.numpy())
    assert class_weights(y, 4).tolist() == pytest.approx([wanted[0], 0, wanted[1], 0])


def test_alone_and_together_end_alike_and_by_hand() -> None:
    graph = Graph.from_data(rare_data(), dtype=torch.float64)
    alone, together = [build(0), build(1)], [build(0), build(1)]
    wanted = [train(model, graph, split=split, config=CONFIG) for split, model in enumerate(alone)]
    found = train_batch(together, graph, splits=[0, 1], configs=[CONFIG] * 2)
    for one, other, a, b in zip(alone, together, wanted, found, strict=True):
        assert isinstance(b, TrainingResult)
        assert [row["train_loss"] for row in b.curve] == pytest.approx([row["train_loss"] for row in a.curve], rel=1e-6)
        torch.testing.assert_close(predict(other, graph), predict(one, graph), rtol=1e-5, atol=1e-7)
    nodes = graph.indices(0)["train"]
    model = build(0).double()
    losses = F.cross_entropy(model.logits(model.prepare(graph))[nodes], graph.y[nodes], reduction="none")
    by_class = torch.stack([losses[graph.y[nodes] == label].mean() for label in (0, 1)])
    assert wanted[0].curve[0]["train_loss"] == pytest.approx(float(by_class.mean().detach()))


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
    given = {"epochs": 5, "device": "cpu", "threshold": "validation", "metric": "roc_auc"}
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


def test_a_threshold_needs_two_classes(tmp_path: Path) -> None:
    data = rare_data()
    data.y[:150:10] = 2
    write_npz(data, tmp_path / "three.npz")
    [config] = resolve(["mlp"], None, {"threshold": "validation"}, str(tmp_path / "three.npz"), "0")
    with pytest.raises(InputError, match="'threshold' parameter of training must be 'none' for 3 classes"):
        run_splits(tmp_path / "run", config, load_graph(config))


def test_runs_made_before_these_settings_keep_their_names() -> None:
    [config] = resolve(["mlp"], None, {}, "pairs", None)
    tables = config.tables()
    before = {name: value for name, value in tables["training"].items() if name not in ("class_weight", "threshold")}
    assert settings_hash(tables) == settings_hash(tables | {"training": before})
    changed = tables["training"] | {"class_weight": "balanced"}
    assert settings_hash(tables) != settings_hash(tables | {"training": changed})
