"""Graphs in one NumPy ``.npz`` file, read without pickle.

==============================  ===========================================================================
``edge_index``                  2 x edges, integers
``edge_weight``                 optional, one number per edge
``node_features``               optional, n x f
``feat_indptr``, ``feat_indices``, ``feat_data``, ``feat_shape``
                                optional, instead of ``node_features``: the features in CSR form
``features_encoded``            optional, true where they are those of a table whose columns were scaled one by one
``node_labels``                 n, -1 = unlabelled
``train_masks``, ``val_masks``, ``test_masks``
                                optional, splits x n, boolean
==============================  ===========================================================================
"""

from __future__ import annotations

import math
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from glognn.data.layout import ENCODED
from glognn.errors import InputError, about
from glognn.graph.sparse import SparseMatrix
from glognn.storage import write_atomically

_SPARSE_KEYS = ("feat_indptr", "feat_indices", "feat_data", "feat_shape")
_MASK_KEYS = ("train_masks", "val_masks", "test_masks")
_KEYS = ("edge_index", "edge_weight", "node_features", *_SPARSE_KEYS, ENCODED, "node_labels", *_MASK_KEYS)
_MOST_COLUMNS = 2**24
"""Of sparse features with fewer entries than that."""
Array = np.ndarray[Any, Any]


def read_npz(path: str | Path) -> Data:
    """Read a graph file as a PyTorch Geometric ``Data``; what it holds is checked by ``Graph.from_data``."""
    path = Path(path)
    with about(f"'{path}'"):
        return _data(_read_arrays(path), path)


def _data(arrays: dict[str, Array], path: Path) -> Data:
    data = Data(edge_index=_tensor(arrays, "edge_index"), y=_tensor(arrays, "node_labels"))
    if data.y.dim() != 1 and tuple(data.y.shape[1:]) != (1,):
        raise InputError(f"The array 'node_labels' must have shape (nodes,). Got {tuple(data.y.shape)} instead.")
    data.y = data.y.view(-1)
    data.num_nodes = len(data.y)
    data.x = _features(arrays, path)
    if ENCODED in arrays and bool(arrays[ENCODED].any()):
        data.encoded = True
    if "edge_weight" in arrays:
        data.edge_weight = _tensor(arrays, "edge_weight")
    for key in _MASK_KEYS:
        if key in arrays:
            mask = _tensor(arrays, key)
            data[key.removesuffix("s")] = mask.T if mask.dim() == 2 else mask.view(-1, 1) if mask.dim() == 1 else mask
    return data


def _read_arrays(path: Path) -> dict[str, Array]:
    """The arrays of the layout above that a file holds; others are left alone."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
            for name in ("edge_index", "node_labels"):
                if name not in names:
                    raise InputError(
                        f"'{path}' has no array '{name}'. It holds: {', '.join(sorted(names)) or 'nothing'}."
                    )
            known = [name for name in _KEYS if name in names]
            needed = sum(_declared_bytes(archive, name) for name in known)
            if needed > _memory():
                raise InputError(f"'{path}' takes {needed / 2**30:,.1f} GiB of memory, more than this machine has.")
            return {name: _read_array(archive, name) for name in known}
    except FileNotFoundError:
        raise InputError(f"There is no graph file '{path}'.") from None
    except InputError:
        raise
    except Exception as error:  # whatever the readers of zip and npy raise is about the file
        raise InputError(f"'{path}' is not a readable .npz graph file: {_one_line(error)}.") from None


def _member(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    return archive.getinfo(f"{name}.npy" if f"{name}.npy" in archive.namelist() else name)


def _declared_bytes(archive: zipfile.ZipFile, name: str) -> int:
    """What an array takes, from its head; that it is what lies there is checked before anything is allocated."""
    member = _member(archive, name)
    with archive.open(member) as file:
        shape, dtype = _head(file, name)
        size, held = math.prod(shape) * int(dtype.itemsize), member.file_size - file.tell()
    if not dtype.hasobject and size != held:
        raise ValueError(f"the array '{name}' of shape {shape} must have {size:,} bytes. Got {held:,} instead")
    return size


def _head(file: Any, name: str) -> tuple[tuple[int, ...], Any]:
    """Shape and type of an array."""
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"the array '{name}' is of the unknown version {version}")
    shape, _, dtype = readers[version](file)
    return shape, dtype


def read_sizes(path: Path) -> tuple[int, int]:
    """How many nodes and edges a graph file that :func:`write_npz` wrote has, from the heads of its arrays alone."""
    with zipfile.ZipFile(path) as archive:
        shapes = []
        for name in ("node_labels", "edge_index"):
            with archive.open(_member(archive, name)) as file:
                shapes.append(_head(file, name)[0])
    return shapes[0][0], shapes[1][1]


def _read_array(archive: zipfile.ZipFile, name: str) -> Array:
    with archive.open(_member(archive, name)) as file:
        array: Array = np.lib.format.read_array(file, allow_pickle=False)
        return array


def _memory() -> float:
    """Bytes of this machine, free or not; infinite where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def _tensor(arrays: dict[str, Array], name: str) -> Tensor:
    array = arrays[name]
    if array.dtype.kind not in "iufb" or array.dtype.itemsize > 8:
        raise InputError(f"The array '{name}' must hold real numbers of at most 64 bits. Got {array.dtype} instead.")
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise InputError(f"The array '{name}' must hold numbers below 2**63. Got {array.max()} instead.")
    whole = array.dtype.kind in "iu"
    return torch.from_numpy(array.astype(np.int64 if whole else array.dtype.newbyteorder("="), copy=False))


def _features(arrays: dict[str, Array], path: Path) -> Tensor | None:
    present = [name for name in _SPARSE_KEYS if name in arrays]
    if "node_features" in arrays:
        return _tensor(arrays, "node_features")
    if not present:
        return None
    if len(present) < len(_SPARSE_KEYS):
        missing = next(name for name in _SPARSE_KEYS if name not in arrays)
        raise InputError(f"'{path}' has sparse features without the array '{missing}'.")
    values = _tensor(arrays, "feat_data")
    try:
        rows, columns = (int(size) for size in arrays["feat_shape"])
        if columns > max(_MOST_COLUMNS, values.numel()):  # each takes a place in the transposed matrix
            raise ValueError(f"{columns:,} columns for {values.numel():,} entries")
        starts = _tensor(arrays, "feat_indptr").numpy()
        if np.diff(starts).min(initial=0) < 0:  # SciPy does not look where the last one is 0, and then writes anywhere
            raise ValueError("'feat_indptr' must not decrease")
        matrix = sp.csr_array((values.numpy(), arrays["feat_indices"], starts), shape=(rows, columns))
        matrix.check_format(full_check=True)
        return SparseMatrix.from_scipy(matrix, torch.float64 if values.dtype == torch.float64 else torch.float32).csr
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:
        raise InputError(f"The sparse features of '{path}' are not a CSR matrix: {_one_line(error)}.") from None


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
    if getattr(data, "encoded", False):
        arrays[ENCODED] = np.array(True)
    for key in _MASK_KEYS:
        mask = getattr(data, key.removesuffix("s"), None)
        if mask is not None:
            arrays[key] = mask.view(mask.shape[0], -1).T.cpu().numpy()
    write_atomically(Path(path), lambda temporary: _save(temporary, arrays))


def _save(path: Path, arrays: dict[str, Any]) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)
