"""The settings of models written by hand."""

from __future__ import annotations

import math
from typing import ClassVar

from glognn.models.configs.base import (
    COMMON,
    WIDTHS,
    ModelConfig,
    SearchedSettings,
    between,
    dropout_setting,
    hidden_channels_setting,
    narrowing,
    one_of,
)
from glognn.models.memory import INDEX_BYTES, LONG_BYTES, VALUE_BYTES, Sizes, sparse_bytes
from glognn.settings import choice, integer, real


class MLPConfig(ModelConfig):
    title = "MLP"
    name = "mlp"
    summary = "A network on the features alone: what the graph must beat"
    paper = "Rosenblatt, 1958; Rumelhart et al., 1986"
    implementation = "glognn.models.mlp:MLP"
    distributes = True
    varying = ("dropout",)
    search: ClassVar[SearchedSettings] = {**COMMON, "num_layers": between(1, 3), "hidden_channels": WIDTHS}

    num_layers: int = integer(2, "Linear maps from the features to the classes.", low=1, high=64)
    hidden_channels: int = hidden_channels_setting()
    dropout: float = dropout_setting()

    def num_activations(self, sizes: Sizes) -> int:
        return sizes.nodes * narrowing(self.num_layers, self.hidden_channels, sizes.classes)

    def input_bytes(self, sizes: Sizes) -> int:
        return sizes.feature_bytes()


class H2GCNConfig(ModelConfig):
    title = "H2GCN"
    name = "h2gcn"
    summary = "Neighbours at distance 1 and 2 kept apart, all rounds side by side"
    paper = "Zhu et al., NeurIPS 2020"
    implementation = "glognn.models.h2gcn:H2GCN"
    varying = ("dropout",)
    search: ClassVar[SearchedSettings] = {**COMMON, "num_rounds": between(1, 2), "hidden_channels": WIDTHS}

    num_rounds: int = integer(
        2,
        "How often neighbours are gathered; each round doubles the width (the paper's H2GCN-1 and -2).",
        low=1,
        high=4,
    )
    hidden_channels: int = hidden_channels_setting()
    dropout: float = dropout_setting()

    @property
    def _width(self) -> int:
        """Of all rounds side by side."""
        return self.hidden_channels * ((2 << self.num_rounds) - 1)

    def num_activations(self, sizes: Sizes) -> int:
        return sizes.nodes * (3 * self._width + self.hidden_channels + 4 * sizes.classes)

    def input_bytes(self, sizes: Sizes) -> int:
        """The second ring is a guess (:data:`~glognn.models.memory.SECOND_NEIGHBOURS`), and often the largest part."""
        second = sparse_bytes(sizes.nodes, sizes.nodes, sizes.second_ring) // 2
        return sizes.feature_bytes() + sizes.adjacency_bytes(loops=False, symmetric=True) + second

    def preparation_bytes(self, sizes: Sizes) -> int:
        """Rows, columns and float64 weights of the second ring, up to four times at once."""
        return 4 * (2 * INDEX_BYTES + LONG_BYTES) * sizes.second_ring


