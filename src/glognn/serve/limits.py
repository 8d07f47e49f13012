"""How much a service takes on. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass, fields

from glognn.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Limits:
    """All of them positive.

    Attributes:
        bytes: Of a request's body.
        nodes: Asked for in one request.
        requests: Under way at the same time; bodies in memory are at most so many times ``bytes``.
        seconds: From the first byte of a request to its answer.
    """

    bytes: int = 4 << 20
    nodes: int = 1000
    requests: int = 32
    seconds: float = 30.0

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if not value > 0:
                raise InputError(f"--max-{each.name} must be a positive number. Got {value} instead.")
