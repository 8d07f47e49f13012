"""The closed-form layer against the paper's n x n formulas."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from glognn.errors import InputError, TrainingError
from glognn.graph.adjacency import Adjacency
from glognn.nn.config import COEFFICIENTS
from glognn.nn.global_homophily import GlobalHomophily
from glognn.nn.hops import Hops
from glognn.nn.inputs import ADJACENCY
from tests.reference.dense import Problem, reachability

EPS = torch.finfo(torch.float64).eps
GAMMAS = (0.0, 0.1, 0.5, 0.9, 0.99, 1.0)
BETAS = ((0.0, 1.0), (1.0, 1.0), (10.0, 0.01), (0.0, 1e-6), (1e-3, 1e6), (1.0, 0.0))


@dataclass(frozen=True)
class Case:
    num_nodes: int
    channels: int
    num_hops: int
    gamma: float
    beta1: float
    beta2: float
    kind: str
    normalization: str


def cases() -> list[Case]:
    """Every gamma with every pair of betas, the other choices taking turns so that all of them meet often."""
    sizes = itertools.cycle([(40, 1), (40, 2), (30, 5), (50, 20), (4, 7), (1, 3), (25, 13)])
    kinds = itertools.cycle(["undirected", "directed", "weighted", "directed weighted", "no edges"])
    hops = itertools.cycle(range(1, 7))
    norms = itertools.cycle(["row", "symmetric", "none", "row"])
    return [
        Case(*next(sizes), next(hops), gamma, *betas, next(kinds), next(norms))
        for _ in range(6)
        for gamma, betas in itertools.product(GAMMAS, BETAS)
    ]


def adjacency_of(case: Case, seed: int) -> Adjacency:
    """A random graph with isolated nodes (the last third of them)."""
    generator = torch.Generator().manual_seed(seed)
    num_edges = 0 if case.kind == "no edges" else 3 * case.num_nodes
    edges = torch.randint(0, max(1, 2 * case.num_nodes // 3), (2, num_edges), generator=generator)
    weight = torch.rand(num_edges, generator=generator).double() * 3 if "weighted" in case.kind else None
    adjacency, _ = Adjacency.from_edges(
        edges, weight, case.num_nodes, directed="directed" in case.kind, self_loops="keep", dtype=torch.float64
    )
    return adjacency


def layer_of(case: Case, coefficient: str, seed: int, *, scale_free: bool = False) -> GlobalHomophily:
    layer = GlobalHomophily(
        case.channels,
        coefficient=coefficient,
        num_hops=case.num_hops,
        beta1=case.beta1,
        beta2=case.beta2,
        gamma=case.gamma,
        normalization=case.normalization,
        scale_free=scale_free,
    )
    torch.manual_seed(seed)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)  # lambda and S of both signs
    return layer


def problem_of(layer: GlobalHomophily, H: Tensor, H0: Tensor, A: Tensor) -> Problem:
    scale = torch.ones(layer.channels) if layer.scale is None else layer.scale.detach()
    weights = torch.zeros(1) if layer.hops is None else layer.hops.weight.detach()
    P = reachability(A.double(), weights.double())
    coefficient, S = layer.coefficient, torch.diag(scale.double())
    V = H.double() @ S if coefficient == "exact" else H.double()
    size = float(torch.trace(V.T @ V)) / layer.channels if layer.scale_free else 1.0
    return Problem(H.double(), H0.double(), P, S, size * layer.beta1, size * layer.beta2, layer.gamma, coefficient)


def relative_error(found: Tensor, wanted: Tensor) -> float:
    return float(torch.linalg.norm(found.double() - wanted) / torch.linalg.norm(wanted))


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("scale_free", [False, True])
def test_update_equals_the_dense_formula(
    coefficient: str, dtype: torch.dtype, scale_free: bool, figures: dict[str, str]
) -> None:
    worst = checked = 0
    for number, case in enumerate(cases()):
        layer = layer_of(case, coefficient, number, scale_free=scale_free).to(dtype)
        H, H0 = torch.randn(2, case.num_nodes, case.channels, dtype=dtype)
        operators = {ADJACENCY: adjacency_of(case, number).to(dtype=dtype).normalized(case.normalization)}
        A = operators[ADJACENCY].csr.to_dense()
        reference = problem_of(layer, H, H0, A)
        error = relative_error(layer(H, H0, operators).detach(), reference.update())
        kappa = reference.kappa
        if dtype == torch.float64:
            assert error < (1e-10 if kappa <= 1e5 else 1e3 * EPS * kappa), (case, kappa)
        elif kappa <= 1e5:
            assert error < 1e-4, (case, kappa)
        if kappa <= 1e5:
            worst, checked = max(worst, error), checked + 1
    assert checked > 100
    precision = str(dtype).removeprefix("torch.")
    kind = f"{coefficient}{', scale-free' * scale_free}"
    figures[f"layer, {kind}, {precision}, worst relative error of {checked} cases"] = f"{worst:.1e}"


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_several_layers_equal_the_dense_formula(coefficient: str) -> None:
    for num_layers, gamma in itertools.product((2, 3), (0.0, 0.3, 0.9)):
        case = Case(30, 4, 3, gamma, 0.7, 1.3, "undirected", "symmetric")
        layer = layer_of(case, coefficient, 1).double()
        H = H0 = wanted = torch.randn(30, 4).double()
        operators = {ADJACENCY: adjacency_of(case, 1).normalized("symmetric")}
        A = operators[ADJACENCY].csr.to_dense()
        for _ in range(num_layers):
            wanted = problem_of(layer, wanted, H0, A).update()
            H = layer(H, H0, operators)
        assert relative_error(H.detach(), wanted) < 1e-10


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("scale_free", [False, True])
def test_rows_equal_rows_of_the_dense_matrix(
    coefficient: str, dtype: torch.dtype, scale_free: bool, figures: dict[str, str]
) -> None:
    """Rows are computed in float64 from whatever the model holds, so the same bound holds for both."""
    worst = checked = 0
    for number, case in enumerate(cases()):
        layer = layer_of(case, coefficient, number, scale_free=scale_free).to(dtype)
        H, H0 = torch.randn(2, case.num_nodes, case.channels, dtype=dtype)
        operators = {ADJACENCY: adjacency_of(case, number).to(dtype=dtype).normalized(case.normalization)}
        reference = problem_of(layer, H, H0, operators[ADJACENCY].csr.to_dense())
        nodes = torch.randint(0, case.num_nodes, (5,))
        wanted = reference.Z()[nodes]
        if not torch.linalg.norm(wanted):  # beta2 = 0 and gamma = 1: Z* is zero
            assert not torch.linalg.norm(layer.rows(H, H0, operators, nodes))
            continue
        error = relative_error(layer.rows(H, H0, operators, nodes).detach(), wanted)
        kappa = reference.kappa
        assert error < (1e-10 if kappa <= 1e5 else 1e3 * EPS * kappa), (case, kappa)
        if kappa <= 1e5:
            worst, checked = max(worst, error), checked + 1
    precision = str(dtype).removeprefix("torch.")
    kind = f"{coefficient}{', scale-free' * scale_free}"
    figures[f"rows of Z*, {kind}, {precision}, worst relative error of {checked} cases"] = f"{worst:.1e}"


@pytest.mark.parametrize("coefficient", ["plain", "exact"])
@pytest.mark.parametrize("scale_free", [False, True])
def test_rows_minimise_the_objective(coefficient: str, scale_free: bool) -> None:
    case = Case(20, 3, 2, 0.4, 0.5, 1.5, "undirected", "row")
    layer = layer_of(case, coefficient, 3, scale_free=scale_free).double()
    H, H0 = torch.randn(2, 20, 3).double()
    operators = {ADJACENCY: adjacency_of(case, 3).normalized("row")}
    reference = problem_of(layer, H, H0, operators[ADJACENCY].csr.to_dense())
    Z = layer.rows(H, H0, operators, torch.arange(20)).detach().requires_grad_()
    lowest = reference.objective(Z)
    (gradient,) = torch.autograd.grad(lowest, Z)
    assert gradient.abs().max() < 1e-10
    for size in (1e-3, 1e-1, 10.0):
        for _ in range(20):
            assert reference.objective(Z.detach() + size * torch.randn_like(Z)) > lowest


def test_gamma_one_returns_the_initial_embedding() -> None:
    layer = GlobalHomophily(3, gamma=1.0)
    H, H0 = torch.randn(2, 10, 3)
    assert torch.equal(layer(H, H0, torch.zeros(2, 0, dtype=torch.long)), H0)


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
@pytest.mark.parametrize("scale_free", [False, True])
def test_without_scale_the_layer_commutes_with_another_unit(coefficient: str, scale_free: bool) -> None:
    """Of embeddings in another unit the scale-free layer makes the same in that unit, the paper's makes another."""
    case = Case(30, 4, 3, 0.3, 0.1, 1.0, "undirected", "symmetric")
    layer = layer_of(case, coefficient, 2, scale_free=scale_free).double()
    operators = {ADJACENCY: adjacency_of(case, 2).normalized("symmetric")}
    H, H0 = torch.randn(2, 30, 4).double()
    wanted = layer(H, H0, operators).detach()
    for unit in (1e-6, 1e-2, 1e3, 1e6):
        error = relative_error(layer(unit * H, unit * H0, operators).detach() / unit, wanted)
        assert error < 1e-12 if scale_free else error > 1e-3, unit


