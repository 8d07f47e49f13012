"""Classes, which come back as they went in: text, whole numbers, fractions or booleans.

Labels in text files are text as it is written ('01' is not '1', nor '1.0'), or whole numbers where all of them are
written as those are. :class:`Classes` are those of a column of a table. The functions below are for labels given in
Python, of which -1, ``None``, nan and an empty text are unknown ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from glognn.data.arrow import IntArray, Values, date_order, plain
from glognn.data.ids import distinct, name_some
from glognn.errors import InputError
from glognn.records import NUMBER, Form, misfit
from glognn.settings import nearest

Array = npt.NDArray[Any]
BoolArray = npt.NDArray[np.bool_]
_MOST_FRACTIONS = 100
KINDS: Form = {"text": str, "integer": int, "real": NUMBER, "boolean": bool}
"""Of classes, and what their names are in a record."""
_KINDS = {"U": "text", "O": "text", "i": "integer", "u": "integer", "f": "real", "b": "boolean"}
_SIGNED = 2**63
_PYTHON = (
    (str, "text"),
    (bool | np.bool_, "truth values"),
    (int | np.integer, "whole numbers"),
    (float | np.floating, "fractions"),
)


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

        column = _one_zero(plain(column))
        kind = _kind(column.type)
        if kind is None:
            raise InputError(f"The labels in {place} must be words, numbers or booleans. Got {column.type} instead.")
        if kind == "real" and pc.any(pc.is_inf(column)).as_py():
            raise InputError(f"The labels in {place} must be finite. Got infinity instead: leave such labels empty.")
        found = distinct(_present(column.cast(pa.string()) if kind == "text" else column).drop_null())
        if len(found) < 2:
            got = f"only {found[0].as_py()!r}" if len(found) else "no label at all"
            raise InputError(f"The labels in {place} must be of at least 2 classes. Got {got} instead.")
        if kind == "text" and date_order(found) is not None:
            raise InputError(f"The labels in {place} must be words, numbers or booleans. Got dates instead.")
        names = tuple(sorted(found.to_pylist()))
        if len(names) > _MOST_FRACTIONS and _fractions(names):
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
        found = np.array(self.names)
        return found if found.tolist() == list(self.names) else np.array(self.names, dtype=object)

    def __len__(self) -> int:
        return len(self.names)

    def numbers(self, column: Values, place: str) -> IntArray:
        """The number of each row's class, -1 where it is not given; a class that is not known is an error."""
        import pyarrow as pa
        from pyarrow import compute as pc

        column, names = _one_zero(plain(column)), self.column(np.arange(len(self)))
        try:
            if self.kind == "boolean" and not pa.types.is_boolean(column.type):
                column = column.cast(pa.string())
            if self.kind == "integer" and pa.types.is_string(column.type):
                names = names.cast(pa.string())  # '01' is not 1
            values = _present(column.cast(names.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError(f"The labels in {place} must be {self.describe()}. Got {column.type} instead.") from None
        found = pc.index_in(values, value_set=names)
        unknown = values.filter(pc.and_(pc.is_null(found), pc.is_valid(values)))
        if len(unknown):
            near = nearest(str(unknown[0].as_py()), map(str, self.names))
            raise InputError(
                f"The labels in {place} must be {self.describe()}. Got {name_some(pc.unique(unknown))} instead.{near}"
            )
        numbers: IntArray = pc.fill_null(found, -1).to_numpy().astype(np.int64)
        return numbers

    def find(self, name: str, option: str) -> int:
        """The number of a class by its name as text."""
        names = [str(each) for each in self.names]
        if name not in names:
            raise InputError(f"{option} must be {self.describe()}. Got {name!r} instead.{nearest(name, names)}")
        return names.index(name)

    def describe(self) -> str:
        """``one of 'no', 'yes'``."""
        shown = ", ".join(repr(name) for name in self.names[:5])
        return f"one of {shown}" + (f" ... ({len(self):,} classes)" if len(self) > 5 else "")

    def column(self, numbers: IntArray) -> Values:
        """Classes by number as a column of a table."""
        import pyarrow as pa

        whole = pa.int64() if self.kind != "integer" or max(self.names) < _SIGNED else pa.uint64()
        types = {"text": pa.string(), "integer": whole, "real": pa.float64(), "boolean": pa.bool_()}
        return pa.array(self.names, types[self.kind]).take(pa.array(numbers))

    def as_dict(self) -> dict[str, Any]:
        return {"names": list(self.names), "kind": self.kind}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """What :meth:`as_dict` gave; a ``ValueError`` where it is something else."""
        import pyarrow as pa

        found = cls(tuple(content["names"]), content["kind"])
        if wrong := misfit(content["names"], [KINDS[found.kind]], "classes.names"):
            raise ValueError(wrong)
        if len(set(found.names)) < max(2, len(found)):
            raise ValueError(f"classes.names must be at least 2, all different, not {content['names']!r:.60}")
        try:
            found.column(np.arange(len(found)))
        except (pa.ArrowException, OverflowError) as error:
            raise ValueError(f"classes.names are no column: {error}") from None
        return found


def _kind(found: Any) -> str | None:
    import pyarrow as pa

    if pa.types.is_string(found) or pa.types.is_null(found):
        return "text"
    if pa.types.is_integer(found):
        return "integer"
    if pa.types.is_floating(found):
        return "real"
    return "boolean" if pa.types.is_boolean(found) else None


def _one_zero(column: Values) -> Values:
    """Fractions with 0.0 for -0.0, which are one number and two to Arrow."""
    import pyarrow as pa
    from pyarrow import compute as pc

    return pc.add(column, 0.0) if pa.types.is_floating(column.type) else column


def _fractions(names: tuple[Any, ...]) -> bool:
    """Whether all are numbers, or text of numbers, and some of them no whole ones."""
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return False
    return not all(number.is_integer() for number in numbers)


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
    if hasattr(y, "to_list") and not isinstance(y.dtype, np.dtype):  # whole numbers beside missing ones
        y = np.array(y.to_list(), dtype=object)
    y = y.to_numpy() if hasattr(y, "to_numpy") else y
    if isinstance(y, list | tuple) and not _is_kept(y):
        y = np.array(y, dtype=object)
    values: Array = column_or_1d(y, warn=True)
    numbers = values[[isinstance(value, float) for value in values]].astype(float) if values.dtype == object else values
    if numbers.dtype.kind == "f" and np.isinf(numbers).any():
        raise InputError(f"Input y contains infinity or a value too large for {values.dtype!r}.")
    return values


def _is_kept(labels: list[Any] | tuple[Any, ...]) -> bool:
    """Whether labels stay what they are in an array of the type that NumPy chooses, in which two of them may be one."""
    kinds = {type(label) for label in labels}
    if len(kinds) > 1 or not kinds <= {int, str}:
        return len(kinds) <= 1
    found = np.array(labels)
    return found.dtype.kind in "iuU" and found.tolist() == list(labels)


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
    """The classes among labels, sorted; text stays text, numbers in a list of objects become numbers of one type."""
    from sklearn.utils.multiclass import check_classification_targets

    present = values[~missing(values)]
    present = _one_type(present) if present.dtype == object else present
    if present.size:
        check_classification_targets(present)
    classes: Array = np.unique(present)
    return classes


def _one_type(labels: Array) -> Array:
    """Labels of any types as one, each of them as it was."""
    values = labels.tolist()
    kinds = {next((name for kind, name in _PYTHON if isinstance(value, kind)), "other") for value in values}
    if len(kinds) > 1 and kinds != {"whole numbers", "fractions"}:
        raise InputError(f"y must hold labels of one kind. Got {' and '.join(sorted(kinds))} instead.")
    if kinds == {"text"}:
        return labels
    found: Array = np.array(values)
    whole = kinds == {"whole numbers"}
    exact = found.dtype.kind in ("iu" if whole else "f") and found.tolist() == values
    if (whole or "fractions" in kinds) and not exact:
        largest = max(values, key=abs)
        raise InputError(
            f"y must hold numbers that one type of NumPy can hold. Got {largest!r} beside others: give them as text."
        )
    return found


def encode(values: Array, classes: Array) -> IntArray:
    """The number of each label among the classes, -1 where it is unknown or none of them."""
    known = np.flatnonzero(~missing(values))
    codes = np.full(values.size, -1, dtype=np.int64)
    number = {value: place for place, value in enumerate(classes.tolist())}
    codes[known] = [number.get(value, -1) for value in values[known].tolist()]
    return codes
