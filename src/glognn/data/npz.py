"""Graphs in one NumPy ``.npz`` file, read without pickle.

==============================  ===========================================================================
``edge_index``                  2 x edges, integers
``edge_weight``                 optional, one number per edge
``node_features``               optional, n x f
``feat_indptr``, ``feat_indices``, ``feat_data``, ``feat_shape``
                                optional, instead of ``node_features``: the features in CSR form
``node_labels``                 n, -1 = unlabelled
``train_masks``, ``val_masks``, ``test_masks``
                                optional, splits x n, boolean
==============================  ===========================================================================
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from glognn.errors import InputError
from glognn.graph.sparse import SparseMatrix
from glognn.storage import write_atomically

_SPARSE_KEYS = ("feat_indptr", "feat_indices", "feat_data", "feat_shape")
_MASK_KEYS = ("train_masks", "val_masks", "test_masks")


def read_npz(path: str | Path) -> Data:
    """Read a graph file as a PyTorch Geometric ``Data``; what it holds is checked by ``Graph.from_data``."""
    path = Path(path)
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise InputError(f"There is no graph file '{path}'.") from None
    except (OSError, ValueError, zipfile.BadZipFile, EOFError, KeyError) as error:
        raise InputError(f"'{path}' is not a readable .npz graph file: {_one_line(error)}.") from None
    for name in ("edge_index", "node_labels"):
        if name not in arrays:
            raise InputError(f"'{path}' has no array '{name}'. It holds: {', '.join(sorted(arrays)) or 'nothing'}.")
    data = Data(edge_index=_tensor(arrays, "edge_index"), y=_tensor(arrays, "node_labels").view(-1))
    data.num_nodes = len(arrays["node_labels"])
    data.x = _features(arrays, path)
    if "edge_weight" in arrays:
        data.edge_weight = _tensor(arrays, "edge_weight")
    for key in _MASK_KEYS:
        if key in arrays:
            mask = arrays[key]
            data[f"{key.removesuffix('s')}"] = torch.from_numpy(mask[None] if mask.ndim == 1 else mask).T
    return data


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def _tensor(arrays: dict[str, np.ndarray[Any, Any]], name: str) -> Tensor:
    array = arrays[name]
    if array.dtype.kind not in "iufb":
        raise InputError(f"The array '{name}' must hold numbers. Got {array.dtype} instead.")
    return torch.from_numpy(array.astype(np.int64) if array.dtype.kind in "iu" else array)


def _features(arrays: dict[str, np.ndarray[Any, Any]], path: Path) -> Tensor | None:
    present = [name for name in _SPARSE_KEYS if name in arrays]
    if "node_features" in arrays:
        return _tensor(arrays, "node_features")
    if not present:
        return None
    if len(present) < len(_SPARSE_KEYS):
        missing = next(name for name in _SPARSE_KEYS if name not in arrays)
        raise InputError(f"'{path}' has sparse features without the array '{missing}'.")
    parts = (arrays["feat_data"], arrays["feat_indices"], arrays["feat_indptr"])
    try:
        rows, columns = (int(size) for size in arrays["feat_shape"])
        matrix = sp.csr_array(parts, shape=(rows, columns))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise InputError(f"The sparse features of '{path}' are not a CSR matrix: {_one_line(error)}.") from None
    wide = arrays["feat_data"].dtype == np.float64
    return SparseMatrix.from_scipy(matrix, torch.float64 if wide else torch.float32).csr


def write_npz(data: Data, path: str | Path) -> None:
    """Write a ``Data`` in the layout above."""
    arrays: dict[str, Any] = {"edge_index": data.edge_index.cpu().numpy(), "node_labels": data.y.cpu().numpy()}
    if getattr(data, "edge_weight", None) is not None:
        arrays["edge_weight"] = data.edge_weight.cpu().numpy()
    if data.x is not None and data.x.layout == torch.strided:
        arrays["node_features"] = data.x.cpu().numpy()
    elif data.x is not None:
        matrix = SparseMatrix.from_torch(data.x).to_scipy()
        values = (matrix.indptr, matrix.indices, matrix.data, np.array(matrix.shape))
        arrays |= dict(zip(_SPARSE_KEYS, values, strict=True))
    for key in _MASK_KEYS:
        mask = getattr(data, key.removesuffix("s"), None)
        if mask is not None:
            arrays[key] = mask.view(mask.shape[0], -1).T.cpu().numpy()
    write_atomically(Path(path), lambda temporary: _save(temporary, arrays))


def _save(path: Path, arrays: dict[str, Any]) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
