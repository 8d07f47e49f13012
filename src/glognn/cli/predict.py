"""``glognn predict``: classes and probabilities of nodes, from a trained model, into a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from glognn.cli.options import MIRROR
from glognn.cli.tables import EdgeTables, Nodes, UnknownEdges
from glognn.errors import InputError

RUN = Annotated[
    Path, typer.Argument(help="A run folder of 'glognn train', or a saved GloGNNClassifier.", show_default=False)
]
MODEL = Annotated[
    str | None,
    typer.Option("--model", "-m", help="Which of several models. [dim]Default: the best on validation.[/dim]"),
]
SPLIT = Annotated[
    int | None,
    typer.Option(
        "--split",
        "-s",
        min=0,
        help="The model of this split alone. [dim]Default: the mean of all splits trained, or what --refit made.[/dim]",
    ),
]

THRESHOLD = Annotated[
    str | None,
    typer.Option(
        "--threshold",
        help="Of two classes, from which probability on the positive one is predicted: a number, or a rule of "
        "'glognn train' (precision=0.8, recall=0.9, cost=1:20, validation, none), by which it is chosen anew on the "
        "validation nodes of training. [dim]Default: as in training.[/dim]",
    ),
]


def command(
    run: RUN,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="Table to write: .csv, .tsv (also .gz), .parquet or .feather.", show_default=False
        ),
    ],
    ids: Annotated[
        Path | None,
        typer.Option("--ids", help="Table whose first column, or that named as in training, says for which nodes."),
    ] = None,
    nodes: Nodes = None,
    edges: EdgeTables = None,
    unknown_edges: UnknownEdges = None,
    spreadsheet: Annotated[
        bool,
        typer.Option(
            "--spreadsheet",
            help="For a .csv or .tsv that a spreadsheet opens: an apostrophe before ids, classes and headings that it "
            "would run as a formula ('=cmd()'). [dim]Default: every id exactly as it was given.[/dim]",
        ),
    ] = False,
    threshold: THRESHOLD = None,
    model: MODEL = None,
    split: SPLIT = None,
    data_mirror: MIRROR = None,
) -> None:
    """Predict the classes of nodes: id, prediction, a probability for each class, margin.

    The margin is the distance between the two largest probabilities: small ones are close calls. Nodes of a dataset
    are named by their numbers, nodes of your tables by their ids. An id is its text exactly as it is written, here and
    in every table: 7, 007 and 7.0 are three ids.

    --nodes and --edges, which may be repeated, bring the graph up to date, without training again; columns are read as
    in training. Rows of known ids give these nodes other features, edges between known ids join the graph, and rows of
    other ids are new nodes, which known ones do not notice. Written are the nodes of --nodes, or with --edges alone
    all; --ids chooses others. What has changed is said.

    A run on several splits predicts with the mean of their models, one that was refitted with what was trained on all
    labels; which it was is said.

    Examples:

      glognn predict runs/fraud --out predictions.parquet

      glognn predict runs/fraud --ids today.csv --out today-predicted.csv

      glognn predict runs/fraud --nodes new.csv --edges new_edges.csv --out new-predicted.csv

      glognn predict runs/fraud --edges todays_edges.csv --out today.csv

      glognn predict runs/fraud --threshold precision=0.9 --out certain.csv

      glognn predict runs/first --model mlp --split 1 --out mlp.tsv.gz

      glognn predict runs/fraud --spreadsheet --out for-excel.csv
    """
    from glognn.cli.terminal import Terminal
    from glognn.data.tables import for_spreadsheets, table_format, write_table
    from glognn.experiments.saved import open_saved

    if table_format(out)[0] not in ("csv", "tsv") and spreadsheet:
        raise InputError(f"--spreadsheet is for .csv and .tsv, also .gz. Got --out {out}: leave it out.")
    if not edges and unknown_edges is not None:
        raise InputError("--unknown-edges is about a table of edges. Give it with --edges FILE.")
    chosen = open_saved(run, [model] if model else [], split)
    console = Terminal()
    chosen = chosen.deciding(threshold or "auto", data_mirror)
    if chosen.why:
        console.out(f"Used: {chosen.why}")
    if told := chosen.describe_threshold():
        console.out(told)
    wanted = None
    if nodes is not None or edges:
        how = unknown_edges or "error"
        found, wanted, changed, _ = chosen.predict_changed(nodes, edges or None, unknown_edges=how)
        console.out(f"The graph of training: {changed or 'nothing changes'}")
    else:
        found, _ = chosen.predict(data_mirror)
    if ids is not None:
        wanted = chosen.read_nodes(ids, found.ids, found.id_column, "--ids")
    table = found.table(wanted)
    try:
        write_table(for_spreadsheets(table) if spreadsheet else table, out)
    except OSError as error:
        raise InputError(str(error)) from None
    console.out(f"{table.num_rows:,} predictions: {out}")
