"""How a graph is prepared: stated settings, kept with every run. Imports no torch."""

from __future__ import annotations

from glognn.settings import Settings, choice, switch

NORMALIZATIONS = ("row", "symmetric", "none")
SCALED_FEATURES = {
    "none": "as they are",
    "row": "each node's divided by the sum of their absolute values",
    "length": "each node's divided by their length",
    "standard": "each column brought to mean 0 and standard deviation 1",
}
"""What a normalisation does to features, in words."""


class GraphConfig(Settings):
    """What is done to the edges and features of a graph before any model sees them."""

    title = "the graph"

    directed: bool = switch(
        False,
        "Keep edges in the direction they are given, as models that read directions do by themselves. Otherwise every "
        "edge is made to go both ways.",
    )
    self_loops: str = choice(
        "keep",
        "What to do with edges from a node to itself in the data (normalisations add their own).",
        ("keep", "remove"),
    )
    feature_normalization: str = choice(
        "none",
        "'row' divides each node's features by the sum of their absolute values, 'length' by the root of the sum of "
        "their squares; 'standard' gives each column mean 0 and (unbiased) standard deviation 1; 'auto' takes 'length' "
        "for features that are sparse and nowhere negative, 'none' for those of tables, whose columns have their scale "
        "already, and 'standard' for others.",
        ("none", "row", "standard", "length", "auto"),
    )
    unlabelled: str = choice(
        "exclude",
        "Nodes without a label: 'exclude' leaves them out of train, val and test; 'first_class' takes them for class "
        "0, as some published code does.",
        ("exclude", "first_class"),
    )
