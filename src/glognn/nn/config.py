"""The settings of the closed-form layer, which every GloGNN model shares. Imports no torch."""

from __future__ import annotations

from glognn.errors import InputError
from glognn.graph.config import NORMALIZATIONS
from glognn.settings import Settings, choice, integer, real, switch

COEFFICIENTS = ("plain", "exact", "released")
MOST = 1e20
"""Of beta1 and beta2: float32 holds what is divided by them and multiplied with them again."""


class ObjectiveConfig(Settings):
    """Weights of the objective whose minimiser is the coefficient matrix Z*, and what is made of it."""

    title = "GlobalHomophily"

    num_hops: int = integer(2, "K: the graph enters as a learnable sum of its first K powers.", low=1, high=64)
    beta1: float = real(1.0, "Weight of the Frobenius norm of Z; beta1 + beta2 must be positive.", low=0, high=MOST)
    beta2: float = real(1.0, "Weight of the distance between Z and the K-hop graph; 0 leaves it out.", low=0, high=MOST)
    gamma: float = real(0.5, "Weight of the initial embedding in every layer.", low=0, high=1)
    scale_free: bool = switch(
        False,
        "Whether beta1 and beta2 are multiples of the mean squared norm of the embedding's columns, so that they mean "
        "the same on every graph.",
        before=False,
    )
    tau: str = choice(
        "fixed",
        "'learned': a layer goes a learnt share tau of the way from its input to its output, at first all of it.",
        ("fixed", "learned"),
        before="fixed",
    )

    def check(self) -> None:
        if self.beta1 + self.beta2 <= 0:
            raise InputError(
                f"The 'beta1' and 'beta2' parameters of {self.title} must have a sum in the range (0.0, inf). "
                f"Got {self.beta1} + {self.beta2} instead."
            )


class LayerConfig(ObjectiveConfig):
    """The objective, and the form of the adjacency whose powers are the K-hop graph."""

    normalization: str = choice(
        "row",
        "Of the adjacency: 'row' and 'symmetric' add self-loops and divide by degrees, 'none' takes it as it is.",
        NORMALIZATIONS,
    )
