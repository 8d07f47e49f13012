"""The graphs that a process works on, each loaded once. Imports no torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from glognn.experiments.config import RunConfig

if TYPE_CHECKING:
    from glognn.experiments.run import LoadedGraph


class Graphs:
    """Loads the graphs of configurations and keeps those of the last dataset: work goes dataset by dataset.

    Args:
        mirror: Folder of published files.
    """

    def __init__(self, mirror: str | Path | None = None) -> None:
        self.mirror = None if mirror is None else Path(mirror)
        self._loaded: dict[tuple[object, ...], LoadedGraph] = {}

    def of(self, config: RunConfig) -> LoadedGraph:
        """The graph of a configuration, prepared as it says."""
        from glognn.experiments.run import load_graph

        key = (config.dataset, config.graph, config.training.dtype)
        if key not in self._loaded:
            if any(dataset != config.dataset for dataset, *_ in self._loaded):
                self._loaded.clear()
            self._loaded[key] = load_graph(config, self.mirror)
        return self._loaded[key]
