"""Model cards in Markdown, from records: of a run, of an automatic run, and of a saved classifier.

A card says what the model is for and where it ends, how good it is beside the baselines and class by class, on which
data, what became of their columns, with which settings it was made, when and with what, and how to load it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from glognn.experiments.leaderboard import BASELINE, standings
from glognn.graph.config import SCALED_FEATURES
from glognn.report.document import columns, row, table
from glognn.report.markdown import table_markdown
from glognn.report.summary import ensemble_decision, settled_text
from glognn.report.text import score_name, visible

if TYPE_CHECKING:
    from glognn.data.table_graph import KeptTables

CARD = "README.md"
"""Its file in the folder."""
_SETS = {"train": "training nodes", "val": "validation nodes", "test": "test nodes"}
_LISTED = 200
"""Columns, or classes, that have a line each."""


def run_card(report: Mapping[str, Any], tables: KeptTables | None = None, refitted: str = "") -> str:
    """The card of a run of one model, on one split or several, from its ``report.json``.

    Args:
        report: The record.
        tables: What is kept of a user's tables, if that is what it was trained on.
        refitted: What was trained on all labels afterwards, in words.
    """
    model, single, name = report["config"]["model"]["name"], report["kind"] == "run", score_name(report)
    chosen = "the best validation score" if report["selection"] == "best" else "the last epoch"
    splits = (
        "one split" if single else f"{len(report['splits'])} splits, each with a model of its own: scores are means"
    )
    settings = [
        (setting, value)
        for group in ("data", "model", "training")
        for setting, value in report["config"][group].items()
        if setting != "dataset"
    ]
    measured = [
        *([("selected epoch", report["scores"]["selected"]["epoch"])] if single else []),
        ("epochs trained", report["scores"]["last"]["epoch"] if single else report["epochs"]),
        *_positive(report),
        *_decides(report),
        *([("decided from training labels", decided)] if (decided := settled_text(dict(report))) else []),
        ("seconds", _number(report["seconds"])),
    ]
    return "\n".join(
        [
            f"# {model}: a classifier of {_count(report['data'].get('num_classes'))} classes of nodes",
            "",
            f"Trained on {splits}; kept are the weights of {chosen}.",
            *([f"What predicts is the {refitted}: scores are those of the splits."] if refitted else []),
            *_finished(report),
            "",
            *_use(tables),
            *_scores(name, report["scores"]["selected"], report.get("baselines", {}), measured),
            *_by_class(report, pooled=not single),
            *_cautions(report),
            *_facts(report["data"], tables),
            *_columns(tables),
            *_table("Settings", settings),
            *_table("Versions", report["versions"].items()),
            *_LOADING,
        ]
    )


def model_card(record: Mapping[str, Any]) -> str:
    """The card of a saved classifier, from its ``estimator.json``."""
    params, scores, name = record["params"], record["scores"], _score_name(record)
    measured = [
        ("selected epoch", scores["epoch"]),
        ("epochs trained", record["epochs"]),
        *_positive(record),
        *_decides(record),
    ]
    return "\n".join(
        [
            f"# {params['model']}: a classifier of {len(record['classes']['values'])} classes of nodes",
            "",
            "Trained on one graph, which is kept beside it. Scores on training and validation nodes are of those that",
            "trained and selected it: judge it on others.",
            *_finished(record),
            "",
            *_use(None),
            *_scores(name, scores, record.get("baselines", {}), measured),
            *_by_class(record),
            *_cautions(record),
            *_data(record),
            *_table("Settings", params.items()),
            *_table("Versions", record["versions"].items()),
            *_LOADING,
        ]
    )


def ensemble_card(
    ensemble: dict[str, Any], fitted: Mapping[str, Any] | None = None, tables: KeptTables | None = None
) -> str:
    """The card of an automatic run, from its ``ensemble.json``: what kind of graph it is, which models, how good.

    Args:
        ensemble: The record of the run.
        fitted: ``estimator.json`` of a classifier that holds the run, which knows more of graph and settings.
        tables: What is kept of a user's tables, if that is what it was trained on.
    """
    named = ensemble if fitted is None else ensemble | {"positive_class": fitted["positive_class"]}
    metric, _, *rows = score_name(named), *standings(ensemble)
    measured = [
        *_positive(named),
        *_decides(ensemble_decision(ensemble)),
        ("best single member on validation", ensemble["best_single"]["name"]),
        ("seconds", _number(ensemble["seconds"])),
        ("ended", ensemble["ended"] or "not yet"),
    ]
    members = [
        (
            row.name,
            row.model,
            f"{row.weight:.2f}",
            _spread({"mean": row.val, "std": row.val_spread}),
            _spread({"mean": row.test, "std": row.test_spread}),
            _number(row.seconds_to_fit),
            f"{row.state}: {row.reason}" if row.reason else row.state,
        )
        for row in rows
        if row.state != BASELINE
    ]
    headings = ("member", "model", "weight", f"validation {metric}", f"test {metric}", "seconds to fit", "state")
    more = [] if fitted is None else [*_data(fitted), *_table("Settings", fitted["given"].items())]
    return "\n".join(
        [
            f"# auto: an ensemble of models for {len(ensemble['classes'])} classes of nodes",
            "",
            "Models trained on one graph and weighted on validation nodes. Validation scores are those of the nodes",
            "that selected and weighted the models: judge them on others.",
            *_finished(ensemble),
            "",
            ensemble["description"],
            "",
            f"Splits: {ensemble['splits_origin']}. Scores are means over them, with their standard deviations.",
            "",
            *_use(tables),
            *_scores(metric, ensemble, ensemble.get("baselines", {}), measured),
            *_by_class(ensemble, pooled=True),
            *_cautions(ensemble),
            *_table("Members", members, headings),
            *_tables_read(tables),
            *_columns(tables),
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


def _decides(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Calibration and threshold, which are of the model that predicts; of several splits the mean threshold."""
    why = f" (chosen for {record['threshold_for']} on validation nodes)" if record.get("threshold_for") else ""
    kind = (record.get("calibration") or {"kind": "none"})["kind"]
    return [
        *([("calibration", kind)] if "calibration" in record else []),
        ("decision threshold", _number(record.get("threshold")) + why),
    ]


