"""``glognn portfolio``: what ``--model auto`` trains, and how that list is made from runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from glognn.cli.options import MIRROR, help_text

app = typer.Typer(
    help="What [bold]--model auto[/bold] trains: show the list, or build one from runs on graphs of your own.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


def show(
    file: Annotated[
        Path | None, typer.Argument(help="A portfolio file. [dim]Default: the package's.[/dim]", show_default=False)
    ] = None,
) -> None:
    """List the members of a portfolio in their order: name, model, and the settings that are not the defaults.

    Examples:

      glognn portfolio show

      glognn portfolio show mine.toml
    """
    from rich.table import Table

    from glognn.cli.terminal import Terminal
    from glognn.experiments.portfolio import QUALITIES, read_portfolio

    table = Table("", "member", "model", "settings", box=None, header_style="bold")
    for place, member in enumerate(read_portfolio(file), start=1):
        settings = ", ".join(f"{name} {value}" for name, value in member.settings.items())
        table.add_row(str(place), member.name, member.model, settings or "defaults")
    console = Terminal()
    console.print(table)
    sizes = ", ".join(f"{name}: {'all' if size is None else f'the first {size}'}" for name, size in QUALITIES.items())
    console.out(f"\n--quality trains so many of them: {sizes}. With good the others follow where there is time left.")


def build(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Folders of 'glognn train --model auto --quality best', one for each graph."),
    ],
    without: Annotated[
        list[str] | None,
        typer.Option("--without", help="Leave out this graph, on which the portfolio is to be judged; repeat it."),
    ] = None,
    size: Annotated[
        int | None, typer.Option("--members", min=1, help="How many. [dim]Default: all.[/dim]", show_default=False)
    ] = None,
    again: Annotated[
        int,
        typer.Option("--again", min=0, help="How many of the first to list once more, at the end, with another seed."),
    ] = 0,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")] = Path("portfolio.toml"),
    data_mirror: MIRROR = None,
) -> None:
    """Order the members that runs have trained by what they add, over all graphs, to the ensemble of those before.

    What members are worth on a graph is what their ensemble, weighted on validation nodes, scores on test nodes. So a
    portfolio is not to be judged on the graphs it was built from: --without leaves one out. With --again members are
    listed with another seed, too: those that weigh much in an ensemble are trained again where there is time.

    Examples:

      for graph in texas cora squirrel; do glognn train -m auto -d $graph --quality best -o runs/$graph; done

      glognn portfolio build runs/texas runs/cora runs/squirrel --out mine.toml

      glognn train --model auto --portfolio mine.toml --dataset chameleon
    """
    from glognn.cli.terminal import Terminal
    from glognn.errors import InputError
    from glognn.experiments.portfolio import write_portfolio
    from glognn.experiments.portfolio_building import Step, build_portfolio, read_judged

    console, graphs = Terminal(), []
    for folder in runs:
        graph = read_judged(folder, data_mirror)
        left_out = " (left out)" if graph.name in (without or ()) else ""
        console.out(f"{graph.name}: {len(graph.members)} members, {len(graph.splits)} splits{left_out}")
        graphs.append(graph)
    if unknown := set(without or ()) - {graph.name for graph in graphs}:
        raise InputError(f"--without must name a graph of the runs. Got {', '.join(sorted(unknown))} instead.")
    graphs = [graph for graph in graphs if graph.name not in (without or ())]
    console.out("\nmean test score of the ensemble over graphs, %; those with few test nodes count less")
    before = 0.0

    def tell(step: Step) -> None:
        nonlocal before
        gain = f" ({step.worth - before:+.2f})" if before else ""
        console.out(f"{step.worth:7.2f}{gain}  {step.member.name}")
        before = step.worth

    steps = build_portfolio(graphs, size, tell)
    names = ", ".join(graph.name for graph in graphs)
    members = [step.member for step in steps]
    write_portfolio(out, [*members, *(member.again() for member in members[:again])], f"Built from {names}.")
    console.out(f"\nWritten: {out}")


for _command in (show, build):
    app.command(_command.__name__, help=help_text(_command))(_command)
