"""Columns of a node table as features: learned from one table, kept as JSON, applied alike to others. Imports no torch.

==========  ======================================================================================================
number      0 and 1 as they are; the others so that no column outweighs the rest, by :data:`SCALINGS`
date        days since 1970 (times of day: days since midnight), then as a number
boolean     0 or 1
category    one column for each value; values rarer than a share of the rows, and those unknown, are 'other'
degree      numbers of edges, for tables without any other column
==========  ======================================================================================================

A missing 0 or 1 becomes the share of ones, another missing number the middle of its column, a missing category a value
of its own; where the table it was learned from had missing values, a further column says which. An unknown value of a
category without rare ones has zeros everywhere: a column that was empty in training would have weights that nothing has
trained.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from glognn.data.arrow import DAY_FIRST, EITHER_FIRST, MONTH_FIRST, Table, Values, date_order, plain, text_dates
from glognn.data.ids import distinct, name_some, positions
from glognn.errors import DataWarning, InputError
from glognn.records import NUMBER, Form, misfit

FloatArray = npt.NDArray[np.float64]
RARE_SHARE = 0.01
WANTED = {
    "number": "numbers",
    "date": "dates",
    "boolean": "true or false",
    "category": "words",
    "degree": "numbers",
}
"""Kinds of columns, and what they hold."""
SCALINGS = {
    "kept": "0 or 1, kept as they are",
    "standard": "mean 0, standard deviation 1",
    "log": "mostly 0: log2(1 + value / median of the others)",
    "quantile": "long tails: ranks as normal scores",
    "indicators": "0 or 1 for each value",
}
"""What is done to the values of a column, in the words of the summary and the model card."""
TIME, DURATION = "time of day", "duration"
"""Columns of dates that hold none."""
OUT, IN = "edges out", "edges in"
"""The columns of degrees."""
_TEXT_LENGTH = 50
_FEW = 20
_DAY = 86_400e6
_SMALLEST_STD = float(np.finfo(np.float64).tiny)
_MOSTLY_ZERO = 0.8
_TAIL, _FAR = 4.0, 20.0
"""Distances from the median, in those between the quartiles, beyond which 1 % of the values, or one, is a long tail.
Half a percent of normal values lie beyond 1.9 on either side, of exponential ones beyond 4.2."""
_KNOTS = 51
COLUMN: Form = {
    "name": str,
    "kind": set(WANTED),
    "mean": NUMBER,
    "std": NUMBER,
    "values": [str],
    "other": bool,
    "missing": bool,
}
"""Of a column in a record of any version."""
_ADDED: Form = {
    "scaling": set(SCALINGS),
    "unit": NUMBER,
    "knots": [[NUMBER]],
    "order": {"", DAY_FIRST, MONTH_FIRST, TIME, DURATION},
}
"""What the first version had not."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """How one column is encoded.

    Attributes:
        kind: One of :data:`WANTED`.
        scaling: One of :data:`SCALINGS`.
        mean, std: Of the values present, where they are standardised; the mean also of 0 and 1.
        unit: The median of the values above 0, where the logarithm is taken.
        knots: Values and their normal scores, between which the scores of others lie.
        values: Categories with a column each.
        other: Whether there is a column for all other categories.
        missing: Whether there is a column that says where the value is missing.
        order: Of dates written as 31/12/2024 or 12/31/2024 are, what they begin with; or that they are times of day, or
            durations.
    """

    name: str
    kind: str
    scaling: str
    mean: float = 0.0
    std: float = 1.0
    unit: float = 1.0
    knots: tuple[tuple[float, float], ...] = ()
    values: tuple[str, ...] = ()
    other: bool = False
    missing: bool = False
    order: str = ""

    @property
    def features(self) -> list[str]:
        """Names of the features it becomes."""
        own = [f"{self.name}={value}" for value in self.values] if self.kind == "category" else [self.name]
        return own + [f"{self.name}: other"] * self.other + [f"{self.name}: missing"] * self.missing

    @property
    def done(self) -> str:
        """What is done to its values, in words."""
        parts = [SCALINGS[self.scaling]] + [self.order] * bool(self.order)
        if self.kind == "category":
            parts = [f"0 or 1 for each of {len(self.values)} values"] + ["one for all others"] * self.other
        return ", ".join(parts + ["one for missing ones"] * self.missing)

    def places(self, column: Values) -> tuple[Values, npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Of a category: values as text, the place of each among the known ones or -1, and whether it is missing."""
        import pyarrow as pa
        from pyarrow import compute as pc

        texts = _texts(column)
        return texts, positions(texts, pa.array(self.values, pa.string())), pc.is_null(texts).to_numpy()

    def encode(self, column: Values, place: str) -> FloatArray:
        """Rows x features."""
        encoded = np.zeros((len(column), len(self.features)))
        if self.kind == "category":
            _, found, absent = self.places(column)
            encoded[np.flatnonzero(found >= 0), found[found >= 0]] = 1
            if self.other:
                encoded[(found < 0) & ~absent, len(self.values)] = 1
        else:
            numbers = _numbers(column, self.kind, place, self.order)
            absent = np.isnan(numbers)
            filled = self.mean if self.scaling == "kept" else 0.0
            encoded[:, 0] = np.where(absent, filled, self._scale(np.where(absent, 0.0, numbers)))
        if self.missing:
            encoded[absent, -1] = 1
        return encoded

    def decode(self, features: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values that features stand for, one for each row: what was encoded, to the precision that the features have.

        Of a category the text, of all others a number (of a date its days since 1970); ``None`` or NaN where it was
        missing. A rare category is ``other``, and a number beyond those of training comes back as their end.
        """
        absent = features[:, -1] > 0.5 if self.missing else np.zeros(len(features), dtype=bool)
        if self.kind == "category":
            names = np.array([*self.values, *["other"] * self.other, None], dtype=object)
            indicators = features[:, : len(names) - 1]
            found = np.where(indicators.max(axis=1, initial=0) > 0.5, indicators.argmax(axis=1), len(names) - 1)
            return np.asarray(names[np.where(absent, len(names) - 1, found)])
        return np.where(absent, np.nan, self._unscale(features[:, 0].astype(np.float64)))

    def tell(self, features: npt.NDArray[Any]) -> str:
        """The value that the features of one row stand for, as a reader of the table knows it."""
        value = self.decode(features[np.newaxis])[0]
        if value is None or (self.kind != "category" and np.isnan(value)):
            return "missing"
        return str(value) if self.kind == "category" else self.tell_number(features[0])

    def tell_number(self, encoded: float) -> str:
        """The shortest number, or date, that is encoded as this one is; of what is true or false, which."""
        if self.kind == "boolean":
            return "true" if encoded > 0.5 else "false"
        wanted = np.float32(encoded)
        number = float(self._unscale(np.array([wanted], dtype=np.float64))[0])
        if self.kind == "date":
            steps = (number if unit is None else round(number * unit) / unit for unit in (1, 1440, 86_400, None))
            return _date_text(next(each for each in steps if each == number or self._is(each, wanted)), self.order)
        shortest = (float(f"{number:.{digits}e}") for digits in range(17))
        return f"{next((each for each in shortest if self._is(each, wanted)), number):,.15g}"

    def tell_mean(self, feature: int, encoded: float) -> str | None:
        """What the mean of one of its features over several rows says of their values, of which missing ones count as
        the encoding fills them; ``None`` where scaling is not linear, and a mean of it is none of theirs."""
        if self.scaling in ("indicators", "kept") or feature:
            return f"{100 * encoded:.3g} %"
        if self.scaling != "standard":
            return None
        number = encoded * self.std + self.mean
        return _date_text(number, self.order) if self.kind == "date" else f"{float(f'{number:.3e}'):,.15g}"

    def _is(self, number: float, encoded: np.float32) -> bool:
        """Whether a number is encoded so; one beyond those of training, which is taken for their end, is not."""
        if self.scaling == "quantile" and not self.knots[0][0] <= number <= self.knots[-1][0]:
            return False
        return bool(np.float32(self._scale(np.array([number]))[0]) == encoded)

    def _unscale(self, numbers: FloatArray) -> FloatArray:
        if self.scaling == "standard":
            return numbers * self.std + self.mean
        if self.scaling == "log":
            return np.asarray(np.sign(numbers) * (np.exp2(np.abs(numbers)) - 1) * self.unit)
        if self.scaling == "quantile":
            values, scores = np.array(self.knots).T
            return np.asarray(np.interp(numbers, scores, values))
        return numbers

    def _scale(self, numbers: FloatArray) -> FloatArray:
        if self.scaling == "standard":
            return (numbers - self.mean) / self.std
        if self.scaling == "log":
            return np.sign(numbers) * np.log2(1 + np.abs(numbers) / self.unit)
        if self.scaling == "quantile":
            values, scores = np.array(self.knots).T
            right = np.clip(np.searchsorted(values, numbers), 1, len(values) - 1)
            low, high = values[right - 1], values[right]
            share = np.clip((numbers - low) / (high - low), 0.0, 1.0)
            return np.asarray(scores[right - 1] + share * (scores[right] - scores[right - 1]))
        return numbers


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
        """Decide on each named column; lists, and free text, which would be noise as categories, are refused.

        Args:
            table: The node table.
            names: Columns that are to become features.
            place: Its file, for errors.
            categories: Columns that are categories whatever they look like.
            rare: Share of the rows below which a category is 'other'; one that occurs only once always is.
        """
        if not 0 <= rare < 1:
            raise InputError(f"--rare-share must be a number in the range [0.0, 1.0). Got {rare} instead.")
        columns, dropped, refused = [], {}, {}
        categories = set(categories)
        for name in names:
            given = table[name]
            stated = name in categories or _is_dictionary(given)
            values = plain(given)
            kind, order = ("category", "") if stated else _kind(values)
            if kind not in WANTED:
                refused[name] = kind
                continue
            if values.null_count == len(values):
                dropped[name] = "empty"
                continue
            if kind == "category" and not stated and (reason := _why_text(values)):
                refused[name] = reason
                continue
            if kind == "category":
                found = _learn_category(name, values, rare)
            else:
                numbers = _numbers(values, kind, f"column '{name}' of '{place}'", order)
                found = _learn_numbers(name, kind, numbers, place, order)
            if isinstance(found, str):
                dropped[name] = found
            else:
                columns.append(found)
        if refused:
            name, reason = next(iter(refused.items()))
            every = ",".join(refused)
            raise InputError(f"Column '{name}' of '{place}' {reason} Or leave it out with --drop-columns {every}.")
        return cls(tuple(columns), dropped)

    @classmethod
    def of_edges(cls, degrees: Table) -> Self:
        """For a table that has nothing but ids and labels: its nodes by their numbers of edges."""
        found = [_learn_numbers(name, "degree", degrees[name].to_numpy().astype(np.float64), "") for name in (OUT, IN)]
        return cls(tuple(column for column in found if isinstance(column, Column)))

    @property
    def reads_edges(self) -> bool:
        """Whether the columns are numbers of edges, which no node table has."""
        return any(column.kind == "degree" for column in self.columns)

    def described(self) -> list[tuple[str, str, str]]:
        """Name, kind and what was done, of each column that is used or dropped."""
        used = [(each.name, each.kind, each.done) for each in self.columns]
        return used + [(name, "left out", why) for name, why in self.dropped.items()]

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

    def warn_of_unknown(self, table: Table, place: str) -> None:
        """Say how many rows of a table that came later hold categories without a feature of their own."""
        import pyarrow as pa

        told = []
        for column in self.columns:
            if column.kind == "category":
                texts, found, absent = column.places(plain(table[column.name]))
                unknown = (found < 0) & ~absent
                if count := int(unknown.sum()):
                    shown = name_some(distinct(texts.filter(pa.array(unknown)).combine_chunks()))
                    as_what = "'other'" if column.other else "none of the known ones"
                    told.append(f"'{column.name}' in {count:,} of {len(found):,} rows ({shown}), taken for {as_what}")
        if told:
            warnings.warn(
                f"'{place}' has categories that training did not have, or hardly: {'; '.join(told)}.",
                DataWarning,
                stacklevel=3,
            )

    def as_dict(self) -> dict[str, Any]:
        columns = [
            asdict(each) | {"values": list(each.values), "knots": [list(knot) for knot in each.knots]}
            for each in self.columns
        ]
        return {"columns": columns, "dropped": dict(self.dropped)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """What :meth:`as_dict` gave, of this version or an earlier one; a ``ValueError`` where it is something else."""
        columns = [Column(**_completed(column)) for column in content["columns"]]
        for column in columns:
            if not (column.std > 0 and column.unit > 0):
                raise ValueError(f"std and unit of the column '{column.name}' must be above 0")
            values = [value for value, _ in column.knots]
            if column.scaling == "quantile" and (len(values) < 2 or (np.diff(values) <= 0).any()):
                raise ValueError(f"knots of the column '{column.name}' must be at least 2 that grow")
        return cls(tuple(columns), content["dropped"])


def _date_text(days: float, order: str) -> str:
    """A date, with its time where it has one; a time of day, or a duration, by itself."""
    seconds = round(days * 86_400)
    if order == DURATION:
        return f"{days:,.6g} days"
    if not -719_162 <= days < 2_932_896:
        return f"{days:,.6g} days since 1970"
    found = datetime(1970, 1, 1) + timedelta(seconds=seconds)
    clock = f"{found:%H:%M:%S}".removesuffix(":00")
    return clock if order == TIME else f"{found:%Y-%m-%d}" + (f" {clock}" if seconds % 86_400 else "")


def _completed(column: Mapping[str, Any]) -> dict[str, Any]:
    """A column of a record; those of the first version had one scaling for each kind."""
    first = {"boolean": "kept", "category": "indicators"}.get(column["kind"], "standard")
    found = {"scaling": first, "unit": 1.0, "knots": [], "order": "", **column}
    if wrong := misfit(found, _ADDED, f"the column '{column['name']}'"):
        raise ValueError(wrong)
    if any(len(knot) != 2 for knot in found["knots"]):
        raise ValueError(f"knots of the column '{column['name']}' must be pairs")
    return {**found, "values": tuple(found["values"]), "knots": tuple((low, score) for low, score in found["knots"])}


def _learn_numbers(name: str, kind: str, numbers: FloatArray, place: str, order: str = "") -> Column | str:
    """The encoding of numbers, NaN where they are missing, or why the column is dropped."""
    present = numbers[~np.isnan(numbers)]
    low, high = float(present.min()), float(present.max())
    missing = len(present) < len(numbers)
    if low == high and not missing:
        return "always the same value"
    mean, spread = _mean_and_spread(present)
    common: dict[str, Any] = {"name": name, "kind": kind, "missing": missing, "order": order}
    if kind == "boolean" or (kind == "number" and np.isin(present, (0.0, 1.0)).all()):
        return Column(scaling="kept", mean=mean, **common)
    if low < high and (spread < _SMALLEST_STD or np.isinf(high - low)):
        wanted = "larger" if spread < 1 else "smaller"
        raise InputError(f"Column '{name}' of '{place}' must hold {wanted} numbers. Got {high}.")
    if kind == "number" and low == 0 and (present == 0).mean() >= _MOSTLY_ZERO:
        return Column(scaling="log", unit=float(np.median(present[present > 0])), **common)
    if low < high and _has_long_tails(present):
        return Column(scaling="quantile", knots=_normal_scores(present), **common)
    return Column(scaling="standard", mean=mean, std=spread if spread > 0 else 1.0, **common)


def _has_long_tails(numbers: FloatArray) -> bool:
    low, first, middle, third, high = np.quantile(numbers, (0.005, 0.25, 0.5, 0.75, 0.995))
    tail, farthest = max(high - middle, middle - low), max(numbers.max() - middle, middle - numbers.min())
    return bool(tail > _TAIL * (third - first) or farthest > _FAR * (third - first))


def _normal_scores(numbers: FloatArray) -> tuple[tuple[float, float], ...]:
    """Some values and what a normal variable has at their ranks; equal values have the middle one of theirs."""
    from scipy.special import ndtri

    values, counts = np.unique(numbers, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2) / len(numbers)
    chosen = np.unique(np.searchsorted(ranks, np.linspace(ranks[0], ranks[-1], _KNOTS)))
    return tuple(zip(values[chosen].tolist(), ndtri(ranks[chosen]).tolist(), strict=True))


def _mean_and_spread(numbers: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation, of numbers of any size: they are divided by a power of two, which is exact, before
    they are squared."""
    unit = 2.0 ** (int(np.frexp(np.abs(numbers).max())[1]) - 1)
    scaled = numbers / unit
    return float(scaled.mean() * unit), float(scaled.std() * unit)


def _is_dictionary(column: Values) -> bool:
    """Whether a column says of itself that it holds categories, as pandas' do."""
    import pyarrow as pa

    return bool(pa.types.is_dictionary(column.type))


def _kind(column: Values) -> tuple[str, str]:
    """The kind of a column, or why it is refused; and the order of its dates."""
    import pyarrow as pa

    found = column.type
    if pa.types.is_boolean(found):
        return "boolean", ""
    if pa.types.is_integer(found) or pa.types.is_floating(found) or pa.types.is_decimal(found):
        return "number", ""
    if pa.types.is_temporal(found):
        return "date", TIME if pa.types.is_time(found) else DURATION if pa.types.is_duration(found) else ""
    if pa.types.is_null(found):
        return "category", ""
    if pa.types.is_string(found):
        return _kind_of_text(column)
    if pa.types.is_nested(found):
        return f"holds lists or nested values ({found}). {_APART}", ""
    return f"must hold numbers, dates, booleans or words. Got {found} instead. Convert it first.", ""


def _kind_of_text(column: Values) -> tuple[str, str]:
    order = date_order(column)
    if order is None:
        return "category", ""
    if order != EITHER_FIRST:
        return "date", order
    shown = next(value for value in column.to_pylist() if value is not None)
    reason = f"holds dates such as {shown!r}, of which none tells the day from the month. Write them as 2024-12-31, or"
    return f"{reason} take them for categories with --category-columns.", ""


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
    return Column(name=name, kind="category", scaling="indicators", values=values, other=other, missing=missing)


_PLAIN_NUMBER = re.compile(r"[-+]?(0|[1-9]\d*)(\.\d+)?")
_ADORNED_NUMBER = re.compile(
    r"[-+]?[^\w\s]?\s?[-+]?([1-9]\d{0,2}([.,' \u00a0\u202f]\d{3})+|0|[1-9]\d*)([.,]\d+)?\s?([^\d\s]{1,3})?"
)
"""With signs for thousands, as in 1,234.50, or a currency, a unit or percent beside them."""
_APART = "Give each element a column of its own: numbers for embeddings, true or false for words."


def _why_text(column: Values) -> str:
    """Why a column of words is refused, with what to do; empty when it is not."""
    from pyarrow import compute as pc

    counts = _counts(column)
    total, example = sum(counts.values()), next(iter(counts), "")
    if counts and all(text[0] + text[-1] in ("[]", "{}") for text in counts):
        return f"holds lists or nested values such as {example!r:.60}. {_APART}"
    length = pc.mean(pc.utf8_length(column)).as_py() or 0
    reason = ""
    if length > _TEXT_LENGTH:
        reason = f"its values have {length:.0f} characters on average"
    elif len(counts) > max(_FEW, total / 2):
        reason = f"{len(counts):,} different values in {total:,} rows, such as {example!r}"
    if not reason:
        return ""
    adorned = [text for text in counts if not _PLAIN_NUMBER.fullmatch(text)]
    if not adorned:
        return f"holds numbers as text, such as {example!r}. Make it a column of numbers."
    if all(map(_ADORNED_NUMBER.fullmatch, adorned)):
        return (
            f"holds numbers with signs in or around them, such as {adorned[0]!r}. Write them plainly, as in 1234.5: "
            "without signs for thousands, currencies, units or percent."
        )
    return (
        f"looks like free text: {reason}. Put numbers made of it, as embeddings are, into columns of their own, or "
        "take it for categories with --category-columns."
    )


def _numbers(column: Values, kind: str, place: str, order: str = "") -> FloatArray:
    """Values as numbers, NaN where they are missing; of dates that do not begin with the year, by their order."""
    import pyarrow as pa

    try:
        if kind == "date":
            micros = _micros(column, order)
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


def _micros(column: Values, order: str) -> Values:
    import pyarrow as pa

    found = column.type
    if pa.types.is_time(found):
        return column.cast(pa.time64("us"), safe=False)
    if pa.types.is_duration(found):
        return column.cast(pa.duration("us"), safe=False)
    if not (pa.types.is_temporal(found) or pa.types.is_string(found) or pa.types.is_null(found)):
        raise pa.ArrowInvalid("no dates")
    if pa.types.is_string(found):
        return text_dates(column, "" if order in (TIME, DURATION) else order)
    return column.cast(pa.timestamp("us", getattr(found, "tz", None)), safe=False)
