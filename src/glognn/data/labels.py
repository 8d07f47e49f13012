"""Class labels given in Python, of any type and some of them unknown, as numbers; ``classes`` has those of tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from glognn.data.splits import IntArray
from glognn.errors import InputError

Array = npt.NDArray[Any]
BoolArray = npt.NDArray[np.bool_]


def label_array(y: Any) -> Array:
    """Labels of a list, array, tensor or pandas column as one array."""
    from sklearn.utils.validation import column_or_1d

    if y is None:
        raise InputError("GloGNNClassifier requires y to be passed, but the target y is None.")
    y = y.detach().cpu().numpy() if isinstance(y, Tensor) else y
    y = y.to_numpy() if hasattr(y, "to_numpy") else y
    if isinstance(y, list) and len({isinstance(value, str) for value in y}) > 1:  # NumPy would make all of it text
        y = np.array(y, dtype=object)
    values: Array = column_or_1d(y, warn=True)
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise InputError(f"Input y contains infinity or a value too large for {values.dtype!r}.")
    return values


def missing(values: Array) -> BoolArray:
    """Where a label is unknown: -1, ``None``, nan or an empty text."""
    import pandas as pd

    if values.dtype.kind == "b":
        return np.zeros(values.shape, dtype=bool)
    if values.dtype.kind in "iuf":
        return np.asarray(np.isnan(values) | (values == -1))
    unknown: BoolArray = np.array(pd.isna(values))
    unknown[~unknown] = [value == "" or (not isinstance(value, str) and value == -1) for value in values[~unknown]]
    return unknown


def find_classes(values: Array) -> Array:
    """The classes among labels, sorted; text stays text, numbers in a list of objects become numbers."""
    from sklearn.utils.multiclass import check_classification_targets

    present = values[~missing(values)]
    if present.dtype == object:
        texts = sum(isinstance(value, str) for value in present)
        if 0 < texts < present.size:
            raise InputError("y must hold labels of one kind, text or numbers. Got both instead.")
        present = present if texts else np.array(present.tolist())
    if present.size:
        check_classification_targets(present)
    classes: Array = np.unique(present)
    return classes


def encode(values: Array, classes: Array) -> IntArray:
    """The number of each label among the classes, -1 where it is unknown or none of them."""
    known = np.flatnonzero(~missing(values))
    codes = np.full(values.size, -1, dtype=np.int64)
    number = {value: place for place, value in enumerate(classes.tolist())}
    codes[known] = [number.get(value, -1) for value in values[known].tolist()]
    return codes
