"""Labels around a node: against counts one by one, and a node's own label in none of its columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from glognn.errors import InputError
from glognn.estimator import GloGNNClassifier
from glognn.experiments.folder import load_model, save_model
from glognn.explain.parts import Source
from glognn.explain.tree_paths import columns_read
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.graph.sparse import SparseMatrix
from glognn.models.configs.trees import TreesConfig, label_columns
from glognn.models.label_shares import label_shares
from glognn.models.trees import Trees
from glognn.training.config import TrainingConfig
from glognn.training.driver import train, train_batch
from glognn.training.new_nodes import predict_new_nodes
from glognn.training.predict import predict, predict_alike
from tests.conftest import make_data

CONFIG = TrainingConfig(epochs=20, early_stopping="none", selection="last", device="cpu", threads=1)
CLASSES = 3


def graph_of(directed: bool, **settings: str) -> Graph:
    """With loops, edges both ways, and nodes without any."""
    data = make_data(30, num_edges=70)
    data.edge_index = torch.cat([data.edge_index[:, :60], data.edge_index[:, :10].flip(0), torch.tensor([[3], [3]])], 1)
    return Graph.from_data(data, GraphConfig(directed=directed, **settings), dtype=torch.float64)


def ways_of(graph: Graph) -> list[SparseMatrix]:
    matrix = graph.adjacency.matrix
    return [matrix] if matrix.is_symmetric else [matrix, matrix.transpose]


def counted(ways: list[Tensor], known: list[int]) -> Tensor:
    """The columns by walking from every node."""
    labels = [label for label in known if label >= 0]
    prior = torch.tensor([labels.count(each) / len(labels) for each in range(CLASSES)], dtype=torch.float64)
    rows = []
    for node in range(len(known)):
        row: list[Tensor] = []
        for way in ways:
            first = [other for other in way[node].nonzero().view(-1).tolist() if other != node]
            second = [
                other
                for step in first
                for either in ways
                for other in either[step].nonzero().view(-1).tolist()
                if other not in (step, node)
            ]
            parts = []
            for reached, doubt in ((first, 1), (second, 5)):
                found = torch.tensor([[known[other] == each for each in range(CLASSES)] for other in reached])
                found = found.double().sum(0) if reached else torch.zeros(CLASSES, dtype=torch.float64)
                parts.append((found + doubt * prior) / (found.sum() + doubt))
            row += [torch.tensor([float(sum(known[other] >= 0 for other in first))]), *parts]
        rows.append(torch.cat(row))
    return torch.stack(rows)


@pytest.mark.parametrize("directed", [False, True])
def test_columns_are_those_of_walks(directed: bool) -> None:
    graph = graph_of(directed, self_loops="keep")
    assert bool(graph.adjacency.matrix.csr.to_dense().diagonal().any())
    known = torch.where(torch.arange(30) % 3 > 0, graph.y, -1)
    found = torch.cat(label_shares(ways_of(graph), known, CLASSES), 1)
    wanted = counted([way.csr.to_dense() for way in ways_of(graph)], known.tolist())
    torch.testing.assert_close(found, wanted)
    assert found.shape[1] == (1 + directed) * label_columns(CLASSES)


@pytest.mark.parametrize("directed", [False, True])
def test_a_nodes_own_label_is_in_none_of_its_columns(directed: bool) -> None:
    """But for the shares among all labels, which another label of one node changes for every node."""
    graph = graph_of(directed, self_loops="keep")
    known = graph.y.clone()
    others = [node for node in range(30) if node > 1]
    before = torch.cat(label_shares(ways_of(graph), known, CLASSES), 1)
    for node in others[:10]:
        partner = next(other for other in others if known[other] != known[node])
        near = (ways_of(graph)[0].csr.to_dense()[node] != 0) | (ways_of(graph)[-1].csr.to_dense()[node] != 0)
        far = (ways_of(graph)[0].csr.to_dense() + ways_of(graph)[-1].csr.to_dense())[near].sum(0) != 0
        if bool(near[partner] | far[partner]):
            continue
        changed = known.clone()
        changed[[node, partner]] = known[[partner, node]]  # the shares stay
        after = torch.cat(label_shares(ways_of(graph), changed, CLASSES), 1)
        assert torch.equal(after[node], before[node])
        assert bool(near.sum() == 0) or not torch.equal(after, before)


@pytest.mark.parametrize("directed", [False, True])
def test_a_new_node_that_repeats_one_without_label_gets_its_scores(directed: bool) -> None:
    graph = Graph.from_data(make_data(), GraphConfig(directed=directed))
    model = Trees.for_graph(graph, TreesConfig(neighbour_labels=True))
    train(model, graph, config=CONFIG)
    scores = model.logits(model.prepare(graph))
    rows, columns = graph.adjacency.matrix.entries()
    assert isinstance(graph.x, Tensor)
    unlabelled = (~graph.masks["train"][:, 0]).nonzero().view(-1).tolist()
    assert len(unlabelled) > 10
    for node in unlabelled:
        if bool((columns[rows == node] == node).any()):
            continue
        new = graph.num_nodes
        out = torch.stack([torch.full_like(columns[rows == node], new), columns[rows == node]])
        into = torch.stack([rows[columns == node], torch.full_like(rows[columns == node], new)])
        twin = predict_new_nodes(model, graph, Data(x=graph.x[[node]], edge_index=torch.cat([out, into], 1)))
        assert torch.equal(twin[0], scores[node]), node


def test_each_split_knows_its_own_training_labels_and_no_others() -> None:
    data = make_data(num_splits=3)
    graph = Graph.from_data(data)
    models = [Trees.for_graph(graph, TreesConfig(neighbour_labels=True)) for _ in range(3)]
    train_batch(models, graph, splits=[0, 1, 2], configs=3 * [CONFIG])
    for split, model in enumerate(models):
        training = graph.masks["train"][:, split]
        assert torch.equal(model.known.long(), torch.where(training, graph.y, -1))
        alone = Trees.for_graph(graph, TreesConfig(neighbour_labels=True))
        train(alone, graph, split=split, config=CONFIG)
        assert torch.equal(alone.logits(alone.prepare(graph)), model.logits(model.prepare(graph)))
    for model, together in zip(models, predict_alike(models, graph), strict=True):
        assert torch.equal(together, predict(model, graph))


def test_labels_of_neighbours_tell_what_features_do_not(tmp_path: Path) -> None:
    """Pairs of nodes of one class: the partner's label says it, and a saved model remembers that."""
    generator = torch.Generator().manual_seed(0)
    pairs = torch.arange(400).view(200, 2)
    y = torch.randint(2, (200,), generator=generator).repeat_interleave(2)
    training = torch.arange(400) % 2 == 0
    training[:100] = True
    data = Data(x=torch.rand(400, 3, generator=generator), edge_index=pairs.T, y=y)
    last = torch.arange(400) == 399
    data.train_mask, data.val_mask, data.test_mask = training, last, ~training & ~last
    right = {}
    for reads in (False, True):
        model = Trees(3, 2, 400, neighbour_labels=reads)
        train(model, data, config=CONFIG)
        graph = Graph.from_data(data, model.graph_config)
        scores = model.logits(model.prepare(graph))
        right[reads] = float((scores.argmax(1) == y)[~training].double().mean())
        save_model(tmp_path / f"{reads}.safetensors", model)
        loaded = load_model(tmp_path / f"{reads}.safetensors")
        assert torch.equal(loaded.logits(loaded.prepare(graph)), scores)
    assert right[True] == 1.0
    assert right[False] < 0.7


