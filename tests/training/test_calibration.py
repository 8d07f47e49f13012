"""Calibration: against scikit-learn, after class weights, and kept with what was trained."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.isotonic import IsotonicRegression
from torch_geometric.data import Data

from glognn.data.npz import write_npz
from glognn.data.splits import random_splits
from glognn.errors import InputError
from glognn.estimator import GloGNNClassifier
from glognn.experiments.config import resolve
from glognn.experiments.run import load_graph, run_splits
from glognn.experiments.saved import open_saved
from glognn.metrics import expected_calibration_error, reliability
from glognn.training.calibration import Calibration, log_loss


def said(classes: int, factor: float = 1.0, shift: float = 0.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities whose logits are scaled, and that of class 0 shifted, beside labels drawn from the right ones."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(size=(3000, classes)) - 2.0 * (np.arange(classes) == 0)

    def chances(values: np.ndarray) -> np.ndarray:
        powers = np.exp(values)
        return powers / powers.sum(axis=1, keepdims=True)

    y = np.array([generator.choice(classes, p=each) for each in chances(logits)])
    return chances(factor * (logits + shift * (np.arange(classes) == 0))), y


def error(found: np.ndarray, y: np.ndarray) -> float:
    return expected_calibration_error(reliability(found[:, 0], y == 0))


@pytest.mark.parametrize("classes", [2, 3])
def test_shifts_undo_class_weights_that_a_temperature_does_not(classes: int) -> None:
    found, y = said(classes, factor=1.5, shift=2.5)
    alone = Calibration.fit("temperature", found, y)
    shifted = Calibration.fit("temperature", found, y, shifted=True)
    assert shifted.temperature == pytest.approx(1.5, rel=0.15)
    assert error(shifted.apply(found), y) < 0.02 < 0.05 < error(alone.apply(found), y)
    assert log_loss(shifted.apply(found), y) < log_loss(alone.apply(found), y) < log_loss(found, y)
    assert alone.shifts == ()
    assert np.array_equal(alone.apply(found).argmax(axis=1), found.argmax(axis=1))


@pytest.mark.parametrize("spread", [1e-3, 1.0])
def test_good_order_becomes_good_probabilities_whatever_was_said(spread: float) -> None:
    found, y = said(2)
    odds = np.log(found[:, 0] / found[:, 1])
    flat = 1 / (1 + np.exp(3.2 - spread * odds))  # a rare class that is hardly told apart, in the same order
    nearly = np.stack([flat, 1 - flat], axis=1)
    fitted = Calibration.fit("temperature", nearly, y, shifted=True)
    told = fitted.apply(nearly)
    assert fitted.temperature == pytest.approx(spread, rel=0.2)
    assert np.array_equal(np.argsort(told[:, 0], kind="stable"), np.argsort(flat, kind="stable")), "the order stays"
    assert log_loss(told, y) < log_loss(nearly, y) / 1.5
    assert error(told, y) < 0.03


def test_perfect_order_stays_in_bounds() -> None:
    """As Platt's targets have it: of n nodes of a class 1 / (n + 2) is doubted."""
    y = np.repeat([0, 1], [20, 5])
    found = np.stack([1 - 0.02 * y - 0.01, 0.02 * y + 0.01], axis=1)
    told = Calibration.fit("temperature", found, y, shifted=True).apply(found)
    assert told[0, 1] == pytest.approx(1 / 22, abs=1e-3)
    assert told[-1, 1] == pytest.approx(6 / 7, abs=1e-3)


def test_what_says_the_same_of_all_nodes_says_nothing_of_the_temperature() -> None:
    found, y = np.full((10, 2), 0.5), np.repeat([0, 1], [6, 4])
    fitted = Calibration.fit("temperature", found, y, shifted=True)
    assert fitted.temperature == 1.0
    told = fitted.apply(np.array([[0.5, 0.5], [0.4, 0.6]]))
    assert told[0, 1] == pytest.approx((6 / 8 + 4 * 5 / 6) / 10, abs=1e-4)
    assert told[1, 1] / told[1, 0] == pytest.approx(1.5 * told[0, 1] / told[0, 0])


def test_isotonic_is_that_of_scikit_learn() -> None:
    found, y = said(2, factor=3.0)
    for positive in (0, 1):
        curve = Calibration.fit("isotonic", found, y, positive=positive).apply(found)
        wanted = IsotonicRegression(out_of_bounds="clip").fit(found[:, positive], y == positive)
        least = 1 / (len(y) + 2)
        expected = np.clip(wanted.predict(found[:, positive]), least, 1 - least)
        assert curve[:, positive] == pytest.approx(expected, abs=1e-12)
        assert curve.sum(axis=1) == pytest.approx(np.ones(len(y)))
        assert error(curve, y) < 0.01 < error(found, y)


