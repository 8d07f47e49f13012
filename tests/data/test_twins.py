"""Twins: the sizes of the datasets they stand in for, and never their names."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from glognn.data import twins
from glognn.data.catalog import DATASETS
from glognn.data.sources import find_source, load_dataset
from glognn.data.statistics import measure
from glognn.errors import InputError
from glognn.experiments.config import resolve
from glognn.experiments.run import load_graph

SCALE = {"penn94": 0.5, "pokec": 0.02, "arxiv-year": 0.2, "snap-patents": 0.02, "genius": 0.2, "twitch-gamers": 0.1}


@pytest.mark.parametrize("name", SCALE)
def test_sizes(name: str) -> None:
    scale, entry = SCALE[name], DATASETS[name]
    found = measure(load_dataset(f"twin:{name}@{scale}"))
    wanted = entry.expected
    assert found.nodes == round(scale * wanted.nodes)
    assert found.edges_given == found.edges_directed
    assert found.edges_given == pytest.approx(scale * entry.twin.directed_edges, abs=1)
    assert found.edges_undirected == round(scale * entry.twin.undirected_edges)
    assert (found.features, found.classes, found.splits, found.self_loops) == (wanted.features, wanted.classes, 5, 0)
    assert found.homophily.edge == pytest.approx(entry.twin.homophily, abs=1e-4)
    degrees = np.sort(found.degrees)[::-1]
    assert degrees[: len(degrees) // 10].sum() > 0.3 * degrees.sum()  # a tenth of the nodes has a third of the edges
    shares = np.array(found.class_sizes) / found.nodes
    assert shares == pytest.approx(entry.twin.class_shares or [1 / wanted.classes] * wanted.classes, abs=1e-3)


def test_the_counts_of_a_full_twin_are_the_catalogs() -> None:
    """On the smallest: the others differ in size only, and 'make check-twins' generates them."""
    entry = DATASETS["genius"]
    data = load_dataset("twin:genius")
    assert data.num_nodes == entry.expected.nodes
    assert data.edge_index.shape[1] == entry.expected.edges
    assert data.x.shape == (entry.expected.nodes, entry.expected.features)


def test_a_seed_decides_everything() -> None:
    first, second = (twins.generate(DATASETS["genius"], 0.02) for _ in range(2))
    assert torch.equal(first.edge_index, second.edge_index)
    assert torch.equal(first.x, second.x)
    other = twins.generate(DATASETS["genius"], 0.02, seed=1)
    assert not torch.equal(first.edge_index, other.edge_index)


def test_a_twin_is_prepared_like_the_dataset_and_never_called_by_its_name() -> None:
    [config] = resolve(["glognn"], "published:snap-patents", {}, "twin:snap-patents@0.01", None)
    assert config.dataset == "twin:snap-patents@0.01"
    assert config.graph.directed
    facts = load_graph(config).facts
    assert (facts["dataset"], facts["kind"], facts["files"]) == ("twin:snap-patents@0.01", "generated", {})
    [genius] = resolve([], None, {}, "twin:genius@0.01", None)
    assert genius.training.metric == "roc_auc"
    assert find_source("twin:genius@0.01").label == "twin-genius@0.01"


def test_too_small() -> None:
    with pytest.raises(InputError, match="is too small: raise the scale 0.001"):
        load_dataset("twin:penn94@0.001")
