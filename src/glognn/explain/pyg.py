"""Rows of Z* where users of PyTorch Geometric look for reasons: as an algorithm of its ``Explainer``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.explain import ExplainerAlgorithm, Explanation
from torch_geometric.explain.config import MaskType, ModelMode

from glognn.errors import InputError
from glognn.explain.contributions import THROUGH, GlobalContributions
from glognn.explain.gradients import OnGraph, one_node
from glognn.models.glognn import GloGNN


class GlobalExplainer(ExplainerAlgorithm):  # type: ignore[misc]
    """What every node of the graph adds to a node's class score, exactly: for GloGNN, GloGNN++ and GloGNN2.

    >>> task = {"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"}
    >>> explainer = Explainer(
    ...     model, GlobalExplainer(), explanation_type="model", node_mask_type="object", model_config=task
    ... )
    >>> explanation = explainer(data.x, edge_index, index=7)

    The ``node_mask`` is signed, n x 1: the contribution to the score of the target class. The explanation also has
    ``coefficients`` (n, the row of Z*), ``contributions`` (n x classes) and ``own`` (what the node's own rows add, by
    class): contributions and ``own`` add up to the scores.

    Args:
        through: ``"last"`` layer, ``"all"`` or ``"inputs"``, see :mod:`glognn.explain.contributions`.
    """

    def __init__(self, through: str = "last") -> None:
        super().__init__()
        if through not in THROUGH:
            raise InputError(f"The 'through' parameter must be one of {THROUGH}. Got {through!r} instead.")
        self.through = through

    def supports(self) -> bool:
        return (
            self.model_config.mode == ModelMode.multiclass_classification
            and self.explainer_config.node_mask_type == MaskType.object
            and self.explainer_config.edge_mask_type is None
        )

    @torch.no_grad()
    def forward(
        self,
        model: nn.Module,
        x: Tensor,
        edge_index: Tensor,
        *,
        target: Tensor,
        index: Any = None,
        edge_weight: Tensor | None = None,
    ) -> Explanation:
        node, column = one_node(target, index)
        if isinstance(model, OnGraph):
            found = GlobalContributions(_checked(model.model), model.graph)
        else:
            checked = _checked(model)
            found = GlobalContributions(checked, checked._graph(x, edge_index, edge_weight))
        parts = found.of(node, self.through)
        coefficients = parts.coefficients if parts.coefficients.dim() == 1 else parts.coefficients[:, column]
        return Explanation(
            node_mask=parts.by_node[:, column : column + 1],
            coefficients=coefficients,
            contributions=parts.by_node,
            own=sum(parts.own.values(), torch.zeros_like(parts.scores)),
        )


def _checked(model: Any) -> GloGNN:
    if not isinstance(model, GloGNN):
        found = type(model).__name__
        raise InputError(f"GlobalExplainer is for GloGNN, GloGNN++ and GloGNN2. Got {found}: use IntegratedGradients.")
    return model
