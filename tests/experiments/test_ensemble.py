"""Weights of an ensemble: sums, ties, metrics, and that it is never worse than its best member."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from glognn.errors import InputError
from glognn.experiments import ensemble
from glognn.experiments.ensemble import apply, log_losses, scores, select
from glognn.metrics import METRICS, Scoring
from glognn.training.calibration import COLDEST, HOTTEST, temperature


def models(count: int, nodes: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Class probabilities of models that know something, and the truth."""
    generator = np.random.default_rng(seed)
    y = np.arange(nodes) % classes
    known = np.eye(classes)[y] * generator.uniform(0.2, 1.5, (count, 1, 1))
    powers = np.exp(known + generator.normal(size=(count, nodes, classes)))
    return powers / powers.sum(axis=2, keepdims=True), y


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("classes", [2, 4])
def test_scores_are_those_of_the_metrics(metric: str, classes: int) -> None:
    _, y = models(1, 61, classes)
    logits = torch.randn(3, 61, classes, dtype=torch.float64).mul(2).round()  # with ties
    found = logits.softmax(2).numpy()
    for truth in (y, y.clip(max=max(1, classes - 2))):  # with and without a class that has no node
        wanted = [Scoring(metric, 0)(each, torch.from_numpy(truth)) for each in logits]
        assert scores(found, truth, Scoring(metric, 0)).tolist() == pytest.approx(wanted, abs=1e-12)


def test_a_threshold_decides_between_two_classes() -> None:
    found = np.array([[[0.8, 0.2], [0.6, 0.4], [0.3, 0.7]]])
    y = np.array([0, 1, 1])
    assert scores(found, y, Scoring("accuracy")).tolist() == [pytest.approx(2 / 3)]
    assert scores(found, y, Scoring("macro_f1"), threshold=0.4).tolist() == [1.0]
    assert np.isnan(scores(found[:, :0], y[:0], Scoring("roc_auc"))).all()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("classes", [2, 3])
def test_an_ensemble_is_never_worse_than_its_best_member(
    metric: str, classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ensemble, "FEW", 0)
    for seed in range(6):
        found, y = models(5, 47, classes, seed)
        scoring = Scoring(metric, 0)
        weights = select(found, y, scoring)
        assert weights.min() >= 0
        assert weights.sum() == pytest.approx(1, abs=1e-12)
        together = np.tensordot(weights, found, axes=1)[np.newaxis]
        if metric == "accuracy":
            assert log_losses(together, y)[0] <= log_losses(found, y).min() + 1e-12
        else:
            assert scores(together, y, scoring)[0] >= scores(found, y, scoring).max() - 1e-12
        assert weights.tolist() == select(found, y, scoring).tolist()


def test_one_member_has_all_the_weight() -> None:
    found, y = models(1, 20, 3)
    assert select(found, y, Scoring("accuracy")).tolist() == [1.0]


def test_ties_go_to_the_smaller_log_loss_and_then_to_the_earlier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ensemble, "FEW", 0)
    y = np.array([0, 1])
    sure, unsure = np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([[0.6, 0.4], [0.4, 0.6]])
    for metric in ("accuracy", "roc_auc"):
        assert select(np.stack([unsure, sure]), y, Scoring(metric)).tolist() == [0.0, 1.0]
        assert select(np.stack([sure, sure]), y, Scoring(metric)).tolist() == [1.0, 0.0]


def test_on_few_nodes_chance_chooses_less() -> None:
    sampled, at_once = [], []
    for seed in range(6):
        found, y = models(12, 1040, 3, seed)
        few, rest = (found[:, :40], y[:40]), (found[:, 40:], y[40:])
        weights = select(*few, Scoring("accuracy"))
        assert weights.sum() == pytest.approx(1, abs=1e-12)
        assert (weights[weights > 0] >= ensemble.LEAST).all()
        greedy = ensemble._select(*few, Scoring("accuracy"), by_loss=True)
        for told, chosen in ((sampled, weights), (at_once, greedy)):
            told.append(log_losses(apply(chosen, rest[0])[np.newaxis], rest[1])[0])
    assert np.mean(sampled) < np.mean(at_once)


