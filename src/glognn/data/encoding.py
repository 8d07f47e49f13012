"""Columns of a node table as features: learned from one table, kept as JSON, applied alike to others. Imports no torch.

==========  ======================================================================================================
number      standardised: mean 0, standard deviation 1 over the table it was learned from
date        days since 1970 (times of day: days since midnight), then as a number
boolean     0 or 1
category    one column for each value; values rarer than a share of the rows, and those unknown, are 'other'
==========  ======================================================================================================

A missing number, date or boolean becomes the mean, a missing category a value of its own; where the table it was
learned from had missing values, a further column says which. An unknown value of a category without rare ones has
zeros everywhere: a column that was empty in training would have weights that nothing has trained.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from glognn.data.arrow import Table, Values, is_dates, plain
from glognn.data.ids import positions
from glognn.errors import InputError

FloatArray = npt.NDArray[np.float64]
RARE_SHARE = 0.01
WANTED = {"number": "numbers", "date": "dates", "boolean": "true or false", "category": "words"}
"""Kinds of columns, and what they hold."""
_TEXT_LENGTH = 50
_FEW = 20
_DAY = 86_400e6
_SMALLEST_STD = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, kw_only=True)
class Column:
    """How one column is encoded.

    Attributes:
        kind: ``number``, ``date``, ``boolean`` or ``category``.
        mean, std: Of the values present; a boolean has std 1 and stays 0 or 1.
        values: Categories with a column each.
        other: Whether there is a column for all other categories.
        missing: Whether there is a column that says where the value is missing.
    """

    name: str
    kind: str
    mean: float = 0.0
    std: float = 1.0
    values: tuple[str, ...] = ()
    other: bool = False
    missing: bool = False

    @property
    def features(self) -> list[str]:
        """Names of the features it becomes."""
        own = [f"{self.name}={value}" for value in self.values] if self.kind == "category" else [self.name]
        return own + [f"{self.name}: other"] * self.other + [f"{self.name}: missing"] * self.missing

    def encode(self, column: Values, place: str) -> FloatArray:
        """Rows x features."""
        encoded = np.zeros((len(column), len(self.features)))
        if self.kind == "category":
            import pyarrow as pa
            from pyarrow import compute as pc

            texts = _texts(column)
            found = positions(texts, pa.array(self.values, pa.string()))
            absent = pc.is_null(texts).to_numpy()
            encoded[np.flatnonzero(found >= 0), found[found >= 0]] = 1
            if self.other:
                encoded[(found < 0) & ~absent, len(self.values)] = 1
        else:
            numbers = _numbers(column, self.kind, place)
            absent = np.isnan(numbers)
            centre = 0.0 if self.kind == "boolean" else self.mean
            encoded[:, 0] = (np.where(absent, self.mean, numbers) - centre) / self.std
        if self.missing:
            encoded[absent, -1] = 1
        return encoded


@dataclass(frozen=True)
class Encoding:
    """How the columns of a node table become features.

    Attributes:
        columns: Those that do.
        dropped: Those that do not, and why.
    """

    columns: tuple[Column, ...]
    dropped: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def learn(
        cls,
        table: Table,
        names: Sequence[str],
        place: str,
        *,
        categories: Collection[str] = (),
        rare: float = RARE_SHARE,
    ) -> Self:
        """Decide on each named column; free text, which would be noise as categories, is refused.

        Args:
            table: The node table.
            names: Columns that are to become features.
            place: Its file, for errors.
            categories: Columns that are categories whatever they look like.
            rare: Share of the rows below which a category is 'other'; one that occurs only once always is.
        """
        if not 0 <= rare < 1:
            raise InputError(f"--rare-share must be a number in the range [0.0, 1.0). Got {rare} instead.")
        columns, dropped, texts = [], {}, {}
        categories = set(categories)
        for name in names:
            values = plain(table[name])
            kind = "category" if name in categories else _kind(values, f"column '{name}' of '{place}'")
            if values.null_count == len(values):
                dropped[name] = "empty"
            elif kind == "category":
                reason = "" if name in categories else _why_text(values)
                found = _learn_category(name, values, rare)
                if reason:
                    texts[name] = reason
                elif isinstance(found, str):
                    dropped[name] = found
                else:
                    columns.append(found)
            else:
                numbers = _numbers(values, kind, f"column '{name}' of '{place}'")
                present = numbers[~np.isnan(numbers)]
                low, high = float(present.min()), float(present.max())
                if len(present) == len(numbers) and low == high:
                    dropped[name] = "always the same value"
                    continue
                mean, spread = _mean_and_spread(present)
                if low < high and (spread < _SMALLEST_STD or np.isinf(high - low)):
                    wanted = "larger" if spread < 1 else "smaller"
                    raise InputError(f"Column '{name}' of '{place}' must hold {wanted} numbers. Got {high}.")
                std = 1.0 if kind == "boolean" or not spread > 0 else spread
                missing = len(present) < len(numbers)
                columns.append(Column(name=name, kind=kind, mean=mean, std=std, missing=missing))
        if texts:
            name, reason = next(iter(texts.items()))
            every = ",".join(texts)
            raise InputError(
                f"Column '{name}' of '{place}' looks like free text: {reason}. Leave it out with "
                f"--drop-columns {every}, or take it for categories with --category-columns {name}."
            )
        return cls(tuple(columns), dropped)

    @property
    def num_features(self) -> int:
        return sum(len(column.features) for column in self.columns)

    @property
    def text_columns(self) -> list[str]:
        """Columns that a text file must give as written, so that '01' stays '01'."""
        return [column.name for column in self.columns if column.kind == "category"]

    def encode(self, table: Table, place: str) -> npt.NDArray[np.float32]:
        """The features of a table's rows, rows x features."""
        names = set(table.column_names)
        for column in self.columns:
            if column.name not in names:
                raise InputError(f"'{place}' must have the column '{column.name}', as the table of training had.")
        encoded = np.empty((table.num_rows, self.num_features), dtype=np.float32)
        start = 0
        for column in self.columns:
            end = start + len(column.features)
            where = f"column '{column.name}' of '{place}'"
            encoded[:, start:end] = column.encode(plain(table[column.name]), where)
            start = end
        return encoded

    def as_dict(self) -> dict[str, Any]:
        return {"columns": [asdict(column) for column in self.columns], "dropped": dict(self.dropped)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """What :meth:`as_dict` gave; a ``ValueError`` where it is something else."""
        columns = [Column(**{**column, "values": tuple(column["values"])}) for column in content["columns"]]
        if flat := [column.name for column in columns if not column.std > 0]:
            raise ValueError(f"std of the column '{flat[0]}' must be above 0")
        return cls(tuple(columns), content["dropped"])


def _mean_and_spread(numbers: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation, of numbers of any size: they are divided by a power of two, which is exact, before
    they are squared."""
    unit = 2.0 ** (int(np.frexp(np.abs(numbers).max())[1]) - 1)
    scaled = numbers / unit
    return float(scaled.mean() * unit), float(scaled.std() * unit)


def _kind(column: Values, place: str) -> str:
    import pyarrow as pa

    found = column.type
    if pa.types.is_boolean(found):
        return "boolean"
    if pa.types.is_integer(found) or pa.types.is_floating(found) or pa.types.is_decimal(found):
        return "number"
    if pa.types.is_temporal(found):
        return "date"
    if pa.types.is_null(found):
        return "category"
    if pa.types.is_string(found):
        return "date" if is_dates(column) else "category"
    name = place.split("'")[1]
    raise InputError(f"{place} must hold numbers, dates, booleans or words. Got {found}: use --drop-columns {name}.")


def _texts(column: Values) -> Values:
    """Categories as text; an empty one is missing."""
    import pyarrow as pa
    from pyarrow import compute as pc

    texts = column.cast(pa.string())
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def _counts(column: Values) -> dict[str, int]:
    texts = _texts(column).drop_null()
    counts = np.bincount(positions(texts, texts))
    first = np.flatnonzero(counts)
    return dict(zip(texts.take(first).to_pylist(), counts[first].tolist(), strict=True))


def _learn_category(name: str, column: Values, rare: float) -> Column | str:
    """The encoding, or why the column is dropped."""
    counts = _counts(column)
    total = sum(counts.values())
    least = max(2, rare * len(column))
    values = tuple(sorted(value for value, count in counts.items() if count >= least))
    missing, other = total < len(column), len(values) < len(counts)
    if len(values) + other + missing < 2:
        return "always the same value" if len(counts) == 1 else "all values are rare"
    return Column(name=name, kind="category", values=values, other=other, missing=missing)


def _why_text(column: Values) -> str:
    """Why a column of words is taken for free text; empty when it is not."""
    from pyarrow import compute as pc

    counts = _counts(column)
    total = sum(counts.values())
    length = pc.mean(pc.utf8_length(column)).as_py() or 0
    if length > _TEXT_LENGTH:
        return f"its values have {length:.0f} characters on average"
    if len(counts) > max(_FEW, total / 2):
        return f"{len(counts):,} different values in {total:,} rows, such as {next(iter(counts))!r}"
    return ""


def _numbers(column: Values, kind: str, place: str) -> FloatArray:
    """Values as numbers, NaN where they are missing."""
    import pyarrow as pa

    try:
        if kind == "date":
            micros = _micros(column)
            column = micros.cast(pa.int64())
        elif kind == "boolean" and not pa.types.is_boolean(column.type):
            column = column.cast(pa.string()).cast(pa.bool_())
        elif pa.types.is_temporal(column.type):
            raise pa.ArrowInvalid("dates")
        numbers: FloatArray = column.cast(pa.float64(), safe=False).to_numpy().astype(np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        shown = next((value for value in column.to_pylist() if value is not None), None)
        raise InputError(f"{place} must hold {WANTED[kind]}. Got {column.type} such as {shown!r} instead.") from None
    if np.isinf(numbers).any():
        row = int(np.isinf(numbers).argmax())
        raise InputError(f"{place} must hold finite numbers. Got {numbers[row]} in row {row + 1:,} instead.")
    return numbers / _DAY if kind == "date" else numbers


def _micros(column: Values) -> Values:
    import pyarrow as pa

    found = column.type
    if pa.types.is_time(found):
        return column.cast(pa.time64("us"), safe=False)
    if pa.types.is_duration(found):
        return column.cast(pa.duration("us"), safe=False)
    if not (pa.types.is_temporal(found) or pa.types.is_string(found) or pa.types.is_null(found)):
        raise pa.ArrowInvalid("no dates")
    return column.cast(pa.timestamp("us", getattr(found, "tz", None)), safe=False)