def _count(number: Any) -> str:
    return f"{number:,}" if isinstance(number, int) else "some"


def _finished(record: Mapping[str, Any]) -> list[str]:
    return ["", f"Finished: {record['finished']}."] if record.get("finished") else []


def _use(tables: KeptTables | None) -> list[str]:
    what = "the classes" if tables is None else f"'{visible(tables.label_column)}'"
    return [
        "## Intended use",
        "",
        f"To predict {what} of the nodes of the graph it was trained on, and of new nodes from their features and",
        "their edges to it, without training again.",
        "",
        "## Limits",
        "",
        "- Scores hold for nodes that are drawn as those held out were. They say nothing of other graphs, of a graph",
        "  that has changed much, or of unlabelled nodes that differ from labelled ones.",
        "- A score on few nodes is uncertain, and one that is hardly above a baseline's is no reason to use the model.",
        "- Only classes that had training labels can be predicted, and every node gets one of them.",
        "- Predictions follow what features and links go along with, which need not be a cause. Before people are",
        "  judged by them, compare errors between groups of people, and let somebody look at single cases.",
        "- The folder holds the training graph with its features and labels: who has the folder can read them.",
        "",
    ]


def _scores(
    name: str, scores: Mapping[str, Any], baselines: Mapping[str, Any], measured: Iterable[Sequence[Any]]
) -> list[str]:
    """A row for each set: the model's score and those of the baselines on the same nodes; then what else there is."""
    rows = [
        (f"{name}, {words}", _spread(scores[each]), *(_spread(found[each]) for found in baselines.values()))
        for each, words in _SETS.items()
        if scores.get(each) is not None
    ]
    beside = [f"baseline: {each}" for each in baselines]
    empty = [""] * len(beside)
    return _table(
        "Scores", [*rows, *((*row, *empty) for row in measured)], ("", "this model" if beside else "", *beside)
    )


