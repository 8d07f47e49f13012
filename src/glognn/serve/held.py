"""A saved model with its graph and weights in memory, for those who ask again and again.

What it says is what the saved model says, to the bit: only reading, preparing and freezing happen once.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glognn.experiments.saved_base import Probabilities, Saved
from glognn.experiments.saved_ensemble import SavedEnsemble
from glognn.experiments.saved_mean import SavedMean
from glognn.experiments.saved_model import SavedModel
from glognn.graph.graph import Graph
from glognn.training.new_nodes import KnownNodes

if TYPE_CHECKING:
    from torch_geometric.data import Data

Prepared = dict[Hashable, "tuple[Data, Graph]"]
"""Graphs by the settings and the fingerprint that they were asked for with."""


@dataclass(frozen=True, eq=False)
class HeldModel(SavedModel):
    """One trained model; those of an ensemble share the graphs that are prepared alike."""

    prepared: Prepared = field(default_factory=dict)

    def graph(self, mirror: Path | None = None, data: Data | None = None) -> tuple[Data, Graph]:
        key = (self.config.dataset, self.config.graph, self.config.training.dtype, self.fingerprint)
        if key not in self.prepared:
            loaded = next((each for each, _ in self.prepared.values()), None)
            self.prepared[key] = super().graph(mirror, loaded if data is None else data)
        return self.prepared[key]

    @cached_property
    def _known(self) -> KnownNodes:
        data, graph = self.graph()
        return KnownNodes(self.model(graph), graph, features=data.x)

    def new_uncalibrated(self, data: Data, graph: Graph, new: Data) -> Probabilities:
        found: Probabilities = self._known.logits(new).double().softmax(dim=1).cpu().numpy()
        return found

    def score(self, new: Data) -> Probabilities:
        """Of nodes that were not in its graph."""
        return self.new_probabilities(*self.graph(), new)


@dataclass(frozen=True, eq=False)
class HeldMean(SavedMean):
    """The models of several splits, or of all labels, with the graphs that they share."""

    def score(self, new: Data) -> Probabilities:
        """Of nodes that were not in its graph."""
        return self.score_new(self.graph()[0], new)


@dataclass(frozen=True, eq=False)
class HeldEnsemble(SavedEnsemble):
    """The ensemble of an automatic run with all its members."""

    @cached_property
    def members(self) -> dict[str, list[SavedModel]]:
        prepared: Prepared = {}
        saved = SavedEnsemble(**_values(self)).members
        return {
            name: [HeldModel(**_values(each), prepared=prepared) for each in found] for name, found in saved.items()
        }

    def score(self, new: Data) -> Probabilities:
        """Of nodes that were not in its graph."""
        return self.new_probabilities(self.graph()[0], new)


Held = HeldModel | HeldMean | HeldEnsemble
"""Each of them can also score nodes that were not in the graph."""


def hold(saved: Saved) -> Held:
    """The same model; its files are read when it is first asked, and never again."""
    if isinstance(saved, SavedEnsemble):
        return HeldEnsemble(**_values(saved))
    prepared: Prepared = {}
    if isinstance(saved, SavedMean):
        models = [HeldModel(**_values(each), prepared=prepared) for each in saved.models]
        return HeldMean(**_values(saved) | {"models": models})
    assert isinstance(saved, SavedModel)
    return HeldModel(**_values(saved), prepared=prepared)


def _values(saved: SavedModel | SavedMean | SavedEnsemble) -> dict[str, Any]:
    return {each.name: getattr(saved, each.name) for each in fields(saved)}
