"""Between what readers and users hold and PyTorch Geometric's ``Data``."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from glognn.data.readers.raw import FloatArray, RawGraph
from glognn.data.splits import random_splits
from glognn.graph.graph import SPARSE_BELOW
from glognn.graph.sparse import SparseMatrix


def to_data(raw: RawGraph) -> Data:
    """A read graph as ``Data``; without published splits it gets five random ones."""
    y = torch.from_numpy(raw.y.astype(np.int64))
    masks = random_splits(y) if raw.masks is None else {name: torch.from_numpy(m) for name, m in raw.masks.items()}
    return Data(
        x=_features(raw.x),
        edge_index=torch.from_numpy(raw.edge_index),
        y=y,
        num_nodes=len(raw.y),
        **{f"{name}_mask": mask for name, mask in masks.items()},
    )


def _features(x: FloatArray | sp.csr_array | None) -> Tensor | None:
    if x is None:
        return None
    if sp.issparse(x):
        x.sum_duplicates()
        wide = x.dtype == np.float64
        return SparseMatrix.from_scipy(x, torch.float64 if wide else torch.float32).csr
    return torch.from_numpy(np.require(x, requirements=["C", "W"]))


def to_features(x: Any) -> Tensor:
    """A NumPy array or SciPy sparse matrix of features as a tensor, in one form whichever it was."""
    if not sp.issparse(x):
        return torch.from_numpy(np.array(x, order="C"))
    matrix = sp.csr_array(cast(sp.coo_array, x))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if matrix.nnz >= SPARSE_BELOW * matrix.shape[0] * matrix.shape[1]:
        return torch.from_numpy(matrix.toarray())
    found = _features(matrix)
    assert found is not None
    return found


def same(first: Tensor | None, second: Tensor | None) -> bool:
    """Whether two matrices, dense or sparse, hold the same in the same layout."""
    if first is None or second is None or first.shape != second.shape or first.layout != second.layout:
        return first is second
    if first.layout == torch.strided:
        return torch.equal(first, second.to(first.dtype))
    first, second = first.to_sparse_csr(), second.to_sparse_csr()
    parts = ("crow_indices", "col_indices", "values")
    return all(torch.equal(getattr(first, part)(), getattr(second, part)()) for part in parts)
