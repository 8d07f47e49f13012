"""What the encoder saw of a node: how much each column of its inputs adds to its row of the initial embedding H0.

Integrated gradients (Sundararajan et al., ICML 2017) from empty inputs, where a node has no features and no edges:
column f adds x_f times the mean derivative along the straight line from there to the node's inputs, and what is left
is what the encoder gives for empty inputs. Between two places where a hidden unit changes sides the encoder is linear,
so that the mean is taken exactly, piece by piece; an encoder without hidden units has one piece, and its weights say
all. Local blocks, which normalise, are not linear anywhere: there the mean is over points of the line, more of them
until the parts add up, and it reaches the inputs of other nodes too: of those alone that blocks bring to this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.models.glognn import GloGNN, GloGNNInputs
from glognn.models.glognn2 import GloGNN2
from glognn.nn.encoder import Encoder

FEWEST, MOST = 9, 243
"""Points on the line, where the encoder is not linear by pieces; those of a third as many are among them, and kept."""
GAP = 1e-2
"""What parts may miss of H0, relative to it, before three times as many points are taken."""
VALUES = 2**21
"""Hidden values of one pass: points of the line are passed together up to so many."""
WORK = 2**40
"""Multiplications in local blocks, over all points and classes, beyond which no more points are taken: a minute or two
of two cores. What is then missed is told (:attr:`EncoderParts.gap`)."""


@dataclass(frozen=True, eq=False)
class InputPart:
    """What the columns of one input of the encoder add to a row of H0.

    Attributes:
        name: Of the input, see :mod:`glognn.nn.inputs`.
        columns: Those that add something: numbers of features, of nodes, or of degree columns.
        values: Of the node in these columns.
        scores: What each adds to each column of H0, columns x c.
    """

    name: str
    columns: Tensor
    values: Tensor
    scores: Tensor


@dataclass(frozen=True, eq=False)
class EncoderParts:
    """A row of H0 as a sum, in float64.

    Attributes:
        method: ``"linear"``, ``"exact"`` (integrated gradients, exactly) or ``"points"`` (approximately).
        embedding: The row of H0, c.
        empty: What the encoder gives for empty inputs, c.
        inputs: What its own inputs add.
        rows: Other nodes whose inputs local blocks bring to it.
        others: What all inputs of each of them add, rows x c.
    """

    method: str
    embedding: Tensor
    empty: Tensor
    inputs: list[InputPart]
    rows: Tensor
    others: Tensor

    @property
    def gap(self) -> Tensor:
        """What the parts miss of H0, c: rounding, but for ``"points"``."""
        added = sum((part.scores.sum(dim=0) for part in self.inputs), torch.zeros_like(self.empty))
        return self.embedding - self.empty - added - self.others.sum(dim=0)


def encoder_parts(model: GloGNN, inputs: GloGNNInputs, node: int, gap: float = GAP) -> EncoderParts:
    """What the inputs of a node add to its row of H0, in O(entries of its rows hidden), without local blocks; with
    them in as much for each node that they bring to it, and for each point, until parts miss no more than ``gap`` or it
    is much work."""
    if isinstance(model, GloGNN2) and model.config.num_blocks:
        return _with_blocks(model, inputs, node, gap)
    encoder = _as(model.encoder, torch.float64)
    rows = {name: _row(inputs.matrices[name], node) for name in encoder.weights}
    seen = {
        name: (values.unsqueeze(0) @ _weights(encoder, name)[columns].double())
        for name, (columns, values) in rows.items()
    }
    start, change = _encoded(encoder, seen)
    with torch.no_grad():
        corners = _corners(encoder, start, change)
    middles, lengths = (corners[1:] + corners[:-1]) / 2, corners[1:] - corners[:-1]
    slopes = _slopes(encoder, lambda value: encoder.decode(value), start, change, middles, lengths)
    with torch.no_grad():
        empty = encoder.decode(start)[0]
        whole = encoder.decode(tuple(a + b for a, b in zip(start, change, strict=True)))[0]
    linear = encoder.fusion != "jumping" and not any(len(list(tail.children())) for tail in encoder.tails)
    found = _own(encoder, rows, {name: slope[:, 0] for name, slope in slopes.items()})
    nobody = torch.empty(0, dtype=torch.int64, device=empty.device)
    return EncoderParts("linear" if linear else "exact", whole, empty, found, nobody, empty.new_empty(0, len(empty)))


def _own(encoder: Encoder, rows: Mapping[str, tuple[Tensor, Tensor]], slopes: Mapping[str, Tensor]) -> list[InputPart]:
    """What each column of a node's own inputs adds, from the mean derivatives at its row, c x hidden."""
    found = []
    for name, (columns, values) in rows.items():
        through = _weights(encoder, name)[columns].double() @ slopes[name].T
        found.append(InputPart(name, columns, values, values.unsqueeze(1) * through))
    return found


