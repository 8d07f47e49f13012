"""GloGNN2: the closed-form layer of GloGNN on an encoder that can see.

    h_0  = relu(sum_i X_i W_i)                                  features, degrees, ...: whatever settings name
    h_l  = relu(norm(sum_o A_o h_{l-1} W_o + h_{l-1} R))        local blocks, along edges out and in
    H0   = (sum_l a_l h_l + sum_j a_j relu(X_j W_j)) W          jumping knowledge; X_j: rows of links
    H    = layer(... layer(layer(H0, H0), H0) ..., H0)          scale-free: betas relative to the size of H
    class scores = H

with dropout after each relu, and of each layer a learnt share; norm is over the columns of a node, or over all nodes of
a column, with which many blocks learn in a tenth of the epochs. The layer is
:class:`~glognn.nn.global_homophily.GlobalHomophily`; inputs and operators are those of :mod:`glognn.nn.inputs`. Jumping
knowledge: Xu et al., ICML 2018; residual blocks with normalisation: Luo et al., Classic GNNs are Strong Baselines,
NeurIPS 2024; rows of links: Lim et al., NeurIPS 2021.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from glognn.graph.extension import Extension
from glognn.models.configs.glognn import GloGNN2Config
from glognn.models.glognn import GloGNN, GloGNNInputs
from glognn.nn.blocks import LocalBlocks
from glognn.nn.encoder import Encoder
from glognn.nn.global_homophily import FrozenLayer, GlobalHomophily
from glognn.nn.inputs import INPUTS, OPERATORS
from glognn.settings import configured_by


@dataclass(frozen=True)
class FrozenGraph:
    """A known graph: what every block, and every layer, has made of its nodes."""

    blocks: list[Tensor]
    layers: list[FrozenLayer]


@configured_by(GloGNN2Config)
class GloGNN2(GloGNN):
    """A node is represented by itself, its neighbours near and far, and a signed combination of all nodes.

    >>> model = GloGNN2(data.num_features, num_classes, data.num_nodes)
    >>> logits = model(data.x, data.edge_index)

    Cost of a pass: that of GloGNN, and O(nnz(A) hidden + n hidden^2) for each local block.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Number of nodes; needed when rows of links are read.
    """

    config: GloGNN2Config  # type: ignore[assignment]
    config_class = GloGNN2Config  # type: ignore[assignment]

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int | None = None, **settings: Any) -> None:
        super().__init__(in_channels, out_channels, num_nodes, **settings)
        config = self.config
        self.blocks = LocalBlocks(
            config.hidden_channels, config.num_blocks, config.neighbours, config.dropout, config.block_norm
        )

    def _layer(self, coefficient: str = "plain") -> GlobalHomophily:
        """One without weights where it is never applied."""
        return super()._layer(coefficient) if self.config.num_layers else GlobalHomophily(self.out_channels, beta2=0.0)

    def _encoder(self, channels: Mapping[str, int]) -> Encoder:
        config = self.config
        config.check_graph(has_features=self.in_channels > 0)
        weights = {name: weight for name, weight in config.inputs.items() if channels[name] > 0 and weight > 0}
        return Encoder(
            channels,
            weights,
            hidden_channels=config.hidden_channels,
            out_channels=self.out_channels,
            fusion="jumping",
            dropout=config.dropout,
            gated=config.gated.split(),
            branches=[name for name in weights if INPUTS[name].of_nodes],
            num_blocks=config.num_blocks,
        )

    @property
    def _operators(self) -> list[str]:
        return list(dict.fromkeys([*self.config.neighbours, *super()._operators]))

    @property
    def remedies(self) -> str:
        return f"fewer hops (num_hops is {self.config.num_hops})"

    @property
    def deterministic(self) -> bool:
        """Not with batch normalisation, which differs between training and evaluation."""
        return super().deterministic and not self.config.normalizes_columns

    def use_settings(self, values: Mapping[str, Any]) -> None:
        self.encoder.dropout = self.blocks.dropout = values["dropout"]
        self.layer.use_settings(values["beta1"], values["beta2"], values["gamma"])

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self.blocks.reset_parameters()

    def decode(self, encoded: tuple[Tensor, ...], inputs: GloGNNInputs) -> Tensor:
        return self._layers(self.encoder.decode(encoded, self._local(inputs)), inputs)[-1]

    def embeddings(self, inputs: GloGNNInputs) -> list[Tensor]:
        """H0 and the output of every layer."""
        return self._layers(self.encoder.decode(self.encode(inputs), self._local(inputs)), inputs)

    def _local(self, inputs: GloGNNInputs) -> Callable[[Tensor], list[Tensor]]:
        return lambda h: self.blocks(h, inputs.operators)

    def freeze(self, inputs: GloGNNInputs) -> FrozenGraph:  # type: ignore[override]
        """Every block and layer as it is on the known nodes: O(n (blocks hidden + layers hops c)) numbers."""
        found: list[Tensor] = []

        def local(h: Tensor) -> list[Tensor]:
            found.extend(self.blocks(h, inputs.operators))
            return found

        outputs = self._layers(self.encoder.decode(self.encode(inputs), local), inputs)
        return FrozenGraph(found, [self.layer.freeze(H, inputs.operators) for H in outputs[:-1]])

    def new_logits(self, frozen: FrozenGraph, extension: Extension) -> Tensor:  # type: ignore[override]
        """A new node is seen through its features and its edges to the known nodes and to other new ones."""
        normalization = self.config.normalization
        rows = {name: OPERATORS[name].new_rows(extension, normalization) for name in self._operators}
        inputs = {name: INPUTS[name].new_rows(extension, normalization) for name in self.encoder.weights}
        H0 = self.encoder.decode(self.encoder.encode(inputs), lambda h: self.blocks.new_rows(h, frozen.blocks, rows))
        return self._new_layers(H0, frozen.layers, rows)
