"""Dir-GNN, on PyTorch Geometric's layer (Rossi et al., Edge Directionality Improves Learning on Heterophilic Graphs,
LoG 2023).

    M^(l)   = alpha (P H^(l-1) W_out + b_out) + (1 - alpha) (R H^(l-1) W_in + b_in)  [+ H^(l-1) W_root + b_root]
    H^(l)   = normalize(dropout(relu(M^(l))))
    class scores = jump(H^(1), ..., H^(L)) W,    or M^(L) without jumping knowledge

P gathers from the nodes a node points to and R from those that point to it, each with weights of its own:

======  ===========================================================
"gcn"   P = D_out^-1/2 A D_in^-1/2 and R = P^T, as in the paper
"sage"  P = D_out^-1 A and R = D_in^-1 A^T: means over neighbours
======  ===========================================================

There are no self-loops but those of the data. PyTorch Geometric's GCNConv inside DirGNNConv divides by the in-degrees
at both ends of an edge, and so drops what comes from a node that nothing points to; here it is the paper's P. The
directions of the edges must be kept, so ``directed`` is true for this model unless stated otherwise. alpha is
``outgoing_weight``; where it is 0 or 1 one of the two products is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn.conv import DirGNNConv
from torch_geometric.nn.models import JumpingKnowledge

from glognn.graph.graph import Graph
from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.models.base import NodeModel
from glognn.models.configs.pyg import DirGNNConfig
from glognn.models.pyg import Convolution, build
from glognn.ops.activation import relu_dropout
from glognn.ops.products import matmul, spmm
from glognn.settings import configured_by


class DirGNNInputs(NamedTuple):
    """Features, n x f, and the matrices P and R."""

    x: Matrix
    outgoing: SparseMatrix
    incoming: SparseMatrix


class _Convolution(DirGNNConv):  # type: ignore[misc]
    """PyTorch Geometric's layer with prepared edges and, perhaps, sparse features; one product with all weights."""

    def __init__(self, conv: Convolution, outgoing_weight: float, root_weight: bool) -> None:
        super().__init__(conv, outgoing_weight, root_weight)
        self.reads = outgoing_weight > 0, outgoing_weight < 1

    def forward(self, x: Matrix, outgoing: SparseMatrix, incoming: SparseMatrix) -> Tensor:
        directions = (self.alpha, outgoing, self.conv_out), (1 - self.alpha, incoming, self.conv_in)
        terms = [term for term, read in zip(directions, self.reads, strict=True) if read]
        weights = [conv.lin.weight for _, _, conv in terms] + ([self.lin.weight] if self.root_weight else [])
        mapped = torch.split(matmul(x, torch.cat(weights).T), self.conv_out.out_channels, dim=1)
        parts = [
            share * (spmm(operator, value) + conv.bias)
            for (share, operator, conv), value in zip(terms, mapped, strict=False)
        ]
        if self.root_weight:
            parts.append(mapped[-1] + self.lin.bias)
        out: Tensor = sum(parts[1:], parts[0])
        return out


class _Network(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, config: DirGNNConfig) -> None:
        super().__init__()
        self.dropout, self.normalize = config.dropout, config.normalize
        jumps = config.jumping_knowledge != "none"
        width, depth = config.hidden_channels, config.num_layers
        sizes = [in_channels] + [width] * (depth - 1) + [width if jumps else out_channels]
        self.convs = nn.ModuleList(
            _Convolution(Convolution(before, after), config.outgoing_weight, config.root_weight)
            for before, after in pairwise(sizes)
        )
        self.jump = JumpingKnowledge(config.jumping_knowledge) if jumps else None
        read = width * depth if config.jumping_knowledge == "cat" else width
        self.lin = nn.Linear(read, out_channels) if jumps else None

    def reset_parameters(self) -> None:
        for conv in self.convs:
            conv.reset_parameters()  # type: ignore[operator]
        if self.lin is not None:
            self.lin.reset_parameters()

    def forward(self, x: Matrix, outgoing: SparseMatrix, incoming: SparseMatrix) -> Tensor:
        outputs = []
        for conv in self.convs[: None if self.lin is not None else -1]:
            x = relu_dropout(conv(x, outgoing, incoming), self.dropout, self.training)
            x = F.normalize(x, dim=1) if self.normalize else x
            outputs.append(x)
        if self.lin is None or self.jump is None:
            last: Tensor = self.convs[-1](x, outgoing, incoming)
            return last
        out: Tensor = self.lin(self.jump(outputs))
        return out


@configured_by(DirGNNConfig)
class DirGNN(NodeModel[DirGNNInputs]):
    """Separate weights for outgoing and incoming edges.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Not used; there so that every model is built alike.
    """

    config: DirGNNConfig
    config_class = DirGNNConfig

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int | None = None, **settings: Any) -> None:
        super().__init__(in_channels, out_channels, num_nodes, **settings)
        self.network = build(lambda: _Network(in_channels, out_channels, self.config))

    def use_settings(self, values: Mapping[str, Any]) -> None:
        self.network.dropout = values["dropout"]
        for conv in self.network.convs:
            conv.alpha = values["outgoing_weight"]

    def reset_parameters(self) -> None:
        self.network.reset_parameters()

    def prepare(self, graph: Graph) -> DirGNNInputs:
        kind = self.config.convolution
        operators = graph.adjacency.kept(f"directions-{kind}", lambda matrix: _operators(matrix, kind))
        return DirGNNInputs(self._features(graph), *operators)

    def logits(self, inputs: DirGNNInputs) -> Tensor:
        out: Tensor = self.network(inputs.x, inputs.outgoing, inputs.incoming)
        return out


def _operators(adjacency: SparseMatrix, convolution: str) -> tuple[SparseMatrix, SparseMatrix]:
    matrix = adjacency.to_scipy().astype(np.float64)
    leaving, arriving = (np.asarray(matrix.sum(axis=axis)).ravel() for axis in (1, 0))

    def scaled(left: Any, middle: Any, right: Any) -> SparseMatrix:
        product = sp.csr_array(sp.diags_array(left) @ middle @ sp.diags_array(right))
        return SparseMatrix.from_scipy(product, adjacency.dtype).to(device=adjacency.device)

    if convolution == "gcn":
        outgoing = scaled(_power(leaving, -0.5), matrix, _power(arriving, -0.5))
        return outgoing, outgoing.transpose
    ones = np.ones(matrix.shape[0])
    return scaled(_power(leaving, -1), matrix, ones), scaled(_power(arriving, -1), matrix.T.tocsr(), ones)


def _power(degrees: Any, exponent: float) -> Any:
    return np.where(degrees > 0, np.where(degrees > 0, degrees, 1.0) ** exponent, 0.0)
