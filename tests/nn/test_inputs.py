"""An input of the encoder, or an operator of the hops, is one entry: with made-up ones all that reads them follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

import glognn
from glognn.bench.floor import VALUE, Shape, Stored, count
from glognn.graph.config import GraphConfig
from glognn.graph.extension import Extension
from glognn.graph.graph import Graph
from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.models.configs import GloGNNConfig
from glognn.models.glognn import GloGNN
from glognn.native.library import find_library
from glognn.nn.inputs import ADJACENCY, INPUTS, OPERATORS, Input, Operator, Word, powers, products
from glognn.training.engines import Members, NativeEngine
from glognn.training.engines.native import refusal_of_settings
from glognn.training.preflight import Need, sizes_of
from tests.conftest import make_data

DEGREES, INCOMING = "degrees", "incoming"


def log_degrees(*counts: Any) -> Tensor:
    """One column for each kind of degree."""
    return torch.stack([torch.as_tensor(np.asarray(each)).double().log1p() for each in counts], dim=1)


def degrees(graph: Graph, normalization: str) -> Tensor:
    matrix = graph.adjacency.matrix
    both = (csr.crow_indices().diff() for csr in (matrix.csr, matrix.csr_transposed))
    return log_degrees(*both).to(matrix.dtype)


def new_degrees(extension: Extension, normalization: str) -> Tensor:
    both = (np.diff(csr.indptr) for csr in (extension.rows, extension.columns.T.tocsr()))
    return log_degrees(*both).to(extension.known.adjacency.matrix.dtype)


def incoming(graph: Graph, normalization: str) -> SparseMatrix:
    return graph.adjacency.normalized(normalization).transpose


def new_incoming(extension: Extension, normalization: str) -> tuple[SparseMatrix, SparseMatrix]:
    among_new = extension.columns[extension.known.num_nodes :].T.tocsr()
    return extension.incoming(), SparseMatrix.from_scipy(among_new, extension.known.adjacency.matrix.dtype)


class DegreesConfig(GloGNNConfig):
    title = "GloGNN with degrees"
    name = "glognn-with-degrees"
    implementation = "tests.nn.test_inputs:WithDegrees"

    def input_weights(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return super().input_weights(values) | {DEGREES: 0.5}

    @property
    def words(self) -> list[Word]:
        return [(ADJACENCY,), (INCOMING, ADJACENCY)]


class WithDegrees(GloGNN):
    config_class = DegreesConfig


@pytest.fixture(autouse=True)
def _entries(monkeypatch: pytest.MonkeyPatch) -> None:
    made_up = Input(
        columns=lambda num_features, num_nodes: 2,
        make=degrees,
        new_rows=new_degrees,
        bytes=lambda sizes, normalization: 4 * 2 * sizes.nodes,
    )
    monkeypatch.setitem(INPUTS, DEGREES, made_up)
    turned = Operator(make=incoming, new_rows=new_incoming, bytes=lambda sizes, normalization: 0)
    monkeypatch.setitem(OPERATORS, INCOMING, turned)


def test_the_model_reads_it(data: Data) -> None:
    graph = Graph.from_data(data, GraphConfig(directed=True), dtype=torch.float64)
    model = WithDegrees.for_graph(graph, DegreesConfig(alpha=0.3, num_layers=1)).eval()
    inputs = model.prepare(graph)
    A = graph.adjacency.normalized("row").csr.to_dense()
    read = {"features": graph.x, "adjacency": A, DEGREES: degrees(graph, "row")}
    weights = {"features": 0.7, "adjacency": 0.3, DEGREES: 0.5}
    encoder = model.encoder
    mapped = [w * (read[name] @ encoder.inputs[name].weight + encoder.inputs[name].bias) for name, w in weights.items()]
    torch.testing.assert_close(encoder.encode(inputs.matrices)[0], sum(mapped))
    first, second = model.layer.hops.weight
    Q = torch.randn(graph.num_nodes, 3, dtype=torch.float64)
    torch.testing.assert_close(model.layer.hops(inputs.operators, Q), first * A @ Q + second * A.T @ A @ Q)
    without = WithDegrees.for_graph(graph, DegreesConfig(alpha=0.0))
    assert list(without.encoder.inputs) == ["features", DEGREES]
    without.use_settings({"alpha": torch.tensor(0.0), "beta1": 1.0, "beta2": 1.0, "gamma": 0.5, "dropout": 0.5})
    assert list(without.encoder.weights) == ["features", DEGREES]


def test_it_trains(data: Data) -> None:
    graph = Graph.from_data(data)
    model = WithDegrees.for_graph(graph, DegreesConfig(dropout=0.0))
    before = model.encoder.inputs[DEGREES].weight.detach().clone()
    settings = glognn.TrainingConfig(epochs=100, early_stopping="none", selection="last", learning_rate=0.02)
    assert glognn.train(model, graph, config=settings).last.train > 0.9
    assert not torch.equal(model.encoder.inputs[DEGREES].weight, before)


def parts(matrix: Matrix) -> list[Tensor]:
    if isinstance(matrix, Tensor):
        return [matrix]
    both = (matrix.csr, matrix.csr_transposed)
    return [part for csr in both for part in (csr.crow_indices(), csr.col_indices(), csr.values())]


def test_its_memory_is_predicted(data: Data) -> None:
    graph = Graph.from_data(data, GraphConfig(directed=True, self_loops="remove"))
    model, need = WithDegrees.for_graph(graph, DegreesConfig()), Need.of(DegreesConfig(), sizes_of(graph))
    held = [part.nbytes for matrix in model.prepare(graph).matrices.values() for part in parts(matrix)]
    assert need.inputs == sum(held)
    assert need.weights == 5 * 4 * sum(each.numel() for each in model.parameters())
    assert need.inputs - Need.of(GloGNNConfig(), sizes_of(graph)).inputs == 8 * graph.num_nodes


def test_new_nodes_have_it() -> None:
    """A new node that repeats a known one's features and edges gets its scores."""
    data = make_data()
    data.edge_index = data.edge_index[:, data.edge_index[0] != data.edge_index[1]]
    graph = Graph.from_data(data, dtype=torch.float64)
    model = WithDegrees.for_graph(graph, DegreesConfig(normalization="none")).eval()
    scores = model.logits(model.prepare(graph))
    rows, columns = graph.adjacency.matrix.entries()
    for node in (0, 7, data.num_nodes - 1):
        neighbours = columns[rows == node]
        edges = torch.stack([torch.full_like(neighbours, data.num_nodes), neighbours])
        twin = glognn.predict_new_nodes(model, graph, Data(x=data.x[[node]], edge_index=edges))
        torch.testing.assert_close(twin[0], scores[node], rtol=1e-10, atol=1e-12)


