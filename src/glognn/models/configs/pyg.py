"""The settings of models on PyTorch Geometric's layers and networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from glognn.errors import InputError
from glognn.models.configs.base import (
    COMMON,
    WIDTHS,
    ModelConfig,
    SearchedSettings,
    between,
    dropout_setting,
    hidden_channels_setting,
    in_dropout_setting,
    narrowing,
    one_of,
)
from glognn.models.memory import Sizes
from glognn.settings import choice, integer, real, switch


def _check_heads(config: ModelConfig, hidden_channels: int, heads: int) -> None:
    if hidden_channels % heads:
        raise InputError(
            f"The 'hidden_channels' parameter of {config.title} must be a multiple of heads, {heads}. "
            f"Got {hidden_channels} instead."
        )


class _PropagatingConfig(ModelConfig):
    """Of models that multiply with PyTorch Geometric's normalised adjacency."""

    def preparation_bytes(self, sizes: Sizes) -> int:
        return sizes.propagation_bytes()


class GCNConfig(_PropagatingConfig):
    title = "GCN"
    name = "gcn"
    summary = "Averages over neighbours, on PyTorch Geometric's layers"
    paper = "Kipf and Welling, ICLR 2017"
    implementation = "glognn.models.gcn:GCN"
    distributes = True
    varying = ("dropout",)
    search: ClassVar[SearchedSettings] = {**COMMON, "num_layers": between(1, 4), "hidden_channels": WIDTHS}

    num_layers: int = integer(2, "Convolutions.", low=1, high=64)
    hidden_channels: int = hidden_channels_setting()
    dropout: float = dropout_setting()

    def num_activations(self, sizes: Sizes) -> int:
        return sizes.nodes * (narrowing(self.num_layers, self.hidden_channels, sizes.classes) + sizes.classes)


class GATConfig(ModelConfig):
    title = "GAT"
    name = "gat"
    summary = "Averages over neighbours with learnt weights, on PyTorch Geometric's layers"
    paper = "Velickovic et al., ICLR 2018"
    implementation = "glognn.models.gat:GAT"
    varying = ("dropout", "in_dropout")
    search: ClassVar[SearchedSettings] = {
        **COMMON,
        "in_dropout": one_of(0.0, 0.3, 0.6),
        "num_layers": between(1, 4),
        "heads": one_of(1, 4, 8),
        "hidden_channels": WIDTHS,
    }

    num_layers: int = integer(2, "Attention layers.", low=1, high=64)
    heads: int = integer(8, "Attention heads, side by side in hidden layers and averaged in the last.", low=1, high=64)
    hidden_channels: int = integer(64, "Width of the hidden layers, all heads together.", low=1)
    dropout: float = real(
        0.5, "Share of hidden values and of attention coefficients zeroed in training.", low=0, high=1, high_open=True
    )
    in_dropout: float = in_dropout_setting()

    def shape(self) -> tuple[object, ...]:
        """Features that may be dropped are stored dense."""
        return *super().shape(), self.in_dropout > 0

    def check(self) -> None:
        _check_heads(self, self.hidden_channels, self.heads)

    def num_activations(self, sizes: Sizes) -> int:
        """For each entry and head: score, weight, dropout's factor, product; four of them passing."""
        edges = (4 * self.num_layers + 4) * self.heads * sizes.looped
        wide = 6 * (self.num_layers - 1) * self.hidden_channels + 4 * self.heads * sizes.classes
        return edges + sizes.nodes * wide

    def input_bytes(self, sizes: Sizes) -> int:
        return sizes.feature_bytes(dense=self.in_dropout > 0) + sizes.pattern_bytes()


