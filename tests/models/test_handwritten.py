"""The hand-written baselines against their equations on small graphs of every kind, forward and gradients."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.models.acmgcn import ACMGCN
from glognn.models.base import NodeModel
from glognn.models.ggcn import GGCN
from glognn.models.gprgnn import GPRGNN
from glognn.models.h2gcn import H2GCN
from glognn.models.wrgat import WRGAT
from tests.conftest import make_data
from tests.reference import handwritten

NUM_NODES, NUM_FEATURES, NUM_CLASSES = 23, 5, 3
Reference = Callable[[Tensor, Tensor, dict[str, Tensor]], Tensor]

MODELS: dict[str, tuple[Callable[..., NodeModel], Reference]] = {
    "h2gcn": (
        lambda: H2GCN(NUM_FEATURES, NUM_CLASSES, hidden_channels=4),
        lambda A, X, weights: handwritten.h2gcn(A, X, weights, 2),
    ),
    "h2gcn-one-round": (
        lambda: H2GCN(NUM_FEATURES, NUM_CLASSES, hidden_channels=4, num_rounds=1),
        lambda A, X, weights: handwritten.h2gcn(A, X, weights, 1),
    ),
    "gprgnn": (lambda: GPRGNN(NUM_FEATURES, NUM_CLASSES, hidden_channels=4, num_hops=4), handwritten.gprgnn),
    "acmgcn": (
        lambda: ACMGCN(NUM_FEATURES, NUM_CLASSES, hidden_channels=4, num_layers=3),
        lambda A, X, weights: handwritten.acmgcn(A, X, weights, 3),
    ),
    "ggcn": (
        lambda: GGCN(NUM_FEATURES, NUM_CLASSES, hidden_channels=4, num_layers=4, decay_rate=0.8, decay_exponent=2.0),
        lambda A, X, weights: handwritten.ggcn(A, X, weights, 4, 0.8, 2.0),
    ),
}


def wrgat_relations(A: Tensor, num_rings: int, aggregation: str, similarity: str) -> list[Tensor]:
    """The weights of every relation when all pairs are compared."""
    n = len(A)
    found = [A, *torch.zeros(num_rings + 1, n, n, dtype=A.dtype)]
    for u in range(n):
        for v in range(n):
            if u != v:
                for ring, f in enumerate(handwritten.structural_distances(A.numpy(), u, v, num_rings)):
                    found[1 + ring][u, v] = math.exp(-f)
    if similarity == "share":
        found[1:] = [R / R.sum(1, keepdim=True).clamp(min=1e-300) for R in found[1:]]
    if aggregation == "mean":
        found = [R / (R != 0).sum(1, keepdim=True).clamp(min=1) for R in found]
    return found


def add_wrgat(aggregation: str, similarity: str) -> None:
    settings = {"num_rings": 2, "num_similar": 2 * NUM_NODES, "aggregation": aggregation, "similarity": similarity}
    MODELS[f"wrgat-{aggregation}-{similarity}"] = (
        lambda: WRGAT(NUM_FEATURES, NUM_CLASSES, hidden_channels=4, **settings),
        lambda A, X, weights: handwritten.wrgat(wrgat_relations(A, 2, aggregation, similarity), X, weights, 2),
    )


add_wrgat("sum", "plain")
add_wrgat("mean", "share")


def small_graph(kind: str) -> Graph:
    """A random graph with self-loops and three isolated nodes."""
    data = make_data(NUM_NODES, NUM_FEATURES, NUM_CLASSES, 40, weighted="weighted" in kind, isolated=3)
    data.x = data.x.double()
    return Graph.from_data(data, GraphConfig(directed="directed" in kind.split()), dtype=torch.float64)


def perturbed(model: NodeModel) -> NodeModel:
    """In double precision, with no parameter left at a value that hides an error."""
    model.double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


@pytest.mark.parametrize("kind", ["undirected", "directed", "weighted", "weighted directed"])
@pytest.mark.parametrize("name", MODELS)
def test_equals_the_equations(name: str, kind: str) -> None:
    build, reference = MODELS[name]
    graph, model = small_graph(kind), perturbed(build())
    A, X = graph.adjacency.matrix.csr.to_dense(), graph.x.clone().requires_grad_()
    graph = Graph(X, graph.adjacency, graph.y, graph.masks, graph.num_classes, graph.edge_counts, graph.config)
    weights = dict(model.named_parameters())
    found, wanted = model.logits(model.prepare(graph)), reference(A, X, weights)
    precision = 1e-5 if name.startswith("wrgat") else 1e-9  # structural distances are in float32
    torch.testing.assert_close(found, wanted, rtol=precision, atol=0.01 * precision)
    direction = torch.randn_like(found)
    leaves = [X, *weights.values()]
    gradients = (torch.autograd.grad((scores * direction).sum(), leaves) for scores in (found, wanted))
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=10 * precision, atol=precision)


def test_pagerank_weights_start_as_in_the_paper() -> None:
    weights = GPRGNN(5, 3, num_hops=3, restart=0.2).hop_weights
    torch.testing.assert_close(weights.detach(), torch.tensor([0.2, 0.16, 0.128, 0.512]))


def test_second_ring_is_strict() -> None:
    path = Data(x=torch.rand(4, 2), edge_index=torch.tensor([[0, 1, 2, 1], [1, 2, 3, 1]]))
    first, second = H2GCN(2, 2).prepare(Graph.from_data(path)).rings
    assert first.csr.to_dense().nonzero().tolist() == [[0, 1], [1, 0], [1, 2], [2, 1], [2, 3], [3, 2]]
    assert second.csr.to_dense().nonzero().tolist() == [[0, 2], [1, 3], [2, 0], [3, 1]]


def test_edges_of_ggcn_are_never_a_square() -> None:
    """100,000 nodes: an n x n matrix would take 40 GB."""
    n = 100_000
    data = Data(x=torch.rand(n, 4), edge_index=torch.randint(0, n, (2, n)))
    model = GGCN(4, 2, hidden_channels=8)
    model(data.x, data.edge_index).sum().backward()
    assert torch.isfinite(model.inputs.weight.grad).all()


@pytest.mark.parametrize("name", ["h2gcn", "gprgnn", "acmgcn", "ggcn", "wrgat-sum-plain"])
def test_many_at_once(name: str) -> None:
    """Members with stacked weights get the gradients that each would get alone."""
    graph = small_graph("undirected")
    model = MODELS[name][0]().double()
    inputs = model.prepare(graph)
    members = [{key: torch.randn_like(value) for key, value in model.named_parameters()} for _ in range(3)]
    stacked = {key: torch.stack([member[key] for member in members]) for key in members[0]}

    class Whole(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self) -> Tensor:
            return self.model.logits(inputs)

    def loss(weights: dict[str, Tensor]) -> Tensor:
        named = {f"model.{key}": value for key, value in weights.items()}
        return torch.func.functional_call(Whole(), named, ()).square().sum()

    model.eval()
    together = torch.func.vmap(torch.func.grad(loss))(stacked)
    for number, member in enumerate(members):
        for key, gradient in torch.func.grad(loss)(member).items():
            torch.testing.assert_close(together[key][number], gradient)
    model.train()
    torch.func.vmap(torch.func.grad(loss), randomness="different")(stacked)
