"""Label errors, duplicates, drift and the model as a whole, on graphs where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from glognn.errors import InputError
from glognn.explain.contributions import GlobalContributions
from glognn.explain.drift import find_drift
from glognn.explain.duplicates import find_duplicates
from glognn.explain.label_errors import Judged, Suspect, choose_rule, find_suspects, judge_labels, label_votes
from glognn.explain.whole_model import class_matrix, far_nodes
from glognn.graph.graph import Graph
from glognn.models.configs import find_model
from glognn.models.glognn import GloGNNPlusPlus
from glognn.training.config import TrainingConfig
from tests.conftest import make_data


def test_wrong_labels_are_found_by_models_that_did_not_see_them() -> None:
    data = make_data(90, num_edges=150)
    data.x[:, :3] = 3 * torch.nn.functional.one_hot(data.y).float()
    wrong = [3, 17, 44, 60]
    data.y[wrong] = (data.y[wrong] + 1) % 3
    graph = Graph.from_data(data)
    judged = judge_labels(graph, find_model("glognn++")(alpha=0.0), TrainingConfig(epochs=40))
    assert judged.folds == 15
    assert np.isfinite(judged.probabilities).all()
    rule = choose_rule(judged, graph.y.numpy())
    suspects = find_suspects(graph, judged, rule)
    assert {each.node for each in suspects[:4]} == set(wrong)
    first = suspects[0]
    assert first.suggestion == (first.label - 1) % 3
    assert first.suspicion == max(each.suspicion for each in suspects)
    told = first.reasons(["red", "green", "blue"])
    assert told[0].startswith("models that did not see the label give")
    with pytest.raises(InputError, match="at least 3 folds. Got 2"):
        judge_labels(graph, find_model("glognn++")(), TrainingConfig(), folds=2)


def test_the_rule_that_finds_replaced_labels_is_taken() -> None:
    """Votes that say the truth count where probabilities say nothing; labels nobody judged stay out."""
    generator = np.random.default_rng(0)
    y = generator.integers(0, 3, 400)
    votes = np.eye(3)[y] * 2 - 1
    noise = generator.dirichlet(np.ones(3) * 50, 400)
    noise[5] = np.nan
    rule = choose_rule(Judged(noise, noise, votes, 5), y)
    assert rule.votes > 0
    assert rule.precision > choose_rule(Judged(noise, noise, None, 5), y).precision
    assert choose_rule(Judged(noise, noise, None, 5), y).votes == 0


def test_votes_are_rows_of_coefficients_added_up_by_label() -> None:
    graph = Graph.from_data(make_data(), dtype=torch.float64)
    found = GlobalContributions(GloGNNPlusPlus(7, 3, 60).double(), graph)
    known = torch.rand(60) < 0.5
    Z = found.layer(2).combined(torch.eye(60, dtype=torch.float64)).detach()
    wanted = Z @ (torch.nn.functional.one_hot(graph.y, 3).double() * known.unsqueeze(1))
    wanted = wanted / wanted.abs().amax(dim=1, keepdim=True)
    np.testing.assert_allclose(label_votes(found, known), wanted.numpy(), atol=1e-12)


def test_classes_that_speak_for_classes() -> None:
    graph = Graph.from_data(make_data(), dtype=torch.float64)
    found = GlobalContributions(GloGNNPlusPlus(7, 3, 60).double(), graph)
    Z, y = found.layer(2).combined(torch.eye(60, dtype=torch.float64)).detach(), graph.y
    matrix = class_matrix(found)
    parts = torch.stack([found.of(node).by_node for node in range(60)])
    for a in range(3):
        for b in range(3):
            assert matrix.coefficients[a, b] == pytest.approx(float(Z[y == a][:, y == b].mean()))
            added = parts[y == a][:, y == b].sum(dim=1).mean(dim=0)
            others = (added.sum() - added[a]) / 2
            assert matrix.margins[a, b] == pytest.approx(float(added[a] - others))
    assert matrix.nodes == torch.bincount(y).tolist()


def test_nodes_decided_by_far_ones() -> None:
    torch.manual_seed(1)
    graph = Graph.from_data(make_data(), dtype=torch.float64)
    found = GlobalContributions(GloGNNPlusPlus(7, 3, 60, beta1=0.01, beta2=0.01, gamma=0.05).double(), graph)
    far = far_nodes(found, near=1)
    links = graph.adjacency.matrix.csr.to_dense() != 0
    wanted = set()
    for node in range(60):
        parts = found.of(node)
        away = ~links[node]
        away[node] = False
        rest = parts.scores - parts.by_node[away].sum(dim=0)
        if int(rest.argmax()) != int(parts.scores.argmax()):
            wanted.add(node)
    assert set(far.nodes) == wanted
    assert far.looked_at == 60
    assert far.margins == sorted(far.margins, reverse=True)


def test_duplicates_between_train_and_test() -> None:
    data = make_data(80, num_edges=400, isolated=0)
    graph = Graph.from_data(data)
    assert find_duplicates(graph) == []
    twin, node = (int(data[f"{name}_mask"][:, 0].nonzero()[0]) for name in ("train", "test"))
    edges = data.edge_index
    edges = edges[:, (edges[0] != node) & (edges[1] != node)]
    copied = torch.cat([edges[:, edges[0] == twin], edges[:, edges[1] == twin].flip(0)], dim=1)
    copied = copied[:, copied[1] != twin]
    copied[0] = node
    data.edge_index = torch.cat([edges, copied], dim=1)
    data.x[node] = data.x[twin]
    data.y[node] = data.y[twin]
    [found] = find_duplicates(Graph.from_data(data))
    assert (found.node, found.twin, found.same_label) == (node, twin, True)
    assert found.features == 1
    assert found.links is not None
    assert found.links >= 0.9


def test_drift() -> None:
    generator = np.random.default_rng(0)
    known, new = generator.normal(size=(2000, 3)), generator.normal(size=(300, 3))
    new[:, 1] += 1
    found = find_drift(["a", "b", "c"], known, new)
    assert found[0].column == "b"
    assert [each.column for each in found if each.drifted] == ["b"]
    assert found[0].new - found[0].known == pytest.approx(1, abs=0.2)


def test_reasons_leave_out_what_says_nothing() -> None:
    def last(neighbours: tuple[int, int, int]) -> str:
        return Suspect(0, 0, 1, 0.9, 0.8, 0.1, None, neighbours).reasons(["ok", "fraud"])[-1]

    assert last((5, 1, 3)) == "of 5 labelled neighbours 3 are fraud and 1 is ok"
    assert last((1, 0, 1)) == "of 1 labelled neighbour 1 is fraud"
    assert last((2, 0, 0)).startswith("models that did not see the label")
