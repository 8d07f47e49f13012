"""``glognn serve``: a trained model as a small HTTP service on this machine."""

from __future__ import annotations

import importlib.util
import logging
import sys
from typing import Annotated

import typer

from glognn.cli.options import MIRROR
from glognn.cli.predict import MODEL, RUN, SPLIT, THRESHOLD
from glognn.errors import InputError

_NEEDED = ("fastapi", "uvicorn")


def command(
    run: RUN,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; another than of this machine opens it to others.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65535, help="0 takes a free one, and says it.")
    ] = 8000,
    max_bytes: Annotated[int, typer.Option("--max-bytes", help="Of a request.")] = 4 << 20,
    max_nodes: Annotated[int, typer.Option("--max-nodes", help="In a request.")] = 1000,
    max_requests: Annotated[int, typer.Option("--max-requests", help="Under way at the same time.")] = 32,
    max_seconds: Annotated[float, typer.Option("--max-seconds", help="For a request, its answer included.")] = 30.0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No line for each request.")] = False,
    threshold: THRESHOLD = None,
    model: MODEL = None,
    split: SPLIT = None,
    data_mirror: MIRROR = None,
) -> None:
    """Serve predictions over HTTP: by id, or of new nodes that are posted with their columns and edges.

    The model is read once and stays in memory; what it answers is what 'glognn predict' writes, to the bit. The page /
    of the service describes it and tries it, /openapi.json is for programs. It listens on this machine alone, has no
    password and no encryption, and ends with Ctrl-C or SIGTERM when what is under way is answered. It needs
    [bold]pip install 'glognn\\[serve]'[/bold].

    Examples:

      glognn serve runs/fraud

      curl 'http://127.0.0.1:8000/predict?id=account-7'

      curl http://127.0.0.1:8000/predict/new -H 'Content-Type: application/json' -d @new.json
    """
    if missing := [name for name in _NEEDED if importlib.util.find_spec(name) is None]:
        raise InputError(f"glognn serve needs {' and '.join(missing)}: pip install 'glognn[serve]'.")
    from glognn.cli.terminal import Terminal
    from glognn.experiments.saved import open_saved
    from glognn.serve.held import hold
    from glognn.serve.limits import Limits
    from glognn.serve.scorer import Scorer
    from glognn.serve.server import is_loopback, serve

    limits = Limits(bytes=max_bytes, nodes=max_nodes, requests=max_requests, seconds=max_seconds)
    saved = open_saved(run, [model] if model else [], split).deciding(threshold or "auto", data_mirror)
    console = Terminal()
    if saved.why:
        console.out(f"Used: {saved.why}")
    if told := saved.describe_threshold():
        console.out(told)
    if not is_loopback(host):
        typer.echo(
            f"warning: --host {host} lets everyone who reaches it ask this model: there is no password and no "
            "encryption.",
            err=True,
        )
    scorer = Scorer(hold(saved), data_mirror)
    scorer.warm()
    _log_requests(quiet)

    def ready(address: str) -> None:
        console.out(f"Serving {len(scorer.places):,} known nodes, and new ones: {address} (Ctrl-C ends)")
        sys.stdout.flush()

    serve(scorer, host=host, port=port, limits=limits, ready=ready)
    console.out("Ended.")


def _log_requests(quiet: bool) -> None:
    """A line for each request and each error, with its time, to the error output."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    for name in ("glognn.serve", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.WARNING if quiet or name == "uvicorn" else logging.INFO)
