"""``glognn explore``: a trained model and its graph as one page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from glognn.cli.options import MIRROR
from glognn.cli.predict import MODEL, RUN, SPLIT
from glognn.errors import InputError

SECONDS = 60
"""Within which reasons are computed, where nobody says of how many nodes."""


def command(
    run: RUN,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Page to write. [dim]Default: explore.html.[/dim]", show_default=False),
    ] = None,
    reasons: Annotated[
        int | None,
        typer.Option(
            "--reasons",
            min=0,
            help="Nodes whose reasons the page holds: wrongly predicted ones and the closest calls first. "
            "[dim]Default: 200, or as many as are explained within a minute.[/dim]",
            show_default=False,
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, max=100, help="Supporters, and opponents, of each.")] = 10,
    serve: Annotated[
        bool,
        typer.Option("--serve", help="Show it at an address of this machine instead, with the reasons of every node."),
    ] = False,
    port: Annotated[int, typer.Option("--port", "-p", min=0, max=65535, help="Of --serve; 0 takes a free one.")] = 8765,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the layout, and of samples of large graphs.")] = 0,
    model: MODEL = None,
    split: SPLIT = None,
    data_mirror: MIRROR = None,
) -> None:
    """Write one HTML file to look around in: the graph, what was predicted, and why.

    It needs no network and no server, and can be sent to a colleague. Nodes are coloured by label, prediction,
    confidence, error, degree or a column of your table, found by id, filtered, and chosen with a lasso into a CSV file.
    A click on a node shows its prediction, the nodes that speak for and against it as arcs, and what its features add:
    the numbers of 'glognn explain'. Up to 50,000 nodes and 500,000 edges are drawn; of larger graphs a sample is, and
    it is said.

    --serve computes reasons when they are asked for, for every node, drawn or not. It listens on this machine alone and
    ends with Ctrl-C.

    Examples:

      glognn explore runs/fraud

      glognn explore runs/fraud --out fraud.html --reasons 1000

      glognn explore runs/fraud --serve
    """
    from glognn.cli.terminal import Terminal
    from glognn.experiments.explanations import open_explainer
    from glognn.experiments.saved import open_saved
    from glognn.report.exploration import REASONS, Explored, explore_page
    from glognn.report.text import score_text
    from glognn.storage import write_text

    if serve and out is not None:
        raise InputError(f"--serve writes no file. Leave out --out {out}, or --serve.")
    place = Path("explore.html") if out is None else out
    if place.suffix not in (".html", ".htm"):
        raise InputError(f"--out must end in .html. Got '{place}' instead.")
    chosen = open_saved(run, [model] if model else [], split)
    console = Terminal()
    if chosen.why:
        console.out(f"Used: {chosen.why}")
    with console.status("Reading the model and its graph ..."):
        data, _ = chosen.graph(data_mirror)
        explainer = open_explainer(chosen, data_mirror, data)
    words = ["glognn", "explain", str(run)]
    words += [] if model is None else ["--model", model]
    words += [] if split is None else ["--split", str(split)]
    scores = getattr(chosen, "scores", {})
    measured = [
        f"{name} {scores['metric'].replace('_', ' ')} {score_text(scores['metric'], scores[key])}"
        for key, name in (("val", "validation"), ("test", "test"))
        if scores.get(key) is not None
    ]
    found = Explored(
        title=run.resolve().name,
        command=words,
        explainer=explainer,
        data=data,
        tables=chosen.tables,
        splits=chosen.splits,
        score=", ".join(measured),
    )
    done = wanted = 0

    def count(number: int, of: int) -> None:
        nonlocal done, wanted
        done, wanted = number, of
        status.update(f"Explaining node {number:,} of {of:,} ...")

    with console.status("Drawing the graph ...") as status:
        page = explore_page(
            found,
            reasons=REASONS if reasons is None else reasons,
            top=top,
            served=serve,
            seed=seed,
            seconds=SECONDS if reasons is None else None,
            told=count,
        )
    if done < wanted:
        more = "the others are computed when they are asked for" if serve else f"--reasons {wanted} waits, --serve asks"
        console.out(f"Reasons of {done:,} nodes of {wanted:,}: a minute was used up; {more}.")
    if not serve:
        write_text(place, page)
        console.out(f"Page: {place} ({len(page.encode()) / 1e6:.1f} MB)")
        return
    from glognn.report.live import serve_page

    def ready(address: str, _: object) -> None:
        console.out(f"Look at {address} (Ctrl-C ends)")
        sys.stdout.flush()

    try:
        serve_page(page, found, top=top, port=port, ready=ready)
    except KeyboardInterrupt:
        console.out("Ended.")
