"""What the encoder saw of a node: how much each column of its inputs adds to its row of the initial embedding H0.

Integrated gradients (Sundararajan et al., ICML 2017) from empty inputs, where a node has no features and no edges:
column f adds x_f times the mean derivative along the straight line from there to the node's inputs, and what is left
is what the encoder gives for empty inputs. Between two places where a hidden unit changes sides the encoder is linear,
so that the mean is taken exactly, piece by piece; an encoder without hidden units has one piece, and its weights say
all. Local blocks, which normalise, are not linear anywhere: there the mean is over points of the line, more of them
until the parts add up, and it reaches the inputs of neighbours too.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.models.glognn import GloGNN, GloGNNInputs
from glognn.models.glognn2 import GloGNN2
from glognn.nn.encoder import Encoder

FEWEST, MOST = 32, 256
"""Points on the line, where the encoder is not linear by pieces."""
GAP = 1e-2
"""What parts may miss of H0, relative to it, before twice as many points are taken."""


@dataclass(frozen=True, eq=False)
class InputPart:
    """What the columns of one input of the encoder add to a row of H0.

    Attributes:
        name: Of the input, see :mod:`glognn.nn.inputs`.
        columns: Those that add something: numbers of features, of nodes, or of degree columns.
        values: Of the node in these columns; where blocks reach neighbours, their sum over nodes.
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
        inputs: What its inputs add.
    """

    method: str
    embedding: Tensor
    empty: Tensor
    inputs: list[InputPart]

    @property
    def gap(self) -> Tensor:
        """What the parts miss of H0, c: rounding, but for ``"points"``."""
        added = sum((part.scores.sum(dim=0) for part in self.inputs), torch.zeros_like(self.empty))
        return self.embedding - self.empty - added


def encoder_parts(model: GloGNN, inputs: GloGNNInputs, node: int) -> EncoderParts:
    """What the inputs of a node add to its row of H0, in O(entries of its rows hidden), without local blocks."""
    encoder = _in_float64(model.encoder)
    if isinstance(model, GloGNN2) and model.config.num_blocks:
        return _with_blocks(model, encoder, inputs, node)
    rows = {name: _row(inputs.matrices[name], node) for name in encoder.weights}
    seen = {
        name: (values.unsqueeze(0) @ _weights(encoder, name)[columns].double())
        for name, (columns, values) in rows.items()
    }
    start, change = _encoded(encoder, seen)
    with torch.no_grad():
        corners = _corners(encoder, start, change)
    middles, lengths = (corners[1:] + corners[:-1]) / 2, corners[1:] - corners[:-1]
    slopes = _slopes(encoder, lambda value: encoder.decode(value), start, change, middles, lengths, slice(None))
    with torch.no_grad():
        found = []
        for name, (columns, values) in rows.items():
            through = _weights(encoder, name)[columns].double() @ slopes[name].sum(dim=1).T
            found.append(InputPart(name, columns, values, values.unsqueeze(1) * through))
        empty = encoder.decode(start)[0]
        whole = encoder.decode(tuple(a + b for a, b in zip(start, change, strict=True)))[0]
    linear = encoder.fusion != "jumping" and not any(len(list(tail.children())) for tail in encoder.tails)
    return EncoderParts("linear" if linear else "exact", whole, empty, found)


def _with_blocks(model: GloGNN2, encoder: Encoder, inputs: GloGNNInputs, node: int) -> EncoderParts:
    """Over the inputs of all nodes that the blocks bring to this one."""
    blocks = deepcopy(model.blocks).double()
    operators = {name: matrix.to(dtype=torch.float64) for name, matrix in inputs.operators.items()}
    matrices = {name: matrix.to(dtype=torch.float64) for name, matrix in inputs.matrices.items()}
    with torch.no_grad():
        seen = {name: _product(matrices[name], _weights(encoder, name).double()) for name in encoder.weights}
        start, change = _encoded(encoder, seen)

    def decode(value: tuple[Tensor, ...]) -> Tensor:
        return encoder.decode(value, lambda h: blocks(h, operators))[node : node + 1]

    with torch.no_grad():
        empty = decode(tuple(each.expand_as(other) for each, other in zip(start, change, strict=True)))[0]
        whole = decode(tuple(a + b for a, b in zip(start, change, strict=True)))[0]
    points, found = FEWEST, None
    while found is None or (points < MOST and float(found.gap.abs().max()) > GAP * float((whole - empty).abs().max())):
        points = 2 * points if found is not None else points
        places = (torch.arange(points, dtype=torch.float64, device=whole.device) + 0.5) / points
        slopes = _slopes(encoder, decode, start, change, places, torch.full_like(places, 1 / points), None)
        parts = []
        for name in encoder.weights:
            matrix, weights = matrices[name], _weights(encoder, name).double()
            across = torch.stack([(_product_transposed(matrix, slope) * weights).sum(dim=1) for slope in slopes[name]])
            columns = across.abs().sum(dim=0).nonzero().view(-1)
            ones = torch.ones(matrix.shape[0], 1, dtype=torch.float64, device=whole.device)
            parts.append(
                InputPart(
                    name, columns, _product_transposed(matrix, ones)[columns, 0], across[:, columns].T.contiguous()
                )
            )
        found = EncoderParts("points", whole, empty, parts)
    return found


def _in_float64(encoder: Encoder) -> Encoder:
    """The encoder without dropout and in float64, but for its first linear maps, which may have a row for each node."""
    wide = copy(encoder)
    wide._modules = dict(encoder._modules)
    wide._parameters = dict(encoder._parameters)
    wide.tails = deepcopy(encoder.tails).double()
    wide.gates = deepcopy(encoder.gates).double()
    if encoder.shares is not None:
        wide.shares = nn.Parameter(encoder.shares.detach().double())
    wide.training = False
    return wide


def _weights(encoder: Encoder, name: str) -> Tensor:
    weights: Tensor = encoder.inputs[name].weight  # type: ignore[assignment]
    return weights.detach()


def _encoded(encoder: Encoder, seen: dict[str, Tensor]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """What :meth:`Encoder.encode` gives for empty inputs, 1 x hidden each, and what the inputs change of it."""

    def encode(values: dict[str, Tensor]) -> tuple[Tensor, ...]:
        if encoder.fusion == "output":
            return tuple(values.values())
        joined: list[Tensor] = [
            encoder._weight(name) * values[name] for name in encoder.weights if name not in encoder.branches
        ]
        return (sum(joined[1:], joined[0]), *(values[name] for name in encoder.branches))

    biases = {
        name: encoder.inputs[name].bias.detach().double().unsqueeze(0)  # type: ignore[operator]
        for name in encoder.weights
    }
    with torch.no_grad():
        return encode(biases), encode(seen)


def _slopes(
    encoder: Encoder,
    decode: Callable[[tuple[Tensor, ...]], Tensor],
    start: tuple[Tensor, ...],
    change: tuple[Tensor, ...],
    places: Tensor,
    lengths: Tensor,
    together: slice | None,
) -> dict[str, Tensor]:
    """Mean derivatives of each column of H0 by what each input's first map gives, by input: c x rows x hidden.

    Args:
        together: Rows of one pass are places of the line (one node); ``None``: a pass for each place (all nodes).
    """
    batches = [places] if together is not None else list(torch.split(places, 1))
    weights = [lengths] if together is not None else list(torch.split(lengths, 1))
    totals: list[list[Tensor]] = []
    for batch, weight in zip(batches, weights, strict=True):
        along = batch.unsqueeze(1)
        value = tuple((a + along * b).requires_grad_() for a, b in zip(start, change, strict=True))
        out = decode(value)
        share = weight.unsqueeze(1) if together is not None else weight
        found = []
        for column in range(out.shape[1]):
            gradients = torch.autograd.grad(out[:, column].sum(), value, retain_graph=column + 1 < out.shape[1])
            found.append([share * gradient for gradient in gradients])
        stacked = [torch.stack(each) for each in zip(*found, strict=True)]
        totals.append(stacked)
    means = [sum(each[1:], each[0]) for each in zip(*totals, strict=True)]
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


def _product(matrix: Matrix, dense: Tensor) -> Tensor:
    return (matrix.csr if isinstance(matrix, SparseMatrix) else matrix) @ dense


def _product_transposed(matrix: Matrix, dense: Tensor) -> Tensor:
    return (matrix.csr_transposed if isinstance(matrix, SparseMatrix) else matrix.T) @ dense


def degree_names() -> list[str]:
    """Names of the columns of :func:`glognn.graph.directions.degrees`."""
    from glognn.graph.directions import QUANTILES

    counts = ("edges out", "edges in", "features present", "edges of neighbours")
    steps = [
        f"{name}, above {number} of {QUANTILES + 1} parts" for number in range(1, QUANTILES + 1) for name in counts
    ]
    return [*counts, *steps]
