"""The graph attention network, PyTorch Geometric's (Velickovic et al., ICLR 2018).

    h_i'   = || over heads of sum over j in N(i) and i of a_ij W h_j      (the mean over heads in the last layer)
    a_ij   = softmax over j of leaky_relu(a_src . W h_j + a_dst . W h_i)

with elu and dropout after every hidden layer and dropout on the a_ij. N(i) are the nodes that point to i; edge weights
are not read, and a self-loop of the data is the one that every node has. Attention is computed by
:func:`~glognn.ops.attention.neighbour_attention`, without a matrix of messages. The paper's settings for its
citation graphs are 8 heads of 8 channels, dropout 0.6 (on the features too: ``in_dropout``) and weight decay 5e-4.
GAT+ has this attention, without dropout on the a_ij, in the layers of :mod:`glognn.models.classic`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import Tensor, nn
from torch_geometric.nn.conv import GATConv
from torch_geometric.nn.models import GAT as PyGGAT

from glognn.graph.graph import Graph
from glognn.graph.pattern import Pattern
from glognn.graph.sparse import Matrix
from glognn.models.base import NodeModel
from glognn.models.classic import Classic
from glognn.models.configs.pyg import GATConfig, GATPlusConfig
from glognn.models.pyg import build, dense_where_dropped, drop, neighbours
from glognn.ops.attention import neighbour_attention
from glognn.ops.products import matmul
from glognn.settings import configured_by


class GATInputs(NamedTuple):
    """Features, n x f, and for every node (row) the nodes that point to it, itself included."""

    x: Matrix
    pattern: Pattern


class Attention(GATConv):  # type: ignore[misc]
    """PyTorch Geometric's attention layer with prepared edges and, perhaps, sparse features."""

    def forward(self, x: Matrix, pattern: Pattern, edge_attr: None = None) -> Tensor:
        mapped = matmul(x, self.lin.weight.T).view(-1, self.heads, self.out_channels).transpose(0, 1)
        source, target = ((mapped * weight.transpose(0, 1)).sum(dim=-1) for weight in (self.att_src, self.att_dst))
        dropout = self.dropout if self.training else 0.0
        heads = neighbour_attention(pattern, target, source, mapped, slope=self.negative_slope, dropout=dropout)
        out: Tensor = heads.transpose(0, 1).flatten(1) if self.concat else heads.mean(dim=0)
        return out if self.bias is None else out + self.bias


class _Network(PyGGAT):  # type: ignore[misc]
    def init_conv(self, in_channels: int, out_channels: int, **settings: Any) -> Attention:
        heads, last = settings["heads"], getattr(self, "_is_conv_to_out", False)
        width = out_channels if last else out_channels // heads
        return Attention(in_channels, width, heads, concat=not last, dropout=self.dropout.p)


@configured_by(GATConfig)
class GAT(NodeModel[GATInputs]):
    """A graph attention network.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Not used; there so that every model is built alike.
    """

    config: GATConfig
    config_class = GATConfig

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int | None = None, **settings: Any) -> None:
        super().__init__(in_channels, out_channels, num_nodes, **settings)
        config = self.config
        self.in_dropout = config.in_dropout
        sizes = (in_channels, config.hidden_channels, config.num_layers, out_channels)
        self.network = build(lambda: _Network(*sizes, dropout=config.dropout, act="elu", heads=config.heads))

    @property
    def deterministic(self) -> bool:
        return super().deterministic and self.config.in_dropout == 0

    def use_settings(self, values: Mapping[str, Any]) -> None:
        if self.config.in_dropout > 0:
            self.in_dropout = values["in_dropout"]
        self.network.dropout.p = values["dropout"]
        for conv in self.network.convs:
            conv.dropout = values["dropout"]

    def reset_parameters(self) -> None:
        self.network.reset_parameters()

    def prepare(self, graph: Graph) -> GATInputs:
        return GATInputs(dense_where_dropped(self._features(graph), self.config.in_dropout), neighbours(graph))

    def logits(self, inputs: GATInputs) -> Tensor:
        out: Tensor = self.network(drop(inputs.x, self.in_dropout, self.training), inputs.pattern)
        return out


@configured_by(GATPlusConfig)
class GATPlus(Classic):
    """A graph attention network with residuals and normalisation, as deep as one likes.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Not used; there so that every model is built alike.
    """

    config: GATPlusConfig
    config_class = GATPlusConfig

    def _convolution(self, in_channels: int) -> nn.Module:
        heads = self.config.heads
        attention: nn.Module = Attention(in_channels, self.config.hidden_channels // heads, heads, bias=False)
        return attention

    def _edges(self, graph: Graph) -> Pattern:
        return neighbours(graph)