def test_isotonic_of_several_classes_sums_to_one() -> None:
    found, y = said(4, factor=2.0)
    curve = Calibration.fit("isotonic", found, y).apply(found)
    assert curve.sum(axis=1) == pytest.approx(np.ones(len(y)))
    assert log_loss(curve, y) < log_loss(found, y)


@pytest.mark.parametrize("kind", ["temperature", "isotonic"])
@pytest.mark.parametrize("classes", [2, 3])
def test_what_is_written_is_read(kind: str, classes: int) -> None:
    found, y = said(classes, factor=2.0)
    fitted = Calibration.fit(kind, found, y, shifted=True, positive=0 if classes == 2 else None)
    read = Calibration.from_dict(json.loads(json.dumps(fitted.as_dict())), classes)
    assert np.array_equal(read.apply(found), fitted.apply(found))
    for name in fitted.as_dict():
        with pytest.raises(ValueError, match="calibration"):
            Calibration.from_dict(fitted.as_dict() | {name: "?"}, classes)
    if kind == "isotonic":
        falling = {"curves": [{"said": [0.2, 0.4], "true": [0.5, 0.1]}] * (1 if classes == 2 else classes)}
        with pytest.raises(ValueError, match="must rise"):
            Calibration.from_dict(fitted.as_dict() | falling, classes)


def rare_data() -> Data:
    generator = torch.Generator().manual_seed(0)
    y = (torch.arange(400) % 8 != 0).long()
    x = torch.randn(400, 4, generator=generator)
    x[:, 0] += 1.2 * (y == 0)
    masks = {f"{name}_mask": mask for name, mask in random_splits(y, 1).items()}
    return Data(x=x, y=y, edge_index=torch.randint(0, 400, (2, 400), generator=generator), **masks)


@pytest.mark.parametrize("kind", ["temperature", "isotonic"])
def test_a_run_keeps_its_calibration_and_its_threshold_is_of_calibrated_ones(kind: str, tmp_path: Path) -> None:
    write_npz(rare_data(), tmp_path / "rare.npz")
    given = {"epochs": 30, "class_weight": "balanced", "calibrate": kind, "threshold": "cost=1:3", "device": "cpu"}
    [config] = resolve(["mlp"], None, given, str(tmp_path / "rare.npz"), "0")
    report = run_splits(tmp_path / "run", config, load_graph(config))
    assert report["calibration"]["kind"] == kind
    saved = open_saved(tmp_path / "run")
    predictions, graph = saved.predict(device="cpu")
    assert predictions.said is not None
    assert np.array_equal(saved.calibration.apply(predictions.said), predictions.probabilities)
    val, test = (graph.indices(0)[name].numpy() for name in ("val", "test"))
    y = graph.y.numpy()
    assert error(predictions.probabilities[val], y[val]) < error(predictions.said[val], y[val])
    evaluated = predictions.evaluate(test, y[test])
    before, after = (evaluated[name]["expected_calibration_error"] for name in ("uncalibrated", "calibration"))
    assert after < before
    record = json.loads((tmp_path / "run/report.json").read_text())
    record["calibration"]["kind"] = "guess"
    (tmp_path / "run/DONE").write_text("")
    (tmp_path / "run/report.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match="damaged: calibration.kind must be one of isotonic, temperature"):
        open_saved(tmp_path / "run").predict(device="cpu")


def test_a_classifier_keeps_its_calibration(tmp_path: Path) -> None:
    data = rare_data()
    words = np.array(["fraud", "legit"])[data.y.numpy()]
    settings = {"epochs": 20, "class_weight": "balanced", "calibrate": "temperature", "device": "cpu"}
    fitted = GloGNNClassifier(**settings).fit(data.x.numpy(), words, adjacency=data.edge_index.numpy())
    assert "shifts" in fitted.calibration_.describe()
    share = fitted.predict_proba()[:, 0].mean()
    plain = GloGNNClassifier(**settings | {"calibrate": None}).fit(
        data.x.numpy(), words, adjacency=data.edge_index.numpy()
    )
    assert abs(share - 1 / 8) < 0.05 < abs(plain.predict_proba()[:, 0].mean() - 1 / 8)
    fitted.save(tmp_path / "saved")
    loaded = GloGNNClassifier.load(tmp_path / "saved")
    assert np.array_equal(loaded.predict_proba(), fitted.predict_proba())
    new = {"X": data.x.numpy()[:2], "edges": np.array([[400, 401], [3, 4]])}
    assert np.array_equal(loaded.predict_proba(**new), fitted.predict_proba(**new))