def test_a_model_that_is_right_more_often_is_not_given_up_for_a_smaller_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ensemble, "FEW", 0)
    y, one = np.zeros(100, dtype=np.int64), np.ones(100)
    sure = np.where(np.arange(100) < 90, 0.51, 0.02)  # right of 90 nodes, barely, and very wrong of the others
    calm = np.where(np.arange(100) < 60, 0.9, 0.45)
    found = np.stack([np.stack([each, one - each], axis=1) for each in (sure, calm)])
    weights = select(found, y, Scoring("accuracy"))
    assert scores(apply(weights, found)[np.newaxis], y, Scoring("accuracy"))[0] == 0.9


def test_a_member_that_says_nothing_but_of_whole_folds_has_no_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ensemble, "FEW", 0)
    found, y = models(2, 200, 2)
    fold = np.where(np.arange(200) < 100, 0.5, 0.6)
    found[0, :100] = 0.9 * found[0, :100] + 0.1 * np.array(
        [1.0, 0.0]
    )  # a model less sure in one fold than in the other
    with_folds = np.concatenate([found[:1], np.stack([fold, 1 - fold], axis=1)[np.newaxis]])
    for metric in ("average_precision", "roc_auc", "accuracy"):
        assert select(with_folds, y, Scoring(metric, 0)).tolist() == [1.0, 0.0]


def test_members_that_complement_each_other_share_the_weight() -> None:
    y = np.array([0, 0, 1, 1])
    first = np.array([[0.9, 0.1], [0.45, 0.55], [0.1, 0.9], [0.45, 0.55]])
    second = np.array([[0.45, 0.55], [0.9, 0.1], [0.55, 0.45], [0.1, 0.9]])
    weights = select(np.stack([first, second]), y, Scoring("accuracy"))
    assert min(weights) > 0.3
    assert scores(apply(weights, np.stack([first, second]))[np.newaxis], y, Scoring("accuracy"))[0] == 1.0


def test_an_ensemble_of_other_nodes_is_refused() -> None:
    found, y = models(2, 10, 2)
    with pytest.raises(InputError, match=r"models x 9 nodes x classes\. Got the shape \(2, 10, 2\)"):
        select(found, y[:9], Scoring("accuracy"))


def test_the_temperature_has_the_smallest_log_loss() -> None:
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(4000, 3))
    true = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = np.array([generator.choice(3, p=each) for each in true])
    for factor in (0.5, 1.0, 3.0):  # models whose logits are too small, right, too large
        said = np.exp(factor * logits) / np.exp(factor * logits).sum(axis=1, keepdims=True)
        found = temperature(said, y)
        assert found == pytest.approx(factor, rel=0.1)
        losses = [
            log_losses(apply(np.ones(1), said[np.newaxis], heat)[np.newaxis], y)[0]
            for heat in (found, 1.05 * found, found / 1.05)
        ]
        assert losses[0] == min(losses)


def test_the_temperature_keeps_within_bounds_and_the_order_of_classes() -> None:
    right = np.array([[0.7, 0.3], [0.2, 0.8]])
    assert temperature(right, np.array([0, 1])) == pytest.approx(COLDEST, rel=1e-6)
    assert temperature(right, np.array([1, 0])) == pytest.approx(HOTTEST, rel=1e-6)
    found, _ = models(2, 30, 4)
    plain, heated = (apply(np.array([0.5, 0.5]), found, heat) for heat in (1.0, 2.5))
    assert plain == pytest.approx(found.mean(axis=0))
    assert np.array_equal(plain.argsort(axis=1), heated.argsort(axis=1))
    assert heated.sum(axis=1) == pytest.approx(np.ones(30))
    assert heated.max() < plain.max()


def test_a_probability_of_zero_is_no_infinite_loss() -> None:
    found = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    with np.errstate(all="raise"):
        assert select(found, np.array([1, 1]), Scoring("accuracy")).tolist() == [1.0]
        assert np.isfinite(apply(np.ones(1), found, temperature(found[0], np.array([1, 1])))).all()