def _by_class(record: Mapping[str, Any], *, pooled: bool = False) -> list[str]:
    """What was found of each class among the nodes held out."""
    if "held_out" not in record:
        return []
    held_out = record["held_out"]
    rows = []
    for entry in held_out["classes"][:_LISTED]:
        nodes, predicted, right = (entry[name] for name in ("nodes", "predicted", "right"))
        shares = [f"{above / below:.4f}" if below else "none" for above, below in ((right, nodes), (right, predicted))]
        f1 = f"{2 * right / (nodes + predicted):.4f}" if nodes + predicted else "none"
        rows.append((visible(str(entry["class"])), nodes, *shares, f1, predicted))
    where = "all splits together" if pooled else "one split"
    title = f"Held-out {_SETS[held_out['set']]}, class by class ({where})"
    return _table(title, rows, ("class", "nodes", "recall", "precision", "F1", "predicted"))


def _cautions(record: Mapping[str, Any]) -> list[str]:
    found = record.get("cautions")
    return ["## Beware", "", *(f"- {visible(each)}" for each in found), ""] if found else []


def _facts(data: Mapping[str, Any], tables: KeptTables | None) -> list[str]:
    """What a run's record says about its graph."""
    words = {
        "num_nodes": "nodes",
        "num_entries": "adjacency entries",
        "num_isolated": "isolated nodes",
        "num_features": "features",
        "feature_normalization": "features are taken",
        "num_classes": "classes",
        "num_labelled": "labelled nodes",
        "splits_origin": "splits",
        "fingerprint": "fingerprint",
    }
    data = data if tables is None else {**data, "splits_origin": tables.read["splits"]}
    scaled = SCALED_FEATURES.get(data.get("feature_normalization", ""))
    data = data if scaled is None else {**data, "feature_normalization": scaled}
    rows = [(word, data[name]) for name, word in words.items() if name in data]
    if tables is None and "dataset" in data:
        rows = [("dataset", data["dataset"]), *rows]
    return [*_table("Data", rows), *_tables_read(tables)]


def _tables_read(tables: KeptTables | None) -> list[str]:
    if tables is None:
        return []
    read = tables.read
    total = max(sum(read["class_sizes"]), 1)
    sizes = list(zip(tables.classes.names, read["class_sizes"], strict=True))
    balance = [(visible(str(name)), f"{size:,} ({size / total:.1%})") for name, size in sizes[:_LISTED]]
    files = [(visible(name), f"sha256 {digest}") for name, digest in read["files"].items()]
    left_out = [("labels in column", visible(tables.label_column)), ("without a label", f"{read['unlabelled']:,}")]
    return [*_table("Tables", [*files, *left_out]), *_table("Classes", balance)]


def _columns(tables: KeptTables | None) -> list[str]:
    """What became of each column of a user's table."""
    if tables is None:
        return []
    columns = tables.encoding.columns
    rows = [(visible(each.name), each.kind, len(each.features), each.done) for each in columns[:_LISTED]]
    if more := columns[_LISTED:]:
        rows.append((f"{len(more):,} more", "", sum(len(each.features) for each in more), ""))
    left_out = dict.fromkeys(tables.read["columns_left_out"], "as asked") | dict(tables.encoding.dropped)
    rows += [(visible(name), "left out", 0, why) for name, why in left_out.items()]
    return _table("Columns", rows, ("column", "kind", "features", "what was done"))


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


def _spread(score: Mapping[str, float | None] | float | None) -> str:
    """A score, or a mean with its standard deviation."""
    mean, std = (score["mean"], score["std"]) if isinstance(score, Mapping) else (score, None)
    return _number(mean) if mean is None or std is None else f"{mean:.4f} ± {std:.4f}"


def _number(value: Any) -> str:
    return "none" if value is None else f"{value:.4g}"


def _table(title: str, rows: Iterable[Sequence[Any]], headings: Sequence[str] = ("", "")) -> list[str]:
    found = table(columns(*headings), [row(*map(str, each)) for each in rows])
    return [f"## {title}", "", table_markdown(found)]
