"""The settings of every model, and the registry. Imports no torch, so that listing them is instant."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from glognn.errors import InputError
from glognn.models.memory import INDEX_BYTES, LONG_BYTES, PARAMETER_COPIES, VALUE_BYTES, Sizes, chain, sparse_bytes
from glognn.nn.config import LayerConfig
from glognn.settings import Settings, choice, integer, real, suggest, switch

if TYPE_CHECKING:
    from glognn.models.base import NodeModel


def _hidden_channels() -> int:
    return integer(64, "Width of the hidden layers.", low=1)


def _dropout() -> float:
    return real(0.5, "Share of hidden values zeroed in training.", low=0, high=1, high_open=True)


def _in_dropout() -> float:
    return real(
        0.0, "Share of features zeroed in training; above 0 they are stored dense.", low=0, high=1, high_open=True
    )


def _narrowing(num_layers: int, width: int, classes: int) -> int:
    """Values for each node of layers with relu and dropout, the last one without: relu, dropout's factors, result."""
    return (3 * (num_layers - 1) + 1) * width * (num_layers > 1) + 5 * classes


class ModelConfig(Settings):
    """Base of every model's settings.

    ``name`` is the registry key, ``implementation`` the ``module:class`` that is imported when a model is built.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    implementation: ClassVar[str]
    numbers: ClassVar[tuple[str, ...]] = ()
    """Settings in which models that are trained together may differ; the model then implements ``use_numbers``."""
    graph_settings: ClassVar[Mapping[str, Any]] = {}
    """How the model wants its graph prepared (of GraphConfig); goes before the dataset's, settings go before it."""

    def shape(self) -> tuple[object, ...]:
        """Equal for models that can be trained together: the settings that are no mere numbers in a formula."""
        return tuple(value for name, value in self.as_dict().items() if name not in self.numbers)

    def check_graph(self, *, has_features: bool) -> None:
        """Refuse a graph that lacks what the model is set to read."""
        if not has_features:
            raise InputError(f"The graph has no features, and {self.title} reads nothing else.")

    def activation_bytes(
        self,
        num_nodes: int,
        num_entries: int,
        num_features: int,
        num_classes: int,
        *,
        num_feature_entries: int | None = None,
    ) -> int:
        """Bytes that training holds at its peak in float32: weights five times (with gradient, the moments of Adam and
        the best epoch's), activations, and the model's constant inputs, features and adjacency included. Where there
        are fewer activations than weights, a sixth copy of these is the peak: better ones taking the best one's place.

        The parts are :meth:`num_parameters`, :meth:`num_activations` and :meth:`input_bytes`, which a model
        overrides. ``num_entries`` are those of the adjacency, ``num_feature_entries`` those of sparse features.
        """
        sizes = Sizes(num_nodes, num_entries, num_features, num_classes, num_feature_entries)
        parameters = self.num_parameters(sizes)
        values = PARAMETER_COPIES * parameters + max(parameters, self.num_activations(sizes))
        return VALUE_BYTES * values + self.input_bytes(sizes)

    def num_parameters(self, sizes: Sizes) -> int:
        """Number of weights. Unless overridden, ``num_layers`` linear maps with ``hidden_channels`` between them."""
        width, depth = getattr(self, "hidden_channels", 64), getattr(self, "num_layers", 2)
        return chain(sizes.features, *[width] * (depth - 1), sizes.classes)

    def num_activations(self, sizes: Sizes) -> int:
        """Values held at the peak of a training step. Unless overridden, six n x ``hidden_channels`` for each layer."""
        width, depth = getattr(self, "hidden_channels", 64), getattr(self, "num_layers", 2)
        return 6 * depth * sizes.nodes * max(width, sizes.classes)

    def input_bytes(self, sizes: Sizes) -> int:
        """Constant inputs. Unless overridden, the features and an adjacency with self-loops and its transpose."""
        return sizes.feature_bytes() + sizes.adjacency_bytes(loops=True)

    def preparation_bytes(self, sizes: Sizes) -> int:
        """What making the inputs takes on the host, where that is more than making the graph took."""
        return 0

    @classmethod
    def model_class(cls) -> type[NodeModel[Any]]:
        module, _, attribute = cls.implementation.partition(":")
        found: type[NodeModel[Any]] = getattr(import_module(module), attribute)
        return found


