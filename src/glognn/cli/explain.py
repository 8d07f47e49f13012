"""``glognn explain``: why a trained model predicts what it predicts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from glognn.cli.options import MIRROR
from glognn.cli.predict import MODEL, RUN, SPLIT
from glognn.errors import InputError
from glognn.settings import check_word

FORMATS = ("table", "json", "csv", "parquet")
CHANGES = ("nodes", "edges")


def command(
    run: RUN,
    node: Annotated[
        list[str] | None, typer.Option("--node", "-n", help="Id of a node. May be given several times.")
    ] = None,
    nodes: Annotated[
        Path | None,
        typer.Option("--nodes", help="Table whose first column, or that named as in training, says which nodes."),
    ] = None,
    top: Annotated[int, typer.Option("--top", min=0, help="Supporters, and opponents, that are listed.")] = 20,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            help="Which are listed first: those without which the predicted class over the runner-up would lose most "
            "('loss', to first order), by 'contribution' to it, or by 'coefficient', the signed entry of Z*. "
            "[dim]Default: loss; contribution above 200,000 nodes.[/dim]",
            show_default=False,
        ),
    ] = "",
    through: Annotated[
        str,
        typer.Option("--through", help="Contributions of the 'last' layer, through 'all', or down to the 'inputs'."),
    ] = "last",
    change: Annotated[
        list[str] | None,
        typer.Option("--change", help="Also: which 'nodes' or 'edges' would change it. Runs the model many times."),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format", "-f", help="table, json, csv or parquet. [dim]Default: as --out ends, else table.[/dim]"
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write, instead of the terminal.")] = None,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", help="Picture to write, .png or .svg; of several nodes, a number is put before it."),
    ] = None,
    model: MODEL = None,
    split: SPLIT = None,
    data_mirror: MIRROR = None,
) -> None:
    """Say why nodes are predicted to be of their classes.

    Of GloGNN, GloGNN++ and GloGNN2: every node of the graph, near or far, speaks for or against a prediction, with a
    signed coefficient; listed are those that it hangs on most, what they share with the node, and what they add to the
    score of each class. What all nodes add and the node's own rows add up to the scores. Below: by which hops and
    columns of the embedding, and what the encoder saw in the node's own features and edges. Other models are explained
    by integrated gradients, trees by the paths through them, an ensemble by the weighted sum of its members; it is said
    which.

    Without --node and --nodes: the model as a whole. Which classes speak for which, and nodes that are decided by far
    ones alone.

    Examples:

      glognn explain runs/fraud --node u123 --top 20

      glognn explain runs/fraud --node u123 --picture u123.png --change nodes --change edges

      glognn explain runs/fraud --nodes cases.csv --out reasons.parquet

      glognn explain runs/fraud --node u123 --format json
    """
    from glognn.cli.terminal import Terminal
    from glognn.experiments.explanations import open_explainer
    from glognn.experiments.saved import open_saved

    kind = _format(format, out)
    for each in change or ():
        check_word("--change", each, CHANGES)
    if picture is not None and picture.suffix not in (".png", ".svg"):
        raise InputError(f"--picture must end in .png or .svg. Got '{picture}' instead.")
    chosen = open_saved(run, [model] if model else [], split)
    explainer = open_explainer(chosen, data_mirror)
    console = Terminal()
    if chosen.why and kind == "table":
        console.out(f"Used: {chosen.why}")
    if not node and nodes is None:
        _whole(explainer, console, kind, out)
        return
    wanted = _wanted(node or [], nodes, chosen, explainer)
    found = []
    with console.status("Explaining ...") as status:
        for number, asked in enumerate(wanted):
            status.update(f"Explaining node {number + 1:,} of {len(wanted):,} ...")
            found.append(explainer.explain(asked, top=top, through=through, by=by or None, changes=change or []))
    try:
        _write(found, kind, out, console)
        if picture is not None:
            from glognn.report.explanation import plot_explanation

            for number, explanation in enumerate(found):
                place = picture if len(found) == 1 else picture.with_name(f"{number}-{picture.name}")
                console.out(f"Picture: {plot_explanation(explanation, place)}")
    except OSError as error:
        raise InputError(str(error)) from None


def _format(format: str | None, out: Path | None) -> str:
    if format is None:
        kind = "table" if out is None else out.suffix.removeprefix(".").replace("pq", "parquet")
        if kind not in (*FORMATS, "tsv", "feather"):
            raise InputError(f"--out must end in .json, .csv, .tsv, .parquet or .feather. Got '{out}' instead.")
        return kind
    check_word("--format", format, FORMATS)
    if format == "parquet" and out is None:
        raise InputError("--format parquet is for a file: give --out FILE.")
    if format == "table" and out is not None:
        raise InputError(f"--format table is for the terminal. Leave out --out {out}, or take another format.")
    return format


def _wanted(node: list[str], nodes: Path | None, saved: Any, explainer: Any) -> list[int]:
    """Numbers of the nodes that were asked for by id."""
    import numpy as np
    import pyarrow as pa

    from glognn.data.table_graph import find_nodes

    ids = pa.array(np.arange(explainer.graph.num_nodes)) if saved.tables is None else saved.tables.ids
    found: list[int] = []
    if node:
        found += find_nodes(pa.array(node), ids, "--node").tolist()
    if nodes is not None:
        usual = "node" if saved.tables is None else saved.tables.id_column
        found += saved.read_nodes(nodes, ids, usual, "--nodes").tolist()
    return list(dict.fromkeys(found))


def _write(found: list[Any], kind: str, out: Path | None, console: Any) -> None:
    import json

    from glognn.report.explanation import flat_table

    if kind == "table":
        for each in found:
            _show(each, console)
        return
    if kind == "json":
        content = [each.as_dict() for each in found]
        if out is None:
            typer.echo(json.dumps(content, indent=2, allow_nan=False))
            return
        from glognn.storage import write_json

        write_json(out, content)
    elif out is None:
        import io

        from pyarrow import csv

        from glognn.cli.terminal import write_lines

        text = io.BytesIO()
        csv.write_csv(flat_table(found), text)
        write_lines(text.getvalue().decode())
        return
    else:
        from glognn.data.tables import write_table

        write_table(flat_table(found), out)
    console.out(f"{len(found):,} explanations: {out}")


def _show(found: Any, console: Any) -> None:
    from glognn.report.explanation import change_text, headline, how, input_table, node_table, way_table

    console.out(f"{headline(found)}\n{how(found)}\n")
    console.print(node_table(found))
    if found.ways:
        console.out("\nHow nodes came to speak for it:")
        console.print(way_table(found))
    if found.inputs:
        console.out(f"\nWhat its own inputs add to its {found.inputs_to} ({found.inputs_method}):")
        console.print(input_table(found))
    for change in found.changes:
        console.out(f"\n{change_text(found, change)}")
    console.out("")


def _whole(explainer: Any, console: Any, kind: str, out: Path | None) -> None:
    """The model as a whole."""
    import json

    from glognn.explain.whole_model import describe
    from glognn.report.explanation import class_table, far_table
    from glognn.storage import write_json

    found = describe(explainer)
    if kind == "json":
        if out is None:
            typer.echo(json.dumps(found, indent=2, allow_nan=False))
        else:
            write_json(out, found)
            console.out(f"The model: {out}")
        return
    if kind != "table":
        raise InputError(f"The model as a whole is told as a table or as json. Got {kind}: name nodes with --node.")
    console.out(f"{found['model']}: which classes speak for which (rows are spoken for), mean coefficient of Z*\n")
    console.print(class_table(found))
    if found["grouping"] is not None:
        console.out(f"\nGrouping contrast: {found['grouping']['contrast']:.3f} (0: a class is no more for its own)")
    far = found["far"]
    console.out(
        f"\n{len(far['nodes'])} of {far['looked_at']:,} nodes looked at would be of another class without nodes more "
        f"than {far['near']} hops away"
    )
    if far["nodes"]:
        console.print(far_table(found))
