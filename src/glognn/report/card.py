"""The model card of a saved classifier, in Markdown, from its record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def model_card(record: Mapping[str, Any]) -> str:
    """What the model is, on which data, with which settings, how good, made with what, and how to load it."""
    data, params, scores = record["data"], record["params"], record["scores"]
    classes = [str(each) for each in record["classes"]["values"]]
    labelled = sum(data["class_sizes"])
    balance = [
        (name, f"{size} ({size / labelled:.1%})") for name, size in zip(classes, data["class_sizes"], strict=True)
    ]
    homophily = [(f"homophily: {name}", _number(value)) for name, value in data["homophily"].items()]
    facts = [
        ("nodes", data["nodes"]),
        ("edges, undirected", data["edges_undirected"]),
        ("isolated nodes", data["isolated"]),
        ("features", data["features"]),
        ("labelled nodes used", labelled),
        ("unlabelled nodes", data["unlabelled"]),
        *homophily,
    ]
    measured = [
        (f"{scores['metric']}, training nodes", _number(scores["train"])),
        (f"{scores['metric']}, validation nodes", _number(scores["val"])),
        *([(f"{scores['metric']}, test nodes", _number(scores["test"]))] if scores.get("test") is not None else []),
        ("selected epoch", scores["epoch"]),
        ("epochs trained", record["epochs"]),
        ("decision threshold", _number(record["threshold"])),
    ]
    return "\n".join(
        [
            f"# {params['model']}: a classifier of {len(classes)} classes of nodes",
            "",
            "Trained on one graph, which is kept beside it. It predicts the classes of the nodes of that graph, and of",
            "new nodes from their features and their edges to it, without training again. The scores are those of the",
            "nodes that trained and selected it: judge it on others.",
            "",
            *_table("Data", facts),
            *_table("Classes", balance),
            *_table("Scores", measured),
            *_table("Settings", params.items()),
            *_table("Versions", record["versions"].items()),
            "## Loading",
            "",
            "```python",
            "from glognn import GloGNNClassifier",
            "",
            'classifier = GloGNNClassifier.load("this folder")',
            "classifier.transduction_  # the class of every node of the training graph",
            "```",
            "",
        ]
    )


def _number(value: Any) -> str:
    return "none" if value is None else f"{value:.4g}"


def _table(title: str, rows: Iterable[tuple[str, Any]]) -> list[str]:
    lines = [f"| {str(name).replace('|', '/')} | {value} |" for name, value in rows]
    return [f"## {title}", "", "| | |", "|---|---|", *lines, ""]
