"""The portfolio: what ``auto`` trains, an ordered list of plain settings. Imports no torch.

As a file it is TOML, a table ``[[member]]`` for each with its name, its model and whatever settings of model, training
and graph are not the defaults. That of the package is ``portfolio.toml``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from glognn.errors import InputError
from glognn.experiments.config import RunConfig, resolve
from glognn.graph.config import GraphConfig
from glognn.models.configs import MODELS, find_model
from glognn.records import is_file_name, misfit, read_toml
from glognn.settings import check_word, suggest
from glognn.storage import write_text
from glognn.training.config import TrainingConfig

PORTFOLIO = Path(__file__).with_name("portfolio.toml")
LONGEST = 100
"""Bytes of a member's name, so that every file system has folders of it."""
QUALITIES: dict[str, int | None] = {"fast": 3, "good": 12, "best": None}
"""How many members of a portfolio are trained, the first ones; ``None``: all. Of ``good`` the others come after these,
where there is time left.
"""


@dataclass(frozen=True)
class Member:
    """One entry of a portfolio; its name is that of its folder."""

    name: str
    model: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def repeats(self, other: Member) -> bool:
        """Whether it is another one with another seed."""
        mine, its = ({**each.settings, "seed": 0} for each in (self, other))
        return self.model == other.model and mine == its and self.settings != other.settings

    def again(self) -> Member:
        """The same with another seed, which is trained where the first has a part in the ensemble."""
        return Member(f"{self.name}-again", self.model, {**self.settings, "seed": 1})

    def table(self) -> dict[str, Any]:
        """As in the file."""
        return {"name": self.name, "model": self.model, **self.settings}

    def resolve(self, given: Mapping[str, Any], dataset: str, splits: str | None) -> RunConfig:
        """Its complete configuration; settings given by hand go before its own, where its model has them.

        A seed of its own is counted from the one that is given, so that what is trained again differs.
        """
        known = {*GraphConfig.names(), *TrainingConfig.names(), *MODELS[self.model].names()}
        chosen = {name: value for name, value in given.items() if name in known}
        if isinstance(seed := chosen.get("seed"), int):
            chosen["seed"] = seed + int(self.settings.get("seed", 0))
        [config] = resolve([self.model], None, {**self.settings, **chosen}, dataset, splits)
        return config


def read_portfolio(path: Path | None = None) -> list[Member]:
    """The members of a portfolio file, by default the package's, in their order."""
    path = PORTFOLIO if path is None else path
    try:
        return read_members(read_toml(path), f"The portfolio '{path}'")
    except FileNotFoundError:
        raise InputError(f"There is no portfolio '{path}'.") from None


def write_portfolio(path: Path, members: Iterable[Member], note: str) -> None:
    """Members as a file, with a line of comment about them."""
    import tomli_w

    head = "# What `auto` trains, in this order: a name, a model, and settings of model, training or graph."
    write_text(path, f"{head}\n# {note}\n\n{tomli_w.dumps({'member': [member.table() for member in members]})}")


def read_members(content: Mapping[str, Any], place: str) -> list[Member]:
    """The ``[[member]]`` tables of a file, each checked against the settings of its model."""
    if wrong := misfit(content, {"member": [{"name": str, "model": str}]}):
        raise InputError(f"{place} is damaged: {wrong}.")
    members = []
    for table in content["member"]:
        settings = {name: value for name, value in table.items() if name not in ("name", "model")}
        member = Member(table["name"], table["model"], settings)
        long = len(member.name.encode(errors="replace")) > LONGEST
        if not is_file_name(member.name) or long:
            raise InputError(
                f"{place} must name members as folders are named, in at most {LONGEST} bytes. "
                f"Got {member.name[:LONGEST]!r} instead."
            )
        try:
            find_model(member.model)
            member.resolve({}, "pairs", None)
        except InputError as error:
            raise InputError(f"The member '{member.name}' of {place[0].lower()}{place[1:]}: {error}") from None
        members.append(member)
    names = [member.name for member in members]
    if not names or len(set(names)) != len(names):
        raise InputError(f"{place} must hold members of different names. Got {', '.join(names) or 'none'} instead.")
    return members


def check_quality(quality: str) -> None:
    check_word("The quality", quality, QUALITIES)


def choose_members(members: Iterable[Member], quality: str) -> list[Member]:
    """Those that a quality may train, in their order."""
    check_quality(quality)
    return list(members)[: QUALITIES["fast"] if quality == "fast" else None]


def check_given(members: Iterable[Member], given: Mapping[str, Any]) -> None:
    """Refuse a setting that neither the graph, nor training, nor any member's model has."""
    models = {member.model for member in members}
    known = {*GraphConfig.names(), *TrainingConfig.names(), *(name for m in models for name in MODELS[m].names())}
    for name in given:
        if name not in known:
            raise InputError(f"No member of the portfolio has a setting '{name}'.{suggest(name, sorted(known))}")
