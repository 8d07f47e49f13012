"""The settings of GloGNN and GloGNN++."""

from __future__ import annotations

from glognn.errors import InputError
from glognn.models.configs.base import ModelConfig, dropout_setting, hidden_channels_setting
from glognn.models.memory import Sizes
from glognn.nn.config import LayerConfig
from glognn.settings import choice, integer, real


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
    hidden_channels: int = hidden_channels_setting()
    num_encoder_layers: int = integer(
        2, "Linear maps from the inputs to the initial embedding (the large-scale settings use 3).", low=1, high=8
    )
    fusion: str = choice(
        "hidden",
        "Where features and adjacency are added: after the first linear map, or after a network for each.",
        ("hidden", "output"),
    )
    dropout: float = dropout_setting()

    def shape(self) -> tuple[object, ...]:
        """At the ends of their ranges some numbers leave out parts of the model."""
        return *super().shape(), self.alpha == 0, self.alpha == 1, self.beta2 == 0, self.gamma == 1

    def check_graph(self, *, has_features: bool) -> None:
        if self.alpha < 1 and not has_features:
            raise InputError(
                f"The 'alpha' parameter of {self.title} must be 1.0 for a graph without features. "
                f"Got {self.alpha} instead."
            )

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
