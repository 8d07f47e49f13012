"""Where one of two classes begins: at a probability, calibrated or not, that is chosen on validation nodes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from glognn.errors import DataWarning, InputError
from glognn.graph.graph import Graph
from glognn.metrics import Floats, Integers, Scoring, Thresholds, decide
from glognn.models.base import NodeModel
from glognn.training.calibration import Calibration
from glognn.training.config import BY_RANK, ThresholdRule, TrainingConfig
from glognn.training.positive import scoring
from glognn.training.predict import predict

SERVED = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "f1": "F1",
    "precision": "F1",
    "recall": "F1",
    "mcc": "MCC",
}
"""What the threshold that serves a metric is chosen for, in words: macro-F1 for all others, as metrics say."""


def check_threshold(graph: Graph, config: TrainingConfig) -> None:
    """Refuse to choose a threshold among other than two classes; called before training."""
    if config.threshold not in ("auto", "none") and graph.num_classes != 2:
        raise InputError(
            f"The 'threshold' parameter of training must be 'auto' or 'none' for {graph.num_classes} classes (it is "
            f"for two). Got {config.threshold!r} instead."
        )


def calibrate_and_choose(
    model: NodeModel[Any], graph: Graph, split: int, config: TrainingConfig
) -> tuple[Calibration | None, float | None]:
    """What is made of a trained model's probabilities, learned on the validation nodes of its split."""
    kind, rule = calibration_of(config, graph.num_classes), rule_of(config, graph.num_classes)
    if (kind == "none" and rule.kind == "none") or config.engine == "distributed":  # whose ranks have parts of it
        return None, None
    nodes, judge = graph.indices(split)["val"], scoring(graph, config)
    found, y = predict(model, graph)[nodes].double().cpu().numpy(), graph.y[nodes].cpu().numpy()
    if len(np.unique(y)) < 2:  # which says nothing of what was left open
        kind = "none" if config.calibrate == "auto" else kind
        rule = ThresholdRule("none") if config.threshold == "auto" else rule
    calibration = None
    if kind != "none":
        shifted = shifts_odds(config, graph.num_classes)
        calibration = Calibration.fit(kind, found, y, shifted=shifted, positive=judge.positive)
        found = calibration.apply(found)
    return calibration, choose_threshold(found, y, judge, rule)


def ranks_two(config: TrainingConfig, num_classes: int) -> bool:
    """Whether a model of two classes is selected by a metric that only the order of nodes counts for."""
    return num_classes == 2 and config.metric in BY_RANK


def shifts_odds(config: TrainingConfig, num_classes: int) -> bool:
    """Whether the odds of all nodes may be wrong alike: classes were weighted, or the order alone was asked for."""
    return config.class_weight != "none" or ranks_two(config, num_classes)


def calibration_of(config: TrainingConfig, num_classes: int) -> str:
    """How probabilities are calibrated: as asked for, or where it is left open, those selected by ranks are."""
    if config.calibrate != "auto":
        return config.calibrate
    return "temperature" if ranks_two(config, num_classes) else "none"


def rule_of(config: TrainingConfig, num_classes: int, metrics: Sequence[str] = BY_RANK) -> ThresholdRule:
    """How a threshold is chosen: as asked for, or where it is left open, for two classes and some metrics by these."""
    if config.threshold != "auto":
        return ThresholdRule.parse(config.threshold)
    return ThresholdRule("validation" if num_classes == 2 and config.metric in metrics else "none")


def describe_rule(rule: ThresholdRule, metric: str) -> str:
    """What a threshold is chosen for, in words; empty where there is none."""
    if rule.kind == "validation":
        return SERVED.get(metric, "macro-F1")
    if rule.kind == "cost":
        return f"the least cost, {rule.costs[0]:g} of a false and {rule.costs[1]:g} of a missed one"
    return "" if rule.kind == "none" else f"{rule.kind} {rule.wanted:g}"


def choose_threshold(probabilities: Floats, y: Integers, scoring: Scoring, rule: ThresholdRule) -> float | None:
    """The least probability at which the answer is the positive class; ``None`` when none was asked for.

    A precision that no threshold has on these nodes is told, with the nearest that one has.

    Args:
        probabilities: Of validation nodes, nodes x 2.
        y: Their classes.
        scoring: The metric, and the positive class.
        rule: What is asked for.
    """
    if rule.kind == "none":
        return None
    known = Thresholds.of(probabilities, y, scoring.positive)
    if rule.kind == "validation":
        return known.for_metric(scoring.metric)
    if rule.kind == "recall":
        return known.for_recall(rule.wanted)
    if rule.kind == "cost":
        return known.for_costs(*rule.costs)
    chosen = known.for_precision(rule.wanted)
    decided = decide(probabilities, chosen, scoring.positive)
    reached = Scoring("precision", scoring.positive).of_probabilities(probabilities, y, decided)
    if reached < rule.wanted - 1e-12:
        warnings.warn(
            f"No threshold has the precision {rule.wanted:g} on the {len(y):,} validation nodes: the nearest is "
            f"{reached:.3f}, from the probability {chosen:.3f} on.",
            DataWarning,
            stacklevel=2,
        )
    return chosen
