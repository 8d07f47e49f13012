"""What the settings of every model have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from itertools import takewhile
from typing import TYPE_CHECKING, Any, ClassVar, Self

from glognn.errors import InputError, TooLargeError
from glognn.models.memory import Sizes
from glognn.settings import Settings, integer, real

if TYPE_CHECKING:
    from glognn.graph.graph import Graph
    from glognn.models.base import NodeModel

AUTO = "auto"


def hidden_channels_setting() -> int:
    return integer(64, "Width of the hidden layers.", low=1)


def dropout_setting() -> float:
    return real(0.5, "Share of hidden values zeroed in training.", low=0, high=1, high_open=True)


def in_dropout_setting() -> float:
    return real(
        0.0, "Share of features zeroed in training; above 0 they are stored dense.", low=0, high=1, high_open=True
    )


def between(low: float, high: float, **how: float | bool) -> Mapping[str, Any]:
    """A searched range: with ``step``, or ``log`` = true; ``or_zero`` adds the value 0."""
    return {"low": low, "high": high, **how}


def one_of(*choices: object) -> Mapping[str, Any]:
    """A searched choice."""
    return {"choices": choices}


SearchedSettings = Mapping[str, Mapping[str, Any]]
COMMON: SearchedSettings = {
    "learning_rate": between(1e-3, 3e-2, log=True),
    "weight_decay": between(1e-6, 1e-1, log=True, or_zero=True),
    "dropout": between(0.0, 0.9),
}
"""What is searched for every model."""
WIDTHS = one_of(64, 128, 256)


def narrowing(num_layers: int, width: int, classes: int) -> int:
    """Values for each node of layers with relu and dropout, the last one without: relu, dropout's factors, result."""
    return (3 * (num_layers - 1) + 1) * width * (num_layers > 1) + 4 * classes


def alike(models: Iterable[ModelConfig]) -> int:
    """How many of some models, from the first on, can be trained together."""
    shapes = [model.shape() for model in models]
    return len(list(takewhile(lambda shape: shape == shapes[0], shapes)))


class ModelConfig(Settings):
    """Base of every model's settings.

    ``name`` is the registry key, ``implementation`` the ``module:class`` that is imported when a model is built.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    implementation: ClassVar[str]
    varying: ClassVar[tuple[str, ...]] = ()
    """Settings in which models that are trained together may differ; the model then implements ``use_settings``."""
    search: ClassVar[SearchedSettings]
    """What is searched of the model, its training and its graph: each setting :func:`between` or :func:`one_of`."""
    held: ClassVar[Mapping[str, Any]] = {}
    """Settings of training and graph that are held in a search."""
    published_searches: ClassVar[Mapping[str, tuple[SearchedSettings, Mapping[str, Any]]]] = {}
    """Other searches by name: what its authors searched, and what they held."""
    stated: ClassVar[bool] = False
    """The defaults are what its authors state for every graph, and so the first trial of any search."""
    distributes: ClassVar[bool] = False
    """Whether it can be trained on several ranks: it reads other nodes through products with the graph alone."""
    training_settings: ClassVar[Mapping[str, Any]] = {}
    """How the model wants to be trained (of TrainingConfig), unless stated otherwise."""
    graph_settings: ClassVar[Mapping[str, Any]] = {}
    """How the model wants its graph prepared (of GraphConfig); goes before the dataset's, settings go before it."""

    settles: ClassVar[tuple[str, ...]] = ()
    """Settings that are decided from a graph, those that may be ``auto`` (:data:`AUTO`) first."""

    @property
    def undecided(self) -> tuple[str, ...]:
        """The settings that are left to the graph."""
        return tuple(name for name in self.settles if getattr(self, name) == AUTO)

    @property
    def wished_training(self) -> Mapping[str, Any]:
        """How a model with these settings wants to be trained, where they are decided from a graph."""
        return self.training_settings

    def offers(self, graph: Graph, split: int) -> list[Self]:
        """These settings with all decided that are left to the graph: what its training labels speak for, at a look,
        and others that a short training may find to be better (:mod:`glognn.experiments.settling`)."""
        return [self]

    @property
    def reads_links(self) -> bool:
        """Whether it knows nodes by name: it has weights for each, by which it reads rows of links."""
        return False

    def shape(self) -> tuple[object, ...]:
        """Equal for models that can be trained together: the settings that are no mere numbers in a formula."""
        return tuple(value for name, value in self.as_dict().items() if name not in self.varying)

    def check_graph(self, *, has_features: bool) -> None:
        """Refuse a graph that lacks what the model is set to read."""
        if not has_features:
            raise InputError(f"The graph has no features, and {self.title} reads nothing else.")

    @lru_cache(maxsize=256)  # noqa: B019
    def num_parameters(self, sizes: Sizes) -> int:
        """Number of weights, counted on a model whose weights take no memory."""
        import torch
        from torch.nn.parameter import is_lazy

        try:
            with torch.device("meta"):
                model = self.model_class()(sizes.features, sizes.classes, sizes.nodes, **self.as_dict())
        except RuntimeError as error:
            if "overflow" not in str(error):
                raise
            raise TooLargeError(f"{self.title} does not fit: it has more weights than can be counted.") from None
        return sum(weight.numel() for weight in model.parameters() if not is_lazy(weight))

    def num_activations(self, sizes: Sizes) -> int:
        """Values held at the peak of a training step. Unless overridden, six n x ``hidden_channels`` for each layer."""
        width, depth = getattr(self, "hidden_channels", 64), getattr(self, "num_layers", 2)
        return 6 * depth * sizes.nodes * max(width, sizes.classes)

    def fused_activations(self, sizes: Sizes) -> int:
        """The same with the gradients of weights, of a model alone on a GPU whose kernels keep no passing values."""
        return self.num_parameters(sizes) + self.num_activations(sizes)

    def input_bytes(self, sizes: Sizes) -> int:
        """Constant inputs. Unless overridden, the features and an adjacency with self-loops and its transpose."""
        return sizes.feature_bytes() + sizes.adjacency_bytes(loops=True)

    def preparation_bytes(self, sizes: Sizes) -> int:
        """What making the inputs takes on the host, where that is more than making the graph took."""
        return 0

    @classmethod
    def model_class(cls) -> type[NodeModel[Any]]:
        module, _, attribute = cls.implementation.partition(":")
        found: type[NodeModel[Any]] = getattr(import_module(module), attribute)
        return found
