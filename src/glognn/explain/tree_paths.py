"""What each column adds to the scores of boosted trees, along the path that a node takes through every tree.

A split sends nodes to two sides, whose mean values differ from that of all: the difference is what the column of the
split adds (Saabas, 2014). Means are over the nodes of the graph, up to 4,096 of them. Parts, and the mean score of
the nodes, add up to the score.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from glognn.graph.graph import Graph
from glognn.models.trees import Trees
from glognn.nn.inputs import FEATURES, NEIGHBOURS

OWN, MEAN, EXTREME, MIXED = "own", "mean", "extreme", "mixed"
"""What a column is: the node's own feature, a mean over neighbours, a number or the least or largest of theirs, or a
mixture of features, in which none can be told."""
BACKGROUND = 4096
ROUNDS = 16
"""Walked at a time."""


@dataclass(frozen=True, eq=False)
class TreeParts:
    """The scores of one node as a sum over the columns that trees read.

    Attributes:
        scores: Class scores of the node, c.
        empty: The mean score of the nodes, c.
        values: Of the node in each column.
        by_column: What each column adds, columns x c.
    """

    scores: Tensor
    empty: Tensor
    values: Tensor
    by_column: Tensor


@torch.no_grad()
def tree_parts(model: Trees, inputs: Tensor, node: int) -> TreeParts:
    """Parts of a node's scores, in O(4,096 x trees x depth); ``inputs`` are those that the model prepared."""
    generator = torch.Generator().manual_seed(0)
    others = torch.randperm(len(inputs), generator=generator)[: BACKGROUND - 1].to(inputs.device)
    rows = inputs[torch.cat([others.new_tensor([node]), others])]
    classes, slots = model.out_channels, model.num_slots
    by_column = torch.zeros(inputs.shape[1], classes, dtype=torch.float64, device=inputs.device)
    empty = model.baseline.double().clone()
    for first in range(0, int(model.num_rounds), ROUNDS):
        last = min(first + ROUNDS, int(model.num_rounds))
        path = list(model.steps(rows, first, last))
        values = model.value[first:last].double().flatten()
        reached = values[path[-1]]
        total, count = torch.zeros_like(values), torch.zeros_like(values)
        before: Tensor | None = None
        for places in path:
            moved = torch.ones_like(reached) if before is None else (places != before).double()
            total.index_add_(0, places.flatten(), (moved * reached).flatten())
            count.index_add_(0, places.flatten(), moved.flatten())
            before = places
        mean = total / count.clamp(min=1)
        own = [places[0] for places in path]
        slot = torch.arange(own[0].numel(), device=inputs.device) % slots + classes - slots
        empty.index_add_(0, slot, mean[own[0]])
        columns = model.columns(inputs.shape[1], first, last)
        for here, there in pairwise(own):
            by_column.index_put_((columns[here], slot), mean[there] - mean[here], accumulate=True)
    return TreeParts(model.logits(rows[:1])[0].double(), empty, rows[0], by_column)


class ColumnRead(NamedTuple):
    """A column that trees read: its input and name, what it is, and of which feature; ``None`` of numbers of edges."""

    input: str
    name: str
    what: str
    feature: int | None


def columns_read(model: Trees, graph: Graph, features: list[str]) -> list[ColumnRead]:
    """All columns that trees read, in their order."""
    config, width = model.config, model.config.num_columns(model.in_channels)
    plain = width == len(features)
    own = features if plain else [f"direction {number} of the features" for number in range(width)]
    seen = [*own, "degree"]
    symmetric = graph.adjacency.matrix.is_symmetric
    found = [ColumnRead(FEATURES, name, OWN if plain else MIXED, place) for place, name in enumerate(own)]

    def all_of(words: str, what: str) -> None:
        for place, name in enumerate(seen):
            what_of = what if plain or place == width else MIXED
            found.append(ColumnRead(NEIGHBOURS, f"{words}: {name}", what_of, place if place < width else None))

    for way in ("neighbours",) if symmetric else ("nodes it points to", "nodes pointing to it"):
        found.append(ColumnRead(NEIGHBOURS, f"number of {way}", EXTREME, None))
        for hop in range(config.mean_hops):
            all_of(f"mean of {way}{'' if hop == 0 else f', {hop + 1} hops'}", MEAN)
        if model.in_channels and config.neighbour_columns(model.in_channels) > 1 + config.mean_hops * len(seen):
            for word in ("least", "largest"):
                all_of(f"{word} of {way}", EXTREME)
        if not config.neighbour_labels:
            continue
        found.append(ColumnRead(NEIGHBOURS, f"number of labelled {way}", EXTREME, None))
        classes = graph.class_names or [f"class {number}" for number in range(model.out_channels)]
        for further in ("", ", one step further"):
            names = [f"share of {name} among labelled {way}{further}" for name in classes]
            found += [ColumnRead(NEIGHBOURS, name, EXTREME, None) for name in names]
    return found
