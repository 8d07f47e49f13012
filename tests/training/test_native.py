"""The compiled training step against the modules, autograd and torch.optim."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from glognn.errors import InputError
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.graph.sparse import SparseMatrix
from glognn.models.configs import find_model
from glognn.models.glognn import GloGNN
from glognn.native import build, library
from glognn.training.config import TrainingConfig
from glognn.training.engines import Members, NativeEngine, native
from glognn.training.evaluation import Evaluation
from tests.conftest import make_data

needs_library = pytest.mark.skipif(library.find_library() is None, reason="the native core is not built")

STEPS = 20
TRAINING = TrainingConfig(learning_rate=0.01, weight_decay=5e-4, seed=3)


def make_graph(*, sparse: bool = False, classes: int = 3, nodes: int = 60, **settings: Any) -> Graph:
    weighted = settings.pop("weighted", False)
    data = make_data(num_nodes=nodes, num_classes=classes, num_features=13, weighted=weighted, num_splits=4)
    if sparse:
        data.x = data.x * (torch.rand(data.x.shape) < 0.1)
    return Graph.from_data(data, GraphConfig(**settings))


def make_model(graph: Graph, seed: int = 0, **settings: Any) -> GloGNN:
    torch.manual_seed(seed)
    coefficient = settings.get("coefficient", "plain")
    name = "glognn" if coefficient == "plain" else "glognn++"
    given = {key: value for key, value in settings.items() if key != "coefficient" or value != "plain"}
    config = find_model(name).from_mapping({"dropout": 0.0, "hidden_channels": 24, "num_layers": 2} | given)
    model = config.model_class().for_graph(graph, config)
    assert isinstance(model, GloGNN)
    return model


def make_glognn2(graph: Graph, seed: int = 0, **settings: Any) -> GloGNN:
    """One in which what starts at 0 or 1 is somewhere else, so that no gradient vanishes by itself."""
    torch.manual_seed(seed)
    config = find_model("glognn2").from_mapping({"dropout": 0.0, "hidden_channels": 24} | settings)
    model = config.model_class().for_graph(graph, config)
    assert isinstance(model, GloGNN)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if any(part in name for part in ("shares", "gates", "norm", "tau")):
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model


class Reference:
    """A member trained with autograd and torch.optim, in any precision; dropout keeps what it is told to."""

    def __init__(self, graph: Graph, model: GloGNN, config: TrainingConfig, split: int, dtype: torch.dtype) -> None:
        self.graph = graph.to(dtype=dtype)
        self.model = type(model).for_graph(graph, model.config)
        self.model.load_state_dict(model.state_dict())
        self.model.to(dtype)
        self.inputs = self.model.prepare(self.graph)
        self.train = graph.masks["train"][:, split]
        kind = torch.optim.Adam if config.optimizer == "adam" else torch.optim.AdamW
        self.optimizer = kind(self.model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)

    def step(self, kept: Tensor | None = None) -> float:
        self.optimizer.zero_grad()
        self.model.train()
        with nullcontext() if kept is None else Kept(kept):
            logits = self.model.logits(self.inputs)
        loss = F.cross_entropy(logits[self.train], self.graph.y[self.train])
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())

    def logits(self) -> Tensor:
        self.model.eval()
        with torch.no_grad():
            return self.model.logits(self.inputs).double()


class Kept(TorchFunctionMode):
    """Within this context the first dropout keeps what the first mask says, and so on."""

    def __init__(self, masks: Tensor) -> None:
        super().__init__()
        self._masks = iter(masks)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is not F.dropout:
            return func(*args, **(kwargs or {}))
        return args[0] * next(self._masks) / (1 - kwargs["p"])


def difference(a: Tensor, b: Tensor) -> float:
    return float((a.double() - b.double()).abs().max() / b.double().abs().max().clamp(min=1e-3))


CASES = [
    ({}, {}, {}),
    ({"alpha": 0.0}, {}, {"sparse": True}),
    ({"alpha": 1.0, "num_hops": 1}, {}, {}),
    ({"alpha": 0.3, "num_layers": 1, "num_hops": 4, "gamma": 0.0}, {}, {"sparse": True, "classes": 5}),
    ({"num_layers": 3, "num_hops": 3, "gamma": 0.8, "beta1": 0.0, "beta2": 50.0}, {}, {"classes": 7}),
    ({"gamma": 1.0, "coefficient": "exact"}, {}, {}),
    ({"beta2": 0.0, "gamma": 0.2, "coefficient": "released"}, {}, {"classes": 4}),
    ({"coefficient": "exact", "num_layers": 3, "beta1": 0.0}, {"optimizer": "adamw"}, {"directed": True}),
    ({"coefficient": "released", "num_hops": 3, "gamma": 0.3}, {"weight_decay": 0.0}, {"weighted": True}),
    ({"coefficient": "released", "num_layers": 1, "beta2": 0.0}, {"optimizer": "adamw"}, {"classes": 6}),
    ({"coefficient": "exact", "normalization": "symmetric"}, {}, {"weighted": True, "directed": True}),
    ({"normalization": "none", "beta1": 30.0, "hidden_channels": 80, "gamma": 0.1}, {}, {"classes": 2}),
    ({"coefficient": "exact", "hidden_channels": 7}, {}, {"classes": 11}),
    ({"hidden_channels": 40, "num_hops": 18}, {}, {"classes": 16}),
    ({"num_encoder_layers": 3, "normalization": "none"}, {"optimizer": "adamw"}, {"classes": 2}),
    ({"num_encoder_layers": 5, "hidden_channels": 37, "coefficient": "released"}, {}, {"sparse": True}),
    ({"num_encoder_layers": 3, "dropout": 0.4, "alpha": 0.0}, {}, {"classes": 5}),
    ({"num_encoder_layers": 2, "dropout": 0.7, "coefficient": "exact"}, {}, {}),
    ({"num_hops": 3, "gamma": 0.3}, {"optimizer": "adamw"}, {"classes": 17, "nodes": 300}),
    ({"coefficient": "exact", "num_layers": 3, "num_hops": 1}, {}, {"classes": 40, "nodes": 400, "directed": True}),
    ({"coefficient": "released", "dropout": 0.4}, {}, {"classes": 18, "nodes": 300, "sparse": True}),
    ({"coefficient": "released", "beta2": 0.0, "num_layers": 1}, {}, {"classes": 33, "nodes": 400}),
    ({"coefficient": "exact", "gamma": 1.0}, {}, {"classes": 20, "nodes": 300}),
]


@needs_library
@pytest.mark.parametrize(("model", "training", "graph"), CASES)
def test_equals_autograd_step_by_step(model: dict[str, Any], training: dict[str, Any], graph: dict[str, Any]) -> None:
    """With the same values dropped the error against a float64 run is that of PyTorch, within a factor of 10."""
    prepared = make_graph(**graph)
    config = TrainingConfig.from_mapping(TRAINING.as_dict() | training)
    assert_equals_autograd(prepared, make_model(prepared, **model), config)


GLOGNN2 = [
    ({"reads": "features"}, {}, {}),
    ({}, {"optimizer": "adamw"}, {"sparse": True, "classes": 5}),
    ({"reads": "features link link_in degrees neighbours"}, {}, {"sparse": True, "directed": True}),
    ({"reads": "features neighbours_out neighbours_in", "num_layers": 0}, {}, {"directed": True}),
    ({"reads": "link", "num_hops": 1}, {}, {"classes": 2}),
    ({"reads": "features degrees", "num_blocks": 3, "num_layers": 0, "hidden_channels": 40}, {}, {"directed": True}),
    ({"num_blocks": 2, "gated": "features link", "num_layers": 3}, {}, {"directed": True, "weighted": True}),
    ({"gated": "features link degrees", "tau": "fixed"}, {"weight_decay": 0.0}, {"classes": 4}),
    ({"num_blocks": 1, "hidden_channels": 7, "beta1": 0.0}, {"optimizer": "adamw"}, {"classes": 9}),
    ({"scale_free": False, "beta1": 3.0, "hidden_channels": 80}, {}, {"classes": 7}),
    ({"beta2": 0.0, "num_blocks": 1}, {}, {"classes": 16}),
    ({"gamma": 1.0}, {}, {}),
    ({"num_blocks": 3, "block_norm": "batch", "num_layers": 0, "hidden_channels": 40}, {}, {"directed": True}),
    ({"reads": "features", "num_blocks": 2, "block_norm": "batch", "hidden_channels": 7}, {}, {"classes": 9}),
    ({"reads": "features", "num_layers": 0}, {}, {"classes": 17, "sparse": True}),
    ({"num_blocks": 1, "block_norm": "batch", "num_layers": 0}, {"optimizer": "adamw"}, {"classes": 18}),
    ({"gated": "link", "num_layers": 0, "num_blocks": 2}, {}, {"classes": 33, "nodes": 500}),
    ({"reads": "features degrees", "num_layers": 0}, {}, {"classes": 64, "nodes": 700}),
    ({"reads": "features degrees"}, {}, {"classes": 64, "nodes": 700}),
    ({"gated": "features link", "num_layers": 3, "num_hops": 2}, {"optimizer": "adamw"}, {"classes": 17, "nodes": 400}),
    ({"num_blocks": 1, "tau": "fixed", "gamma": 0.6}, {}, {"classes": 35, "nodes": 500, "sparse": True}),
]


@needs_library
@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize(("model", "training", "graph"), GLOGNN2)
def test_glognn2_equals_autograd_step_by_step(
    model: dict[str, Any], training: dict[str, Any], graph: dict[str, Any], dropout: float
) -> None:
    prepared = make_graph(**graph)
    config = TrainingConfig.from_mapping(TRAINING.as_dict() | training)
    assert_equals_autograd(prepared, make_glognn2(prepared, dropout=dropout, **model), config, steps=8)


@needs_library
def test_a_gate_that_has_reached_zero_stays_there() -> None:
    graph = make_graph()
    model = make_glognn2(graph, gated="degrees link")
    with torch.no_grad():
        for gate in model.encoder.gates.values():
            gate.fill_(-0.1)
    assert_equals_autograd(graph, model, TRAINING)


@needs_library
@pytest.mark.parametrize("coefficient", ["plain", "exact", "released"])
def test_scale_free_betas_and_tau_serve_every_coefficient(coefficient: str) -> None:
    graph = make_graph(classes=5)
    model = make_model(graph, coefficient=coefficient, scale_free=True, tau="learned", num_hops=3)
    with torch.no_grad():
        assert model.layer.tau is not None
        model.layer.tau.fill_(0.6)
    assert_equals_autograd(graph, model, TRAINING)


def assert_equals_autograd(
    graph: Graph, first: GloGNN, config: TrainingConfig, steps: int = STEPS, split: int = 1
) -> None:
    exact = Reference(graph, first, config, split, torch.float64)
    rounded = Reference(graph, first, config, split, torch.float32)
    native = NativeEngine(Members(graph, [first], [config], [split]))
    assert difference(native.logits()[0], exact.logits()) < 1e-5
    for number in range(steps):
        kept = native.mask(0) if first.config.dropout else None
        loss = float(native.step()[0])
        expected = exact.step(kept)
        usual = abs(rounded.step(kept) - expected)
        assert abs(loss - expected) < 10 * usual + 2e-5 * (1 + number), number
    error, usual = (difference(found, exact.logits()) for found in (native.logits()[0], rounded.logits()))
    assert error < 10 * usual + 1e-4
    state = native.state(0)
    assert set(state) == set(first.state_dict())
    for name, value in exact.model.state_dict().items():
        usual = difference(rounded.model.state_dict()[name], value)
        assert difference(state[name], value) < 10 * usual + 1e-4, name


@needs_library
@pytest.mark.parametrize("kind", ["released", "glognn2", "by columns"])
@pytest.mark.parametrize("level", build.LEVELS)
def test_every_level_of_vector_instructions_gives_the_same_to_rounding(
    level: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = make_graph(classes=5)
    models, configs, splits = batch_of(kind, graph)
    expected = NativeEngine(Members(graph, models, configs, splits))
    best = library.find_library()
    assert best is not None
    if level not in build.levels() or best.level < list(build.LEVELS).index(level):
        pytest.skip("not a level of this machine")
    loaded, reason = library.open_library(build.library_path(level, library.folder()))
    assert loaded is not None, reason
    monkeypatch.setattr("glognn.training.engines.native.find_library", lambda: loaded)
    members = NativeEngine(Members(graph, models, configs, splits))
    assert all(torch.equal(members.mask(index), expected.mask(index)) for index in range(len(models)))
    torch.testing.assert_close(advanced(members, 8), advanced(expected, 8), rtol=1e-4, atol=1e-5)


def batch(graph: Graph, count: int = 5, **settings: Any) -> tuple[list[GloGNN], list[TrainingConfig], list[int]]:
    """Members that differ in everything they may differ in."""
    models = [
        make_model(
            graph,
            seed,
            num_hops=3,
            alpha=0.2 + 0.1 * seed,
            beta1=float(seed),
            gamma=0.2 * seed,
            dropout=0.0 if seed == 1 else 0.15 * (seed + 1),
            **settings,
        )
        for seed in range(count)
    ]
    configs = [
        TrainingConfig(
            learning_rate=0.01 * (seed + 1),
            weight_decay=1e-4 * seed,
            optimizer="adamw" if seed % 2 else "adam",
            seed=seed,
        )
        for seed in range(count)
    ]
    return models, configs, [seed % graph.num_splits for seed in range(count)]


def batch_of(kind: str, graph: Graph) -> tuple[list[GloGNN], list[TrainingConfig], list[int]]:
    models, configs, splits = batch(graph, coefficient="released")
    if kind != "released":
        norm = "batch" if kind == "by columns" else "layer"
        own = [(0.5 + seed, 0.2 * seed, 0.0 if seed == 1 else 0.15 * seed) for seed in range(len(models))]
        models = [
            make_glognn2(graph, seed, num_blocks=2, block_norm=norm, beta1=beta1, gamma=gamma, dropout=dropout)
            for seed, (beta1, gamma, dropout) in enumerate(own)
        ]
    return models, configs, splits


def advanced(members: NativeEngine, steps: int) -> Tensor:
    return torch.stack([members.step() for _ in range(steps)])


def assert_same(members: NativeEngine, index: int, other: NativeEngine, place: int) -> None:
    assert torch.equal(members.logits()[index], other.logits()[place])
    theirs = other.state(place)
    for name, value in members.state(index).items():
        assert torch.equal(value, theirs[name]), name


@needs_library
@pytest.mark.parametrize("dropout", [0.3, 0.8])
def test_dropout_equals_autograd_with_the_same_mask(dropout: float) -> None:
    graph = make_graph(classes=5)
    model = make_model(graph, dropout=dropout, coefficient="exact")
    reference = Reference(graph, model, TRAINING, 0, torch.float64)
    members = NativeEngine(Members(graph, [model], [TRAINING], [0]))
    masks = []
    for _ in range(STEPS):
        masks.append(members.mask(0))
        expected = reference.step(masks[-1])
        assert float(members.step()[0]) == pytest.approx(expected, abs=1e-4)
        assert difference(members.logits()[0], reference.logits()) < 1e-3
    kept = torch.stack(masks).double()
    assert float(kept.mean()) == pytest.approx(1 - dropout, abs=0.01)
    assert not torch.equal(masks[0], masks[1])


@needs_library
@pytest.mark.parametrize("classes", [2, 5, 16])
def test_losses_and_accuracies_are_those_of_the_plain_evaluation(classes: int) -> None:
    graph = make_graph(classes=classes)
    splits = [0, 2, 2]
    models = [make_model(graph, seed) for seed in range(3)]
    members = NativeEngine(Members(graph, models, [TRAINING] * 3, splits))
    for kept in ([0, 1, 2], [2, 0]):
        if len(kept) < len(members):
            members.keep(kept)
        members.step()
        expected = Evaluation(graph, [splits[index] for index in kept], TRAINING).measure(members.logits())
        torch.testing.assert_close(members.evaluate()[1:], expected[1:], rtol=0, atol=0)
        torch.testing.assert_close(members.evaluate()[0], expected[0], rtol=1e-6, atol=0)


@needs_library
@pytest.mark.parametrize("kind", ["released", "glognn2", "by columns"])
@pytest.mark.parametrize("classes", [2, 3, 5, 9, 18])
def test_a_member_does_not_depend_on_the_others(classes: int, kind: str) -> None:
    graph = make_graph(classes=classes, nodes=60 if classes < 18 else 300)
    models, configs, splits = batch_of(kind, graph)
    together = NativeEngine(Members(graph, models, configs, splits))
    threaded = NativeEngine(Members(graph, models, configs, splits), threads=2)
    losses = advanced(together, 8)
    assert torch.equal(losses, advanced(threaded, 8))
    for index in range(len(models)):
        alone = NativeEngine(Members(graph, models, configs, splits).only([index]))
        assert torch.equal(advanced(alone, 8)[:, 0], losses[:, index])
        assert_same(alone, 0, together, index)
        assert_same(alone, 0, threaded, index)


LARGE = [
    {"coefficient": "exact", "num_hops": 3},
    {"coefficient": "released", "num_encoder_layers": 3, "dropout": 0.3},
    {"num_blocks": 2, "gated": "features degrees", "dropout": 0.3},
    {"num_blocks": 2, "block_norm": "batch", "dropout": 0.3},
]


@needs_library
@pytest.mark.parametrize("classes", [4, 21])
@pytest.mark.parametrize("settings", LARGE)
def test_threads_share_the_rows_of_a_large_graph(settings: dict[str, Any], classes: int) -> None:
    """Hidden values of more than a mebibyte, and rows that are summed in several pieces: the bits stay."""
    graph = Graph.from_data(make_data(num_nodes=4700, num_classes=classes, num_edges=9000), GraphConfig(directed=True))
    make = make_glognn2 if "num_blocks" in settings else make_model
    models = [make(graph, seed, hidden_channels=60, **settings) for seed in range(2)]
    assert_equals_autograd(graph, models[0], TRAINING, steps=2, split=0)
    given = Members(graph, models, [TRAINING] * 2, [0] * 2)
    alone = NativeEngine(given, threads=1)
    losses = advanced(alone, 3)
    for threads in (2, 3):
        shared = NativeEngine(given, threads=threads)
        assert torch.equal(advanced(shared, 3), losses)
        for index in range(2):
            assert_same(shared, index, alone, index)


@needs_library
@pytest.mark.parametrize(
    ("kind", "num_nodes"), [("released", 60), ("released", 900), ("glognn2", 60), ("by columns", 60)]
)
def test_keep_snapshot_and_restore_go_on_to_the_bit(kind: str, num_nodes: int) -> None:
    """On a graph that fits a cache, and on one that does not."""
    graph = Graph.from_data(make_data(num_nodes=num_nodes, num_edges=3 * num_nodes, num_splits=4))
    models, configs, splits = batch_of(kind, graph)
    whole, cut = (NativeEngine(Members(graph, models, configs, splits)) for _ in range(2))
    advanced(whole, 4)
    advanced(cut, 4)
    saved = cut.snapshot()
    expected = advanced(whole, 4)
    cut.keep([3, 0])
    assert torch.equal(advanced(cut, 4), expected[:, [3, 0]])
    assert_same(cut, 0, whole, 3)
    assert_same(cut, 1, whole, 0)
    fresh = NativeEngine(Members(graph, models, configs, splits))
    fresh.restore(saved)
    assert torch.equal(advanced(fresh, 4), expected)
    assert_same(fresh, 2, whole, 2)
    with pytest.raises(InputError, match="snapshot"):
        cut.restore(saved)
    with pytest.raises(InputError, match="members"):
        cut.keep([2])


@needs_library
def test_large_sparse_inputs_are_cut_into_blocks() -> None:
    """Enough nodes and entries that products run in blocks of columns; beside autograd."""
    torch.manual_seed(1)
    data = make_data(num_nodes=2000, num_features=40, num_classes=4, num_edges=60_000)
    graph = Graph.from_data(data)
    model = make_model(graph, hidden_channels=64, alpha=0.5, gamma=0.3)
    members = NativeEngine(Members(graph, [model], [TRAINING], [0]))
    exact = Reference(graph, model, TRAINING, 0, torch.float64)
    for _ in range(5):
        assert float(members.step()[0]) == pytest.approx(exact.step(), rel=1e-5)
    assert difference(members.logits()[0], exact.logits()) < 1e-4


@needs_library
def test_a_failed_solve_is_that_member_s_nan() -> None:
    graph = make_graph()
    models, configs, splits = batch(graph, 3)
    alone = NativeEngine(Members(graph, models[2:], configs[2:], splits[2:]))
    with torch.no_grad():
        models[1].encoder.tails[0][0].weight.fill_(float("inf"))
    members = NativeEngine(Members(graph, models, configs, splits))
    losses = advanced(members, 3)
    assert bool(losses[:, 1].isnan().all())
    assert torch.equal(losses[:, 2], advanced(alone, 3)[:, 0])


@needs_library
def test_members_must_have_equal_shapes() -> None:
    graph = make_graph()
    models = [make_model(graph), make_model(graph, hidden_channels=8)]
    with pytest.raises(InputError, match="equal shapes"):
        NativeEngine(Members(graph, models, [TRAINING] * 2, [0, 1]))
    with pytest.raises(InputError, match="one length"):
        NativeEngine(Members(graph, models, [TRAINING], [0, 1]))


def refusal(model: GloGNN, config: TrainingConfig, graph: Graph) -> str:
    return NativeEngine.refusal(Members(graph, [model], [config], [0]))


REFUSALS = [
    ({"fusion": "output"}, {}, {}, "needs fusion 'hidden', not 'output'"),
    ({"num_encoder_layers": 1}, {}, {}, "needs at least 2 encoder layers, not 1"),
    ({}, {"dtype": "float64"}, {}, "needs float32, not float64"),
    ({}, {"device": "cuda"}, {}, "needs a CPU, not cuda"),
    ({}, {"class_weight": "balanced"}, {}, "needs class_weight 'none', not 'balanced'"),
    ({}, {}, {"classes": 65, "nodes": 700}, "needs 2 to 64 classes, not 65"),
]


@needs_library
@pytest.mark.parametrize(("model", "training", "graph", "reason"), REFUSALS)
def test_what_the_core_cannot_do_is_refused_with_a_reason(
    model: dict[str, Any], training: dict[str, Any], graph: dict[str, Any], reason: str
) -> None:
    prepared = make_graph(**graph)
    config = TrainingConfig.from_mapping(TRAINING.as_dict() | training)
    given = make_model(prepared, **model)
    assert refusal(given, config, prepared) == f"it {reason}"
    assert refusal(given, config, prepared)
    with pytest.raises(InputError, match=f"cannot train these members: it {reason}."):
        NativeEngine(Members(prepared, [given], [config], [0]))


@needs_library
def test_only_glognn_as_it_is_is_taken() -> None:
    graph = make_graph()
    assert refusal(make_model(graph), TRAINING, graph) == ""
    assert refusal(make_model(graph, coefficient="exact"), TRAINING, graph) == ""
    assert refusal(make_glognn2(graph), TRAINING, graph) == ""
    apart = make_glognn2(graph, directions="separate")
    assert refusal(apart, TRAINING, graph) == "it needs hops that are powers of one operator (directions 'joined')"
    config = find_model("mlp")()
    other = config.model_class().for_graph(graph, config)
    assert refusal(other, TRAINING, graph).endswith("trains GloGNN, GloGNN++ and GloGNN2, not MLP")

    class Derived(GloGNN):
        pass

    assert "not Derived" in refusal(Derived.for_graph(graph, make_model(graph).config), TRAINING, graph)
    frozen, hooked = make_model(graph), make_model(graph)
    frozen.encoder.requires_grad_(False)
    hooked.register_forward_hook(lambda *_: None)
    assert "weights of which none is frozen" in refusal(frozen, TRAINING, graph)
    assert "without hooks" in refusal(hooked, TRAINING, graph)
    double = make_graph().to(dtype=torch.float64)
    assert "which this graph is not in" in refusal(make_model(graph), TRAINING, double)


@needs_library
def test_entries_that_32_bits_do_not_count_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The adjacency with its self-loops, and sparse features; dense ones have no such bound."""
    for sparse in (True, False):
        graph = make_graph(sparse=sparse)
        entries, nodes = graph.adjacency.matrix.nnz, graph.num_nodes
        assert graph.x is not None
        values = graph.x.nnz if isinstance(graph.x, SparseMatrix) else 0
        most = max(entries + nodes, values)
        monkeypatch.setattr(native, "MAX_ENTRIES", most)
        assert refusal(make_model(graph), TRAINING, graph) == ""
        monkeypatch.setattr(native, "MAX_ENTRIES", entries + nodes - 1)
        wanted = f"at most {entries + nodes - 1:,} entries of the adjacency, not {entries + nodes:,}"
        assert wanted in refusal(make_model(graph), TRAINING, graph)
        plain = make_model(graph, normalization="none", alpha=1.0)
        assert refusal(plain, TRAINING, graph) == ""
    wide = replace(graph, x=torch.zeros(1, 1).expand(graph.num_nodes, 2**31 // graph.num_nodes + 1))
    monkeypatch.setattr(native, "MAX_ENTRIES", 2**31 - 1)
    assert refusal(make_model(graph), TRAINING, wide) == ""


@needs_library
def test_64_bit_indices_never_reach_the_core() -> None:
    graph = make_graph(sparse=True)
    assert isinstance(graph.x, SparseMatrix)
    long = [
        torch.sparse_csr_tensor(
            csr.crow_indices().long(), csr.col_indices().long(), csr.values(), csr.shape, check_invariants=True
        )
        for csr in (graph.x.csr, graph.x.csr_transposed)
    ]
    with pytest.raises(InputError, match="must have 32-bit indices and values in float32. Got torch.int64"):
        NativeEngine(Members(replace(graph, x=SparseMatrix(*long)), [make_model(graph)], [TRAINING], [0]))
