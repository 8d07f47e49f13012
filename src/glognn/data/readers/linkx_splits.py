"""LINKX splits: a .npy file of pickled dicts with the node numbers of ``train``, ``valid`` and ``test``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from glognn.data.readers.pickles import read_object_array
from glognn.data.readers.raw import Masks, masks_from_indices


def read_splits(files: list[Path], num_nodes: int) -> Masks:
    [path] = files
    splits = read_object_array(path.read_bytes())
    named = [
        {ours: np.asarray(split[theirs], dtype=np.int64) for ours, theirs in _NAMES.items()} for split in list(splits)
    ]
    return masks_from_indices(named, num_nodes)


_NAMES = {"train": "train", "val": "valid", "test": "test"}
