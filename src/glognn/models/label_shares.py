"""What is known of the classes around a node: how many of its neighbours are labelled, and the shares of each class
among them and among the nodes two steps away. A node's own label is in none of its columns.

    near = (t + p) / (m + 1)        along one direction of edges: t of m labels are of the class
    far  = (t + 5 p) / (m + 5)      a step in this direction, then one in either

p is the share of the class among all known labels, which a node without labelled neighbours has. Edges count alike,
whatever they weigh, and a node once for each way to it. Ways back to the node itself are left out: a model that is
fitted on labelled nodes would read its answers there, and find none at the others. For the same reason what is made of
these columns must not be gathered from neighbours again.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from glognn.graph.sparse import SparseMatrix
from glognn.ops.products import spmm

NEAR_DOUBT, FAR_DOUBT = 1, 5
"""As many labels, in the shares of all known ones, are counted beside those that are there."""


def label_shares(ways: Sequence[SparseMatrix], known: Tensor, classes: int) -> list[Tensor]:
    """The columns of all nodes in each direction, n x columns.

    Args:
        ways: Edges out of the nodes and, where these are others, into them.
        known: The class of each node, -1 where it is not known.
        classes: How many there are.
    """
    labels = _labels(known, classes, ways[0].dtype)
    edges, loops = [_ones(way) for way in ways], [_loops(way) for way in ways]
    near = [spmm(way, labels) - loop * labels for way, loop in zip(edges, loops, strict=True)]
    either = torch.stack(near).sum(dim=0)
    mutual = _mutual(ways[0]) if len(ways) > 1 else torch.zeros_like(loops[0])
    parts = []
    for way, loop, found in zip(edges, loops, near, strict=True):
        back = way.csr.crow_indices().diff().to(labels.dtype).unsqueeze(1) - loop + mutual
        far = spmm(way, either) - loop * either - back * labels
        parts.append(_columns(found, far, known, classes))
    return parts


def new_label_shares(
    ways: Sequence[SparseMatrix], frozen: Sequence[Tensor], known: Tensor, classes: int
) -> list[Tensor]:
    """The columns of m new nodes without labels in each direction, m x columns.

    Args:
        ways: Edges out of the new nodes and into them, each m x (n + m).
        frozen: What :func:`label_shares` gave of the n known nodes.
        known: The class of each known node, -1 where it is not known.
        classes: How many there are.
    """
    count = ways[0].shape[0]
    labels = _labels(known, classes, frozen[0].dtype)
    labels = torch.cat([labels, labels.new_zeros(count, labels.shape[1])])
    edges = [_ones(way) for way in ways]
    near = [spmm(way, labels) for way in edges]
    either = torch.cat([_sums(frozen, known, classes), torch.stack(near).sum(dim=0)])
    parts = []
    for way, found in zip(edges, near, strict=True):
        loop = _loops(way, first=len(known))
        parts.append(_columns(found, spmm(way, either) - loop * either[len(known) :], known, classes))
    return parts


def _labels(known: Tensor, classes: int, dtype: torch.dtype) -> Tensor:
    """Ones at the known classes, and a last column of ones where there is one."""
    there = (known >= 0).to(dtype).unsqueeze(1)
    one_hot = torch.nn.functional.one_hot(known.long().clamp(min=0), classes).to(dtype)
    return torch.cat([one_hot * there, there], 1)


def _prior(known: Tensor, classes: int, dtype: torch.dtype) -> Tensor:
    """The share of each class among the known labels."""
    counts = torch.bincount(known[known >= 0].long(), minlength=classes)
    return (counts.double() / counts.sum().clamp(min=1)).to(dtype)


def _columns(near: Tensor, far: Tensor, known: Tensor, classes: int) -> Tensor:
    """Of one direction, from sums of labels, whose last column is their number."""
    prior = _prior(known, classes, near.dtype)
    counted = ((near, NEAR_DOUBT), (far, FAR_DOUBT))
    shares = [(sums[:, :-1] + doubt * prior) / (sums[:, -1:] + doubt) for sums, doubt in counted]
    return torch.cat([near[:, -1:], *shares], 1)


def _sums(columns: Sequence[Tensor], known: Tensor, classes: int) -> Tensor:
    """The labels near each node in either direction, which are whole numbers, from its columns."""
    prior = _prior(known, classes, columns[0].dtype)
    total = columns[0].new_zeros(len(known), classes + 1)
    for found in columns:
        number, shares = found[:, :1], found[:, 1 : 1 + classes]
        total += torch.cat([shares * (number + NEAR_DOUBT) - NEAR_DOUBT * prior, number], 1).round()
    return total


def _ones(matrix: SparseMatrix) -> SparseMatrix:
    """The same edges, each of weight 1."""
    csr = torch.sparse_csr_tensor(
        matrix.csr.crow_indices(),
        matrix.csr.col_indices(),
        torch.ones_like(matrix.csr.values()),
        size=matrix.shape,
        check_invariants=False,
    )
    return SparseMatrix(csr, csr)  # never transposed: no gradient is asked for


def _loops(matrix: SparseMatrix, first: int = 0) -> Tensor:
    """How many edges lead from each row to itself, r x 1; the nodes of the rows are numbered from ``first`` on."""
    rows, columns = matrix.entries()
    found = torch.bincount(rows[columns == rows + first], minlength=matrix.shape[0])
    return found.to(matrix.dtype).unsqueeze(1)


def _mutual(matrix: SparseMatrix) -> Tensor:
    """How many others a node both points to and is pointed to by, n x 1."""
    rows, columns = matrix.entries()
    both = torch.isin(columns * matrix.shape[0] + rows, rows * matrix.shape[0] + columns) & (rows != columns)
    return torch.bincount(rows[both], minlength=matrix.shape[0]).to(matrix.dtype).unsqueeze(1)
