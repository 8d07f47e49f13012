"""GloGNN2: the closed-form layer of GloGNN on an encoder that can see.

    h_0  = relu(norm(sum_i X_i W_i))                            features, degrees, ...: whatever settings name
    h_l  = relu(norm(sum_o A_o h_{l-1} W_o + h_{l-1} R))        local blocks, along edges out and in
    H0   = (sum_l a_l h_l + sum_j a_j relu(norm(X_j W_j))) W    jumping knowledge; X_j: rows of links
    H    = layer(... layer(layer(H0, H0), H0) ..., H0)          scale-free: betas relative to the size of H
    class scores = H

with dropout after each relu. The layer is :class:`~glognn.nn.global_homophily.GlobalHomophily`, the inputs and operators
are those of :mod:`glognn.nn.inputs`. Jumping knowledge: Xu et al., ICML 2018; residual blocks with normalisation: Luo et
al., Classic GNNs are Strong Baselines, NeurIPS 2024; rows of links: Lim et al., NeurIPS 2021.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from glognn.graph.extension import Extension
from glognn.graph.graph import Graph
from glognn.models.base import NodeModel
from glognn.models.configs.glognn import GloGNN2Config
from glognn.models.glognn import GloGNNInputs
from glognn.nn.blocks import LocalBlocks
from glognn.nn.encoder import Encoder
from glognn.nn.global_homophily import FrozenLayer, GlobalHomophily
from glognn.nn.hops import Hops
from glognn.nn.inputs import INPUTS, OPERATORS, letters
from glognn.settings import configured_by


@dataclass(frozen=True)
class FrozenGraph:
    """A known graph: what every block, and every layer, has made of its nodes."""

    blocks: list[Tensor]
    layers: list[FrozenLayer]


@configured_by(GloGNN2Config)
class GloGNN2(NodeModel[GloGNNInputs]):
    """A node is represented by itself, its neighbours near and far, and a signed combination of all nodes.

    >>> model = GloGNN2(data.num_features, num_classes, data.num_nodes)
    >>> logits = model(data.x, data.edge_index)

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Number of nodes; needed when rows of links are read.
    """

    config: GloGNN2Config
    config_class = GloGNN2Config

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int | None = None, **settings: Any) -> None:
        super().__init__(in_channels, out_channels, num_nodes, **settings)
        config = self.config
        for name in config.inputs:
            if INPUTS[name].of_nodes and num_nodes is None:
                raise self._error("num_nodes", f"given when the input '{name}' is read (it has weights for each node)", None)
        self.encoder = Encoder(
            {name: INPUTS[name].columns(in_channels, num_nodes or 0) for name in config.inputs},
            config.inputs,
            hidden_channels=config.hidden_channels,
            out_channels=out_channels,
            fusion="jumping",
            dropout=config.dropout,
            gated=config.gated.split(),
            branches=[name for name in config.inputs if INPUTS[name].of_nodes],
            num_blocks=config.num_blocks,
        )
        self.blocks = LocalBlocks(config.hidden_channels, config.num_blocks, config.neighbours, config.dropout)
        self.layer = (
            GlobalHomophily(
                out_channels,
                hops=Hops(config.words) if config.words else None,
                num_hops=config.num_hops,
                beta1=config.beta1,
                beta2=config.beta2,
                gamma=config.gamma,
                scale_free=config.scale_free,
                tau=config.tau,
            )
            if config.num_layers
            else None
        )

    def use_settings(self, values: Mapping[str, Any]) -> None:
        self.encoder.dropout = self.blocks.dropout = values["dropout"]
        if self.layer is not None:
            self.layer.use_settings(values["beta1"], values["beta2"], values["gamma"])

    def reset_parameters(self) -> None:
        self.encoder.reset_parameters()
        self.blocks.reset_parameters()
        if self.layer is not None:
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
        return list(dict.fromkeys([*self.config.neighbours, *letters(self.config.words)]))

    def encode(self, inputs: GloGNNInputs) -> tuple[Tensor, ...]:
        return self.encoder.encode(inputs.matrices)

    def decode(self, encoded: tuple[Tensor, ...], inputs: GloGNNInputs) -> Tensor:
        H0 = self.encoder.decode(encoded, lambda h: self.blocks(h, inputs.operators))
        return self._layers(H0, inputs)[-1]

    def logits(self, inputs: GloGNNInputs) -> Tensor:
        return self.decode(self.encode(inputs), inputs)

    def embeddings(self, inputs: GloGNNInputs) -> list[Tensor]:
        """H0 and the output of every layer."""
        return self._layers(self.encoder.decode(self.encode(inputs), lambda h: self.blocks(h, inputs.operators)), inputs)

    def freeze(self, inputs: GloGNNInputs) -> FrozenGraph:
        """Every block and layer as it is on the known nodes: O(n (blocks hidden + layers hops c)) numbers."""
        local: list[Tensor] = []

        def blocks(h: Tensor) -> list[Tensor]:
            local.extend(self.blocks(h, inputs.operators))
            return local

        H0 = self.encoder.decode(self.encode(inputs), blocks)
        layers = [] if self.layer is None else [self.layer.freeze(H, inputs.operators) for H in self._layers(H0, inputs)[:-1]]
        return FrozenGraph(local, layers)

    def new_logits(self, frozen: FrozenGraph, extension: Extension) -> Tensor:
        """A new node is seen through its features and its edges to the known nodes and to other new ones."""
        normalization = self.config.normalization
        rows = {name: OPERATORS[name].new_rows(extension, normalization) for name in self._operators}
        inputs = {name: INPUTS[name].new_rows(extension, normalization) for name in self.encoder.weights}
        H0 = self.encoder.decode(self.encoder.encode(inputs), lambda h: self.blocks.new_rows(h, frozen.blocks, rows))
        H = H0
        for layer in frozen.layers:
            assert self.layer is not None
            H = self.layer.new_rows(H, H0, layer, rows)
        return H

    def _layers(self, H0: Tensor, inputs: GloGNNInputs) -> list[Tensor]:
        outputs = [H0]
        for _ in range(self.config.num_layers if self.layer is not None else 0):
            assert self.layer is not None
            outputs.append(self.layer(outputs[-1], H0, inputs.operators))
        return outputs
