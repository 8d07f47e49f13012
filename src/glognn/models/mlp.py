"""A network on the features alone.

    class scores = W_L dropout(relu(... dropout(relu(W_1 X)) ...))

It is the encoder of GloGNN with alpha = 0 and no layer after it, so the difference between the two is what the
graph brings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from glognn.graph.graph import Graph
from glognn.graph.sparse import Matrix
from glognn.models.base import NodeModel
from glognn.models.configs.handwritten import MLPConfig
from glognn.nn.encoder import Encoder
from glognn.nn.inputs import FEATURES
from glognn.settings import configured_by


@configured_by(MLPConfig)
class MLP(NodeModel[Matrix]):
    """A multi-layer perceptron on the node features; the edges are not read.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Not used; there so that every model is built alike.
    """

    config: MLPConfig
    config_class = MLPConfig

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int | None = None, **settings: Any) -> None:
        super().__init__(in_channels, out_channels, num_nodes, **settings)
        self.encoder = Encoder(
            {FEATURES: in_channels},
            {FEATURES: 1.0},
            hidden_channels=self.config.hidden_channels,
            out_channels=out_channels,
            num_layers=self.config.num_layers,
            dropout=self.config.dropout,
        )

    def use_settings(self, values: Mapping[str, Any]) -> None:
        self.encoder.dropout = values["dropout"]

    def reset_parameters(self) -> None:
        self.encoder.reset_parameters()

    def prepare(self, graph: Graph) -> Matrix:
        return self._features(graph)

    def encode(self, inputs: Matrix) -> tuple[Tensor, ...]:
        return self.encoder.encode({FEATURES: inputs})

    def decode(self, encoded: tuple[Tensor, ...], inputs: Matrix) -> Tensor:
        return self.encoder.decode(encoded)

    def logits(self, inputs: Matrix) -> Tensor:
        return self.decode(self.encode(inputs), inputs)
