"""Kernels of GPUs, and what computes the same without them, against dense formulas in float64."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from glognn.graph.row_plan import RowPlan
from glognn.graph.sparse import SparseMatrix
from glognn.nn.global_homophily import GlobalHomophily
from glognn.ops import kernels, products
from glognn.ops.activation import dropped, relu_dropout, relu_dropout_map
from glognn.ops.dropout import MemberDropout, Streams
from glognn.ops.factors import WIDEST
from glognn.ops.narrow import cross, narrow_matmul
from glognn.ops.products import added_matmul, spmm
from glognn.ops.scores import hits, losses
from glognn.training import optimiser
from glognn.training.config import TrainingConfig

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
WIDTHS = (1, 5, 65, 300)


@pytest.fixture(params=[pytest.param("kernels", marks=pytest.mark.gpu), "without"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With kernels, or as on a machine that has none."""
    if request.param == "without":
        monkeypatch.setattr(kernels, "DEVICES", ())
    kernels._available.cache_clear()
    return str(request.param)


def _matrix(kind: str, generator: np.random.Generator) -> sp.csr_array:
    dense = np.zeros((37, 29))
    if kind == "hub":
        dense[3] = generator.normal(size=29)
    elif kind == "hub column":
        dense[:, 4] = 1.0
    elif kind in ("random", "long rows"):
        dense = generator.normal(size=dense.shape) * (generator.random(dense.shape) < 0.3)
        dense[::5] = 0
        dense[11] = 1.0
    return sp.csr_array(dense)


def _close(found: Tensor, wanted: Tensor, dtype: torch.dtype, inputs: torch.dtype | None = None) -> None:
    assert found.dtype == dtype
    error = (found.detach().double() - wanted).norm() / wanted.norm().clamp(min=1)
    assert float(error) < TOLERANCE[inputs or dtype]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", ["none", "hub", "hub column", "random", "long rows"])
