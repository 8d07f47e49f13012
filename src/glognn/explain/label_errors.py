"""Labels that are probably wrong: ranked, with reasons, by models that did not see them.

The labelled nodes are put into folds; for each fold a model of the same settings is trained on the others, so that
every label is judged by a model that never saw it. Judged is by two things: the probability that this model gives the
label, and, where the model has coefficients Z*, the labels of the nodes it is made of, each counted with its
coefficient: a label that speaks against all of a node's supporters is suspicious even where the model is unsure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from glognn.data.splits import folds as make_folds
from glognn.errors import InputError, TrainingError
from glognn.explain.contributions import GlobalContributions
from glognn.graph.graph import Graph
from glognn.models.base import NodeModel
from glognn.models.configs import ModelConfig
from glognn.models.glognn import GloGNN
from glognn.training.config import TrainingConfig
from glognn.training.driver import train_batch
from glognn.training.predict import predict

Floats = npt.NDArray[np.float64]
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Judged:
    """What models that did not see a node's label say of it; rows of nodes without a label are nan.

    Attributes:
        probabilities: Of each class, n x c.
        votes: Of each class, n x c: coefficients of its supporters, added up by their labels and divided by the sum of
            their sizes; ``None`` for models without Z*.
        folds: How many models were trained.
    """

    probabilities: Floats
    votes: Floats | None
    folds: int


def judge_labels(graph: Graph, model: ModelConfig, training: TrainingConfig, folds: int = FOLDS) -> Judged:
    """Train a model for each fold of the labelled nodes, and let each judge the fold that it did not see.

    One further fold of each decides when its training stops, as validation nodes.
    """
    if folds < 3:
        raise InputError(f"Labels are judged in at least 3 folds. Got {folds} instead.")
    judged = make_folds(graph.y, folds, seed=training.seed)["val"]
    folds, validating = judged.shape[1], judged.roll(-1, dims=1)
    training_nodes = (graph.y.cpu() >= 0).unsqueeze(1) & ~judged & ~validating
    split = graph.with_masks({"train": training_nodes, "val": validating, "test": judged})
    models = _new_models(split, model, training, folds)
    configs = [replace(training, selection="best")] * folds
    endings = train_batch(models, split, splits=range(folds), configs=configs)
    for ending in endings:
        if isinstance(ending, TrainingError):
            raise ending
    found = np.full((graph.num_nodes, graph.num_classes), np.nan)
    votes = found.copy()
    for number, each in enumerate(models):
        seen = split.masks["test"][:, number].cpu().numpy()
        found[seen] = predict(each, split)[torch.from_numpy(seen)].double().cpu().numpy()
        if isinstance(each, GloGNN) and each.config.num_layers:
            known = split.masks["train"][:, number] | split.masks["val"][:, number]
            votes[seen] = label_votes(GlobalContributions(each, split), known)[seen]
    return Judged(found, None if np.isnan(votes).all() else votes, folds)


def _new_models(graph: Graph, model: ModelConfig, training: TrainingConfig, count: int) -> list[NodeModel[Any]]:
    with torch.random.fork_rng([]):
        torch.manual_seed(training.seed)
        return [model.model_class().for_graph(graph, model) for _ in range(count)]


@torch.no_grad()
def label_votes(found: GlobalContributions, known: Tensor) -> Floats:
    """For each node and class, the coefficients of the ``known`` nodes of that class, added up, n x c; of every node
    the row divided by its largest size. In O(c (n c + K nnz))."""
    y = found.graph.y
    classes = found.embeddings[0].shape[1]
    shown = torch.nn.functional.one_hot(y.clamp(min=0), classes).double() * (known & (y >= 0)).unsqueeze(1)
    votes = found.layer(found.num_layers).applied(shown.to(found.embeddings[0].device))
    sizes = votes.abs().amax(dim=1, keepdim=True)
    return (votes / torch.where(sizes > 0, sizes, 1.0)).cpu().numpy()


def suspicion(judged: Judged, y: npt.NDArray[np.int64]) -> Floats:
    """How suspicious each label is, from 0 to 1; nan without one.

    The probability that the label is another class, less what the label has over the class that is thought more likely:
    the mean of 1 - p(label) and of how much the likeliest other class exceeds it, in probability and in votes.
    """
    rows = np.flatnonzero(y >= 0)
    score = np.full(len(y), np.nan)
    parts = [_excess(judged.probabilities[rows], y[rows])]
    if judged.votes is not None:
        votes = np.exp(2 * judged.votes[rows])
        parts.append(_excess(votes / votes.sum(axis=1, keepdims=True), y[rows]))
    score[rows] = np.average(parts, axis=0, weights=[0.8, 0.2][: len(parts)])
    return score


def _excess(probabilities: Floats, y: npt.NDArray[np.int64]) -> Floats:
    """(1 + p(likeliest other class) - p(label)) / 2."""
    places = np.arange(len(y))
    others = probabilities.copy()
    others[places, y] = -np.inf
    found: Floats = (1 + others.max(axis=1) - probabilities[places, y]) / 2
    return found


@dataclass(frozen=True)
class Suspect:
    """A label that is probably wrong.

    Attributes:
        node: Its number.
        label, suggestion: The class it has, and the one that it is thought to be of.
        suspicion: From 0 to 1; what suspects are ranked by.
        probability: Of the suggestion, by a model that did not see the label.
        label_probability: Of the label, likewise.
        votes: Of its supporters for the suggestion less those for the label, from -2 to 2; ``None`` without Z*.
        neighbours: How many labelled neighbours it has, and how many of them are of the label and of the suggestion.
    """

    node: int
    label: int
    suggestion: int
    suspicion: float
    probability: float
    label_probability: float
    votes: float | None
    neighbours: tuple[int, int, int]

    def reasons(self, names: Sequence[Any]) -> list[str]:
        """In words, the strongest first."""
        label, suggestion = names[self.label], names[self.suggestion]
        told = [
            f"a model that did not see the label gives {suggestion} {100 * self.probability:.0f} % and {label} "
            f"{100 * self.label_probability:.0f} %"
        ]
        if self.votes is not None and abs(self.votes) > 0.05:
            side = suggestion if self.votes > 0 else label
            told.append(f"the nodes it is made of vote for {side}, by {abs(self.votes):.2f} of at most 2")
        total, same, other = self.neighbours
        if total:
            told.append(f"of {total} labelled neighbours {other} are {suggestion} and {same} are {label}")
        return told


def find_suspects(graph: Graph, judged: Judged, threshold: float = 0.5) -> list[Suspect]:
    """Labels that another class is thought likelier than, the most suspicious first."""
    y = graph.y.cpu().numpy()
    score = suspicion(judged, y)
    matrix = graph.adjacency.matrix.to_scipy()
    links = matrix if graph.adjacency.matrix.is_symmetric else matrix.maximum(matrix.T.tocsr())
    links = links.tocsr()
    found = []
    for node in np.argsort(-np.nan_to_num(score, nan=-1.0), kind="stable").tolist():
        if not score[node] > threshold:
            break
        row = judged.probabilities[node].copy()
        label = int(y[node])
        row[label] = -np.inf
        suggestion = int(row.argmax())
        near = links.indices[links.indptr[node] : links.indptr[node + 1]]
        near = y[near[near != node]]
        votes = None if judged.votes is None else float(judged.votes[node, suggestion] - judged.votes[node, label])
        found.append(
            Suspect(
                node=node,
                label=label,
                suggestion=suggestion,
                suspicion=float(score[node]),
                probability=float(judged.probabilities[node, suggestion]),
                label_probability=float(judged.probabilities[node, label]),
                votes=votes,
                neighbours=(int((near >= 0).sum()), int((near == label).sum()), int((near == suggestion).sum())),
            )
        )
    return found
