"""The model card of a saved classifier, and of an automatic run, in Markdown, from its record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from glognn.experiments.leaderboard import standings
from glognn.report.text import score_name, visible

CARD = "README.md"
"""Its file in the folder."""


def model_card(record: Mapping[str, Any]) -> str:
    """What the model is, on which data, with which settings, how good, made with what, and how to load it."""
    params, scores, name = record["params"], record["scores"], _score_name(record)
    measured = [
        (f"{name}, training nodes", _number(scores["train"])),
        (f"{name}, validation nodes", _number(scores["val"])),
        *([(f"{name}, test nodes", _number(scores["test"]))] if scores.get("test") is not None else []),
        ("selected epoch", scores["epoch"]),
        ("epochs trained", record["epochs"]),
        *_positive(record),
        ("decision threshold", _number(record["threshold"])),
    ]
    return "\n".join(
        [
            f"# {params['model']}: a classifier of {len(record['classes']['values'])} classes of nodes",
            "",
            "Trained on one graph, which is kept beside it. It predicts the classes of the nodes of that graph, and of",
            "new nodes from their features and their edges to it, without training again. The scores are those of the",
            "nodes that trained and selected it: judge it on others.",
            "",
            *_data(record),
            *_table("Scores", measured),
            *_table("Settings", params.items()),
            *_table("Versions", record["versions"].items()),
            *_LOADING,
        ]
    )


def ensemble_card(ensemble: dict[str, Any], fitted: Mapping[str, Any] | None = None) -> str:
    """The card of an automatic run, from its ``ensemble.json``: what kind of graph it is, which models, how good.

    Args:
        ensemble: The record of the run.
        fitted: ``estimator.json`` of a classifier that holds the run, which knows more of graph and settings.
    """
    named = ensemble if fitted is None else ensemble | {"positive_class": fitted["positive_class"]}
    metric, first, *rows = score_name(named), *standings(ensemble)
    measured = [
        (f"{metric}, validation nodes", _spread(first.val, first.val_spread)),
        *([(f"{metric}, test nodes", _spread(first.test, first.test_spread))] if first.test is not None else []),
        *_positive(named),
        ("best single member on validation", ensemble["best_single"]["name"]),
        ("seconds", _number(ensemble["seconds"])),
        ("ended", ensemble["ended"] or "not yet"),
    ]
    members = [
        (
            row.name,
            row.model,
            f"{row.weight:.2f}",
            _spread(row.val, row.val_spread),
            _spread(row.test, row.test_spread),
            _number(row.seconds_to_fit),
            f"{row.state}: {row.reason}" if row.reason else row.state,
        )
        for row in rows
    ]
    headings = ("member", "model", "weight", f"validation {metric}", f"test {metric}", "seconds to fit", "state")
    more = [] if fitted is None else [*_data(fitted), *_table("Settings", fitted["given"].items())]
    return "\n".join(
        [
            f"# auto: an ensemble of models for {len(ensemble['classes'])} classes of nodes",
            "",
            "Models trained on one graph and weighted on validation nodes. Together they predict the classes of the",
            "nodes of that graph, and of new nodes from their features and their edges to it, without training again.",
            "Validation scores are those of the nodes that selected and weighted the models: judge them on others.",
            "",
            ensemble["description"],
            "",
            f"Splits: {ensemble['splits_origin']}. Scores are means over them, with their standard deviations.",
            "",
            *_table("Scores", measured),
            *_table("Members", members, headings),
            *more,
            *_table("Versions", ensemble["versions"].items()),
            *_LOADING,
        ]
    )


def _score_name(record: Mapping[str, Any]) -> str:
    return score_name({"metric": record["scores"]["metric"], "positive_class": record["positive_class"]})


def _positive(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = record.get("positive_class")
    return [] if found is None else [("positive class", visible(found["name"]))]


def _spread(score: float | None, spread: float | None) -> str:
    return _number(score) if score is None or spread is None else f"{score:.4f} ± {spread:.4f}"


def _data(record: Mapping[str, Any]) -> list[str]:
    data, classes = record["data"], [str(each) for each in record["classes"]["values"]]
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
    return [*_table("Data", facts), *_table("Classes", balance)]


_LOADING = (
    "## Loading",
    "",
    "```python",
    "from glognn import GloGNNClassifier",
    "",
    'classifier = GloGNNClassifier.load("this folder")',
    "classifier.transduction_  # the class of every node of the training graph",
    "```",
    "",
)


def _number(value: Any) -> str:
    return "none" if value is None else f"{value:.4g}"


def _table(title: str, rows: Iterable[Sequence[Any]], headings: Sequence[str] = ("", "")) -> list[str]:
    lines = [f"| {' | '.join(str(value).replace('|', '/') for value in row)} |" for row in rows]
    return [f"## {title}", "", f"| {' | '.join(headings)} |", "|---" * len(headings) + "|", *lines, ""]
