"""The parameters of the classifier: its own, and every setting of models, training and graph by name."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from glognn.graph.config import GraphConfig
from glognn.models.configs import MODELS
from glognn.settings import Settings
from glognn.training.config import TrainingConfig

_TOLD_OTHERWISE = {"seed", "positive_class", "unlabelled"}
"""Settings that are ``random_state``, ``pos_label`` and labels that are missing."""
_GROUPS: tuple[type[Settings], ...] = (*MODELS.values(), TrainingConfig, GraphConfig)
SETTINGS = {
    info.name: info.rule.kind for config in _GROUPS for info in config.infos() if info.name not in _TOLD_OTHERWISE
}
"""Settings of models, training and graph, by name."""
OWN = (
    "model",
    "graph",
    "pos_label",
    "validation_fraction",
    "split",
    "time_limit",
    "quality",
    "folds",
    "random_state",
)
"""Parameters that are no settings of a model, its training or its graph."""


def with_settings(signature: inspect.Signature) -> inspect.Signature:
    """The signature of a function that takes settings, with each of them by name."""
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    given = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind | None)
        for name, kind in SETTINGS.items()
    ]
    return signature.replace(parameters=[*own, *given])


def plain(value: Any) -> Any:
    """NumPy's numbers, of which grids of settings are made, as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def seed_of(random_state: Any) -> int:
    """The seed that scikit-learn's ``random_state`` stands for; of a generator one that it draws."""
    value = plain(random_state)
    return value if isinstance(value, int) else int(check_random_state(value).randint(2**31 - 1))
