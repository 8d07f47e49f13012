"""GloGNN and GloGNN++.

Li, Zhu, Cheng, Shan, Luo, Li and Qian: Finding Global Homophily in Graph Neural Networks When Meeting
Heterophily, ICML 2022.

    H0   = (1 - alpha) MLP_1(X) + alpha MLP_2(A)                 (or fused at the hidden layer, as released)
    H    = layer(... layer(layer(H0, H0), H0) ..., H0)           num_layers times, one lambda and one S for all
    class scores = H

The layer is :class:`~glognn.nn.global_homophily.GlobalHomophily`. Deviations from the released code: the graph
enters only the branches that use it, nothing n x n is computed (the released GloGNN++ builds and drops an n x n
inverse in every pass), there is no dropout on the input that is then overwritten, and float32 is the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from glognn.graph.extension import Extension
from glognn.graph.graph import Graph
from glognn.graph.sparse import Matrix
from glognn.models.base import NodeModel
from glognn.models.configs.glognn import GloGNNConfig, GloGNNPlusPlusConfig
from glognn.nn.config import LayerConfig
from glognn.nn.encoder import Encoder
from glognn.nn.global_homophily import FrozenLayer, GlobalHomophily
from glognn.nn.hops import Hops, NewRows, Operators
from glognn.nn.inputs import INPUTS, OPERATORS, letters
from glognn.settings import configured_by


@dataclass(frozen=True, eq=False)
class GloGNNInputs:
    """Inputs of the encoder and operators of the hops, by name."""

    matrices: Mapping[str, Matrix]
    operators: Operators


@configured_by(GloGNNConfig)
class GloGNN(NodeModel[GloGNNInputs]):
    """GloGNN: a node is represented by a signed linear combination of all nodes of the graph.

    >>> model = GloGNN(data.num_features, num_classes, data.num_nodes, alpha=0.3)
    >>> logits = model(data.x, data.edge_index)

    With alpha = 0 the adjacency has no weights in the encoder and ``num_nodes`` is not needed; with alpha = 1
    the features are not read and may be missing. Cost of a pass: O((nnz(X) + nnz(A)) hidden) for the encoder and
    O(layers (hops nnz(A) c + n c^2)) for the layers, with c classes.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Number of nodes; needed when alpha > 0.
    """

    config: GloGNNConfig
    config_class = GloGNNConfig

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int | None = None, **settings: Any) -> None:
        super().__init__(in_channels, out_channels, num_nodes, **settings)
        for name in self.config.inputs:
            if INPUTS[name].of_nodes and num_nodes is None:
                raise self._error("num_nodes", f"given when the {name} is read (it has weights for each node)", None)
        channels = {name: INPUTS[name].columns(in_channels, num_nodes or 0) for name in self.config.inputs}
        self.encoder = self._encoder(channels)
        self.layer = self._layer()

    def _encoder(self, channels: Mapping[str, int]) -> Encoder:
        config = self.config
        return Encoder(
            channels,
            config.inputs,
            hidden_channels=config.hidden_channels,
            out_channels=self.out_channels,
            num_layers=config.num_encoder_layers,
            fusion=config.fusion,
            dropout=config.dropout,
        )

    def _layer(self, coefficient: str = "plain") -> GlobalHomophily:
        config = self.config
        return GlobalHomophily(
            self.out_channels,
            coefficient=coefficient,
            hops=Hops(config.words) if config.words else None,
            **{name: value for name, value in config.as_dict().items() if name in LayerConfig.names()},
        )

    def use_settings(self, values: Mapping[str, Any]) -> None:
        if len(self.encoder.weights) > 1:
            weights = self.config.input_weights(values)
            self.encoder.weights = {name: weights[name] for name in self.encoder.weights}
        self.encoder.dropout = values["dropout"]
        self.layer.use_settings(values["beta1"], values["beta2"], values["gamma"])

    def reset_parameters(self) -> None:
        self.encoder.reset_parameters()
        self.layer.reset_parameters()

    def prepare(self, graph: Graph) -> GloGNNInputs:
        read = {name: INPUTS[name] for name in self.encoder.weights}
        if any(each.of_features for each in read.values()):
            self._features(graph)
        if any(each.of_nodes for each in read.values()):
            self._check_num_nodes(graph)
        normalization = self.config.normalization
        return GloGNNInputs(
            {name: each.make(graph, normalization) for name, each in read.items()},
            {name: OPERATORS[name].make(graph, normalization) for name in self._operators},
        )

    @property
    def _operators(self) -> list[str]:
        return [] if self.layer.hops is None else letters(self.layer.hops.words)

    @torch.no_grad()
    def growth(self, graph: Graph) -> float:
        """The largest sum of a row of P, in O(K nnz)."""
        hops, matrix = self.layer.hops, graph.adjacency.matrix
        if hops is None:
            return 1.0
        operators = {name: OPERATORS[name].make(graph, self.config.normalization) for name in self._operators}
        ones = torch.ones(graph.num_nodes, 1, dtype=matrix.dtype, device=matrix.device)
        return float(hops(operators, ones).abs().max())

    @property
    def remedies(self) -> str:
        config = self.config
        normalised = "" if config.normalization != "none" else "normalization 'row' or 'symmetric', or "
        return f"{normalised}fewer hops (num_hops is {config.num_hops})"

    def encode(self, inputs: GloGNNInputs) -> tuple[Tensor, ...]:
        return self.encoder.encode(inputs.matrices)

    def decode(self, encoded: tuple[Tensor, ...], inputs: GloGNNInputs) -> Tensor:
        return self._layers(self.encoder.decode(encoded), inputs)[-1]

    def logits(self, inputs: GloGNNInputs) -> Tensor:
        return self.decode(self.encode(inputs), inputs)

    def embeddings(self, inputs: GloGNNInputs) -> list[Tensor]:
        """H0 and the output of every layer."""
        return self._layers(self.encoder(inputs.matrices), inputs)

    def freeze(self, inputs: GloGNNInputs) -> list[FrozenLayer]:
        """Every layer as it is on the known nodes: O(layers hops n c) numbers."""
        return [self.layer.freeze(H, inputs.operators) for H in self.embeddings(inputs)[:-1]]

    def new_logits(self, frozen: list[FrozenLayer], extension: Extension) -> Tensor:
        """H0 of a new node is made of its rows of the inputs, such as its edges to the known nodes."""
        normalization = self.config.normalization
        rows = {name: OPERATORS[name].new_rows(extension, normalization) for name in self._operators}
        inputs = {name: INPUTS[name].new_rows(extension, normalization) for name in self.encoder.weights}
        return self._new_layers(self.encoder(inputs), frozen, rows)

    def _new_layers(self, H0: Tensor, frozen: list[FrozenLayer], rows: Mapping[str, NewRows]) -> Tensor:
        H = H0
        for layer in frozen:
            H = self.layer.new_rows(H, H0, layer, rows)
        return H

    def _layers(self, H0: Tensor, inputs: GloGNNInputs) -> list[Tensor]:
        outputs = [H0]
        for _ in range(self.config.num_layers):
            outputs.append(self.layer(outputs[-1], H0, inputs.operators))
        return outputs


@configured_by(GloGNNPlusPlusConfig)
class GloGNNPlusPlus(GloGNN):
    """GloGNN++: GloGNN with a learnable weight for each column of the embedding (the diagonal S).

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Number of nodes; needed when alpha > 0.
    """

    config: GloGNNPlusPlusConfig
    config_class = GloGNNPlusPlusConfig

    def _layer(self, coefficient: str = "") -> GlobalHomophily:
        return super()._layer(coefficient or self.config.coefficient)
