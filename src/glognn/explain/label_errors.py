"""Labels that are probably wrong: ranked, with reasons, by models that did not see them.

The labelled nodes are put into folds, several times; for each fold a model of the same settings is trained on the
others, so that every label is judged by models that never saw it, whose probabilities are averaged. Judged is by three
things: the probability that these models give the label; where they have coefficients Z*, the labels of the nodes it
is made of, each counted with its coefficient: a label that speaks against all of a node's supporters is suspicious
even where the models are unsure; and, for a fifth, the probability by models that were trained on it: a label that
they could not learn is suspicious, too.

How much votes count, and whether a label is suspicious because it is unlikely or because another one is much likelier,
is decided on the graph itself: some labels are replaced, as a test, and the rule that finds them best is taken. That
needs no further training, for the models never saw the labels that they judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from glognn.training.callbacks import Callback
from glognn.training.config import TrainingConfig
from glognn.training.driver import train_batch
from glognn.training.predict import predict

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
FOLDS = 5
REPEATS = 3
"""How often nodes are put into folds."""
VOTES = (0.0, 0.05, 0.1, 0.2, 0.4)
"""Weights of votes that are tried."""
TRAINED, LEAST = 0.2, 1e-3
"""Weight of models that were trained on a label, and what is added to probabilities before their logarithm is taken;
chosen on texas, wisconsin, cornell, citeseer and actor."""
TESTS, REPLACED = 8, 0.05
"""How often labels are replaced to choose a rule, and which share of them."""


@dataclass(frozen=True, eq=False)
class Judged:
    """What models that did not see a node's label say of it; rows of nodes without a label are nan.

    Attributes:
        probabilities: Of each class, n x c.
        trained: The same by models that were trained on the label.
        votes: Of each class, n x c: coefficients of its supporters, added up by their labels and divided by the sum of
            their sizes; ``None`` for models without Z*.
        folds: How many models were trained.
    """

    probabilities: Floats
    trained: Floats
    votes: Floats | None
    folds: int


def judge_labels(
    graph: Graph,
    model: ModelConfig,
    training: TrainingConfig,
    folds: int = FOLDS,
    repeats: int = REPEATS,
    callbacks: Iterable[Callback] = (),
) -> Judged:
    """Train a model for each fold of the labelled nodes, and let each judge the fold that it did not see.

    One further fold of each decides when its training stops, as validation nodes. That is done ``repeats`` times, with
    other folds, all models together, and what they say is averaged.
    """
    if folds < 3:
        raise InputError(f"Labels are judged in at least 3 folds. Got {folds} instead.")
    made = [make_folds(graph.y, folds, seed=training.seed + number)["val"] for number in range(repeats)]
    judged, validating = torch.cat(made, dim=1), torch.cat([each.roll(-1, dims=1) for each in made], dim=1)
    folds = judged.shape[1]
    training_nodes = (graph.y.cpu() >= 0).unsqueeze(1) & ~judged & ~validating
    split = graph.with_masks({"train": training_nodes, "val": validating, "test": judged})
    models = _new_models(split, model, training, folds)
    configs = [replace(training, selection="best")] * folds
    endings = train_batch(models, split, splits=range(folds), configs=configs, callbacks=callbacks)
    for ending in endings:
        if isinstance(ending, TrainingError):
            raise ending
    nothing = np.zeros((graph.num_nodes, graph.num_classes))
    found, learnt, votes, voted = nothing, nothing.copy(), nothing.copy(), False
    for number, each in enumerate(models):
        masks = {name: mask[:, number].cpu().numpy() for name, mask in split.masks.items()}
        likely = predict(each, split).double().cpu().numpy()
        found[masks["test"]] += likely[masks["test"]]
        learnt[masks["train"]] += likely[masks["train"]]
        if isinstance(each, GloGNN) and each.config.num_layers:
            voted, known = True, split.masks["train"][:, number] | split.masks["val"][:, number]
            votes[masks["test"]] += label_votes(GlobalContributions(each, split), known)[masks["test"]]
    tests, trainings = (split.masks[name].sum(dim=1, keepdim=True).cpu().numpy() for name in ("test", "train"))
    with np.errstate(invalid="ignore"):
        return Judged(found / tests, learnt / trainings, votes / tests if voted else None, folds)


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


@dataclass(frozen=True)
class Rule:
    """How labels are ranked.

    Attributes:
        votes: Weight of the votes, beside that of the probabilities; they sum to 1.
        against: ``nothing``: the less likely the label, the more suspicious; ``likeliest``: the more the likeliest
            other class exceeds it.
        precision: Average precision with which it finds labels that were replaced as a test.
    """

    votes: float
    against: str
    precision: float = 0.0

    def likely(self, judged: Judged) -> Floats:
        """How likely each class is thought to be, n x c."""
        if judged.votes is None or not self.votes:
            return judged.probabilities
        powers = np.exp(2 * judged.votes)
        shares: Floats = powers / powers.sum(axis=1, keepdims=True)
        return (1 - self.votes) * judged.probabilities + self.votes * shares

    def suspicion(self, likely: Floats, y: Labels, trained: Floats | None = None) -> Floats:
        """From 0 to 1; nan for a node without a label, or with one that nobody judged.

        Args:
            likely: How likely each class is thought to be.
            y: The labels.
            trained: Probabilities by models that were trained on the labels, where there are such.
        """
        places = np.arange(len(y))
        own: Floats = np.where(y >= 0, likely[places, y], np.nan)
        if trained is not None:
            learnt = np.nan_to_num(trained[places, y], nan=1.0)
            own = np.exp((1 - TRAINED) * np.log(own + LEAST) + TRAINED * np.log(learnt + LEAST)) - LEAST
        others = np.ones(len(y))
        if self.against == "likeliest":
            rest = likely.copy()
            rest[places, y] = -np.inf
            others = rest.max(axis=1)
        found: Floats = (1 - own + others) / 2
        return np.clip(found, 0, 1)


def choose_rule(judged: Judged, y: Labels, *, seed: int = 0) -> Rule:
    """The rule that best finds labels which are replaced as a test, by another class drawn alike."""
    from sklearn.metrics import average_precision_score

    rows = np.flatnonzero((y >= 0) & np.isfinite(judged.probabilities).all(axis=1))
    seen = replace(
        judged,
        probabilities=judged.probabilities[rows],
        votes=None if judged.votes is None else judged.votes[rows],
    )
    classes = judged.probabilities.shape[1]
    weights = VOTES if judged.votes is not None else (0.0,)
    rules = [Rule(weight, against) for weight in weights for against in ("nothing", "likeliest")]
    likely = {rule: rule.likely(seen) for rule in rules}
    totals = dict.fromkeys(rules, 0.0)
    generator = np.random.default_rng(seed)
    for _ in range(TESTS):
        wrong = np.zeros(len(rows), dtype=bool)
        wrong[generator.choice(len(rows), max(1, round(REPLACED * len(rows))), replace=False)] = True
        tried = np.where(wrong, (y[rows] + generator.integers(1, classes, len(rows))) % classes, y[rows])
        for rule in rules:
            totals[rule] += average_precision_score(wrong, rule.suspicion(likely[rule], tried)) / TESTS
    best = max(rules, key=totals.__getitem__)
    return replace(best, precision=float(totals[best]))


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
            f"models that did not see the label give {suggestion} {100 * self.probability:.0f} % and {label} "
            f"{100 * self.label_probability:.0f} %"
        ]
        if self.votes is not None and abs(self.votes) > 0.05:
            side = suggestion if self.votes > 0 else label
            told.append(f"the nodes it is made of vote for {side}, by {abs(self.votes):.2f} of at most 2")
        total, same, other = self.neighbours
        if same + other:
            found = [(other, suggestion), (same, label)]
            counts = " and ".join(f"{count:,} {'is' if count == 1 else 'are'} {name}" for count, name in found if count)
            told.append(f"of {total:,} labelled neighbour{'s' * (total > 1)} {counts}")
        return told


def find_suspects(graph: Graph, judged: Judged, rule: Rule) -> list[Suspect]:
    """Labels that another class is thought likelier than, the most suspicious first."""
    y = graph.y.cpu().numpy()
    likely = rule.likely(judged)
    score = rule.suspicion(likely, y, judged.trained)
    matrix = graph.adjacency.matrix
    links = matrix.to_scipy()
    if not matrix.is_symmetric:
        links = (links + links.T).tocsr()
    judged_rows = np.flatnonzero(np.isfinite(score))
    doubted = judged_rows[likely[judged_rows].argmax(axis=1) != y[judged_rows]]
    found = []
    for node in doubted[np.argsort(-score[doubted], kind="stable")].tolist():
        label, suggestion = int(y[node]), int(likely[node].argmax())
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
