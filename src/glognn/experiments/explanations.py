"""Explanations of what lies in a folder: a run, a saved classifier, or an ensemble of an automatic run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from glognn.data.encoding import Encoding
from glognn.data.graph_forms import find_named
from glognn.data.table_graph import KeptTables
from glognn.errors import InputError
from glognn.experiments.saved import open_saved
from glognn.experiments.saved_base import Saved
from glognn.experiments.saved_ensemble import SavedEnsemble
from glognn.experiments.saved_mean import SavedMean
from glognn.experiments.saved_model import SavedModel
from glognn.explain.columns import TableColumns
from glognn.explain.explainer import TOP, Member, NodeExplainer, explain_model
from glognn.explain.explanation import Explanation, Names
from glognn.explain.parts import Source
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.models.base import NodeModel

if TYPE_CHECKING:
    from torch_geometric.data import Data


def explain(
    model: NodeModel[Any] | str | Path,
    data: Data | Graph | None = None,
    nodes: Any = None,
    *,
    top: int = TOP,
    through: str = "last",
    by: str | None = None,
    changes: Sequence[str] = (),
    split: int | None = None,
    data_mirror: str | Path | None = None,
    config: GraphConfig | None = None,
    names: Names | None = None,
    features: Sequence[str] | None = None,
) -> list[Explanation]:
    """Why nodes are predicted to be of their classes, one :class:`~glognn.explain.explanation.Explanation` each.

    >>> [reasons] = glognn.explain(model, data, 7)
    >>> reasons.supporters[0].node, reasons.supporters[0].coefficient
    >>> [reasons] = glognn.explain("runs/fraud", nodes="u123")

    Of GloGNN, GloGNN++ and GloGNN2 the closed form is taken apart, exactly; boosted trees by the paths through them;
    all other models by integrated gradients. ``method`` says which.

    Args:
        model: A trained model; or the folder of a run or of a saved classifier, which knows its graph.
        data: The graph that the model was trained on.
        nodes: Node numbers, or one; of a folder made of tables, their ids.
        top: How many supporters, and how many opponents, are listed.
        through: Of a model with coefficients: the ``"last"`` layer, ``"all"``, or ``"inputs"``, which also counts what
            an edge tells the encoder as said by the node at its other end (:mod:`glognn.explain.contributions`).
        by: What nodes are listed by: ``"loss"``, about what the predicted class over the runner-up loses without them
            (:mod:`glognn.explain.presence`); their ``"contribution"`` to it, the default of graphs of more than 200,000
            nodes; or their signed ``"coefficient"``, where there is one.
        changes: What would change the prediction: ``"nodes"``, ``"edges"`` or both; the model is run many times.
        split: Of a folder: one split of a run alone.
        data_mirror: Of a folder: where the published files lie that its graph is read from.
        config: Of a model: how the graph was prepared for training; the model's wish when omitted.
        names: Of a model: what nodes and classes are called.
        features: Of a model: names of the columns of x.
    """
    how: dict[str, Any] = {"top": top, "through": through, "by": by, "changes": changes}
    if nodes is None:
        raise InputError("The 'nodes' parameter of explain must name nodes. Got none instead.")
    if isinstance(model, NodeModel):
        if data is None:
            raise InputError("A trained model is explained on its graph: explain(model, data, nodes). Got no data.")
        return explain_model(model, data, nodes, config=config, names=names, features=features, **how)
    given = {"data": data, "config": config, "names": names, "features": features}
    for name in (name for name, value in given.items() if value is not None):
        raise InputError(f"'{model}' has a graph and names of its own. Leave out the '{name}' parameter of explain.")
    saved = open_saved(Path(model), (), split)
    explainer = open_explainer(saved, None if data_mirror is None else Path(data_mirror))
    ids = None if saved.tables is None else saved.tables.ids
    chosen = find_named(np.atleast_1d(np.asarray(nodes)), ids, explainer.graph.num_nodes, "nodes")
    return [explainer.explain(int(node), **how) for node in chosen]


def open_explainer(
    saved: Saved, mirror: Path | None = None, data: Data | None = None, encoding: Encoding | None = None
) -> NodeExplainer:
    """What explains the nodes of a saved model's graph, by the names that its user knows them by.

    All models of an ensemble, of all folds, and of a run on several splits are held at once; they count as they do in
    its predictions.

    Args:
        saved: What :func:`~glognn.experiments.saved.open_saved` gave.
        mirror: Folder with the published files.
        data: The graph as loaded before.
        encoding: How columns became its features; what is kept of tables says so when omitted.
    """
    if encoding is None and saved.tables is not None:
        encoding = saved.tables.encoding
    if isinstance(saved, SavedModel):
        data, graph = saved.graph(mirror, data)
        source = Source(saved.model(graph), graph, TableColumns.of(encoding, data))
        predictions = saved.name(saved.probabilities(graph, "cpu"))
        members = [Member(saved.config.model.name, source)]
    elif isinstance(saved, SavedMean):
        if data is None:
            data, _ = saved.graph(mirror)
        members, columns = [], TableColumns.of(encoding, data)
        for model in saved.models:
            _, graph = model.graph(data=data)
            source = Source(model.model(graph), graph, columns)
            members.append(Member(model.config.model.name, source, 1 / len(saved.models)))
        predictions = saved.name(saved.score_all(data, "cpu"))
    else:
        assert isinstance(saved, SavedEnsemble)
        if data is None:
            data, _ = saved.graph(mirror)
        members, columns = [], TableColumns.of(encoding, data)
        for name, models in saved.members.items():
            _, graph = models[0].graph(data=data)
            weight = saved.weights[name] / len(models)
            members += [Member(name, Source(model.model(graph), graph, columns), weight) for model in models]
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
