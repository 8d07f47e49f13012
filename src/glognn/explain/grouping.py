"""Whether nodes of a class have large coefficients for one another: the grouping effect, measured.

The paper shows heat maps of Z* and H for small graphs and calls them block diagonal. Here that is also a number,
computed block by block, so that nothing n x n is ever in memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from glognn.errors import InputError
from glognn.explain.coefficients import coefficient_rows
from glognn.graph.graph import Graph
from glognn.models.glognn import GloGNN

BLOCK = 256
HEAT_MAP_UP_TO = 3000
"""Nodes up to which the whole of Z* may be drawn."""


@dataclass(frozen=True)
class Grouping:
    """Means over ordered pairs of different labelled nodes.

    Attributes:
        within: Mean coefficient Z*_ij of pairs of the same class.
        between: The same for pairs of different classes.
        contrast: (within - between) divided by the mean absolute coefficient: 0 without any grouping.
        within_positive: Share of same-class pairs with a positive coefficient.
        between_positive: The same for pairs of different classes.
    """

    within: float
    between: float
    contrast: float
    within_positive: float
    between_positive: float


def measure_grouping(model: GloGNN, graph: Graph, *, block: int = BLOCK) -> Grouping:
    """Compare coefficients within and between classes, in O(n^2 c) time and O(n block) memory."""
    y = graph.y.cpu()
    labelled = (y >= 0).nonzero().view(-1)
    totals = torch.zeros(2, 3, dtype=torch.float64)  # different, same: sum, positive, number
    absolute = 0.0
    for nodes in torch.split(labelled, block):
        rows = coefficient_rows(model, graph, nodes).cpu()[:, labelled]
        same = y[nodes].unsqueeze(1) == y[labelled]
        other = nodes.unsqueeze(1) != labelled
        absolute += float(rows[other].abs().sum())
        for kind, mask in enumerate((~same & other, same & other)):
            chosen = rows[mask]
            totals[kind] += torch.tensor([chosen.sum(), (chosen > 0).sum(), chosen.numel()], dtype=torch.float64)
    if bool((totals[:, 2] == 0).any()):
        raise InputError("Grouping needs two labelled nodes of one class and one of another.")
    means, positive = totals[:, 0] / totals[:, 2], totals[:, 1] / totals[:, 2]
    scale = absolute / float(totals[:, 2].sum())
    return Grouping(
        within=float(means[1]),
        between=float(means[0]),
        contrast=float((means[1] - means[0]) / scale) if scale else 0.0,
        within_positive=float(positive[1]),
        between_positive=float(positive[0]),
    )


@torch.no_grad()
def ordered_by_class(model: GloGNN, graph: Graph) -> tuple[Tensor, Tensor, Tensor]:
    """Z* (n x n), H (n x classes) and the classes, nodes ordered by class; for graphs small enough to be drawn."""
    if graph.num_nodes > HEAT_MAP_UP_TO:
        raise InputError(f"A heat map is for graphs of up to {HEAT_MAP_UP_TO} nodes. Got {graph.num_nodes} instead.")
    order = torch.argsort(graph.y.cpu(), stable=True)
    coefficients = coefficient_rows(model, graph, torch.arange(graph.num_nodes)).cpu()
    model.eval()
    like = next(model.parameters())
    prepared = graph.to(device=like.device, dtype=like.dtype)
    embedding = model.embeddings(model.prepare(prepared))[-1].cpu()
    return coefficients[order][:, order], embedding[order], graph.y.cpu()[order]
