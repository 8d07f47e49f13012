"""Random splits for graphs that bring none."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from glognn.errors import InputError

FRACTIONS = (0.5, 0.25, 0.25)
RANDOM_SPLITS = "random 50/25/25, stratified, seed 0"
"""What :func:`random_splits` gives by default, in the words of a record."""


def random_splits(
    y: Tensor, num_splits: int = 5, *, seed: int = 0, fractions: tuple[float, float, float] = FRACTIONS
) -> dict[str, Tensor]:
    """Stratified random splits of the labelled nodes: ``train``, ``val`` and ``test``, each n x splits.

    Every class is divided by the given fractions (train, val, test), rounded down for val and test; the rest
    trains. The same seed gives the same splits on every machine.
    """
    if min(fractions) <= 0 or abs(sum(fractions) - 1) > 1e-9:
        raise InputError(f"The fractions of a split must be positive and sum to 1. Got {fractions} instead.")
    labels = y.cpu().numpy()
    generator = np.random.default_rng(seed)
    masks = {name: np.zeros((labels.size, num_splits), dtype=bool) for name in ("train", "val", "test")}
    for split in range(num_splits):
        for label in np.unique(labels[labels >= 0]):
            members = generator.permutation(np.flatnonzero(labels == label))
            num_val, num_test = int(fractions[1] * members.size), int(fractions[2] * members.size)
            masks["val"][members[:num_val], split] = True
            masks["test"][members[num_val : num_val + num_test], split] = True
            masks["train"][members[num_val + num_test :], split] = True
    return {name: torch.from_numpy(mask) for name, mask in masks.items()}
