"""How alike linked nodes are."""

from __future__ import annotations

import torch
from torch import Tensor

from glognn.graph.sparse import SparseMatrix


def edge_homophily(adjacency: SparseMatrix, y: Tensor) -> float:
    """The share of edges that join nodes of the same class, self-loops included (the paper's rule).

    Each undirected edge counts once, a self-loop once; edges at an unlabelled node (label -1) do not count.
    Returns nan when no edge joins two labelled nodes.
    """
    csr = adjacency.csr
    degrees = csr.crow_indices().diff()
    source = torch.repeat_interleave(torch.arange(adjacency.shape[0], device=csr.device), degrees)
    target = csr.col_indices().to(torch.int64)
    labelled = (y[source] >= 0) & (y[target] >= 0)
    weight = torch.ones(source.numel(), device=csr.device, dtype=torch.float64)
    if adjacency.is_symmetric:
        weight[source != target] = 0.5
    same = y[source] == y[target]
    counted = weight[labelled].sum()
    return float(weight[labelled & same].sum() / counted) if counted > 0 else float("nan")
