"""Columns become features of a scale that suits them, the same ones for later tables."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import norm, rankdata

from glognn.data.encoding import Column, Encoding
from glognn.data.frames import as_table
from glognn.errors import DataWarning, InputError


def table(**columns: Any) -> pa.Table:
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def learn(**columns: Any) -> Encoding:
    return Encoding.learn(table(**columns), list(columns), "t")


def scalings(encoding: Encoding) -> dict[str, str]:
    return {column.name: column.scaling for column in encoding.columns}


def test_columns_become_features() -> None:
    rows = table(
        size=[1.0, 3.0, None, 5.0],
        there=[True, False, None, True],
        plan=["a", "a", "b", None],
        day=["2020-01-01", "2020-01-03", "2020-01-03", "2020-01-03"],
        same=[1, 1, 1, 1],
        empty=pa.nulls(4),
    )
    encoding = Encoding.learn(rows, rows.column_names, "t", rare=0)
    assert dict(encoding.dropped) == {"same": "always the same value", "empty": "empty"}
    names = [name for column in encoding.columns for name in column.features]
    assert names == [
        "size",
        "size: missing",
        "there",
        "there: missing",
        "plan=a",
        "plan: other",
        "plan: missing",
        "day",
    ]
    deviation = np.std([1, 3, 5])
    expected = np.array(
        [
            [-2 / deviation, 0, 1, 0, 1, 0, 0, -np.sqrt(3)],
            [0, 0, 0, 0, 1, 0, 0, 1 / np.sqrt(3)],
            [0, 1, 2 / 3, 1, 0, 1, 0, 1 / np.sqrt(3)],
            [2 / deviation, 0, 1, 0, 0, 0, 1, 1 / np.sqrt(3)],
        ]
    )
    assert np.allclose(encoding.encode(rows, "t"), expected, atol=1e-6)
    again = Encoding.from_dict(encoding.as_dict())
    assert again == encoding
    others = table(day=["2020-01-01"], plan=["never seen"], there=["false"], size=[3], more=["x"])
    assert np.allclose(again.encode(others, "t"), [[0, 0, 0, 0, 0, 1, 0, -np.sqrt(3)]], atol=1e-6)


@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**-565, 2.0**565, 2.0**1000])
def test_a_column_of_numbers_is_standardised_in_any_unit(unit: float) -> None:
    numbers = np.random.default_rng(0).standard_normal(50)
    learned = [Encoding.learn(table(size=numbers * factor), ["size"], "t") for factor in (1, unit)]
    usual, scaled = (each.encode(table(size=numbers * f), "t") for each, f in zip(learned, (1, unit), strict=True))
    assert scaled.tolist() == usual.tolist()
    assert np.isclose(usual.std(), 1)
    assert np.isclose(usual.mean(), 0, atol=1e-6)


def test_numbers_whose_spread_no_float_holds_are_refused() -> None:
    for numbers, wanted in (([1.7e308, -1.7e308], "smaller"), ([5e-324, 0.0], "larger")):
        with pytest.raises(InputError, match=f"Column 'size' of 't' must hold {wanted} numbers"):
            Encoding.learn(table(size=numbers), ["size"], "t")


def test_an_unknown_category_without_rare_ones_is_nowhere() -> None:
    encoding = Encoding.learn(table(plan=["a", "a", "b", "b"]), ["plan"], "t")
    assert encoding.encode(table(plan=["c", "b"]), "t").tolist() == [[0, 0], [0, 1]]


def test_columns_are_encoded_in_time_that_grows_with_their_number() -> None:
    """The names of a table, a new list each time, are asked for once, not once for each column."""

    class Counting:
        def __init__(self, rows: pa.Table) -> None:
            self.rows, self.num_rows, self.asked = rows, rows.num_rows, 0

        @property
        def column_names(self) -> list[str]:
            self.asked += 1
            return list(self.rows.column_names)

        def __getitem__(self, name: str) -> pa.ChunkedArray:
            return self.rows[name]

    rows = Counting(table(**{f"c{number}": [number, 1, 2] for number in range(50)}))
    encoding = Encoding.learn(rows, rows.column_names, "t")
    assert encoding.encode(rows, "t").shape == (3, 50)
    assert rows.asked <= 3


def random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_every_number_has_the_scaling_that_its_values_ask_for() -> None:
    count = 2000
    words = (random().random(count) < 0.03).astype(float)
    counts = np.where(random(1).random(count) < 0.9, 0, random(2).poisson(3, count) + 1)
    outlier = np.append(random(3).normal(size=count - 1), 1e6)
    found = learn(
        word=words,
        flag=(1 - words).astype(int),
        count=counts,
        amount=random(4).lognormal(sigma=1.5, size=count),
        outlier=outlier,
        height=random(5).normal(170, 10, size=count),
        age=random(6).integers(18, 90, count),
        visits=random(7).poisson(4, count),
    )
    assert scalings(found) == {
        "word": "kept",
        "flag": "kept",
        "count": "log",
        "amount": "quantile",
        "outlier": "quantile",
        "height": "standard",
        "age": "standard",
        "visits": "standard",
    }
    encoded = found.encode(table(**{name: [1, 0] for name in scalings(found)}), "t")
    assert encoded[:, :2].tolist() == [[1, 1], [0, 0]]


def test_zeros_stay_zeros_where_most_values_are_and_the_median_of_the_others_is_one() -> None:
    counts = [0] * 16 + [1, 2, 2, 60]
    found = learn(count=counts)
    assert found.encode(table(count=[0, 1, 2, 6]), "t")[:, 0].tolist() == pytest.approx([0, np.log2(1.5), 1, 2])


def test_long_tails_become_normal_scores_of_their_ranks() -> None:
    values = random().lognormal(sigma=2, size=40)
    found = learn(amount=values)
    assert scalings(found) == {"amount": "quantile"}
    expected = norm.ppf((rankdata(values) - 0.5) / 40)
    encoded = found.encode(table(amount=values), "t")[:, 0]
    np.testing.assert_allclose(encoded, expected, atol=1e-6)
    ends = found.encode(table(amount=[-1.0, 1e300]), "t")[:, 0]
    np.testing.assert_allclose(ends, [expected.min(), expected.max()], atol=1e-6)
    ties = learn(amount=[0.0] * 30 + [-3.0] * 2 + [1.0, 2.0, 3.0, 500.0])
    assert abs(ties.encode(table(amount=[0.0]), "t")[0, 0]) < 0.1


def test_many_values_take_few_knots_and_grow_with_them() -> None:
    values = random().lognormal(sigma=2, size=5000)
    found = learn(amount=values)
    assert len(found.columns[0].knots) <= 51
    encoded = found.encode(table(amount=np.sort(values)), "t")[:, 0]
    assert (np.diff(encoded) >= 0).all()
    assert abs(encoded.mean()) < 0.05
    assert 0.9 < encoded.std() < 1.1


def test_a_missing_number_is_in_the_middle_and_said() -> None:
    tail = [*random().lognormal(sigma=2, size=50), None]
    found = learn(flag=[1, 0, 0, None] * 12 + [0, 0, 1], tail=tail)
    encoded = found.encode(table(flag=[None], tail=[None]), "t")
    ones = found.columns[0].mean
    np.testing.assert_allclose(encoded, [[ones, 1, 0, 1]], rtol=1e-6)


def test_an_encoding_outlives_its_record() -> None:
    found = learn(
        amount=random().lognormal(sigma=2, size=30), word=[0.0, 1.0] * 15, count=[0] * 28 + [2, 5], plan=["a", "b"] * 15
    )
    assert Encoding.from_dict(json.loads(json.dumps(found.as_dict()))) == found


def test_a_record_of_the_first_version_is_read_as_it_was_meant() -> None:
    common = {"mean": 2.0, "std": 4.0, "values": [], "other": False, "missing": False}
    columns = [{"name": "size", "kind": "number", **common}, {"name": "vip", "kind": "boolean", **common, "std": 1.0}]
    found = Encoding.from_dict({"columns": columns, "dropped": {}})
    assert found.encode(table(size=[6.0], vip=[True]), "t").tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"knots": [[1.0, 0.0]]}, "at least 2 that grow"),
        ({"knots": [[1.0, 0.0], [1.0, 2.0]]}, "at least 2 that grow"),
        ({"knots": [[1.0], [2.0]]}, "must be pairs"),
        ({"scaling": "cubed"}, "must be one of"),
        ({"unit": 0.0}, "must be above 0"),
    ],
)
def test_a_damaged_column_is_refused(change: dict[str, Any], message: str) -> None:
    content = learn(amount=random().lognormal(sigma=2, size=30)).as_dict()
    content["columns"][0] |= change
    with pytest.raises(ValueError, match=message):
        Encoding.from_dict(content)


REFUSED = {
    "lists": ([[1, 2], [3]], "holds lists or nested values (list<item: int64>). Give each element a column"),
    "structs": ([{"a": 1}, {"a": 2}], "holds lists or nested values"),
    "lists as text": (["[1, 2]", "[3]"], "holds lists or nested values such as '[1, 2]'"),
    "free text": ([f"about {number} " + "words " * 9 for number in range(30)], "looks like free text"),
    "a value in each row": ([f"name-{number}" for number in range(30)], "30 different values in 30 rows"),
    "thousands": (
        [f"{number}.234,50" for number in range(1, 31)],
        "holds numbers with signs in or around them, such as",
    ),
    "currencies": ([f"€{number}.5" for number in range(30)], "such as '€0.5'. Write them plainly, as in 1234.5"),
    "percent": ([*map(str, range(15)), *(f"{number} %" for number in range(15))], "such as '0 %'. Write them plainly"),
    "numbers as text": ([str(number) for number in range(30)], "holds numbers as text, such as '0'. Make it a column"),
    "postal codes": ([f"0{number}117" for number in range(30)], "looks like free text"),
    "addresses": ([f"10.0.{number}.1" for number in range(30)], "looks like free text"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_feature_is_refused_with_the_remedy(case: str) -> None:
    values, message = REFUSED[case]
    with pytest.raises(InputError) as error:
        learn(notes=values)
    assert message in str(error.value)
    assert "--drop-columns notes" in str(error.value)


def test_categories_of_pandas_are_categories_whatever_they_hold() -> None:
    frame = pd.DataFrame({"code": pd.Categorical([1, 2, 2, None]), "day": pd.to_datetime(["2020-01-01"] * 3 + [None])})
    rows = as_table(frame, "frame").table  # type: ignore[union-attr]
    found = Encoding.learn(rows, ["code", "day"], "frame", rare=0)
    assert [(column.kind, column.features) for column in found.columns] == [
        ("category", ["code=2", "code: other", "code: missing"]),
        ("date", ["day", "day: missing"]),
    ]


def test_unknown_categories_are_counted_by_column() -> None:
    found = learn(plan=["a", "a", "b", "b"], town=["x", "x", "y", "y"])
    with pytest.warns(DataWarning, match=r"'plan' in 2 of 3 rows \('c', 'd'\), taken for none of the known ones\.$"):
        found.warn_of_unknown(table(plan=["c", "d", "a"], town=["x", None, "y"]), "t")


def test_what_was_done_is_said_in_words() -> None:
    column = Column(name="plan", kind="category", scaling="indicators", values=("a", "b"), other=True, missing=True)
    assert column.done == "0 or 1 for each of 2 values, one for all others, one for missing ones"


def test_dates_with_nine_digits_after_the_second_are_dates() -> None:
    texts = ["2020-10-26 00:00:00.000000000", "2021-03-22 12:00:00.000000000", "2021-03-23 00:00:00.000000000"]
    encoding = learn(since=texts)
    assert [column.kind for column in encoding.columns] == ["date"]
    days = encoding.columns[0].decode(encoding.encode(table(since=texts), "here"))
    np.testing.assert_allclose(days, [18561, 18708.5, 18709], rtol=1e-6)


@pytest.mark.parametrize(
    ("texts", "later", "order"),
    [
        (["31.12.2023", "1.2.2024", "5.10.2021 8:15"], ["07.03.2022"], ""),
        (["31/12/2023", "1/2/2024", "05/10/2021 08:15"], ["07/03/2022"], "day first"),
        (["12/31/2023", "2/1/2024", "10/05/2021 08:15:00"], ["03/07/2022"], "month first"),
        (["31-12-2023", "01-02-2024", "05-10-2021T08:15"], ["07-03-2022"], "day first"),
    ],
)
def test_dates_in_other_orders_are_dates_and_later_ones_are_read_alike(
    texts: list[str], later: list[str], order: str
) -> None:
    encoding = Encoding.from_dict(json.loads(json.dumps(learn(since=[*texts, None]).as_dict())))
    [column] = encoding.columns
    assert (column.kind, column.order) == ("date", order)
    wanted = ["2023-12-31 00:00", "2024-02-01 00:00", "2021-10-05 08:15", "2022-03-07 00:00"]
    days = pd.to_datetime(pd.Series(wanted)).sub(pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    for given in ([*texts, *later], wanted):  # in the form of training, and beginning with the year
        found = column.decode(encoding.encode(table(since=given), "here"))
        np.testing.assert_allclose(found, days, rtol=1e-6)
    assert ("first" in column.done) == bool(order)


def test_dates_that_do_not_tell_day_from_month_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"'since' .* '01/02/2024', of which none tells the day from the month\. Write"
    ):
        learn(since=["01/02/2024", "03/04/2023"])


def test_dates_in_two_orders_are_words() -> None:
    assert learn(since=["31/12/2024", "12/31/2024"] * 3).columns[0].kind == "category"


def test_values_are_told_as_the_table_has_them() -> None:
    generator = np.random.default_rng(0)
    amounts = [f"{value:.2f}" for value in generator.lognormal(4, 2, 400)]
    ages = generator.integers(18, 90, 400).tolist()
    times = pd.date_range("2019-01-01", periods=400, freq="37h")
    clocks = [f"{hour:02d}:{minute:02d}" for hour, minute in generator.integers(0, (24, 60), (400, 2)).tolist()]
    rare = ["DE", "FR", "PL"] * 133 + ["MT"]
    columns = {
        "amount": pa.array([None if row == 5 else float(each) for row, each in enumerate(amounts)]),
        "age": pa.array(ages),
        "counts": pa.array([row if row % 9 == 0 else 0 for row in range(400)]),
        "since": pa.array(times.date),
        "seen": pa.array(times),
        "at": pa.array([pd.Timestamp(f"2020-01-01 {each}").time() for each in clocks]),
        "took": pa.array((times - times[0]).to_pytimedelta()),
        "vip": pa.array([row % 3 == 0 for row in range(400)]),
        "country": pa.array([None if row == 6 else each for row, each in enumerate(rare)]),
    }
    encoding = Encoding.learn(pa.table(columns), list(columns), "t")
    encoding = Encoding.from_dict(json.loads(json.dumps(encoding.as_dict())))
    assert scalings(encoding) == {
        "amount": "quantile", "age": "standard", "counts": "log", "since": "standard", "seen": "standard",
        "at": "standard", "took": "standard", "vip": "kept", "country": "indicators",
    }  # fmt: skip
    x, start, told = encoding.encode(pa.table(columns), "t"), 0, {}
    for column in encoding.columns:
        width = len(column.features)
        told[column.name] = [column.tell(row) for row in x[:, start : start + width]]
        start += width
    wanted = ["missing" if row == 5 else f"{float(each):,.15g}" for row, each in enumerate(amounts)]
    same = np.mean([one == other for one, other in zip(told["amount"], wanted, strict=True)])
    assert same > 0.95  # in 32 bits, some numbers with the same feature are shorter
    for one, other in zip(told["amount"], wanted, strict=True):
        assert one == other or abs(float(one.replace(",", "")) / float(other.replace(",", "")) - 1) < 1e-5
    assert told["age"] == [str(each) for each in ages]
    assert told["counts"] == [str(each.as_py()) for each in columns["counts"]]
    assert told["since"] == [f"{each:%Y-%m-%d}" for each in times]
    assert told["seen"] == [f"{each:%Y-%m-%d %H:%M}".removesuffix(" 00:00") for each in times]
    assert told["at"] == clocks
    assert told["took"][2] == "3.08333 days"
    assert told["vip"][:2] == ["true", "false"]
    assert (told["country"][1], told["country"][6], told["country"][-1]) == ("FR", "missing", "other")


def test_means_of_features_are_told_where_they_are_means_of_values() -> None:
    encoding = learn(
        age=[20.0, 30.0, 40.0, 50.0],
        day=["2020-01-01", "2020-01-03", "2020-01-03", "2020-01-05"],
        plan=["a", "a", "b", "b"],
        vip=[True, False, False, None],
    )
    age, day, plan, vip = encoding.columns
    assert age.tell_mean(0, (30.0 - age.mean) / age.std) == "30"
    assert day.tell_mean(0, 0.0) == "2020-01-03"
    assert plan.tell_mean(1, 0.25) == "25 %"
    assert (vip.tell_mean(0, 1 / 3), vip.tell_mean(1, 0.5)) == ("33.3 %", "50 %")
    [tail] = learn(tail=[float(each) for each in range(9)] + [1e9]).columns
    assert (tail.scaling, tail.tell_mean(0, 0.0)) == ("quantile", None)
