"""The settings of every model, and the registry. Imports no torch, so that listing them is instant."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from glognn.errors import InputError
from glognn.nn.config import LayerConfig
from glognn.settings import Settings, choice, integer, real, suggest, switch

if TYPE_CHECKING:
    from glognn.models.base import NodeModel


def _in_dropout() -> float:
    return real(
        0.0, "Share of features zeroed in training; above 0 they are stored dense.", low=0, high=1, high_open=True
    )


class ModelConfig(Settings):
    """Base of every model's settings.

    ``name`` is the registry key, ``implementation`` the ``module:class`` that is imported when a model is built.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    implementation: ClassVar[str]
    graph_settings: ClassVar[Mapping[str, Any]] = {}
    """How the model wants its graph prepared (of GraphConfig); goes before the dataset's, settings go before it."""

    def check_graph(self, *, has_features: bool) -> None:
        """Refuse a graph that lacks what the model is set to read."""
        if not has_features:
            raise InputError(f"The graph has no features, and {self.title} reads nothing else.")

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

    num_layers: int = integer(2, "How often the closed-form layer is applied.", low=1, high=64)
    alpha: float = real(
        0.5,
        "Weight of the adjacency in the initial embedding, 1 - alpha that of the features; 0 and 1 leave the "
        "other out entirely.",
        low=0,
        high=1,
    )
    hidden_channels: int = integer(64, "Width of the hidden layers.", low=1)
    num_encoder_layers: int = integer(
        2, "Linear maps from the inputs to the initial embedding (the large-scale settings use 3).", low=1, high=8
    )
    fusion: str = choice(
        "hidden",
        "Where features and adjacency are added: after the first linear map, or after a network for each.",
        ("hidden", "output"),
    )
    dropout: float = real(0.5, "Share of hidden values zeroed in training.", low=0, high=1, high_open=True)

    def check_graph(self, *, has_features: bool) -> None:
        if self.alpha < 1 and not has_features:
            raise InputError(
                f"The 'alpha' parameter of {self.title} must be 1.0 for a graph without features. "
                f"Got {self.alpha} instead."
            )


class GloGNNPlusPlusConfig(GloGNNConfig):
    title = "GloGNN++"
    name = "glognn++"
    summary = "GloGNN with a learnable weight for each column of the embedding"
    implementation = "glognn.models.glognn:GloGNNPlusPlus"

    coefficient: str = choice(
        "exact",
        "'exact' minimises the paper's objective; 'released' is the authors' code, which leaves the weights out "
        "of the inverse.",
        ("exact", "released"),
    )


class MLPConfig(ModelConfig):
    title = "MLP"
    name = "mlp"
    summary = "A network on the features alone: what the graph must beat"
    paper = "Rosenblatt, 1958; Rumelhart et al., 1986"
    implementation = "glognn.models.mlp:MLP"

    num_layers: int = integer(2, "Linear maps from the features to the classes.", low=1, high=64)
    hidden_channels: int = integer(64, "Width of the hidden layers.", low=1)
    dropout: float = real(0.5, "Share of hidden values zeroed in training.", low=0, high=1, high_open=True)


class GCNConfig(ModelConfig):
    title = "GCN"
    name = "gcn"
    summary = "Averages over neighbours, on PyTorch Geometric's layers"
    paper = "Kipf and Welling, ICLR 2017"
    implementation = "glognn.models.gcn:GCN"

    num_layers: int = integer(2, "Convolutions.", low=1, high=64)
    hidden_channels: int = integer(64, "Width of the hidden layers.", low=1)
    dropout: float = real(0.5, "Share of hidden values zeroed in training.", low=0, high=1, high_open=True)


class LINKXConfig(ModelConfig):
    title = "LINKX"
    name = "linkx"
    summary = "Networks on the adjacency and on the features, added up; PyTorch Geometric's"
    paper = "Lim et al., NeurIPS 2021"
    implementation = "glognn.models.linkx:LINKX"

    num_layers: int = integer(1, "Linear maps after the sum.", low=1, high=64)
    num_edge_layers: int = integer(1, "Linear maps of the adjacency.", low=1, high=64)
    num_node_layers: int = integer(1, "Linear maps of the features.", low=1, high=64)
    hidden_channels: int = integer(64, "Width of the hidden layers.", low=1)
    dropout: float = real(0.5, "Share of hidden values zeroed in training.", low=0, high=1, high_open=True)


