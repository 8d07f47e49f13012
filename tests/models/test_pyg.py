"""GCN and LINKX give what PyTorch Geometric's models give on the same edges."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.nn.models import GCN as PyGGCN
from torch_geometric.nn.models import LINKX as PyGLINKX

from glognn.models.gcn import GCN
from glognn.models.linkx import LINKX
from tests.conftest import make_data


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_gcn(num_layers: int, weighted: bool) -> None:
    """Directed edges with self-loops; repeated ones are merged here, so there are none."""
    data = make_data()
    data.edge_index = torch.unique(data.edge_index, dim=1)
    if weighted:
        data.edge_weight = torch.rand(data.num_edges) + 0.1
    ours = GCN(7, 3, 60, num_layers=num_layers, hidden_channels=16).double().eval()
    theirs = PyGGCN(7, 16, num_layers, 3, dropout=0.5).double().eval()
    theirs.load_state_dict(ours.network.state_dict())
    weight = getattr(data, "edge_weight", None)
    x = data.x.double()
    wanted = theirs(x, data.edge_index, None if weight is None else weight.double())
    torch.testing.assert_close(ours(x, data.edge_index, weight), wanted)


def test_linkx() -> None:
    data = make_data()
    data.edge_index = torch.unique(data.edge_index, dim=1)
    ours = LINKX(7, 3, 60, hidden_channels=16, num_layers=2, num_edge_layers=2, num_node_layers=2).double()
    theirs = PyGLINKX(60, 7, 16, 3, 2, num_edge_layers=2, num_node_layers=2, dropout=0.5).double()
    theirs.load_state_dict(ours.network.state_dict())
    for mode in (True, False):  # batch normalisation in both modes
        for model in (ours, theirs):
            model.train(mode)
        torch.manual_seed(3)
        wanted = theirs(data.x.double(), data.edge_index)
        torch.manual_seed(3)
        torch.testing.assert_close(ours(data.x.double(), data.edge_index), wanted)


def test_linkx_needs_the_number_of_nodes() -> None:
    with pytest.raises(ValueError, match="'num_nodes' parameter of LINKX"):
        LINKX(7, 3)
