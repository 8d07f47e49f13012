"""What has changed in a graph since a model was trained on it: more edges between its nodes, other features of some."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from glognn.errors import InputError
from glognn.graph.graph import Graph, prepare_features

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True, eq=False)
class GraphChanges:
    """Changes of a graph as it was loaded.

    Attributes:
        edge_index: Edges to add, 2 x edges, as if they had stood in the graph's list of edges.
        edge_weight: Their weights, where the graph has some.
        nodes: The nodes with other features.
        x: Their features, a row for each.
    """

    edge_index: Tensor
    edge_weight: Tensor | None
    nodes: Tensor
    x: Tensor | None

    def __bool__(self) -> bool:
        return bool(self.edge_index.numel() or self.nodes.numel())

    def before(self, data: Data) -> Tensor:
        """The features that the changed nodes had."""
        if data.x.layout == torch.strided:
            return data.x[self.nodes]  # type: ignore[no-any-return]
        entries = data.x.to_sparse(layout=torch.sparse_coo)
        return entries.index_select(0, self.nodes).to_dense()  # type: ignore[no-any-return]

    def apply(self, data: Data, graph: Graph) -> tuple[Data, Graph]:
        """The changed graph, as loaded and as prepared; labels and splits are those of before.

        Features are normalised by the means and deviations of training.
        """
        changed = data.clone()
        if self.nodes.numel() and self.x is not None:
            changed.x = _with_rows(data.x, self.nodes, self.x)
        if self.edge_index.numel():
            known = torch.empty(2, 0, dtype=torch.int64) if data.edge_index is None else data.edge_index
            changed.edge_index = torch.cat([known, self.edge_index], dim=1)
            if (weight := getattr(data, "edge_weight", None)) is not None:
                if self.edge_weight is None:
                    raise InputError("Edges to add must have weights, as those of the training graph do. Got none.")
                changed.edge_weight = torch.cat([weight, self.edge_weight.to(weight.dtype)])
        dtype = graph.adjacency.matrix.dtype
        found = Graph.from_data(changed, graph.config, dtype=dtype)
        x = prepare_features(changed.x, graph.num_nodes, graph.config.feature_normalization, dtype, data.x)
        return changed, replace(graph, x=x, adjacency=found.adjacency, edge_counts=found.edge_counts)


def _with_rows(x: Tensor, nodes: Tensor, rows: Tensor) -> Tensor:
    """Features with some rows replaced; sparse ones stay sparse."""
    if x.layout == torch.strided:
        found = x.clone()
        found[nodes] = rows.to(x.dtype)
        return found
    entries = x.to_sparse(layout=torch.sparse_coo).coalesce()
    kept = ~torch.isin(entries.indices()[0], nodes)
    fresh = rows.to(x.dtype).to_sparse(layout=torch.sparse_coo).coalesce()
    placed = torch.stack([nodes[fresh.indices()[0]], fresh.indices()[1]])
    indices = torch.cat([entries.indices()[:, kept], placed], dim=1)
    values = torch.cat([entries.values()[kept], fresh.values()])
    return torch.sparse_coo_tensor(indices, values, x.shape).coalesce().to_sparse_csr()
