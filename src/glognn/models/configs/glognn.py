"""The settings of GloGNN and GloGNN++."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from glognn.errors import InputError
from glognn.models.configs.base import (
    AUTO,
    COMMON,
    WIDTHS,
    ModelConfig,
    SearchedSettings,
    between,
    dropout_setting,
    hidden_channels_setting,
    one_of,
)
from glognn.models.memory import Sizes
from glognn.nn.config import MOST, LayerConfig, ObjectiveConfig
from glognn.nn.inputs import (
    ADJACENCY,
    BOTH,
    DEGREES,
    FEATURES,
    IN,
    INPUTS,
    LINK,
    LINK_IN,
    LISTED_IN,
    LISTED_OUT,
    MEANS,
    OUT,
    Word,
    all_words,
    held_bytes,
    powers,
    products,
)
from glognn.settings import choice, integer, real, several, switch

if TYPE_CHECKING:
    from glognn.graph.graph import Graph

PAPER_SMALL: SearchedSettings = {
    "learning_rate": one_of(0.01, 0.005),
    "weight_decay": one_of(1e-5, 5e-5, 1e-4),
    "patience": one_of(40, 200, 300),
    "dropout": between(0.0, 0.9, step=0.1),
    "alpha": between(0.0, 1.0, step=0.1),
    "beta1": one_of(0.0, 1.0, 10.0),
    "beta2": one_of(0.1, 1.0, 10.0, 100.0, 1000.0),
    "gamma": between(0.0, 0.9, step=0.1),
    "num_layers": between(1, 3),
    "num_hops": between(1, 6),
}
PAPER_LARGE: SearchedSettings = {
    "learning_rate": one_of(0.01, 0.005, 0.001),
    "weight_decay": one_of(0.0, 0.001, 0.01, 0.1),
    "dropout": between(0.0, 0.9, step=0.1),
    "alpha": one_of(0.1, 0.5, 0.9),
    "beta1": one_of(0.0, 0.1, 1.0),
    "beta2": one_of(0.1, 1.0),
    "gamma": one_of(0.1, 0.5, 0.9),
    "num_layers": between(1, 3),
    "num_hops": between(1, 3),
}
"""The grids of Li et al., ICML 2022, appendix. They leave out half of the settings that their authors published."""


class GloGNNConfig(LayerConfig, ModelConfig):
    title = "GloGNN"
    name = "glognn"
    summary = "Every node as a signed combination of all nodes, in closed form"
    paper = "Li et al., ICML 2022"
    implementation = "glognn.models.glognn:GloGNN"
    distributes = True
    varying = ("alpha", "beta1", "beta2", "gamma", "dropout")
    search: ClassVar[SearchedSettings] = {
        **COMMON,
        "alpha": between(0.0, 1.0, step=0.1),  # both ends matter: there features or adjacency are left out entirely
        "beta1": between(1e-2, 3e4, log=True, or_zero=True),
        "beta2": between(1e-2, 3e4, log=True),
        "gamma": between(0.0, 0.95),
        "num_layers": between(1, 3),
        "num_hops": between(1, 6),
        "hidden_channels": WIDTHS,
        "normalization": one_of("row", "symmetric", "none"),
    }
    published_searches: ClassVar[Mapping[str, tuple[SearchedSettings, Mapping[str, Any]]]] = {
        "paper-small": (PAPER_SMALL, {"early_stopping": "paper", "epochs": 2000}),
        "paper-large": (
            PAPER_LARGE,
            {
                "optimizer": "adamw",
                "epochs": 500,
                "early_stopping": "none",
                "num_encoder_layers": 3,
                "normalization": "none",
            },
        ),
    }

    num_layers: int = integer(2, "How often the closed-form layer is applied.", low=1, high=64)
    alpha: float = real(
        0.5,
        "Weight of the adjacency in the initial embedding, 1 - alpha that of the features; 0 and 1 leave the "
        "other out entirely.",
        low=0,
        high=1,
    )
    hidden_channels: int = hidden_channels_setting()
    num_encoder_layers: int = integer(
        2, "Linear maps from the inputs to the initial embedding (the large-scale settings use 3).", low=1, high=8
    )
    fusion: str = choice(
        "hidden",
        "Where features and adjacency are added: after the first linear map, or after a network for each.",
        ("hidden", "output"),
    )
    dropout: float = dropout_setting()

    def input_weights(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Weights of the encoder's inputs, from values of ``varying``."""
        return {FEATURES: 1 - values["alpha"], ADJACENCY: values["alpha"]}

    @property
    def inputs(self) -> dict[str, float]:
        """The inputs of :mod:`glognn.nn.inputs` that the encoder reads, with their weights."""
        return {name: weight for name, weight in self.input_weights(self.as_dict()).items() if weight != 0}

    @property
    def reads_links(self) -> bool:
        return any(INPUTS[name].of_nodes for name in self.inputs)

    @property
    def words(self) -> list[Word]:
        """What the hops add up, in operators of :mod:`glognn.nn.inputs`."""
        return powers(self.num_hops) if self.beta2 > 0 else []

    def shape(self) -> tuple[object, ...]:
        """At the ends of their ranges some numbers leave out parts of the model."""
        return *super().shape(), self.alpha == 0, self.alpha == 1, self.beta2 == 0, self.gamma == 1

    def check_graph(self, *, has_features: bool) -> None:
        if self.alpha < 1 and not has_features:
            raise InputError(
                f"The 'alpha' parameter of {self.title} must be 1.0 for a graph without features. "
                f"Got {self.alpha} instead."
            )

    def num_activations(self, sizes: Sizes) -> int:
        """Whichever holds more: the sums of the encoder, or all in the backward pass; the layers are n x c."""
        inputs = len(self.inputs)
        tails = 1 if self.fusion == "hidden" else inputs
        width = sizes.classes if self.num_encoder_layers == 1 else self.hidden_channels
        layers = (6 + self.num_layers * (4 + len(products(self.words)))) * sizes.classes
        backward = (3 * (self.num_encoder_layers - 1) * tails + 1) * width + layers
        return sizes.nodes * max(backward, (3 * inputs - 1) * width)

    def fused_activations(self, sizes: Sizes) -> int:
        """Whichever holds most: the forward pass with its layers, the backward pass, or the gradients of the inputs.

        A tail keeps its sum E, which evaluation and step share, and what each of its maps reads; of two maps or less E
        is that. From four on there are values on their way between two maps. The layers are n x c: H0, the gradient of
        the scores, two of each layer, and the products of the one under way. At last the gradient of E is there beside
        those of the weights, and half of it once more where it is gathered in 16 bits.
        """
        depth, width, rows = self.num_encoder_layers, self.hidden_channels, sizes.nodes
        tails = 1 if self.fusion == "hidden" else len(self.inputs)
        if depth == 1:
            width = sizes.classes
        layers = (2 + 2 * self.num_layers + len(products(self.words))) * sizes.classes
        kept = tails * (1 if depth <= 2 else depth) + (depth >= 4)
        forward = kept * width + layers
        backward = (kept + (depth <= 2)) * width + 2 * sizes.classes
        sums = (3 if sizes.often_gathered else 2) * width // 2
        gradients = self.num_parameters(sizes) + rows * (sums + sizes.classes)
        encoding = rows * ((tails - 1) * width + sums + width)
        return max(rows * forward, rows * backward, gradients, encoding)

    def input_bytes(self, sizes: Sizes) -> int:
        return held_bytes(self.inputs, self.words, sizes, self.normalization)


