"""Random splits for graphs that bring none."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from glognn.errors import InputError

IntArray = npt.NDArray[np.int64]

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


def validation_part(labels: IntArray, nodes: IntArray, fraction: float, seed: int) -> IntArray:
    """Some of the labelled ``nodes``, about ``fraction`` of every class; one of each class at least remains.

    When the classes are too small for a share, it is one node of the largest class.
    """
    generator = np.random.default_rng(seed)
    classes, sizes = np.unique(labels[nodes], return_counts=True)
    parts = []
    for label, size in zip(classes, sizes, strict=True):
        members = generator.permutation(nodes[labels[nodes] == label])
        parts.append(members[: min(round(fraction * size), size - 1)])
    chosen = np.sort(np.concatenate(parts))
    if not chosen.size:
        if sizes.max() < 2:
            raise InputError("A validation set needs a class with at least 2 labelled nodes. Got 1 of each instead.")
        chosen = nodes[labels[nodes] == classes[sizes.argmax()]][-1:]
    return chosen