class GATConfig(ModelConfig):
    title = "GAT"
    name = "gat"
    summary = "Averages over neighbours with learnt weights, on PyTorch Geometric's layers"
    paper = "Velickovic et al., ICLR 2018"
    implementation = "glognn.models.gat:GAT"

    num_layers: int = integer(2, "Attention layers.", low=1, high=64)
    heads: int = integer(8, "Attention heads, side by side in hidden layers and averaged in the last.", low=1, high=64)
    hidden_channels: int = integer(64, "Width of the hidden layers, all heads together.", low=1)
    dropout: float = real(
        0.5, "Share of hidden values and of attention coefficients zeroed in training.", low=0, high=1, high_open=True
    )
    in_dropout: float = _in_dropout()

    def check(self) -> None:
        if self.hidden_channels % self.heads:
            raise InputError(
                f"The 'hidden_channels' parameter of {self.title} must be a multiple of heads, {self.heads}. "
                f"Got {self.hidden_channels} instead."
            )


class MixHopConfig(ModelConfig):
    title = "MixHop"
    name = "mixhop"
    summary = "Neighbourhoods of several distances side by side, on PyTorch Geometric's layer"
    paper = "Abu-El-Haija et al., ICML 2019"
    implementation = "glognn.models.mixhop:MixHop"

    num_layers: int = integer(2, "Convolutions before the linear map to the classes.", low=1, high=64)
    num_hops: int = integer(2, "The largest power of the adjacency; 0 to this one are read.", low=1, high=16)
    hidden_channels: int = integer(64, "Hidden values for each power.", low=1)
    batch_norm: bool = switch(True, "Whether batch normalisation follows every convolution.")
    dropout: float = real(0.5, "Share of hidden values zeroed in training.", low=0, high=1, high_open=True)


class GCNIIConfig(ModelConfig):
    title = "GCNII"
    name = "gcnii"
    summary = "A deep GCN with initial residual and identity mapping, on PyTorch Geometric's layer"
    paper = "Chen et al., ICML 2020"
    implementation = "glognn.models.gcnii:GCNII"

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
    shared_weights: bool = switch(True, "Whether the first hidden layer is mapped by the same weights; off is GCNII*.")
    hidden_channels: int = integer(64, "Width of the hidden layers.", low=1)
    dropout: float = real(0.5, "Share of hidden values zeroed in training.", low=0, high=1, high_open=True)
    in_dropout: float = _in_dropout()


class SGFormerConfig(ModelConfig):
    title = "SGFormer"
    name = "sgformer"
    summary = "Attention between all nodes beside a GCN; PyTorch Geometric's"
    paper = "Wu et al., NeurIPS 2023"
    implementation = "glognn.models.sgformer:SGFormer"

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


class PolynormerConfig(ModelConfig):
    title = "Polynormer"
    name = "polynormer"
    summary = "Polynomials of features, over neighbours and then over all nodes; PyTorch Geometric's"
    paper = "Deng et al., ICLR 2024"
    implementation = "glognn.models.polynormer:Polynormer"

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


class DirGNNConfig(ModelConfig):
    title = "Dir-GNN"
    name = "dirgnn"
    summary = "Weights of their own for outgoing and incoming edges, on PyTorch Geometric's layer"
    paper = "Rossi et al., LoG 2023"
    implementation = "glognn.models.dirgnn:DirGNN"
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
    hidden_channels: int = integer(64, "Width of the hidden layers.", low=1)
    dropout: float = real(0.5, "Share of hidden values zeroed in training.", low=0, high=1, high_open=True)


MODELS: dict[str, type[ModelConfig]] = {
    config.name: config
    for config in (
        GloGNNPlusPlusConfig,
        GloGNNConfig,
        LINKXConfig,
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
