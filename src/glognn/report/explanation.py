"""Explanations as tables, flat files and pictures, from their plain data alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from glognn.data.arrow import Table as Columns
from glognn.explain.explanation import Change, Explanation, NodeShare
from glognn.explain.parts import COEFFICIENTS, ENCODER, GRADIENTS, PATHS, InputShare
from glognn.report.document import GROUP, STRONG, Cell, Row, Table, columns, numeral, row, table
from glognn.report.figures import COLOURS, new_figure, save_picture
from glognn.report.text import visible

_SCORED_UP_TO = 6
_INPUTS = 12
_MISSED = 0.01
"""Of the largest score: what parts miss beyond that is a row of the table."""
_DRAWN = 10
_WORD, _LABEL = 28, 44
_SHORT = {"coefficient": "coeff.", "links shared": "links", "features shared": "features", "features alike": "alike"}
"""Headings on a terminal, where every column counts; docs/explain.md says what they mean."""


def headline(found: Explanation) -> str:
    """Which class is predicted, how surely, and what the node is labelled."""
    names = found.names
    likely = np.argsort(-found.probabilities, kind="stable")
    told = ", ".join(f"{names.class_(int(each))} {100 * found.probabilities[each]:.1f} %" for each in likely[:5])
    more = f", {len(likely) - 5} more" if len(likely) > 5 else ""
    cut = ""
    if found.threshold is not None and found.positive is not None:
        cut = f"; {names.class_(found.positive)} is predicted from {100 * found.threshold:.1f} % on"
    label = "" if found.label < 0 else f"; its label is {names.class_(found.label)}"
    return f"Node {names.node(found.node)}: {names.class_(found.prediction)} ({told}{more}{cut}){label}"


def how(found: Explanation) -> str:
    """How the scores were taken apart, in words."""
    against = f"{found.names.class_(found.prediction)} over {found.names.class_(found.against)}"
    exact = {"last": "of the last layer", "all": "through all layers", "inputs": "through all layers and the encoder"}[
        found.through
    ]
    methods = {
        COEFFICIENTS: f"the coefficients Z* {exact}, exactly",
        ENCODER: f"what its encoder sees ({found.inputs_method})",
        GRADIENTS: "integrated gradients of the features",
        PATHS: "the paths through its trees",
    }
    order = {
        "loss": ", 'loss' is about what that would lose without a node, by which nodes are listed",
        "contribution": ", by which nodes are listed",
        "coefficient": ", nodes are listed by their coefficient",
    }[found.by]
    listed = "" if found.by_node is None else order
    return f"{found.model}, explained by {methods.get(found.method, found.method)}; 'for' counts {against}{listed}"


def node_table(found: Explanation) -> Table:
    """Supporters and opponents with what they share and add; then all other nodes and the node's own rows."""
    names = found.names
    shown = [int(each) for each in np.argsort(-found.probabilities, kind="stable")[:_SCORED_UP_TO]]
    facts = {name: values for name, values in _facts(found).items() if any(values)}
    headings = [*facts, "for", *(f"to {names.class_(each)}" for each in shown)]
    numbers = [heading for heading in headings if heading != "class"]
    blank = [""] * len(facts)

    def scores(values: Any) -> list[Cell]:
        return [numeral(float(value), "+.3f") for value in (found.margin(values), *(values[each] for each in shown))]

    rows: list[Row] = []
    for title, shares in (("for it", found.supporters), ("against", found.opponents)):
        rows += [row(f"{title}:", style=GROUP)] if shares else []
        for share in shares:
            place = found.listed.index(share)
            itself = " (itself)" if share.node == found.node else ""
            told = [values[place] for values in facts.values()]
            rows.append(row(f"{names.node(share.node)}{itself}", *told, *scores(share.scores)))
    rows.append(row("in all:", style=GROUP))
    if found.by_node is not None:
        rows.append(row("others", *blank, *scores(found.others)))
    rows += [row(name, *blank, *scores(value)) for name, value in found.own.items()]
    added = found.scores - found.gap
    if np.abs(found.gap).max() > _MISSED * np.abs(added).max():
        rows.append(row("missed by so few points", *blank, *scores(found.gap)))
        added = found.scores
    rows.append(row("the score", *blank, *scores(added), style=STRONG))
    heads = columns("node", *headings, numbers=numbers)
    return table([replace(each, whole=each.number, short=_SHORT.get(each.name, "")) for each in heads], rows)


