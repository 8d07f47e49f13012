"""Settings declared once: default, help text and allowed values, from which flags, checks and docs follow.

A group of settings is a frozen dataclass derived from :class:`Settings` whose fields are made by
:func:`real`, :func:`integer`, :func:`choice`, :func:`several`, :func:`text` or :func:`switch`::

    class Example(Settings):
        title = "Example"
        gamma: float = real(0.5, "Weight of the initial embedding.", low=0, high=1)

Constructing it checks every value. A setting that is added to a group with finished runs says with ``before`` which
value means the same as not having it: at that value it is no part of a run's name, so that those runs keep theirs.
This module imports no torch, so that the command line can list settings at once.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from glognn.errors import InputError


@dataclass(frozen=True)
class Rule:
    """What one setting may be: its type, and either a range or a list of words, of which it may take ``several``.

    Without words, ``str`` is any text; numbers and truth values are taken as they are written, a mapping as its JSON.
    """

    kind: type
    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False
    words: tuple[str, ...] = ()
    several: bool = False

    def describe(self) -> str:
        if self.several:
            return "words out of " + ", ".join(repr(word) for word in self.words) + ", separated by spaces"
        if self.words:
            return "one of " + ", ".join(repr(word) for word in self.words)
        if self.kind is bool:
            return "true or false"
        if self.kind is str:
            return "a text"
        article = "an integer" if self.kind is int else "a number"
        if math.isinf(self.low) and math.isinf(self.high):
            return article
        left = "(" if self.low_open or math.isinf(self.low) else "["
        right = ")" if self.high_open or math.isinf(self.high) else "]"
        return f"{article} in the range {left}{self._bound(self.low)}, {self._bound(self.high)}{right}"

    def _bound(self, value: float) -> str:
        return str(int(value)) if self.kind is int and math.isfinite(value) else str(float(value))

    def parse(self, text: str) -> Any:
        """What a user typed, as a number where one is wanted and it is one; it is checked later."""
        try:
            return self.kind(text) if self.kind in (int, float) else text
        except ValueError:
            return text

    def convert(self, value: object) -> Any:
        """The value in the setting's type; raises ``ValueError`` when it is not allowed."""
        if self.kind is bool:
            if not isinstance(value, bool):
                raise ValueError
            return value
        if self.several:
            given = value.split() if isinstance(value, str) else [None]
            if not set(given) <= set(self.words):
                raise ValueError
            return " ".join(word for word in self.words if word in given)
        if self.kind is str:
            if not self.words and isinstance(value, str | int | float):
                return str(value)
            if not self.words and isinstance(value, Mapping):
                try:
                    return json.dumps({str(name): each for name, each in value.items()})
                except TypeError:
                    raise ValueError from None
            if value not in self.words:
                raise ValueError
            return value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError
        if self.kind is int and not isinstance(value, int):
            raise ValueError
        number = self.kind(value)
        too_low = number <= self.low if self.low_open else number < self.low
        too_high = number >= self.high if self.high_open else number > self.high
        if not math.isfinite(number) or too_low or too_high:
            raise ValueError
        return number


def _declare(default: Any, help: str, rule: Rule, before: Any) -> Any:
    return field(default=default, metadata={"help": help, "rule": rule, "before": before})


def real(
    default: float,
    help: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
    before: float | None = None,
) -> float:
    """Declare a number."""
    rule = Rule(float, low=low, high=high, low_open=low_open, high_open=high_open)
    return _declare(default, help, rule, before)  # type: ignore[no-any-return]


def integer(
    default: int, help: str, *, low: float = -math.inf, high: float = math.inf, before: int | None = None
) -> int:
    """Declare a whole number."""
    return _declare(default, help, Rule(int, low=low, high=high), before)  # type: ignore[no-any-return]


def choice(default: str, help: str, words: Iterable[str], *, before: str | tuple[str, ...] | None = None) -> str:
    """Declare one word out of several."""
    return _declare(default, help, Rule(str, words=tuple(words)), before)  # type: ignore[no-any-return]


def several(default: str, help: str, words: Iterable[str], *, before: str | None = None) -> str:
    """Declare any number of words out of several, kept in the order in which they are declared."""
    return _declare(default, help, Rule(str, words=tuple(words), several=True), before)  # type: ignore[no-any-return]


def text(default: str, help: str, *, before: str | tuple[str, ...] | None = None) -> str:
    """Declare any text, as a name that only the data knows."""
    return _declare(default, help, Rule(str), before)  # type: ignore[no-any-return]


