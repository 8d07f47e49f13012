"""What a run alone on a GPU with kernels holds: its tensors are those of a CPU run whose kernels only make results."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from glognn.graph.adjacency import Adjacency, EdgeCounts
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.graph.sparse import SparseMatrix
from glognn.models.glognn import GloGNN
from glognn.ops import kernels, products
from glognn.training import optimiser
from glognn.training.config import TrainingConfig
from glognn.training.engines.base import Members
from glognn.training.engines.stacked import StackedEngine
from glognn.training.preflight import GPU_LIBRARY_BYTES, Need, sizes_of

NODES = 5000


def _product(matrix: SparseMatrix, dense: Tensor, *_: Any) -> Tensor:
    assert matrix.plan.whole.count
    return torch.zeros(matrix.shape[0], dense.shape[1])


def _losses(logits: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return torch.zeros(len(logits), dtype=torch.float64), torch.zeros(len(logits), dtype=torch.int32)


RESULTS: dict[str, dict[str, Any]] = {
    "rows": {"product": _product},
    "halved": {"halved": lambda dense: (torch.zeros_like(dense, dtype=torch.float16), torch.zeros(1))},
    "activation": {
        "activated": lambda value, *_, **__: torch.zeros_like(value),
        "activated_backward": lambda gradient, out, factor, sums: (torch.zeros_like(out), out[0] if sums else None),
    },
    "head": {
        "scored": lambda value, bias, seed, threshold, factor, weight, shift: value.new_zeros(
            len(value), weight.shape[1]
        ),
        "scored_backward": lambda gradient, value, bias, seed, threshold, factor, weight: (
            torch.zeros_like(value),
            bias,
            torch.zeros_like(weight),
        ),
    },
    "narrow": {
        "crossed": lambda left, right: torch.eye(left.shape[1], dtype=torch.float64),
        "mixed_with": lambda left, small: torch.zeros_like(left),
    },
    "factors": {
        "solved": lambda gram, weights, dtype, *_, **__: (gram, *(torch.zeros(gram.shape, dtype=dtype),) * 3),
        "solved_backward": lambda gram, weights, *_, **__: (torch.zeros_like(gram), weights),
    },
    "scores": {"measured": _losses, "measured_backward": lambda logits, *_: torch.zeros_like(logits)},
    "adam": {"adam_step": lambda *_, **__: None},
}


@pytest.fixture
def _hollow(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, functions in RESULTS.items():
        module = ModuleType(f"glognn.ops.kernels.{name}")
        module.__dict__.update(functions)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setattr(kernels, name, module, raising=False)
    monkeypatch.setattr(kernels, "DEVICES", ("cpu",))
    monkeypatch.setattr(kernels, "_available", lambda device: True)
    monkeypatch.setattr(products, "_MANY", 0)
    monkeypatch.setattr(optimiser, "_LARGE", 1)
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: "high")
    alone = StackedEngine._call_alone
    monkeypatch.setattr(StackedEngine, "_call", lambda self, method, encoded=None: alone(self, method, encoded))


def _graph(classes: int, degree: int) -> Graph:
    drawn = sp.random_array((NODES, NODES), density=degree / NODES / 2, rng=np.random.default_rng(0), format="csr")
    matrix = SparseMatrix.from_scipy(sp.csr_array(((drawn + drawn.T) > 0).astype(np.float32)), symmetric=True)
    part = torch.arange(NODES).unsqueeze(1) % 4
    return Graph(
        x=torch.randn(NODES, 8),
        adjacency=Adjacency(matrix),
        y=torch.randint(classes, (NODES,)),
        masks={"train": part < 2, "val": part == 2, "test": part == 3},
        num_classes=classes,
        edge_counts=EdgeCounts(matrix.nnz, 0, 0, 0, 0),
        config=GraphConfig(),
    )


def _peak(model: GloGNN, graph: Graph, config: TrainingConfig) -> int:
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        engine = StackedEngine(Members(graph, [model], [config], [0]))
        engine._dropout.streams.generators = [torch.Generator()]
        for _ in range(3):
            engine.step()
            engine.evaluate()
            if config.selection == "best":
                engine.remember([0])
    changes = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    now = peak = 0
    for event in sorted(changes, key=lambda event: event.start_ns()):
        now += event.nbytes()
        peak = max(peak, now)
    return peak + sum(weight.nbytes for weight in model.parameters())


@pytest.mark.usefixtures("_hollow", "no_garbage")
@pytest.mark.parametrize("selection", ["best", "last"])
@pytest.mark.parametrize(
    ("classes", "degree", "settings"),
    [
        (5, 4, {"num_encoder_layers": 2, "num_layers": 2, "num_hops": 3}),
        (5, 20, {"num_encoder_layers": 2, "hidden_channels": 256}),
        (2, 20, {"num_encoder_layers": 3}),
        (5, 4, {"num_encoder_layers": 3, "num_layers": 1, "num_hops": 3, "hidden_channels": 16}),
        (2, 4, {"num_encoder_layers": 5}),
        (5, 4, {"num_encoder_layers": 3, "fusion": "output"}),
        (2, 4, {"num_encoder_layers": 1}),
    ],
)
def test_what_is_held_at_the_peak_is_predicted(
    classes: int, degree: int, settings: dict[str, Any], selection: str
) -> None:
    graph = _graph(classes, degree)
    model = GloGNN(8, classes, NODES, normalization="none", dropout=0.5, **settings)
    measured = _peak(model, graph, TrainingConfig(selection=selection))
    need = Need.fused(model.config, sizes_of(graph), remembers=selection == "best")
    assert need.weights + need.activations - GPU_LIBRARY_BYTES == pytest.approx(measured, rel=0.05)