def _with_blocks(model: GloGNN2, inputs: GloGNNInputs, node: int, gap: float) -> EncoderParts:
    """Over the inputs of all nodes that the blocks bring to this one, in the model's precision."""
    encoder, blocks = _as(model.encoder, None), deepcopy(model.blocks).eval()
    like = next(model.parameters())
    patterns = [inputs.operators[name].to_scipy() for name in blocks.operators]
    near = _reached(patterns, node, model.config.num_blocks)
    place, count = int(np.searchsorted(near, node)), len(near)
    operators = [pattern[near][:, near] if count < pattern.shape[0] else pattern for pattern in patterns]
    chosen = torch.from_numpy(near).to(like.device)
    with torch.no_grad():
        seen = {name: _rows_product(inputs.matrices[name], near, _weights(encoder, name)) for name in encoder.weights}
        start, change = _encoded(encoder, seen)

    def decoder(points: int) -> Callable[[tuple[Tensor, ...]], Tensor]:
        copies = _copies(blocks.operators, operators, points, like)
        return lambda value: encoder.decode(value, lambda h: blocks(h, copies))[place::count]

    with torch.no_grad():
        once = decoder(1)
        empty = once(tuple(each.expand_as(other) for each, other in zip(start, change, strict=True)))[0].double()
        whole = once(tuple(a + b for a, b in zip(start, change, strict=True)))[0].double()
    each_point = count * len(whole) * sum(weight.numel() for weight in blocks.parameters())
    most = min(MOST, WORK // each_point)
    points, number, found = FEWEST, torch.arange(FEWEST), None
    own = {name: _row(inputs.matrices[name], node) for name in encoder.weights}
    total: dict[str, Tensor] = {}
    while found is None or (
        3 * points <= most and float(found.gap.abs().max()) > gap * float((whole - empty).abs().max())
    ):
        if found is not None:
            points, number = 3 * points, torch.arange(3 * points)
            number = number[number % 3 != 1]
        together = max(1, min(points, VALUES // (count * change[0].shape[1])))
        for places in torch.split((number.double() + 0.5) / points, together):
            at = places.to(like)
            for name, slope in _slopes(encoder, decoder(len(at)), start, change, at, torch.ones_like(at)).items():
                total[name] = total.get(name, 0) + slope.double()
        slopes = {name: each / points for name, each in total.items()}
        by_row = sum((torch.einsum("crh,rh->rc", slope, seen[name].double()) for name, slope in slopes.items()))
        assert isinstance(by_row, Tensor)
        others = torch.arange(count, device=like.device) != place
        parts = _own(encoder, own, {name: slope[:, place] for name, slope in slopes.items()})
        found = EncoderParts("points", whole, empty, parts, chosen[others], by_row[others])
    return found


def _reached(patterns: list[sp.csr_array], node: int, steps: int) -> npt.NDArray[np.int64]:
    """The nodes that are gathered from in so many steps, in ascending order."""
    seen = np.zeros(patterns[0].shape[0], dtype=bool)
    seen[node] = True
    fresh = np.array([node])
    for _ in range(steps):
        before = seen.copy()
        for pattern in patterns:
            seen[pattern[fresh].indices] = True
        fresh = np.flatnonzero(seen & ~before)
    return np.flatnonzero(seen)


def _copies(names: list[str], operators: list[sp.csr_array], count: int, like: Tensor) -> dict[str, SparseMatrix]:
    """Each operator as often as there are points, along a diagonal."""
    found = {}
    for name, each in zip(names, operators, strict=True):
        size, number = each.shape[0], np.arange(count)[:, np.newaxis]
        indices = (each.indices + size * number).reshape(-1)
        starts = np.concatenate([[0], (each.indptr[1:] + each.nnz * number).reshape(-1)])
        parts = (np.tile(each.data, count), indices, starts)
        made = sp.csr_array(parts, shape=(size * count, size * count))
        found[name] = SparseMatrix.from_scipy(made, like.dtype).to(device=like.device)
    return found


def _as(encoder: Encoder, dtype: torch.dtype | None) -> Encoder:
    """The encoder without dropout and in another precision, but for its first linear maps, which may have a row for
    each node."""
    wide = copy(encoder)
    wide._modules = dict(encoder._modules)
    wide._parameters = dict(encoder._parameters)
    wide.tails = deepcopy(encoder.tails).to(dtype=dtype)
    wide.gates = deepcopy(encoder.gates).to(dtype=dtype)
    if encoder.shares is not None:
        wide.shares = nn.Parameter(encoder.shares.detach().to(dtype=dtype))
    wide.training = False
    return wide


def _weights(encoder: Encoder, name: str) -> Tensor:
    weights: Tensor = encoder.inputs[name].weight  # type: ignore[assignment]
    return weights.detach()


def fused(encoder: Encoder, values: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
    """What :meth:`Encoder.encode` makes of what its first maps give, by input."""
    if encoder.fusion == "output":
        return tuple(values.values())
    joined: list[Tensor] = [
        encoder._weight(name) * values[name] for name in encoder.weights if name not in encoder.branches
    ]
    return (sum(joined[1:], joined[0]), *(values[name] for name in encoder.branches))


def _encoded(encoder: Encoder, seen: dict[str, Tensor]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """What :meth:`Encoder.encode` gives for empty inputs, 1 x hidden each, and what the inputs change of it."""

    like = next(iter(seen.values()))
    biases = {
        name: encoder.inputs[name].bias.detach().to(like).unsqueeze(0)  # type: ignore[operator]
        for name in encoder.weights
    }
    with torch.no_grad():
        return fused(encoder, biases), fused(encoder, seen)


def _slopes(
    encoder: Encoder,
    decode: Callable[[tuple[Tensor, ...]], Tensor],
    start: tuple[Tensor, ...],
    change: tuple[Tensor, ...],
    places: Tensor,
    lengths: Tensor,
) -> dict[str, Tensor]:
    """Mean derivatives of each column of H0 by what each input's first map gives, by input: c x rows x hidden.

    Args:
        decode: The row of H0 for each place, from the values of all rows at one place after the other.
    """
    rows = change[0].shape[0]
    value = tuple(
        (a + places.view(-1, 1, 1) * b).reshape(len(places) * rows, -1).requires_grad_()
        for a, b in zip(start, change, strict=True)
    )
    out = decode(value)
    found = []
    for column in range(out.shape[1]):
        gradients = torch.autograd.grad(out[:, column].sum(), value, retain_graph=column + 1 < out.shape[1])
        found.append([torch.tensordot(lengths, each.view(len(places), rows, -1), dims=1) for each in gradients])
    means = [torch.stack(each) for each in zip(*found, strict=True)]
    with torch.no_grad():
        if encoder.fusion == "output":
            return dict(zip(encoder.weights, means, strict=True))
        named = dict(zip(encoder.branches, means[1:], strict=True))
        return {name: named.get(name, encoder._weight(name) * means[0]) for name in encoder.weights}


def _corners(encoder: Encoder, start: tuple[Tensor, ...], change: tuple[Tensor, ...]) -> Tensor:
    """Places of the line, from 0 to 1, between which the encoder is linear."""
    places = start[0].new_tensor([0.0, 1.0])
    jumping = encoder.fusion == "jumping"
    for number, (a, b) in enumerate(zip(start, change, strict=True)):
        layers = [] if jumping else list(encoder.tails[number].children())
        if not layers and not jumping:
            continue
        places = _crossed(places, a + places.unsqueeze(1) * b)
        for depth in range(1, len(layers)):
            value = a + places.unsqueeze(1) * b
            for layer in layers[:depth]:
                value = layer(F.relu(value))
            places = _crossed(places, value)
    return places


def _crossed(places: Tensor, values: Tensor) -> Tensor:
    """Places and those between them where a column, linear in between, changes its sign."""
    low, high = values[:-1], values[1:]
    rows, columns = ((low < 0) & (high > 0) | (low > 0) & (high < 0)).nonzero(as_tuple=True)
    share = low[rows, columns] / (low[rows, columns] - high[rows, columns])
    between = places[rows] + share * (places[rows + 1] - places[rows])
    found: Tensor = torch.unique(torch.cat([places, between]))
    return found


def _row(matrix: Matrix, node: int) -> tuple[Tensor, Tensor]:
    """Columns and values of a row's nonzeros, in float64."""
    if isinstance(matrix, SparseMatrix):
        begin, end = (int(each) for each in matrix.csr.crow_indices()[node : node + 2])
        return matrix.csr.col_indices()[begin:end].long(), matrix.csr.values()[begin:end].double()
    columns = matrix[node].nonzero().view(-1)
    return columns, matrix[node, columns].double()


def _rows_product(matrix: Matrix, rows: npt.NDArray[np.int64], dense: Tensor) -> Tensor:
    """Some rows of a matrix times a dense one."""
    if not isinstance(matrix, SparseMatrix):
        return matrix[torch.from_numpy(rows).to(matrix.device)] @ dense
    if len(rows) == matrix.shape[0]:
        return matrix.csr @ dense
    return SparseMatrix.from_scipy(matrix.to_scipy()[rows], matrix.dtype).to(device=dense.device).csr @ dense