def test_the_floor_counts_it(data: Data) -> None:
    graph = Graph.from_data(data)
    nnz, n, hidden = graph.adjacency.normalized("row").nnz, graph.num_nodes, 64
    shape, plain = Shape.of(graph, DegreesConfig()), Shape.of(graph, GloGNNConfig(num_hops=3))
    assert shape.inputs == (*plain.inputs, Stored(2, 2 * n, False))
    assert shape.hops == (nnz, nnz, nnz)
    assert products(DegreesConfig().words) == [ADJACENCY, INCOMING, ADJACENCY]
    more = VALUE * (2 * 2 * n + 2 * 2 * hidden + n * hidden) + 7 * VALUE * 2 * hidden
    assert count(shape).bytes - count(plain).bytes == more


def test_compiled_code_says_what_it_cannot_do(data: Data) -> None:
    graph, training = Graph.from_data(data), glognn.TrainingConfig(device="cpu")
    if find_library() is None:
        pytest.skip("the native core is not built")
    reads = DegreesConfig()
    assert refusal_of_settings(reads, training, graph).startswith("it needs hops that are powers of one operator")
    members = Members(graph, [reads.model_class().for_graph(graph, reads)], [training], [0])
    assert NativeEngine.refusal(members) == refusal_of_settings(reads, training, graph)


class OneOperatorConfig(DegreesConfig):
    @property
    def words(self) -> list[Word]:
        return powers(2, INCOMING)


def test_compiled_code_reads_it(data: Data) -> None:
    """Another input, and the powers of another operator."""
    graph, training = Graph.from_data(data, GraphConfig(directed=True)), glognn.TrainingConfig(device="cpu")
    if find_library() is None:
        pytest.skip("the native core is not built")
    config = OneOperatorConfig(dropout=0.0)
    model = GloGNN.for_graph(graph, config)
    scores = NativeEngine(Members(graph, [model], [training], [0])).logits()[0]
    torch.testing.assert_close(scores, model.eval().logits(model.prepare(graph)).detach())