class GloGNNPlusPlusConfig(GloGNNConfig):
    title = "GloGNN++"
    name = "glognn++"
    summary = "GloGNN with a learnable weight for each column of the embedding"
    implementation = "glognn.models.glognn:GloGNNPlusPlus"

    coefficient: str = choice(
        "released",
        "'released' is the authors' code, which leaves the weights out of the inverse and scores higher; 'exact' "
        "minimises the paper's objective.",
        ("exact", "released"),
    )


_READABLE = (FEATURES, LINK, LINK_IN, DEGREES, *MEANS)
_OFFERED = (FEATURES, LINK, DEGREES)
"""Inputs of which ``auto`` chooses."""
_SENSED, _LISTED = "sensed", "listed"
_DIRECT: dict[str, Any] = {"degree_weight": 1.0, "num_layers": 0}
_FEW = _DIRECT | {"num_blocks": 3, "block_norm": "batch", "dropout": 0.7}
_DEEP = _DIRECT | {"num_blocks": 12, "block_norm": "batch", "dropout": 0.2}
_LESS_DEEP = _DEEP | {"num_blocks": 4}
_LARGE = 50_000
_DEEP_TRAINING = {"weight_decay": 5e-5}
"""What it offers besides: an encoder that reads all there is, and a few local blocks, and many, that read what is not
known by name. On graphs with more nodes many are a third as many, which learn in a third of the time.
"""