class ClassicConfig(ModelConfig):
    """Of :mod:`glognn.models.classic`."""

    varying = ("dropout",)
    graph_settings: ClassVar[Mapping[str, Any]] = {"feature_normalization": "auto"}
    training_settings: ClassVar[Mapping[str, Any]] = {"weight_decay": 1e-3}
    search: ClassVar[SearchedSettings] = {
        **COMMON,
        "num_layers": one_of(1, 2, 3, 4, 6, 8, 12),
        "norm": one_of("layer", "batch", "none"),
        "input_map": one_of(True, False),
        "sum_layers": one_of(True, False),
        "hidden_channels": WIDTHS,
    }

    num_layers: int = integer(3, "Convolutions before the linear map to the classes.", low=1, high=64)
    norm: str = choice(
        "layer",
        "What follows every convolution: 'layer' normalises the hidden values of each node, 'batch' those of all nodes "
        "in each channel.",
        ("layer", "batch", "none"),
    )
    input_map: bool = switch(False, "Whether a linear map of the features goes before the first convolution.")
    sum_layers: bool = switch(False, "Whether the classes are read from the sum of all layers instead of the last.")
    hidden_channels: int = hidden_channels_setting()
    dropout: float = dropout_setting()

    @property
    def has_residuals(self) -> bool:
        """Whether a node's own values have weights in every layer."""
        return True

    @property
    def _kept(self) -> int:
        """Of each layer, n x hidden: the sum, what normalisation gives of it, dropout's factors and the result."""
        return 3 if self.norm == "none" else 4

    def num_activations(self, sizes: Sizes) -> int:
        """One n x hidden is passing; with a map of the features there are two more."""
        kept = self._kept * self.num_layers + 1 + 2 * self.input_map + (self.sum_layers and self.num_layers > 1)
        return sizes.nodes * (kept * self.hidden_channels + 3 * sizes.classes)


class _ResidualConfig(ClassicConfig):
    search: ClassVar[SearchedSettings] = {**ClassicConfig.search, "residual": one_of(True, False)}

    residual: bool = switch(True, "Whether a node's own values, with weights of their own, are added to a convolution.")

    @property
    def has_residuals(self) -> bool:
        return self.residual


class GCNPlusConfig(_ResidualConfig):
    title = "GCN+"
    name = "gcn+"
    summary = "GCN with residuals and normalisation, as deep as one likes"
    paper = "Luo et al., NeurIPS 2024"
    implementation = "glognn.models.gcn:GCNPlus"

    def preparation_bytes(self, sizes: Sizes) -> int:
        return sizes.propagation_bytes()


class SAGEPlusConfig(ClassicConfig):
    title = "GraphSAGE+"
    name = "sage+"
    summary = "GraphSAGE, a node and the mean of its neighbours, with normalisation and as deep as one likes"
    paper = "Luo et al., NeurIPS 2024"
    implementation = "glognn.models.sage:SAGEPlus"

    def input_bytes(self, sizes: Sizes) -> int:
        return sizes.feature_bytes() + sizes.adjacency_bytes(loops=False)

    def preparation_bytes(self, sizes: Sizes) -> int:
        """Weights in float64 with their indices, several times at once, measured."""
        return 41 * sizes.entries


class GATPlusConfig(_ResidualConfig):
    title = "GAT+"
    name = "gat+"
    summary = "GAT with residuals and normalisation, as deep as one likes"
    paper = "Luo et al., NeurIPS 2024"
    implementation = "glognn.models.gat:GATPlus"
    search: ClassVar[SearchedSettings] = {**_ResidualConfig.search, "heads": one_of(1, 4, 8)}

    heads: int = integer(4, "Attention heads, side by side.", low=1, high=64)
    hidden_channels: int = integer(64, "Width of the hidden layers, all heads together.", low=1)

    def check(self) -> None:
        _check_heads(self, self.hidden_channels, self.heads)

    def num_activations(self, sizes: Sizes) -> int:
        """Attention adds two or three n x hidden to a layer and, for each entry and head, score, weight and a byte."""
        wide, edges = sizes.nodes * self.hidden_channels, self.heads * sizes.looped
        passing = max(wide, 3.5 * edges - 2 * wide)
        attention = self.num_layers * (2.3 * wide + 2.25 * edges) + passing
        return super().num_activations(sizes) + int(attention)

    def input_bytes(self, sizes: Sizes) -> int:
        return sizes.feature_bytes() + sizes.pattern_bytes()


