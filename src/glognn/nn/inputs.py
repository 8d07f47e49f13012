"""What the encoder can read and which operators the hops use: a table of each, by name. Imports no torch.

Model, memory formula, new nodes, floor of the benchmark and compiled core read these tables: an input or an operator is
one entry here, and a model whose settings name it has it. An input and an operator of one name are one matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from glognn.graph.extension import Extension
    from glognn.graph.graph import Graph
    from glognn.graph.sparse import Matrix, SparseMatrix

FEATURES = "features"
ADJACENCY = "adjacency"
LINK, LINK_IN, DEGREES, NEIGHBOURS = "link", "link_in", "degrees", "neighbours"
MEANS = {NEIGHBOURS: "both", "neighbours_out": "out", "neighbours_in": "in"}
"""Inputs that are means of neighbours' features, by the direction of the edges to them."""
OUT, IN, BOTH = "out", "in", "both"
LISTED_OUT, LISTED_IN = "listed_out", "listed_in"
"""Along edges as they are listed, where nothing but labels says that they have a direction."""

Word = tuple[str, ...]
"""Names of operators that are multiplied."""


class Sizes(Protocol):
    """A graph as far as memory depends on it (:class:`glognn.models.memory.Sizes`)."""

    @property
    def nodes(self) -> int: ...

    @property
    def entries(self) -> int: ...

    @property
    def features(self) -> int: ...

    @property
    def undirected(self) -> bool: ...

    def feature_bytes(self) -> int: ...

    @property
    def symmetric(self) -> bool: ...

    def adjacency_bytes(self, *, loops: bool, symmetric: bool = False) -> int: ...

    def direction_bytes(self, *, both: bool, once: bool) -> int: ...

    def listed_bytes(self) -> int: ...


@dataclass(frozen=True)
class Input:
    """A constant matrix with a row for each node, and weights for each of its columns.

    Wherever a graph is read, the normalisation of the model's adjacency is given too.

    Args:
        columns: How many there are, from the numbers of features and nodes.
        make: The matrix of a graph; the benchmark's floor counts its values.
        new_rows: The rows of new nodes, over the columns of the known graph.
        bytes: What the matrix takes in float32.
    """

    columns: Callable[[int, int], int]
    make: Callable[[Graph, str], Matrix]
    new_rows: Callable[[Extension, str], Matrix]
    bytes: Callable[[Sizes, str], int]

    @property
    def of_features(self) -> bool:
        """Whether the graph must have features, as many as the model was built for."""
        return self.columns(1, 0) != self.columns(0, 0)

    @property
    def of_nodes(self) -> bool:
        """Whether there are weights for each node, so that the model must know how many nodes there are."""
        return self.columns(0, 1) != self.columns(0, 0)


@dataclass(frozen=True)
class Operator:
    """A constant n x n matrix that the hops multiply with.

    Args:
        make: The matrix of a graph.
        new_rows: The rows of m new nodes, over the known columns (m x n) and over the new ones (m x m).
        bytes: What the matrix takes in float32.
    """

    make: Callable[[Graph, str], SparseMatrix]
    new_rows: Callable[[Extension, str], tuple[SparseMatrix, SparseMatrix]]
    bytes: Callable[[Sizes, str], int]


def _features(graph: Graph | Extension, normalization: str) -> Matrix:
    assert graph.x is not None
    return graph.x


def _adjacency(graph: Graph, normalization: str) -> SparseMatrix:
    return graph.adjacency.normalized(normalization)


def _adjacency_bytes(sizes: Sizes, normalization: str) -> int:
    return sizes.adjacency_bytes(loops=normalization != "none", symmetric=sizes.symmetric and normalization != "row")


def _directions() -> ModuleType:
    """What is made of the directions of edges; loads torch."""
    from glognn.graph import directions

    return directions


def _link(name: str) -> Input:
    return Input(
        columns=lambda num_features, num_nodes: num_nodes,
        make=lambda graph, normalization: _directions().link_rows(graph, name),
        new_rows=lambda extension, normalization: _directions().new_link_rows(extension, name),
        bytes=lambda sizes, normalization: sizes.direction_bytes(both=False, once=False),
    )


