"""What the labels of the training nodes speak for: a linear look at a graph, before a model is built.

Rows of links carry some graphs and ruin others, and degrees cost where labels are few. What a model gains by an input
is told by a ridge regression of the classes, far cheaper than the model: on the features and on their means over two
hops, which stand for what the closed-form layer sees without it, and on the input besides. An input is read where that
predicts labels which were held out (a fifth of the training nodes at a time) surely better, by the squared error or by
how many are right, and no worse by the other.

The regression is by conjugate gradients, with the best penalty and number of steps on held-out labels; all classes,
folds and penalties are columns of one problem. Cost: 20 products with each matrix and as many with its transpose, with
these columns, for each of at most six sets of inputs. Validation and test labels are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import chi2
from torch import Tensor

from glognn.graph.directions import lists_one_way
from glognn.graph.graph import Graph
from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.nn.inputs import BOTH, FEATURES, INPUTS, OPERATORS
from glognn.ops.products import matmul

HOPS, FOLDS, STEPS, SAMPLES = 2, 5, 20, 16
PENALTIES = (0.2, 1.5, 12.0)
"""Of the squared weights of an input, whose rows have length 1."""
TOGETHER = 2**26
"""Values of all nodes up to which penalties are tried at once; beyond, one after another in a third of the memory."""
MANY = 5_000
"""With more training nodes than this one fold is held out, and not each of them in turn."""
SURE = 2.0
"""Standard errors by which the squared error must fall, or the share that is right must rise."""
BY_CHANCE, APART = 1e-6, 0.1
"""Ends of edges are told apart by so small a probability of chance, and where so large a share of the edges between two
classes leads one way more than the other."""


@dataclass(frozen=True)
class _Block:
    """An input with a row for each node, and what products with the graph make of it: a matrix for each of ``scales``.

    Weights are columns of the input x these matrices x columns of the problem.
    """

    matrix: Matrix
    graph: SparseMatrix
    scales: tuple[float, ...]

    def rows(self, weights: Tensor) -> Tensor:
        """The sum over the matrices."""
        parts = matmul(self.matrix, weights.flatten(1)).view(-1, *weights.shape[1:])
        found = self.scales[-1] * parts[:, -1]
        for hop in reversed(range(len(self.scales) - 1)):
            found = self.scales[hop] * parts[:, hop] + matmul(self.graph, found)
        return found

    def adjoint(self, values: Tensor) -> Tensor:
        turned = self.matrix.transpose if isinstance(self.matrix, SparseMatrix) else self.matrix.T
        smoothed = [values]
        for _ in self.scales[1:]:
            smoothed.append(matmul(self.graph, smoothed[-1]))  # its own transpose
        parts = torch.stack([scale * part for scale, part in zip(self.scales, smoothed, strict=True)], dim=1)
        return matmul(turned, parts.flatten(1)).view(-1, *parts.shape[1:])


@dataclass(frozen=True)
class _Judged:
    """Squared errors of nodes that were held out, and which of them are right."""

    errors: Tensor
    right: Tensor

    def surely_better_than(self, other: _Judged) -> bool:
        """By one of the two measures, and no worse by the other."""
        gained, more = other.errors - self.errors, self.right.double() - other.right.double()
        return (_surely_positive(gained) and bool(more.sum() >= 0)) or (
            _surely_positive(more) and bool(gained.sum() > 0)
        )


def _surely_positive(values: Tensor) -> bool:
    return bool(values.mean() > SURE * values.std() / len(values) ** 0.5)


def choose_inputs(graph: Graph, split: int, offered: Sequence[str]) -> list[str]:
    """Those of some inputs of :mod:`glognn.nn.inputs` that the training labels of a split speak for.

    Features are taken where there are any; of the others the best first, as long as one adds to those before. All of
    them, where there are no features and nothing says more than the shares of the classes.
    """
    with torch.no_grad():
        probe = _Probe(graph, split)
        chosen = [name for name in offered if INPUTS[name].of_features and graph.x is not None]
        waiting = [name for name in offered if not INPUTS[name].of_features]
        best = probe.judge(chosen)
        while waiting:
            found = {name: probe.judge([*chosen, name]) for name in waiting}
            name = min(found, key=lambda each: float(found[each].errors.mean()))
            if not found[name].surely_better_than(best):
                break
            chosen.append(name)
            waiting.remove(name)
            best = found[name]
    return [name for name in offered if name in chosen] or waiting


def tell_ends_apart(graph: Graph, split: int) -> bool:
    """Whether training labels tell the two ends of edges apart, of which the list says nothing (``lists_one_way``).

    If the order of the two ends means nothing, about as many edges lead from one class to another as back, of those
    between training nodes: Bowker's test of symmetry (JASA 1948). But nodes may have been numbered in a random order,
    and each edge listed from the lower number on, which turns all edges of some nodes the same way. So the variance is
    that under such an order, e + sum over nodes of d (d - 1) / 3, with e edges between two classes and d of them at a
    node.
    """
    if not lists_one_way(graph.adjacency):
        return False
    train, classes = graph.masks["train"][:, split].cpu().numpy(), graph.num_classes
    entries, y = graph.adjacency.matrix.to_scipy().tocoo(), graph.y.cpu().numpy()
    known = train[entries.row] & train[entries.col] & (y[entries.row] != y[entries.col])
    source, target = entries.row[known], entries.col[known]
    ends, others = np.concatenate([source, target]), np.concatenate([target, source])
    places, degrees = np.unique(ends.astype(np.int64) * classes + y[others], return_counts=True)
    pairs = np.zeros((classes, classes))  # of edges at one node, by its class and that of their other ends
    np.add.at(pairs, (y[places // classes], places % classes), degrees * (degrees - 1.0))
    counts = np.zeros((classes, classes))
    np.add.at(counts, (y[source], y[target]), 1)
    edges, more = counts + counts.T, np.abs(counts - counts.T)
    met = np.triu(edges) > 0
    statistic = (more**2 / np.where(met, edges + (pairs + pairs.T) / 3, 1))[met].sum()
    surely = bool(met.any()) and chi2.sf(statistic, met.sum()) < BY_CHANCE
    return surely and bool(more[met].sum() >= APART * edges[met].sum())


class _Probe:
    """The training nodes of a split, each held out of one fold."""

    def __init__(self, graph: Graph, split: int) -> None:
        self.graph, self.nodes = graph, graph.masks["train"][:, split].nonzero().view(-1).cpu()
        generator = torch.Generator().manual_seed(0)
        place = torch.randperm(len(self.nodes), generator=generator) % FOLDS
        self.folds = FOLDS if len(self.nodes) <= MANY else 1
        like = graph.adjacency.matrix
        labels = torch.nn.functional.one_hot(graph.y.cpu()[self.nodes], graph.num_classes).to(like.dtype)
        self.shares = labels.mean(dim=0)
        self.truth = labels - self.shares
        fold = torch.arange(self.folds)
        trained = (place[:, None] != fold).to(like.dtype)  # nodes x folds
        self.held = (place < self.folds).nonzero().view(-1)
        self.fold = place[self.held]
        self.mask = self._spread(trained.repeat_interleave(graph.num_classes, dim=1))
        self.target = self._spread(self.truth.repeat(1, self.folds)) * self.mask
        self.blocks: dict[str, _Block] = {}

    def _spread(self, values: Tensor) -> Tensor:
        """Rows of training nodes as rows of all."""
        like = self.graph.adjacency.matrix
        found = torch.zeros(self.graph.num_nodes, values.shape[1], dtype=like.dtype)
        found[self.nodes] = values
        return found.to(like.device)

    def _made(self, name: str) -> _Block:
        """An input whose rows of training nodes have length 1 on average, by what they make of random weights."""
        if name in self.blocks:
            return self.blocks[name]
        matrix = INPUTS[name].make(self.graph, "symmetric")
        like, graph = self.graph.adjacency.matrix, OPERATORS[BOTH].make(self.graph, "symmetric")
        drawn = torch.randn(matrix.shape[1], SAMPLES, generator=torch.Generator().manual_seed(0))
        rows, scales = matmul(matrix, drawn.to(like.device, like.dtype)), list[float]()
        for hop in range(HOPS + 1 if name == FEATURES else 1):
            rows = matmul(graph, rows) if hop else rows
            length = float(rows.cpu()[self.nodes].square().mean().sqrt())
            scales.append(1 / length if length > 0 else 0.0)
        self.blocks[name] = _Block(matrix, graph, tuple(scales))
        return self.blocks[name]

    def judge(self, names: Sequence[str]) -> _Judged:
        """What the best regression on some inputs says of nodes that were held out."""
        found = [self._judged(torch.zeros_like(self.target))]
        if names:
            together = len(PENALTIES) * self.target.numel() <= TOGETHER
            for penalties in [PENALTIES] if together else [(each,) for each in PENALTIES]:
                found += [self._judged(said) for said in self.fit(names, penalties)]
        return min(found, key=lambda each: float(each.errors.mean()))

    def fit(self, names: Sequence[str], given: Sequence[float]) -> Iterator[Tensor]:
        """What the regressions on some inputs say after each step: nodes x penalties, folds and classes."""
        blocks = [self._made(name) for name in names]
        mask, left = self.mask.repeat(1, len(given)), self.target.repeat(1, len(given))
        each = sum(len(block.scales) for block in blocks) * torch.tensor(given, dtype=left.dtype, device=left.device)
        penalties, said = each.repeat_interleave(self.target.shape[1]), torch.zeros_like(left)
        slopes = ways = [block.adjoint(left) for block in blocks]
        weights = [torch.zeros_like(slope) for slope in slopes]
        steepness = _squares(slopes)
        flat = torch.finfo(said.dtype).eps ** 1.5 * steepness  # from here on steps are rounding errors
        for _ in range(STEPS):
            rows = torch.stack([block.rows(way) for block, way in zip(blocks, ways, strict=True)]).sum(dim=0)
            step = _ratio(steepness, _squares([rows * mask]) + penalties * _squares(ways)) * (steepness > flat)
            said += step * rows
            left -= step * rows * mask
            weights = [weight + step * way for weight, way in zip(weights, ways, strict=True)]
            slopes = [block.adjoint(left) - penalties * weight for block, weight in zip(blocks, weights, strict=True)]
            before, steepness = steepness, _squares(slopes)
            ways = [slope + _ratio(steepness, before) * way for slope, way in zip(slopes, ways, strict=True)]
            yield said

    def _judged(self, said: Tensor) -> _Judged:
        """By the best penalty."""
        of_held = said.cpu()[self.nodes[self.held]].view(len(self.held), -1, self.folds, self.graph.num_classes)
        found = of_held[torch.arange(len(self.held)), :, self.fold].double()  # nodes x penalties x classes
        truth = self.truth[self.held]
        errors = (found - truth[:, None]).square().sum(dim=2)
        place = int(errors.mean(dim=0).argmin())
        right = (found[:, place] + self.shares).argmax(dim=1) == truth.argmax(dim=1)
        return _Judged(errors[:, place], right)


def _squares(parts: Sequence[Tensor]) -> Tensor:
    """Of all numbers in each column of the problem."""
    return torch.stack([part.square().flatten(0, -2).sum(dim=0) for part in parts]).sum(dim=0)


def _ratio(upper: Tensor, lower: Tensor) -> Tensor:
    return torch.where(lower > 0, upper / torch.where(lower > 0, lower, 1), 0)
