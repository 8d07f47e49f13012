"""Metrics against hand-computed values and scikit-learn, with either class as the positive one."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import sklearn.metrics as reference
import torch
from torch_geometric.data import Data

from glognn.data.splits import random_splits
from glognn.errors import DataWarning, InputError
from glognn.graph.graph import Graph
from glognn.metrics import METRICS, Scoring, Thresholds, decide, ranking_scores, rankings_at_once
from glognn.training.config import OF_ONE_CLASS, RANKINGS, ThresholdRule, TrainingConfig
from glognn.training.evaluation import Evaluation
from glognn.training.threshold import choose_threshold

LOGITS = torch.tensor([[2.0, 1.0], [0.0, 1.0], [3.0, 0.0], [1.0, 4.0]])
Y = torch.tensor([0, 1, 1, 1])
PROBABILISTIC = (*RANKINGS, "precision_at_k", "recall_at_k", "neg_log_loss", "neg_brier")


def test_by_hand() -> None:
    assert Scoring("accuracy")(LOGITS, Y) == 0.75
    assert Scoring("balanced_accuracy")(LOGITS, Y) == pytest.approx((1 + 2 / 3) / 2)
    assert Scoring("macro_f1")(LOGITS, Y) == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert Scoring("roc_auc")(LOGITS, Y) == pytest.approx(2 / 3)


def sample(classes: int, seed: int) -> tuple[torch.Tensor, np.ndarray, np.ndarray]:
    """Class scores with ties, their probabilities, and a truth in which the first class is rare."""
    generator = np.random.default_rng(seed)
    y = generator.choice(classes, 120, p=[0.1, *[0.9 / (classes - 1)] * (classes - 1)])
    logits = np.round(2 * (generator.normal(size=(120, classes)) + 0.7 * np.eye(classes)[y])) / 2
    given = torch.from_numpy(logits)
    return given, given.softmax(1).numpy(), y


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("seed", range(3))
def test_two_classes_are_judged_as_scikit_learn_does_for_either_of_them(positive: int, seed: int) -> None:
    logits, p, y = sample(2, seed)
    predicted, members, score = p.argmax(axis=1), y == positive, p[:, positive]
    label = {"pos_label": positive}
    wanted = {
        "accuracy": reference.accuracy_score(y, predicted),
        "balanced_accuracy": reference.balanced_accuracy_score(y, predicted),
        "macro_f1": reference.f1_score(y, predicted, average="macro"),
        "macro_precision": reference.precision_score(y, predicted, average="macro"),
        "f1": reference.f1_score(y, predicted, **label),
        "precision": reference.precision_score(y, predicted, **label),
        "recall": reference.recall_score(y, predicted, **label),
        "mcc": reference.matthews_corrcoef(y, predicted),
        "roc_auc": reference.roc_auc_score(members, score),
        "average_precision": reference.average_precision_score(y, score, **label),
        "neg_log_loss": -reference.log_loss(y, p),
        "neg_brier": -reference.brier_score_loss(y, score, **label),
    }
    for name, expected in wanted.items():
        assert Scoring(name, positive)(logits, torch.from_numpy(y)) == pytest.approx(expected, abs=1e-12), name
        assert Scoring(name, positive).of_probabilities(p, y) == pytest.approx(expected, abs=1e-12), name
    assert {*METRICS} - {*wanted} == {"precision_at_k", "recall_at_k"}
    other = Scoring("average_precision", 1 - positive)(logits, torch.from_numpy(y))
    assert wanted["average_precision"] != pytest.approx(other, abs=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_more_than_two_classes(seed: int) -> None:
    logits, p, y = sample(4, seed)
    predicted = p.argmax(axis=1)
    wanted = {
        "balanced_accuracy": reference.balanced_accuracy_score(y, predicted),
        "macro_f1": reference.f1_score(y, predicted, average="macro"),
        "macro_precision": reference.precision_score(y, predicted, average="macro", zero_division=0),
        "mcc": reference.matthews_corrcoef(y, predicted),
        "roc_auc": reference.roc_auc_score(y, p, multi_class="ovr"),
        "average_precision": np.mean([reference.average_precision_score(y == k, p[:, k]) for k in range(4)]),
        "neg_log_loss": -reference.log_loss(y, p),
        "neg_brier": -reference.brier_score_loss(y, p),
    }
    for name, expected in wanted.items():
        assert Scoring(name)(logits, torch.from_numpy(y)) == pytest.approx(expected, abs=1e-12), name
    for label in range(4):
        one = {
            "f1": reference.f1_score(y == label, predicted == label),
            "recall": reference.recall_score(y == label, predicted == label),
            "roc_auc": reference.roc_auc_score(y == label, p[:, label]),
            "average_precision": reference.average_precision_score(y == label, p[:, label]),
        }
        for name, expected in one.items():
            assert Scoring(name, label)(logits, torch.from_numpy(y)) == pytest.approx(expected, abs=1e-12), name


@pytest.mark.parametrize("metric", OF_ONE_CLASS)
def test_a_metric_of_one_class_needs_one(metric: str) -> None:
    logits, _, y = sample(3, 0)
    with pytest.raises(InputError, match="of one class, and there are 3: name it with --positive-class"):
        Scoring(metric)(logits, torch.from_numpy(y))


def test_the_top_k_are_the_mean_over_orders_of_equals() -> None:
    score, y = np.array([0.9, 0.5, 0.5, 0.5, 0.1]), np.array([0, 1, 0, 0, 1])
    p = np.stack([1 - score, score], axis=1)
    # the first is of the other class; of three equal ones, one of which is positive, two are among the top three
    assert Scoring("precision_at_k", 1, 3).of_probabilities(p, y) == pytest.approx(2 / 3 / 3)
    assert Scoring("recall_at_k", 1, 3).of_probabilities(p, y) == pytest.approx(2 / 3 / 2)
    assert Scoring("precision_at_k", 0, 1).of_probabilities(p, y) == 0.0
    assert Scoring("recall_at_k", 1, 100).of_probabilities(p, y) == 1.0
    assert Scoring("precision_at_k", 1, 100).of_probabilities(p, y) == pytest.approx(2 / 5)


def test_classes_absent_from_a_set_are_left_out() -> None:
    torch.manual_seed(0)
    logits, y = torch.randn(20, 5), torch.arange(20) % 3
    for metric in METRICS:
        assert -5 <= Scoring(metric, 0)(logits, y) <= 1


@pytest.mark.parametrize("metric", list(METRICS))
def test_no_node_has_no_score(metric: str) -> None:
    assert math.isnan(Scoring(metric)(torch.empty(0, 3), torch.empty(0, dtype=torch.long)))


def test_a_single_class_has_no_ranking() -> None:
    with pytest.raises(InputError, match="at least 2 classes. Got only class 1"):
        Scoring("roc_auc")(torch.randn(5, 2), torch.ones(5, dtype=torch.long))


def test_one_class_for_all_has_no_correlation_and_no_precision() -> None:
    p, y = np.tile([0.9, 0.1], (4, 1)), np.array([0, 1, 0, 1])
    found = {name: Scoring(name, 1).of_probabilities(p, y) for name in ("mcc", "precision", "recall", "f1")}
    assert set(found.values()) == {0.0}


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("metric", list(METRICS))
def test_the_best_threshold_is_the_best_of_all(metric: str, label: int) -> None:
    generator = np.random.default_rng(1)
    members = generator.random(80) < 0.15
    y = np.where(members, label, 1 - label)
    score = np.clip(0.1 + 0.25 * members + 0.2 * generator.normal(size=80), 0.01, 0.99)
    p = np.stack([1 - score, score] if label else [score, 1 - score], axis=1)
    judge = {"precision": "f1", "recall": "f1"}.get(metric, "macro_f1" if metric in PROBABILISTIC else metric)
    judge = "macro_f1" if metric == "macro_precision" else judge

    def worth(threshold: float) -> float:
        return Scoring(judge, label).of_probabilities(p, y, decide(p, threshold, label))

    found = Thresholds.of(p, y, label).for_metric(metric)
    assert worth(found) == pytest.approx(max(worth(t) for t in [0.0, *score, 1.0]))
    assert worth(found) >= worth(0.5)


@pytest.mark.parametrize("label", [0, 1])
def test_thresholds_by_precision_recall_and_cost_are_the_best_there_are(label: int) -> None:
    generator = np.random.default_rng(2)
    members = generator.random(150) < 0.2
    y = np.where(members, label, 1 - label)
    score = np.round(np.clip(0.3 + 0.3 * members + 0.2 * generator.normal(size=150), 0.01, 0.99), 2)  # with ties
    p = np.stack([1 - score, score] if label else [score, 1 - score], axis=1)
    known = Thresholds.of(p, y, label)

    def judged(threshold: float) -> tuple[float, float, float]:
        above = decide(p, threshold, label) == label
        right, costs = (above & members).sum(), (above & ~members).sum() + 7 * (~above & members).sum()
        return right / max(above.sum(), 1), right / members.sum(), costs

    every = [judged(threshold) for threshold in [*np.unique(score), 1.0]]
    precision, recall, _ = judged(known.for_precision(0.7))
    assert precision >= 0.7
    assert recall == max(each[1] for each in every if each[0] >= 0.7)
    precision, recall, _ = judged(known.for_recall(0.8))
    assert recall >= 0.8
    assert precision == max(each[0] for each in every if each[1] >= 0.8)
    assert judged(known.for_costs(1, 7))[2] == min(each[2] for each in every)


def test_a_precision_that_none_has_gives_the_most_precise_and_says_so() -> None:
    score, y = np.array([0.9, 0.8, 0.7, 0.2]), np.array([0, 1, 1, 0])
    p = np.stack([1 - score, score], axis=1)
    with pytest.warns(DataWarning, match=r"the precision 0\.9 on the 4 validation nodes: the nearest is 0\.667"):
        found = choose_threshold(p, y, Scoring("f1", 1), ThresholdRule.parse("precision=0.9"))
    assert decide(p, found, 1).tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize("text", ["", "0.3", "precision", "precision=0", "recall=1.5", "cost=3", "cost=1:0"])
def test_a_rule_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=f"or as 'cost=1:20'.*Got {text!r} instead"):
        TrainingConfig(threshold=text)


def test_a_threshold_is_for_two_classes_that_both_occur() -> None:
    with pytest.raises(InputError, match="for 2 classes. Got 3 instead"):
        Thresholds.of(np.full((5, 3), 1 / 3), np.arange(5) % 3, 1)
    with pytest.raises(InputError, match="of both classes"):
        Thresholds.of(np.full((5, 2), 0.5), np.zeros(5, dtype=np.int64), 1)


@pytest.mark.parametrize("ranking", [ranking_scores, rankings_at_once])
@pytest.mark.parametrize("metric", RANKINGS)
def test_many_rankings_at_once_are_those_one_by_one(metric: str, ranking: Callable[..., torch.Tensor]) -> None:
    generator = torch.Generator().manual_seed(0)
    sizes = torch.tensor([50, 37, 12, 5])
    inside = torch.arange(50) < sizes.unsqueeze(1)
    score = (torch.rand(4, 50, generator=generator, dtype=torch.float64) * 8).round() / 8  # with ties
    members = torch.rand(4, 50, generator=generator) < 0.3
    members[3] = True
    found = ranking(metric, score, members, inside).tolist()
    judge = {"roc_auc": reference.roc_auc_score, "average_precision": reference.average_precision_score}[metric]
    for row in range(3):
        wanted = judge(members[row, : sizes[row]], score[row, : sizes[row]])
        assert found[row] == pytest.approx(wanted, abs=1e-15)
    assert math.isnan(found[3])


@pytest.mark.parametrize("metric", RANKINGS)
@pytest.mark.parametrize("classes", [2, 4])
def test_a_batch_is_judged_as_each_of_its_members(metric: str, classes: int) -> None:
    generator = torch.Generator().manual_seed(1)
    y = torch.randint(0, classes, (90,), generator=generator)
    y[:5] = -1
    masks = {f"{name}_mask": mask for name, mask in random_splits(y, 3).items()}
    graph = Graph.from_data(Data(x=torch.randn(90, 2), y=y, **masks))
    logits = torch.randn(3, 90, classes, generator=generator).mul(2).round()
    config = TrainingConfig(metric=metric, positive_class="0" if classes == 2 else "")
    found = Evaluation(graph, [0, 1, 2], config).measure(logits)[1:]
    for split in range(3):
        for place, nodes in enumerate(graph.indices(split).values()):
            wanted = Scoring(metric, 0 if classes == 2 else None)(logits[split, nodes], y[nodes])
            assert float(found[place, split]) == pytest.approx(wanted, abs=1e-14)
