"""Members on a GPU, whose steps and evaluations are captured once as CUDA graphs and then replayed.

An epoch of a small graph is a few hundred short kernels; launching them one by one takes ten times as long as running
them. The graphs are captured anew when members leave.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from glognn.models.base import FollowsEpochs
from glognn.training.config import RANKINGS
from glognn.training.engines.base import Members, without_gradients
from glognn.training.engines.stacked import StackedEngine

logger = logging.getLogger(__name__)

WARM_UP = 2
"""Epochs before the first capture: libraries set themselves up in them."""


class CapturedEngine(StackedEngine):
    """As :class:`~glognn.training.engines.stacked.StackedEngine`, with the same results."""

    name = "captured"
    worth_leaving = 0.5  # a new capture costs as much as some fifty epochs

    def __init__(self, members: Members) -> None:
        super().__init__(members)
        self._epochs = 0
        self._capturable = True
        self._graphs: tuple[torch.cuda.CUDAGraph, torch.cuda.CUDAGraph] | None = None
        self._outputs = torch.empty(0), torch.empty(0)

    @classmethod
    def refusal(cls, members: Members) -> str:
        """What is free at the moment does not count: a run must go on from its checkpoint as it was begun."""
        model, config = members.models[0], members.configs[0]
        if members.graph.y.device.type != "cuda":
            return "it needs a GPU"
        if refusal := without_gradients(members):
            return refusal
        if isinstance(model, FollowsEpochs):
            return f"{model.config.title} changes with the epochs"
        if config.metric not in ("accuracy", *RANKINGS):
            return f"{config.metric} is not computed on the GPU"
        return ""

    @property
    def computed_by(self) -> str:
        return self.name if self._graphs is not None else super().name

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

    def keep(self, members: Sequence[int]) -> None:
        self._graphs = None
        super().keep(members)
        if len(self) == 1:  # other kernels compute one model, which are loaded before they are captured
            self._epochs = 0

    def restore(self, snapshot: Mapping[str, Tensor]) -> None:
        self._graphs = None
        super().restore(snapshot)
