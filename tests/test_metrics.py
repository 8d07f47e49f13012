"""Metrics against hand-computed values and scikit-learn."""

from __future__ import annotations

import pytest
import torch
from sklearn.metrics import average_precision_score, roc_auc_score

from glognn.errors import InputError
from glognn.metrics import METRICS, accuracy, average_precision, balanced_accuracy, macro_f1, roc_auc

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


def test_a_single_class_has_no_ranking() -> None:
    with pytest.raises(InputError, match="at least 2 classes. Got only class 1"):
        roc_auc(torch.randn(5, 2), torch.ones(5, dtype=torch.long))