def _direction(name: str) -> Operator:
    def size(sizes: Sizes, normalization: str) -> int:
        if name in (LISTED_OUT, LISTED_IN):
            return sizes.listed_bytes()
        return sizes.direction_bytes(both=name == BOTH, once=name == BOTH or sizes.undirected)

    return Operator(
        make=lambda graph, normalization: _directions().operator(graph, name),
        new_rows=lambda extension, normalization: _directions().new_operator_rows(extension, name),
        bytes=size,
    )


def _means(way: str) -> Input:
    return Input(
        columns=lambda num_features, num_nodes: num_features,
        make=lambda graph, normalization: _directions().neighbour_means(graph, way),
        new_rows=lambda extension, normalization: _directions().new_neighbour_means(extension, way),
        bytes=lambda sizes, normalization: 4 * sizes.nodes * sizes.features,
    )


INPUTS: dict[str, Input] = {
    FEATURES: Input(
        columns=lambda num_features, num_nodes: num_features,
        make=_features,
        new_rows=_features,
        bytes=lambda sizes, normalization: sizes.feature_bytes(),
    ),
    ADJACENCY: Input(
        columns=lambda num_features, num_nodes: num_nodes,
        make=_adjacency,
        new_rows=lambda extension, normalization: extension.normalized(normalization)[0],
        bytes=_adjacency_bytes,
    ),
    LINK: _link(OUT),
    LINK_IN: _link(IN),
    DEGREES: Input(
        columns=lambda num_features, num_nodes: _directions().DEGREE_COLUMNS,
        make=lambda graph, normalization: _directions().degrees(graph),
        new_rows=lambda extension, normalization: _directions().new_degrees(extension),
        bytes=lambda sizes, normalization: 4 * _directions().DEGREE_COLUMNS * sizes.nodes,
    ),
    **{name: _means(way) for name, way in MEANS.items()},
}

OPERATORS: dict[str, Operator] = {
    ADJACENCY: Operator(
        make=_adjacency,
        new_rows=lambda extension, normalization: extension.normalized(normalization),
        bytes=_adjacency_bytes,
    ),
    OUT: _direction(OUT),
    IN: _direction(IN),
    BOTH: _direction(BOTH),
    LISTED_OUT: _direction(LISTED_OUT),
    LISTED_IN: _direction(LISTED_IN),
}


def powers(num_hops: int, name: str = ADJACENCY) -> list[Word]:
    """The words A, AA, AAA, ... up to ``num_hops`` letters: the paper's sum over k-hop neighbourhoods."""
    return [(name,) * k for k in range(1, num_hops + 1)]


def all_words(num_hops: int, names: Iterable[str]) -> list[Word]:
    """Every word of up to ``num_hops`` letters, shorter ones first."""
    return [word for length in range(1, num_hops + 1) for word in product(list(names), repeat=length)]


def letters(words: Iterable[Word]) -> list[str]:
    """The operators that words name, each once."""
    return list(dict.fromkeys(letter for word in words for letter in word))


def products(words: Iterable[Word]) -> list[str]:
    """The operator of each product that a sum of words takes: one for every different beginning of a word."""
    beginnings = dict.fromkeys(word[:length] for word in words for length in range(1, len(word) + 1))
    return [beginning[-1] for beginning in beginnings]


def held_bytes(inputs: Iterable[str], words: Iterable[Word], sizes: Sizes, normalization: str) -> int:
    """What inputs and operators take, in float32."""
    same = {IN: OUT, LISTED_IN: LISTED_OUT} | ({BOTH: OUT} if sizes.undirected else {})  # one matrix
    named = {same.get(name, name) for name in letters(words)}
    held = {name: OPERATORS[name].bytes for name in named} | {name: INPUTS[name].bytes for name in inputs}
    return sum(size(sizes, normalization) for size in held.values())
