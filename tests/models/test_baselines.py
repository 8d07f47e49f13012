"""The six baselines on PyTorch Geometric's layers: equal to its own modules and to the papers' equations."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn.conv import DirGNNConv, GCN2Conv, MixHopConv, SAGEConv
from torch_geometric.nn.models import GAT as PyGGAT
from torch_geometric.nn.models import Polynormer as PyGPolynormer
from torch_geometric.nn.models import SGFormer as PyGSGFormer
from torch_geometric.utils import add_remaining_self_loops

from glognn.errors import InputError
from glognn.experiments.config import resolve
from glognn.experiments.folder import load_model, save_model
from glognn.models.base import FollowsEpochs
from glognn.models.dirgnn import DirGNN
from glognn.models.gat import GAT
from glognn.models.gcnii import GCNII
from glognn.models.mixhop import MixHop
from glognn.models.polynormer import Polynormer
from glognn.models.sgformer import SGFormer
from glognn.training.checkpoint import Checkpoint
from glognn.training.config import TrainingConfig
from glognn.training.driver import train
from glognn.training.predict import predict
from tests.conftest import make_data
from tests.reference import baselines as reference


@pytest.fixture
def data() -> Data:
    """Directed edges with self-loops; repeated ones are merged in our models, so there are none."""
    data = make_data()
    data.edge_index = torch.unique(data.edge_index, dim=1)
    data.x = data.x.double()
    return data


def dense_adjacency(data: Data) -> Tensor:
    A = torch.zeros(data.num_nodes, data.num_nodes, dtype=torch.float64)
    A[data.edge_index[0], data.edge_index[1]] = 1
    return A


def same_with_gradients(
    ours: torch.nn.Module, found: Tensor, theirs: torch.nn.Module, wanted: Tensor, **tolerance: float
) -> None:
    """Scores and the gradients of every parameter, paired by order."""
    tolerance = {"rtol": 1e-5, **tolerance} if tolerance else {}
    torch.testing.assert_close(found, wanted, **tolerance)
    direction = torch.randn_like(wanted)
    pairs = list(zip(ours.parameters(), theirs.parameters(), strict=True))
    of_ours = torch.autograd.grad((found * direction).sum(), [a for a, _ in pairs], materialize_grads=True)
    of_theirs = torch.autograd.grad((wanted * direction).sum(), [b for _, b in pairs], materialize_grads=True)
    for first, second in zip(of_ours, of_theirs, strict=True):
        torch.testing.assert_close(first, second, **tolerance)


class TestGAT:
    @pytest.mark.parametrize(("num_layers", "heads"), [(1, 3), (2, 4), (3, 1)])
    def test_equals_pyg(self, data: Data, num_layers: int, heads: int) -> None:
        ours = GAT(7, 3, num_layers=num_layers, heads=heads, hidden_channels=12).double().eval()
        theirs = PyGGAT(7, 12, num_layers, 3, act="elu", heads=heads, dropout=0.5).double().eval()
        theirs.load_state_dict(ours.network.state_dict())
        found, wanted = ours(data.x, data.edge_index), theirs(data.x, data.edge_index)
        same_with_gradients(ours.network, found, theirs, wanted)

    def test_equals_its_equation(self, data: Data) -> None:
        ours = GAT(7, 3, num_layers=1, heads=1, hidden_channels=8).double().eval()
        conv = ours.network.convs[0]
        V = data.x @ conv.lin.weight.T
        incoming = dense_adjacency(data).T
        wanted = reference.attention(incoming, V @ conv.att_dst.view(-1), V @ conv.att_src.view(-1), V, 0.2)
        torch.testing.assert_close(ours(data.x, data.edge_index), wanted + conv.bias)

    def test_large_scores_stay_finite(self, data: Data) -> None:
        found = GAT(7, 3, num_layers=1, heads=1, hidden_channels=8).eval()(1e4 * data.x.float(), data.edge_index)
        assert torch.isfinite(found).all()

    def test_dropout_keeps_the_mean(self, data: Data) -> None:
        ours = GAT(7, 3, num_layers=1, heads=2, hidden_channels=8, dropout=0.4).double()
        with torch.no_grad():
            drawn = torch.stack([ours(data.x, data.edge_index) for _ in range(300)])
            wanted = ours.eval()(data.x, data.edge_index)
        assert drawn.std(dim=0).max() > 0
        error = drawn.std(dim=0) / 300**0.5
        assert ((drawn.mean(dim=0) - wanted).abs() <= 6 * error + 1e-9).all()

    def test_heads_must_divide_the_width(self) -> None:
        with pytest.raises(
            InputError, match="'hidden_channels' parameter of GAT must be a multiple of heads, 8. Got 12"
        ):
            GAT(7, 3, hidden_channels=12)


class TestMixHop:
    @pytest.mark.parametrize("num_hops", [1, 2, 3])
    def test_layer_equals_pyg_and_its_equation(self, data: Data, num_hops: int) -> None:
        ours = MixHop(7, 3, num_hops=num_hops, num_layers=1, hidden_channels=8, batch_norm=False).double().eval()
        conv, lin = ours.network.convs[0], ours.network.lin
        theirs = MixHopConv(7, 8, powers=list(range(num_hops + 1))).double()
        theirs.load_state_dict(conv.state_dict())
        found = ours(data.x, data.edge_index)
        wanted = lin(torch.relu(theirs(data.x, data.edge_index)))
        network = torch.nn.ModuleList([theirs, lin])
        same_with_gradients(torch.nn.ModuleList([conv, lin]), found, network, wanted)
        P = reference.propagation(dense_adjacency(data).T)
        dense = reference.mixhop(P, data.x, [each.weight.T for each in conv.lins], conv.bias)
        torch.testing.assert_close(found, lin(torch.relu(dense)))

    def test_two_layers_and_batch_normalisation(self, data: Data) -> None:
        ours = MixHop(7, 3, hidden_channels=8, dropout=0.0, batch_norm=True).double()
        x = data.x
        P = reference.propagation(dense_adjacency(data).T)
        for conv in ours.network.convs:
            x = reference.mixhop(P, x, [each.weight.T for each in conv.lins], conv.bias)
            x = torch.relu((x - x.mean(dim=0)) / (x.var(dim=0, unbiased=False) + 1e-5).sqrt())
        torch.testing.assert_close(ours(data.x, data.edge_index), ours.network.lin(x))
        assert not ours.deterministic


class TestGCNII:
    @pytest.mark.parametrize("shared", [True, False])
    def test_equals_pyg(self, data: Data, shared: bool) -> None:
        ours = GCNII(7, 3, num_layers=3, hidden_channels=8, residual_weight=0.3, theta=1.5, shared_weights=shared)
        network = ours.double().eval().network
        initial = hidden = torch.relu(network.lin_in(data.x))
        for layer, conv in enumerate(network.convs, 1):
            theirs = GCN2Conv(8, 0.3, 1.5, layer, shared_weights=shared).double()
            theirs.load_state_dict(conv.state_dict())
            hidden = torch.relu(theirs(hidden, initial, data.edge_index))
        torch.testing.assert_close(ours(data.x, data.edge_index), network.lin_out(hidden))

    def test_equals_its_equation(self, data: Data) -> None:
        ours = (
            GCNII(7, 3, num_layers=4, hidden_channels=8, residual_weight=0.2, theta=0.7, shared_weights=True)
            .double()
            .eval()
        )
        network = ours.network
        P = reference.propagation(dense_adjacency(data).T)
        H0 = H = torch.relu(data.x @ network.lin_in.weight.T + network.lin_in.bias)
        for layer, conv in enumerate(network.convs, 1):
            H = torch.relu(reference.gcnii(P, H, H0, conv.weight1, 0.2, 0.7, layer))
        torch.testing.assert_close(ours(data.x, data.edge_index), H @ network.lin_out.weight.T + network.lin_out.bias)

    def test_outgoing_edges_are_those_of_the_reversed_graph(self, data: Data) -> None:
        torch.manual_seed(0)
        incoming = GCNII(7, 3, num_layers=2).double().eval()
        outgoing = GCNII(7, 3, num_layers=2, outgoing=True).double().eval()
        outgoing.load_state_dict(incoming.state_dict())
        ours = outgoing(data.x, data.edge_index)
        torch.testing.assert_close(ours, incoming(data.x, data.edge_index.flip(0)))
        assert not torch.allclose(ours, incoming(data.x, data.edge_index))

    def test_dropped_features_are_dense_and_only_then(self, data: Data) -> None:
        data.x = (data.x * (torch.rand_like(data.x) < 0.1)).to_sparse_csr()
        for share, kind in ((0.0, "SparseMatrix"), (0.5, "Tensor")):
            model = GCNII(7, 3, in_dropout=share).double()
            graph = model._graph(data.x, data.edge_index, None)
            assert type(model.prepare(graph).x).__name__ == kind
            first, second = (model(data.x, data.edge_index) for _ in range(2))
            assert not torch.equal(first, second)


class TestDirGNN:
    @pytest.mark.parametrize("kind", ["gcn", "sage"])
    @pytest.mark.parametrize(("outgoing", "root"), [(0.5, True), (0.3, False), (1.0, False), (0.0, True)])
    def test_layer_equals_its_equation(self, data: Data, kind: str, outgoing: float, root: bool) -> None:
        settings = {"convolution": kind, "outgoing_weight": outgoing, "root_weight": root}
        ours = DirGNN(7, 3, num_layers=1, jumping_knowledge="none", **settings).double().eval()
        conv = ours.network.convs[0]
        P, R = reference.directed(dense_adjacency(data), kind)
        wanted = outgoing * (P @ data.x @ conv.conv_out.lin.weight.T + conv.conv_out.bias)
        wanted = wanted + (1 - outgoing) * (R @ data.x @ conv.conv_in.lin.weight.T + conv.conv_in.bias)
        wanted = wanted + conv.lin(data.x) if root else wanted
        torch.testing.assert_close(ours(data.x, data.edge_index), wanted)

    def test_sage_equals_pyg(self, data: Data) -> None:
        ours = DirGNN(7, 3, num_layers=1, jumping_knowledge="none", convolution="sage", outgoing_weight=0.3).double()
        conv = ours.eval().network.convs[0]
        theirs = DirGNNConv(SAGEConv(7, 3, root_weight=False), alpha=0.3).double()
        with torch.no_grad():
            for own, other in ((conv.conv_in, theirs.conv_in), (conv.conv_out, theirs.conv_out)):
                other.lin_l.weight.copy_(own.lin.weight)
                other.lin_l.bias.copy_(own.bias.uniform_())
            theirs.lin.load_state_dict(conv.lin.state_dict())
        torch.testing.assert_close(ours(data.x, data.edge_index), theirs(data.x, data.edge_index))

    @pytest.mark.parametrize("jump", ["max", "cat", "none"])
    def test_layers_are_joined(self, data: Data, jump: str) -> None:
        ours = DirGNN(7, 3, num_layers=3, hidden_channels=8, jumping_knowledge=jump, normalize=True).double().eval()
        network = ours.network
        inputs = ours.prepare(ours._graph(data.x, data.edge_index, None))
        x, outputs = data.x, []
        for conv in network.convs[: 2 if jump == "none" else 3]:
            x = F.normalize(torch.relu(conv(x, inputs.outgoing, inputs.incoming)), dim=1)
            outputs.append(x)
        if jump == "none":
            wanted = network.convs[2](x, inputs.outgoing, inputs.incoming)
        else:
            wanted = network.lin(torch.stack(outputs).amax(dim=0) if jump == "max" else torch.cat(outputs, dim=1))
        torch.testing.assert_close(ours(data.x, data.edge_index), wanted)

    def test_directions_are_kept_unless_stated_otherwise(self, data: Data) -> None:
        [config] = resolve(["dirgnn"], None, {}, "chameleon", None)
        assert config.graph.directed
        [other, config] = resolve(["gcn", "dirgnn"], None, {}, "chameleon", None)
        assert (other.graph.directed, config.graph.directed) == (False, True)
        [config] = resolve(["dirgnn"], None, {"directed": False}, "chameleon", None)
        assert not config.graph.directed
        data.x = data.x.float()
        model = DirGNN(7, 3).eval()
        scores = model(data.x, data.edge_index)
        torch.testing.assert_close(predict(model, data), scores.softmax(dim=1))
        assert not torch.allclose(model(data.x, data.edge_index.flip(0)), scores)


class TestSGFormer:
    @pytest.mark.parametrize("training", [False, True])
    @pytest.mark.parametrize(("heads", "aggregate"), [(1, "add"), (2, "cat")])
    def test_equals_pyg(self, data: Data, heads: int, aggregate: str, training: bool) -> None:
        settings = {"heads": heads, "aggregate": aggregate, "graph_weight": 0.7, "hidden_channels": 8}
        data.x = data.x.float()  # PyG's attention is for float32 alone
        ours = SGFormer(7, 3, num_attention_layers=2, dropout=0.0, attention_dropout=0.0, **settings)
        parts = {"trans_num_heads": heads, "gnn_num_layers": 2, "trans_dropout": 0.0, "gnn_dropout": 0.0}
        theirs = PyGSGFormer(7, 8, 3, graph_weight=0.7, aggregate=aggregate, **parts)
        theirs.load_state_dict(ours.network.state_dict())
        ours.train(training)
        theirs.train(training)
        batch = torch.zeros(data.num_nodes, dtype=torch.int64)
        found, wanted = ours(data.x, data.edge_index).log_softmax(dim=1), theirs(data.x, data.edge_index, batch)
        same_with_gradients(ours.network, found, theirs, wanted, atol=2e-5)


class TestPolynormer:
    @pytest.mark.parametrize("everywhere", [False, True])
    @pytest.mark.parametrize(("convolution", "heads"), [("gcn", 1), ("gat", 1), ("gat", 2)])
    def test_equals_pyg(self, data: Data, convolution: str, heads: int, everywhere: bool) -> None:
        """Given self-loops, which attention has here in any case. PyG's global part fits one head only."""
        settings = {"convolution": convolution, "heads": heads, "hidden_channels": 8, "beta": 0.6}
        ours = Polynormer(7, 3, num_layers=2, num_global_layers=2, **settings).double().eval()
        ours.on_epoch(51 if everywhere else 50)
        layers = {"local_layers": 2, "global_layers": 2, "heads": heads, "beta": 0.6, "qk_shared": True}
        theirs = PyGPolynormer(7, 8, 3, local_attn=convolution == "gat", **layers).double().eval()
        theirs.lin_in = torch.nn.Identity()
        theirs.global_attn = torch.nn.ModuleList(
            type(attention)(8 * heads, heads, 8, 0.6) for attention in theirs.global_attn
        ).double()
        theirs._global = everywhere
        theirs.eval().load_state_dict(ours.network.state_dict())
        edges, _ = add_remaining_self_loops(data.edge_index, num_nodes=data.num_nodes)
        batch = torch.zeros(data.num_nodes, dtype=torch.int64)
        found, wanted = ours(data.x, edges).log_softmax(dim=1), theirs(data.x, edges, batch)
        same_with_gradients(ours.network, found, theirs, wanted)

    def test_the_phase_follows_the_epochs_and_is_saved(self, data: Data, tmp_path) -> None:
        data.x = data.x.float()
        model = Polynormer(7, 3, local_epochs=3, hidden_channels=8)
        assert isinstance(model, FollowsEpochs)
        seen = []
        for epoch in range(1, 6):
            model.on_epoch(epoch)
            seen.append(model.everywhere)
        assert seen == [False, False, False, True, True]
        train(model, data, config=TrainingConfig(epochs=6, selection="last"))
        save_model(tmp_path / "model.safetensors", model)
        loaded = load_model(tmp_path)
        assert loaded.everywhere
        assert torch.equal(loaded(data.x, data.edge_index), model(data.x, data.edge_index))
        model.reset_parameters()
        assert not model.everywhere

    def test_the_best_epoch_brings_its_phase_back(self, data: Data) -> None:
        data.x = data.x.float()
        for seed in range(3):
            torch.manual_seed(seed)
            model = Polynormer(7, 3, local_epochs=15, hidden_channels=8)
            result = train(model, data, config=TrainingConfig(epochs=30, early_stopping="none", seed=seed))
            assert model.everywhere == (result.best.epoch > 15)

    def test_resumes_across_the_switch(self, data: Data, tmp_path) -> None:
        data.x = data.x.float()

        def trained(epochs: int, checkpoint: Checkpoint | None) -> Polynormer:
            torch.manual_seed(5)
            model = Polynormer(7, 3, local_epochs=4, hidden_channels=8)
            train(model, data, config=TrainingConfig(epochs=epochs, selection="last"), checkpoint=checkpoint)
            return model

        whole = trained(8, None)
        trained(6, Checkpoint(tmp_path / "c", interval=0.0, identity="one"))
        resumed = trained(8, Checkpoint(tmp_path / "c", interval=0.0, identity="one"))
        for name, value in whole.state_dict().items():
            assert torch.equal(value, resumed.state_dict()[name]), name