def _facts(found: Explanation) -> dict[str, list[str]]:
    """What is known of each listed node, by heading; columns that say nothing are left out of tables."""
    listed = found.listed

    def features(share: NodeShare) -> str:
        if share.shared_features is not None:
            return f"{share.shared_features:,}"
        return "" if share.similarity is None else f"{share.similarity:.2f}"

    sparse = any(share.shared_features is not None for share in listed)
    return {
        "loss": ["" if share.loss is None else f"{share.loss:+.3f}" for share in listed],
        "coefficient": ["" if share.coefficient is None else f"{share.coefficient:+.5f}" for share in listed],
        "class": [_class(found, share) for share in listed],
        "hops": ["none" if share.hops is None else str(share.hops) for share in listed],
        "links shared": [f"{share.shared_neighbours:,}" for share in listed],
        "features shared" if sparse else "features alike": [features(share) for share in listed],
    }


def _class(found: Explanation, share: NodeShare) -> str:
    """The label of a node, and the prediction where it is another one; of one without a label the prediction."""
    predicted = found.names.class_(share.prediction)
    if share.label < 0:
        return f"{predicted}?"
    label = found.names.class_(share.label)
    return str(label) if share.label == share.prediction else f"{label}, predicted {predicted}"


def input_table(found: Explanation, top: int = _INPUTS) -> Table:
    """The columns of the node's own inputs that count most."""
    shown = found.inputs[:top]
    told = any(share.original is not None for share in found.inputs)
    rows = [
        row(
            share.input,
            input_name(found, share),
            *([share.original or ""] if told else []),
            "" if share.value is None else numeral(share.value, ".4g"),
            numeral(found.margin(share.scores), "+.4f"),
        )
        for share in shown
    ]
    heads = ["input", "column", *(["value", "encoded"] if told else ["value"]), "for"]
    return table(columns(*heads, numbers=heads[2:]), rows)


def input_label(found: Explanation, share: InputShare) -> str:
    """A column with its value in the table, where that is known."""
    name = input_name(found, share)
    return name if share.original is None else f"{name} = {share.original}"


def input_name(found: Explanation, share: InputShare) -> str:
    """A column by its name; of an edge, the node it leads to."""
    return f"edge with {found.names.node(share.name)}" if isinstance(share.name, int) else share.name


def way_table(found: Explanation) -> Table:
    """Which hops and which columns of the embedding carried weight."""
    strongest = sorted(found.ways, key=lambda each: -abs(found.margin(each["scores"])))
    rows = [
        row(way_name(found, way), numeral(way["weight"], "+.4f"), numeral(found.margin(way["scores"]), "+.4f"))
        for way in strongest
    ]
    return table(columns("way", "weight", "for", numbers=["weight", "for"]), rows)


def way_name(found: Explanation, way: dict[str, Any]) -> str:
    """By which hops, or by likeness in which column, in words."""
    if way["kind"] == "hops":
        letters = way["name"].split("·")
        steps = f"{len(letters)} hop{'s' * (len(letters) > 1)}"
        return f"{steps} along {letters[0]}" if len(set(letters)) == 1 else f"{steps}: {way['name']}"
    return f"alike in the column of {found.names.class_(int(way['name']))}"


def change_text(found: Explanation, change: Change) -> str:
    """What would change the prediction, in words."""
    what = {"nodes": "node", "edges": "edge"}[change.kind] + "s" * (len(change.removed) != 1)
    now = f"{found.names.class_(change.prediction)} ({100 * max(change.probabilities):.1f} %)"
    if not change.flipped:
        return f"No {change.kind} among the {len(change.removed)} tried change it ({change.runs} runs of the model)."
    listed = ", ".join(_removed(found, each) for each in change.removed[:10])
    more = f" and {len(change.removed) - 10} more" if len(change.removed) > 10 else ""
    return f"Without {len(change.removed)} {what} it is {now}: {listed}{more} ({change.runs} runs of the model)."


def _removed(found: Explanation, each: Any) -> str:
    if isinstance(each, tuple):
        return " - ".join(str(found.names.node(end)) for end in each)
    return str(found.names.node(each))


def flat_table(explanations: Iterable[Explanation]) -> Columns:
    """A row for every part of every explanation: nodes, all others, own rows; then inputs, to what they add.

    Rows whose ``to`` is ``score`` add up to the scores of a node.
    """
    import pyarrow as pa

    rows: list[dict[str, Any]] = []
    for found in explanations:
        told = found.as_dict()
        head = {"node": told["node"], "prediction": told["prediction"]}
        for part, shares in (("supporter", told["supporters"]), ("opponent", told["opponents"])):
            for share in shares:
                facts = {name: value for name, value in share.items() if name not in ("node", "scores", "prediction")}
                facts |= {"predicted": share["prediction"]}
                rows.append({**head, "part": part, "name": share["node"], "to": "score", **facts, **_added(share)})
        if found.by_node is not None:
            rows.append({**head, "part": "other nodes", "to": "score", **_added({"scores": told["other_nodes"]})})
        rows += [
            {**head, "part": "own", "name": name, "to": "score", **_added({"scores": value})}
            for name, value in told["own"].items()
        ]
        rows += [
            {**head, "part": each["input"], "name": each["name"], "to": told["inputs"]["to"], "value": each["value"]}
            | {"original": each["original"]}
            | _added(each)
            for each in told["inputs"]["parts"]
        ]
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns: dict[str, Any] = {}
    for name in names:
        values = [row.get(name) for row in rows]
        kinds = {type(value) for value in values if value is not None}
        columns[name] = values if len(kinds) <= 1 else [None if value is None else str(value) for value in values]
    return pa.table(columns)


