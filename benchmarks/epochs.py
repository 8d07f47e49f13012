"""What the other benchmarks share: seconds of an epoch as a user gets them, as training itself gives them."""

from __future__ import annotations

import statistics
from typing import Any

from glognn.graph.graph import Graph
from glognn.models.base import NodeModel
from glognn.training.config import TrainingConfig
from glognn.training.driver import train

WARM_UP = 5


def epoch_seconds(model: NodeModel[Any], graph: Graph, device: str, epochs: int) -> float:
    """Median seconds of an epoch: a training step, an evaluation of all nodes, and the scores."""
    config = TrainingConfig(epochs=WARM_UP + epochs, early_stopping="none", selection="last", device=device)
    seconds = [row["seconds"] for row in train(model, graph, config=config).curve]
    steps = [after - before for before, after in zip(seconds[WARM_UP - 1 : -1], seconds[WARM_UP:], strict=True)]
    return statistics.median(steps)
