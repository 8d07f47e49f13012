"""What the compiled core holds for its values, from sizes alone: to the byte what it counts itself. Imports no torch.

The constants are those of ``engine.hpp``, ``small.hpp`` and ``memory.hpp``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LANES = 16
_FLOAT, _DOUBLE, _INDEX, _BITS = 4, 8, 4, 2
_PAGE, _HUGE_PAGE = 2**12, 2**21
_SQUARE = LANES * LANES * _DOUBLE
_SMALL = 5 * LANES * LANES * _FLOAT + LANES * _SQUARE + LANES // 2 * _DOUBLE
_CACHE_BYTES = 384 * 2**10
_TOGETHER = 4
_GROUP_VECTORS = 2
_WORTH_CUTTING = 6
_SHARED_BYTES = 2**20
_PIECE_ROWS, _MOST_PIECES, _BLOCK_ROWS = 2048, 16, 256


@dataclass(frozen=True)
class InputSizes:
    """A matrix that the encoder reads, a row for each node.

    Args:
        columns: How many.
        entries: Stored values of a sparse one; ``None`` where it is dense.
        branch: Whether local blocks do not see it.
        gated: Whether it has a learnt weight.
    """

    columns: int
    entries: int | None
    branch: bool = False
    gated: bool = False


@dataclass(frozen=True)
class CoreSizes:
    """Members as far as the core's memory depends on them.

    Args:
        nodes: Number of nodes, n.
        classes: Number of classes, c.
        hidden: Width of the encoder.
        layers: Closed-form layers.
        hops: Hops; 0 where beta2 is 0.
        members: How many train together.
        threads: CPU threads.
        dropping: Whether they have dropout.
        scaled: Whether they have a weight for each class (GloGNN++).
        inputs: The matrices that the encoder reads.
        jumping: Whether hidden values are summed with learnt shares (GloGNN2).
        batch: Whether local blocks normalise columns over all nodes.
        blocks: Local blocks, or layers of the encoder beyond two.
        directions: Operators of a block, each with weights of its own.
        tau: Whether a layer goes a learnt share of the way.
    """

    nodes: int
    classes: int
    hidden: int
    layers: int
    hops: int
    members: int = 1
    threads: int = 1
    dropping: bool = True
    scaled: bool = False
    inputs: Sequence[InputSizes] = ()
    jumping: bool = False
    batch: bool = False
    blocks: int = 0
    directions: int = 0
    tau: bool = False

    @property
    def stride(self) -> int:
        return padded(self.hidden)

    @property
    def heads(self) -> int:
        """Matrices of hidden values before the nonlinearity."""
        return 1 + sum(each.branch for each in self.inputs)

    @property
    def parameters(self) -> int:
        """Values of a member's weights as they are stored, with what fills vectors."""
        columns = sum(each.columns for each in self.inputs)
        dense = columns + self.classes + len(self.inputs)
        dense += self.blocks * ((self.directions + 1) * (self.hidden + 1) + 2 * self.jumping + 2 * self.batch)
        vectors = (1 + self.scaled) * (padded(self.classes) // LANES) + self.tau
        vectors += sum(each.gated for each in self.inputs)
        shares = padded(self.heads + self.blocks) if self.jumping else 0
        return dense * self.stride + LANES * vectors + padded(self.hops) + shares

    def core_bytes(self) -> int:
        """Everything but the arrays that the caller lends."""
        slots = LANES // self.classes
        most = max(_GROUP_VECTORS * slots, 1)
        apart = self.dropping or self.batch
        most = max(most // 2, 1) if apart else most
        shared = self.threads > 1 and self.nodes * self.stride * _FLOAT > _SHARED_BYTES
        most = most if shared else min(most, -(-self.members // self.threads))
        groups = [min(most, self.members - first) for first in range(0, self.members, most)]
        vectors = [self._vectors(count * (1 + apart)) for count in groups]
        training = [self._vectors(count) for count in groups]
        wide = _buffer(self.nodes * self.stride)
        total = self.members * self.heads * wide
        total += self.members * self.dropping * self.nodes * (self.stride // LANES) * _BITS * (self.heads + self.blocks)
        if self.blocks:
            total += self.members * (self.blocks + 1) * wide
            deviations = 2 * self.stride if self.batch else self.nodes
            total += self.members * self.blocks * self.jumping * (wide + _buffer(deviations))
        for each, trained in zip(vectors, training, strict=True):
            row = each * LANES
            total += (self.layers + 1) * _buffer(self.nodes * row)
            total += self.layers * _buffer(self.nodes * row if self.hops else 0)
            total += self.layers * each * _SMALL if slots else self._wide_bytes(1 + apart)
            total += 4 * _buffer(row) + _buffer(row * self.hops) + _buffer(row * self.layers)
            total += 2 * self.nodes * trained * _BITS
        cut = [self._blocks(*matrix) for matrix in self._matrices()]
        scratch = 6 * _buffer(self.nodes * max(vectors) * LANES)
        scratch += _buffer(self.classes * self.stride) + _buffer(self.heads * self.stride)
        scratch += _buffer(self._partial() * _TOGETHER * LANES)
        if self.blocks:
            maps = (self.directions + 1) * self.hidden + 1
            scratch += 4 * wide + _buffer(maps * self.stride) + _buffer(4 * self.stride * self.pieces)
        scales = self.classes * max(slots * max(training), 1)
        sums = most * (self.hops + 2) + scales
        gram = max(vectors) * LANES * (self.classes // 2 + 1 if slots else self.classes * (self.layers > 0))
        sums += self.pieces * (2 * most + gram + self.hops * LANES * max(training) + scales)
        sums += (self.heads + self.blocks) * (1 + self.stride // LANES) if self.jumping or self.blocks else 0
        scratch += 2 * self.pieces * most * _SQUARE * (slots > 0) + sums * _DOUBLE
        return total + sum(cut) + (1 if shared else self.threads) * scratch

    def _wide_bytes(self, slots: int) -> int:
        """Matrices of the layers where classes fill several vectors: rows of each slot, and squares in float64."""
        each = self.layers * slots
        rows = _buffer(each * 5 * self.classes * padded(self.classes))
        return rows + each * (2 * self.classes**2 + 1) * _DOUBLE

    def _vectors(self, slots: int) -> int:
        """Of so many slots, each the class scores of a member."""
        together = LANES // self.classes
        return -(-slots // together) if together else slots * padded(self.classes) // LANES

    @property
    def pieces(self) -> int:
        """Parts of the rows that are summed by themselves."""
        wanted = min(max(self.nodes // _PIECE_ROWS, 1), _MOST_PIECES)
        rows = -(-self.nodes // wanted)
        blocks = -(-rows // _BLOCK_ROWS)
        return -(-self.nodes // (blocks * _BLOCK_ROWS))

    def _partial(self) -> int:
        """Rows of weights whose gradient is summed piece by piece, at most."""
        pieces = [
            each.columns
            for each in self.inputs
            if each.entries is None
            or (each.gated and not each.branch)
            or self._blocks(each.columns, self.nodes, each.entries)
        ]
        return max([self.hidden if self.blocks else 0, *pieces])

    def _matrices(self) -> list[tuple[int, int, int]]:
        """Rows, columns and entries of each sparse input and of its transpose."""
        shapes = [(self.nodes, each.columns, each.entries) for each in self.inputs if each.entries is not None]
        return [
            each for rows, columns, entries in shapes for each in ((rows, columns, entries), (columns, rows, entries))
        ]

    def _blocks(self, rows: int, columns: int, entries: int) -> int:
        """Bytes of a matrix cut into blocks of columns; 0 where it is used as it is."""
        row_bytes = min(self.stride // LANES, _TOGETHER) * LANES * _FLOAT
        count = -(-columns // max(_CACHE_BYTES // row_bytes, 1))
        if count <= 1 or entries < _WORTH_CUTTING * rows * count:
            return 0
        return count * (rows + 1) * _INDEX + entries * (_INDEX + _FLOAT)


def padded(count: int) -> int:
    """Values that fill whole vectors."""
    return -(-count // LANES) * LANES


def _buffer(count: int) -> int:
    size = count * _FLOAT
    page = _PAGE if size < _HUGE_PAGE else _HUGE_PAGE
    return -(-size // page) * page + (page if page == _PAGE else 0)
