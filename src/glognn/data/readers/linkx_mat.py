"""The .mat files of genius, pokec and snap-patents: ``edge_index``, ``node_feat`` and ``label`` or ``years``.

Years become five classes of about equal size, see :func:`~glognn.data.readers.raw.quantile_labels`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from glognn.data.readers.mat import read_mat
from glognn.data.readers.raw import RawGraph, quantile_labels


def read(files: Mapping[str, Path], *, label: str = "label") -> RawGraph:
    edges, features, values = read_mat(files["graph"], ["edge_index", "node_feat", label])
    x = (features if isinstance(features, np.ndarray) else features.tocsr()).astype(np.float32)
    y = quantile_labels(values.ravel()) if label == "years" else values.ravel().astype(np.int64)
    if len(y) != x.shape[0]:
        raise ValueError(f"{len(y)} labels for {x.shape[0]} nodes")
    return RawGraph(edges.astype(np.int64), x, y)
