"""The .mat files of facebook100: ``A`` (both directions stored) and ``local_info`` with seven columns of integers.

The columns are status, gender, major, second major or minor, dorm or house, year and high school; 0 means missing. The
label is gender - 1 (so -1, unlabelled, where it is missing). Features are the other six columns, each one-hot over the
sorted values it takes, 0 included, as in the LINKX code.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from glognn.data.readers.mat import read_mat
from glognn.data.readers.raw import RawGraph

GENDER = 1


def read(files: Mapping[str, Path]) -> RawGraph:
    adjacency, info = read_mat(files["graph"], ["A", "local_info"])
    info = info.astype(np.int64)
    if adjacency.shape != (len(info), len(info)):
        raise ValueError(f"A is {adjacency.shape} for {len(info)} nodes")
    present = adjacency.data != 0
    edges = np.stack([ends[present].astype(np.int64) for ends in adjacency.coords])
    return RawGraph(edges, _one_hot(np.delete(info, GENDER, axis=1)), info[:, GENDER] - 1)


def _one_hot(columns: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> sp.csr_array:
    blocks = []
    for column in columns.T:
        values, codes = np.unique(column, return_inverse=True)
        places = (np.arange(len(codes)), codes.ravel())
        blocks.append(sp.coo_array((np.ones(len(codes), np.float32), places), shape=(len(codes), len(values))))
    return sp.csr_array(sp.hstack(blocks, format="csr"))