class MixHopConfig(_PropagatingConfig):
    title = "MixHop"
    name = "mixhop"
    summary = "Neighbourhoods of several distances side by side, on PyTorch Geometric's layer"
    paper = "Abu-El-Haija et al., ICML 2019"
    implementation = "glognn.models.mixhop:MixHop"
    varying = ("dropout",)
    search: ClassVar[SearchedSettings] = {
        **COMMON,
        "num_layers": between(1, 3),
        "num_hops": between(1, 3),
        "hidden_channels": one_of(16, 32, 64, 128),
        "batch_norm": one_of(True, False),
    }

    num_layers: int = integer(2, "Convolutions before the linear map to the classes.", low=1, high=64)
    num_hops: int = integer(2, "The largest power of the adjacency; 0 to this one are read.", low=1, high=16)
    hidden_channels: int = integer(64, "Hidden values for each power.", low=1)
    batch_norm: bool = switch(False, "Whether batch normalisation follows every convolution.")
    dropout: float = dropout_setting()

    def num_activations(self, sizes: Sizes) -> int:
        kept = 4 * self.num_layers + 1 if self.batch_norm else 3 * self.num_layers + 2
        return sizes.nodes * (kept * self.hidden_channels * (self.num_hops + 1) + 6 * sizes.classes)


class GCNIIConfig(_PropagatingConfig):
    title = "GCNII"
    name = "gcnii"
    summary = "A deep GCN with initial residual and identity mapping, on PyTorch Geometric's layer"
    paper = "Chen et al., ICML 2020"
    implementation = "glognn.models.gcnii:GCNII"
    varying = ("residual_weight", "theta", "dropout", "in_dropout")
    search: ClassVar[SearchedSettings] = {
        **COMMON,
        "in_dropout": one_of(0.0, 0.5),
        "num_layers": one_of(2, 4, 8, 16, 32, 64),
        "residual_weight": between(0.1, 0.9, step=0.1),
        "theta": one_of(0.5, 1.0, 1.5),
        "shared_weights": one_of(True, False),
        "hidden_channels": one_of(64, 128),
    }

    num_layers: int = integer(8, "Convolutions between the two linear maps.", low=1, high=256)
    residual_weight: float = real(
        0.5, "Weight of the first hidden layer in every other (alpha in its paper).", low=0, high=1
    )
    theta: float = real(
        0.5,
        "Strength of the weights: layer l has weight log(theta / l + 1), the identity the rest.",
        low=0,
        low_open=True,
    )
    shared_weights: bool = switch(False, "Whether the first hidden layer is mapped by the same weights; off is GCNII*.")
    outgoing: bool = switch(
        False,
        "Whether a node of a directed graph gathers from the nodes that it points to, as in the released code, "
        "instead of those that point to it.",
    )
    hidden_channels: int = hidden_channels_setting()
    dropout: float = dropout_setting()
    in_dropout: float = in_dropout_setting()

    def shape(self) -> tuple[object, ...]:
        """Features that may be dropped are stored dense."""
        return *super().shape(), self.in_dropout > 0

    def num_activations(self, sizes: Sizes) -> int:
        """Those of nodes, and the matrix of each product, made of weights and identity."""
        maps = (1 if self.shared_weights else 2) * self.num_layers * self.hidden_channels**2
        kept = (3 if self.shared_weights else 4) * self.num_layers + 4
        return sizes.nodes * (kept * self.hidden_channels + 6 * sizes.classes) + maps

    def input_bytes(self, sizes: Sizes) -> int:
        return sizes.feature_bytes(dense=self.in_dropout > 0) + sizes.adjacency_bytes(loops=True)


class LINKXConfig(ModelConfig):
    title = "LINKX"
    name = "linkx"
    summary = "Networks on the adjacency and on the features, added up; PyTorch Geometric's"
    paper = "Lim et al., NeurIPS 2021"
    implementation = "glognn.models.linkx:LINKX"
    distributes = True
    varying = ("dropout",)
    search: ClassVar[SearchedSettings] = {
        "learning_rate": between(1e-3, 5e-2, log=True),
        "weight_decay": COMMON["weight_decay"],
        "optimizer": one_of("adamw", "adam"),  # its authors have AdamW
        "dropout": COMMON["dropout"],
        "num_layers": between(1, 4),
        "num_edge_layers": between(1, 2),
        "num_node_layers": between(1, 2),
        "hidden_channels": WIDTHS,
    }
    held: ClassVar[Mapping[str, Any]] = {"feature_normalization": "none"}
    """As its authors have them: beside the ones of A, features that sum to one hardly count."""

    @property
    def reads_links(self) -> bool:
        return True

    num_layers: int = integer(1, "Linear maps after the sum.", low=1, high=64)
    num_edge_layers: int = integer(1, "Linear maps of the adjacency.", low=1, high=64)
    num_node_layers: int = integer(1, "Linear maps of the features.", low=1, high=64)
    hidden_channels: int = hidden_channels_setting()
    dropout: float = dropout_setting()

    def num_activations(self, sizes: Sizes) -> int:
        deeper = 3 * (self.num_layers - 1) + 2 * (self.num_edge_layers + self.num_node_layers - 2)
        return sizes.nodes * ((5 + deeper) * self.hidden_channels + 6 * sizes.classes)

    def input_bytes(self, sizes: Sizes) -> int:
        return sizes.feature_bytes() + sizes.adjacency_bytes(loops=False)


