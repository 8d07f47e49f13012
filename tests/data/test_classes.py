"""Labels given in Python come back as they went in, or are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from glognn.data.classes import Classes, encode, find_classes, label_array
from glognn.errors import InputError

LARGE = [2**63 + 1, 2**63, 2**63 + 1]
BESIDE = [2**62 + 1, None, 2**62]
DOORS: dict[str, tuple[Any, list[Any]]] = {
    "zeros first": (["01", "1", "1.0", " 1"], ["01", "1", "1.0", " 1"]),
    "zeros first of an array": (np.array(["01", "1"], dtype=object), ["01", "1"]),
    "zeros first of pandas": (pd.Series(["01", "1", None]), ["01", "1", None]),
    "an end that NumPy cuts off": (["a\0", "a"], ["a\0", "a"]),
    "above 2**63": (LARGE, LARGE),
    "above 2**63 as objects": (np.array(LARGE, dtype=object), LARGE),
    "above 2**63, unsigned": (np.array(LARGE, dtype=np.uint64), LARGE),
    "above 2**53 beside nothing": (BESIDE, BESIDE),
    "above 2**53 beside nothing of pandas": (pd.Series(BESIDE, dtype="Int64"), BESIDE),
    "above 2**53 beside nothing of Arrow": (pd.Series(BESIDE, dtype="int64[pyarrow]"), BESIDE),
    "integers of several widths": ([np.int8(3), np.uint16(4), 5], [3, 4, 5]),
    "truth values": (pd.Series([True, None, False], dtype="boolean"), [True, None, False]),
    "a tensor": (torch.tensor([4, -1, 2]), [4, None, 2]),
    "a tuple": ((4, -1, 2), [4, None, 2]),
    "categories": (pd.Series(["01", "1"], dtype="category"), ["01", "1"]),
}


def there_and_back(y: Any) -> list[Any]:
    values = label_array(y)
    classes = Classes.from_dict(Classes.from_array(find_classes(values)).as_dict()).array()
    return [None if code < 0 else classes[code] for code in encode(values, classes)]


@pytest.mark.parametrize("door", DOORS)
def test_labels_come_back_of_the_same_value_and_kind(door: str) -> None:
    y, expected = DOORS[door]
    found = there_and_back(y)
    assert found == expected
    assert [isinstance(each, str) for each in found] == [isinstance(each, str) for each in expected]
    assert [isinstance(each, float) for each in found] == [isinstance(each, float) for each in expected]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([2**63, -5], "Got 9223372036854775808 beside others: give them as text"),
        ([2**64, 2**64 + 1], "18446744073709551617"),
        (np.array([2**70, 1], dtype=object), "give them as text"),
        ([2**60 + 1, 2.0, 2**60], "1152921504606846977"),
        ([True, 2], "Got truth values and whole numbers"),
        ([1, "1"], "Got text and whole numbers"),
        ([1, float("inf")], "infinity"),
    ],
)
def test_labels_that_no_array_can_hold_apart_are_refused(y: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        there_and_back(y)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.lists(
        st.one_of(st.text(max_size=3), st.integers(-(2**65), 2**65), st.integers(-3, 3), st.booleans(), st.none()),
        min_size=1,
        max_size=6,
    )
)
def test_whatever_labels_are_given_two_are_one_class_only_if_equal(labels: list[Any]) -> None:
    expected = [None if label is None or label == "" or label == -1 else label for label in labels]
    assume(len({label for label in expected if label is not None}) > 1)  # fewer are no classes to be kept
    try:
        found = there_and_back(labels)
    except InputError:
        kinds = {type(label) for label in expected if label is not None}
        assert len(kinds) > 1 or any(isinstance(label, int) and abs(label) >= 2**63 for label in labels)
        return
    assert found == expected
    known = [(a, b) for a, b in zip(found, expected, strict=True) if b is not None]
    assert all(isinstance(a, str) == isinstance(b, str) for a, b in known)
