"""Ways to compute an epoch, and which of them takes a run."""

from __future__ import annotations

from dataclasses import dataclass

from glognn.errors import InputError
from glognn.training.engines.base import Engine, Members
from glognn.training.engines.boosted import BoostedEngine
from glognn.training.engines.captured import CapturedEngine
from glognn.training.engines.distributed import DistributedEngine
from glognn.training.engines.eager import EagerEngine
from glognn.training.engines.native import NativeEngine
from glognn.training.engines.stacked import StackedEngine

__all__ = [
    "ENGINES",
    "BoostedEngine",
    "CapturedEngine",
    "Choice",
    "DistributedEngine",
    "EagerEngine",
    "Engine",
    "Members",
    "NativeEngine",
    "StackedEngine",
    "choose",
]

ENGINES: tuple[type[Engine], ...] = (
    NativeEngine,
    CapturedEngine,
    EagerEngine,
    StackedEngine,
    BoostedEngine,
    DistributedEngine,
)
"""The fastest first; then what needs no gradients, and what is on several ranks."""


@dataclass(frozen=True)
class Choice:
    """The engine that takes a run, and why those before it do not."""

    engine: type[Engine]
    reason: str


def choose(members: Members, begun: str = "") -> Choice:
    """The first engine that takes the members: the one named in their settings, or by the checkpoint they go on from.

    Args:
        members: Models, settings and graph, on the device they are trained on.
        begun: The engine that a checkpoint was made by, if there is one.
    """
    wanted = members.configs[0].engine
    if begun and wanted not in ("auto", begun):
        raise InputError(f"The run was begun by the engine '{begun}': go on with --engine {begun}, or in a new folder.")
    named = begun or wanted
    refusals: list[str] = []
    for engine in ENGINES:
        if named not in ("auto", engine.name):
            continue
        refusal = engine.refusal(members)
        if not refusal:
            return Choice(engine, "; ".join(refusals) if named == "auto" else f"asked for: {named}")
        refusals.append(f"not {engine.name}, because {refusal}")
    if begun:
        reason = refusals[0] if refusals else "there is no such one"
        raise InputError(
            f"The run was begun by the engine '{begun}', which does not take it now: {reason}. Go on with the "
            "device, installation and GLOGNN_NATIVE it was begun with, or in a new folder."
        )
    raise InputError(f"The engine '{wanted}' does not take this run: {refusals[0]}. Take another, or 'auto'.")
