"""What a paragraph about a graph says, by what a look at it shows."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from glognn.experiments.advice import GraphFacts, describe
from glognn.experiments.members import look
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from tests.conftest import make_data

FACTS = GraphFacts(
    num_nodes=1000,
    num_entries=5000,
    num_isolated=0,
    largest_degree=40,
    num_features=7,
    sparse_features=False,
    class_sizes=(300, 200),
    adjusted_homophily=0.8,
    label_informativeness=0.5,
    one_way=False,
)


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ({}, "mostly of one class (adjusted homophily 0.80)"),
        ({"adjusted_homophily": 0.05}, "Linked nodes differ (adjusted homophily 0.05)"),
        ({"adjusted_homophily": 0.01, "label_informativeness": 0.01}, "tells little of a node's"),
        ({"adjusted_homophily": None, "label_informativeness": None}, "Too few linked nodes have labels"),
        ({"num_features": 0}, "Without features"),
        ({"one_way": True}, "Edges go one way"),
        ({"class_sizes": (300, 3)}, "With so few labels"),
    ],
)
def test_the_paragraph_says_what_was_seen(seen: dict[str, object], said: str) -> None:
    text = describe(replace(FACTS, **seen))
    assert said in text
    assert text.startswith("1,000 nodes with 5.0 links each on average (at most 40)")


def test_a_look_counts_labels_that_train_alone() -> None:
    data = make_data(num_splits=1)
    graph = Graph.from_data(data, GraphConfig(directed=True))
    seen, all_labels = look(graph, 0, folds=False), look(graph, 0, folds=True)
    assert sum(seen.class_sizes) == int(data.train_mask.sum())
    assert sum(all_labels.class_sizes) == 60
    assert seen.one_way
    hidden = data.clone()
    hidden.y = torch.where(data.train_mask[:, 0], data.y, (data.y + 1) % 3)
    assert look(Graph.from_data(hidden, GraphConfig(directed=True)), 0, folds=False) == seen
    both_ways = look(Graph.from_data(data), 0, folds=False)
    assert both_ways.num_entries > seen.num_entries
