"""deezer-europe.mat: ``A`` (both directions stored), ``label`` and sparse ``features``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from glognn.data.readers.mat import read_mat
from glognn.data.readers.raw import RawGraph


def read(files: Mapping[str, Path]) -> RawGraph:
    adjacency, label, features = read_mat(files["graph"], ["A", "label", "features"])
    edges = np.stack([ends.astype(np.int64) for ends in adjacency.coords])
    return RawGraph(edges, features.tocsr().astype(np.float32), label.ravel().astype(np.int64))
