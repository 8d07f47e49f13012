"""Contributions of the encoder's inputs: complete, and exact where the encoder is linear by pieces."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from glognn.explain import encoder
from glognn.explain.encoder import encoder_parts
from glognn.graph.graph import Graph
from glognn.models.glognn import GloGNN
from glognn.models.glognn2 import GloGNN2
from tests.conftest import make_data

SETTINGS: dict[str, tuple[type[GloGNN], dict[str, Any], str]] = {
    "linear": (GloGNN, {"num_encoder_layers": 1, "alpha": 0.3}, "linear"),
    "hidden": (GloGNN, {"alpha": 0.3}, "exact"),
    "hidden, deep": (GloGNN, {"alpha": 0.3, "num_encoder_layers": 4, "hidden_channels": 16}, "exact"),
    "output": (GloGNN, {"fusion": "output", "num_encoder_layers": 3}, "exact"),
    "features alone": (GloGNN, {"alpha": 0.0}, "exact"),
    "jumping": (GloGNN2, {"gated": "link"}, "exact"),
    "blocks": (GloGNN2, {"num_blocks": 2, "hidden_channels": 16}, "points"),
    "blocks by columns": (GloGNN2, {"num_blocks": 2, "hidden_channels": 16, "block_norm": "batch"}, "points"),
}


@pytest.mark.parametrize("kind", SETTINGS)
def test_parts_add_up(kind: str) -> None:
    build, settings, method = SETTINGS[kind]
    graph = Graph.from_data(make_data(), dtype=torch.float64)
    model = build(7, 3, 60, **settings).double().eval()
    if model.encoder.gates:
        torch.nn.init.constant_(model.encoder.gates["link"], 0.7)
    inputs = model.prepare(graph)
    for node in (9,) if method == "points" else (0, 9, 59):
        found = encoder_parts(model, inputs, node)
        torch.testing.assert_close(found.embedding, model.embeddings(inputs)[0][node].detach())
        assert found.method == method
        assert {part.name for part in found.inputs} == set(model.encoder.weights)
        scale = float(found.embedding.abs().max())
        assert float(found.gap.abs().max()) < (1e-12 if method != "points" else 1e-2) * scale


def test_no_more_points_are_taken_where_each_is_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_data(make_data(), dtype=torch.float64)
    model = GloGNN2(7, 3, 60, num_blocks=2, hidden_channels=16).double().eval()
    inputs = model.prepare(graph)
    many = encoder_parts(model, inputs, 9, gap=0.0)
    point = (1 + len(many.rows)) * 3 * sum(each.numel() for each in model.blocks.parameters())
    monkeypatch.setattr(encoder, "WORK", 27 * point)
    some = encoder_parts(model, inputs, 9, gap=0.0)
    monkeypatch.setattr(encoder, "MOST", 27)
    wanted = encoder_parts(model, inputs, 9, gap=0.0)
    torch.testing.assert_close(some.others, wanted.others, rtol=0, atol=0)
    assert not torch.equal(some.others, many.others)


@pytest.mark.parametrize("kind", ["hidden, deep", "output", "jumping"])
def test_pieces_are_the_limit_of_many_points(kind: str) -> None:
    """The mean derivative over 2,000 points of the line tends to what is computed by pieces."""
    build, settings, _ = SETTINGS[kind]
    graph = Graph.from_data(make_data(), dtype=torch.float64)
    model = build(7, 3, 60, **settings).double().eval()
    inputs = model.prepare(graph)
    found = {part.name: part for part in encoder_parts(model, inputs, 4).inputs}
    rows = {name: (m.csr.to_dense() if hasattr(m, "csr") else m)[4] for name, m in inputs.matrices.items()}
    places = (torch.arange(2_000, dtype=torch.float64) + 0.5) / 2_000
    along = {name: (places.unsqueeze(1) * row).requires_grad_() for name, row in rows.items()}
    gradients = torch.autograd.grad(model.encoder(along)[:, 1].sum(), list(along.values()))
    for (name, row), gradient in zip(rows.items(), gradients, strict=True):
        wanted = (row * gradient.mean(dim=0))[found[name].columns]
        torch.testing.assert_close(found[name].scores[:, 1], wanted, rtol=1e-2, atol=1e-5)


def test_a_linear_encoder_is_told_by_its_weights() -> None:
    graph = Graph.from_data(make_data(), dtype=torch.float64)
    model = GloGNN(7, 3, 60, num_encoder_layers=1, alpha=0.25).double()
    features, adjacency = encoder_parts(model, model.prepare(graph), 2).inputs
    weights = model.encoder.inputs["features"].weight
    torch.testing.assert_close(features.scores, 0.75 * graph.x[2].unsqueeze(1) * weights)
    row = graph.adjacency.normalized("row").csr.to_dense()[2]
    assert adjacency.columns.tolist() == row.nonzero().view(-1).tolist()
    torch.testing.assert_close(adjacency.values, row[adjacency.columns])
