"""What is timed: a method that trains on one split of one graph, epoch after epoch.

An epoch is one training step on all nodes, and then an evaluation: the class scores of all nodes, the validation loss,
and the accuracy on the train, val and test nodes.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glognn.graph.graph import Graph
from glognn.metrics import Scoring

WARM_UP = 3
"""Epochs before each timed stretch: caches, allocator and what a method makes once are then in place."""


def synchronize(device: torch.device) -> None:
    """Wait until a GPU has done what it was given; nothing on a CPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class Method(ABC):
    """A way to train that can be timed again and again. Training goes on where the last call left it."""

    @abstractmethod
    def seconds(self, epochs: int) -> float:
        """Seconds of an epoch: the mean of ``epochs`` ones after the warm-up."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """For the record: settings, precision, form of the inputs, number of parameters."""


class EpochByEpoch(Method):
    """A method with a network and a loop of its own, which is not this package's.

    Args:
        graph: The graph, on any device.
        split: Which column of its masks.
        device: Where to train.
    """

    network: nn.Module
    optimizer: torch.optim.Optimizer

    def __init__(self, graph: Graph, split: int, device: torch.device) -> None:
        self.device = device
        self.nodes = {name: index.to(device) for name, index in graph.indices(split).items()}
        y = graph.y.to(device)
        self.labels = {name: y[index] for name, index in self.nodes.items()}

    @abstractmethod
    def outputs(self) -> Tensor:
        """The network's class scores of all nodes, in its present mode."""

    def evaluate(self) -> Tensor:
        """Class scores in evaluation mode."""
        self.network.eval()
        with torch.no_grad():
            return self.outputs()

    def loss(self, outputs: Tensor, name: str) -> Tensor:
        return F.cross_entropy(outputs[self.nodes[name]], self.labels[name])

    def epoch(self) -> dict[str, float]:
        self.network.train()
        self.optimizer.zero_grad()
        loss = self.loss(self.outputs(), "train")
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        evaluated = self.evaluate()
        found = {"train_loss": float(loss.detach()), "val_loss": float(self.loss(evaluated, "val").detach())}
        accuracy = Scoring("accuracy")
        return found | {name: accuracy(evaluated[index], self.labels[name]) for name, index in self.nodes.items()}

    def seconds(self, epochs: int) -> float:
        for _ in range(WARM_UP):
            self.epoch()
        synchronize(self.device)
        started = time.perf_counter()
        for _ in range(epochs):
            self.epoch()
        synchronize(self.device)
        return (time.perf_counter() - started) / epochs

    def num_parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.network.parameters())