class GloGNNConfig(LayerConfig, ModelConfig):
    title = "GloGNN"
    name = "glognn"
    summary = "Every node as a signed combination of all nodes, in closed form"
    paper = "Li et al., ICML 2022"
    implementation = "glognn.models.glognn:GloGNN"
    numbers = ("alpha", "beta1", "beta2", "gamma", "dropout")

    num_layers: int = integer(2, "How often the closed-form layer is applied.", low=1, high=64)
    alpha: float = real(
        0.5,
        "Weight of the adjacency in the initial embedding, 1 - alpha that of the features; 0 and 1 leave the "
        "other out entirely.",
        low=0,
        high=1,
    )
    hidden_channels: int = _hidden_channels()
    num_encoder_layers: int = integer(
        2, "Linear maps from the inputs to the initial embedding (the large-scale settings use 3).", low=1, high=8
    )
    fusion: str = choice(
        "hidden",
        "Where features and adjacency are added: after the first linear map, or after a network for each.",
        ("hidden", "output"),
    )
    dropout: float = _dropout()

    def shape(self) -> tuple[object, ...]:
        """At the ends of their ranges some numbers leave out parts of the model."""
        return *super().shape(), self.alpha == 0, self.alpha == 1, self.beta2 == 0, self.gamma == 1

    def check_graph(self, *, has_features: bool) -> None:
        if self.alpha < 1 and not has_features:
            raise InputError(
                f"The 'alpha' parameter of {self.title} must be 1.0 for a graph without features. "
                f"Got {self.alpha} instead."
            )

    def num_parameters(self, sizes: Sizes) -> int:
        width = sizes.classes if self.num_encoder_layers == 1 else self.hidden_channels
        inputs = [size for size, used in ((sizes.features, self.alpha < 1), (sizes.nodes, self.alpha > 0)) if used]
        tails = 1 if self.fusion == "hidden" else len(inputs)
        tail = chain(*[self.hidden_channels] * (self.num_encoder_layers - 1), sizes.classes)
        hops = self.num_hops if self.beta2 > 0 else 0
        return sum(chain(size, width) for size in inputs) + tails * tail + hops

    def num_activations(self, sizes: Sizes) -> int:
        """Whichever holds more: the sums of the encoder, or all in the backward pass; the layers are n x c."""
        inputs = (self.alpha < 1) + (self.alpha > 0)
        tails = 1 if self.fusion == "hidden" else inputs
        width = sizes.classes if self.num_encoder_layers == 1 else self.hidden_channels
        layers = (6 + self.num_layers * (4 + self.num_hops)) * sizes.classes
        backward = (3 * (self.num_encoder_layers - 1) * tails + 1) * width + layers
        return sizes.nodes * max(backward, (3 * inputs - 1) * width)

    def input_bytes(self, sizes: Sizes) -> int:
        uses_graph = self.alpha > 0 or self.beta2 > 0
        loops = self.normalization != "none"
        features = sizes.feature_bytes() if self.alpha < 1 else 0
        return features + (sizes.adjacency_bytes(loops=loops) if uses_graph else 0)


class GloGNNPlusPlusConfig(GloGNNConfig):
    title = "GloGNN++"
    name = "glognn++"
    summary = "GloGNN with a learnable weight for each column of the embedding"
    implementation = "glognn.models.glognn:GloGNNPlusPlus"

    coefficient: str = choice(
        "released",
        "'released' is the authors' code, which leaves the weights out of the inverse and scores higher; 'exact' "
        "minimises the paper's objective.",
        ("exact", "released"),
    )

    def num_parameters(self, sizes: Sizes) -> int:
        return super().num_parameters(sizes) + sizes.classes


class MLPConfig(ModelConfig):
    title = "MLP"
    name = "mlp"
    summary = "A network on the features alone: what the graph must beat"
    paper = "Rosenblatt, 1958; Rumelhart et al., 1986"
    implementation = "glognn.models.mlp:MLP"
    numbers = ("dropout",)

    num_layers: int = integer(2, "Linear maps from the features to the classes.", low=1, high=64)
    hidden_channels: int = _hidden_channels()
    dropout: float = _dropout()

    def num_activations(self, sizes: Sizes) -> int:
        return sizes.nodes * _narrowing(self.num_layers, self.hidden_channels, sizes.classes)

    def input_bytes(self, sizes: Sizes) -> int:
        return sizes.feature_bytes()