class GPRGNNConfig(ModelConfig):
    title = "GPR-GNN"
    name = "gprgnn"
    summary = "A network on the features, spread by PageRank with learned weights"
    paper = "Chien et al., ICLR 2021"
    implementation = "glognn.models.gprgnn:GPRGNN"
    varying = ("dropout", "propagation_dropout")
    search: ClassVar[SearchedSettings] = {
        **COMMON,
        "learning_rate": between(1e-3, 5e-2, log=True),
        "propagation_dropout": between(0.0, 0.9),
        "restart": between(0.0, 1.0, step=0.1),  # the paper's own are 0.1, 0.2, 0.5, 0.9 and, for a network alone, 1
        "hidden_channels": WIDTHS,
    }

    num_hops: int = integer(10, "Steps of the PageRank.", low=1, high=64)
    restart: float = real(
        0.5,
        "Restart probability of the PageRank that the learned weights start from (released code: 0.1).",
        low=0,
        high=1,
    )
    hidden_channels: int = hidden_channels_setting()
    dropout: float = dropout_setting()
    propagation_dropout: float = real(
        0.5, "Share of class scores zeroed in training before they are spread.", low=0, high=1, high_open=True
    )

    def shape(self) -> tuple[object, ...]:
        """The restart only decides which weights training starts from."""
        return tuple(value for name, value in self.as_dict().items() if name not in (*self.varying, "restart"))

    def num_activations(self, sizes: Sizes) -> int:
        """However many hops: their results are not kept."""
        return sizes.dropped(sizes.nodes * (4 * self.hidden_channels + 8 * sizes.classes))

    def input_bytes(self, sizes: Sizes) -> int:
        return sizes.droppable_bytes() + sizes.adjacency_bytes(loops=True, symmetric=True)


class GGCNConfig(ModelConfig):
    title = "GGCN"
    name = "ggcn"
    summary = "Signed messages by similarity, corrected for degrees, decaying with depth"
    paper = "Yan et al., ICDM 2022"
    implementation = "glognn.models.ggcn:GGCN"
    varying = ("decay_rate", "decay_exponent", "dropout")
    search: ClassVar[SearchedSettings] = {
        **COMMON,
        "weight_decay": between(1e-7, 1e-1, log=True, or_zero=True),
        "num_layers": between(2, 8),
        "decay_rate": between(0.0, 1.5, step=0.1),
        "directed": one_of(False, True),  # its authors take the edges of the heterophilous graphs as they are
        "hidden_channels": one_of(16, 32, 64, 80),
    }

    num_layers: int = integer(2, "Layers.", low=2, high=64)
    hidden_channels: int = hidden_channels_setting()
    decay_rate: float = real(1.0, "How much the layers after the first count.", low=0)
    decay_exponent: float = real(3.0, "How fast that shrinks from layer to layer.", low=0)
    dropout: float = dropout_setting()

    def num_activations(self, sizes: Sizes) -> int:
        """Six n x hidden and six for each entry in a layer; the peak is in the last sum or in the linear map before."""
        hidden, kept = sizes.nodes * self.hidden_channels, 6 * self.num_layers
        summing = (kept - 4) * hidden + (kept + 4) * sizes.entries
        mapping = (kept - 3) * hidden + (kept - 8) * sizes.entries
        return sizes.dropped(max(summing, mapping) + sizes.nodes * (6 * sizes.classes + 10))

    def input_bytes(self, sizes: Sizes) -> int:
        """Of each edge both ends, two orders, weight and ratio of degrees."""
        edge = 4 * INDEX_BYTES + 2 * VALUE_BYTES
        return sizes.droppable_bytes() + edge * sizes.entries + INDEX_BYTES * (sizes.nodes + 1)


class ACMGCNConfig(ModelConfig):
    title = "ACM-GCN"
    name = "acmgcn"
    summary = "Smoothed, sharpened and own features, mixed by each node as it needs"
    paper = "Luan et al., NeurIPS 2022"
    implementation = "glognn.models.acmgcn:ACMGCN"
    varying = ("dropout",)
    search: ClassVar[SearchedSettings] = {
        **COMMON,
        "learning_rate": between(1e-3, 5e-2, log=True),
        "num_layers": between(1, 3),
        "hidden_channels": WIDTHS,
    }

    num_layers: int = integer(2, "Layers.", low=1, high=64)
    hidden_channels: int = hidden_channels_setting()
    dropout: float = dropout_setting()

    def num_activations(self, sizes: Sizes) -> int:
        """Fourteen n x c for one layer; of more, five n x hidden for each and those of one in the backward pass."""
        deep = (5 * self.num_layers + min(self.num_layers + 1, 4)) * self.hidden_channels + sizes.classes
        values = deep if self.num_layers > 1 else 14 * sizes.classes
        return sizes.dropped(sizes.nodes * (values + 6 * self.num_layers))

    def input_bytes(self, sizes: Sizes) -> int:
        return sizes.droppable_bytes() + sizes.adjacency_bytes(loops=True)


