"""How good class scores are. In every metric larger is better: losses have a minus, as scikit-learn's ``neg_log_loss``.

Metrics of one class, as its F1 score, are of the *positive* class. Those of a ranking (ROC AUC, average precision) are
of the positive class against the rest, and without one the mean over classes. With two classes and none named it is
class 1, as in scikit-learn; which one a training takes is decided in ``glognn.training.positive``.

Calibration is whether probabilities mean what they say: of predictions made with probability p, a share p should be
right (Guo et al., "On Calibration of Modern Neural Networks", ICML 2017).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from glognn.errors import InputError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

BINS = 10
TOP_K = 100
_SMALLEST = float(np.finfo(np.float64).eps)
"""A probability of 0 counts as this in the log loss, as in scikit-learn."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Probabilities and predicted classes of nodes beside the truth: what a metric judges.

    Attributes:
        scores: Nodes x classes: probabilities, or what their softmax makes probabilities of.
        y: The classes of the nodes.
        positive: The class whose ranking and whose finding is judged, where there is one.
        top_k: How many nodes of the highest probability ``precision_at_k`` and ``recall_at_k`` look at.
        decided: The predicted classes; by default those of the highest scores.
        normalised: The scores are probabilities.
    """

    scores: Floats
    y: Integers
    positive: int | None = None
    top_k: int = TOP_K
    decided: Integers | None = None
    normalised: bool = True

    @property
    def num_classes(self) -> int:
        return int(self.scores.shape[1])

    @cached_property
    def probabilities(self) -> Floats:
        if self.normalised:
            return self.scores
        found: Floats = torch.from_numpy(self.scores).softmax(dim=1).numpy()
        return found

    @cached_property
    def predicted(self) -> Integers:
        return decide(self.scores) if self.decided is None else self.decided

    @cached_property
    def confusion(self) -> Integers:
        """How many nodes of each class (rows) were taken for which (columns)."""
        count = self.num_classes
        found: Integers = np.bincount(self.y * count + self.predicted, minlength=count * count).reshape(count, count)
        return found

    def of_one(self) -> int:
        """The positive class, which must be one."""
        if self.positive is None and self.num_classes != 2:
            raise InputError(
                f"This metric is of one class, and there are {self.num_classes}: name it with --positive-class, or "
                "take a metric of all classes, as macro_f1."
            )
        return 1 if self.positive is None else self.positive


Metric = Callable[[Answers], float]


def decide(probabilities: Floats, threshold: float | None = None, positive: int | None = None) -> Integers:
    """The more likely class of each node; of two, with a threshold, the positive one from that probability on."""
    if threshold is None or probabilities.shape[1] != 2:
        likely: Integers = probabilities.argmax(axis=1)
        return likely
    chosen = 1 if positive is None else positive
    return np.where(probabilities[:, chosen] >= threshold, chosen, 1 - chosen).astype(np.int64)


def accuracy(found: Answers) -> float:
    """Share of nodes whose class is the predicted one."""
    return float(np.mean(found.predicted == found.y))


def balanced_accuracy(found: Answers) -> float:
    """Mean over classes of the share of their nodes that were found: macro recall."""
    sizes = found.confusion.sum(axis=1)
    return float(np.mean(np.diag(found.confusion)[sizes > 0] / sizes[sizes > 0]))


def macro_f1(found: Answers) -> float:
    """Mean of the F1 scores of classes that have nodes or were predicted."""
    ends = found.confusion.sum(axis=0) + found.confusion.sum(axis=1)
    return float(np.mean(2 * np.diag(found.confusion)[ends > 0] / ends[ends > 0]))


def macro_precision(found: Answers) -> float:
    """Mean over the same classes of the share of right ones among their predictions; 0 where there are none."""
    predicted, nodes = found.confusion.sum(axis=0), found.confusion.sum(axis=1)
    return float(np.mean((np.diag(found.confusion) / np.maximum(predicted, 1))[predicted + nodes > 0]))


def f1(found: Answers) -> float:
    """Of the positive class: the harmonic mean of precision and recall; 0 where none is there or was predicted."""
    label = found.of_one()
    ends = found.confusion[label].sum() + found.confusion[:, label].sum()
    return float(2 * found.confusion[label, label] / max(ends, 1))


def precision(found: Answers) -> float:
    """Of the positive class: the share of right ones among its predictions; 0 where there are none."""
    label = found.of_one()
    return float(found.confusion[label, label] / max(found.confusion[:, label].sum(), 1))


def recall(found: Answers) -> float:
    """Of the positive class: the share of its nodes that were found; 0 where there are none."""
    label = found.of_one()
    return float(found.confusion[label, label] / max(found.confusion[label].sum(), 1))


def mcc(found: Answers) -> float:
    """Matthews' correlation of truth and prediction, from -1 to 1; 0 where one of them is the same for all nodes."""
    table = found.confusion.astype(np.float64)
    total, right, nodes, predicted = table.sum(), np.trace(table), table.sum(axis=1), table.sum(axis=0)
    below = (total**2 - predicted @ predicted) * (total**2 - nodes @ nodes)
    return float((right * total - nodes @ predicted) / math.sqrt(below)) if below > 0 else 0.0


