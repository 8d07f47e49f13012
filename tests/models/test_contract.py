"""What every registered model must do. A new model joins by being in the registry."""

from __future__ import annotations

import copy
import inspect
import itertools
from pathlib import Path
from typing import Any

import pytest
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from glognn.errors import InputError
from glognn.experiments.folder import load_model, save_model
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.models.base import BoostedModel, FollowsEpochs, NodeModel, SharesEncoding
from glognn.models.configs import MODELS, ModelConfig
from glognn.training.checkpoint import Checkpoint
from glognn.training.config import TrainingConfig
from glognn.training.driver import train
from tests.conftest import make_data

CONFIGS = [pytest.param(config, id=name) for name, config in MODELS.items()]
BY_GRADIENTS = [each for each in CONFIGS if not issubclass(each.values[0].model_class(), BoostedModel)]
NUM_NODES = 61  # differs from every other size, so that weights for each node can be told by their shape

WITHOUT_TIES = {"wrgat": {"num_similar": 2 * NUM_NODES}}
"""Settings with which the order of nodes decides nothing: all pairs are compared."""


@pytest.fixture
def data() -> Data:
    return make_data(NUM_NODES, num_features=7, num_classes=3)


def build(config: type[ModelConfig], **settings: object) -> NodeModel:
    torch.manual_seed(7)
    return config.model_class()(7, 3, NUM_NODES, **settings)


def logits(model: NodeModel, data: Data) -> Tensor:
    return model(data.x, data.edge_index)


