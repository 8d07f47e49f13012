"""The paper's lemmas as numerical bounds, with |lambda_k| where it writes lambda_k, and twins that stay twins."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from glognn.experiments.config import resolve
from glognn.experiments.run import build_model, load_graph
from glognn.explain.coefficients import coefficient_rows
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.models.glognn import GloGNN, GloGNNPlusPlus
from glognn.training.driver import train
from tests.conftest import REAL_DATA
from tests.reference.dense import Problem, reachability


def check_lemmas(H: Tensor, H0: Tensor, A: Tensor, weights: Tensor, b1: float, b2: float, g: float) -> None:
    """Lemmas 1 and 2 (the bounds on differences of rows and of columns of Z*) for many triples of nodes."""
    b, n = b1 + b2, H.shape[0]
    P = reachability(A, weights)
    Z = Problem(H, H0, P, torch.eye(H.shape[1]).double(), b1, b2, g, "plain").Z()
    powers = [torch.linalg.matrix_power(A, k + 1) for k in range(len(weights))]
    size = weights.abs()
    M = (1 - g) ** 2 * H @ H.T + b * torch.eye(n).double()
    R = torch.linalg.solve(M, H @ H.T)  # column p is the lemma's R
    inner = (H.T - (1 - g) ** 2 * H.T @ R).norm(dim=0)
    eta = ((H - g * H0).square().sum(1) + b2 * P.square().sum(1)).sqrt()
    tolerance = 1e-9 * (1 + Z.abs().max())
    generator = torch.Generator().manual_seed(0)
    for i, j in torch.randint(0, n, (60, 2), generator=generator).tolist():
        dh, dh0 = (H[i] - H[j]).norm(), (H0[i] - H0[j]).norm()
        hops = sum(s * (Ak[i] - Ak[j]).norm() for s, Ak in zip(size, powers, strict=True))
        entries = sum(s * (Ak[i] - Ak[j]).abs() for s, Ak in zip(size, powers, strict=True))
        bound = (1 - g) / b * dh * inner + g * (1 - g) / b * dh0 * inner
        bound = bound + b2 * (1 - g) ** 2 / b * hops * R.norm(dim=0) + b2 / b * entries
        assert ((Z[i] - Z[j]).abs() <= bound + tolerance).all()
        columns = sum(s * (Ak[:, i] - Ak[:, j]).abs() for s, Ak in zip(size, powers, strict=True))
        assert ((Z[:, i] - Z[:, j]).abs() <= (eta * (1 - g) * dh + b2 * columns) / b + tolerance).all()


@pytest.mark.parametrize("gamma", [0.0, 0.3, 0.9])
@pytest.mark.parametrize(("beta1", "beta2"), [(0.0, 1.0), (5.0, 0.1), (1.0, 100.0)])
def test_lemmas_on_random_graphs(gamma: float, beta1: float, beta2: float) -> None:
    torch.manual_seed(1)
    edges = torch.randint(0, 40, (2, 120))
    graph = Graph.from_data(Data(edge_index=edges, num_nodes=40), dtype=torch.float64)
    A = graph.adjacency.normalized("symmetric").csr.to_dense()
    H, H0 = torch.randn(2, 40, 4).double()
    check_lemmas(H, H0, A, torch.randn(3).double(), beta1, beta2, gamma)


@pytest.mark.real_data
def test_lemmas_on_a_trained_texas() -> None:
    source = str(REAL_DATA / "texas.npz")
    [config] = resolve(["glognn"], "published:texas", {"dtype": "float64", "epochs": 300}, source, "0")
    graph = load_graph(config).graph
    model = build_model(config, graph)
    assert train(model, graph, config=config.training).last.train > 0.9
    assert isinstance(model, GloGNN)
    with torch.no_grad():
        *inputs, _ = model.embeddings(model.prepare(graph))
    A = graph.adjacency.normalized("row").csr.to_dense()
    c = model.config
    for H in inputs:
        check_lemmas(H, inputs[0], A, model.layer.hops.weight.detach(), c.beta1, c.beta2, c.gamma)


@pytest.mark.parametrize("model_class", [GloGNN, GloGNNPlusPlus])
@pytest.mark.parametrize("normalization", ["row", "symmetric", "none"])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_twins_stay_twins(model_class: type[GloGNN], normalization: str, alpha: float) -> None:
    """Nodes 0 and 1 have the same features and links, and are linked to each other iff self-loops are added."""
    torch.manual_seed(2)
    others = torch.randint(2, 30, (2, 80))
    links = torch.randint(2, 30, (5,))
    twins = torch.cat([torch.stack([torch.full((5,), twin), links]) for twin in (0, 1)], dim=1)
    extra = torch.tensor([[0], [1]]) if normalization != "none" else torch.zeros(2, 0, dtype=torch.long)
    x = torch.randn(30, 6)
    x[1] = x[0]
    data = Data(x=x, edge_index=torch.cat([others, twins, extra], dim=1))
    graph = Graph.from_data(data, GraphConfig(), dtype=torch.float64)
    model = model_class(
        6, 3, 30, normalization=normalization, alpha=alpha, gamma=0.3, num_layers=2, num_hops=3
    ).double()
    for parameter in model.layer.parameters():
        torch.nn.init.normal_(parameter)
    model.eval()
    for H in model.embeddings(model.prepare(graph)):
        torch.testing.assert_close(H[0], H[1], rtol=1e-12, atol=1e-12)
    Z = coefficient_rows(model, graph, range(30))
    torch.testing.assert_close(Z[0], Z[1], rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(Z[:, 0], Z[:, 1], rtol=1e-10, atol=1e-12)
    assert not torch.allclose(Z[0], Z[2])
