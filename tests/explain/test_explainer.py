"""Explanations of any model: complete, said how, verified by running the model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from torch_geometric.explain import Explainer

import glognn
from glognn.errors import InputError
from glognn.explain.explainer import Member, NodeExplainer
from glognn.explain.explainer import explain_model as explain
from glognn.explain.explanation import Names
from glognn.explain.gradients import IntegratedGradients, OnGraph
from glognn.explain.parts import Source, weighted
from glognn.explain.presence import Presence
from glognn.explain.pyg import GlobalExplainer
from glognn.explain.removal import without_edges, without_nodes
from glognn.graph.graph import Graph
from glognn.models.gcn import GCN
from glognn.models.glognn import GloGNN, GloGNNPlusPlus
from glognn.models.glognn2 import GloGNN2
from glognn.models.trees import Trees
from glognn.report import explanation as pictures
from glognn.report import figures
from glognn.report.explanation import headline, how, node_table
from glognn.training.config import TrainingConfig
from glognn.training.driver import train
from glognn.training.predict import predict
from tests.conftest import make_data

TASK = {"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"}


@pytest.fixture(scope="module")
def trained() -> GloGNNPlusPlus:
    torch.manual_seed(0)
    model = GloGNNPlusPlus(7, 3, 60)
    train(model, make_data(), config=TrainingConfig(epochs=40))
    return model


def test_an_explanation_adds_up_and_is_plain_data(trained: GloGNNPlusPlus) -> None:
    data = make_data()
    names = Names([f"u{number}" for number in range(60)], ["red", "green", "blue"])
    columns = [f"column {number}" for number in range(7)]
    [found] = glognn.explain(trained, data, 4, top=5, by="contribution", names=names, features=columns)
    assert found.method == "coefficients"
    assert found.prediction == int(predict(trained, data)[4].argmax())
    assert len(found.supporters) == len(found.opponents) == 5
    margins = [share.margin for share in found.supporters]
    assert margins == sorted(margins, reverse=True)
    assert min(margins) > 0 > max(share.margin for share in found.opponents)
    assert np.abs(found.gap).max() < 1e-5
    assert {share.name for share in found.inputs if share.input == "features"} == set(columns)
    told = json.loads(json.dumps(found.as_dict()))
    assert told["node"] == "u4"
    assert set(told["probabilities"]) == {"red", "green", "blue"}
    assert told["supporters"][0]["node"].startswith("u")
    parts = [*told["supporters"], *told["opponents"]]
    total = sum(each["scores"]["red"] for each in parts) + told["other_nodes"]["red"]
    total += sum(each["red"] for each in told["own"].values())
    assert total == pytest.approx(told["scores"]["red"], abs=1e-5)
    assert sum(way["scores"]["red"] for way in told["ways"]) == pytest.approx(
        told["scores"]["red"] - told["own"]["initial embedding"]["red"], abs=1e-5
    )


def test_facts_about_other_nodes(trained: GloGNNPlusPlus) -> None:
    data = make_data()
    graph = Graph.from_data(data)
    [found] = explain(trained, graph, 4, top=60)
    plain = nx.Graph(graph.adjacency.matrix.to_scipy())
    plain.remove_edges_from(nx.selfloop_edges(plain))
    lengths = nx.single_source_shortest_path_length(plain, 4)
    assert 4 not in {share.node for share in found.listed}
    assert {share.node for share in found.listed} >= set(plain[4])
    for share in found.listed:
        assert share.hops == lengths.get(share.node)
        assert share.shared_neighbours == len(set(plain[4]) & set(plain[share.node]))
        cosine = torch.nn.functional.cosine_similarity(data.x[4], data.x[share.node], dim=0)
        assert share.similarity == pytest.approx(float(cosine), abs=1e-6)
        assert share.label == int(data.y[share.node])
    [found] = explain(trained, graph, 4, top=60, by="contribution")
    assert {share.node for share in found.listed} == set(range(60))
    np.testing.assert_allclose(found.others, 0, atol=1e-12)


def test_a_threshold_is_told_with_the_prediction_that_it_makes() -> None:
    data = make_data()
    data.y = data.y.clamp(max=1)
    graph, probabilities = Graph.from_data(data), np.tile([0.7, 0.3], (60, 1))
    source = Source(GloGNNPlusPlus(7, 2, 60), graph)
    names = Names(None, ["genuine", "sybil"])
    cut = NodeExplainer([Member("glognn++", source)], names, probabilities, 0.25, 1).explain(4)
    assert cut.as_dict()["prediction"] == "sybil"
    assert cut.as_dict()["threshold"] == {"class": "sybil", "probability": 0.25}
    assert "sybil (genuine 70.0 %, sybil 30.0 %; sybil is predicted from 25.0 % on)" in headline(cut)
    plain = NodeExplainer([Member("glognn++", source)], names, probabilities).explain(4)
    assert plain.as_dict()["threshold"] is None
    assert "genuine (genuine 70.0 %, sybil 30.0 %)" in headline(plain)


@pytest.mark.parametrize("id_length", [4, 36, 300])
def test_a_picture_names_class_and_distance_of_every_node_and_cuts_nothing(
    trained: GloGNNPlusPlus, id_length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Figure] = []

    def keep(path: Path, _: object) -> None:
        drawn[0].canvas.draw()

    def new_figure(width: float, height: float) -> Figure:
        drawn.append(figures.new_figure(width, height))
        return drawn[0]

    monkeypatch.setattr(pictures, "new_figure", new_figure)
    monkeypatch.setattr(figures, "write_atomically", keep)
    ids = [f"{number:04d}".ljust(id_length, "x") for number in range(60)]
    names = Names(ids, ["red", "green", "a very long name of a class"])
    graph = Graph.from_data(make_data())
    found = NodeExplainer([Member("glognn++", Source(trained, graph))], names).explain(4, top=3)
    pictures.plot_explanation(replace(found, inputs_to="scores or initial embedding"), tmp_path / "p.png")
    (left, lower), (right, upper) = drawn[0].get_tightbbox().get_points()
    width, height = drawn[0].get_size_inches()
    assert min(left, lower, width - right, height - upper) > -0.02
    told = [label.get_text() for label in drawn[0].axes[0].get_yticklabels()][: len(found.listed)]
    assert all(text.endswith(("hop)", "hops)", "no path)")) for text in told)
    assert {text[:4] for text in told} == {f"{share.node:04d}" for share in found.listed}


def test_by_coefficient(trained: GloGNNPlusPlus) -> None:
    data = make_data()
    [found] = explain(trained, data, 4, by="coefficient", top=3)
    row = glognn.coefficient_rows(trained, data, [4])[0]
    assert [share.node for share in found.supporters] == row.topk(3).indices.tolist()
    assert found.opponents[0].coefficient == pytest.approx(float(row.min()))


def test_models_without_coefficients_are_explained_by_gradients() -> None:
    data = make_data()
    model = GCN(7, 3, dropout=0.5)
    train(model, data, config=TrainingConfig(epochs=15))
    [found] = explain(model, data, 4)
    assert found.method == "gradients"
    assert found.coefficients is None
    assert np.abs(found.gap).max() < 0.05 * np.abs(found.scores - found.own["without any features"]).max()
    with pytest.raises(InputError, match="explained by gradients has no coefficients: use 'contribution'"):
        explain(model, data, 4, by="coefficient")


@pytest.mark.parametrize("num_blocks", [0, 2])
def test_a_model_without_the_layer_is_told_by_its_encoder(num_blocks: int) -> None:
    """Parts add up to the scores; silencing what is far from the node, beyond its blocks, changes no part."""
    data = make_data()
    settings = {
        "reads": "features link neighbours_out neighbours_in degrees",
        "num_layers": 0,
        "num_blocks": num_blocks,
    }
    model = GloGNN2(7, 3, 60, hidden_channels=16, **settings)
    train(model, data, config=TrainingConfig(epochs=15))
    graph = Graph.from_data(data, model.graph_config)
    [found] = explain(model, graph, 4)
    assert found.method == "encoder"
    change = np.abs(found.scores - found.own["without any inputs"]).max()
    assert np.abs(found.gap).max() < (1e-9 if num_blocks == 0 else 1e-2) * change
    with torch.no_grad():
        np.testing.assert_allclose(found.scores, model.logits(model.prepare(graph))[4], atol=1e-5)
    assert found.by_node is not None
    plain = nx.Graph(graph.adjacency.matrix.to_scipy())
    near = nx.single_source_shortest_path_length(plain, 4, cutoff=max(1, num_blocks))
    assert set(np.flatnonzero(np.abs(found.by_node).max(axis=1))) <= set(near)


def test_what_parts_miss_is_told_where_it_is_more_than_rounding() -> None:
    data = make_data()
    model = GloGNN2(7, 3, 60, hidden_channels=16)
    [found] = explain(model, Graph.from_data(data, model.graph_config), 4)
    missed = 0.02 * np.abs(found.scores).max()
    rows = [
        [str(row.cells[0].text) for row in node_table(replace(found, gap=gap)).rows]
        for gap in (found.gap, found.gap + missed)
    ]
    assert "missed by so few points" not in rows[0]
    assert rows[1][-2:] == ["missed by so few points", "the score"]


def test_losses_are_what_the_model_loses() -> None:
    """To first order: a node that is a little less present lowers the score by its loss; of a feature without edges
    and hops, that is what is lost without it."""
    data = make_data()
    for model in (GloGNNPlusPlus(7, 3, 60, alpha=0.4), GloGNN2(7, 3, 60, num_blocks=1, hidden_channels=16)):
        train(model, data, config=TrainingConfig(epochs=15))
        model = model.double().eval()
        graph = Graph.from_data(data, model.graph_config, dtype=torch.float64)
        presence = Presence(model, graph)
        found = presence.losses(4, 1, 0)
        ones = torch.ones(60, 1, dtype=torch.float64)
        torch.testing.assert_close(presence.scores(ones), model.logits(model.prepare(graph)))
        for node in (0, 7, 33):
            ahead, behind = ones.clone(), ones.clone()
            ahead[node] += 1e-5
            behind[node] -= 1e-5
            with torch.no_grad():
                slope = (presence.scores(ahead)[4] - presence.scores(behind)[4]) / 2e-5
            assert float(found[node]) == pytest.approx(float(slope[1] - slope[0]), rel=1e-4, abs=1e-8)


def test_without_the_first_supporters_the_score_falls_further_than_without_others(trained: GloGNNPlusPlus) -> None:
    graph = Graph.from_data(make_data())
    explainer = NodeExplainer([Member("glognn++", Source(trained, graph))])
    falls = {"supporters": 0.0, "opponents": 0.0}
    for node in range(0, 60, 6):
        found = explainer.explain(node, top=5)
        before = explainer.probabilities[node, found.prediction]
        for name in falls:
            without = without_nodes(graph, [each.node for each in getattr(found, name)])
            falls[name] += before - float(predict(trained, without)[node, found.prediction])
    assert falls["supporters"] > 0 > falls["opponents"]


def test_trees_are_explained_by_their_paths() -> None:
    data = make_data(200, num_edges=500)
    for settings in ({}, {"mean_hops": 1}):
        model = Trees(7, 3, **settings)
        train(model, data, config=TrainingConfig(epochs=10))
        [found] = explain(model, data, 4, changes=["nodes"])
        assert found.method == "tree paths"
        assert found.listed == []
        assert "listed" not in how(found)
        total = sum(share.scores for share in found.inputs) + found.own["mean of the trees"]
        np.testing.assert_allclose(total, found.scores, atol=1e-5)
        assert "feature 0" in {share.name for share in found.inputs}
        assert found.changes[0].kind == "nodes"


def test_names_of_the_columns_of_trees() -> None:
    from glognn.explain.tree_paths import columns_read

    for directed in (False, True):
        graph = Graph.from_data(make_data(), glognn.GraphConfig(directed=directed))
        model = Trees(7, 3)
        names = [each.name for each in columns_read(model, graph, [f"column {number}" for number in range(7)])]
        assert len(names) == len(set(names)) == model.prepare(graph).shape[1]


def test_an_ensemble_is_the_weighted_sum_of_its_members(trained: GloGNNPlusPlus) -> None:
    graph = Graph.from_data(make_data())
    other = GCN(7, 3)
    sources = [Source(trained, graph), Source(other, graph)]
    parts = [source.parts(4) for source in sources]
    total = weighted(parts, [0.75, 0.25])
    np.testing.assert_allclose(total.scores, 0.75 * parts[0].scores + 0.25 * parts[1].scores)
    np.testing.assert_allclose(total.by_node, 0.75 * parts[0].by_node + 0.25 * parts[1].by_node)
    np.testing.assert_allclose(total.coefficients, parts[0].coefficients)
    members = [Member(name, source, weight) for name, source, weight in zip("ab", sources, [0.75, 0.25], strict=True)]
    probabilities = np.full((60, 3), 1 / 3)
    found = NodeExplainer(members, probabilities=probabilities).explain(4)
    assert found.method == "weighted sum of 2 models by coefficients and gradients"
    assert found.model == "a, b"


@pytest.mark.parametrize("kind", ["nodes", "edges"])
def test_what_would_change_it_does(kind: str) -> None:
    """Running the model without what was named gives the class and the probabilities that were told."""
    graph = Graph.from_data(make_data())
    trained = GloGNNPlusPlus(7, 3, 60, alpha=1.0, gamma=0.1)
    train(trained, graph, config=TrainingConfig(epochs=30))
    without = without_nodes if kind == "nodes" else without_edges
    flipped = 0
    for node in range(0, 60, 6):
        [found] = explain(trained, graph, node, changes=[kind])
        [change] = found.changes
        again = predict(trained, without(graph, change.removed))[node]
        assert change.probabilities == pytest.approx(again.tolist(), abs=1e-6)
        assert change.flipped == (int(again.argmax()) != found.prediction) == (change.prediction != found.prediction)
        assert node not in change.removed
        if kind == "nodes" and change.flipped:  # no one of them is there for nothing
            for each in change.removed:
                fewer = predict(trained, without(graph, [other for other in change.removed if other != each]))[node]
                assert int(fewer.argmax()) == found.prediction
        flipped += change.flipped
    assert flipped


def test_silenced_nodes_and_cut_edges() -> None:
    graph = Graph.from_data(make_data())
    rest = without_nodes(graph, [3, 8])
    matrix = rest.adjacency.matrix.csr.to_dense()
    assert not matrix[[3, 8]].any()
    assert not matrix[:, [3, 8]].any()
    assert not rest.x[[3, 8]].any()
    keep = [node for node in range(60) if node not in (3, 8)]
    assert torch.equal(matrix[keep][:, keep], graph.adjacency.matrix.csr.to_dense()[keep][:, keep])
    assert torch.equal(rest.x[keep], graph.x[keep])
    first, second = (int(each) for each in graph.adjacency.matrix.csr.to_dense().triu(1).nonzero()[0])
    cut = without_edges(graph, [(first, second)]).adjacency.matrix
    assert cut.nnz == graph.adjacency.matrix.nnz - 2
    assert cut.is_symmetric


def test_pytorch_geometric_explainer(trained: GloGNNPlusPlus) -> None:
    graph = Graph.from_data(make_data())
    model = OnGraph(trained, graph)
    edges = torch.stack(graph.adjacency.matrix.entries())
    explainer = Explainer(
        model, GlobalExplainer(), explanation_type="model", node_mask_type="object", model_config=TASK
    )
    found = explainer(model.features(), edges, index=4)
    assert found.validate()
    scores = found.prediction[4].double()
    torch.testing.assert_close(found.contributions.sum(0) + found.own, scores, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(found.node_mask[:, 0], found.contributions[:, int(scores.argmax())])
    plain = Explainer(trained, GlobalExplainer(), explanation_type="model", node_mask_type="object", model_config=TASK)
    torch.testing.assert_close(plain(graph.x, edges, index=4).node_mask, found.node_mask, rtol=1e-4, atol=1e-5)
    with pytest.raises(InputError, match="One node is explained at a time"):
        explainer(model.features(), edges)
    with pytest.raises(InputError, match="GlobalExplainer is for GloGNN, GloGNN\\+\\+ and GloGNN2. Got GCN"):
        Explainer(GCN(7, 3), GlobalExplainer(), explanation_type="model", node_mask_type="object", model_config=TASK)(
            graph.x, edges, index=4
        )


@pytest.mark.parametrize("mask", ["object", "attributes"])
def test_integrated_gradients_add_up(mask: str) -> None:
    graph = Graph.from_data(make_data(), dtype=torch.float64)
    model = OnGraph(GCN(7, 3).double(), graph)
    explainer = Explainer(
        model, IntegratedGradients(256), explanation_type="model", node_mask_type=mask, model_config=TASK
    )
    x = model.features()
    found = explainer(x, torch.stack(graph.adjacency.matrix.entries()), index=4)
    assert found.node_mask.shape == (60, 1 if mask == "object" else 7)
    column = int(found.prediction[4].argmax())
    wanted = found.prediction[4, column] - model(torch.zeros_like(x))[4, column]
    assert float(found.node_mask.sum()) == pytest.approx(wanted.item(), rel=1e-2)


def test_what_is_refused(trained: GloGNN) -> None:
    data = make_data()
    with pytest.raises(InputError, match=r"nodes must be in the range \[0, 59\]. Got 60"):
        explain(trained, data, [60])
    with pytest.raises(InputError, match="'by' parameter of explain must be one of .* Got 'luck'"):
        explain(trained, data, 0, by="luck")
    with pytest.raises(InputError, match="'changes' parameter of explain must be of .* Got 'labels'"):
        explain(trained, data, 0, changes=["labels"])
    with pytest.raises(InputError, match="features must name 7 columns. Got 1"):
        explain(trained, data, 0, features=["a"])