class GCNConfig(ModelConfig):
    title = "GCN"
    name = "gcn"
    summary = "Averages over neighbours, on PyTorch Geometric's layers"
    paper = "Kipf and Welling, ICLR 2017"
    implementation = "glognn.models.gcn:GCN"
    numbers = ("dropout",)

    num_layers: int = integer(2, "Convolutions.", low=1, high=64)
    hidden_channels: int = _hidden_channels()
    dropout: float = _dropout()

    def num_activations(self, sizes: Sizes) -> int:
        return sizes.nodes * _narrowing(self.num_layers, self.hidden_channels, sizes.classes)


class LINKXConfig(ModelConfig):
    title = "LINKX"
    name = "linkx"
    summary = "Networks on the adjacency and on the features, added up; PyTorch Geometric's"
    paper = "Lim et al., NeurIPS 2021"
    implementation = "glognn.models.linkx:LINKX"
    numbers = ("dropout",)

    num_layers: int = integer(1, "Linear maps after the sum.", low=1, high=64)
    num_edge_layers: int = integer(1, "Linear maps of the adjacency.", low=1, high=64)
    num_node_layers: int = integer(1, "Linear maps of the features.", low=1, high=64)
    hidden_channels: int = _hidden_channels()
    dropout: float = _dropout()

    def num_parameters(self, sizes: Sizes) -> int:
        """With batch normalisation, two weights for each hidden value, between the layers of a network."""
        width = self.hidden_channels
        normed = self.num_edge_layers + self.num_node_layers + self.num_layers - 3
        edges = chain(sizes.nodes, *[width] * self.num_edge_layers)
        nodes = chain(sizes.features, *[width] * self.num_node_layers)
        last = chain(*[width] * self.num_layers, sizes.classes)
        return edges + nodes + 2 * chain(width, width) + last + 2 * width * normed

    def num_activations(self, sizes: Sizes) -> int:
        deeper = 3 * (self.num_layers - 1) + 2 * (self.num_edge_layers + self.num_node_layers - 2)
        return sizes.nodes * ((5 + deeper) * self.hidden_channels + 6 * sizes.classes)

    def input_bytes(self, sizes: Sizes) -> int:
        return sizes.feature_bytes(dense=True) + sizes.adjacency_bytes(loops=False)


class GATConfig(ModelConfig):
    title = "GAT"
    name = "gat"
    summary = "Averages over neighbours with learnt weights, on PyTorch Geometric's layers"
    paper = "Velickovic et al., ICLR 2018"
    implementation = "glognn.models.gat:GAT"
    numbers = ("dropout", "in_dropout")

    num_layers: int = integer(2, "Attention layers.", low=1, high=64)
    heads: int = integer(8, "Attention heads, side by side in hidden layers and averaged in the last.", low=1, high=64)
    hidden_channels: int = integer(64, "Width of the hidden layers, all heads together.", low=1)
    dropout: float = real(
        0.5, "Share of hidden values and of attention coefficients zeroed in training.", low=0, high=1, high_open=True
    )
    in_dropout: float = _in_dropout()

    def shape(self) -> tuple[object, ...]:
        """Features that may be dropped are stored dense."""
        return *super().shape(), self.in_dropout > 0

    def check(self) -> None:
        if self.hidden_channels % self.heads:
            raise InputError(
                f"The 'hidden_channels' parameter of {self.title} must be a multiple of heads, {self.heads}. "
                f"Got {self.hidden_channels} instead."
            )

    def num_parameters(self, sizes: Sizes) -> int:
        """Weights, two vectors of attention as wide as the result of all heads, and a bias."""
        width = self.hidden_channels
        hidden = [sizes.features] + [width] * (self.num_layers - 1)
        last = self.heads * sizes.classes
        return sum((size + 3) * width for size in hidden[:-1]) + (hidden[-1] + 2) * last + sizes.classes

    def num_activations(self, sizes: Sizes) -> int:
        """For each entry and head: score, weight, dropout's factor, product; four of them passing."""
        edges = (4 * self.num_layers + 4) * self.heads * sizes.looped
        wide = 6 * (self.num_layers - 1) * self.hidden_channels + 4 * self.heads * sizes.classes
        return edges + sizes.nodes * wide

    def input_bytes(self, sizes: Sizes) -> int:
        return sizes.feature_bytes(dense=self.in_dropout > 0) + sizes.pattern_bytes()


