"""Edges by direction, against dense matrices; and the same of new nodes beside known ones."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from glognn.graph import directions
from glognn.graph.config import GraphConfig
from glognn.graph.extension import Extension
from glognn.graph.graph import Graph
from glognn.graph.sparse import SparseMatrix
from tests.conftest import make_data

MUTUAL = torch.tensor([[0, 1, 1, 2, 3, 5], [1, 0, 2, 3, 4, 5]])
"""0 and 1 point to each other, the others do not; 5 points to itself."""


def graph_of(edges: Tensor, num_nodes: int = 7, **settings: Any) -> Graph:
    data = Data(edge_index=edges, x=torch.eye(num_nodes)[:, :4], num_nodes=num_nodes)
    return Graph.from_data(data, GraphConfig(directed=True, **settings), dtype=torch.float64)


def dense(matrix: Any) -> Tensor:
    return matrix.csr.to_dense() if isinstance(matrix, SparseMatrix) else matrix


def scaled(A: Tensor, left: Tensor, right: Tensor) -> Tensor:
    inverse = [torch.where(each > 0, each, torch.inf) ** -0.5 for each in (left, right)]
    return inverse[0][:, None] * A * inverse[1][None]


@pytest.mark.parametrize(
    ("edges", "undirected"),
    [
        (MUTUAL, False),
        (MUTUAL[:, 1:], True),  # each edge is listed once
        (torch.cat([MUTUAL, MUTUAL.flip(0)], dim=1), True),
        (torch.cat([MUTUAL[:, 1:], MUTUAL[:, 1:].flip(0)], dim=1), True),
        (torch.empty(2, 0, dtype=torch.int64), True),
        (torch.tensor([[5], [5]]), True),
    ],
)
def test_a_list_that_says_nothing_of_direction_is_undirected(edges: Tensor, undirected: bool) -> None:
    graph = graph_of(edges)
    assert directions.is_undirected(graph.adjacency) == undirected
    A = dense(directions.operator(graph, "out"))
    assert torch.equal(A, A.T) or not undirected
    assert (dense(directions.operator(graph, "in")) == A.T).all()


def test_operators_are_the_stated_ones() -> None:
    graph = graph_of(MUTUAL)
    A = graph.adjacency.matrix.csr.to_dense()
    B = torch.maximum(A, A.T)
    wanted = {
        "out": scaled(A, A.sum(1), A.sum(0)),
        "in": scaled(A, A.sum(1), A.sum(0)).T,
        "both": scaled(B, B.sum(1), B.sum(0)),
    }
    for name, matrix in wanted.items():
        torch.testing.assert_close(dense(directions.operator(graph, name)), matrix, rtol=1e-14, atol=0)
    assert directions.operator(graph, "both").is_symmetric


def test_operators_along_edges_as_they_are_listed() -> None:
    graph = graph_of(MUTUAL[:, 1:])
    A = graph.adjacency.matrix.csr.to_dense()
    assert directions.lists_one_way(graph.adjacency)
    out = scaled(A, A.sum(1), A.sum(0))
    assert not torch.equal(out, out.T)
    torch.testing.assert_close(dense(directions.operator(graph, "listed_out")), out, rtol=1e-14, atol=0)
    torch.testing.assert_close(dense(directions.operator(graph, "listed_in")), out.T, rtol=1e-14, atol=0)
    for edges in (
        MUTUAL,
        torch.cat([MUTUAL[:, 1:], MUTUAL[:, 1:].flip(0)], dim=1),
        torch.empty(2, 0, dtype=torch.int64),
    ):
        other = graph_of(edges)
        assert other.adjacency.matrix.nnz == 0 or not directions.lists_one_way(other.adjacency)
        for name in ("out", "in"):
            assert torch.equal(
                dense(directions.operator(other, f"listed_{name}")), dense(directions.operator(other, name))
            )


@pytest.mark.parametrize("name", ["out", "in"])
def test_rows_of_links_have_length_one(name: str) -> None:
    graph = graph_of(MUTUAL)
    A = graph.adjacency.matrix.csr.to_dense()
    A = A if name == "out" else A.T
    rows = A * torch.where(A.sum(0) > 0, A.sum(0), torch.inf) ** -0.5
    lengths = rows.norm(dim=1, keepdim=True)
    wanted = torch.where(lengths > 0, rows / torch.where(lengths > 0, lengths, 1.0), 0.0)
    torch.testing.assert_close(dense(directions.link_rows(graph, name)), wanted, rtol=1e-14, atol=0)


def test_degrees_hold_no_labels_and_follow_the_edges() -> None:
    data = make_data(200, num_edges=900)
    graph = Graph.from_data(data, GraphConfig(directed=True), dtype=torch.float64)
    columns = directions.degrees(graph)
    assert columns.shape == (200, directions.DEGREE_COLUMNS)
    A = (graph.adjacency.matrix.csr.to_dense() != 0).double()
    out = A.sum(1).log1p()
    standard = (out - out.mean()) / out.std(correction=0)
    torch.testing.assert_close(columns[:, 0], standard)
    assert set(columns[:, directions.COUNTS :].unique().tolist()) == {0.0, 1.0}
    data.y = data.y.flip(0)
    assert torch.equal(
        directions.degrees(Graph.from_data(data, GraphConfig(directed=True), dtype=torch.float64)), columns
    )


def test_neighbour_means() -> None:
    graph = graph_of(MUTUAL)
    A = graph.adjacency.matrix.csr.to_dense()
    assert graph.x is not None
    for way, B in {"both": torch.maximum(A, A.T), "out": A, "in": A.T}.items():
        wanted = B @ dense(graph.x) / B.sum(1, keepdim=True).clamp(min=1)
        torch.testing.assert_close(dense(directions.neighbour_means(graph, way)), wanted)
        torch.testing.assert_close(
            torch.from_numpy(directions.neighbour_shares(graph, way).toarray()) @ dense(graph.x), wanted
        )


@pytest.mark.parametrize("kind", ["directed", "undirected", "listed one way"])
def test_a_twin_of_a_known_node_has_its_rows(kind: str) -> None:
    """Whatever is made of a node is made of a new one with the same features and edges too."""
    data, directed = make_data(40, num_edges=160), kind != "undirected"
    source, target = data.edge_index
    data.edge_index = data.edge_index[:, source < target if kind == "listed one way" else source != target]
    graph = Graph.from_data(data, GraphConfig(directed=directed), dtype=torch.float64)
    assert directions.is_undirected(graph.adjacency) == (kind != "directed")
    assert directions.lists_one_way(graph.adjacency) == (kind == "listed one way")
    A, n = graph.adjacency.matrix.csr.to_dense(), data.num_nodes
    for node in (0, 5, 20):
        out, into = A[node].nonzero().view(-1), A[:, node].nonzero().view(-1)
        edges = torch.cat(
            [torch.stack([torch.full_like(out, n), out]), torch.stack([into, torch.full_like(into, n)])], dim=1
        )
        weights = torch.cat([A[node, out], A[into, node]])
        if not directed:
            edges, weights = edges[:, : out.numel()], weights[: out.numel()]
        twin = Data(x=data.x[[node]], edge_index=edges, edge_weight=weights)
        extension = Extension.from_data(graph, twin)
        for name in ("out", "in", "both", "listed_out", "listed_in"):
            rows, among_new = directions.new_operator_rows(extension, name)
            torch.testing.assert_close(dense(rows)[0], dense(directions.operator(graph, name))[node])
            assert not dense(among_new).any()
        for name in ("out", "in"):
            found = directions.new_link_rows(extension, name)
            torch.testing.assert_close(dense(found)[0], dense(directions.link_rows(graph, name))[node])
        torch.testing.assert_close(directions.new_degrees(extension)[0], directions.degrees(graph)[node])
        for way in ("both", "out", "in"):
            found = directions.new_neighbour_means(extension, way)
            torch.testing.assert_close(found[0], directions.neighbour_means(graph, way)[node])
