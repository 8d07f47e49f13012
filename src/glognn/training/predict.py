"""Class probabilities from a trained model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.models.base import NodeModel

if TYPE_CHECKING:
    from torch_geometric.data import Data


@torch.no_grad()
def predict(model: NodeModel[Any], data: Data | Graph, config: GraphConfig | None = None) -> Tensor:
    """Class probabilities of all nodes, n x classes, on the model's device, without dropout.

    A ``Data`` is prepared as :func:`~glognn.training.driver.train` does it (by default every edge is made to go both
    ways), unlike ``model(x, edge_index)``, which takes the edges as they are given.

    Args:
        model: A trained model.
        data: The graph it was trained on.
        config: How the graph was prepared for training; the model's wish when omitted.
    """
    like = next(model.parameters())
    graph = data if isinstance(data, Graph) else Graph.from_data(data, config or model.graph_config, dtype=like.dtype)
    [found] = predict_alike([model], graph.to(device=like.device, dtype=like.dtype))
    return found


@torch.no_grad()
def predict_alike(models: Iterable[NodeModel[Any]], graph: Graph) -> Iterator[Tensor]:
    """The same of each of several models, on the device of the graph, which is prepared once for those of one shape."""
    shared, shape = None, None
    for model in models:
        if (own := model.config.shape()) != shape:
            shared, shape = model.shared(graph), own
        training = model.training
        model.eval()
        logits = model.logits(model.completed(shared, graph))
        model.train(training)
        yield logits.softmax(dim=1)
