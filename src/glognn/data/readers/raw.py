"""What a reader returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from glognn.errors import InputError

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.floating]
BoolArray = npt.NDArray[np.bool_]
Masks = dict[str, BoolArray]
"""``train``, ``val`` and ``test``, each n x splits."""


@dataclass(frozen=True, eq=False)
class RawGraph:
    """A graph as its files give it: every edge in its published direction, -1 where a label is missing."""

    edge_index: IntArray
    x: FloatArray | sp.csr_array | None
    y: IntArray
    masks: Masks | None = None


def quantile_labels(values: npt.NDArray[np.generic], num_classes: int = 5) -> IntArray:
    """Class k holds the values in [q_k, q_(k+1)), q_k being the k/C quantile; the last class is open above."""
    inner = np.quantile(values.astype(np.float64), np.arange(1, num_classes) / num_classes)
    return np.searchsorted(inner, values.astype(np.float64), side="right").astype(np.int64)


def one_row_each(ids: npt.NDArray[np.integer], what: str) -> IntArray:
    """Where the row of node 0, 1, 2, ... stands, or an error when the rows do not name each node once."""
    order = np.argsort(ids, kind="stable")
    if not np.array_equal(ids[order], np.arange(len(ids))):
        raise InputError(f"{what} must name each node from 0 to {len(ids) - 1} once.")
    return order.astype(np.int64)


def masks_from_indices(splits: list[dict[str, IntArray]], num_nodes: int) -> Masks:
    """Masks from lists of node numbers, one dict of ``train``, ``val`` and ``test`` for each split."""
    masks = {name: np.zeros((num_nodes, len(splits)), dtype=bool) for name in ("train", "val", "test")}
    for number, split in enumerate(splits):
        for name, nodes in split.items():
            if nodes.size and not 0 <= nodes.min() <= nodes.max() < num_nodes:
                raise InputError(f"the {name} set of split {number} names a node outside 0 to {num_nodes - 1}.")
            masks[name][nodes, number] = True
    return masks
