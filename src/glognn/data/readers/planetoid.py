"""The Planetoid pickles ``ind.<name>.{x,y,tx,ty,allx,ally,graph,test.index}`` of cora, citeseer and pubmed.

``allx`` holds the features of all nodes but the test ones, ``tx`` those of the test nodes in the order of
``test.index``. Citeseer's index skips 15 numbers: nodes without features and without a label. geom-gcn's code takes
them for class 0; the files say nothing, so here they are unlabelled (-1).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from glognn.data.readers.pickles import read_pickle
from glognn.data.readers.raw import RawGraph

PARTS = ("allx", "ally", "tx", "ty", "graph", "test.index")


def read(files: Mapping[str, Path]) -> RawGraph:
    allx, ally, tx, ty, graph = (read_pickle(files[part].read_bytes()) for part in PARTS[:-1])
    test = np.loadtxt(files["test.index"], dtype=np.int64)
    known, num_nodes = allx.shape[0], max(allx.shape[0], int(test.max()) + 1)
    if len(ally) != known or len(ty) != tx.shape[0] or len(test) != tx.shape[0] or test.min() < known:
        raise ValueError("the parts do not fit together")
    rows = np.concatenate([np.arange(known), test])
    if np.unique(rows).size != rows.size:
        raise ValueError("test.index names a node twice")
    stacked = sp.coo_array(sp.vstack([allx, tx]))
    places = (rows[stacked.coords[0]], stacked.coords[1])
    x = sp.coo_array((stacked.data.astype(np.float32), places), shape=(num_nodes, allx.shape[1])).tocsr()
    one_hot = np.zeros((num_nodes, ally.shape[1]))
    one_hot[rows] = np.vstack([ally, ty])
    y = np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), -1)
    sources = np.repeat([int(node) for node in graph], [len(neighbours) for neighbours in graph.values()])
    targets = np.concatenate([np.asarray(neighbours, dtype=np.int64) for neighbours in graph.values()])
    return RawGraph(np.stack([sources, targets]), x, y)