@pytest.mark.parametrize("config", CONFIGS)
class TestEveryModel:
    def test_forward_gives_finite_scores_for_each_node_and_class(self, config: type[ModelConfig], data: Data) -> None:
        out = logits(build(config), data)
        assert out.shape == (NUM_NODES, 3)
        assert torch.isfinite(out).all()

    def test_signature_names_every_setting(self, config: type[ModelConfig], data: Data) -> None:
        model_class = config.model_class()
        parameters = inspect.signature(model_class).parameters
        assert set(config.names()) <= set(parameters)
        assert all(name in model_class.__doc__ for name in config.names())
        assert model_class.config_class is config

    def test_reset_is_reproducible(self, config: type[ModelConfig], data: Data) -> None:
        model = build(config)
        first = copy.deepcopy(model.state_dict())
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter)
        torch.manual_seed(7)
        model.reset_parameters()
        for name, value in model.state_dict().items():
            assert torch.equal(value, first[name]), name

    def test_permuting_the_nodes_permutes_the_scores(self, config: type[ModelConfig], data: Data) -> None:
        model = build(config, **WITHOUT_TIES.get(config.name, {})).double().eval()
        data.x = data.x.double()
        order = torch.randperm(NUM_NODES)
        position = torch.empty_like(order)
        position[order] = torch.arange(NUM_NODES)
        permuted = Data(x=data.x[order], edge_index=position[data.edge_index])
        other = copy.deepcopy(model)
        with torch.no_grad():
            for parameter in other.parameters():
                if parameter.shape[0] == NUM_NODES:  # weights for each node move with the nodes
                    parameter.copy_(parameter[order].clone())
        torch.testing.assert_close(logits(other, permuted), logits(model, data)[order])

    def test_state_survives_a_round_trip(self, config: type[ModelConfig], data: Data, tmp_path) -> None:
        model = build(config).eval()
        save_model(tmp_path / "model.safetensors", model)
        torch.manual_seed(99)
        loaded = load_model(tmp_path)
        assert type(loaded) is type(model)
        assert loaded.config == model.config
        assert torch.equal(logits(loaded, data), logits(model, data))

    def test_forward_equals_prepared_and_encoded_paths(self, config: type[ModelConfig], data: Data) -> None:
        model = build(config).eval()
        graph = Graph.from_data(data, GraphConfig(directed=True))
        inputs = model.prepare(graph)
        torch.testing.assert_close(model.logits(inputs), logits(model, data))
        if isinstance(model, SharesEncoding):
            model.train()
            first, second = model.encode(inputs), model.encode(inputs)
            assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
            model.eval()
            assert torch.equal(model.decode(first, inputs), model.logits(inputs))

    def test_sparse_features_equal_dense_ones(self, config: type[ModelConfig], data: Data) -> None:
        model = build(config).eval()
        data.x = data.x * (torch.rand_like(data.x) < 0.4)
        dense = logits(model, data)
        data.x = data.x.to_sparse_csr()
        torch.testing.assert_close(logits(model, data), dense)

    @pytest.mark.parametrize("sparse", [False, True])
    def test_what_is_made_of_edges_and_sparse_features_is_kept(
        self, config: type[ModelConfig], data: Data, sparse: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A second call converts nothing, also with other dense features; other edges are converted."""
        made = []
        create = sp.csr_array.__init__

        def counted(self: sp.csr_array, *given: Any, **settings: Any) -> None:
            made.append(self)
            create(self, *given, **settings)

        monkeypatch.setattr(sp.csr_array, "__init__", counted)
        x = (data.x * (torch.rand_like(data.x) < 0.4)).to_sparse_csr() if sparse else data.x
        model = build(config)
        model(x, data.edge_index)
        made.clear()
        model(x if sparse else x + 1, data.edge_index)
        assert not made
        model(x, data.edge_index.flip(0))
        assert made

    def test_learns_its_training_nodes(self, config: type[ModelConfig], data: Data) -> None:
        model = build(config, **{name: 0.0 for name in config.names() if name == "dropout"})
        result = train(model, data, config=TrainingConfig(epochs=200, early_stopping="none", selection="last"))
        assert result.last.train > 0.9

    def test_the_seed_decides_training_and_an_interruption_does_not(
        self, config: type[ModelConfig], data: Data, tmp_path: Path
    ) -> None:
        def trained(epochs: int, checkpoint: Checkpoint | None = None) -> Tensor:
            model = build(config)
            train(model, data, config=TrainingConfig(epochs=epochs, threads=1), checkpoint=checkpoint)
            return logits(model, data)

        def checkpoint() -> Checkpoint:
            return Checkpoint(tmp_path / "latest", interval=0.0, identity="one")

        wanted = trained(6)
        assert torch.equal(trained(6), wanted)
        trained(4, checkpoint())
        assert torch.equal(trained(6, checkpoint()), wanted)

    @pytest.mark.parametrize("directed", [True, False])
    def test_trains_on_a_graph_of_either_kind(self, config: type[ModelConfig], data: Data, directed: bool) -> None:
        graph = Graph.from_data(data, GraphConfig(directed=directed))
        model = config.model_class().for_graph(graph, config())
        result = train(model, graph, config=TrainingConfig(epochs=3))
        assert torch.isfinite(model.logits(model.prepare(graph))).all()
        assert 0 <= result.best.test <= 1

    def test_trains_without_edges_and_with_one_feature(self, config: type[ModelConfig], data: Data) -> None:
        data.edge_index, data.x = torch.empty(2, 0, dtype=torch.int64), data.x[:, :1]
        torch.manual_seed(7)
        model = config.model_class()(1, 3, NUM_NODES)
        train(model, data, config=TrainingConfig(epochs=3))
        assert torch.isfinite(logits(model, data)).all()

    def test_copies(self, config: type[ModelConfig], data: Data) -> None:
        model = build(config).eval()
        wanted = logits(model, data)
        assert torch.equal(logits(copy.deepcopy(model), data), wanted)

    def test_another_number_of_features_is_refused(self, config: type[ModelConfig], data: Data) -> None:
        data.x = torch.rand(NUM_NODES, 9)
        with pytest.raises(InputError, match="'in_channels' parameter of .* number of features, 9. Got 7"):
            logits(build(config), data)

    def test_wrong_sizes_and_settings(self, config: type[ModelConfig], data: Data) -> None:
        with pytest.raises(InputError, match="'out_channels'"):
            config.model_class()(7, 0, NUM_NODES)
        with pytest.raises(InputError, match="'in_channels'"):
            config.model_class()(-1, 3, NUM_NODES)
        with pytest.raises(InputError, match=rf"{config.title.replace('+', '[+]')} has no setting 'depth'"):
            config.model_class()(7, 3, NUM_NODES, depth=3)

    @pytest.mark.gpu
    def test_trains_on_gpu(self, config: type[ModelConfig], data: Data) -> None:
        settings = TrainingConfig(epochs=200, early_stopping="none", selection="last", device="cuda")
        model = build(config, **{name: 0.1 for name in config.names() if name == "dropout"})
        assert train(model, data, config=settings).last.train > 0.8


@pytest.mark.parametrize("config", BY_GRADIENTS)
class TestEveryModelThatLearnsByGradients:
    def test_every_parameter_gets_a_gradient(self, config: type[ModelConfig], data: Data) -> None:
        """A bias before batch normalisation has one in evaluation alone."""
        model = build(config)
        phases = (1, 10**6) if isinstance(model, FollowsEpochs) else (1,)  # the first and the last
        for epoch, training in itertools.product(phases, (True, False)):
            if isinstance(model, FollowsEpochs):
                model.on_epoch(epoch)
            model.train(training)
            torch.nn.functional.cross_entropy(logits(model, data), data.y).backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            assert torch.isfinite(parameter.grad).all(), name
            assert parameter.grad.abs().sum() > 0, name

    def test_gradients_reach_dense_features(self, config: type[ModelConfig], data: Data) -> None:
        data.x.requires_grad_()
        logits(build(config), data).sum().backward()
        assert data.x.grad.abs().sum() > 0

    @pytest.mark.gpu
    def test_gpu_equals_cpu(self, config: type[ModelConfig], data: Data) -> None:
        model = build(config).double().eval()
        data.x = data.x.double()
        wanted = logits(model, data)
        wanted.sum().backward()
        gradients = [None if each.grad is None else each.grad.clone() for each in model.parameters()]
        model.zero_grad()
        found = logits(model.cuda(), data.cuda())
        torch.testing.assert_close(found.cpu(), wanted)
        found.sum().backward()
        for parameter, gradient in zip(model.parameters(), gradients, strict=True):
            assert (parameter.grad is None) == (gradient is None)  # of a part that joins in a later epoch
            if gradient is not None:
                torch.testing.assert_close(parameter.grad.cpu(), gradient)