class MixHopConfig(ModelConfig):
    title = "MixHop"
    name = "mixhop"
    summary = "Neighbourhoods of several distances side by side, on PyTorch Geometric's layer"
    paper = "Abu-El-Haija et al., ICML 2019"
    implementation = "glognn.models.mixhop:MixHop"
    numbers = ("dropout",)

    num_layers: int = integer(2, "Convolutions before the linear map to the classes.", low=1, high=64)
    num_hops: int = integer(2, "The largest power of the adjacency; 0 to this one are read.", low=1, high=16)
    hidden_channels: int = integer(64, "Hidden values for each power.", low=1)
    batch_norm: bool = switch(False, "Whether batch normalisation follows every convolution.")
    dropout: float = _dropout()

    def num_parameters(self, sizes: Sizes) -> int:
        width = self.hidden_channels * (self.num_hops + 1)
        norms = 2 * width * self.num_layers if self.batch_norm else 0
        return chain(sizes.features, *[width] * self.num_layers, sizes.classes) + norms

    def num_activations(self, sizes: Sizes) -> int:
        kept = 4 * self.num_layers + 1 if self.batch_norm else 3 * self.num_layers + 2
        return sizes.nodes * (kept * self.hidden_channels * (self.num_hops + 1) + 6 * sizes.classes)


class GCNIIConfig(ModelConfig):
    title = "GCNII"
    name = "gcnii"
    summary = "A deep GCN with initial residual and identity mapping, on PyTorch Geometric's layer"
    paper = "Chen et al., ICML 2020"
    implementation = "glognn.models.gcnii:GCNII"
    numbers = ("residual_weight", "theta", "dropout", "in_dropout")

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
    hidden_channels: int = _hidden_channels()
    dropout: float = _dropout()
    in_dropout: float = _in_dropout()

    def shape(self) -> tuple[object, ...]:
        """Features that may be dropped are stored dense."""
        return *super().shape(), self.in_dropout > 0

    def num_parameters(self, sizes: Sizes) -> int:
        matrices = self.num_layers * (1 if self.shared_weights else 2)
        ends = chain(sizes.features, self.hidden_channels) + chain(self.hidden_channels, sizes.classes)
        return ends + matrices * self.hidden_channels**2

    def num_activations(self, sizes: Sizes) -> int:
        kept = (3 if self.shared_weights else 4) * self.num_layers + 4
        return sizes.nodes * (kept * self.hidden_channels + 6 * sizes.classes)

    def input_bytes(self, sizes: Sizes) -> int:
        return sizes.feature_bytes(dense=self.in_dropout > 0) + sizes.adjacency_bytes(loops=True)


class SGFormerConfig(ModelConfig):
    title = "SGFormer"
    name = "sgformer"
    summary = "Attention between all nodes beside a GCN; PyTorch Geometric's"
    paper = "Wu et al., NeurIPS 2023"
    implementation = "glognn.models.sgformer:SGFormer"
    numbers = ("graph_weight", "dropout", "attention_dropout")

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
        if self.hidden_channels % self.heads:
            raise InputError(
                f"The 'hidden_channels' parameter of {self.title} must be a multiple of heads, {self.heads}. "
                f"Got {self.hidden_channels} instead."
            )

    def num_parameters(self, sizes: Sizes) -> int:
        width = self.hidden_channels
        attention = self.num_attention_layers * (3 * self.heads * width**2 + 2 * width)
        convolutions = self.num_layers * (chain(width, width) + 2 * width)
        read = 2 * width if self.aggregate == "cat" else width
        return 2 * (chain(sizes.features, width) + 2 * width) + attention + convolutions + chain(read, sizes.classes)

    def num_activations(self, sizes: Sizes) -> int:
        """Four n x hidden for each normalised layer; queries, keys and values of every head; five passing."""
        attention = self.num_attention_layers * (6.5 * self.heads + 4)
        kept = int(4 + attention + 4 + 4 * self.num_layers + 4)
        return sizes.nodes * (kept * self.hidden_channels + 6 * sizes.classes)