def test_products_and_their_gradients(kind: str, dtype: torch.dtype, path: str) -> None:
    generator = np.random.default_rng(0)
    made = _matrix(kind, generator)
    dense_matrix = torch.from_numpy(made.toarray()).to(DEVICE)
    for width in WIDTHS:
        matrix = SparseMatrix.from_scipy(made, dtype).to(device=DEVICE)
        if kind == "long rows":
            for each in (matrix, matrix.transpose):
                each.__dict__["plan"] = RowPlan.of(each.csr, piece=3)
        given, added, weight = (
            torch.from_numpy(generator.normal(size=(size, width))).to(DEVICE) for size in (29, 37, 37)
        )
        row = added[0].clone()
        more = ((0.5, added), (2.0, row)) if kind in ("random", "long rows") else ()
        for factor, base in ((1.0, None), *more):
            leaf = given.to(dtype, copy=True).requires_grad_()
            shift = None if base is None else base.to(dtype, copy=True).requires_grad_()
            out = spmm(matrix, leaf) if shift is None else added_matmul(matrix, leaf, factor, shift)
            _close(out, factor * dense_matrix @ given + (0 if base is None else base), dtype)
            (out * weight.to(dtype)).sum().backward()
            assert leaf.grad is not None
            _close(leaf.grad, factor * dense_matrix.T @ weight, dtype)
            if shift is not None and base is not None:
                assert shift.grad is not None
                _close(shift.grad, weight if base.dim() == 2 else weight.sum(0), dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_is_added_to_a_product_may_be_columns_of_a_wider_matrix(dtype: torch.dtype, path: str) -> None:
    generator = np.random.default_rng(0)
    made = _matrix("random", generator)
    matrix = SparseMatrix.from_scipy(made, dtype).to(device=DEVICE)
    given, wide, weight = (torch.from_numpy(generator.normal(size=size)) for size in ((29, 5), (37, 15), (37, 5)))
    for base in (wide, wide.T.contiguous().T):
        leaf = base.to(DEVICE, dtype, copy=True).requires_grad_()
        out = added_matmul(matrix, given.to(DEVICE, dtype), 1.0, leaf[:, 5:10])
        _close(out.cpu(), torch.from_numpy(made.toarray()) @ given + wide[:, 5:10], dtype)
        (out * weight.to(DEVICE, dtype)).sum().backward()
        assert leaf.grad is not None
        _close(leaf.grad.cpu(), torch.nn.functional.pad(weight, (5, 5)), dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_narrow_products_and_their_gradients(dtype: torch.dtype, path: str) -> None:
    generator = torch.Generator().manual_seed(0)
    for rows, width in ((0, 3), (1, 1), (77, 2), (1000, 5), (333, 16), (50, 17)):
        left, right = (torch.randn(rows, width, generator=generator, dtype=torch.float64).to(DEVICE) for _ in range(2))
        small, weight = (
            torch.randn(width, width, generator=generator, dtype=torch.float64).to(DEVICE) for _ in range(2)
        )
        first, second, factor = (each.to(dtype, copy=True).requires_grad_() for each in (left, right, small))
        crossed, mixed = cross(first, second), narrow_matmul(first, factor)
        _close(crossed, left.T @ right, torch.float64, dtype)
        _close(mixed, left @ small, dtype)
        ((crossed * weight).sum() + (mixed * right.to(dtype)).sum()).backward()
        assert first.grad is not None
        assert second.grad is not None
        assert factor.grad is not None
        _close(first.grad, right @ weight.T + right @ small.T, dtype)
        _close(second.grad, left @ weight, dtype)
        _close(factor.grad, left.T @ right, dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("biased", [True, False])
def test_activations_and_their_gradients(biased: bool, dtype: torch.dtype, path: str) -> None:
    generator = torch.Generator().manual_seed(0)
    for rows, width in ((1, 1), (50, 3), (300, 65), (77, 256), (3, 1100)):
        given, weight = (
            torch.randn(rows, width, generator=generator, dtype=torch.float64).to(DEVICE) for _ in range(2)
        )
        shift = torch.randn(width, generator=generator, dtype=torch.float64).to(DEVICE) * float(biased)
        for p, training in ((0.0, True), (0.5, False), (0.3, True)):
            value, bias = given.to(dtype, copy=True).requires_grad_(), shift.to(dtype, copy=True).requires_grad_()
            out = relu_dropout(value, p, training, bias if biased else None)
            positive = torch.relu(given + shift)
            scale = 1 / (1 - p) if training else 1.0
            kept = (out != 0) | (positive == 0)
            if not training or p == 0:
                assert bool(kept.all())
            torch.testing.assert_close(out.double()[kept], scale * positive[kept], rtol=1e-4, atol=1e-5)
            (out * weight.to(dtype)).sum().backward()
            assert value.grad is not None
            wanted = torch.where(out != 0, scale * weight, 0.0)
            torch.testing.assert_close(value.grad.double(), wanted, rtol=1e-4, atol=1e-12)
            if biased:
                assert bias.grad is not None
                torch.testing.assert_close(bias.grad.double(), wanted.sum(0), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_map_behind_an_activation_and_its_gradients(dtype: torch.dtype, path: str) -> None:
    generator = torch.Generator().manual_seed(0)
    for rows, width, classes in ((1, 1, 1), (300, 65, 5), (77, 256, 2), (40, 1025, 3), (30, 8, 17)):
        sizes = ((rows, width), (width,), (width, classes), (classes,), (rows, classes))
        drawn = [torch.randn(*size, generator=generator, dtype=torch.float64).to(DEVICE) for size in sizes]
        for p, biased in ((0.0, True), (0.0, False)):
            wanted, found = (
                [each.to(kind, copy=True).requires_grad_() for each in drawn[:4]] for kind in (torch.float64, dtype)
            )
            value, bias, weight, shift = wanted
            out = torch.relu(value + bias if biased else value) @ weight + shift
            (out * drawn[4]).sum().backward()
            value, bias, weight, shift = found
            scores = relu_dropout_map(value, p, True, bias if biased else None, weight, shift)
            (scores * drawn[4].to(dtype)).sum().backward()
            _close(scores, out.detach(), dtype)
            for one, other in zip(found, wanted, strict=True):
                if one.grad is not None and other.grad is not None:
                    _close(one.grad, other.grad, dtype)
                else:
                    assert one.grad is other.grad


@pytest.mark.gpu
@pytest.mark.parametrize("coefficient", ["plain", "exact", "released"])
@pytest.mark.parametrize(("scale_free", "tau"), [(False, "fixed"), (True, "learned")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_layers_factors_and_their_gradients(
    coefficient: str, scale_free: bool, tau: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One kernel for the c x c system, beside the plain path in float64, up to the widest that it solves and beyond."""
    generator = np.random.default_rng(0)
    adjacency = SparseMatrix.from_scipy(_square(generator), torch.float64).to(device=DEVICE)
    for channels in (1, 2, 3, 5, 16, 17, WIDEST, WIDEST + 1):
        settings = {"beta1": 0.3, "beta2": 0.7, "gamma": 0.2, "num_hops": 2, "scale_free": scale_free, "tau": tau}
        layer = GlobalHomophily(channels, coefficient=coefficient, **settings).double().to(DEVICE)
        for parameter in layer.parameters():
            torch.nn.init.uniform_(parameter, 0.4, 0.9)
        given = [torch.from_numpy(generator.normal(size=(37, channels))).to(DEVICE) for _ in range(3)]
        for same in (False, True):
            found = _of_layer(layer, given, adjacency, dtype, same)
            with monkeypatch.context() as without:
                without.setattr(kernels, "DEVICES", ())
                wanted = _of_layer(layer, given, adjacency, torch.float64, same)
            for each, other in zip(found, wanted, strict=True):
                _close(each, other, dtype)


def _of_layer(
    layer: GlobalHomophily, given: list[Tensor], adjacency: SparseMatrix, dtype: torch.dtype, same: bool
) -> list[Tensor]:
    """The next embedding, and the gradients of both embeddings, or of the one that is both, and of all weights."""
    H, H0, weight = (each.to(dtype, copy=True) for each in given)
    first = H.requires_grad_()
    second = first if same else H0.requires_grad_()
    own = deepcopy(layer).to(dtype)
    out = own(first, second, {"adjacency": adjacency.to(dtype=dtype)})
    asked = [first, *([] if same else [second]), *own.parameters()]
    return [out.detach(), *torch.autograd.grad((out * weight).sum(), asked)]


def _square(generator: np.random.Generator) -> sp.csr_array:
    return sp.csr_array(generator.normal(size=(37, 37)) * (generator.random((37, 37)) < 0.2) / 4)


@pytest.mark.gpu
def test_a_system_that_cannot_be_solved_gives_nan() -> None:
    layer = GlobalHomophily(3, beta1=0.0, beta2=1e-300, gamma=0.0, num_hops=1).to(DEVICE)
    H = torch.zeros(37, 3, device=DEVICE)
    out = layer(H, H, {"adjacency": SparseMatrix.from_scipy(_square(np.random.default_rng(0))).to(device=DEVICE)})
    assert torch.isfinite(out).all()  # small, and positive
    H[0, 0] = torch.inf
    out = layer(H, H, {"adjacency": SparseMatrix.from_scipy(_square(np.random.default_rng(0))).to(device=DEVICE)})
    assert torch.isnan(out).any()


@pytest.mark.gpu
def test_a_map_behind_dropout_has_the_gradient_of_what_it_kept() -> None:
    """Through a square map that leaves values as they are, they show what was dropped."""
    value = torch.rand(500, 16, device=DEVICE, dtype=torch.float64).requires_grad_()
    eye = torch.eye(16, device=DEVICE, dtype=torch.float64, requires_grad=True)
    out = relu_dropout_map(value, 0.4, True, None, eye, torch.zeros(16, device=DEVICE, dtype=torch.float64))
    kept = out.detach() != 0
    assert float(kept.double().mean()) == pytest.approx(0.6, abs=0.03)
    weight = torch.rand_like(out)
    (out * weight).sum().backward()
    assert value.grad is not None
    assert eye.grad is not None
    scale = out.detach()[kept] / value.detach()[kept]
    torch.testing.assert_close(scale, torch.full_like(scale, 1 / 0.6), rtol=1e-4, atol=0)
    torch.testing.assert_close(value.grad, torch.where(kept, weight, 0.0) * scale.mean(), rtol=1e-6, atol=1e-12)
    torch.testing.assert_close(eye.grad, out.detach().T @ weight, rtol=1e-9, atol=1e-9)


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(5000,), (700, 65), (3, 500, 7)])
def test_kernels_drop_the_share_asked_for_and_the_same_of_the_gradient(shape: tuple[int, ...]) -> None:
    value = torch.ones(shape, device=DEVICE, requires_grad=True)
    generator = torch.Generator(DEVICE).manual_seed(1)
    first, second = (dropped(value, 0.3, generator) for _ in range(2))
    for out in (first, second):
        assert float((out == 0).double().mean()) == pytest.approx(0.3, abs=0.03)
        assert float(out.max()) == pytest.approx(1 / 0.7, rel=1e-4)
    assert not torch.equal(first, second)
    first.sum().backward()
    assert value.grad is not None
    assert torch.equal(value.grad, first.detach())
    again = dropped(value.detach(), 0.3, torch.Generator(DEVICE).manual_seed(1))
    assert torch.equal(again, first)


@pytest.mark.gpu
@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize("axis", [0, 1])
def test_members_drop_what_they_would_alone_and_the_same_of_the_gradient(relu: bool, axis: int) -> None:
    device, chances = torch.device(DEVICE), torch.tensor([0.25, 0.5, 0.0], dtype=torch.float64, device=DEVICE)
    value, weight = (torch.randn(3, 300, 65, device=device) for _ in range(2))
    leaf = value.movedim(0, axis).contiguous().requires_grad_()
    mode = MemberDropout(Streams([(0,), (1,), (2,)], device))

    def one(given: Tensor, zero: Tensor, p: Tensor) -> Tensor:
        mode.zero = zero
        return relu_dropout(given, p, True) if relu else torch.nn.functional.dropout(given, p, True)

    with mode:
        out = torch.func.vmap(one, in_dims=(axis, 0, 0))(leaf, torch.zeros_like(chances), chances)
    (out * weight).sum().backward()
    assert leaf.grad is not None
    scale = (1 / (1 - chances)).float().view(3, 1, 1)
    torch.testing.assert_close(leaf.grad.movedim(axis, 0), torch.where(out != 0, weight * scale, 0.0))
    for member, p in enumerate(chances.tolist()):
        alone = MemberDropout(Streams([(member,)], device))
        with alone:
            same = relu_dropout(value[member], p, True) if relu else torch.nn.functional.dropout(value[member], p, True)
        assert torch.equal(out[member], same)


@pytest.mark.gpu
def test_what_kernels_drop_is_as_good_as_independent() -> None:
    """Neighbours in rows and columns, and values that share a draw, agree as often as chance has it."""
    out = relu_dropout(torch.ones(4096, 256, device=DEVICE), 0.5, True) > 0
    for rows, columns in ((1, 0), (0, 1), (4, 0), (8, 0), (16, 3)):
        pairs = out[rows:, columns:] == out[: len(out) - rows, : out.shape[1] - columns]
        assert float(pairs.double().mean()) == pytest.approx(0.5, abs=0.005)
    assert float(out.double().mean(0).max()) < 0.54


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("classes", [2, 5, 40])
def test_losses_hits_and_gradients_of_several_members(classes: int, dtype: torch.dtype, path: str) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(2, 400, classes, generator=generator, dtype=torch.float64)
    nodes = torch.stack([torch.randperm(400, generator=generator)[:301] for _ in range(2)])
    inside = torch.ones(2, 301, dtype=torch.bool)
    inside[1, -7:], nodes[1, -7:] = False, 0
    labels = torch.randint(classes, (2, 301), generator=generator)
    shares = inside * torch.rand(2, 301, generator=generator, dtype=torch.float64)
    logits, nodes, inside, labels, shares = (each.to(DEVICE) for each in (logits, nodes, inside, labels, shares))
    reference = logits.clone().requires_grad_()
    chosen = torch.stack([each[index] for each, index in zip(reference, nodes, strict=True)])
    entropy = torch.nn.functional.cross_entropy(chosen.flatten(0, 1), labels.flatten(), reduction="none")
    wanted = (entropy.view(2, -1) * shares).sum(1)
    value = logits.to(dtype, copy=True).requires_grad_()
    found = losses(value, nodes, labels, shares.to(dtype))
    _close(found, wanted.detach(), dtype)
    weights = torch.tensor([1.0, 3.0], dtype=dtype, device=DEVICE)
    (found * weights).sum().backward()
    (wanted * weights).sum().backward()
    assert value.grad is not None
    assert reference.grad is not None
    _close(value.grad, reference.grad, dtype)
    right = (chosen.argmax(2) == labels) & inside
    assert hits(value.detach(), nodes, labels, inside).tolist() == right.sum(1).tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", ["adam", "adamw"])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_steps_are_those_of_adam(
    decay: float, kind: str, dtype: torch.dtype, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of torch's in float64, over gradients of all magnitudes; a weight without a gradient stays and joins later."""
    monkeypatch.setattr(optimiser, "_LARGE", 1)
    generator = torch.Generator().manual_seed(0)
    shapes = ((1, 1), (7, 1, 3), (1025, 1), (300, 1, 17), (64, 1, 64))
    drawn = {str(shape): torch.randn(shape, generator=generator, dtype=torch.float64).to(DEVICE) for shape in shapes}
    reference = {name: weight.clone().requires_grad_() for name, weight in drawn.items()}
    weights = {name: weight.to(dtype, copy=True) for name, weight in drawn.items()}
    config = TrainingConfig(learning_rate=0.03, weight_decay=decay, optimizer=kind)
    found = optimiser.MemberAdam(weights, dict.fromkeys(weights, 1), [config])
    wanted = (torch.optim.Adam if kind == "adam" else torch.optim.AdamW)(
        reference.values(), lr=0.03, weight_decay=decay
    )
    for step in range(5):
        gradients: dict[str, Tensor | None] = {}
        for number, (name, weight) in enumerate(reference.items()):
            scale = 10.0 ** torch.randint(-9, 4, weight.shape, generator=generator)
            slope = torch.randn(weight.shape, generator=generator, dtype=torch.float64) * scale
            slope = slope.to(dtype).double().to(DEVICE)
            slope[0] = 0
            weight.grad = None if step == 0 and number == 1 else slope
            gradients[name] = None if weight.grad is None else slope.to(dtype)
        found.step(gradients)
        wanted.step()
    for name, weight in weights.items():
        tolerance = 1e-5 if dtype == torch.float32 else 1e-12
        torch.testing.assert_close(weight.double(), reference[name].detach(), rtol=tolerance, atol=tolerance)
    state = found.state()
    for number, name in enumerate(weights):
        own = wanted.state[reference[name]]
        assert float(state["steps"][number]) == float(own["step"]) == (4 if number == 1 else 5)
        for moment, key in (("first", "exp_avg"), ("second", "exp_avg_sq")):
            _close(state[f"{moment}/{name}"], own[key], dtype)


def test_without_triton_one_line_says_so(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(kernels, "DEVICES", ("cpu",))
    monkeypatch.setitem(sys.modules, "glognn.ops.kernels.activation", None)
    kernels._available.cache_clear()
    value = torch.ones(2, 2)
    assert not kernels.usable(value)
    assert not kernels.usable(value)
    [record] = caplog.records
    assert "torch's kernels are used" in record.message
    assert "\n" not in record.message
    kernels._available.cache_clear()
    monkeypatch.setenv("GLOGNN_KERNELS", "0")
    assert not kernels.usable(value)
    assert len(caplog.records) == 1
    kernels._available.cache_clear()


@pytest.mark.parametrize(("entries", "longest"), [(2_000, 64), (8192 * 300, 300), (8192 * 1100, 1024)])
def test_rows_are_cut_so_that_no_program_has_much_more_to_do_than_others(entries: int, longest: int) -> None:
    starts, columns = torch.tensor([0, entries], dtype=torch.int32), torch.arange(entries, dtype=torch.int32)
    plan = RowPlan.of(torch.sparse_csr_tensor(starts, columns, torch.ones(entries), (1, entries)))
    assert int((plan.pieces.ends - plan.pieces.begins).max()) == longest


def test_long_rows_are_cut_and_every_entry_is_in_one_piece() -> None:
    made = sp.csr_array(np.tri(40)[::-1])
    csr = SparseMatrix.from_scipy(made).csr
    plan = RowPlan.of(csr, piece=8)
    assert plan.ones
    assert sorted([*plan.whole.targets.tolist(), *plan.joined.targets.tolist()]) == list(range(40))
    covered = [
        number
        for rows in (plan.whole, plan.pieces)
        for begin, end in zip(rows.begins.tolist(), rows.ends.tolist(), strict=True)
        for number in range(begin, end)
    ]
    assert sorted(covered) == list(range(csr.values().numel()))
    assert int((plan.pieces.ends - plan.pieces.begins).max()) <= 8
    for first, last, row in zip(*(each.tolist() for each in vars(plan.joined).values()), strict=True):
        assert (int(plan.pieces.begins[first]), int(plan.pieces.ends[last - 1])) == (
            int(csr.crow_indices()[row]),
            int(csr.crow_indices()[row + 1]),
        )


@pytest.fixture
def rounding(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Matrices of any size are gathered in 16 bits where that is allowed."""
    for name, value in (("_OFTEN", {"high": 0, "medium": 0}), ("_WIDE", 1), ("_MANY", 0)):
        monkeypatch.setattr(products, name, value)
    before = torch.get_float32_matmul_precision()
    yield
    torch.set_float32_matmul_precision(before)


MAGNITUDES = {
    "ordinary": lambda rows: torch.ones(rows, 1),
    "of all sizes": lambda rows: 10.0 ** torch.linspace(-6, 6, rows).unsqueeze(1),
    "huge": lambda rows: torch.full((rows, 1), 1e36),
    "tiny": lambda rows: torch.full((rows, 1), 1e-36),
    "subnormal": lambda rows: torch.full((rows, 1), 1e-40),
    "zeros": lambda rows: torch.zeros(rows, 1),
}


@pytest.mark.gpu
@pytest.mark.parametrize("magnitude", MAGNITUDES)
@pytest.mark.parametrize("kind", ["hub", "random", "long rows"])
@pytest.mark.usefixtures("rounding")
def test_rows_gathered_in_16_bits_are_as_exact_as_dense_products(kind: str, magnitude: str) -> None:
    """A sum of v * d is off by at most 2^-11 of the sum of |v d|, as in TF32, whose factors have 11 bits.

    In bfloat16 it is 2^-8, and numbers below 2^-126 may be taken for 0. Beyond that there are what float32 sums round
    and, for values of float16 below 2^-28 of the largest, half of their spacing.
    """
    generator = np.random.default_rng(0)
    made = _matrix(kind, generator)
    exact = torch.from_numpy(made.toarray()).float().double().to(DEVICE)
    matrix = SparseMatrix.from_scipy(made).to(device=DEVICE)
    if kind == "long rows":
        for each in (matrix, matrix.transpose):
            each.__dict__["plan"] = RowPlan.of(each.csr, piece=3)
    for width in (1, 33, 64, 300):
        drawn = torch.from_numpy(generator.normal(size=(29, width))).float() * MAGNITUDES[magnitude](29)
        drawn[::4] = 0
        given, weight = drawn.to(DEVICE), torch.from_numpy(generator.normal(size=(37, width))).float().to(DEVICE)
        for precision, share, least in (("high", 2.0**-11, 2.0**-149), ("medium", 2.0**-8, 2.0**-126)):
            torch.set_float32_matmul_precision(precision)
            leaf = given.clone().requires_grad_()
            out = spmm(matrix, leaf)
            (slope,) = torch.autograd.grad(out, leaf, weight)
            for found, factor, dense in ((out.detach(), exact, given), (slope, exact.T, weight)):
                size = dense.double().abs()
                smallest = 2.0**-39 * size.max() + least
                bound = (share + 2.0**-20) * (factor.abs() @ size) + smallest * factor.abs().sum(1, keepdim=True)
                error = (found.double() - factor @ dense.double()).abs()
                assert bool((error <= bound + 2.0**-149).all())


@pytest.mark.gpu
@pytest.mark.usefixtures("rounding")
def test_what_is_not_finite_stays_so_and_spoils_no_other_row() -> None:
    matrix = SparseMatrix.from_scipy(_matrix("random", np.random.default_rng(0))).to(device=DEVICE)
    given = torch.randn(29, 65, generator=torch.Generator().manual_seed(0)).to(DEVICE)
    given[2, 3], given[5, 4], given[7, 4], given[9, 60] = torch.inf, torch.inf, -torch.inf, torch.nan
    wanted = spmm(matrix, given)
    torch.set_float32_matmul_precision("high")
    found = spmm(matrix, given)
    torch.testing.assert_close(found, wanted, rtol=1e-2, atol=1e-2, equal_nan=True)
    assert int(wanted.isfinite().sum()) == int(found.isfinite().sum()) < wanted.numel()


@pytest.mark.usefixtures("rounding")
def test_members_side_by_side_share_no_scale() -> None:
    """What several models multiply at once is rounded by no common scale; what one multiplies is."""
    matrix, dense = SparseMatrix.from_scipy(_matrix("random", np.random.default_rng(0))), torch.ones(29, 64)
    for allowed, alone, several in (("highest", "", ""), ("high", "high", ""), ("medium", "medium", "medium")):
        torch.set_float32_matmul_precision(allowed)
        assert products._rounded(matrix, dense, False) == alone
        assert products._rounded(matrix, dense, True) == several
        assert products._rounded(matrix, dense.double(), False) == ""
    asked = []
    torch.set_float32_matmul_precision("high")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            products, "_product", lambda matrix, dense, *, several: asked.append(several) or matrix.csr @ dense
        )
        stacked = torch.ones(3, 29, 4, requires_grad=True)
        torch.func.vmap(lambda each: spmm(matrix, each))(stacked).sum().backward()
        assert asked == [True, True]
        spmm(matrix, stacked[0]).sum().backward()
    assert asked == [True, True, False, False]
