"""``glognn evaluate``: what a trained model's predictions are worth."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated

import typer

from glognn.cli.options import MIRROR
from glognn.cli.predict import MODEL, RUN, SPLIT, THRESHOLD
from glognn.cli.tables import EdgeTables, Nodes, UnknownEdges
from glognn.errors import InputError

RECORD = "evaluation.json"
"""Written last: what is there is complete."""


def command(
    run: RUN,
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels", help="Table of ids and true classes. [dim]Default: the nodes that the run held out.[/dim]"
        ),
    ] = None,
    id: Annotated[
        str | None, typer.Option("--id", help="Its column of ids. [dim]Default: as in training, else the first.[/dim]")
    ] = None,
    label: Annotated[
        str | None,
        typer.Option("--label", help="Its column of classes. [dim]Default: as in training, else the second.[/dim]"),
    ] = None,
    nodes: Nodes = None,
    edges: EdgeTables = None,
    unknown_edges: UnknownEdges = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Folder to write into. [dim]Default: RUN/evaluation, then evaluation-2 and so on.[/dim]"
        ),
    ] = None,
    positive_class: Annotated[
        str | None,
        typer.Option(
            "--positive-class",
            help="The class that F1, recall, average precision and so on are of. [dim]Default: as in training.[/dim]",
        ),
    ] = None,
    top_k: Annotated[
        int, typer.Option("--top-k", min=1, help="How many nodes precision at k and recall at k look at.")
    ] = 100,
    threshold: THRESHOLD = None,
    model: MODEL = None,
    split: SPLIT = None,
    data_mirror: MIRROR = None,
) -> None:
    """Measure predictions where the truth is known.

    All metrics, beside those of the baselines on the same nodes; for each class how many were found and how many
    predictions were right; the confusion matrix; and whether probabilities mean what they say (calibration). Metrics of
    one class are of the class that training looked for, by default the rarer of two. Written are confusion.png,
    reliability.png, rankings.png (precision-recall and ROC curves) and evaluation.json. No evaluation is overwritten.

    Examples:

      glognn evaluate runs/fraud --labels truth.csv

      glognn evaluate runs/fraud --labels audit.parquet --id account --label verdict --out audit

      glognn evaluate runs/fraud --nodes new.csv --edges new_edges.csv

      glognn evaluate runs/fraud --threshold precision=0.9

      glognn evaluate runs/first --model glognn++ --split 1

    --nodes and --edges bring the graph up to date as for 'glognn predict', so that nodes which came later can be
    judged; their classes are in --labels, or in the table of nodes itself. Of a run on several splits or folds, each
    node that was held out is judged by the models that have not learned from it.
    """
    from glognn.cli.terminal import Terminal
    from glognn.data.table_graph import read_labels
    from glognn.data.tables import column_names, find_column
    from glognn.experiments.appraisal import appraise_predictions
    from glognn.experiments.saved import open_saved
    from glognn.experiments.saved_mean import SavedMean
    from glognn.report.evaluation import class_table, plot_confusion, plot_rankings, plot_reliability, score_table
    from glognn.report.summary import beware
    from glognn.storage import write_json

    given = nodes is not None or bool(edges)
    labels = nodes if labels is None else labels
    if labels is None and (id is not None or label is not None):
        raise InputError("--id and --label are columns of a table of truth. Give it with --labels FILE.")
    now = None
    chosen, console = open_saved(run, [model] if model else [], split), Terminal()
    if labels is not None:
        dialect = chosen.dialect_of(labels)
        names = column_names(labels, dialect)
    chosen = chosen.deciding(threshold or "auto", data_mirror)
    if labels is None:
        if given:
            raise InputError("--edges alone brings no classes to judge by. Give them with --labels FILE.")
        predictions, graph, places, truth = chosen.held_out(data_mirror)
        y = graph.y.cpu().numpy()[places]
        if not places.size:
            raise InputError(f"'{run}' has no test nodes to measure on. Give the truth with --labels FILE.")
    else:
        if given:
            how = unknown_edges or "error"
            predictions, _, changed, made = chosen.predict_changed(nodes, edges or None, unknown_edges=how)
            _, graph = chosen.graph(data_mirror)
            now = made()
            console.out(f"The graph of training: {changed or 'nothing changes'}")
        else:
            predictions, graph = chosen.predict(data_mirror)
        usual = ("node", "label") if chosen.tables is None else (chosen.tables.id_column, chosen.tables.label_column)
        columns = [
            find_column(labels, names, wanted or (known if known in names else None), place, option)
            for wanted, known, place, option in zip((id, label), usual, (0, 1), ("--id", "--label"), strict=True)
        ]
        if columns[0] == columns[1]:
            raise InputError(f"--id and --label must be two columns of '{labels}'. Got '{columns[0]}' for both.")
        places, y = read_labels(predictions.ids, predictions.classes, labels, columns[0], columns[1], dialect)
        truth = str(labels)
    positive = None if positive_class is None else predictions.classes.find(positive_class, "--positive-class")
    beside = appraise_predictions(
        predictions,
        graph,
        chosen.splits,
        chosen.config.training,
        places,
        y,
        positive,
        top_k,
        held_out=labels is None,
        now=now,
    )
    label_column = None if chosen.tables is None else chosen.tables.label_column
    found = predictions.evaluate(places, y, positive, top_k)
    found |= {"run": str(chosen.folder), "truth": truth, "label": label_column} | beside
    found["threshold_for"] = chosen.threshold_for
    folder = _unused(run / "evaluation") if out is None else out
    if (folder / RECORD).exists():
        raise InputError(f"'{folder}' holds an evaluation already: choose another --out, or leave it out.")
    try:
        plot_confusion(found, folder / "confusion.png")
        plot_reliability(found, folder / "reliability.png")
        plot_rankings(found, folder / "rankings.png")
        write_json(folder / RECORD, found)
    except OSError as error:
        raise InputError(str(error)) from None
    if chosen.why and not (labels is None and isinstance(chosen, SavedMean) and chosen.refitted):
        console.out(f"Used: {chosen.why}")
    if told := chosen.describe_threshold():
        console.out(told)
    console.out(f"{len(places):,} nodes with a known class: {truth}\n")
    console.print(score_table(found))
    console.out("")
    console.print(class_table(found))
    if told := beware([found]):
        console.out(f"\n{told}")
    console.out(f"\nEvaluation: {folder}")


def _unused(folder: Path) -> Path:
    """The folder, or with a number behind, the first without an evaluation."""
    numbered = (folder if number == 1 else folder.with_name(f"{folder.name}-{number}") for number in itertools.count(1))
    return next(place for place in numbered if not (place / RECORD).exists())