class PolynormerConfig(ModelConfig):
    title = "Polynormer"
    name = "polynormer"
    summary = "Polynomials of features, over neighbours and then over all nodes; PyTorch Geometric's"
    paper = "Deng et al., ICLR 2024"
    implementation = "glognn.models.polynormer:Polynormer"
    numbers = ("beta", "dropout", "global_dropout", "in_dropout")

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
    in_dropout: float = _in_dropout()

    def shape(self) -> tuple[object, ...]:
        """Features that may be dropped are stored dense."""
        return *super().shape(), self.in_dropout > 0

    def num_parameters(self, sizes: Sizes) -> int:
        """Of a local layer two linear maps, a convolution and two normalisations; attention has vectors, no bias."""
        width = self.heads * self.hidden_channels
        inputs = [sizes.features] + [width] * (self.num_layers - 1)
        extra = width if self.convolution == "gcn" else 2 * width
        local = sum(2 * chain(size, width) + size * width + extra + 4 * width for size in inputs)
        everywhere = self.num_global_layers * (2 * chain(width, width) + 2 * width**2 + 2 * width)
        return local + everywhere + 2 * width + 2 * chain(width, sizes.classes)

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
    numbers = ("outgoing_weight", "dropout")
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
    hidden_channels: int = _hidden_channels()
    dropout: float = _dropout()

    def shape(self) -> tuple[object, ...]:
        """At the ends of its range the weight leaves out one of the directions."""
        return *super().shape(), self.outgoing_weight == 0, self.outgoing_weight == 1

    def num_parameters(self, sizes: Sizes) -> int:
        jumps, width = self.jumping_knowledge != "none", self.hidden_channels
        widths = [sizes.features] + [width] * (self.num_layers - 1) + [width if jumps else sizes.classes]
        read = width * (self.num_layers if self.jumping_knowledge == "cat" else 1)
        maps = 3 if self.root_weight else 2
        return maps * chain(*widths) + (chain(read, sizes.classes) if jumps else 0)

    def num_activations(self, sizes: Sizes) -> int:
        """Three or four n x hidden for each layer; the largest over layers is found in a copy of all of them."""
        layers = self.num_layers if self.jumping_knowledge != "none" else self.num_layers - 1
        joined = {"max": 3 + layers, "cat": layers, "none": 3}[self.jumping_knowledge]
        kept = (5 if self.normalize else 3) * layers + joined
        return sizes.nodes * (kept * self.hidden_channels + 6 * sizes.classes)

    def input_bytes(self, sizes: Sizes) -> int:
        matrices = 1 if self.convolution == "gcn" else 2
        return sizes.feature_bytes() + matrices * sizes.adjacency_bytes(loops=False)


class H2GCNConfig(ModelConfig):
    title = "H2GCN"
    name = "h2gcn"
    summary = "Neighbours at distance 1 and 2 kept apart, all rounds side by side"
    paper = "Zhu et al., NeurIPS 2020"
    implementation = "glognn.models.h2gcn:H2GCN"
    numbers = ("dropout",)

    num_rounds: int = integer(
        2,
        "How often neighbours are gathered; each round doubles the width (the paper's H2GCN-1 and -2).",
        low=1,
        high=4,
    )
    hidden_channels: int = _hidden_channels()
    dropout: float = _dropout()

    @property
    def _width(self) -> int:
        """Of all rounds side by side."""
        return self.hidden_channels * ((2 << self.num_rounds) - 1)

    def num_parameters(self, sizes: Sizes) -> int:
        return sizes.features * self.hidden_channels + self._width * sizes.classes

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
    numbers = ("dropout", "propagation_dropout")

    num_hops: int = integer(10, "Steps of the PageRank.", low=1, high=64)
    restart: float = real(
        0.5,
        "Restart probability of the PageRank that the learned weights start from (released code: 0.1).",
        low=0,
        high=1,
    )
    hidden_channels: int = _hidden_channels()
    dropout: float = _dropout()
    propagation_dropout: float = real(
        0.5, "Share of class scores zeroed in training before they are spread.", low=0, high=1, high_open=True
    )

    def shape(self) -> tuple[object, ...]:
        """The restart only decides which weights training starts from."""
        return tuple(value for name, value in self.as_dict().items() if name not in (*self.numbers, "restart"))

    def num_parameters(self, sizes: Sizes) -> int:
        return chain(sizes.features, self.hidden_channels, sizes.classes) + self.num_hops + 1

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
    numbers = ("decay_rate", "decay_exponent", "dropout")

    num_layers: int = integer(2, "Layers.", low=2, high=64)
    hidden_channels: int = _hidden_channels()
    decay_rate: float = real(1.0, "How much the layers after the first count.", low=0)
    decay_exponent: float = real(3.0, "How fast that shrinks from layer to layer.", low=0)
    dropout: float = _dropout()

    def num_parameters(self, sizes: Sizes) -> int:
        """The linear maps, the first twice as wide, and six weights for each layer's sum."""
        first = chain(sizes.features, 2 * self.hidden_channels)
        later = chain(*[self.hidden_channels] * (self.num_layers - 1), sizes.classes)
        return first + later + 6 * self.num_layers

    def num_activations(self, sizes: Sizes) -> int:
        """Six n x hidden and six for each entry in a layer; the peak is in the last sum or in the linear map before."""
        hidden, kept = sizes.nodes * self.hidden_channels, 6 * self.num_layers
        summing = (kept - 4) * hidden + (kept + 4) * sizes.entries
        mapping = (kept - 3) * hidden + (kept - 8) * sizes.entries
        return sizes.dropped(max(summing, mapping) + sizes.nodes * (6 * sizes.classes + 10))

    def input_bytes(self, sizes: Sizes) -> int:
        """Of each edge its neighbour, two orders, weight and ratio of degrees."""
        edge = INDEX_BYTES + 2 * LONG_BYTES + 2 * VALUE_BYTES
        return sizes.droppable_bytes() + edge * sizes.entries + INDEX_BYTES * (sizes.nodes + 1)