def test_a_model_that_knows_nodes_is_for_their_graph() -> None:
    with pytest.raises(InputError, match=r"'num_nodes' parameter of Trees must be given where labels of neighbours"):
        Trees(7, 3, neighbour_labels=True)
    model = Trees(7, 3, 60, neighbour_labels=True)
    with pytest.raises(InputError, match=r"number of nodes, 50. Got 60 instead"):
        model.prepare(Graph.from_data(make_data(50)))


def test_a_model_of_directed_edges_reads_a_graph_whose_edges_go_both_ways() -> None:
    """As labels of nodes that it points to, and as those of nodes pointing to it."""
    data = make_data()
    model = Trees(7, 3, 60, neighbour_labels=True)
    train(model, Graph.from_data(data, GraphConfig(directed=True)), config=CONFIG)
    both = Graph.from_data(data)
    shared = model.prepare(both)
    own, block = 7, shared.shape[1] - 7
    twice = torch.cat([shared, shared[:, own:]], 1)
    assert int(model.feature.max()) >= own + block
    assert torch.equal(model.logits(shared), model.logits(twice))


def test_the_classifier_reads_labels_of_neighbours(tmp_path: Path) -> None:
    fitted = GloGNNClassifier(model="trees", neighbour_labels=True, epochs=20, device="cpu", threads=1).fit(make_data())
    fitted.save(tmp_path)
    loaded = GloGNNClassifier.load(tmp_path)
    assert np.array_equal(loaded.predict_proba(), fitted.predict_proba())
    new = np.zeros((2, 7)), np.array([[60, 61], [3, 5]])
    assert np.array_equal(loaded.predict_proba(new[0], edges=new[1]), fitted.predict_proba(new[0], edges=new[1]))


@pytest.mark.parametrize("directed", [False, True])
def test_explanations_name_the_labels_and_add_up(directed: bool) -> None:
    graph = Graph.from_data(make_data(200, num_edges=500), GraphConfig(directed=directed))
    model = Trees.for_graph(graph, TreesConfig(neighbour_labels=True))
    train(model, graph, config=CONFIG)
    read = columns_read(model, graph, [f"column {number}" for number in range(7)])
    assert len({each.name for each in read}) == len(read) == model.prepare(graph).shape[1]
    assert read[-1].name.startswith("share of class 2 among labelled ")
    explained = [Source(model, graph).parts(node) for node in range(20)]
    for found in explained:
        total = sum(share.scores for share in found.inputs) + found.own["mean of the trees"]
        np.testing.assert_allclose(total, found.scores, atol=1e-5)
    assert any("labelled" in str(share.name) for found in explained for share in found.inputs)
