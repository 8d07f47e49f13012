"""What a served model is and takes, as JSON: for its own address, the OpenAPI document and an example of new nodes."""

from __future__ import annotations

import statistics
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from glognn.data.encoding import Column
from glognn.graph.graph import SET_NAMES
from glognn.serve.held import Held, HeldEnsemble, HeldMean
from glognn.serve.limits import Limits
from glognn.serve.scorer import Scorer

Json = dict[str, Any]
_NULL = {"type": "null"}
_TYPES: dict[str, Json] = {
    "id": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    "list": {"type": "array", "items": {"type": "number"}},
    "date": {"anyOf": [{"type": "string"}, _NULL]},
    "boolean": {"anyOf": [{"type": "boolean"}, _NULL]},
    "category": {"anyOf": [{"type": "string"}, _NULL]},
}
_NUMBER: Json = {"anyOf": [{"type": "number"}, _NULL]}
_EXAMPLES = 5


def describe(scorer: Scorer, limits: Limits) -> Json:
    """Model, classes, columns, scores and limits."""
    saved, known = scorer.saved, scorer.predictions
    model = "an automatic ensemble" if isinstance(saved, HeldEnsemble) else f"the model {saved.config.model.name}"
    return {
        "model": model,
        "chosen": saved.why,
        "graph": {"nodes": len(scorer.places), "features": scorer.graph.num_features},
        "classes": list(known.classes.names),
        "positive_class": None if known.positive is None else known.classes.names[known.positive],
        "threshold": known.threshold,
        "threshold_for": saved.threshold_for,
        "scores": {name: value for name, value in saved.scores.items() if isinstance(value, str | float | int)},
        "baselines": _baselines(saved),
        "node_columns": scorer.node_columns,
        "edge_columns": scorer.edge_columns,
        "limits": asdict(limits),
    }


def _baselines(saved: Held) -> Json:
    """What the scores must beat, by name and set, averaged over splits; nothing where a record is older than them."""
    records = [each.record for each in saved.judged] if isinstance(saved, HeldMean) else [saved.record]
    if not all("baselines" in record for record in records):
        return {}
    found: Json = {}
    for name in records[0]["baselines"]:
        for each in SET_NAMES:
            values = [record["baselines"][name][each] for record in records]
            values = [value["mean"] if isinstance(value, dict) else value for value in values]
            if None not in values:
                found.setdefault(name, {})[each] = statistics.fmean(values)
    return found


def node_schema(scorer: Scorer) -> Json:
    """Of a new node."""
    properties = {name: dict(_TYPES.get(kind, _NUMBER)) for name, kind in scorer.node_columns.items()}
    for column in _columns(scorer):
        properties[column.name]["description"] = column.kind
        if column.values:
            properties[column.name]["examples"] = list(column.values[:_EXAMPLES])
    if scorer.node_columns.get("x") == "list":
        count = scorer.graph.num_features
        properties["x"] |= {"minItems": count, "maxItems": count}
    return {"type": "object", "properties": properties, "required": list(properties)}


def edge_schema(scorer: Scorer) -> Json:
    """Of an edge: its ends are ids of the graph or of posted nodes."""
    found = []
    for columns in scorer.edge_columns:
        properties = {name: _TYPES.get(kind, {"type": "number"}) for name, kind in columns.items()}
        found.append(
            {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
        )
    return found[0] if len(found) == 1 else {"anyOf": found}


def new_nodes_example(scorer: Scorer) -> Json:
    """A node with usual values and an edge to a known one, ready to be sent."""
    id = next(f"new-{number}" for number in range(1, len(scorer.places) + 2) if f"new-{number}" not in scorer.places)
    node: Json = {}
    for name, kind in scorer.node_columns.items():
        node[name] = id if kind == "id" else [0.0] * scorer.graph.num_features if kind == "list" else None
    node |= {column.name: _usual(column) for column in _columns(scorer)}
    ends = iter((id, next(iter(scorer.places))))
    edge = {name: next(ends) if kind == "id" else 1.0 for name, kind in scorer.edge_columns[0].items()}
    return {"nodes": [node], "edges": [edge]}


def _columns(scorer: Scorer) -> list[Column]:
    """Of a user's tables, those that a new node must have."""
    tables = scorer.saved.tables
    return [] if tables is None else [each for each in tables.encoding.columns if each.name in scorer.node_columns]


def _usual(column: Column) -> Any:
    """A value that many nodes may have."""
    if column.kind == "category":
        return next(iter(column.values), None)
    value = column.mean
    if column.scaling == "quantile":
        value = column.knots[len(column.knots) // 2][0]
    elif column.scaling == "log":
        value = column.unit
    if column.kind == "boolean":
        return value >= 0.5
    if column.kind == "date":
        return f"{datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=value):%Y-%m-%d}"
    return float(f"{value:.6g}") if column.scaling != "kept" else float(value >= 0.5)
