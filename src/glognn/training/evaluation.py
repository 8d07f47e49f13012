"""Losses and scores of many models on the sets of their splits, all at once."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from glognn.graph.graph import SET_NAMES, Graph
from glognn.metrics import Scoring
from glognn.training.config import TrainingConfig
from glognn.training.positive import scoring


def class_weights(y: Tensor, num_classes: int) -> Tensor:
    """n / (k n_c) for each of the k classes among n labels, n_c of them of class c; 0 for classes that do not occur."""
    counts = torch.bincount(y, minlength=num_classes).double()
    return torch.where(counts > 0, y.numel() / (counts.count_nonzero() * counts.clamp(min=1)), 0.0)


class Evaluation:
    """What class scores, members x n x classes, are worth on each member's split.

    Args:
        graph: The graph with labels and masks.
        splits: The split of each member.
        config: The metric, the class that it is of, and whether classes weigh the same in the training loss.
    """

    def __init__(self, graph: Graph, splits: Sequence[int], config: TrainingConfig) -> None:
        self.metric, self._scoring = config.metric, scoring(graph, config)
        balanced = config.class_weight == "balanced"
        self._sets = {name: _Sets(graph, splits, name, balanced and name == "train") for name in SET_NAMES}

    def train_losses(self, logits: Tensor) -> Tensor:
        """Mean cross entropy of each member on its training nodes, weighted where classes are balanced."""
        return self._sets["train"].losses(logits)

    def measure(self, logits: Tensor) -> Tensor:
        """Validation loss and the scores of train, val and test set: 4 x members, in float64."""
        loss = self._sets["val"].losses(logits).double()
        if self.metric == "accuracy":
            return torch.stack([loss, *(self._sets[name].accuracies(logits) for name in SET_NAMES)])
        scores = [self._sets[name].scores(logits, self._scoring) for name in SET_NAMES]
        return torch.cat([loss.unsqueeze(0), torch.tensor(scores, dtype=loss.dtype, device=loss.device)])

    def keep(self, members: Tensor) -> None:
        """Go on with these members only."""
        for each in self._sets.values():
            each.keep(members)


class _Sets:
    """One set (train, val or test) of each member's split, as lists of equal length with weights."""

    def __init__(self, graph: Graph, splits: Sequence[int], name: str, balanced: bool) -> None:
        nodes = [graph.indices(split)[name] for split in splits]
        longest = max(index.numel() for index in nodes)
        self.nodes = torch.stack([F.pad(index, (0, longest - index.numel())) for index in nodes])
        sizes = torch.tensor([index.numel() for index in nodes], device=self.nodes.device)
        self._sizes = sizes.unsqueeze(1)
        self._inside = torch.arange(longest, device=self.nodes.device) < self._sizes
        self.labels = graph.y[self.nodes].masked_fill(~self._inside, 0)
        self._weights: Tensor | None = None
        if balanced:
            weights = torch.stack([class_weights(graph.y[index], graph.num_classes) for index in nodes])
            self._weights = weights.gather(1, self.labels)

    def _gather(self, logits: Tensor) -> Tensor:
        return logits.gather(1, self.nodes.unsqueeze(2).expand(-1, -1, logits.shape[2]))

    def losses(self, logits: Tensor) -> Tensor:
        """Mean cross entropy of each member."""
        chosen = self._gather(logits).log_softmax(2).gather(2, self.labels.unsqueeze(2)).squeeze(2)
        shares = self._inside.to(logits.dtype) / self._sizes
        if self._weights is not None:
            shares = shares * self._weights.to(logits.dtype)
        return -(chosen * shares).sum(1)

    def accuracies(self, logits: Tensor) -> Tensor:
        """Share of nodes whose largest score is that of their class."""
        right = (self._gather(logits).argmax(2) == self.labels) & self._inside
        return right.sum(1).double() / self._sizes.squeeze(1)

    def scores(self, logits: Tensor, metric: Scoring) -> list[float]:
        """Another metric, member by member."""
        return [
            metric(each[index[inside]], labels[inside])
            for each, index, labels, inside in zip(logits, self.nodes, self.labels, self._inside, strict=True)
        ]

    def keep(self, members: Tensor) -> None:
        self.nodes, self.labels = self.nodes[members], self.labels[members]
        self._sizes, self._inside = self._sizes[members], self._inside[members]
        self._weights = None if self._weights is None else self._weights[members]
