"""MATLAB files, the same under every version of SciPy: sparse matrices come as COO arrays."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import scipy.sparse as sp
from scipy.io import loadmat

_OPTIONS: dict[str, Any] = {"spmatrix": False} if "spmatrix" in inspect.signature(loadmat).parameters else {}


def read_mat(path: Path, names: list[str]) -> list[Any]:
    """The named variables of a .mat file; a missing one is a ``KeyError``."""
    content = loadmat(path, variable_names=names, **_OPTIONS)
    return [sp.coo_array(content[name]) if sp.issparse(content[name]) else content[name] for name in names]
