"""Class scores of nodes that were not in the training graph, without training again."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from glognn.graph.config import GraphConfig
from glognn.graph.extension import Extension
from glognn.graph.graph import Graph
from glognn.models.base import FreezesKnownNodes, NodeModel

if TYPE_CHECKING:
    from torch_geometric.data import Data


class KnownNodes:
    """A trained model and its graph, kept to score new nodes again and again.

    GloGNN and GloGNN++ freeze every layer: its c x c factors and what the hops hold of the known nodes, whose own
    scores do not change. New nodes then cost O(their edges + m) each time. Models whose weights belong to no node
    (GCN, MLP, ...) run on the whole extended graph instead.

    Args:
        model: A trained model.
        data: The graph it was trained on; a ``Data`` when features are standardised, or else ``features``.
        config: How a ``Data`` was prepared for training; the model's wish when omitted.
        features: Of a ``Graph``, as they were before they were normalised.
    """

    def __init__(
        self,
        model: NodeModel[Any],
        data: Data | Graph,
        config: GraphConfig | None = None,
        *,
        features: Tensor | None = None,
    ) -> None:
        self.model = model
        like = next(model.parameters())
        graph = (
            data if isinstance(data, Graph) else Graph.from_data(data, config or model.graph_config, dtype=like.dtype)
        )
        self.graph = graph.to(device=like.device, dtype=like.dtype)
        self._features: Tensor | None = features if isinstance(data, Graph) else data.x

    @cached_property
    def _frozen(self) -> Any:
        assert isinstance(self.model, FreezesKnownNodes)
        return self.model.freeze(self.model.prepare(self.graph))

    @torch.no_grad()
    def logits(self, new: Data) -> Tensor:
        """Class scores of new nodes, m x classes; see :func:`predict_new_nodes`."""
        extension = Extension.from_data(self.graph, new, self._features)
        model, training = self.model, self.model.training
        model.eval()
        try:
            if isinstance(model, FreezesKnownNodes):
                return model.new_logits(self._frozen, extension)
            return model.logits(model.prepare(extension.graph()))[self.graph.num_nodes :]
        finally:
            model.train(training)


def predict_new_nodes(
    model: NodeModel[Any], data: Data | Graph, new: Data, config: GraphConfig | None = None
) -> Tensor:
    """Class scores (logits) of nodes that were not in the training graph, m x classes, without training again.

    >>> new = Data(x=features_of_two_nodes, edge_index=torch.tensor([[n, n, n + 1], [3, 8, n]]))
    >>> probabilities = predict_new_nodes(model, data, new).softmax(dim=1)

    Edges are made to go both ways, and features normalised, as those of the training graph were. Known nodes do not
    notice new ones.

    Args:
        model: A trained model.
        data: The graph it was trained on, with n nodes; a ``Data`` when features are standardised.
        new: The m new nodes: ``x`` with a row for each, and ``edge_index`` with known nodes as 0 to n-1 and new ones as
            n to n+m-1, in edges from or to new nodes; ``edge_weight`` is optional.
        config: How a ``Data`` was prepared for training; the model's wish when omitted.
    """
    return KnownNodes(model, data, config).logits(new)
