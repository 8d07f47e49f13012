"""What is said of a graph, in a paragraph and as advice, by what a look at it shows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from glognn.experiments.advice import GraphFacts, advise, describe, look
from glognn.experiments.config import resolve
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.graph.homophily import Kinship
from tests.conftest import make_data

ALIKE = Kinship(2000, 0.8, 0.02, 0.5, 0.03)
TELLING = replace(ALIKE, adjusted=-0.1, informativeness=0.4)
SILENT = replace(ALIKE, adjusted=0.13, informativeness=0.02)  # of 2,000 edges nine in ten may be of one class
UNCLEAR = replace(ALIKE, adjusted=0.45, adjusted_error=0.1)
FEW = replace(ALIKE, edges=30)
NONE = Kinship(0, *[math.nan] * 4)
FACTS = GraphFacts(
    num_nodes=1000,
    num_entries=5000,
    num_isolated=0,
    largest_degree=40,
    num_features=7,
    sparse_features=False,
    class_sizes=(300, 200),
    kinship=ALIKE,
    one_way=False,
)


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ({}, "mostly alike (adjusted homophily 0.80 ± 0.02, label informativeness 0.50 ± 0.03)"),
        ({"kinship": TELLING}, "Linked nodes differ in a telling way (adjusted homophily -0.10 ± 0.02"),
        ({"kinship": SILENT}, "tell little of a node's (adjusted homophily 0.13"),
        ({"kinship": UNCLEAR}, "neither clearly alike nor clearly different (adjusted homophily 0.45 ± 0.10"),
        ({"kinship": FEW}, "The 30 links between labelled nodes are too few to say"),
        ({"kinship": replace(FEW, edges=1)}, "The 1 link between labelled nodes is too few to say"),
        ({"kinship": NONE}, "The 0 links between labelled nodes are too few to say"),
        ({"num_features": 0}, "Without features"),
        ({"one_way": True}, "Edges go one way"),
        ({"class_sizes": (300, 3)}, "With so few labels of a class"),
        ({"class_sizes": (300, 0, 30)}, "330 labels that train, of 2 classes, the smallest with 30; 1 more without"),
    ],
)
def test_the_paragraph_says_what_was_seen(seen: dict[str, object], said: str) -> None:
    text = describe(replace(FACTS, **seen))
    assert said in text
    assert text.startswith("1,000 nodes with 5.0 links each on average (at most 40)")


def advice(facts: GraphFacts, *models: str, tuned: bool = False, splits: str = "0", **settings: Any) -> str:
    configs = resolve(models or ["glognn++"], None, settings, "pairs", splits)
    return "\n".join(advise(facts, configs, 5, tuned=tuned))


@pytest.mark.parametrize(
    ("seen", "models", "said"),
    [
        (ALIKE, ["glognn++"], "linked nodes are alike: compare with --model gcn"),
        (TELLING, ["gcn"], "linked nodes differ in a telling way: compare with --model glognn++"),
        (SILENT, ["glognn++"], "neighbours' classes tell little of a node's"),
    ],
)
def test_advice_is_by_the_same_measure(seen: Kinship, models: list[str], said: str) -> None:
    assert said in advice(replace(FACTS, kinship=seen), *models)


@pytest.mark.parametrize(
    ("seen", "models"),
    [(UNCLEAR, ["mlp"]), (FEW, ["mlp"]), (NONE, ["mlp"]), (ALIKE, ["glognn++", "gcn"]), (TELLING, ["glognn2"])],
)
def test_nothing_is_said_of_neighbours_where_it_is_not_clear_or_done_already(seen: Kinship, models: list[str]) -> None:
    assert advice(replace(FACTS, kinship=seen), *models) == "settings of this graph: --tune 50"


def test_a_search_is_not_advised_against() -> None:
    dense = replace(FACTS, num_entries=40_000, kinship=TELLING)
    assert "--normalization none" in advice(dense)
    assert "--tune" in advice(dense)
    assert advice(dense, tuned=True) == ""


def test_imbalance_and_few_labels() -> None:
    rare = replace(FACTS, class_sizes=(500, 12), kinship=NONE)
    assert "--metric average_precision --class-weight balanced" in advice(rare)
    assert "--metric" not in advice(rare, metric="roc_auc")
    assert "12 labels of the smallest class train: --random-splits 5" in advice(rare)
    assert "--random-splits" not in advice(rare, splits="all")


def test_directions_are_advised_where_no_model_reads_them() -> None:
    one_way = replace(FACTS, one_way=True)
    assert "--model dirgnn" in advice(one_way)
    assert "--model dirgnn" not in advice(one_way, "dirgnn")
    assert "--model dirgnn" not in advice(one_way, directed=True)


def test_nothing_is_said_of_directions_where_most_nodes_have_no_edge() -> None:
    for others, said in ((0, True), (200, False)):
        edges = torch.stack([torch.arange(0, 99), torch.arange(1, 100)])
        data = Data(edge_index=edges, num_nodes=100 + others, y=torch.arange(100 + others) % 2)
        assert look(Graph.from_data(data), 0, folds=True).one_way is said


def test_a_look_counts_labels_that_train_alone() -> None:
    data = make_data(num_splits=1)
    graph = Graph.from_data(data, GraphConfig(directed=True))
    seen, all_labels = look(graph, 0, folds=False), look(graph, 0, folds=True)
    assert sum(seen.class_sizes) == int(data.train_mask.sum())
    assert sum(all_labels.class_sizes) == 60
    assert all_labels.kinship.edges > seen.kinship.edges > 0
    assert seen.one_way
    hidden = data.clone()
    hidden.y = torch.where(data.train_mask[:, 0], data.y, (data.y + 1) % 3)
    assert look(Graph.from_data(hidden, GraphConfig(directed=True)), 0, folds=False) == seen
    both_ways = look(Graph.from_data(data), 0, folds=False)
    assert both_ways.num_entries > seen.num_entries
