"""A model as a whole: which classes speak for which, and which nodes are decided by far ones alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch

from glognn.errors import InputError
from glognn.explain.contributions import GlobalContributions
from glognn.explain.explainer import NodeExplainer
from glognn.explain.global_homophily import by_distance
from glognn.explain.grouping import measure_grouping
from glognn.explain.neighbourhood import Neighbourhood
from glognn.graph.graph import Graph
from glognn.models.glognn import GloGNN

Floats = npt.NDArray[np.float64]
BLOCK = 256
NEAR = 2
LOOKED_AT = 2000
"""Nodes that are looked at for far ones, drawn where there are more."""
SMALL = 5000
"""Nodes up to which grouping and distances, which look at every pair of nodes, are measured too."""


@dataclass(frozen=True, eq=False)
class ClassMatrix:
    """How classes speak for one another.

    Attributes:
        nodes: Of each class: by label, where there is none by prediction.
        coefficients: Mean of Z*_ij over nodes i of class a (row) and j of class b (column).
        margins: Mean over nodes i of class a of what all nodes of class b add, together, to the score of class a less
            the mean of what they add to the other classes.
    """

    nodes: list[int]
    coefficients: Floats
    margins: Floats


@dataclass(frozen=True, eq=False)
class FarNodes:
    """Nodes that would be of another class without what nodes more than ``near`` hops away say.

    Attributes:
        near: Hops that count as near.
        looked_at: How many nodes were looked at.
        nodes: Those decided by far ones, the most so first.
        predicted, otherwise: Their class, and what it would be without the far nodes.
        margins: What far nodes add to the one less what they add to the other.
    """

    near: int
    looked_at: int
    nodes: list[int]
    predicted: list[int]
    otherwise: list[int]
    margins: list[float]


@torch.no_grad()
def class_matrix(found: GlobalContributions) -> ClassMatrix:
    """Mean coefficients and contributions between classes, in O(c (n c + K nnz)): no n x n number is formed."""
    groups = _groups(found)
    classes = found.scores.shape[1]
    member = torch.nn.functional.one_hot(groups, classes).double()
    counts = member.sum(dim=0)
    rows = found.layer(found.num_layers).combined(member.T.contiguous())
    each = torch.where(counts > 0, counts, 1.0)
    means = (rows @ member) / (each.unsqueeze(1) * each.unsqueeze(0))
    gathered = torch.einsum("an,nb,nk->abk", rows, member, found.seen) / each.view(-1, 1, 1)
    own = torch.stack([gathered[:, :, k][k] for k in range(classes)])
    total = gathered.sum(dim=2) - own
    margins = own - total / max(classes - 1, 1)
    return ClassMatrix([int(count) for count in counts], means.cpu().numpy(), margins.cpu().numpy())


def _groups(found: GlobalContributions) -> torch.Tensor:
    y = found.graph.y
    return torch.where(y >= 0, y, found.scores.argmax(dim=1))


@torch.no_grad()
def far_nodes(found: GlobalContributions, near: int = NEAR, looked_at: int = LOOKED_AT, seed: int = 0) -> FarNodes:
    """Nodes whose class hangs on far ones, in O(n c + K nnz) for each that is looked at, block by block."""
    count = found.graph.num_nodes
    nodes = np.arange(count)
    if count > looked_at:
        nodes = np.sort(np.random.default_rng(seed).choice(count, looked_at, replace=False))
    links = Neighbourhood(found.graph).links
    links = sp.csr_array((np.ones(links.nnz, dtype=np.float32), links.indices, links.indptr), shape=links.shape)
    seen, scores = found.seen.cpu().numpy(), found.scores.cpu().numpy()
    told: list[tuple[float, int, int, int]] = []
    for start in range(0, len(nodes), BLOCK):
        block = nodes[start : start + BLOCK]
        unit = torch.zeros(len(block), count, dtype=torch.float64, device=found.scores.device)
        unit[torch.arange(len(block)), torch.from_numpy(block)] = 1
        rows = found.layer(found.num_layers).combined(unit).cpu().numpy()
        inside = reached = sp.csr_array(
            (np.ones(len(block)), (np.arange(len(block)), block)), shape=(len(block), count)
        )
        for _ in range(near):
            reached = reached @ links
            inside = inside + reached
        place_rows, place_columns = inside.nonzero()
        rows[place_rows, place_columns] = 0
        far = rows @ seen
        with_far, without = scores[block].argmax(axis=1), (scores[block] - far).argmax(axis=1)
        for place in np.flatnonzero(with_far != without):
            first, second = int(with_far[place]), int(without[place])
            told.append((float(far[place, first] - far[place, second]), int(block[place]), first, second))
    told.sort(key=lambda each: -each[0])
    return FarNodes(
        near=near,
        looked_at=len(nodes),
        nodes=[node for _, node, _, _ in told],
        predicted=[predicted for _, _, predicted, _ in told],
        otherwise=[otherwise for _, _, _, otherwise in told],
        margins=[margin for margin, _, _, _ in told],
    )


def describe(explainer: NodeExplainer, near: int = NEAR) -> dict[str, Any]:
    """A model with coefficients as a whole, as plain data; of several models, of the one that weighs most."""
    able = [each for each in explainer.members if each.source.has_coefficients]
    if not able:
        held = " and ".join(dict.fromkeys(each.name for each in explainer.members))
        raise InputError(
            f"A model as a whole is explained by its coefficients Z*. Got {held} without any: explain nodes with "
            "--node ID, or train with --model glognn++."
        )
    member = max(able, key=lambda each: each.weight)
    found, names = member.source.contributions, explainer.names
    classes = [names.class_(number) for number in range(found.scores.shape[1])]
    matrix, far = class_matrix(found), far_nodes(found, near)
    model, graph = member.source.model, found.graph
    assert isinstance(model, GloGNN)
    small = graph.num_nodes <= SMALL and int((graph.y >= 0).sum()) > 1
    return {
        "model": member.name,
        "classes": classes,
        "class_matrix": {
            "nodes": matrix.nodes,
            "coefficients": matrix.coefficients.tolist(),
            "margins": matrix.margins.tolist(),
        },
        "grouping": _grouping(model, graph) if small else None,
        "by_distance": [asdict(row) for row in by_distance(model, graph)] if small else None,
        "far": {
            "near": far.near,
            "looked_at": far.looked_at,
            "nodes": [
                {
                    "node": names.node(node),
                    "prediction": names.class_(first),
                    "otherwise": names.class_(second),
                    "margin": margin,
                }
                for node, first, second, margin in zip(
                    far.nodes, far.predicted, far.otherwise, far.margins, strict=True
                )
            ],
        },
    }


def _grouping(model: GloGNN, graph: Graph) -> dict[str, float] | None:
    try:
        return asdict(measure_grouping(model, graph))
    except InputError:  # no two labels of one class
        return None
