"""``glognn audit``: what is doubtful about the data of a trained model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glognn.cli.options import MIRROR
from glognn.cli.predict import MODEL, RUN, SPLIT
from glognn.cli.tables import EdgeTables, Nodes, UnknownEdges
from glognn.errors import InputError

if TYPE_CHECKING:
    from rich.status import Status

    from glognn.training.callbacks import Callback


def command(
    run: RUN,
    top: Annotated[int, typer.Option("--top", min=0, help="Rows of each table on the terminal.")] = 20,
    folds: Annotated[
        int,
        typer.Option("--folds", min=0, help="Folds of the labels, for each of which a model is trained; 0: no labels."),
    ] = 5,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="File to write: .json for all, a table (.csv, .parquet, ...) for the suspicious labels."
        ),
    ] = None,
    nodes: Nodes = None,
    edges: EdgeTables = None,
    unknown_edges: UnknownEdges = None,
    model: MODEL = None,
    split: SPLIT = None,
    data_mirror: MIRROR = None,
) -> None:
    """Look for labels that are probably wrong, duplicates between train and test, and drift.

    Labels: models with the settings of the run are trained on folds of the labelled nodes, and each judges the labels
    that it did not see; suspicious ones are ranked, with reasons. Duplicates: test nodes with the same links or
    features as a training node inflate the test score. Drift, with --nodes (and --edges): in which columns, and in
    which predictions, new nodes differ from known ones.

    Examples:

      glognn audit runs/fraud

      glognn audit runs/fraud --out suspects.csv

      glognn audit runs/fraud --folds 0 --nodes new.csv --edges new_edges.csv
    """
    from glognn.cli.terminal import Terminal
    from glognn.data.tables import table_format, write_table
    from glognn.experiments.audit import audit
    from glognn.experiments.saved import open_saved
    from glognn.report.audit import drift_table, duplicate_table, duplicate_text, suspect_columns, suspect_table
    from glognn.storage import write_json

    if nodes is None and (edges or unknown_edges is not None):
        raise InputError("--edges and --unknown-edges are about new nodes. Give their table with --nodes FILE.")
    if out is not None and out.suffix != ".json":
        table_format(out)
        if not folds:
            raise InputError(f"--out {out} is for suspicious labels, which --folds 0 leaves out: use .json.")
    chosen = open_saved(run, [model] if model else [], split)
    console = Terminal()
    if chosen.why:
        console.out(f"Used: {chosen.why}")
    with console.status("Reading the model and its graph ...") as status:
        found = audit(
            chosen,
            data_mirror,
            folds=folds,
            nodes=nodes,
            edges=edges or None,
            unknown_edges=unknown_edges or "error",
            callbacks=[_shown_in(status)],
        )
    if found["labels"] is not None:
        labels = found["labels"]
        console.out(
            f"{len(labels['suspects']):,} of {labels['labelled']:,} labels are not what {labels['folds']} models of "
            f"{found['model']} say that did not see them; the most suspicious first\n"
        )
        console.print(suspect_table(found, top))
    if found["duplicates"] is not None:
        console.out(f"\n{duplicate_text(found)}\n")
        if found["duplicates"]["pairs"]:
            console.print(duplicate_table(found, top))
    if found["drift"] is not None:
        columns, count = found["drift"]["columns"], found["drift"]["new_nodes"]
        drifted = sum(each["drifted"] for each in columns)
        console.out(f"\n{drifted} of {len(columns)} columns have drifted in {count:,} new nodes\n")
        console.print(drift_table(found, top))
    if out is not None:
        try:
            write_json(out, found) if out.suffix == ".json" else write_table(suspect_columns(found), out)
        except OSError as error:
            raise InputError(str(error)) from None
        console.out(f"\nAudit: {out}")


def _shown_in(status: Status) -> Callback:
    """Shows which epoch the models that judge labels are in."""
    from rich.text import Text

    from glognn.training.callbacks import Callback

    class Shown(Callback):
        def on_train_begin(self, info: dict[str, Any]) -> None:
            self.models = f"{info['members']} models that judge labels they do not see"

        def on_epoch_end(self, metrics: dict[str, float]) -> None:
            status.update(Text(f"Training {self.models}: epoch {metrics['epoch']:.0f} ..."))

    return Shown()
