"""Search spaces, as the models' settings declare them. Imports neither torch nor Optuna."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from glognn.errors import InputError
from glognn.models.configs import find_model

if TYPE_CHECKING:
    from optuna import Trial
    from optuna.distributions import BaseDistribution

WIDE = "wide"
"""The space of every model, ours; others have the names of those who published them."""


@dataclass(frozen=True)
class Parameter:
    """One searched setting: some values, or a range."""

    name: str
    choices: tuple[Any, ...] = ()
    low: float = 0.0
    high: float = 0.0
    step: float | None = None
    log: bool = False
    or_zero: bool = False

    @property
    def whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    def suggest(self, trial: Trial) -> Any:
        if self.choices:
            return trial.suggest_categorical(self.name, self.choices)
        if self.or_zero and trial.suggest_categorical(f"{self.name}_is_zero", [False, True]):
            return 0.0
        if self.whole:
            return trial.suggest_int(self.name, int(self.low), int(self.high))
        return trial.suggest_float(self.name, self.low, self.high, step=self.step, log=self.log)

    def holds(self, value: Any) -> bool:
        """Whether a value can be chosen."""
        if self.choices:
            return value in self.choices
        if self.or_zero and value == 0:
            return True
        on_step = self.step is None or abs((value - self.low) / self.step % 1 - 0.5) > 0.5 - 1e-6
        return isinstance(value, int | float) and self.low <= value <= self.high and on_step

    def as_trial(self, value: Any) -> dict[str, Any]:
        """A value as the parameters of an Optuna trial."""
        if not self.or_zero:
            return {self.name: value}
        return {f"{self.name}_is_zero": True} if value == 0 else {f"{self.name}_is_zero": False, self.name: value}

    def grid(self) -> list[Any]:
        """All values, for a search of every combination; a range without steps has none."""
        if self.choices:
            return list(self.choices)
        if self.whole:
            return list(range(int(self.low), int(self.high) + 1))
        if self.step is None:
            raise InputError(f"The grid sampler needs steps, but '{self.name}' is a range: use tpe or random.")
        count = round((self.high - self.low) / self.step)
        return [round(self.low + k * self.step, 10) for k in range(count + 1)]

    def scale(self, values: Sequence[Any]) -> tuple[BaseDistribution, float | None]:
        """The values to choose from, widened to hold others that were tried; and where 0 lies on a scale of logarithms,
        a power of ten below the rest.
        """
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        if self.choices:
            return CategoricalDistribution(tuple(dict.fromkeys((*self.choices, *values)))), None
        if self.whole:
            return IntDistribution(int(min(self.low, *values)), int(max(self.high, *values))), None
        low = min([self.low, *(value for value in values if value or not self.log)])
        high = max(self.high, *values)
        if self.log and (self.or_zero or 0 in values):
            return FloatDistribution(low / 10, high, log=True), low / 10
        return FloatDistribution(low, high, log=self.log), None


FEATURES = Parameter("feature_normalization", choices=("none", "row", "length", "auto"))
"""Searched on graphs of a user's own: how published ones are prepared is published, too."""


@dataclass(frozen=True)
class Space:
    """What is searched and what is held."""

    name: str
    parameters: tuple[Parameter, ...]
    fixed: Mapping[str, Any]

    def holding(self, given: Mapping[str, Any]) -> Space:
        """The space with some settings held at given values."""
        searched = tuple(parameter for parameter in self.parameters if parameter.name not in given)
        return Space(self.name, searched, {**self.fixed, **given})

    def searching(self, parameter: Parameter) -> Space:
        """The space with one more setting searched, whether or not it was held."""
        others = {name: value for name, value in self.fixed.items() if name != parameter.name}
        return Space(self.name, (*self.parameters, parameter), others)

    def fingerprint(self) -> str:
        """Eight hexadecimal digits that change with what is searched or held."""
        return hashlib.sha256(repr((self.parameters, dict(self.fixed))).encode()).hexdigest()[:8]

    def suggest(self, trial: Trial) -> dict[str, Any]:
        return {parameter.name: parameter.suggest(trial) for parameter in self.parameters}


def spaces_of(model: str) -> dict[str, Space]:
    """A model's spaces by name."""
    config = find_model(model)
    searches = {**config.published_searches, WIDE: (config.search, config.held)}
    return {
        name: Space(name, tuple(Parameter(each, **spec) for each, spec in searched.items()), held)
        for name, (searched, held) in searches.items()
    }


def find_space(model: str, name: str) -> Space:
    """A space of a model by its name."""
    known = spaces_of(model)
    if name not in known:
        raise InputError(f"{model} has no search space '{name}'. Known: {', '.join(known)}.")
    return known[name]