def roc_auc(found: Answers) -> float:
    """The share of pairs of a member and a non-member of which the member has the higher probability; ties: half."""
    return _against_rest(found, _roc_auc)


def average_precision(found: Answers) -> float:
    """Area under the precision-recall curve, summed in steps."""
    return _against_rest(found, _average_precision)


def _against_rest(found: Answers, score: Callable[[Booleans, Floats], float]) -> float:
    """The score of the positive class; without one, the mean over the classes that have members and non-members."""
    several = found.positive is None and found.num_classes != 2
    classes = range(found.num_classes) if several else [found.of_one()]
    sizes = np.bincount(found.y, minlength=found.num_classes)
    usable = [label for label in classes if 0 < sizes[label] < len(found.y)]
    if not usable:
        only = int(found.y[0]) if (found.y == found.y[0]).all() else None
        got = f"only class {only}" if only is not None else f"no node of class {found.positive}"
        raise InputError(
            f"This metric needs a set with at least 2 classes. Got {got} instead: choose another metric or split."
        )
    return float(np.mean([score(found.y == label, found.probabilities[:, label]) for label in usable]))


def _roc_auc(members: Booleans, score: Floats) -> float:
    others, own = np.sort(score[~members]), score[members]
    below = np.searchsorted(others, own, "left").sum() + np.searchsorted(others, own, "right").sum()
    return float(below / (2 * len(own) * len(others)))


def _average_precision(members: Booleans, score: Floats) -> float:
    order = np.argsort(-score, kind="stable")
    last = np.append(np.flatnonzero(np.diff(score[order])), len(score) - 1)  # of each group of equal scores
    found = np.cumsum(members[order])[last]
    return float(np.sum(np.diff(found, prepend=0) / members.sum() * found / (last + 1)))


def _ranking_score(metric: str, score: Floats, members: Booleans) -> float:
    """ROC AUC or average precision; nan where there is nothing to rank."""
    if members.all() or not members.any():
        return math.nan
    return _roc_auc(members, score) if metric == "roc_auc" else _average_precision(members, score)


def ranking_scores(metric: str, score: Tensor, members: Tensor, inside: Tensor) -> Tensor:
    """ROC AUC or average precision of many rankings; on a GPU all at once, and without waiting for it.

    The same as :func:`roc_auc` and :func:`average_precision` of each row; nan where there is nothing to rank.

    Args:
        metric: ``roc_auc`` or ``average_precision``.
        score: Probabilities of a class, rankings x nodes.
        members: Which nodes are of the class.
        inside: Which nodes count: rows of fewer are filled up.
    """
    if score.device.type == "cpu":  # one sort of a row instead of two, and only its members are searched for
        rows = zip(score.numpy(), members.numpy(), inside.numpy(), strict=True)
        values = [_ranking_score(metric, each[there], own[there]) for each, own, there in rows]
        return torch.tensor(values, dtype=torch.float64)
    return rankings_at_once(metric, score, members, inside)


def rankings_at_once(metric: str, score: Tensor, members: Tensor, inside: Tensor) -> Tensor:
    """The same in a few large operations, as a GPU wants it."""
    members, others = members & inside, ~members & inside
    own, rest = members.sum(1), others.sum(1)
    below = torch.full_like(score, -torch.inf)
    sorted_members = torch.where(members, score, below).sort(dim=1).values
    sorted_others = torch.where(others, score, below).sort(dim=1).values
    length = score.shape[1]
    if metric == "roc_auc":
        left, right = (torch.searchsorted(sorted_others, score, right=each) for each in (False, True))
        beaten = left + right - 2 * (length - rest).unsqueeze(1)  # twice as many as it is above, ties once
        return (beaten * members).sum(1).double() / (2 * own * rest).double()
    found, mistaken = (length - torch.searchsorted(each, score) for each in (sorted_members, sorted_others))
    precision = found.double() / (found + mistaken).clamp(min=1)
    total = torch.where(members, precision, 0.0).sum(1)
    return torch.where(rest > 0, total / own, torch.nan)


