"""Random splits: stratified, disjoint, reproducible."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from glognn.data.splits import folds, random_splits
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


def test_folds_use_every_label_once() -> None:
    y = torch.tensor([0] * 23 + [1] * 11 + [2] * 3 + [3] + [-1] * 6)
    masks = folds(y, 5, seed=1)
    assert {name: tuple(mask.shape) for name, mask in masks.items()} == dict.fromkeys(("train", "val", "test"), (44, 5))
    assert not masks["test"].any()
    assert torch.equal(masks["train"] | masks["val"], (y >= 0).unsqueeze(1).expand(-1, 5))
    assert not (masks["train"] & masks["val"]).any()
    assert (
        masks["val"].sum(1).tolist() == [1] * 37 + [0] * 7
    )  # all but the single label of class 3, which always trains
    sizes = torch.stack([masks["val"][y == label].sum(0) for label in range(3)])
    assert (sizes.amax(1) - sizes.amin(1)).tolist() == [1, 1, 1]
    assert int(masks["val"].sum(0).max() - masks["val"].sum(0).min()) <= 1
    again, other = folds(y, 5, seed=1), folds(y, 5, seed=2)
    assert torch.equal(masks["val"], again["val"])
    assert not torch.equal(masks["val"], other["val"])


def test_there_are_no_more_folds_than_labels_of_the_second_class() -> None:
    masks = folds(torch.tensor([0] * 30 + [1] * 3), 5)
    assert masks["val"].shape[1] == 3
    assert masks["val"][30:].sum(0).tolist() == [1, 1, 1]
    for y in ([0] * 9, [0] * 9 + [1], [-1, -1]):
        with pytest.raises(InputError, match="of two classes with at least 2 labels each"):
            folds(torch.tensor(y), 5)
    with pytest.raises(InputError, match="at least 2, .* Got 1 folds"):
        folds(torch.tensor([0, 0, 1, 1]), 1)
