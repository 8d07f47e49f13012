"""Classes, which come back as they went in: text, whole numbers, fractions or booleans.

:class:`Classes` are those of a column of a table. The functions below are for labels given in Python, of which -1,
``None``, nan and an empty text are unknown ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from glognn.data.tables import IntArray, Values, name_some, plain
from glognn.errors import InputError

Array = npt.NDArray[Any]
BoolArray = npt.NDArray[np.bool_]
_MOST_FRACTIONS = 100
_KINDS = {"U": "text", "O": "text", "i": "integer", "u": "integer", "f": "real", "b": "boolean"}
_DTYPES = {"text": np.str_, "integer": np.int64, "real": np.float64, "boolean": np.bool_}


@dataclass(frozen=True)
class Classes:
    """Names of classes 0, 1, ...; ``kind`` is ``text``, ``integer``, ``real`` or ``boolean``."""

    names: tuple[Any, ...]
    kind: str

    @classmethod
    def learn(cls, column: Values, place: str) -> Self:
        """The different values of a column, sorted; missing and empty ones mean that the class is not known."""
        import pyarrow as pa
        from pyarrow import compute as pc

        column = plain(column)
        kind = _kind(column.type)
        if kind is None:
            raise InputError(f"The labels in {place} must be words, numbers or booleans. Got {column.type} instead.")
        found = pc.unique(_present(column.cast(_types()[kind])).drop_null())
        if len(found) < 2:
            got = f"only {found[0].as_py()!r}" if len(found) else "no label at all"
            raise InputError(f"The labels in {place} must be of at least 2 classes. Got {got} instead.")
        names = tuple(sorted(found.to_pylist()))
        if kind == "real" and len(names) > _MOST_FRACTIONS and any(name != round(name) for name in names):
            raise InputError(
                f"The labels in {place} must be classes. Got {len(names):,} different fractions instead, such as "
                f"{name_some(pa.array(names))}: put them into groups first."
            )
        return cls(names, kind)

    @classmethod
    def from_array(cls, values: Array) -> Self:
        """Classes that :func:`find_classes` found."""
        return cls(tuple(values.tolist()), _KINDS[values.dtype.kind])

    def array(self) -> Array:
        return np.array(self.names, dtype=_DTYPES[self.kind])

    def __len__(self) -> int:
        return len(self.names)

    def numbers(self, column: Values, place: str) -> IntArray:
        """The number of each row's class, -1 where it is not given; a class that is not known is an error."""
        import pyarrow as pa
        from pyarrow import compute as pc

        column = plain(column)
        try:
            if self.kind == "boolean" and not pa.types.is_boolean(column.type):
                column = column.cast(pa.string())
            values = _present(column.cast(_types()[self.kind]))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError(f"The labels in {place} must be {self.describe()}. Got {column.type} instead.") from None
        found = pc.index_in(values, value_set=self.column(np.arange(len(self))))
        unknown = values.filter(pc.and_(pc.is_null(found), pc.is_valid(values)))
        if len(unknown):
            raise InputError(
                f"The labels in {place} must be {self.describe()}. Got {name_some(pc.unique(unknown))} instead."
            )
        numbers: IntArray = pc.fill_null(found, -1).to_numpy().astype(np.int64)
        return numbers

    def describe(self) -> str:
        """``one of 'no', 'yes'``."""
        shown = ", ".join(repr(name) for name in self.names[:5])
        return f"one of {shown}" + (f" ... ({len(self):,} classes)" if len(self) > 5 else "")

    def column(self, numbers: IntArray) -> Values:
        """Classes by number as a column of a table."""
        import pyarrow as pa

        return pa.array(self.names, _types()[self.kind]).take(pa.array(numbers))

    def as_dict(self) -> dict[str, Any]:
        return {"names": list(self.names), "kind": self.kind}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        return cls(tuple(content["names"]), content["kind"])


def _types() -> dict[str, Any]:
    import pyarrow as pa

    return {"text": pa.string(), "integer": pa.int64(), "real": pa.float64(), "boolean": pa.bool_()}


def _kind(found: Any) -> str | None:
    import pyarrow as pa

    if pa.types.is_string(found) or pa.types.is_null(found):
        return "text"
    if pa.types.is_integer(found):
        return "integer"
    if pa.types.is_floating(found):
        return "real"
    return "boolean" if pa.types.is_boolean(found) else None


def _present(values: Values) -> Values:
    """Empty text counts as missing."""
    import pyarrow as pa
    from pyarrow import compute as pc

    if not pa.types.is_string(values.type):
        return values
    return pc.if_else(pc.equal(values, ""), pa.scalar(None, pa.string()), values)


def label_array(y: Any) -> Array:
    """Labels of a list, array, tensor or pandas column as one array."""
    from sklearn.utils.validation import column_or_1d

    if y is None:
        raise InputError("GloGNNClassifier requires y to be passed, but the target y is None.")
    y = y.detach().cpu().numpy() if hasattr(y, "detach") else y
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
