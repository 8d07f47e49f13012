"""``glognn evaluate``: what a trained model's predictions are worth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from glognn.cli.options import MIRROR
from glognn.cli.predict import MODEL, RUN, SPLIT
from glognn.errors import InputError


def command(
    run: RUN,
    labels: Annotated[
        Path | None,
        typer.Option("--labels", help="Table of ids and true classes. [dim]Default: the run's test set.[/dim]"),
    ] = None,
    id: Annotated[
        str | None, typer.Option("--id", help="Its column of ids. [dim]Default: as in training, else the first.[/dim]")
    ] = None,
    label: Annotated[
        str | None,
        typer.Option("--label", help="Its column of classes. [dim]Default: as in training, else the second.[/dim]"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder to write into. [dim]Default: RUN/evaluation.[/dim]")
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
    model: MODEL = None,
    split: SPLIT = None,
    data_mirror: MIRROR = None,
) -> None:
    """Measure predictions where the truth is known.

    All metrics, beside those of the baselines on the same nodes; for each class how many were found and how many
    predictions were right; the confusion matrix; and whether probabilities mean what they say (calibration). Written
    are evaluation.json, confusion.png and reliability.png.

    Examples:

      glognn evaluate runs/fraud --labels truth.csv

      glognn evaluate runs/fraud --labels audit.parquet --id account --label verdict --out audit

      glognn evaluate runs/first --model glognn++ --split 1
    """
    import numpy as np

    from glognn.cli.terminal import Terminal
    from glognn.data.table_graph import read_labels
    from glognn.data.tables import column_names, find_column
    from glognn.experiments.appraisal import appraise_predictions
    from glognn.experiments.saved import open_saved
    from glognn.experiments.saved_ensemble import SavedEnsemble
    from glognn.report.evaluation import class_table, plot_confusion, plot_reliability, score_table
    from glognn.report.summary import beware
    from glognn.storage import write_json

    if labels is None and (id is not None or label is not None):
        raise InputError("--id and --label are columns of a table of truth. Give it with --labels FILE.")
    names = [] if labels is None else column_names(labels)
    chosen = open_saved(run, [model] if model else [], split)
    predictions, graph = chosen.predict(data_mirror)
    if labels is None:
        nodes = np.flatnonzero(graph.masks["test"][:, chosen.split].numpy())
        if not nodes.size:
            raise InputError(f"'{run}' has no test nodes to measure on. Give the truth with --labels FILE.")
        y, truth = graph.y.numpy()[nodes], f"test set of split {chosen.split}"
    else:
        usual = ("node", "label") if chosen.tables is None else (chosen.tables.id_column, chosen.tables.label_column)
        columns = [
            find_column(labels, names, wanted or (known if known in names else None), place, option)
            for wanted, known, place, option in zip((id, label), usual, (0, 1), ("--id", "--label"), strict=True)
        ]
        if columns[0] == columns[1]:
            raise InputError(f"--id and --label must be two columns of '{labels}'. Got '{columns[0]}' for both.")
        nodes, y = read_labels(predictions.ids, predictions.classes, labels, *columns)
        truth = str(labels)
    positive = None if positive_class is None else predictions.classes.find(positive_class, "--positive-class")
    splits = chosen.splits if isinstance(chosen, SavedEnsemble) else [chosen.split]
    beside = appraise_predictions(predictions, graph, splits, chosen.config.training, nodes, y, positive, top_k)
    found = predictions.evaluate(nodes, y, positive, top_k) | {"run": str(chosen.folder), "truth": truth} | beside
    folder = out or run / "evaluation"
    try:
        write_json(folder / "evaluation.json", found)
        plot_confusion(found, folder / "confusion.png")
        plot_reliability(found, folder / "reliability.png")
    except OSError as error:
        raise InputError(str(error)) from None
    console = Terminal()
    if chosen.why:
        console.out(f"Used: {chosen.why}")
    console.out(f"{len(nodes):,} nodes with a known class: {truth}\n")
    console.print(score_table(found))
    console.out("")
    console.print(class_table(found))
    if told := beware([found]):
        console.out(f"\n{told}")
    console.out(f"\nEvaluation: {folder}")
