"""deezer-europe.mat: ``A`` (both directions stored), ``label`` and sparse ``features``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.io import loadmat

from glognn.data.readers.raw import RawGraph


def read(files: Mapping[str, Path]) -> RawGraph:
    content = loadmat(files["graph"])
    adjacency = sp.coo_array(content["A"])
    edges = np.stack([ends.astype(np.int64) for ends in adjacency.coords])
    return RawGraph(
        edges, sp.csr_array(content["features"], dtype=np.float32), content["label"].ravel().astype(np.int64)
    )
