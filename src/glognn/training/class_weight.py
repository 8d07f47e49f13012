"""The setting ``class_weight``: words, or a weight for each class. Imports no torch.

As a text it is ``fraud=5,legit=1`` or JSON, as a mapping it is one; a class that is not named weighs 1.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from glognn.errors import InputError

NONE, BALANCED = "none", "balanced"


def plain_class_weight(given: str) -> str:
    """The setting as records have it: one of the words, or JSON in the order of names."""
    return given if given in (NONE, BALANCED) else json.dumps(parse_class_weight(given), sort_keys=True)


def parse_class_weight(text: str) -> dict[str, float]:
    """Weights by the names of classes, which must be positive."""
    try:
        found = json.loads(text) if text.lstrip().startswith("{") else _pairs(text)
        weights = {str(name): _weight(value) for name, value in found.items()}
        if not weights:
            raise ValueError
    except (ValueError, RecursionError):
        raise InputError(
            f"The 'class_weight' parameter of training must be '{NONE}', '{BALANCED}' or positive weights of classes, "
            f"such as fraud=5,legit=1. Got {text!r} instead."
        ) from None
    return weights


def _pairs(text: str) -> Mapping[str, float]:
    parts = [part.rpartition("=") for part in text.split(",")]
    if not all(name.strip() and equals for name, equals, _ in parts) or len({part[0] for part in parts}) < len(parts):
        raise ValueError
    return {name.strip(): float(value) for name, _, value in parts}


def _weight(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (0 < value < math.inf):
        raise ValueError
    return float(value)
