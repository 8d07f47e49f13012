"""The settings of every model, and the registry. Imports no torch, so that listing them is instant."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from glognn.errors import InputError
from glognn.nn.config import LayerConfig
from glognn.settings import Settings, choice, integer, real, suggest

if TYPE_CHECKING:
    from glognn.models.base import NodeModel


class ModelConfig(Settings):
    """Base of every model's settings.

    ``name`` is the registry key, ``implementation`` the ``module:class`` that is imported when a model is built.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    implementation: ClassVar[str]

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


class H2GCNConfig(ModelConfig):
    title = "H2GCN"
    name = "h2gcn"
    summary = "Neighbours at distance 1 and 2 kept apart, all rounds side by side"
    paper = "Zhu et al., NeurIPS 2020"
    implementation = "glognn.models.h2gcn:H2GCN"

    num_rounds: int = integer(
        2,
        "How often neighbours are gathered; each round doubles the width (the paper's H2GCN-1 and -2).",
        low=1,
        high=4,
    )
    hidden_channels: int = integer(64, "Width of the hidden layers.", low=1)
    dropout: float = real(0.5, "Share of hidden values zeroed in training.", low=0, high=1, high_open=True)


class GPRGNNConfig(ModelConfig):
    title = "GPR-GNN"
    name = "gprgnn"
    summary = "A network on the features, spread by PageRank with learned weights"
    paper = "Chien et al., ICLR 2021"
    implementation = "glognn.models.gprgnn:GPRGNN"

    num_hops: int = integer(10, "Steps of the PageRank.", low=1, high=64)
    restart: float = real(
        0.5,
        "Restart probability of the PageRank that the learned weights start from (released code: 0.1).",
        low=0,
        high=1,
    )
    hidden_channels: int = integer(64, "Width of the hidden layers.", low=1)
    dropout: float = real(0.5, "Share of hidden values zeroed in training.", low=0, high=1, high_open=True)
    propagation_dropout: float = real(
        0.5, "Share of class scores zeroed in training before they are spread.", low=0, high=1, high_open=True
    )


class GGCNConfig(ModelConfig):
    title = "GGCN"
    name = "ggcn"
    summary = "Signed messages by similarity, corrected for degrees, decaying with depth"
    paper = "Yan et al., ICDM 2022"
    implementation = "glognn.models.ggcn:GGCN"

    num_layers: int = integer(2, "Layers.", low=2, high=64)
    hidden_channels: int = integer(64, "Width of the hidden layers.", low=1)
    decay_rate: float = real(1.0, "How much the layers after the first count.", low=0)
    decay_exponent: float = real(3.0, "How fast that shrinks from layer to layer.", low=0)
    dropout: float = real(0.5, "Share of hidden values zeroed in training.", low=0, high=1, high_open=True)


class ACMGCNConfig(ModelConfig):
    title = "ACM-GCN"
    name = "acmgcn"
    summary = "Smoothed, sharpened and own features, mixed by each node as it needs"
    paper = "Luan et al., NeurIPS 2022"
    implementation = "glognn.models.acmgcn:ACMGCN"

    num_layers: int = integer(2, "Layers.", low=1, high=64)
    hidden_channels: int = integer(64, "Width of the hidden layers.", low=1)
    dropout: float = real(0.5, "Share of hidden values zeroed in training.", low=0, high=1, high_open=True)


class WRGATConfig(ModelConfig):
    title = "WRGAT"
    name = "wrgat"
    summary = "Attention to neighbours and to nodes whose surroundings look alike"
    paper = "Suresh et al., KDD 2021"
    implementation = "glognn.models.wrgat:WRGAT"

    num_layers: int = integer(2, "Layers.", low=1, high=64)
    hidden_channels: int = integer(64, "Width of the hidden layers.", low=1)
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
    dropout: float = real(0.5, "Share of hidden values zeroed in training.", low=0, high=1, high_open=True)


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
        GCNConfig,
        MLPConfig,
    )
}


def find_model(name: str) -> type[ModelConfig]:
    """The settings class of a model by its name."""
    if name not in MODELS:
        raise InputError(f"There is no model '{name}'.{suggest(name, MODELS)}")
    return MODELS[name]
