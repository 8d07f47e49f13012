"""The Twitch-explicit graphs of MUSAE: an edge table, a node table and a JSON file of feature lists.

The label is whether a streamer uses explicit language (``mature``). The French node table repeats some rows; the first
counts. All seven languages share the feature numbers 0 to 3169, so all have 3170 columns; the LINKX code drops the
columns that are empty in a language.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

from glognn.data.readers.raw import RawGraph, one_row_each

NUM_FEATURES = 3170


def read(files: Mapping[str, Path]) -> RawGraph:
    nodes = pd.read_csv(files["nodes"]).drop_duplicates("new_id")
    order = one_row_each(nodes["new_id"].to_numpy(), "the node table")
    y = nodes["mature"].to_numpy().astype(np.int64)[order]
    edges = pd.read_csv(files["edges"])[["from", "to"]].to_numpy(dtype=np.int64).T
    lists = json.loads(files["features"].read_text(encoding="ascii"))
    lists = {int(node): columns for node, columns in lists.items() if int(node) < len(y)}
    rows = np.repeat(list(lists), [len(columns) for columns in lists.values()]).astype(np.int64)
    columns = np.concatenate([np.asarray(each, dtype=np.int64) for each in lists.values()])
    x = sp.coo_array((np.ones(rows.size, np.float32), (rows, columns)), shape=(len(y), NUM_FEATURES)).tocsr()
    x.data[:] = 1.0
    return RawGraph(np.ascontiguousarray(edges), x, y)
