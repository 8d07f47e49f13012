"""Where one of two classes begins: at a probability chosen on validation nodes."""

from __future__ import annotations

from typing import Any

from glognn.errors import InputError
from glognn.graph.graph import Graph
from glognn.metrics import best_threshold
from glognn.models.base import NodeModel
from glognn.training.config import TrainingConfig
from glognn.training.positive import scoring
from glognn.training.predict import predict


def check_threshold(graph: Graph, config: TrainingConfig) -> None:
    """Refuse to choose a threshold among other than two classes; called before training."""
    if config.threshold != "none" and graph.num_classes != 2:
        raise InputError(
            f"The 'threshold' parameter of training must be 'none' for {graph.num_classes} classes (it is for two). "
            f"Got {config.threshold!r} instead."
        )


def choose_threshold(model: NodeModel[Any], graph: Graph, split: int, config: TrainingConfig) -> float | None:
    """The least probability at which a trained model's answer is the positive class; ``None``: none was asked for."""
    if config.threshold == "none":
        return None
    nodes = graph.indices(split)["val"]
    found = predict(model, graph)[nodes].double().cpu().numpy()
    return best_threshold(found, graph.y[nodes].cpu().numpy(), scoring(graph, config))