def test_a_scale_free_layer_of_zeros_is_zero() -> None:
    layer = GlobalHomophily(3, scale_free=True, tau="learned")
    zeros = torch.zeros(5, 3, requires_grad=True)
    out = layer(zeros, zeros, torch.tensor([[0, 1], [1, 0]]))
    out.sum().backward()
    assert not out.any()
    assert torch.isfinite(zeros.grad).all()


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_tau_goes_a_share_of_the_way(share: float) -> None:
    case = Case(30, 4, 3, 0.3, 0.1, 1.0, "undirected", "symmetric")
    operators = {ADJACENCY: adjacency_of(case, 2).normalized("symmetric")}
    H, H0 = torch.randn(2, 30, 4).double()
    whole, part = (GlobalHomophily(4, num_hops=3, tau=tau).double() for tau in ("fixed", "learned"))
    assert float(part.tau) == 1
    torch.nn.init.constant_(part.tau, share)
    torch.testing.assert_close(part(H, H0, operators), H + share * (whole(H, H0, operators) - H))


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
@pytest.mark.parametrize("gamma", [0.0, 0.6])
@pytest.mark.parametrize("scale_free", [False, True])
def test_gradients(coefficient: str, gamma: float, scale_free: bool) -> None:
    case = Case(9, 3, 3, gamma, 0.4, 0.9, "directed weighted", "row")
    layer = layer_of(case, coefficient, 5, scale_free=scale_free).double()
    operators = {ADJACENCY: adjacency_of(case, 5).normalized("row")}
    names = [name for name, _ in layer.named_parameters()]

    def run(H: Tensor, H0: Tensor, *values: Tensor) -> Tensor:
        parameters = dict(zip(names, values, strict=True))
        return torch.func.functional_call(layer, parameters, (H, H0, operators))

    inputs = [torch.randn(9, 3).double().requires_grad_() for _ in range(2)]
    inputs += [parameter.detach().clone().requires_grad_() for parameter in layer.parameters()]
    assert len(names) == (1 if coefficient == "plain" else 2)
    assert torch.autograd.gradcheck(run, inputs)


