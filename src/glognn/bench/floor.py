"""The least time an epoch of GloGNN can take on a machine: what must move and be computed, over measured rates."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch

from glognn.bench.method import synchronize
from glognn.graph.graph import Graph
from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.models.configs import GloGNNConfig
from glognn.nn.inputs import INPUTS, OPERATORS, products

VALUE = 4
"""Bytes of a float32, and of an index."""
ADAM_FLOPS = 12
RATE_SIZE = 1024
PROBE_SECONDS = 0.25
SMALLEST_COPY = 2**15
STRETCH_SECONDS = 1e-3


@dataclass(frozen=True)
class Stored:
    """A constant input of the encoder: n rows, ``columns`` columns, and its stored values."""

    columns: int
    values: int
    sparse: bool

    @classmethod
    def of(cls, matrix: Matrix) -> Stored:
        if isinstance(matrix, SparseMatrix):
            return cls(matrix.shape[1], matrix.nnz, True)
        return cls(matrix.shape[1], matrix.numel(), False)


@dataclass(frozen=True)
class Shape:
    """Everything the count depends on, for inputs that are fused at the hidden layer.

    ``hidden`` is the width of the first linear maps; ``hops`` are the stored values of the operator in each product
    that the hops of a layer take.
    """

    nodes: int
    classes: int
    hidden: int
    encoder_layers: int
    layers: int
    hops: tuple[int, ...]
    inputs: tuple[Stored, ...]
    dropout: bool

    @classmethod
    def of(cls, graph: Graph, config: GloGNNConfig) -> Shape:
        normalization = config.normalization
        return cls(
            nodes=graph.num_nodes,
            classes=graph.num_classes,
            hidden=config.hidden_channels if config.num_encoder_layers > 1 else graph.num_classes,
            encoder_layers=config.num_encoder_layers,
            layers=config.num_layers if config.gamma < 1 else 0,
            hops=tuple(OPERATORS[name].make(graph, normalization).nnz for name in products(config.words)),
            inputs=tuple(Stored.of(INPUTS[name].make(graph, normalization)) for name in config.inputs),
            dropout=config.dropout > 0,
        )

    @property
    def chain(self) -> int:
        """Weights of the linear maps behind the first one."""
        if self.encoder_layers == 1:
            return 0
        return (self.encoder_layers - 2) * self.hidden**2 + self.hidden * self.classes

    @property
    def parameters(self) -> int:
        """Weights of the linear maps; biases, lambda and S are too few to count."""
        return sum(each.columns for each in self.inputs) * self.hidden + self.chain


@dataclass(frozen=True)
class Count:
    """Bytes moved and operations done in one epoch."""

    bytes: int
    flops: int


def count(shape: Shape) -> Count:
    r"""Bytes and floating-point operations that one epoch needs, in float32 with 32-bit indices.

    n nodes, c classes, width h, L layers, K hops; z stored values of an input or of a hop's operator. A forward pass is
    needed twice in an epoch, for the evaluation and for the step, but for the first linear maps, whose result serves
    both; without dropout one pass serves both altogether. So there are F = 2 or 1 forward passes and a backward one.

    **Bytes.** A sparse product with a matrix of width w reads value and index of each stored value, and w values of the
    other matrix for each: z (8 + 4 w). (A cache may spare some of these reads; the bandwidth is therefore measured on
    memory as large as what the product gathers from.)

    - First maps, one forward and one backward product of width h for each input, and its gradient written:
      2 z (8 + 4 h) + 4 m h for a sparse input of m columns. A dense one is read twice, the weights once and the
      gradient of the result once: 4 (2 n m + 2 m h + n h).
    - The n x h values before the first nonlinearity: written, read by F forward passes and the backward one, and their
      gradient written: 4 n h (F + 3). Everything up to H0 follows row by row without more traffic.
    - Layers: in F + 1 passes, L times, H and H0 are read and the result written, 12 n c, and each hop is a sparse
      product of width c with its result written: K (z (8 + 4 c) + 4 n c).
    - Adam: parameter, gradient and two moments read, all but the gradient written: 28 bytes for each parameter.

    **Operations**, a multiplication and an addition being two; a backward pass costs two forward ones.

    - First maps: 4 z h for each input, dense ones having z = n m (there is no gradient for an input).
    - The other maps: 2 n q (F + 2), q their number of weights.
    - Layers: L (F + 2) (6 n c^2 + 2 K z c): the Gram matrix, Q, and the mixing of H; the hops.
    - Adam: about 12 for each parameter.
    """
    n, c, h = shape.nodes, shape.classes, shape.hidden
    forward = 2 if shape.dropout else 1
    moved = 7 * VALUE * shape.parameters
    flops = ADAM_FLOPS * shape.parameters
    for each in shape.inputs:
        if each.sparse:
            moved += 2 * each.values * VALUE * (2 + h) + VALUE * each.columns * h
        else:
            moved += VALUE * (2 * each.values + 2 * each.columns * h + n * h)
        flops += 4 * each.values * h
    moved += VALUE * n * h * (forward + 3)
    hops = sum(values * VALUE * (2 + c) + VALUE * n * c for values in shape.hops)
    moved += (forward + 1) * shape.layers * (3 * VALUE * n * c + hops)
    flops += 2 * n * shape.chain * (forward + 2)
    flops += shape.layers * (forward + 2) * (6 * n * c**2 + 2 * sum(shape.hops) * c)
    return Count(moved, flops)


@dataclass(frozen=True)
class Rates:
    """Bytes and operations per second that a device reaches."""

    bandwidth: float
    flops_per_second: float

    @classmethod
    def measure(cls, nodes: int, hidden: int, device: torch.device) -> Rates:
        """Of copies up to the size of the n x h values, and of a float32 product."""
        return cls(copy_bandwidth(VALUE * nodes * hidden, device), product_rate(device))

    def seconds(self, counted: Count) -> float:
        """The longer of moving and computing, which may go on at the same time."""
        return max(counted.bytes / self.bandwidth, counted.flops / self.flops_per_second)


def floor_record(counted: Count, rates: Rates, epoch_seconds: float) -> dict[str, Any]:
    """Count, rates, the milliseconds they make, and these as a share of those measured."""
    least = rates.seconds(counted)
    return asdict(counted) | asdict(rates) | {"ms": 1000 * least, "share": least / epoch_seconds}


def copy_bandwidth(size: int, device: torch.device) -> float:
    """Bytes per second, read and written, of the fastest copy of at most ``size`` bytes, or a mebibyte.

    Smaller pieces may fit a faster cache, and work may be done piece by piece. What calling torch takes is left out.
    """
    source = torch.ones(max(size, 2**20) // VALUE, dtype=torch.float32, device=device)
    target = torch.empty_like(source)

    def seconds(count: int) -> float:
        part, place = source[:count], target[:count]
        return _shortest(lambda: place.copy_(part), device)

    call, found, count = seconds(1), [], source.numel()
    while count * VALUE >= SMALLEST_COPY:
        taken = seconds(count)
        if taken > 2 * call:  # else mostly the call itself
            found.append(2 * count * VALUE / (taken - call))
        count //= 4
    return max(found, default=2 * source.numel() * VALUE / seconds(source.numel()))


def product_rate(device: torch.device) -> float:
    """Operations per second of a float32 product of two dense matrices of 1024 rows and columns (4096 on a GPU)."""
    size = RATE_SIZE if device.type == "cpu" else 4 * RATE_SIZE
    left = torch.ones(size, size, device=device)
    out = torch.empty_like(left)
    return 2 * size**3 / _shortest(lambda: torch.mm(left, left, out=out), device)


def _shortest(work: Callable[[], object], device: torch.device) -> float:
    """Seconds of one call in the fastest of many short stretches: what the machine can do when nothing disturbs it."""
    work()
    synchronize(device)
    best, calls, began = math.inf, 1, time.perf_counter()
    while time.perf_counter() - began < PROBE_SECONDS:
        started = time.perf_counter()
        for _ in range(calls):
            work()
        synchronize(device)
        elapsed = time.perf_counter() - started
        best = min(best, elapsed / calls)
        if elapsed < STRETCH_SECONDS:
            calls *= 2
    return best
