"""Contributions of nodes to class scores against dense n x n formulas."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from glognn.errors import InputError
from glognn.explain.contributions import GlobalContributions
from glognn.graph.graph import Graph
from glognn.models.glognn import GloGNN, GloGNNPlusPlus
from glognn.models.glognn2 import GloGNN2
from tests.conftest import make_data
from tests.reference.contributions import through_all, through_last
from tests.reference.dense import Problem

NODES = 40
KINDS: dict[str, tuple[type[GloGNN], dict[str, Any]]] = {
    "GloGNN": (GloGNN, {"num_hops": 3}),
    "GloGNN, no hops": (GloGNN, {"beta2": 0.0}),
    "GloGNN, gamma 1": (GloGNN, {"gamma": 1.0}),
    "GloGNN++, exact": (GloGNNPlusPlus, {"coefficient": "exact", "beta2": 7.0}),
    "GloGNN++, released": (GloGNNPlusPlus, {"coefficient": "released", "gamma": 0.1}),
    "GloGNN2": (GloGNN2, {}),
    "GloGNN2, directions, blocks": (GloGNN2, {"directions": "separate", "num_hops": 2, "num_blocks": 2}),
}


def made(kind: str, layers: int, dtype: torch.dtype) -> tuple[GloGNN, Graph]:
    """A model whose weights, lambda, S and tau are all different."""
    build, settings = KINDS[kind]
    graph = Graph.from_data(make_data(NODES, num_edges=90), dtype=dtype)
    model = build(7, 3, NODES, num_layers=layers, **settings).to(dtype)
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in model.layer.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model, graph


def dense(model: GloGNN, graph: Graph) -> tuple[list[torch.Tensor], list[torch.Tensor], torch.Tensor, float]:
    """Z* of every layer, embeddings, S and tau, by the paper's formulas in float64."""
    inputs, layer = model.prepare(graph), model.layer
    H = [each.detach().double() for each in model.eval().embeddings(inputs)]
    P = torch.zeros(NODES, NODES, dtype=torch.float64)
    for word, weight in [] if layer.hops is None else zip(layer.hops.words, layer.hops.weight, strict=True):
        product = torch.eye(NODES, dtype=torch.float64)
        for letter in word:
            product = product @ inputs.operators[letter].csr.to_dense().double()
        P += weight.detach().double() * product
    S = torch.eye(3, dtype=torch.float64) if layer.scale is None else torch.diag(layer.scale.detach().double())
    Zs = []
    for each in H[:-1]:
        V = each @ S if layer.coefficient == "exact" else each
        t = float((V.T @ V).trace() / 3) if layer.scale_free else 1.0
        problem = Problem(each, H[0], P, S, layer.beta1 * t, layer.beta2 * t, layer.gamma, layer.coefficient)
        Zs.append(problem.Z())
    return Zs, H, S, 1.0 if layer.tau is None or layer.gamma == 1 else layer.tau.item()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_contributions_add_up_to_the_scores(kind: str, dtype: torch.dtype, figures: dict[str, str]) -> None:
    """Rows, contributions and sums, for one to three layers, within 1e-9 of the dense formula."""
    worst, rounded = {"rows": 0.0, "contributions": 0.0, "sums": 0.0}, 0.0
    for layers in (1, 2, 3):
        model, graph = made(kind, layers, dtype)
        Zs, H, S, tau = dense(model, graph)
        gamma = float(model.layer.gamma)
        every, own = through_last(Zs[-1], H[-2], H[0], S, gamma, tau)
        whole = through_all(Zs, H[0], S, gamma, tau)
        exact = every.sum(1) + sum(own.values())
        found = GlobalContributions(model, graph)
        for node in (0, 7, NODES - 1):  # the last one is isolated
            last, down = found.of(node), found.of(node, "all")
            pairs = [
                ("rows", last.coefficients, Zs[-1][node]),
                ("contributions", last.by_node, every[node]),
                *(("contributions", value, own[name][node]) for name, value in last.own.items()),
                ("sums", last.total, exact[node]),
            ]
            if dtype == torch.float64:  # the layers before the last are rounded as the model rounds them
                pairs += [("contributions", down.by_node, whole[node]), ("sums", down.total, exact[node])]
            ways = sum((way.scores for way in found.ways(node)), sum(last.own.values(), torch.zeros_like(last.total)))
            pairs.append(("sums", ways, exact[node]))
            for name, value, wanted in pairs:
                scale = float(wanted.abs().max()) or 1.0
                worst[name] = max(worst[name], float((value - wanted).abs().max()) / scale)
            assert down.own == {}
            to_inputs = [] if "blocks" in kind else [found.of(node, "inputs")]
            for each in (last, down, *to_inputs):
                error = float((each.total - each.scores).abs().max() / each.scores.abs().max())
                assert error < (1e-9 if dtype == torch.float64 else 1e-4)
                rounded = max(rounded, error)
    assert max(worst.values()) < 1e-9, worst
    errors = ", ".join(f"{name} {error:.0e}" for name, error in worst.items())
    figures[f"{kind} taken apart, {str(dtype)[6:]}, worst relative errors"] = f"{errors}; of the model's {rounded:.0e}"


def test_what_is_left_as_it_was_and_what_is_refused() -> None:
    model, graph = made("GloGNN", 2, torch.float32)
    model.train()
    found = GlobalContributions(model, graph)
    assert model.training
    with pytest.raises(InputError, match=r"nodes must be in the range \[0, 39\]. Got 40"):
        found.of(40)
    with pytest.raises(InputError, match=r"'through' parameter must be one of .* Got 'first'"):
        found.of(0, "first")
    with pytest.raises(InputError, match="GloGNN2 with num_layers 0 applies no layer"):
        GlobalContributions(GloGNN2(7, 3, NODES, num_layers=0), graph)
