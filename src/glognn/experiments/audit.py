"""What is doubtful about the data of a trained model: labels, duplicates between train and test, and new nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from glognn.data.table_changes import read_changes
from glognn.errors import InputError
from glognn.experiments.explanations import feature_names
from glognn.experiments.saved_base import Saved
from glognn.experiments.saved_ensemble import SavedEnsemble
from glognn.experiments.saved_model import SavedModel
from glognn.explain.drift import find_drift
from glognn.explain.duplicates import find_duplicates
from glognn.explain.explanation import Names
from glognn.explain.label_errors import FOLDS, choose_rule, find_suspects, judge_labels
from glognn.graph.graph import Graph
from glognn.training.callbacks import Callback
from glognn.training.devices import DTYPES

if TYPE_CHECKING:
    from torch_geometric.data import Data


def audit(
    saved: Saved,
    mirror: Path | None = None,
    *,
    folds: int = FOLDS,
    nodes: Path | None = None,
    edges: Path | Sequence[Path] | None = None,
    unknown_edges: str = "error",
    callbacks: Iterable[Callback] = (),
) -> dict[str, Any]:
    """Label errors, duplicates and drift, as plain data with the user's names.

    Args:
        saved: What :func:`~glognn.experiments.saved.open_saved` gave; of an ensemble, models with the settings of its
            heaviest member judge the labels.
        mirror: Folder with the published files.
        folds: Of the labelled nodes, each judged by a model trained on the others; 0 leaves label errors out.
        nodes: Table of new nodes, for their drift.
        edges: Table of their edges, or several.
        unknown_edges: As ``glognn predict`` takes it.
        callbacks: Hear of the training of the models that judge labels.
    """
    model = saved if isinstance(saved, SavedModel) else _heaviest(saved)
    data, graph = model.graph(mirror)
    predictions, _ = saved.predict(mirror, "cpu")
    names = Names(None if saved.tables is None else saved.tables.ids, predictions.classes.names)
    found: dict[str, Any] = {
        "model": model.config.model.name,
        "nodes": graph.num_nodes,
        "classes": list(names.classes or []),
    }
    found["labels"] = _labels(model, graph, names, folds, callbacks) if folds else None
    found["duplicates"] = _duplicates(
        graph, saved.splits[0] if isinstance(saved, SavedEnsemble) else model.split, predictions.predicted, names
    )
    found["drift"] = None
    if nodes is not None:
        found["drift"] = _drift(saved, data, predictions.probabilities, nodes, edges, unknown_edges)
    return found


def _heaviest(saved: Saved) -> SavedModel:
    assert isinstance(saved, SavedEnsemble)
    name = max(saved.members, key=lambda each: saved.weights[each])
    return saved.members[name][0]


def _labels(model: SavedModel, graph: Graph, names: Names, folds: int, callbacks: Iterable[Callback]) -> dict[str, Any]:
    dtype = DTYPES[model.config.training.dtype]
    judged = judge_labels(graph.to(dtype=dtype), model.config.model, model.config.training, folds, callbacks=callbacks)
    rule = choose_rule(judged, graph.y.cpu().numpy(), seed=model.config.training.seed)
    suspects = find_suspects(graph, judged, rule)
    classes = [names.class_(number) for number in range(graph.num_classes)]
    return {
        "folds": judged.folds,
        "rule": asdict(rule),
        "labelled": int((graph.y >= 0).sum()),
        "suspects": [
            {
                "node": names.node(each.node),
                "label": names.class_(each.label),
                "suggestion": names.class_(each.suggestion),
                "suspicion": each.suspicion,
                "probability": each.probability,
                "label_probability": each.label_probability,
                "votes": each.votes,
                "reasons": each.reasons(classes),
            }
            for each in suspects
        ],
    }


def _duplicates(graph: Graph, split: int, predicted: Any, names: Names) -> dict[str, Any] | None:
    """``None`` where there are no test nodes to inflate the score of."""
    test = np.flatnonzero(graph.masks["test"][:, split].cpu().numpy()) if graph.num_splits > split else np.empty(0, int)
    if not test.size:
        return None
    pairs = find_duplicates(graph, split)
    right = predicted == graph.y.cpu().numpy()
    twins = np.isin(test, [each.node for each in pairs])

    def accuracy(chosen: Any) -> float | None:
        return float(right[chosen].mean()) if chosen.size else None

    return {
        "test_nodes": int(test.size),
        "with_twin": int(twins.sum()),
        "with_twin_of_one_label": sum(each.same_label for each in pairs),
        "accuracy": accuracy(test),
        "accuracy_with_twin": accuracy(test[twins]),
        "accuracy_without_twin": accuracy(test[~twins]),
        "pairs": [{**asdict(each), "node": names.node(each.node), "twin": names.node(each.twin)} for each in pairs],
    }


def _drift(
    saved: Saved, data: Data, probabilities: Any, nodes: Path, edges: Path | Sequence[Path] | None, unknown: str
) -> dict[str, Any]:
    if saved.tables is None:
        raise InputError(f"'{saved.folder}' was not trained on tables, so that it cannot read --nodes {nodes}.")
    changes = read_changes(saved.tables, nodes, edges, unknown_edges=unknown, data=data)
    new, ids = changes.new, changes.new_ids
    later, _ = saved.predict_new(nodes, edges, unknown_edges=unknown)
    count = int(data.num_nodes)
    columns: list[str] = []
    before, after = [], []
    if data.x is not None and new.x is not None:
        columns += feature_names(saved.tables, data.x.shape[1]) or [f"feature {n}" for n in range(data.x.shape[1])]
        before.append(np.asarray(data.x.to_dense() if data.x.is_sparse else data.x, dtype=np.float64))
        after.append(np.asarray(new.x, dtype=np.float64))
    columns.append("number of edges")
    ends = np.bincount(data.edge_index.reshape(-1).numpy(), minlength=count)
    fresh = np.bincount(new.edge_index.reshape(-1).numpy(), minlength=count + len(ids))[count:]
    before.append(ends[:, np.newaxis].astype(np.float64))
    after.append(fresh[:, np.newaxis].astype(np.float64))
    columns += [f"probability of {name}" for name in later.classes.names]
    before.append(probabilities)
    after.append(later.probabilities)
    found = find_drift(columns, np.hstack(before), np.hstack(after))
    return {"new_nodes": len(ids), "known_nodes": count, "columns": [asdict(each) for each in found]}
