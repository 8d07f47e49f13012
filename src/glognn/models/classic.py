"""What tuned classics share (Luo et al., Classic GNNs are Strong Baselines: Reassessing GNNs for Node Classification,
NeurIPS 2024): residual layers with normalisation, as deep as one likes.

    H^(0)   = X,    or dropout(X W)
    H^(l+1) = dropout(relu(norm(conv(H^(l)) + H^(l) R^(l))))
    class scores = H^(L) W',    or (H^(1) + ... + H^(L)) W'

conv is a graph convolution (GCN+), a mean over neighbours (GraphSAGE+) or attention to them (GAT+); a node gathers
from the nodes that point to it. The weights of conv and R are drawn alike; the released code draws smaller ones for R,
with which a node's own features count less at first.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn.dense.linear import Linear

from glognn.graph.graph import Graph
from glognn.graph.pattern import Pattern
from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.models.base import NodeModel
from glognn.models.configs.pyg import ClassicConfig
from glognn.models.pyg import build, linear
from glognn.ops.activation import relu_dropout
from glognn.ops.products import matmul

NORMS: dict[str, Callable[[int], nn.Module]] = {
    "layer": nn.LayerNorm,
    "batch": nn.BatchNorm1d,
    "none": lambda _: nn.Identity(),
}


class ClassicInputs(NamedTuple):
    """Features, n x f, and the edges that lead to each node: their weights, or for attention which ones there are."""

    x: Matrix
    edges: SparseMatrix | Pattern


class _Network(nn.Module):
    def __init__(
        self, in_channels: int, out_channels: int, config: ClassicConfig, convolution: Callable[[int], nn.Module]
    ) -> None:
        super().__init__()
        self.dropout, self.centred, self.sum_layers = config.dropout, config.norm == "batch", config.sum_layers
        width, depth = config.hidden_channels, config.num_layers
        first = width if config.input_map else in_channels
        sizes = [first] + [width] * (depth - 1)
        self.lin_in = nn.Linear(in_channels, width, bias=False) if config.input_map else None
        self.convs = nn.ModuleList(convolution(size) for size in sizes)
        self.residuals = nn.ModuleList(
            Linear(size, width, weight_initializer="glorot", bias_initializer="zeros")
            for size in sizes
            if config.has_residuals
        )
        self.norms = nn.ModuleList(NORMS[config.norm](width) for _ in sizes)
        self.lin_out = nn.Linear(width, out_channels)

    def reset_parameters(self) -> None:
        for module in (self.lin_in, *self.convs, *self.residuals, *self.norms, self.lin_out):
            if module is not None and not isinstance(module, nn.Identity):
                module.reset_parameters()

    def forward(self, x: Matrix, edges: SparseMatrix | Pattern) -> Tensor:
        if self.lin_in is not None:
            x = F.dropout(matmul(x, self.lin_in.weight.T), self.dropout, self.training)
        outputs: list[Tensor] = []
        for index, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            mixed = conv(x, edges)
            if self.residuals:
                mixed = mixed + linear(self.residuals[index], x, centred=self.centred)
            x = relu_dropout(norm(mixed), self.dropout, self.training)
            outputs.append(x)
        read = sum(outputs[1:], outputs[0]) if self.sum_layers else outputs[-1]
        out: Tensor = self.lin_out(read)
        return out


class Classic(NodeModel[ClassicInputs]):
    """A model of such layers: it says what its convolution is, and what edges that reads."""

    config: ClassicConfig

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int | None = None, **settings: Any) -> None:
        super().__init__(in_channels, out_channels, num_nodes, **settings)
        self.network = build(lambda: _Network(in_channels, out_channels, self.config, self._convolution))

    @abstractmethod
    def _convolution(self, in_channels: int) -> nn.Module:
        """A module that is called with hidden values, or with features, and the edges."""

    @abstractmethod
    def _edges(self, graph: Graph) -> SparseMatrix | Pattern:
        """The edges that lead to each node (row), as the convolution takes them."""

    def use_settings(self, values: Mapping[str, Any]) -> None:
        self.network.dropout = values["dropout"]

    @property
    def deterministic(self) -> bool:
        """Not with batch normalisation, which differs between training and evaluation."""
        return super().deterministic and self.config.norm != "batch"

    def reset_parameters(self) -> None:
        self.network.reset_parameters()

    def prepare(self, graph: Graph) -> ClassicInputs:
        return ClassicInputs(self._features(graph), self._edges(graph))

    def logits(self, inputs: ClassicInputs) -> Tensor:
        out: Tensor = self.network(inputs.x, inputs.edges)
        return out
