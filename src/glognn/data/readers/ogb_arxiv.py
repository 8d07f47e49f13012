"""The tables of ogbn-arxiv with the year of each paper as label, in five classes of about equal size (arxiv-year)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from glognn.data.readers.raw import RawGraph, quantile_labels


def read(files: Mapping[str, Path]) -> RawGraph:
    def table(name: str, dtype: type[np.generic]) -> np.ndarray[Any, Any]:
        return pd.read_csv(files[name], header=None, compression="gzip", dtype=dtype).to_numpy()

    years, x = table("years", np.int64).ravel(), table("features", np.float32)
    if len(years) != len(x):
        raise ValueError(f"{len(years)} years for {len(x)} nodes")
    edges = np.ascontiguousarray(table("edges", np.int64).T)
    return RawGraph(edges, x, quantile_labels(years))
