"""Members on a GPU whose steps and evaluations are captured once as CUDA graphs and then replayed.

An epoch of a small graph is a few hundred short kernels; launching them one by one takes ten times as long as running
them. The graphs are captured anew when members leave.
"""

from __future__ import annotations

import logging
from typing import Any

import torch
from torch import Tensor

from glognn.models.base import FollowsEpochs, NodeModel
from glognn.training.members import Members

logger = logging.getLogger(__name__)

WARM_UP = 2
"""Epochs before the first capture: libraries set themselves up in them."""


class CapturedMembers(Members):
    """As :class:`~glognn.training.members.Members`, with the same results."""

    engine = "cuda graph"
    worth_leaving = 0.5  # a new capture costs as much as some fifty epochs

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._epochs = 0
        self._capturable = self.can_capture(self._model, self._evaluation.metric)
        self._graphs: tuple[torch.cuda.CUDAGraph, torch.cuda.CUDAGraph] | None = None
        self._outputs = torch.empty(0), torch.empty(0)

    @staticmethod
    def can_capture(model: NodeModel[Any], metric: str) -> bool:
        """Whether every epoch is the same work on the GPU: scores other than accuracy are computed elsewhere."""
        return not isinstance(model, FollowsEpochs) and metric == "accuracy"

    @property
    def computed_by(self) -> str:
        return self.engine if self._graphs is not None else super().engine

    def step(self) -> Tensor:
        if self._graphs is None:
            return super().step()
        self._graphs[1].replay()
        return self._outputs[1]

    def evaluate(self) -> Tensor:
        self._epochs += 1
        if self._graphs is None and self._capturable and self._epochs > WARM_UP:
            self._capture()
        if self._graphs is None:
            return super().evaluate()
        self._graphs[0].replay()
        return self._outputs[0]

    def _capture(self) -> None:
        """Evaluation first, then the step that starts from what it leaves; both use one pool of memory."""
        evaluation, step = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        for graph in (evaluation, step):
            for generator in self._dropout.streams.generators:
                graph.register_generator_state(generator)
        self._kept = None
        state = self._dropout.streams.state()
        try:
            with torch.cuda.graph(evaluation):
                measured = super().evaluate()
            with torch.cuda.graph(step, pool=evaluation.pool()):
                losses = super().step()
        except RuntimeError as error:  # a model that waits for the GPU, or copies from it, cannot be captured
            logger.info("%s runs without a CUDA graph: %s", type(self._model).__name__, error)
            self._capturable, self._kept = False, None
            self._dropout.streams.restore(state, renew=True)
            return
        self._graphs, self._outputs = (evaluation, step), (measured, losses)

    def keep(self, members: Any) -> None:
        self._graphs = None
        super().keep(members)

    def restore(self, snapshot: Any) -> None:
        self._graphs = None
        super().restore(snapshot)