class GloGNN2Config(ObjectiveConfig, ModelConfig):
    title = "GloGNN2"
    name = "glognn2"
    summary = "GloGNN's layer, free of scale, on an encoder that sees features, links, degrees and neighbours"
    paper = "after Li et al., ICML 2022"
    implementation = "glognn.models.glognn2:GloGNN2"
    stated = True
    distributes = True
    settles = ("reads", "degree_weight", "num_blocks", "block_norm", "block_edges", "num_layers", "dropout")
    varying = ("beta1", "beta2", "gamma", "dropout")
    graph_settings: ClassVar[Mapping[str, Any]] = {"directed": True, "feature_normalization": "auto"}
    training_settings: ClassVar[Mapping[str, Any]] = {"weight_decay": 1e-3}
    normalization: ClassVar[str] = "symmetric"
    """Of the operator that the paper's models have; those of this one come normalised."""
    search: ClassVar[SearchedSettings] = {  # not the betas, which mean the same on every graph
        "learning_rate": one_of(0.005, 0.01, 0.02),
        "weight_decay": between(3e-5, 1e-2, log=True),
        "dropout": between(0.2, 0.8),
        "reads": one_of("features", "features link", "features degrees", "features link degrees"),
        "degree_weight": one_of(0.125, 1.0),
        "num_blocks": one_of(0, 2),
        "num_layers": one_of(0, 2),
        "gamma": between(0.1, 0.7),
        "tau": one_of("fixed", "learned"),
        "hidden_channels": one_of(64, 128),
    }

    num_hops: int = integer(3, "K: the graph enters as a learnable sum of words of up to K letters.", low=1, high=64)
    beta1: float = real(0.1, "Weight of the Frobenius norm of Z; beta1 + beta2 must be positive.", low=0, high=MOST)
    gamma: float = real(0.3, "Weight of the initial embedding in every layer.", low=0, high=1)
    scale_free: bool = switch(
        True,
        "Whether beta1 and beta2 are multiples of the mean squared norm of the embedding's columns, so that they mean "
        "the same on every graph.",
    )
    tau: str = choice(
        "learned",
        "'learned': a layer goes a learnt share tau of the way from its input to its output, at first all of it.",
        ("fixed", "learned"),
    )
    reads: str = several(
        AUTO,
        "What the encoder reads: 'features' (left out where a graph has none), rows of links out of a node ('link') or "
        "into it ('link_in'), 'degrees', means of the features of all neighbours ('neighbours'), of those that a node "
        "points to ('neighbours_out') and of those that point to it ('neighbours_in'). 'auto': of features, link and "
        "degrees those that training labels speak for (all three, where a model is built without them), through the "
        "layers, three or twelve local blocks (four beyond 50,000 nodes) or neither, whichever does best in short "
        "trainings on these labels.",
        (AUTO, *_READABLE),
    )
    gated: str = several("", "Those of 'reads' with a learnt weight that can reach zero.", _READABLE)
    degree_weight: float = real(
        0.125,
        "What degrees are multiplied with: at 1/8 a row of them is about as long as features of length 1. More suits "
        "graphs where degrees say much and labels are many.",
        low=0,
    )
    num_blocks: int = integer(0, "Local residual blocks between the inputs and the initial embedding.", low=0, high=64)
    block_norm: str = choice(
        "layer",
        "What local blocks normalise: 'layer' the hidden values of each node, 'batch' those of all nodes in each "
        "column, with which many blocks learn in fewer epochs.",
        ("layer", "batch"),
        before="layer",
    )
    block_edges: str = choice(
        AUTO,
        "What local blocks go along. 'listed': edges out and in, as they are listed; 'sensed': the same, but both ways "
        "where the list says nothing of direction, for no two nodes point to each other; 'auto': then as listed "
        "nevertheless, if training labels tell the two ends of edges apart.",
        (AUTO, _SENSED, _LISTED),
        before=_SENSED,
    )
    directions: str = choice(
        "joined",
        "Words of the hops: powers of the undirected graph, or all words of edges out and in up to 'num_hops' letters.",
        ("joined", "separate"),
    )
    num_layers: int = integer(2, "How often the closed-form layer is applied; 0 leaves it out.", low=0, high=64)
    hidden_channels: int = hidden_channels_setting()
    dropout: float = dropout_setting()

    @property
    def inputs(self) -> dict[str, float]:
        """The inputs of :mod:`glognn.nn.inputs` that the encoder reads, with their weights."""
        names = _OFFERED if self.reads == AUTO else self.reads.split()
        return {name: self.degree_weight if name == DEGREES else 1.0 for name in names}

    @property
    def undecided(self) -> tuple[str, ...]:
        """What to read, and with it whether by local blocks, as far as their settings are the defaults; and along which
        edges these go."""
        edges = ("block_edges",) if self.num_blocks and self.block_edges == AUTO else ()
        if self.reads != AUTO:
            return edges
        defaults = {each.name: each.default for each in fields(self)}
        left = tuple(name for name in self.settles if getattr(self, name) == defaults[name])
        return left if {"num_blocks", "num_layers"} <= {*left} else ("reads", *edges)

    def offers(self, graph: Graph, split: int) -> list[Self]:
        undecided = self.undecided
        if not undecided:
            return [self]
        from glognn.models.reading import choose_inputs, tell_ends_apart

        edges: dict[str, Any] = {"block_edges": _LISTED if tell_ends_apart(graph, split) else _SENSED}
        if "reads" not in undecided:
            return [replace(self, **edges)]
        reads = choose_inputs(graph, split, _OFFERED)
        own = [name for name in reads if not INPUTS[name].of_nodes] or [DEGREES]
        every = [name for name in _OFFERED if graph.x is not None or not INPUTS[name].of_features]
        unnamed = [name for name in every if not INPUTS[name].of_nodes]
        found: list[dict[str, Any]] = [{"reads": " ".join(reads)}]
        if "num_blocks" in undecided:
            deep = _DEEP if graph.num_nodes <= _LARGE else _LESS_DEEP
            blocks = [{"reads": " ".join(unnamed)} | _FEW, {"reads": " ".join(own)} | deep]
            found += [{"reads": " ".join(every)} | _DIRECT, *(each | edges for each in blocks)]
        elif "block_edges" in undecided:
            found = [each | edges for each in found]
        kept = [{name: value for name, value in each.items() if name in undecided} for each in found]
        return [replace(self, **each) for each in kept]

    @property
    def wished_training(self) -> Mapping[str, Any]:
        return _DEEP_TRAINING if self.normalizes_columns else self.training_settings

    @property
    def reads_links(self) -> bool:
        return any(INPUTS[name].of_nodes for name in self.inputs)

    @property
    def words(self) -> list[Word]:
        """What the hops add up, in operators of :mod:`glognn.nn.inputs`."""
        if self.beta2 == 0 or self.num_layers == 0:
            return []
        return powers(self.num_hops, BOTH) if self.directions == "joined" else all_words(self.num_hops, (OUT, IN))

    @property
    def neighbours(self) -> tuple[str, ...]:
        """The operators of the local blocks."""
        if not self.num_blocks:
            return ()
        return (LISTED_OUT, LISTED_IN) if self.block_edges == _LISTED else (OUT, IN)

    @property
    def normalizes_columns(self) -> bool:
        """Whether a node's scores in training depend on all others by batch normalisation."""
        return self.num_blocks > 0 and self.block_norm == "batch"

    def check(self) -> None:
        super().check()
        if not self.reads:
            raise InputError(f"The 'reads' parameter of {self.title} must name at least one input. Got none instead.")
        if AUTO in self.reads.split() and self.reads != AUTO:
            wanted = f"'{AUTO}' alone, or names of inputs"
            raise InputError(f"The 'reads' parameter of {self.title} must be {wanted}. Got {self.reads!r} instead.")

    def shape(self) -> tuple[object, ...]:
        """At the ends of their ranges some numbers leave out parts of the model."""
        return *super().shape(), self.beta2 == 0, self.gamma == 1

    def check_graph(self, *, has_features: bool) -> None:
        if not has_features and not any(not INPUTS[name].of_features for name in self.inputs):
            raise InputError(
                f"The 'reads' parameter of {self.title} must name more than features for a graph without any, for "
                f"example '{LINK} {DEGREES}'. Got {self.reads!r} instead."
            )

    def num_activations(self, sizes: Sizes) -> int:
        """Whichever holds more: the sums of the encoder, or all in the backward pass; the layers are n x c."""
        heads = 1 + sum(INPUTS[name].of_nodes for name in self.inputs)
        wide = (4 * heads + 8 * self.num_blocks + 2) * self.hidden_channels
        layers = (6 + self.num_layers * (4 + len(products(self.words)))) * sizes.classes
        return sizes.nodes * (wide + layers)

    def input_bytes(self, sizes: Sizes) -> int:
        return self._held_bytes(self.inputs, sizes)

    def preparation_bytes(self, sizes: Sizes) -> int:
        """All but the features, and what passes while one of them is made, measured."""
        return self._held_bytes([name for name in self.inputs if name != FEATURES], sizes) + 50 * sizes.entries

    def _held_bytes(self, inputs: Iterable[str], sizes: Sizes) -> int:
        words = [*self.words, *((name,) for name in self.neighbours)]
        return held_bytes(inputs, words, sizes, self.normalization)