def precision_at_k(found: Answers) -> float:
    """Share of the positive class among the k nodes to which it is most likely; fewer where there are fewer."""
    return _found_in_top(found) / min(found.top_k, len(found.y))


def recall_at_k(found: Answers) -> float:
    """Share of the positive class's nodes that are among the k to which it is most likely; 0 where it has none."""
    return _found_in_top(found) / max(int((found.y == found.of_one()).sum()), 1)


def _found_in_top(found: Answers) -> float:
    """How many of the top k are of the positive class: the mean over all orders of nodes that are equally likely."""
    label, count = found.of_one(), min(found.top_k, len(found.y))
    score, members = found.probabilities[:, label], found.y == label
    least = np.partition(score, -count)[-count]
    above, level = score > least, score == least
    return float(members[above].sum() + members[level].mean() * (count - above.sum()))


def neg_log_loss(found: Answers) -> float:
    """Minus the mean negative logarithm of the true class's probability."""
    true = found.probabilities[np.arange(len(found.y)), found.y]
    return float(np.log(np.clip(true, _SMALLEST, 1.0)).mean())


def neg_brier(found: Answers) -> float:
    """Minus the mean squared distance of probabilities to the truth: of one of two classes, of all where more are."""
    distance = found.probabilities.copy()
    distance[np.arange(len(found.y)), found.y] -= 1
    return -float(np.square(distance).sum(axis=1).mean()) / (2 if found.num_classes == 2 else 1)


METRICS: dict[str, Metric] = {
    metric.__name__: metric
    for metric in (
        accuracy,
        balanced_accuracy,
        macro_f1,
        roc_auc,
        average_precision,
        f1,
        precision,
        recall,
        macro_precision,
        mcc,
        precision_at_k,
        recall_at_k,
        neg_log_loss,
        neg_brier,
    )
}


@dataclass(frozen=True)
class Scoring:
    """One metric, of one class where it is of one: ``Scoring("f1", positive=0)(logits, y)``."""

    metric: str
    positive: int | None = None
    top_k: int = TOP_K

    def __call__(self, logits: Tensor, y: Tensor) -> float:
        """The metric of class scores, nodes x classes; nan of no node at all."""
        if self.metric == "accuracy":  # where the scores are
            return float((logits.argmax(dim=1) == y).double().mean()) if y.numel() else math.nan
        scores = logits.detach().double().cpu().numpy()
        return self._judge(Answers(scores, y.cpu().numpy(), self.positive, self.top_k, normalised=False))

    def of_probabilities(self, found: Floats, y: Integers, decided: Integers | None = None) -> float:
        """The metric of probabilities, nodes x classes, and of the classes decided on; nan of no node at all."""
        return self._judge(Answers(found, y, self.positive, self.top_k, decided))

    def _judge(self, found: Answers) -> float:
        return METRICS[self.metric](found) if len(found.y) else math.nan