def _added(part: dict[str, Any]) -> dict[str, float]:
    return {f"contribution_{name}": value for name, value in part["scores"].items()}


def plot_explanation(found: Explanation, path: Path) -> Path:
    """Nodes that speak for and against, and columns of the node's own inputs, as bars: one picture."""
    nodes = [(_node_label(found, each), each.margin) for each in _strongest(found.listed)]
    inputs = [(_short(input_label(found, each)), found.margin(each.scores)) for each in found.inputs[:_DRAWN]]
    own = [(name, found.margin(value)) for name, value in found.own.items()]
    if found.by_node is not None:
        own.append(("all other nodes", found.margin(found.others)))
    panels = [("Nodes", [*nodes, *own]), (f"Its own inputs, to its {found.inputs_to}", inputs)]
    panels = [panel for panel in panels if panel[1]]
    longest = max(len(bars) for _, bars in panels)
    figure = new_figure(5.2 * len(panels), 1.4 + 0.26 * longest)
    names = found.names
    for axes, (title, bars) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        values = [value for _, value in bars]
        colours = [COLOURS[0] if value > 0 else COLOURS[1] for value in values]
        axes.barh(range(len(bars)), values, color=colours, edgecolor="black", linewidth=0.4)
        for bar, value in zip(axes.patches, values, strict=True):
            bar.set_hatch("" if value > 0 else "//")
        axes.set_yticks(range(len(bars)), [visible(name) for name, _ in bars], fontsize=8, parse_math=False)
        axes.set_ylim(longest - 0.4, -0.6)
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_title(title, fontsize=10, loc=_place(title))
        first, second = (_short(str(names.class_(each)), _WORD) for each in (found.prediction, found.against))
        what = f"for {first} over {second}"
        axes.set_xlabel(visible(what), fontsize=9, parse_math=False, loc=_place(what))
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="x", alpha=0.3)
        axes.locator_params(axis="x", nbins=5)
    chance = 100 * found.probabilities[found.prediction]
    node = _middle_out(str(names.node(found.node)), _LABEL)
    title = f"Node {node}: {_short(str(names.class_(found.prediction)))}, {chance:.1f} %"
    figure.suptitle(visible(title), fontsize=11, parse_math=False)
    return save_picture(figure, path)


def _strongest(shares: list[NodeShare]) -> list[NodeShare]:
    chosen = sorted(shares, key=lambda each: -abs(each.margin))[: 2 * _DRAWN]
    return sorted(chosen, key=lambda each: -each.margin)


def _node_label(found: Explanation, share: NodeShare) -> str:
    names = found.names
    label = share.label if share.label >= 0 else share.prediction
    distance = "itself" if share.node == found.node else "no path" if share.hops is None else f"{share.hops} hops"
    distance = distance.replace("1 hops", "1 hop") if share.hops == 1 else distance
    mark = "" if share.label >= 0 else "?"
    told = f" ({_short(str(names.class_(label)), 10)}{mark}, {distance})"
    return f"{_middle_out(str(names.node(share.node)), _LABEL - len(told))}{told}"


def _place(text: str) -> Literal["center", "right"]:
    """Where words stand that may be longer than the axes are wide: at the left there is room."""
    return "center" if len(text) <= _WORD else "right"


def _short(text: str, most: int = _LABEL) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _middle_out(text: str, most: int) -> str:
    """Ids often differ at their ends."""
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def class_table(found: dict[str, Any]) -> Table:
    """Mean coefficients between classes: a row is spoken for by the columns."""
    spoken, matrix = [f"by {name}" for name in found["classes"]], found["class_matrix"]
    rows = [
        row(str(name), numeral(count, ","), *(numeral(value, "+.2e") for value in line))
        for name, count, line in zip(found["classes"], matrix["nodes"], matrix["coefficients"], strict=True)
    ]
    return table(columns("class", "nodes", *spoken, numbers=["nodes", *spoken]), rows)


def far_table(found: dict[str, Any], top: int = _INPUTS) -> Table:
    """Nodes that are decided by far ones, the most so first."""
    heads = columns("node", "predicted", "without far nodes", "far nodes add", numbers=["far nodes add"])
    rows = [
        row(*(str(each[name]) for name in ("node", "prediction", "otherwise")), numeral(each["margin"], "+.4f"))
        for each in found["far"]["nodes"][:top]
    ]
    return table(heads, rows)