class WRGATConfig(ModelConfig):
    title = "WRGAT"
    name = "wrgat"
    summary = "Attention to neighbours and to nodes whose surroundings look alike"
    paper = "Suresh et al., KDD 2021"
    implementation = "glognn.models.wrgat:WRGAT"
    varying = ("dropout",)
    search: ClassVar[SearchedSettings] = {
        **COMMON,
        "num_layers": between(1, 3),
        "num_rings": between(0, 3),
        "similarity": one_of("plain", "share"),
        "aggregation": one_of("sum", "mean"),
        "hidden_channels": one_of(64, 128),
    }

    num_layers: int = integer(2, "Layers.", low=1, high=64)
    hidden_channels: int = hidden_channels_setting()
    num_rings: int = integer(
        2, "Up to which distance surroundings are compared; each distance is a relation.", low=0, high=16
    )
    num_similar: int = integer(
        0, "About how many nodes each node is compared with; 0 takes 2 log2(nodes), as published.", low=0
    )
    similarity: str = choice(
        "plain",
        "Weight of an edge between nodes at structural distance f: 'plain' is exp(-f); 'share' is that over the "
        "node's sum, as in the released code.",
        ("plain", "share"),
    )
    aggregation: str = choice(
        "sum",
        "Messages within a relation are added up; 'mean' divides by their number, as in the released code.",
        ("sum", "mean"),
    )
    dropout: float = dropout_setting()

    @property
    def num_relations(self) -> int:
        """The edges of the graph, and similarity up to each distance."""
        return 2 + self.num_rings

    def num_compared(self, num_nodes: int) -> int:
        """About how many nodes each node is compared with."""
        return self.num_similar or math.ceil(2 * math.log2(max(num_nodes, 2)))

    def _edges(self, sizes: Sizes) -> int:
        """Those of all relations; a bound, as nodes without a ring are not compared by it."""
        steps = min((self.num_compared(sizes.nodes) + 1) // 2, sizes.nodes - 1)
        return sizes.entries + 2 * (self.num_rings + 1) * steps * sizes.nodes

    def num_activations(self, sizes: Sizes) -> int:
        """At the peak either the attention of the last hidden layer passes, or its values; others keep theirs."""
        width, classes, relations = self.hidden_channels, sizes.classes, self.num_relations
        edges = self._edges(sizes)
        if self.num_layers == 1:
            return sizes.nodes * (4 * relations + 2) * classes + 9 * edges
        passing = max(
            sizes.nodes * (2 * relations + 4) * (width + classes) + 13 * edges,
            sizes.nodes * ((4 * relations + 2) * width + 2 * classes) + 8 * edges,
        )
        kept = sizes.nodes * ((2 * relations + 3) * width + 20 * relations) + 4 * edges
        return passing + (self.num_layers - 2) * kept

    def input_bytes(self, sizes: Sizes) -> int:
        """Of each edge both ends and its order both ways, two 64-bit numbers and the weight."""
        edge = 6 * INDEX_BYTES + 2 * LONG_BYTES + VALUE_BYTES
        rows = sizes.nodes * (1 + self.num_relations) + 2
        return sizes.feature_bytes() + edge * self._edges(sizes) + INDEX_BYTES * rows

    def preparation_bytes(self, sizes: Sizes) -> int:
        """The different degrees in each ring of each node with their counts, at most the square root of 2 nnz(A)
        of them, as numbers and as keys; and the compared pairs.
        """
        most = sizes.nodes * math.isqrt(2 * sizes.entries)
        rings = [min(sizes.entries, most), *[most] * (self.num_rings - 1)] if self.num_rings else []
        return 6 * LONG_BYTES * sum(rings) + (3 + self.num_rings) * LONG_BYTES * self._edges(sizes)
