"""``glognn models``: what there is to train, and every setting of it."""

from __future__ import annotations

from typing import Annotated

import typer

from glognn.cli.options import MODEL_NAMES, flag
from glognn.models.configs import MODELS, find_model


def command(
    name: Annotated[
        str | None,
        typer.Argument(help="A model, to see all its settings.", metavar="[MODEL]", autocompletion=MODEL_NAMES),
    ] = None,
    names: Annotated[bool, typer.Option("--names", help="The names alone, one on each line.")] = False,
) -> None:
    """List the models, or explain one with all its settings, allowed values and defaults."""
    if names:
        typer.echo("\n".join(MODELS))
        return
    from rich.table import Table
    from rich.text import Text

    from glognn.cli.terminal import Terminal

    console = Terminal()
    if name is None:
        table = Table("model", "what it does", "from", box=None, pad_edge=False, header_style="bold")
        for config in MODELS.values():
            table.add_row(config.name, config.summary, config.paper)
        console.print(table)
        console.print("\nglognn models MODEL shows a model's settings; glognn train --model MODEL trains it.")
        return
    config = find_model(name)
    console.print(Text.assemble((config.title, "bold"), f": {config.summary} ({config.paper})\n"))
    table = Table("flag", "default", "must be", "what it does", box=None, pad_edge=False, header_style="bold")
    for info in config.infos():
        table.add_row(flag(info.name), str(info.default), info.rule.describe(), info.help)
    console.print(table)
