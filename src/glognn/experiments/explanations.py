"""Explanations of what lies in a folder: a run, a saved classifier, or an ensemble of an automatic run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from glognn.data.table_graph import KeptTables
from glognn.experiments.saved_base import Saved
from glognn.experiments.saved_ensemble import SavedEnsemble
from glognn.experiments.saved_mean import SavedMean
from glognn.experiments.saved_model import SavedModel
from glognn.explain.explainer import Member, NodeExplainer
from glognn.explain.explanation import Names
from glognn.explain.parts import Source

if TYPE_CHECKING:
    from torch_geometric.data import Data


def open_explainer(saved: Saved, mirror: Path | None = None, data: Data | None = None) -> NodeExplainer:
    """What explains the nodes of a saved model's graph, by the names that its user knows them by.

    All models of an ensemble, of all folds, and of a run on several splits are held at once; they count as they do in
    its predictions.

    Args:
        saved: What :func:`~glognn.experiments.saved.open_saved` gave.
        mirror: Folder with the published files.
        data: The graph as loaded before.
    """
    if isinstance(saved, SavedModel):
        data, graph = saved.graph(mirror, data)
        source = Source(saved.model(graph), graph, feature_names(saved.tables, graph.num_features))
        predictions = saved.name(saved.probabilities(graph, "cpu"))
        members = [Member(saved.config.model.name, source)]
    elif isinstance(saved, SavedMean):
        if data is None:
            data, _ = saved.graph(mirror)
        members = []
        for model in saved.models:
            _, graph = model.graph(data=data)
            names = feature_names(saved.tables, graph.num_features)
            members.append(
                Member(model.config.model.name, Source(model.model(graph), graph, names), 1 / len(saved.models))
            )
        predictions = saved.name(saved.score_all(data, "cpu"))
    else:
        assert isinstance(saved, SavedEnsemble)
        if data is None:
            data, _ = saved.graph(mirror)
        members = []
        for name, models in saved.members.items():
            _, graph = models[0].graph(data=data)
            names = feature_names(saved.tables, graph.num_features)
            weight = saved.weights[name] / len(models)
            members += [Member(name, Source(model.model(graph), graph, names), weight) for model in models]
        first = next(iter(saved.members.values()))[0]
        predictions = first.name(saved.probabilities(data, "cpu"))
    ids = None if saved.tables is None else saved.tables.ids
    classes = saved.classes or predictions.classes
    return NodeExplainer(members, Names(ids, classes.names), predictions.probabilities, saved.threshold, saved.positive)


def feature_names(tables: KeptTables | None, count: int) -> list[str] | None:
    """Names of the features that columns of a user's table became; none of other graphs."""
    if tables is None:
        return None
    names = [name for column in tables.encoding.columns for name in column.features]
    return names if len(names) == count else None
