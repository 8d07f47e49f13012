"""Random splits and folds for graphs that bring none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from glognn.errors import InputError

if TYPE_CHECKING:
    from torch_geometric.data import Data

IntArray = npt.NDArray[np.int64]

FRACTIONS = (0.5, 0.25, 0.25)
RANDOM_SPLITS = "random 50/25/25, stratified, seed 0"
"""What :func:`random_splits` gives by default, in the words of a record."""


def parse_fractions(text: str) -> tuple[float, float, float]:
    """``60/20/20``: the shares of train, val and test nodes, in percent or as parts of 1."""
    try:
        parts = [float(part) for part in text.split("/")]
    except ValueError:
        parts = []
    if len(parts) != 3 or min(parts) <= 0 or not any(abs(sum(parts) - whole) < 1e-6 * whole for whole in (100, 1)):
        raise InputError(
            "--fractions must be three positive shares of train, val and test nodes that sum to 100 (or to 1), as in "
            f"60/20/20. Got {text!r} instead."
        )
    train, val, test = (part / sum(parts) for part in parts)
    return train, val, test


def describe_splits(fractions: tuple[float, float, float], seed: int) -> str:
    """What :func:`random_splits` gives, in the words of a record."""
    return f"random {'/'.join(f'{100 * part:.4g}' for part in fractions)}, stratified, seed {seed}"


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


def folds(y: Tensor, num_folds: int = 5, *, seed: int = 0) -> dict[str, Tensor]:
    """Stratified folds of the labelled nodes as splits: ``train``, ``val`` and ``test``, each n x folds.

    Each fold is the val set of one split, all other labels train there, and nobody is test. Every class is dealt out
    evenly; one with fewer labels than folds validates in as many folds as it has labels, and a single label of a class
    always trains. So that two classes are in every set, there are at most as many folds as the second largest class has
    labels.
    """
    labels = y.cpu().numpy()
    generator = np.random.default_rng(seed)
    classes, sizes = np.unique(labels[labels >= 0], return_counts=True)
    second = int(np.sort(sizes)[-2]) if sizes.size > 1 else 0
    if num_folds < 2 or second < 2:
        raise InputError(
            f"Folds must be at least 2, of two classes with at least 2 labels each. Got {num_folds} folds, and "
            f"{second} labels of the second largest class instead."
        )
    count = min(num_folds, second)
    val = np.zeros((labels.size, count), dtype=bool)
    dealt = 0
    for label, size in zip(classes, sizes, strict=True):
        if size > 1:
            members = generator.permutation(np.flatnonzero(labels == label))
            val[members, (dealt + np.arange(size)) % count] = True
            dealt += int(size)
    masks = {"train": (labels >= 0)[:, np.newaxis] & ~val, "val": val, "test": np.zeros_like(val)}
    return {name: torch.from_numpy(mask) for name, mask in masks.items()}


def add_folds(data: Data, num_folds: int, seed: int) -> str:
    """Put the masks of :func:`folds` into a graph; what they are, in words."""
    for name, mask in folds(data.y.view(-1), num_folds, seed=seed).items():
        data[f"{name}_mask"] = mask
    return f"{data.val_mask.shape[1]} folds of all labels, stratified, seed {seed}"


def redraw(y: Tensor, masks: Mapping[str, Tensor], split: int, count: int, *, seed: int = 0) -> dict[str, Tensor]:
    """The train and val nodes of a split dealt out anew, ``count`` times, each n x ``count``; its test nodes stay out.

    Every class keeps its share in val. ``test`` is empty.
    """
    labels = y.cpu().numpy()
    train, val = (masks[name][:, split].cpu().numpy() for name in ("train", "val"))
    nodes = np.flatnonzero((train | val) & (labels >= 0))
    drawn = np.zeros((labels.size, count), dtype=bool)
    for column in range(count):
        drawn[validation_part(labels, nodes, val.sum() / nodes.size, seed + column), column] = True
    inside = np.zeros((labels.size, 1), dtype=bool)
    inside[nodes] = True
    found = {"train": inside & ~drawn, "val": drawn, "test": np.zeros_like(drawn)}
    return {name: torch.from_numpy(mask) for name, mask in found.items()}


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
