"""Integrated gradients as an algorithm of PyTorch Geometric: what every model with gradients can be explained by.

Sundararajan et al., ICML 2017: feature f of node j adds x_jf times the mean derivative of the score along the straight
line from features of zeros to those of the graph. The parts and the score for zeros add up to the score, but for what
a finite number of points on the line misses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.explain import ExplainerAlgorithm, Explanation
from torch_geometric.explain.config import MaskType, ModelMode

from glognn.errors import InputError
from glognn.graph.graph import Graph
from glognn.graph.sparse import SparseMatrix
from glognn.models.base import NodeModel

POINTS = 32
FEWEST, MOST, GAP = 9, 81, 1e-2
"""Points that an explanation takes, and three times as many, and again, while parts miss more than this share of the
score; points of a third as many are among them, and are kept."""
MOST_VALUES = 2**28
"""Of features, dense: 1 GiB in float32."""


class OnGraph(nn.Module):
    """A model on its prepared graph as PyTorch Geometric's explainers call it: features in, class scores out.

    The edges are those of the graph, prepared as in training; the ``edge_index`` that an explainer brings is not read.
    """

    def __init__(self, model: NodeModel[Any], graph: Graph) -> None:
        super().__init__()
        self.model = model
        like = next(model.parameters())
        self.graph = graph.to(device=like.device, dtype=like.dtype)

    def features(self) -> Tensor:
        """The graph's features, dense."""
        x = self.graph.x
        if x is None:
            raise InputError(f"{self.model.config.title} reads no features here, by which gradients could explain it.")
        if x.shape[0] * x.shape[1] > MOST_VALUES:
            shape = f"{x.shape[0]:,} x {x.shape[1]:,}"
            raise InputError(f"Gradients need dense features, up to {MOST_VALUES:,} numbers. Got {shape} instead.")
        return x.csr.to_dense() if isinstance(x, SparseMatrix) else x

    def forward(self, x: Tensor, edge_index: Tensor | None = None) -> Tensor:
        return self.model.logits(self.model.prepare(replace(self.graph, x=x)))


@dataclass(frozen=True, eq=False)
class GradientParts:
    """The scores of one node as a sum over nodes, and over the columns of features.

    Attributes:
        scores: Class scores of the node, c.
        empty: Its class scores where all features are zeros, c.
        by_node: What each node's features add, n x c.
        own: What each of the node's own features adds, f x c.
        by_column: What each column adds, over all nodes, f x c.
        points: On the line.
    """

    scores: Tensor
    empty: Tensor
    by_node: Tensor
    own: Tensor
    by_column: Tensor
    points: int


def gradient_parts(
    scores: Callable[[Tensor], Tensor],
    x: Tensor,
    node: int,
    fewest: int = FEWEST,
    most: int = MOST,
    most_missed: float = GAP,
) -> GradientParts:
    """Integrated gradients of every class score of a node: for each point a pass, and one back for each class."""
    with torch.no_grad():
        whole, empty = scores(x)[node].double(), scores(torch.zeros_like(x))[node].double()
    classes = len(whole)
    by_node = torch.zeros(x.shape[0], classes, dtype=torch.float64, device=x.device)
    own = torch.zeros(x.shape[1], classes, dtype=torch.float64, device=x.device)
    by_column = torch.zeros_like(own)
    points, places = fewest, (np.arange(fewest) + 0.5) / fewest
    while True:
        for column, part in _along(scores, x, node, range(classes), places):
            by_node[:, column] += part.sum(dim=1, dtype=torch.float64)
            by_column[:, column] += part.sum(dim=0, dtype=torch.float64)
            own[:, column] += part[node].double()
        change = whole - empty
        gap = float((change - by_node.sum(dim=0) / points).abs().max())
        if 3 * points > most or gap <= most_missed * float(change.abs().max()):
            return GradientParts(whole, empty, by_node / points, own / points, by_column / points, points)
        points *= 3
        places = (np.flatnonzero(np.arange(points) % 3 != 1) + 0.5) / points


def _along(scores: Callable[[Tensor], Tensor], x: Tensor, node: int, columns: Any, places: Iterable[float]) -> Any:
    """For each place of the line and column the features times the derivative of the score there, n x f."""
    for place in places:
        at = (float(place) * x).detach().requires_grad_()
        out = scores(at)[node]
        for number, column in enumerate(columns):
            [gradient] = torch.autograd.grad(
                out[column], at, retain_graph=number + 1 < len(columns), allow_unused=True, materialize_grads=True
            )
            yield column, x * gradient


class IntegratedGradients(ExplainerAlgorithm):  # type: ignore[misc]
    """Integrated gradients from features of zeros, for ``torch_geometric.explain.Explainer``.

    The ``node_mask`` is signed: what a feature of a node (``"attributes"``) or all its features (``"object"``) add to
    the score of the target class.

    Args:
        points: On the line from zeros to the features.
    """

    def __init__(self, points: int = POINTS) -> None:
        super().__init__()
        self.points = points

    def supports(self) -> bool:
        return (
            self.model_config.mode == ModelMode.multiclass_classification
            and self.explainer_config.node_mask_type in (MaskType.attributes, MaskType.object)
            and self.explainer_config.edge_mask_type is None
        )

    def forward(
        self, model: nn.Module, x: Tensor, edge_index: Tensor, *, target: Tensor, index: Any = None, **more: Any
    ) -> Explanation:
        node, column = one_node(target, index)
        total = torch.zeros_like(x)
        places = (np.arange(self.points) + 0.5) / self.points
        for _, part in _along(lambda at: model(at, edge_index, **more), x, node, [column], places):
            total += part / self.points
        alone = self.explainer_config.node_mask_type == MaskType.object
        return Explanation(node_mask=total.sum(dim=1, keepdim=True) if alone else total)


def one_node(target: Tensor, index: Any) -> tuple[int, int]:
    """The one node that an explainer of PyTorch Geometric is asked about, and its class."""
    chosen = torch.as_tensor([] if index is None else index).view(-1)
    if len(chosen) != 1:
        raise InputError(f"One node is explained at a time: give index=NODE. Got {len(chosen)} nodes instead.")
    node = int(chosen)
    return node, int(target[node] if target.dim() else target)
