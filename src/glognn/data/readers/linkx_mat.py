"""The .mat files of genius, pokec and snap-patents: ``edge_index``, ``node_feat`` and ``label`` or ``years``.

Years become five classes of about equal size, see :func:`~glognn.data.readers.raw.quantile_labels`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.io import loadmat

from glognn.data.readers.raw import RawGraph, quantile_labels


def read(files: Mapping[str, Path], *, label: str = "label") -> RawGraph:
    content = loadmat(files["graph"], variable_names=["edge_index", "node_feat", label])
    x = content["node_feat"].astype(np.float32)
    if sp.issparse(x):
        x = sp.csr_array(x)  # type: ignore[call-overload]
    values = content[label].ravel()
    y = quantile_labels(values) if label == "years" else values.astype(np.int64)
    if len(y) != x.shape[0]:
        raise ValueError(f"{len(y)} labels for {x.shape[0]} nodes")
    return RawGraph(content["edge_index"].astype(np.int64), x, y)