class SGFormerConfig(_PropagatingConfig):
    title = "SGFormer"
    name = "sgformer"
    summary = "Attention between all nodes beside a GCN; PyTorch Geometric's"
    paper = "Wu et al., NeurIPS 2023"
    implementation = "glognn.models.sgformer:SGFormer"
    varying = ("graph_weight", "dropout", "attention_dropout")
    search: ClassVar[SearchedSettings] = {
        **COMMON,
        "attention_dropout": between(0.0, 0.8),
        "num_layers": between(1, 8),
        "num_attention_layers": between(1, 2),
        "graph_weight": between(0.1, 0.9, step=0.1),
        "aggregate": one_of("add", "cat"),
        "hidden_channels": WIDTHS,
    }

    num_layers: int = integer(2, "Graph convolutions.", low=1, high=64)
    num_attention_layers: int = integer(1, "Layers of attention between all nodes.", low=1, high=16)
    heads: int = integer(1, "Attention heads, each as wide as the hidden layers; their mean is taken.", low=1, high=64)
    graph_weight: float = real(0.5, "Weight of the graph convolutions, attention has the rest.", low=0, high=1)
    aggregate: str = choice(
        "add", "Whether the two are added, or put side by side ('cat': the weight is then not used).", ("add", "cat")
    )
    hidden_channels: int = integer(64, "Width of the hidden layers; a multiple of heads.", low=1)
    dropout: float = real(
        0.5, "Share of hidden values of the graph convolutions zeroed in training.", low=0, high=1, high_open=True
    )
    attention_dropout: float = real(
        0.2, "Share of hidden values around attention zeroed in training.", low=0, high=1, high_open=True
    )

    def check(self) -> None:
        _check_heads(self, self.hidden_channels, self.heads)

    def num_activations(self, sizes: Sizes) -> int:
        """Four n x hidden for each normalised layer; queries, keys and values of every head; five passing."""
        attention = self.num_attention_layers * (6.5 * self.heads + 4)
        kept = int(4 + attention + 4 + 4 * self.num_layers + 4)
        return sizes.nodes * (kept * self.hidden_channels + 6 * sizes.classes)


class PolynormerConfig(_PropagatingConfig):
    title = "Polynormer"
    name = "polynormer"
    summary = "Polynomials of features, over neighbours and then over all nodes; PyTorch Geometric's"
    paper = "Deng et al., ICLR 2024"
    implementation = "glognn.models.polynormer:Polynormer"
    varying = ("beta", "dropout", "global_dropout", "in_dropout")
    search: ClassVar[SearchedSettings] = {
        **COMMON,
        "global_dropout": between(0.0, 0.8),
        "in_dropout": one_of(0.0, 0.15, 0.5),
        "num_layers": between(1, 10),
        "num_global_layers": between(1, 4),
        "local_epochs": one_of(50, 100, 200),
        "convolution": one_of("gcn", "gat"),
        "beta": between(0.1, 0.9, step=0.1),
        "hidden_channels": one_of(64, 128),
    }

    num_layers: int = integer(3, "Local layers.", low=1, high=64)
    num_global_layers: int = integer(1, "Layers of attention between all nodes.", low=1, high=16)
    local_epochs: int = integer(50, "Epochs before the global layers join the local ones.", low=0)
    convolution: str = choice(
        "gcn", "How a local layer reads neighbours: 'gcn' averages, 'gat' learns the weights.", ("gcn", "gat")
    )
    beta: float = real(0.9, "Share of a layer's value that is not multiplied.", low=0, high=1)
    heads: int = integer(1, "Attention heads; the layers are heads times hidden_channels wide.", low=1, high=64)
    hidden_channels: int = integer(64, "Width of the hidden layers, for each head.", low=1)
    dropout: float = real(0.5, "Share of local hidden values zeroed in training.", low=0, high=1, high_open=True)
    global_dropout: float = real(
        0.5, "Share of hidden values zeroed in training after global attention.", low=0, high=1, high_open=True
    )
    in_dropout: float = in_dropout_setting()

    def shape(self) -> tuple[object, ...]:
        """Features that may be dropped are stored dense."""
        return *super().shape(), self.in_dropout > 0

    def num_activations(self, sizes: Sizes) -> int:
        """In the second phase: seven n x width for each local layer, ten for each global one."""
        kept = 7 * self.num_layers + 10 * self.num_global_layers + 3
        nodes = sizes.nodes * (kept * self.heads * self.hidden_channels + 6 * sizes.classes)
        if self.convolution == "gcn":
            return nodes
        attention = self.heads * sizes.looped * (2 * self.num_layers + 3)
        return nodes + attention + 2 * self.num_layers * sizes.nodes * self.heads * self.hidden_channels

    def input_bytes(self, sizes: Sizes) -> int:
        edges = sizes.adjacency_bytes(loops=True) if self.convolution == "gcn" else sizes.pattern_bytes()
        return sizes.feature_bytes(dense=self.in_dropout > 0) + edges