class ACMGCNConfig(ModelConfig):
    title = "ACM-GCN"
    name = "acmgcn"
    summary = "Smoothed, sharpened and own features, mixed by each node as it needs"
    paper = "Luan et al., NeurIPS 2022"
    implementation = "glognn.models.acmgcn:ACMGCN"
    numbers = ("dropout",)

    num_layers: int = integer(2, "Layers.", low=1, high=64)
    hidden_channels: int = _hidden_channels()
    dropout: float = _dropout()

    def num_parameters(self, sizes: Sizes) -> int:
        """Three matrices without bias, three vectors and nine weights for each layer."""
        widths = [sizes.features] + [self.hidden_channels] * (self.num_layers - 1) + [sizes.classes]
        return sum(3 * (before + 1) * after + 9 for before, after in pairwise(widths))

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
    numbers = ("dropout",)

    num_layers: int = integer(2, "Layers.", low=1, high=64)
    hidden_channels: int = _hidden_channels()
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
    dropout: float = _dropout()

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

    def num_parameters(self, sizes: Sizes) -> int:
        """A matrix for the node itself and each relation, two vectors for each of them, and a bias."""
        widths = [sizes.features] + [self.hidden_channels] * (self.num_layers - 1) + [sizes.classes]
        relations = self.num_relations
        return sum((before * (1 + relations) + 2 * relations + 1) * after for before, after in pairwise(widths))

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
        """Of each edge its place both ways, four 64-bit numbers and the weight."""
        edge = 2 * INDEX_BYTES + 4 * LONG_BYTES + VALUE_BYTES
        rows = sizes.nodes * (1 + self.num_relations) + 2
        return sizes.feature_bytes() + edge * self._edges(sizes) + INDEX_BYTES * rows

    def preparation_bytes(self, sizes: Sizes) -> int:
        """The different degrees in each ring of each node with their counts, at most the square root of 2 nnz(A)
        of them, as numbers and as keys; and the compared pairs.
        """
        most = sizes.nodes * math.isqrt(2 * sizes.entries)
        rings = [min(sizes.entries, most), *[most] * (self.num_rings - 1)] if self.num_rings else []
        return 6 * LONG_BYTES * sum(rings) + (3 + self.num_rings) * LONG_BYTES * self._edges(sizes)


MODELS: dict[str, type[ModelConfig]] = {
    config.name: config
    for config in (
        GloGNNPlusPlusConfig,
        GloGNNConfig,
        LINKXConfig,
        ACMGCNConfig,
        GGCNConfig,
        GPRGNNConfig,
        WRGATConfig,
        H2GCNConfig,
        DirGNNConfig,
        PolynormerConfig,
        SGFormerConfig,
        GCNIIConfig,
        MixHopConfig,
        GATConfig,
        GCNConfig,
        MLPConfig,
    )
}


def find_model(name: str) -> type[ModelConfig]:
    """The settings class of a model by its name."""
    if name not in MODELS:
        raise InputError(f"There is no model '{name}'.{suggest(name, MODELS)}")
    return MODELS[name]
