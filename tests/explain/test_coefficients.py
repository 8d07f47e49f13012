"""Rows of Z* of a trained model."""

from __future__ import annotations

import pytest
import torch

from glognn.errors import InputError
from glognn.explain.coefficients import coefficient_rows
from glognn.graph.graph import Graph
from glognn.models.glognn import GloGNN, GloGNNPlusPlus
from glognn.training.config import TrainingConfig
from glognn.training.driver import train
from tests.conftest import make_data
from tests.reference.dense import Problem, reachability


@pytest.mark.parametrize("coefficient", ["plain", "exact", "released"])
def test_rows_are_those_of_the_last_layer(coefficient: str) -> None:
    data = make_data()
    plain = coefficient == "plain"
    model = (GloGNN if plain else GloGNNPlusPlus)(7, 3, 60, **({} if plain else {"coefficient": coefficient}))
    train(model, data, config=TrainingConfig(epochs=30))
    model.train()
    Z = coefficient_rows(model, data, range(60))
    assert model.training  # left as it was
    model.eval()
    graph = Graph.from_data(data)
    with torch.no_grad():
        H0, *_, H, out = model.embeddings(model.prepare(graph))
    A = graph.adjacency.normalized("row").csr.to_dense().double()
    S = torch.eye(3) if model.layer.scale is None else torch.diag(model.layer.scale.detach())
    c = model.config
    P = reachability(A, model.layer.hops.weight.detach().double())
    reference = Problem(H.double(), H0.double(), P, S.double(), c.beta1, c.beta2, c.gamma, coefficient)
    torch.testing.assert_close(Z, reference.Z(), rtol=1e-8, atol=1e-10)
    predicted = (1 - c.gamma) * Z @ H.double() @ S.double() + c.gamma * H0.double()
    torch.testing.assert_close(predicted.float(), out, rtol=1e-3, atol=1e-4)  # Z* explains the scores


def test_some_nodes_only() -> None:
    data = make_data()
    model = GloGNN(7, 3, 60)
    some = coefficient_rows(model, data, [5, 2])
    assert some.shape == (2, 60)
    torch.testing.assert_close(some, coefficient_rows(model, data, range(60))[[5, 2]])
    with pytest.raises(InputError, match=r"nodes must be in the range \[0, 59\]. Got 60"):
        coefficient_rows(model, data, [60])