class DirGNNConfig(ModelConfig):
    title = "Dir-GNN"
    name = "dirgnn"
    summary = "Weights of their own for outgoing and incoming edges, on PyTorch Geometric's layer"
    paper = "Rossi et al., LoG 2023"
    implementation = "glognn.models.dirgnn:DirGNN"
    varying = ("outgoing_weight", "dropout")
    search: ClassVar[SearchedSettings] = {
        **COMMON,
        "num_layers": between(1, 6),
        "convolution": one_of("gcn", "sage"),
        "outgoing_weight": one_of(0.0, 0.5, 1.0),  # both ends matter: there one direction is left out
        "root_weight": one_of(True, False),
        "jumping_knowledge": one_of("max", "cat", "none"),
        "normalize": one_of(True, False),
        "hidden_channels": WIDTHS,
    }
    graph_settings: ClassVar[Mapping[str, Any]] = {"directed": True}

    num_layers: int = integer(3, "Convolutions.", low=1, high=64)
    convolution: str = choice(
        "gcn", "How neighbours are averaged: 'gcn' by the degrees of both ends, 'sage' by a mean.", ("gcn", "sage")
    )
    outgoing_weight: float = real(
        0.5, "Weight of outgoing edges, incoming ones have the rest (alpha in its paper).", low=0, high=1
    )
    root_weight: bool = switch(True, "Whether a node's own values have weights too (the paper's Dir-GCN has none).")
    jumping_knowledge: str = choice(
        "max",
        "What the classes are read from: the 'max' of all layers, all side by side ('cat'), or the last ('none').",
        ("max", "cat", "none"),
    )
    normalize: bool = switch(False, "Whether the hidden values of a node are divided by their length.")
    hidden_channels: int = hidden_channels_setting()
    dropout: float = dropout_setting()

    def shape(self) -> tuple[object, ...]:
        """At the ends of its range the weight leaves out one of the directions."""
        return *super().shape(), self.outgoing_weight == 0, self.outgoing_weight == 1

    def num_activations(self, sizes: Sizes) -> int:
        """Three or four n x hidden for each layer; the largest over layers is found in a copy of all of them."""
        layers = self.num_layers if self.jumping_knowledge != "none" else self.num_layers - 1
        joined = {"max": 3 + layers, "cat": layers, "none": 3}[self.jumping_knowledge]
        kept = (5 if self.normalize else 3) * layers + joined
        return sizes.nodes * (kept * self.hidden_channels + 6 * sizes.classes)

    def input_bytes(self, sizes: Sizes) -> int:
        matrices = 1 if self.convolution == "gcn" else 2
        return sizes.feature_bytes() + matrices * sizes.adjacency_bytes(loops=False)

    def preparation_bytes(self, sizes: Sizes) -> int:
        """Weights in float64 with their indices, several times at once, measured."""
        return 46 * sizes.entries
