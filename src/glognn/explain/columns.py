"""Features by the columns of a user's table that they were made of, with the values that the table has there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from glognn.data.encoding import Column, Encoding

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True, eq=False)
class TableColumns:
    """Columns of a table, and the features that they became.

    Attributes:
        encoding: How they became features.
        x: The features as encoded, n x f: before what a graph's settings do to them.
    """

    encoding: Encoding
    x: Tensor

    @classmethod
    def of(cls, encoding: Encoding | None, data: Data) -> TableColumns | None:
        """Those of a graph; ``None`` where its features are of another origin."""
        x = data.x
        if encoding is None or x is None or x.layout != torch.strided or x.shape[1] != encoding.num_features:
            return None
        return cls(encoding, x)

    @cached_property
    def names(self) -> list[str]:
        """Of features."""
        return [name for column in self.encoding.columns for name in column.features]

    @cached_property
    def _columns(self) -> list[tuple[Column, int]]:
        """Of each feature the column, and where its features begin."""
        found, start = [], 0
        for column in self.encoding.columns:
            found += [(column, start)] * len(column.features)
            start += len(column.features)
        return found

    def together(self, features: Iterable[int]) -> dict[str, list[int]]:
        """Features by the column that they are of: a category and its values are one."""
        found: dict[str, list[int]] = {}
        for feature in features:
            found.setdefault(self._columns[feature][0].name, []).append(feature)
        return found

    def value(self, node: int, feature: int) -> str:
        """What the table has for a node in the column of a feature."""
        column, start = self._columns[feature]
        return column.tell(self.x[node, start : start + len(column.features)].cpu().numpy())

    def mean(self, feature: int, encoded: float) -> str | None:
        """What a mean of encoded values is a mean of; ``None`` where it is no mean of the table's values."""
        column, start = self._columns[feature]
        return column.tell_mean(feature - start, encoded)

    def one(self, feature: int, encoded: float) -> str | None:
        """The value that one encoded number of a column stands for; ``None`` of those that say which value it is."""
        column, start = self._columns[feature]
        return column.tell_number(encoded) if feature == start and column.kind != "category" else None
