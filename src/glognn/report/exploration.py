"""A trained model and its graph as a page to look around in: places, colours, reasons, what classes say of classes."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from glognn.data.encoding import DURATION, TIME
from glognn.data.table_graph import KeptTables
from glognn.explain.explainer import NodeExplainer
from glognn.explain.explanation import Explanation, NodeShare
from glognn.explain.neighbourhood import Neighbourhood
from glognn.explain.whole_model import class_matrix
from glognn.report.explanation import how, input_label, way_name
from glognn.report.layout import place_nodes
from glognn.report.page import make_page, pack

if TYPE_CHECKING:
    from torch_geometric.data import Data

Ints = npt.NDArray[np.int64]

NODES, EDGES = 50_000, 500_000
"""Most that are drawn; of larger graphs a sample is."""
REASONS, TOP = 200, 10
_LIKELY = 6
_COLUMNS = 40
_CATEGORIES = 30
_INPUTS = 15
_SETS = ("train", "val", "test")
_MISSING = 65535
_LAST_DAY = 2_900_000
"""Since 1970, that has a year of four digits."""


@dataclass(frozen=True, eq=False)
class Explored:
    """What is looked around in.

    Attributes:
        title: What it is called on the page.
        command: The words that explain a node on the command line, without the node.
        explainer: Of the model.
        data: The graph as loaded.
        tables: What is kept of a user's tables, if that is what it was trained on.
        splits: Columns of the graph's masks that the models were trained on.
        score: The metric of the run, in words.
    """

    title: str
    command: Sequence[str]
    explainer: NodeExplainer
    data: Data
    tables: KeptTables | None
    splits: Sequence[int]
    score: str = ""


def explore_page(
    found: Explored,
    *,
    reasons: int = REASONS,
    top: int = TOP,
    served: bool = False,
    seed: int = 0,
    seconds: float | None = None,
    told: Callable[[int, int], None] | None = None,
) -> str:
    """The page as text.

    Args:
        found: What it is of.
        reasons: How many nodes' reasons are computed now.
        top: Supporters, and opponents, of each.
        served: Whether :mod:`glognn.report.live` answers for the others.
        seed: Of the layout, and of what is drawn of a large graph.
        seconds: After which no further node is explained; there is no end when omitted.
        told: Told how many nodes are explained, of how many.
    """
    explainer, graph = found.explainer, found.explainer.graph
    explained = worth_explaining(explainer, reasons)
    drawn = _drawn(graph.num_nodes, explained, seed)
    links = Neighbourhood(graph).links
    scores = _scores(explainer)
    places, layout = place_nodes(scores[drawn], links[drawn][:, drawn], seed=seed)
    edges, all_edges = _edges(links, drawn, seed)
    columns, arrays = _columns(found, drawn)
    likely = np.argsort(-explainer.probabilities[drawn], axis=1, kind="stable")[:, :_LIKELY]
    arrays |= {
        "x": _sixteen(places[:, 0]),
        "y": _sixteen(places[:, 1]),
        "label": graph.y.cpu().numpy()[drawn].astype(np.int16),
        "prediction": np.asarray(explainer.predicted)[drawn].astype(np.int16),
        "likely": likely.astype(np.uint16),
        "chance": np.take_along_axis(explainer.probabilities[drawn], likely, axis=1).astype(np.float32),
        "confidence": explainer.probabilities[drawn, np.asarray(explainer.predicted)[drawn]].astype(np.float32),
        "set": _sets(found)[drawn],
        "degree": np.diff(links.indptr)[drawn].astype(np.uint32),
        "ends": edges.astype(np.uint16 if len(drawn) <= _MISSING else np.uint32),
    }
    if len(drawn) < graph.num_nodes:
        arrays["numbers"] = drawn.astype(np.uint32)
    told_of, started = {}, time.monotonic()
    for number, node in enumerate(explained):
        if seconds is not None and number and time.monotonic() - started > seconds:
            break
        told_of[str(node)] = explanation_record(explainer.explain(int(node), top=top))
        if told is not None:
            told(number + 1, len(explained))
    record = {
        "title": found.title,
        "command": [shlex.quote(word) for word in found.command],
        "classes": [str(explainer.names.class_(number)) for number in range(explainer.probabilities.shape[1])],
        "ids": [str(explainer.names.node(int(node))) for node in drawn],
        "nodes": graph.num_nodes,
        "edges": all_edges,
        "drawn_edges": edges.shape[0],
        "layout": layout,
        "score": found.score,
        "sets": ["no label", "training", "validation", "test"] if len(found.splits) == 1 else ["no label", "labelled"],
        "columns": columns,
        "matrix": _matrix(explainer),
        "reasons": told_of,
        "served": served,
        "top": top,
    }
    return make_page(
        "explore.html",
        title=f"{found.title} - glognn explore",
        styles=["shell.css", "explore.css"],
        scripts=["vendor/twgl.js", "shell.js", "drawing.js", "explore.js"],
        parts={"data": pack(record, arrays)},
        connect=served,
    )


def worth_explaining(explainer: NodeExplainer, most: int) -> Ints:
    """Nodes that a reader asks about first: wrongly predicted ones, the surest first, then the closest calls."""
    probabilities, predicted = explainer.probabilities, np.asarray(explainer.predicted)
    label = explainer.graph.y.cpu().numpy()
    ranked = np.sort(probabilities, axis=1)
    margin = ranked[:, -1] - (ranked[:, -2] if ranked.shape[1] > 1 else 0)
    wrong = (label >= 0) & (label != predicted)
    order = np.lexsort((np.where(wrong, -margin, margin), ~wrong))
    half = min(int(wrong.sum()), (most + 1) // 2) if most < len(order) else 0
    others = order[int(wrong.sum()) :] if half else order
    found: Ints = np.concatenate([order[:half], others[: most - half]]).astype(np.int64)
    return found


def explanation_record(found: Explanation) -> dict[str, Any]:
    """What the panel of a node shows, as plain data; numbers are those of ``glognn explain``, in full."""

    def share(each: NodeShare) -> dict[str, Any]:
        return {
            "node": each.node,
            "id": str(found.names.node(each.node)),
            "coefficient": each.coefficient,
            "for": each.margin,
            "loss": each.loss,
            "label": each.label,
            "prediction": each.prediction,
            "hops": each.hops,
            "neighbours": each.shared_neighbours,
            "features": each.shared_features,
            "cosine": None if each.similarity is None else round(each.similarity, 4),
        }

    rows = [["others", found.margin(found.others)]] if found.by_node is not None else []
    rows += [[name, found.margin(value)] for name, value in found.own.items()]
    strongest = sorted(found.ways, key=lambda each: -abs(found.margin(each["scores"])))
    return {
        "how": how(found),
        "prediction": found.prediction,
        "against": found.against,
        "probabilities": found.probabilities.tolist(),
        "label": found.label,
        "supporters": [share(each) for each in found.supporters],
        "opponents": [share(each) for each in found.opponents],
        "rows": [*rows, ["the score", found.margin(found.scores - found.gap)]],
        "ways": [[way_name(found, way), way["weight"], found.margin(way["scores"])] for way in strongest],
        "inputs_to": found.inputs_to,
        "inputs_method": found.inputs_method,
        "inputs": [
            [each.input, input_label(found, each), each.value, found.margin(each.scores)]
            for each in found.inputs[:_INPUTS]
        ],
    }


def node_record(found: Explored, node: int, top: int) -> dict[str, Any]:
    """A node that may not be drawn, with its reasons: what a served page asks for."""
    explainer = found.explainer
    around = Neighbourhood(explainer.graph).of(node)
    return {
        "node": node,
        "id": str(explainer.names.node(node)),
        "degree": len(around),
        "set": int(_sets(found)[node]),
        "reasons": explanation_record(explainer.explain(node, top=top)),
    }


def _scores(explainer: NodeExplainer) -> npt.NDArray[np.float64]:
    """Logarithms of probabilities, so that places need no second run of the models."""
    return np.log(np.maximum(explainer.probabilities, 1e-4))


def _drawn(count: int, explained: Ints, seed: int) -> Ints:
    if count <= NODES:
        return np.arange(count)
    others = np.setdiff1d(np.arange(count), explained)
    drawn = np.random.default_rng(seed).choice(others, NODES - len(explained), replace=False)
    return np.sort(np.concatenate([explained, drawn]))


def _edges(links: Any, drawn: Ints, seed: int) -> tuple[Ints, int]:
    """Pairs of places of drawn nodes, in an order in which every beginning is a sample; and how many edges there are.

    A page may draw as many of the first as it has time for.
    """
    whole = links.tocoo()
    total = int((whole.row < whole.col).sum())
    inside = links[drawn][:, drawn].tocoo() if len(drawn) < links.shape[0] else whole
    once = inside.row < inside.col
    pairs = np.stack([inside.row[once], inside.col[once]], axis=1)
    order = np.random.default_rng(seed).permutation(len(pairs))[:EDGES]
    return pairs[order], total


def _sixteen(values: npt.NDArray[np.float64]) -> npt.NDArray[np.uint16]:
    return np.round(values * 65535).astype(np.uint16)


def _sets(found: Explored) -> npt.NDArray[np.uint8]:
    """0 without a label; then 1 where there are several splits, or the set that a node belongs to."""
    graph = found.explainer.graph
    known = (graph.y >= 0).cpu().numpy()
    if len(found.splits) > 1:
        return known.astype(np.uint8)
    sets = np.zeros(graph.num_nodes, dtype=np.uint8)
    for number, name in enumerate(_SETS):
        sets[graph.masks[name][:, found.splits[0]].cpu().numpy()] = number + 1
    return sets


def _columns(found: Explored, drawn: Ints) -> tuple[list[dict[str, Any]], dict[str, npt.NDArray[Any]]]:
    """Columns of a user's table, as they were read; of other graphs the features, where they are few."""
    x = found.data.x
    if x is None or x.layout != torch.strided:
        return [], {}
    columns, arrays, start, dates = [], dict[str, npt.NDArray[Any]](), 0, set[str]()
    if found.tables is None:
        if x.shape[1] > _COLUMNS:
            return [], {}
        named = [(f"feature {number}", x[:, number].numpy()[drawn]) for number in range(x.shape[1])]
    else:
        named = []
        for column in found.tables.encoding.columns[:_COLUMNS]:
            width = len(column.features)
            values = column.decode(x[:, start : start + width].numpy()[drawn])
            if column.kind == "boolean":
                words = np.array(["false", "true", None], dtype=object)
                values = words[np.where(np.isnan(values), 2, values > 0.5)]
            if column.kind == "date" and column.order not in (TIME, DURATION) and not (abs(values) > _LAST_DAY).any():
                dates.add(column.name)
                values = np.round(values * 1440) / 1440  # what 32 bits lose of a day is less than a minute
            named.append((column.name, values))
            start += width
    for number, (name, values) in enumerate(named):
        if values.dtype == object:
            texts, codes, counts = np.unique(
                np.array([value for value in values if value is not None], dtype=str),
                return_inverse=True,
                return_counts=True,
            )
            order = np.argsort(-counts, kind="stable")[:_CATEGORIES]
            place = np.full(len(texts), len(order))
            place[order] = np.arange(len(order))
            known = np.array([value is not None for value in values])
            coded = np.full(len(values), _MISSING, dtype=np.uint16)
            coded[known] = place[codes]
            categories = [*texts[order].tolist(), *["all others"] * (len(order) < len(texts))]
            columns.append({"name": name, "kind": "category", "values": categories})
            arrays[f"column {number}"] = coded
        else:
            columns.append({"name": name, "kind": "date" if name in dates else "number"})
            arrays[f"column {number}"] = values.astype(np.float64 if name in dates else np.float32)
    return columns, arrays


def _matrix(explainer: NodeExplainer) -> dict[str, Any] | None:
    """Mean coefficients between classes, of the model with coefficients that weighs most; none without such a one."""
    able = [each for each in explainer.members if each.source.has_coefficients]
    if not able:
        return None
    member = max(able, key=lambda each: each.weight)
    found = class_matrix(member.source.contributions)
    return {"model": member.name, "nodes": found.nodes, "coefficients": found.coefficients.tolist()}


def as_json(content: Any) -> bytes:
    """JSON as bytes, without numbers that it does not know."""
    return json.dumps(content, allow_nan=False).encode()
