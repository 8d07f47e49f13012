"""The .npz files of the heterophilous-graphs benchmark: features, labels, edges (stored once) and ten splits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from glognn.data.readers.raw import RawGraph


def read(files: Mapping[str, Path]) -> RawGraph:
    with np.load(files["graph"], allow_pickle=False) as arrays:
        masks = {name: arrays[f"{name}_masks"].astype(bool).T for name in ("train", "val", "test")}
        edges = np.ascontiguousarray(arrays["edges"].astype(np.int64).T)
        return RawGraph(
            edges, arrays["node_features"].astype(np.float32), arrays["node_labels"].astype(np.int64), masks
        )
