"""Rows of features as users hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from glognn.data.arrow import Values
from glognn.data.frames import is_frame
from glognn.data.ids import unique_ids
from glognn.errors import InputError


def index_ids(X: Any) -> Values | None:
    """The ids by which a pandas frame names its rows, unless they are mere numbers of rows."""
    import pandas as pd
    import pyarrow as pa

    if not isinstance(X, pd.DataFrame) or isinstance(X.index, pd.RangeIndex):
        return None
    return unique_ids(pa.chunked_array([pa.Array.from_pandas(X.index)]), "the index of X")


def needs_encoding(X: Any) -> bool:
    """Whether a frame is more than numbers without gaps."""
    if not is_frame(X):
        return False
    if not hasattr(X, "dtypes") or not hasattr(X, "isna"):
        return True
    numbers = all(isinstance(kind, np.dtype) and kind.kind in "iufbc" for kind in X.dtypes)
    return not numbers or bool(X.isna().to_numpy().any())


def refuse_complex(x: Any) -> None:
    """Of sparse features scikit-learn would take the real part."""
    if sp.issparse(x) and np.dtype(kind := getattr(x, "dtype", None)).kind == "c":
        raise InputError(f"Complex data not supported: X must hold real numbers. Got {kind} instead.")
