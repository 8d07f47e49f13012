"""Where one of two classes begins: at a probability, calibrated or not, that is chosen on validation nodes."""

from __future__ import annotations

import warnings
from typing import Any

from glognn.errors import DataWarning, InputError
from glognn.graph.graph import Graph
from glognn.metrics import Floats, Integers, Scoring, Thresholds, decide
from glognn.models.base import NodeModel
from glognn.training.calibration import Calibration
from glognn.training.config import ThresholdRule, TrainingConfig
from glognn.training.positive import scoring
from glognn.training.predict import predict


def check_threshold(graph: Graph, config: TrainingConfig) -> None:
    """Refuse to choose a threshold among other than two classes; called before training."""
    if config.threshold != "none" and graph.num_classes != 2:
        raise InputError(
            f"The 'threshold' parameter of training must be 'none' for {graph.num_classes} classes (it is for two). "
            f"Got {config.threshold!r} instead."
        )


def calibrate_and_choose(
    model: NodeModel[Any], graph: Graph, split: int, config: TrainingConfig
) -> tuple[Calibration | None, float | None]:
    """What is made of a trained model's probabilities, learned on the validation nodes of its split."""
    if config.calibrate == "none" and config.threshold == "none":
        return None, None
    nodes, judge = graph.indices(split)["val"], scoring(graph, config)
    found, y = predict(model, graph)[nodes].double().cpu().numpy(), graph.y[nodes].cpu().numpy()
    calibration = None
    if config.calibrate != "none":
        weighted = config.class_weight != "none"
        calibration = Calibration.fit(config.calibrate, found, y, weighted=weighted, positive=judge.positive)
        found = calibration.apply(found)
    return calibration, choose_threshold(found, y, judge, ThresholdRule.parse(config.threshold))


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
