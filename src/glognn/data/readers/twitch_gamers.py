"""The two tables of twitch-gamers.

The label is the column ``mature``. Features are the other columns without ``numeric_id``: dates as the integer
YYYYMMDD, the language as a code in order of first appearance. They are as published here (in float64: float32
cannot hold the dates); the paper standardises them, which is the dataset's default feature normalisation.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from glognn.data.readers.raw import RawGraph, one_row_each

FEATURES = ("views", "life_time", "created_at", "updated_at", "dead_account", "language", "affiliate")


def read(files: Mapping[str, Path]) -> RawGraph:
    nodes = pd.read_csv(files["nodes"], keep_default_na=False, dtype={"created_at": str, "updated_at": str})
    for date in ("created_at", "updated_at"):
        nodes[date] = nodes[date].str.replace("-", "").astype(np.int64)
    nodes["language"] = pd.factorize(nodes["language"])[0]
    order = one_row_each(nodes["numeric_id"].to_numpy(), "the node table")
    edges = pd.read_csv(files["edges"]).to_numpy(dtype=np.int64).T
    if edges.shape[0] != 2:
        raise ValueError(f"the edge table has {edges.shape[0]} columns instead of 2")
    x = nodes[list(FEATURES)].to_numpy(dtype=np.float64)[order]
    return RawGraph(np.ascontiguousarray(edges), x, nodes["mature"].to_numpy(dtype=np.int64)[order])
