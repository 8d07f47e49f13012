"""What training, and a user's own loop, can expect of every model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, runtime_checkable

import torch
from torch import Tensor, nn

from glognn.distributed.part import Part
from glognn.errors import InputError
from glognn.graph.adjacency import AdjacencyCache, EdgeCounts
from glognn.graph.config import GraphConfig
from glognn.graph.extension import Extension
from glognn.graph.graph import Graph
from glognn.graph.last_made import LastMade
from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.models.configs import ModelConfig

Inputs = TypeVar("Inputs")


@runtime_checkable
class SharesEncoding(Protocol):
    """A model whose ``logits`` is ``decode(encode(inputs), inputs)``, where ``encode`` does not depend on dropout.

    Training then encodes once for the evaluation after one step and for the next step.
    """

    def encode(self, inputs: Any) -> Any: ...

    def decode(self, encoded: Any, inputs: Any) -> Tensor: ...


@runtime_checkable
class FollowsEpochs(Protocol):
    """A model that changes as training goes on: called before each step, with epochs from 1. Nothing is shared then.

    What it has become is extra state, a tensor (``get_extra_state``), so that weights are saved with it.
    """

    def on_epoch(self, epoch: int) -> None: ...


@runtime_checkable
class FreezesKnownNodes(Protocol):
    """A model that scores new nodes beside what it has made of the known ones; others run the extended graph.

    A model with weights for each node must be one: a new node has none, and is seen through its known neighbours.
    """

    def freeze(self, inputs: Any) -> Any:
        """What scoring new nodes needs of the known graph."""

    def new_logits(self, frozen: Any, extension: Extension) -> Tensor:
        """Class scores of the new nodes, m x classes."""


@runtime_checkable
class EnlargesNumbers(Protocol):
    """A model whose products with the graph may enlarge numbers, and rounding errors with them."""

    def growth(self, graph: Graph) -> float:
        """How many times as large they may become; cheap to tell."""

    @property
    def remedies(self) -> str:
        """Which settings keep them small, in words."""


class NodeModel(nn.Module, ABC, Generic[Inputs]):
    """A classifier of the nodes of one graph.

    ``model(x, edge_index, edge_weight=None)`` gives one row of class scores (logits) per node, as in PyTorch
    Geometric; the edges are taken as given, and what is made of them is kept for the next call. Loops that run
    many epochs call :meth:`prepare` once with a :class:`~glognn.graph.graph.Graph` and then :meth:`logits`.

    A model implements :meth:`prepare`, :meth:`logits` and :meth:`reset_parameters`, and may be one that
    :class:`SharesEncoding` or :class:`FollowsEpochs`.

    Args:
        in_channels: Number of features (0 for a graph without any).
        out_channels: Number of classes.
        num_nodes: Number of nodes; only models with weights for each node need it.
    """

    config_class: ClassVar[type[ModelConfig]]

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int | None = None, **settings: Any) -> None:
        super().__init__()
        self.config = self.config_class.from_mapping(settings)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.num_nodes = num_nodes
        if out_channels < 1:
            raise self._error("out_channels", "an integer in the range [1, inf)", out_channels)
        if in_channels < 0:
            raise self._error("in_channels", "an integer in the range [0, inf)", in_channels)
        self._adjacency = AdjacencyCache()
        self._sparse_features: LastMade[SparseMatrix] = LastMade()

    def _error(self, name: str, allowed: str, value: object) -> InputError:
        title = self.config.title
        return InputError(f"The '{name}' parameter of {title} must be {allowed}. Got {value!r} instead.")

    @classmethod
    def for_graph(cls, graph: Graph, config: ModelConfig) -> Self:
        """A model of the right size for a graph, in the graph's precision and on its device."""
        if isinstance(graph, Part):
            from glognn.models.parts import part_model

            return part_model(cls, graph, config)
        model = cls(graph.num_features, graph.num_classes, graph.num_nodes, **config.as_dict())
        return model.to(device=graph.adjacency.matrix.device, dtype=graph.adjacency.matrix.dtype)

    @property
    def graph_config(self) -> GraphConfig:
        """How a ``Data`` is prepared for this model unless stated otherwise."""
        return GraphConfig.from_mapping(self.config.graph_settings)

    @property
    def deterministic(self) -> bool:
        """Whether the model computes the same in training as in evaluation, so that one pass serves both."""
        return getattr(self.config, "dropout", 0.0) == 0

    def use_settings(self, values: Mapping[str, Any]) -> None:
        """Compute with these values of the settings that ``config_class.varying`` names.

        When several models are trained together the values are tensors, one number for each model, and the layer must
        not branch on them.
        """

    @abstractmethod
    def reset_parameters(self) -> None:
        """Draw the initial weights anew."""

    @abstractmethod
    def prepare(self, graph: Graph) -> Inputs:
        """The constant inputs of the model, made once from a graph."""

    def shared(self, graph: Graph) -> Inputs:
        """The part of :meth:`prepare` that is the same for all models of one shape."""
        return self.prepare(graph)

    def completed(self, shared: Inputs, graph: Graph) -> Inputs:
        """What :meth:`prepare` makes, from that part, with what only this model knows."""
        return shared

    @abstractmethod
    def logits(self, inputs: Inputs) -> Tensor:
        """Class scores of all nodes, n x classes."""

    def forward(self, x: Tensor | None, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        return self.logits(self.prepare(self._graph(x, edge_index, edge_weight)))

    def _graph(self, x: Tensor | None, edge_index: Tensor, edge_weight: Tensor | None) -> Graph:
        """The edges as given, without labels: what ``forward`` needs of a graph."""
        num_nodes = self.num_nodes if x is None else x.shape[0]
        if num_nodes is None:
            raise self._error("num_nodes", "given when there are no features", None)
        like = next(self.parameters())
        adjacency = self._adjacency.get(edge_index, edge_weight, num_nodes, like)
        features: Matrix | None = x
        if x is not None and x.layout != torch.strided:
            given = x
            features = self._sparse_features.get(
                (x,), (like.dtype,), lambda: SparseMatrix.from_torch(given, like.dtype)
            )
        return Graph(
            x=features,
            adjacency=adjacency,
            y=torch.full((num_nodes,), -1, device=like.device),
            masks={},
            num_classes=self.out_channels,
            edge_counts=EdgeCounts(edge_index.shape[1], 0, 0, 0, 0),
            config=GraphConfig(directed=True),
        )

    def _features(self, graph: Graph) -> Matrix:
        """The graph's features, which must be there and as many as the model was built for."""
        self.config.check_graph(has_features=graph.x is not None)
        if graph.x is None or graph.num_features != self.in_channels:
            raise self._error("in_channels", f"the graph's number of features, {graph.num_features}", self.in_channels)
        return graph.x

    def _check_num_nodes(self, graph: Graph) -> None:
        if graph.num_nodes != self.num_nodes:
            raise self._error("num_nodes", f"the graph's number of nodes, {graph.num_nodes}", self.num_nodes)


class Boosting(Protocol):
    """What adds rounds to one model."""

    def grow(self, rounds: int) -> int:
        """Let the model have this many rounds, or all that its settings allow; how many it has then."""


class BoostedModel(NodeModel[Inputs]):
    """A model that is fitted round by round, without gradients; its class scores are a sum over rounds."""

    @abstractmethod
    def learn_inputs(self, graph: Graph) -> None:
        """Learn what :meth:`shared` needs of the graph, without labels; then nothing else changes it."""

    @abstractmethod
    def learn_labels(self, nodes: Tensor, labels: Tensor) -> None:
        """Learn what :meth:`completed` needs of the training nodes."""

    @abstractmethod
    def boosting(self, inputs: Inputs, nodes: Tensor, labels: Tensor, weights: Tensor | None, seed: int) -> Boosting:
        """What fits this model, which has no round yet, on the CPU.

        Args:
            inputs: What :meth:`prepare` made.
            nodes: The training nodes.
            labels: Their classes.
            weights: How much each of them counts; all the same when ``None``.
            seed: Of what is drawn.
        """

    @abstractmethod
    def grown(self, inputs: Inputs, scores: Tensor | None, first: int, last: int) -> Tensor:
        """Class scores after ``first`` rounds (``None``: before them all) with those up to ``last`` added in order."""

    @abstractmethod
    def first_rounds(self, count: int) -> dict[str, Tensor]:
        """A copy of the state as it was after so many rounds."""
