"""Which nodes a node is made of: rows of the coefficient matrix Z*."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from glognn.errors import InputError
from glognn.explain.contributions import check_layers
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.models.glognn import GloGNN

if TYPE_CHECKING:
    from torch_geometric.data import Data


@torch.no_grad()
def coefficient_rows(
    model: GloGNN, data: Data | Graph, nodes: Sequence[int] | Tensor, config: GraphConfig | None = None
) -> Tensor:
    """Rows of the last layer's Z* for some nodes: (len(nodes), n), in float64, in O(n c + hops nnz) each.

    Entry j of a row says how much node j contributes to that node, and with which sign. The model is evaluated
    without dropout, as trained; Z* itself (n x n) is never formed.

    Args:
        model: A GloGNN, GloGNN++ or GloGNN2.
        data: The graph it was trained on.
        nodes: Node numbers.
        config: How the graph was prepared for training; the defaults when omitted.
    """
    dtype = next(model.parameters()).dtype
    graph = data if isinstance(data, Graph) else Graph.from_data(data, config, dtype=dtype)
    graph = graph.to(device=next(model.parameters()).device, dtype=dtype)
    chosen = torch.as_tensor(nodes, dtype=torch.int64, device=graph.y.device).view(-1)
    outside = (chosen < 0) | (chosen >= graph.num_nodes)
    if bool(outside.any()):
        wrong = int(chosen[outside][0])
        raise InputError(f"nodes must be in the range [0, {graph.num_nodes - 1}]. Got {wrong} instead.")
    training = model.training
    check_layers(model)
    model.eval()
    inputs = model.prepare(graph)
    outputs = model.embeddings(inputs)
    model.train(training)
    return model.layer.rows(outputs[-2], outputs[0], inputs.operators, chosen)
