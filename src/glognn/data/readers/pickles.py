"""Published pickles, read without running anything they say.

A pickle is a program: ``pickle.load`` calls whatever it names. This reader knows the few array types that the published
files hold and refuses every other name before anything is called.
"""

from __future__ import annotations

import io
import pickle
from collections import defaultdict
from typing import Any

import numpy as np
import scipy.sparse as sp

from glognn.errors import InputError


class _SparseState:
    """Stands in for SciPy's csr_matrix: takes its arrays and nothing else."""

    def __init__(self, *_: object) -> None:
        self.state: dict[str, Any] = {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.state = {name: state[name] for name in ("data", "indices", "indptr", "_shape")}

    def matrix(self) -> sp.csr_array:
        parts = (self.state["data"], self.state["indices"], self.state["indptr"])
        matrix = sp.csr_array(parts, shape=self.state["_shape"])
        matrix.check_format(full_check=True)
        return matrix


def _latin_bytes(text: str, encoding: str) -> bytes:
    """What pickles of Python 3 call to make the bytes of an array."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes in the encoding {encoding!r}")
    return text.encode(encoding)


def _array_parts() -> dict[str, Any]:
    """NumPy's own functions to rebuild arrays, under the names that pickles of any version use."""
    rebuild, scalar = np.zeros(1).__reduce__()[0], np.float64(1).__reduce__()[0]
    found: dict[str, Any] = {"numpy.ndarray": np.ndarray, "numpy.dtype": np.dtype}
    for module in ("numpy.core.multiarray", "numpy._core.multiarray"):
        found |= {f"{module}._reconstruct": rebuild, f"{module}.scalar": scalar}
    return found


_ALLOWED: dict[str, Any] = _array_parts() | {
    "scipy.sparse.csr.csr_matrix": _SparseState,
    "scipy.sparse._csr.csr_matrix": _SparseState,
    "collections.defaultdict": defaultdict,
    "__builtin__.list": list,
    "builtins.list": list,
    "_codecs.encode": _latin_bytes,
}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if f"{module}.{name}" not in _ALLOWED:
            raise InputError(f"it asks to call '{module}.{name}', which no published file needs; nothing was run.")
        return _ALLOWED[f"{module}.{name}"]

    def persistent_load(self, pid: Any) -> Any:
        raise InputError(f"it refers to the outside object {pid!r}; nothing was run.")


def read_pickle(content: bytes) -> Any:
    """The object a pickle holds; SciPy's sparse matrices come as ``csr_array``."""
    value = _Reader(io.BytesIO(content), encoding="latin1").load()
    return value.matrix() if isinstance(value, _SparseState) else value


def read_object_array(content: bytes) -> Any:
    """The content of a .npy file whose elements are pickled objects."""
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    _, _, dtype = read_header(file)
    if dtype != np.dtype(object):
        file.seek(0)
        return np.load(file, allow_pickle=False)
    return read_pickle(content[file.tell() :])