def test_takes_an_edge_index_and_remembers_it() -> None:
    layer = GlobalHomophily(3, num_hops=2, normalization="symmetric")
    H, H0 = torch.randn(2, 6, 3)
    edge_index = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
    adjacency, _ = Adjacency.from_edges(edge_index, None, 6, directed=True, self_loops="keep", dtype=torch.float32)
    wanted = layer(H, H0, {ADJACENCY: adjacency.normalized("symmetric")})
    assert torch.equal(layer(H, H0, edge_index), wanted)
    assert torch.equal(layer(H, H0, edge_index), wanted)
    edge_index[1, 0] = 5  # a change in place must be noticed
    assert not torch.equal(layer(H, H0, edge_index), wanted)
    with pytest.raises(InputError, match=r"holds node 9, but nodes must be in the range \[0, 5\]"):
        layer(H, H0, torch.tensor([[0], [9]]))


def test_without_beta2_there_is_no_graph_and_no_lambda() -> None:
    layer = GlobalHomophily(3, beta2=0.0)
    assert list(layer.parameters()) == []
    H, H0 = torch.randn(2, 6, 3)
    assert layer(H, H0, {}).shape == (6, 3)


def test_other_words_than_powers() -> None:
    """P may be any weighted sum of products of operators, such as A A^T for a directed graph."""
    case = Case(12, 3, 2, 0.2, 0.5, 1.0, "directed", "none")
    matrix = adjacency_of(case, 2).matrix
    operators = {"out": matrix, "in": matrix.transpose}
    layer = GlobalHomophily(
        3, beta1=0.5, beta2=1.0, gamma=0.2, hops=Hops([("out",), ("out", "in"), ("in", "out", "out")])
    ).double()
    torch.nn.init.normal_(layer.hops.weight)
    A, w = matrix.csr.to_dense(), layer.hops.weight.detach()
    P = w[0] * A + w[1] * A @ A.T + w[2] * A.T @ A @ A
    H, H0 = torch.randn(2, 12, 3).double()
    reference = Problem(H, H0, P, torch.eye(3).double(), 0.5, 1.0, 0.2, "plain")
    assert relative_error(layer(H, H0, operators).detach(), reference.update()) < 1e-10
    assert relative_error(layer.rows(H, H0, operators, torch.arange(12)).detach(), reference.Z()) < 1e-10


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gamma": 1.5}, r"'gamma' parameter of GlobalHomophily must be a number in the range \[0.0, 1.0\]. Got 1.5"),
        ({"gamma": float("nan")}, "Got nan instead"),
        ({"beta1": 0.0, "beta2": 0.0}, r"sum in the range \(0.0, inf\). Got 0.0 \+ 0.0"),
        ({"beta1": -1.0}, "Got -1.0 instead"),
        ({"num_hops": 0}, r"an integer in the range \[1, 64\]. Got 0"),
        ({"num_hops": 1.5}, "Got 1.5 instead"),
        ({"coefficient": "newest"}, "Got 'newest' instead"),
        ({"normalization": "max"}, "one of 'row', 'symmetric', 'none'. Got 'max'"),
        ({"gama": 0.5}, "Did you mean 'gamma'"),
    ],
)
def test_wrong_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GlobalHomophily(3, **settings)


def test_an_unsolvable_system_says_so() -> None:
    layer = GlobalHomophily(2, gamma=0.0)
    wanted = {1e20: r"beta1 \+ beta2 = 2 is lost .* Raise beta1 or beta2", torch.nan: "embeddings that are not finite"}
    for value, message in wanted.items():
        H = torch.full((10, 2), value)
        with pytest.raises(TrainingError, match=message):
            layer(H, H, torch.zeros(2, 0, dtype=torch.long))