@dataclass(frozen=True, eq=False)
class Thresholds:
    """What each probability from which on to predict the positive of two classes would come to on some nodes.

    ``found`` and ``missed`` are how many of its nodes are above and below a threshold, ``mistaken`` and ``rejected``
    how many others are.
    """

    values: Floats
    found: Integers
    missed: Integers
    mistaken: Integers
    rejected: Integers

    @classmethod
    def of(cls, probabilities: Floats, y: Integers, positive: int | None) -> Thresholds:
        """Thresholds half-way between all probabilities that occur, and 0.5.

        Args:
            probabilities: Class probabilities, nodes x 2.
            y: Labels, of both classes.
            positive: The class that begins at the threshold.
        """
        if probabilities.shape[1] != 2:
            raise InputError(f"A threshold must be chosen for 2 classes. Got {probabilities.shape[1]} instead.")
        chosen = 1 if positive is None else positive
        members, scores = y == chosen, probabilities[:, chosen]
        if members.all() or not members.any():
            raise InputError("A threshold must be chosen on nodes of both classes. Got nodes of one class instead.")
        order = np.argsort(scores)
        bounds = np.concatenate([[0.0], np.unique(scores), [1.0]])
        values = np.append((bounds[1:] + bounds[:-1]) / 2, 0.5)
        below = np.searchsorted(scores[order], values)  # so many are taken for the other class
        missed = np.concatenate([[0], np.cumsum(members[order])])[below]
        rejected = below - missed
        return cls(values, members.sum() - missed, missed, (~members).sum() - rejected, rejected)

    @property
    def precision(self) -> Floats:
        """Of those above; 0 where there are none."""
        return np.asarray(self.found / np.maximum(self.found + self.mistaken, 1))

    @property
    def recall(self) -> Floats:
        return np.asarray(self.found / (self.found + self.missed))

    def best(self, worth: Floats) -> float:
        """Where something is largest; among equals the one next to 0.5."""
        best = self.values[worth >= worth.max() - 1e-12]
        return float(best[np.argmin(np.abs(best - 0.5))])

    def for_metric(self, metric: str) -> float:
        """The one that makes a metric largest.

        Where it judges probabilities and so needs no threshold, macro-F1 decides; for precision or recall alone, which
        one or all nodes would serve best, F1.
        """
        found, missed, mistaken, rejected = self.found, self.missed, self.mistaken, self.rejected
        ends = [found + mistaken, found + missed, rejected + mistaken, rejected + missed]
        product = np.prod([each.astype(np.float64) for each in ends], axis=0)
        f1, other_f1 = (2 * right / (2 * right + missed + mistaken) for right in (found, rejected))
        worth = {
            "accuracy": 1.0 * found + rejected,
            "balanced_accuracy": found / (found + missed) + rejected / (rejected + mistaken),
            "macro_f1": f1 + other_f1,
            "f1": f1,
            "precision": f1,
            "recall": f1,
            "mcc": (1.0 * found * rejected - 1.0 * missed * mistaken) / np.sqrt(np.maximum(product, 1)),
        }
        return self.best(worth.get(metric, worth["macro_f1"]))

    def for_precision(self, wanted: float) -> float:
        """The one that finds most, of those with so high a precision; where there is none, the most precise."""
        precise = self.precision >= wanted - 1e-12
        return self.best(np.where(precise, 2.0 + self.recall, self.precision))

    def for_recall(self, wanted: float) -> float:
        """The most precise of those that find so large a share."""
        return self.best(np.where(self.recall >= wanted - 1e-12, self.precision, -1.0))

    def for_costs(self, false: float, missed: float) -> float:
        """The one at which false and missed nodes of the positive class together cost least."""
        costs = false * self.mistaken + missed * self.missed
        return self.best(-costs / costs.max())


MOST_POINTS = 500
"""Of a curve in a record."""


def ranking_curve(score: Floats, members: Booleans) -> dict[str, list[float]]:
    """Precision and false positives against recall, for every threshold, the highest first; of some of both kinds.

    Of long curves :data:`MOST_POINTS` are kept, evenly along them and with both ends.
    """
    order = np.argsort(-score, kind="stable")
    last = np.append(np.flatnonzero(np.diff(score[order])), len(score) - 1)
    if len(last) > MOST_POINTS:
        last = last[np.unique(np.linspace(0, len(last) - 1, MOST_POINTS).round().astype(int))]
    found, above = np.cumsum(members[order])[last], last + 1
    shares = {
        "threshold": score[order][last],
        "recall": found / members.sum(),
        "precision": found / above,
        "false_positive_rate": (above - found) / (~members).sum(),
    }
    return {name: each.tolist() for name, each in shares.items()}


@dataclass(frozen=True)
class Bin:
    """Predictions whose probability is in (low, high]: their number, mean probability and share of right ones."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


def reliability(confidence: npt.NDArray[np.float64], right: npt.NDArray[np.bool_], bins: int = BINS) -> list[Bin]:
    """Predictions by their probability, in bins of equal width; empty ones are left out."""
    place = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    return [
        Bin(
            low=number / bins,
            high=(number + 1) / bins,
            count=int(inside.sum()),
            confidence=float(confidence[inside].mean()),
            accuracy=float(right[inside].mean()),
        )
        for number in range(bins)
        if (inside := place == number).any()
    ]


def expected_calibration_error(bins: list[Bin]) -> float:
    """Mean distance between probability and share of right ones, over predictions."""
    total = sum(each.count for each in bins)
    return sum(each.count * abs(each.confidence - each.accuracy) for each in bins) / total
