"""The settings of gradient boosted trees."""

from __future__ import annotations

from typing import ClassVar

from glognn.models.configs.base import ModelConfig, SearchedSettings, between, one_of
from glognn.models.memory import VALUE_BYTES, Sizes
from glognn.settings import integer, real, switch

WIDE = 256
"""More features than these are words rather than measurements, and are replaced by a few directions."""
FEW = 64
"""As many features, or fewer, are aggregated by minimum and maximum besides the mean."""
BINS = 63
"""Values told apart in a column when a tree is grown, where scikit-learn has 255: a split costs as much as its bins."""
HISTOGRAM_BYTES = 20
"""Of a bin: two sums in 64 bits and a count in 32."""
WALKED = 2**18
"""Pairs of a node and a tree that are scored at a time."""
GATHERED = 2**22
"""Values of neighbours that are compared at a time."""


def label_columns(classes: int) -> int:
    """Columns about labels of one direction of edges: labelled neighbours, shares of classes near, and far."""
    return 1 + 2 * classes


class TreesConfig(ModelConfig):
    title = "Trees"
    name = "trees"
    summary = "Gradient boosting on features, their mean, minimum and maximum over neighbours, and degrees"
    paper = "Ke et al. (LightGBM), NeurIPS 2017; neighbours as in Bazhenov et al. (GraphLand), 2025"
    implementation = "glognn.models.trees:Trees"
    varying = ("shrinkage", "min_leaf_nodes", "leaf_penalty", "column_share")
    search: ClassVar[SearchedSettings] = {
        "shrinkage": between(0.02, 0.3, log=True),
        "num_leaves": one_of(4, 8, 16, 31),
        "min_leaf_nodes": between(1, 30),
        "leaf_penalty": between(1e-2, 1e2, log=True, or_zero=True),
        "column_share": between(0.1, 1.0),
        "num_trees": one_of(100, 200, 400),
        "mean_hops": between(1, 3),
        "neighbour_labels": one_of(False, True),
        "directed": one_of(False, True),
    }

    num_trees: int = integer(
        150,
        "The most trees for each class. One epoch adds one; which number is kept is a matter of validation.",
        low=1,
        high=10_000,
    )
    shrinkage: float = real(
        0.1,
        "What each tree counts: to trees what the learning rate is to networks.",
        low=0,
        high=1,
        low_open=True,
    )
    num_leaves: int = integer(16, "The most leaves of a tree.", low=2, high=1024)
    min_leaf_nodes: int = integer(5, "The fewest training nodes of a leaf.", low=1)
    leaf_penalty: float = real(1.0, "L2 penalty on the values of leaves.", low=0)
    column_share: float = real(
        0.3, "Share of columns, drawn by the seed, that each split chooses from.", low=0, high=1, low_open=True
    )
    num_directions: int = integer(
        32,
        f"Of more than {WIDE} features, as many directions of largest variation (SVD) are kept in their place.",
        low=1,
        high=1024,
    )

    mean_hops: int = integer(
        2, "How far means reach: 1 to neighbours, 2 also to the means of neighbours, and so on.", low=1, high=16
    )

    neighbour_labels: bool = switch(
        False,
        "Whether labels of the training nodes around a node are read: how many there are, and the shares of classes "
        "one and two steps away. The model then knows the graph's nodes, and predicts them and new ones beside them.",
        before=False,
    )

    def check_graph(self, *, has_features: bool) -> None:
        """Without features there are degrees."""

    def num_columns(self, features: int) -> int:
        """Columns of a node itself: its features, or their directions."""
        return features if features <= WIDE else self.num_directions

    def neighbour_columns(self, features: int) -> int:
        """Columns of one direction of edges: degree, and what neighbours' columns and degrees are."""
        columns = self.num_columns(features)
        return 1 + (self.mean_hops + 2 * (features <= FEW)) * (columns + 1)

    def label_columns(self, classes: int) -> int:
        """Columns of one direction of edges: what is known of the classes there."""
        return label_columns(classes) if self.neighbour_labels else 0

    def _width(self, sizes: Sizes) -> int:
        """Columns that trees read where edges go both ways; directions add as much as the neighbours take."""
        near = self.neighbour_columns(sizes.features) + self.label_columns(sizes.classes)
        return self.num_columns(sizes.features) + near

    def num_activations(self, sizes: Sizes) -> int:
        """At the peak either a tree is grown, or nodes are scored.

        Growing takes rows in the model's precision, in 64 bits and in bins (the bins twice, for a moment), gradients
        and scores of the training nodes, which are at most all, and a histogram of every open leaf. Scoring takes 60
        bytes for each node and class. Columns with labels are each model's own.
        """
        width, histogram = self._width(sizes), HISTOGRAM_BYTES * (BINS + 1)
        rows = sizes.nodes * ((VALUE_BYTES + 10) * width + 24 * sizes.classes)
        growing = (rows + self.num_leaves * width * histogram) // VALUE_BYTES
        own = sizes.nodes * (2 * sizes.classes + width * self.neighbour_labels)
        return max(growing, 15 * sizes.nodes * sizes.classes) + own

    def input_bytes(self, sizes: Sizes) -> int:
        return VALUE_BYTES * sizes.nodes * self._width(sizes) + sizes.adjacency_bytes(loops=False, symmetric=True)

    def preparation_bytes(self, sizes: Sizes) -> int:
        """Features in 64 bits with the directions found so far, the values of neighbours, or labels around nodes."""
        labels = self.neighbour_labels * (60 * sizes.entries + 6 * VALUE_BYTES * sizes.nodes * (sizes.classes + 1))
        if sizes.features > WIDE:
            found = 16 * sizes.feature_values + 32 * (self.num_directions + 10) * (sizes.nodes + sizes.features)
            return max(found, labels)
        values = 3 * VALUE_BYTES * max(min(GATHERED, sizes.entries * self._width(sizes)), sizes.entries)
        return max(values, labels)
