"""The two text tables of geom-gcn: ``out1_graph_edges.txt`` and ``out1_node_feature_label.txt``.

Tab-separated with a header line. Edges: source and target. Nodes: number, features separated by commas, class. The
features are all the 0/1 values, or, for the film (actor) graph, the numbers of the columns that hold a 1; that graph's
header says 931 features, but the numbers reach 931, so there are 932 columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from glognn.data.readers.raw import FloatArray, Masks, RawGraph, one_row_each


def read(files: Mapping[str, Path], *, num_features: int, listed: bool = False) -> RawGraph:
    """``listed``: the features are numbers of columns rather than values."""
    edges = np.loadtxt(files["edges"], dtype=np.int64, delimiter="\t", skiprows=1, ndmin=2).T
    ids, texts, labels = [], [], []
    with files["nodes"].open(encoding="ascii") as lines:
        next(lines)
        for line in lines:
            node, features, label = line.rstrip("\n").split("\t")
            ids.append(int(node))
            texts.append(features)
            labels.append(int(label))
    order = one_row_each(np.array(ids), "the node table")
    texts = [texts[row] for row in order]
    x = _listed(texts, num_features) if listed else _values(texts, num_features)
    return RawGraph(np.ascontiguousarray(edges), x, np.array(labels)[order])


def _values(texts: list[str], num_features: int) -> sp.csr_array:
    rows: list[FloatArray] = []
    for text in texts:
        row = np.fromstring(text, dtype=np.float32, sep=",")
        if row.size != num_features:
            raise ValueError(f"a node has {row.size} features instead of {num_features}")
        rows.append(row)
    return sp.csr_array(np.stack(rows))


def _listed(texts: list[str], num_features: int) -> sp.csr_array:
    columns = [np.fromstring(text, dtype=np.int64, sep=",") for text in texts]
    counts = [len(each) for each in columns]
    flat = np.concatenate(columns)
    if flat.min() < 0 or flat.max() >= num_features:
        raise ValueError(f"features must be columns 0 to {num_features - 1}, got {flat.min()} to {flat.max()}")
    rows = np.repeat(np.arange(len(texts)), counts)
    matrix = sp.coo_array((np.ones(flat.size, np.float32), (rows, flat)), shape=(len(texts), num_features)).tocsr()
    matrix.data[:] = 1.0
    return matrix


def read_splits(files: list[Path], num_nodes: int) -> Masks:
    """One .npz file for each split, with the three masks as 0/1 arrays."""
    masks = {name: np.zeros((num_nodes, len(files)), dtype=bool) for name in ("train", "val", "test")}
    for number, path in enumerate(files):
        with np.load(path, allow_pickle=False) as arrays:
            for name, mask in masks.items():
                mask[:, number] = arrays[f"{name}_mask"].astype(bool)
    return masks