def switch(default: bool, help: str, *, before: bool | None = None) -> bool:
    """Declare something that is on or off."""
    return _declare(default, help, Rule(bool), before)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class SettingInfo:
    """One declared setting, as the command line and the documentation show it.

    ``before`` is the value that means the same as not having the setting, or several; ``None``: it was always there.
    """

    name: str
    default: Any
    help: str
    rule: Rule
    before: Any


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Settings:
    """Base of every group of settings: a frozen, keyword-only dataclass that checks itself."""

    title: ClassVar[str] = "Settings"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(frozen=True, kw_only=True)(cls)

    def __post_init__(self) -> None:
        for info in self.infos():
            value = getattr(self, info.name)
            try:
                converted = info.rule.convert(value)
            except (ValueError, OverflowError):
                raise InputError(
                    f"The '{info.name}' parameter of {self.title} must be {info.rule.describe()}. "
                    f"Got {value!r} instead.{nearest(str(value), info.rule.words)}"
                ) from None
            object.__setattr__(self, info.name, converted)
        self.check()

    def check(self) -> None:
        """Rules that concern more than one setting."""

    @classmethod
    def infos(cls) -> list[SettingInfo]:
        """Every declared setting, in order."""
        return [
            SettingInfo(name=f.name, default=f.default, **f.metadata)
            for f in dataclasses.fields(cls)  # type: ignore[arg-type]
        ]

    @classmethod
    def names(cls) -> list[str]:
        return [info.name for info in cls.infos()]

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Self:
        """Build from a mapping; a name that is not declared is an error with a suggestion."""
        for name in values:
            if name not in cls.names():
                raise InputError(f"{cls.title} has no setting '{name}'.{suggest(name, cls.names())}")
        return cls(**values)

    @classmethod
    def without_added(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values by name, less those of settings that came later and are as if they had not."""
        added = {info.name: info.before for info in cls.infos() if info.before is not None}
        alike = {name: before if isinstance(before, tuple) else (before,) for name, before in added.items()}
        return {name: value for name, value in values.items() if value not in alike.get(name, ())}

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.names()}


def check_word(what: str, word: str, known: Iterable[str]) -> None:
    """Refuse a word that is none of those known."""
    if word not in (known := list(known)):
        raise InputError(f"{what} must be one of {', '.join(known)}. Got {word!r} instead.{nearest(word, known)}")


def suggest(word: str, known: Iterable[str]) -> str:
    """`` Did you mean ...?`` or the list of what is known, to end an error message with."""
    candidates = list(known)
    return nearest(word, candidates) or (f" Known: {', '.join(candidates)}." if candidates else "")


def nearest(word: str, known: Iterable[str]) -> str:
    """`` Did you mean ...?``, to end an error message that lists what is known; nothing where no word is near.

    Large and small letters, hyphens, blanks and underscores are one; else few letters may differ, or one of the two
    words holds the other.
    """
    plain: dict[str, str] = {}
    for name in known:
        plain.setdefault(_plain(name), name)
    wanted = _plain(word)
    close = [wanted] if wanted in plain else difflib.get_close_matches(wanted, plain, n=1)
    if not close and len(wanted) > 1:
        holding = [name for name in plain if wanted in name or (len(name) > 2 and name in wanted)]
        close = sorted(holding, key=lambda name: abs(len(name) - len(wanted)))
    return f" Did you mean '{plain[close[0]]}'?" if close and plain[close[0]] != word else ""


def _plain(word: str) -> str:
    return word.strip().casefold().replace("-", "_").replace(" ", "_")


_Class = TypeVar("_Class", bound=type)


def configured_by(config: type[Settings]) -> Callable[[_Class], _Class]:
    """Show a group of settings in the signature and docstring of a class that takes them as ``**settings``."""

    def decorate(cls: _Class) -> _Class:
        own = list(inspect.signature(cls.__init__).parameters.values())[1:]  # type: ignore[misc]
        own = [parameter for parameter in own if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
        settings = [
            inspect.Parameter(
                info.name, inspect.Parameter.KEYWORD_ONLY, default=info.default, annotation=info.rule.kind
            )
            for info in config.infos()
        ]
        cls.__signature__ = inspect.Signature([*own, *settings])  # type: ignore[attr-defined]
        lines = [f"    {i.name}: {i.help} Must be {i.rule.describe()}; default {i.default!r}." for i in config.infos()]
        cls.__doc__ = "\n".join([inspect.cleandoc(cls.__doc__ or ""), "", "Settings:", *lines])
        return cls

    return decorate
