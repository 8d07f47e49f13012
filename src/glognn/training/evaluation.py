"""Losses and scores of many models on the sets of their splits, all at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from glognn.errors import InputError
from glognn.graph.graph import SET_NAMES, Graph
from glognn.metrics import Scoring, ranking_scores
from glognn.ops.scores import hits, losses
from glognn.settings import suggest
from glognn.training.class_weight import BALANCED, NONE, parse_class_weight
from glognn.training.config import RANKINGS, TrainingConfig
from glognn.training.positive import class_names, scoring


def class_weights(y: Tensor, graph: Graph, config: TrainingConfig) -> Tensor | None:
    """The weight of each class in the loss of some labels, on average 1 over them; ``None`` where all weigh the same.

    Balanced, it is n / (k n_c) for each of the k classes among n labels, n_c of them of class c, and 0 for classes that
    do not occur. Weights that are given are divided by their mean over the labels.
    """
    if config.class_weight == NONE:
        return None
    counts = torch.bincount(y, minlength=graph.num_classes).double()
    if config.class_weight == BALANCED:
        return torch.where(counts > 0, y.numel() / (counts.count_nonzero() * counts.clamp(min=1)), 0.0)
    given, names = parse_class_weight(config.class_weight), class_names(graph)
    for name in given:
        if name not in names:
            raise InputError(
                f"The 'class_weight' parameter of training must name classes of the graph. Got {name!r} instead."
                f"{suggest(name, names)}"
            )
    weights = torch.tensor([given.get(name, 1.0) for name in names], dtype=torch.float64, device=y.device)
    return weights * y.numel() / (counts * weights).sum()


def check_named_classes(graph: Graph, config: TrainingConfig) -> None:
    """Refuse a metric, a positive class or weights of classes that the graph has not, before anything is done."""
    scoring(graph, config)
    class_weights(graph.y[graph.y >= 0], graph, config)


class Evaluation:
    """What class scores, members x n x classes, are worth on each member's split.

    Args:
        graph: The graph with labels and masks.
        splits: The split of each member.
        config: The metric, the class that it is of, and whether classes weigh the same in the training loss.
    """

    def __init__(self, graph: Graph, splits: Sequence[int], config: TrainingConfig) -> None:
        self.metric, self._scoring = config.metric, scoring(graph, config)
        if config.metric in RANKINGS:
            _check_rankings(graph, set(splits), self._scoring)
        self._sets = {name: _Sets(graph, splits, name) for name in SET_NAMES}
        self._sets["train"].weigh(graph, splits, config)

    def train_losses(self, logits: Tensor) -> Tensor:
        """Mean cross entropy of each member on its training nodes, weighted where classes are balanced."""
        return self._sets["train"].losses(logits)

    def measure(self, logits: Tensor) -> Tensor:
        """Validation loss and the scores of train, val and test set: 4 x members, in float64."""
        loss = self._sets["val"].losses(logits).double()
        if self.metric == "accuracy":
            return torch.stack([loss, *(self._sets[name].accuracies(logits) for name in SET_NAMES)])
        if self.metric in RANKINGS:
            return torch.stack([loss, *(self._sets[name].rankings(logits, self._scoring) for name in SET_NAMES)])
        scores = [self._sets[name].scores(logits, self._scoring) for name in SET_NAMES]
        return torch.cat([loss.unsqueeze(0), torch.tensor(scores, dtype=loss.dtype, device=loss.device)])

    def keep(self, members: Tensor) -> None:
        """Go on with these members only."""
        for each in self._sets.values():
            each.keep(members)


def _check_rankings(graph: Graph, splits: Iterable[int], metric: Scoring) -> None:
    """Refuse sets in which nothing can be ranked: what is computed on a GPU cannot say so."""
    for split in splits:
        for name, nodes in graph.indices(split).items():
            sizes = torch.bincount(graph.y[nodes], minlength=graph.num_classes)
            chosen = sizes if metric.positive is None else sizes[metric.positive]
            if nodes.numel() and not bool(((chosen > 0) & (chosen < nodes.numel())).any()):
                raise InputError(
                    f"The metric {metric.metric} needs nodes that are of a class and others that are not. The {name} "
                    f"set of split {split} has only one kind: choose another metric or split."
                )


class _Sets:
    """One set (train, val or test) of each member's split, as lists of equal length with weights."""

    def __init__(self, graph: Graph, splits: Sequence[int], name: str) -> None:
        nodes = [graph.indices(split)[name] for split in splits]
        longest = max(index.numel() for index in nodes)
        self.nodes = torch.stack([F.pad(index, (0, longest - index.numel())) for index in nodes])
        sizes = torch.tensor([index.numel() for index in nodes], device=self.nodes.device)
        self._sizes = sizes.unsqueeze(1)
        self._inside = torch.arange(longest, device=self.nodes.device) < self._sizes
        self.labels = graph.y[self.nodes].masked_fill(~self._inside, 0)
        self._weights: Tensor | None = None

    def weigh(self, graph: Graph, splits: Sequence[int], config: TrainingConfig) -> None:
        """Let classes weigh in the losses what the settings of training say, in each member's training set."""
        known = [class_weights(graph.y[graph.indices(split)["train"]], graph, config) for split in splits]
        weights = [each for each in known if each is not None]
        if weights:
            self._weights = torch.stack(weights).gather(1, self.labels)

    def _gather(self, logits: Tensor) -> Tensor:
        return logits.gather(1, self.nodes.unsqueeze(2).expand(-1, -1, logits.shape[2]))

    def losses(self, logits: Tensor) -> Tensor:
        """Mean cross entropy of each member."""
        shares = self._inside.to(logits.dtype) / self._sizes
        if self._weights is not None:
            shares = shares * self._weights.to(logits.dtype)
        return losses(logits, self.nodes, self.labels, shares)

    def accuracies(self, logits: Tensor) -> Tensor:
        """Share of nodes whose largest score is that of their class."""
        return hits(logits, self.nodes, self.labels, self._inside).double() / self._sizes.squeeze(1)

    def rankings(self, logits: Tensor, metric: Scoring) -> Tensor:
        """ROC AUC or average precision: of the positive class, or the mean over classes that can be ranked."""
        if not self.nodes.shape[1]:
            return torch.full((len(logits),), torch.nan, dtype=torch.float64, device=logits.device)
        found = self._gather(logits).double().softmax(2)
        several = metric.positive is None and logits.shape[2] != 2
        classes = range(logits.shape[2]) if several else [1 if metric.positive is None else metric.positive]
        each = [
            ranking_scores(metric.metric, found[:, :, label].contiguous(), self.labels == label, self._inside)
            for label in classes
        ]
        return torch.stack(each).nanmean(0)

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
