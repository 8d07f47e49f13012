"""Metrics against hand-computed values and scikit-learn."""

from __future__ import annotations

import math

import pytest
import torch
from sklearn.metrics import average_precision_score, roc_auc_score

from glognn.errors import InputError
from glognn.metrics import METRICS, accuracy, average_precision, balanced_accuracy, best_threshold, macro_f1, roc_auc

LOGITS = torch.tensor([[2.0, 1.0], [0.0, 1.0], [3.0, 0.0], [1.0, 4.0]])
Y = torch.tensor([0, 1, 1, 1])


def test_by_hand() -> None:
    assert accuracy(LOGITS, Y) == 0.75
    assert balanced_accuracy(LOGITS, Y) == pytest.approx((1 + 2 / 3) / 2)
    assert macro_f1(LOGITS, Y) == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert roc_auc(LOGITS, Y) == pytest.approx(2 / 3)


def test_more_than_two_classes() -> None:
    torch.manual_seed(0)
    logits, y = torch.randn(50, 4), torch.arange(50) % 4
    p = logits.softmax(1).numpy()
    assert roc_auc(logits, y) == pytest.approx(roc_auc_score(y, p, multi_class="ovr"))
    each = [average_precision_score(y == k, p[:, k]) for k in range(4)]
    assert average_precision(logits, y) == pytest.approx(sum(each) / 4)


def test_classes_absent_from_a_set_are_left_out() -> None:
    logits, y = torch.randn(20, 5), torch.arange(20) % 3
    for metric in METRICS.values():
        assert 0 <= metric(logits, y) <= 1


@pytest.mark.parametrize("metric", list(METRICS))
def test_no_node_has_no_score(metric: str) -> None:
    assert math.isnan(METRICS[metric](torch.empty(0, 3), torch.empty(0, dtype=torch.long)))


def test_a_single_class_has_no_ranking() -> None:
    with pytest.raises(InputError, match="at least 2 classes. Got only class 1"):
        roc_auc(torch.randn(5, 2), torch.ones(5, dtype=torch.long))


@pytest.mark.parametrize("metric", list(METRICS))
def test_the_best_threshold_is_the_best_of_all(metric: str) -> None:
    torch.manual_seed(1)
    y = (torch.rand(80) < 0.15).long()
    positive = (0.1 + 0.25 * y + 0.2 * torch.randn(80)).clamp(0.01, 0.99).double()
    companion = METRICS[metric if metric not in ("roc_auc", "average_precision") else "macro_f1"]

    def score(threshold: float) -> float:
        return companion(torch.stack([positive < threshold, positive >= threshold], dim=1).double(), y)

    found = best_threshold(torch.stack([1 - positive, positive], dim=1), y, metric)
    assert score(found) == pytest.approx(max(score(t) for t in [0.0, *positive.tolist(), 1.0]))
    assert score(found) >= score(0.5)


def test_a_threshold_is_for_two_classes_that_both_occur() -> None:
    with pytest.raises(InputError, match="for 2 classes. Got 3 instead"):
        best_threshold(torch.rand(5, 3), torch.arange(5) % 3)
    with pytest.raises(InputError, match="of both classes"):
        best_threshold(torch.rand(5, 2), torch.zeros(5, dtype=torch.long))
