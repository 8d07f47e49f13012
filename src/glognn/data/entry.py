"""What the catalog says about a dataset: its files, its preparation, what must be found in it. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from glognn.graph.config import GraphConfig

UNSTATED = "The files are published without a licence."


@cache
def _checksums() -> dict[str, str]:
    text = resources.files("glognn.data").joinpath("checksums.sha256").read_text(encoding="ascii")
    return {path: digest for digest, path in (line.split("  ", 1) for line in text.splitlines())}


@dataclass(frozen=True)
class PublishedFile:
    """One published file.

    Attributes:
        path: Where it lies in the cache and in a mirror.
        url: Where it is published; ``None`` when it no longer is.
        member: Its name inside the archive at ``url``, when that is one.
        note: What to know when it must be put in place by hand.
    """

    path: str
    url: str | None
    member: str | None = None
    note: str = ""

    @property
    def sha256(self) -> str | None:
        """The published checksum, where it is known."""
        return _checksums().get(self.path)

    @property
    def archive(self) -> PublishedFile | None:
        """The archive it comes in, as a file of its own."""
        if self.member is None or self.url is None:
            return None
        return PublishedFile(f"{self.path.rpartition('/')[0]}/{self.url.rpartition('/')[2]}", self.url)


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What a loaded graph must hold.

    Attributes:
        edges: As the paper counts them; ``counted`` says how: ``undirected`` (each once, self-loops included) or
            ``given`` (columns of the published edge list).
        homophily: Share of same-class edges by the same count, to two decimals; ``None``: no published value.
        fingerprint: Hash of directed edges, features, labels and splits; ``None``: the files were not at hand.
    """

    nodes: int
    edges: int
    features: int
    classes: int
    homophily: float | None
    counted: str = "undirected"
    fingerprint: str | None = None


@dataclass(frozen=True, kw_only=True)
class Twin:
    """What a generated graph needs to stand in for a dataset in timings, beyond what is :class:`Expected`."""

    directed_edges: int
    undirected_edges: int
    homophily: float
    ones_per_row: int = 0
    """Sparse 0/1 features with this many ones in a row; 0: dense ones."""
    class_shares: tuple[float, ...] = ()
    """Empty: classes of equal size."""


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """One dataset. Its reader and the reader of its splits are modules of ``data/readers``."""

    name: str
    group: str
    what: str
    reader: str
    files: Mapping[str, PublishedFile]
    options: Mapping[str, Any] = field(default_factory=dict)
    splits: tuple[PublishedFile, ...] = ()
    splits_reader: str = ""
    splits_rule: str
    splits_optional: bool = False
    metric: str = "accuracy"
    graph: GraphConfig
    expected: Expected
    citation: str
    licence: str = UNSTATED
    traps: tuple[str, ...] = ()
    warning: str = ""
    twin: Twin | None = None

    @property
    def all_files(self) -> tuple[PublishedFile, ...]:
        return (*self.files.values(), *self.splits)

    @property
    def num_splits(self) -> int:
        return int(self.splits_rule.split()[0])

    @property
    def source(self) -> str:
        """The place its files are published, in short."""
        url = next((file.url for file in self.files.values() if file.url), None)
        if url is None:
            return "no longer published"
        host, *parts = url.removeprefix("https://").split("/")
        return "/".join(parts[:2]) if host == "raw.githubusercontent.com" else host
