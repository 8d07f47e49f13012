"""Structural similarities: against plain loops, and kept in the cache."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from glognn.data import structure as cached
from glognn.graph import structure
from glognn.graph.structure import similar_nodes, undirected_pattern
from tests.reference import handwritten


def random_adjacency(num_nodes: int, num_edges: int, seed: int = 0) -> sp.csr_array:
    """Directed and weighted, with self-loops, repeated edges, skewed degrees and isolated nodes."""
    generator = np.random.default_rng(seed)
    ends = (generator.random((2, num_edges)) ** 2 * (num_nodes - 2)).astype(np.int64)
    return sp.coo_array((generator.random(num_edges), tuple(ends)), shape=(num_nodes, num_nodes)).tocsr()


@pytest.mark.parametrize("threads", [1, 2])
def test_distances_equal_the_definition(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glognn.graph.structure._CELLS_AT_ONCE", 64)
    monkeypatch.setattr("glognn.graph.structure._VISITED_BYTES", 40 * 7)
    matrix = random_adjacency(40, 90)
    found = similar_nodes(undirected_pattern(matrix), num_similar=80, num_rings=3, threads=threads)
    assert found.pairs.shape == (2, 40 * 39 // 2)
    assert len({frozenset(pair) for pair in found.pairs.T.tolist()}) == found.pairs.shape[1]
    dense = matrix.toarray()
    wanted = [handwritten.structural_distances(dense, u, v, 3) for u, v in found.pairs.T.tolist()]
    np.testing.assert_allclose(found.distances, np.array(wanted).T, rtol=1e-5, atol=1e-5)
    assert np.isinf(found.distances).any()
    assert (found.distances[:, np.isfinite(found.distances[-1])][-1] > 0).any()


def test_few_nodes_are_compared_and_those_are_alike() -> None:
    pattern = undirected_pattern(random_adjacency(400, 1500))
    every = similar_nodes(pattern, num_similar=800, num_rings=1)
    some = similar_nodes(pattern, num_similar=10, num_rings=1)
    assert np.bincount(some.pairs.ravel(), minlength=400).max() <= 10
    assert some.distances[0].mean() < 0.05 * every.distances[0].mean()
    near, far = (found.distances[1][np.isfinite(found.distances[1])] for found in (some, every))
    assert near.mean() < 0.6 * far.mean()


def test_progress_of_both_steps_ends_with_everything_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "_VISITED_BYTES", 500)
    shares: dict[str, list[float]] = {}
    similar_nodes(
        undirected_pattern(random_adjacency(50, 200)),
        num_similar=10,
        num_rings=2,
        progress=lambda what, share: shares.setdefault(what, []).append(share),
    )
    collected, compared = shares.values()
    assert collected == pytest.approx([0.2, 0.4, 0.6, 0.8, 1])
    assert compared == sorted(compared)
    assert compared[-1] == 1


@pytest.mark.parametrize("num_nodes", [1, 2, 5])
def test_graphs_without_edges(num_nodes: int) -> None:
    found = similar_nodes(undirected_pattern(sp.csr_array((num_nodes, num_nodes))), num_similar=4, num_rings=2)
    assert (found.distances[0] == 0).all()
    assert np.isinf(found.distances[1:]).all()


class TestCache:
    def compare(self, matrix: sp.csr_array) -> np.ndarray:
        return cached.structural_similarities(matrix, num_similar=6, num_rings=1).distances

    def test_edges_alone_decide_what_is_read_again(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        matrix, calls = random_adjacency(30, 60), []
        compute = cached.similar_nodes
        monkeypatch.setattr(cached, "similar_nodes", lambda *a, **k: calls.append(1) or compute(*a, **k))
        first = self.compare(matrix)
        np.testing.assert_array_equal(self.compare(sp.csr_array(matrix.T * 2.0)), first)
        assert len(calls) == 1
        self.compare(random_adjacency(30, 60, seed=1))
        cached.structural_similarities(matrix, num_similar=8, num_rings=1)
        assert len(calls) == 3
        assert len(list(cache.glob("structure/*/similar.npz"))) == 3

    def test_a_damaged_file_is_made_again(self, cache: Path, caplog: pytest.LogCaptureFixture) -> None:
        matrix = random_adjacency(30, 60)
        first = self.compare(matrix)
        [path] = cache.glob("structure/*/similar.npz")
        path.write_bytes(path.read_bytes()[:100])
        np.testing.assert_array_equal(self.compare(matrix), first)
        assert "is damaged" in caplog.text
        assert path.stat().st_size > 100

    def test_goes_without_when_it_cannot_be_written(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("GLOGNN_DATA", str(tmp_path / "file"))
        with caplog.at_level(logging.WARNING):
            assert self.compare(random_adjacency(30, 60)).shape[0] == 2
        assert "are not kept" in caplog.text
