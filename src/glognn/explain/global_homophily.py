"""Where the nodes of a node's class are, and how many of them get a positive coefficient: global homophily, measured.

For every hop distance the average number of nodes of the same class, and of those among them with a positive
coefficient Z*_ij, as in the paper's study; block by block, nothing n x n in memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch

from glognn.explain.coefficients import coefficient_rows
from glognn.graph.graph import Graph
from glognn.models.glognn import GloGNN

BLOCK = 256
MAX_HOPS = 6


@dataclass(frozen=True)
class DistanceRow:
    """Averages over labelled nodes, for one distance: ``"1"`` to ``"6"``, ``">6"`` or ``"unreachable"``.

    Attributes:
        nodes: Labelled nodes at that distance.
        same: Those of the same class.
        same_positive: Those of the same class with a positive coefficient.
        positive: Those with a positive coefficient.
    """

    distance: str
    nodes: float
    same: float
    same_positive: float
    positive: float


def by_distance(model: GloGNN, graph: Graph, *, max_hops: int = MAX_HOPS, block: int = BLOCK) -> list[DistanceRow]:
    """Count by hop distance along edges in either direction, in O(n nnz) time per hop and O(n block) memory."""
    matrix = graph.adjacency.matrix.to_scipy()
    links = sp.csr_array(((matrix + matrix.T) != 0).astype(np.float32))
    y = graph.y.cpu().numpy()
    labelled = np.flatnonzero(y >= 0)
    names = [*(str(hop) for hop in range(1, max_hops + 1)), f">{max_hops}", "unreachable"]
    totals = np.zeros((len(names), 4))
    for start in range(0, labelled.size, block):
        nodes = labelled[start : start + block]
        place = _distances(links, nodes, max_hops)[:, labelled]
        positive = coefficient_rows(model, graph, torch.from_numpy(nodes)).cpu().numpy()[:, labelled] > 0
        same = y[nodes][:, None] == y[labelled]
        for index in range(len(names)):
            there = place == index + 1
            totals[index] += [
                there.sum(),
                (there & same).sum(),
                (there & same & positive).sum(),
                (there & positive).sum(),
            ]
    averages = totals / max(labelled.size, 1)
    return [DistanceRow(name, *(float(value) for value in row)) for name, row in zip(names, averages, strict=True)]


def _distances(links: sp.csr_array, nodes: npt.NDArray[np.int64], max_hops: int) -> npt.NDArray[np.int16]:
    """Hops from each of some nodes to all: 0 itself, 1 to max_hops, one more beyond, two more where no path leads."""
    n = links.shape[0]
    found = np.full((n, nodes.size), max_hops + 2, dtype=np.int16)
    columns = np.arange(nodes.size)
    found[nodes, columns] = 0
    frontier = np.zeros((n, nodes.size), dtype=np.float32)
    frontier[nodes, columns] = 1.0
    unseen = frontier == 0
    hop = 0
    while frontier.any():
        hop += 1
        reached = (links @ frontier > 0) & unseen
        found[reached] = min(hop, max_hops + 1)
        unseen &= ~reached
        frontier = reached.astype(np.float32)
    return found.T
