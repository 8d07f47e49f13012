"""Between what readers and users hold and PyTorch Geometric's ``Data``."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from glognn.data.readers.raw import FloatArray, RawGraph
from glognn.data.splits import random_splits
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
