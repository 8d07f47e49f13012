"""Training, predicting, explaining and resuming on a GPU."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from glognn.data.npz import write_npz
from glognn.data.synthetic import pairs
from glognn.explain.coefficients import coefficient_rows
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.models.base import BoostedModel, FollowsEpochs, NodeModel
from glognn.models.configs import MODELS
from glognn.models.glognn import GloGNNPlusPlus
from glognn.models.glognn2 import GloGNN2
from glognn.training.callbacks import Callback
from glognn.training.checkpoint import Checkpoint
from glognn.training.config import TrainingConfig
from glognn.training.driver import train, train_batch
from glognn.training.history import TrainingResult
from glognn.training.predict import predict
from tests.conftest import COMMAND, ENVIRONMENT, make_data

pytestmark = pytest.mark.gpu


def test_the_embedded_graph_is_learned_as_on_the_cpu(figures: dict[str, str]) -> None:
    graph = Graph.from_data(pairs())
    scores = {}
    for device in ("cpu", "cuda"):
        torch.manual_seed(0)
        model = GloGNNPlusPlus(120, 6, 3000)
        scores[device] = train(model, graph, config=TrainingConfig(device=device)).selected.test
    assert scores["cuda"] == pytest.approx(scores["cpu"], abs=0.03)
    figures["pairs, split 0, GloGNN++, test accuracy on CPU and GPU"] = f"{scores['cpu']:.3f}, {scores['cuda']:.3f}"


def test_without_dropout_the_curves_agree() -> None:
    curves = {}
    for device in ("cpu", "cuda"):
        torch.manual_seed(0)
        model = GloGNNPlusPlus(7, 3, 60, dropout=0.0)
        config = TrainingConfig(epochs=20, device=device, dtype="float64", early_stopping="none")
        curves[device] = [row["val_loss"] for row in train(model, make_data(), config=config).curve]
    assert curves["cuda"] == pytest.approx(curves["cpu"], rel=1e-8)


@pytest.mark.parametrize("name", ["glognn++", "glognn", "linkx", "gcn", "mlp"])
def test_members_replayed_as_cuda_graphs_end_as_they_would_alone(name: str) -> None:
    graph = Graph.from_data(make_data(num_splits=3), dtype=torch.float64)
    base = TrainingConfig(device="cuda", dtype="float64", early_stopping="none", selection="last")
    configs = [
        replace(base, epochs=epochs, learning_rate=rate) for epochs, rate in ((30, 0.01), (12, 0.02), (25, 0.01))
    ]

    def models() -> list[NodeModel[Any]]:
        built = []
        for seed in range(3):
            torch.manual_seed(seed)
            built.append(MODELS[name].model_class()(7, 3, 60, dropout=0.0))
        return built

    together = train_batch(models(), graph, splits=[0, 1, 2], configs=configs)
    for split, (model, config, found) in enumerate(zip(models(), configs, together, strict=True)):
        wanted = train(model, graph, split=split, config=replace(config, device="cpu"))
        assert isinstance(found, TrainingResult)
        assert found.engine == "captured"
        losses = [row["val_loss"] for row in found.curve]
        assert losses == pytest.approx([row["val_loss"] for row in wanted.curve], rel=1e-5)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_run_alone_is_replayed_and_ends_as_on_the_cpu(name: str) -> None:
    settings = {field.name: 0.0 for field in fields(MODELS[name]) if "dropout" in field.name}
    curves, engines = {}, {}
    for device in ("cpu", "cuda"):
        torch.manual_seed(0)
        model = MODELS[name].model_class()(7, 3, 60, **settings)
        epochs = 4 if name in ("polynormer", "sgformer") else 20  # their first steps multiply an error by ten each
        config = TrainingConfig(epochs=epochs, device=device, dtype="float64", early_stopping="none")
        result = train(model, make_data(), config=config)
        engines[device], curves[device] = result.engine, [row["val_loss"] for row in result.curve]
    assert curves["cuda"] == pytest.approx(curves["cpu"], rel=1e-6)
    uncaptured = "eager" if isinstance(model, FollowsEpochs) else "boosted" if isinstance(model, BoostedModel) else ""
    assert engines["cuda"] == (uncaptured or "captured")


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
def test_rankings_are_computed_on_the_gpu_and_captured(metric: str) -> None:
    curves = {}
    for device in ("cpu", "cuda"):
        torch.manual_seed(0)
        config = TrainingConfig(epochs=20, device=device, dtype="float64", metric=metric, early_stopping="none")
        result = train(GloGNNPlusPlus(7, 3, 60, dropout=0.0), make_data(), config=config)
        curves[device] = [row[f"val_{metric}"] for row in result.curve]
    assert result.engine == "captured"
    assert curves["cuda"] == pytest.approx(curves["cpu"], abs=1e-6)


def test_scores_that_are_computed_elsewhere_are_not_captured() -> None:
    config = TrainingConfig(epochs=5, device="cuda", metric="macro_f1", early_stopping="none")
    assert train(GloGNNPlusPlus(7, 3, 60), make_data(), config=config).engine == "eager"


def test_members_on_a_gpu_drop_their_own_values() -> None:
    graph = Graph.from_data(make_data(num_splits=3))
    config = TrainingConfig(device="cuda", epochs=20, early_stopping="none")
    models = [GloGNNPlusPlus(7, 3, 60, dropout=0.5) for _ in range(3)]
    for model in models[1:]:
        model.load_state_dict(models[0].state_dict())
    found = train_batch(models, graph, splits=[0, 0, 0], configs=[replace(config, seed=seed) for seed in (1, 2, 1)])
    first, second, third = ([row["train_loss"] for row in each.curve] for each in found if each is not None)
    assert first == pytest.approx(third, rel=1e-3)
    assert first != pytest.approx(second, rel=1e-3)


def test_automatic_choice_predictions_and_rows() -> None:
    data = make_data()
    model = GloGNNPlusPlus(7, 3, 60)
    train(model, data, config=TrainingConfig(epochs=10))
    assert next(model.parameters()).device.type == "cuda"
    found, rows = predict(model, data), coefficient_rows(model, data, [0, 5])
    assert found.device.type == rows.device.type == "cuda"
    model.cpu()
    torch.testing.assert_close(found.cpu(), predict(model, data), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(rows.cpu(), coefficient_rows(model, data, [0, 5]), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("norm", ["layer", "batch"])
@pytest.mark.parametrize("layers", [0, 2])
def test_local_blocks_say_on_a_gpu_what_they_say_on_a_cpu(norm: str, layers: int, directed: bool) -> None:
    torch.manual_seed(0)
    model = GloGNN2(7, 3, 60, reads="features link degrees", num_blocks=3, block_norm=norm, num_layers=layers)
    graph = Graph.from_data(make_data(), GraphConfig(directed=directed))
    torch.testing.assert_close(predict(model.cuda(), graph).cpu(), predict(model.cpu(), graph), rtol=1e-4, atol=1e-5)


def test_resuming(tmp_path: Path) -> None:
    class Stop(Callback):
        def on_epoch_end(self, metrics: dict[str, float]) -> None:
            if metrics["epoch"] == 15:
                raise KeyboardInterrupt

    outcomes = []
    config = TrainingConfig(epochs=30, device="cuda", dtype="float64", early_stopping="none")
    for stop in ([], [Stop()]):
        checkpoint = Checkpoint(tmp_path / f"c{len(stop)}", interval=0, identity="x")
        for callbacks in ([*stop], []) if stop else ([],):
            torch.manual_seed(0)
            model = GloGNNPlusPlus(7, 3, 60)
            try:
                outcomes.append(train(model, make_data(), config=config, callbacks=callbacks, checkpoint=checkpoint))
            except KeyboardInterrupt:
                continue
    whole, resumed = outcomes
    assert [row["val_loss"] for row in resumed.curve] == pytest.approx([row["val_loss"] for row in whole.curve])


def test_command_line(tmp_path: Path) -> None:
    write_npz(make_data(), tmp_path / "g.npz")
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "CUDA_VISIBLE_DEVICES"}
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        environment["CUDA_VISIBLE_DEVICES"] = os.environ["CUDA_VISIBLE_DEVICES"]
    options = ["-d", "g.npz", "-s", "0", "--device", "cuda", "--epochs", "5", "-o", "run"]
    done = subprocess.run([*COMMAND, "train", *options], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["machine"]["device"] == "cuda"
    assert report["peak_memory_mib"]["gpu"] > 0
