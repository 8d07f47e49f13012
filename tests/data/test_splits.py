"""Random splits: stratified, disjoint, reproducible."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from glognn.data.splits import random_splits
from glognn.errors import InputError


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-1, 4), min_size=1, max_size=80), st.integers(0, 100))
def test_every_labelled_node_is_in_exactly_one_set(labels: list[int], seed: int) -> None:
    y = torch.tensor(labels)
    masks = random_splits(y, 3, seed=seed)
    total = sum(mask.long() for mask in masks.values())
    assert torch.equal(total, (y >= 0).long().unsqueeze(1).expand(-1, 3))


def test_classes_keep_their_shares() -> None:
    y = torch.cat([torch.zeros(400), torch.ones(40)]).long()
    masks = random_splits(y, 2, fractions=(0.5, 0.25, 0.25))
    for label, size in ((0, 400), (1, 40)):
        for name, share in (("train", 0.5), ("val", 0.25), ("test", 0.25)):
            assert (masks[name][y == label].sum(0) == share * size).all()
    again = random_splits(y, 2)
    assert torch.equal(again["test"], masks["test"])
    assert not torch.equal(masks["test"][:, 0], masks["test"][:, 1])
    assert not torch.equal(random_splits(y, 2, seed=1)["test"], masks["test"])


def test_wrong_fractions() -> None:
    with pytest.raises(InputError, match="positive and sum to 1. Got"):
        random_splits(torch.zeros(4).long(), fractions=(0.5, 0.5, 0.5))
