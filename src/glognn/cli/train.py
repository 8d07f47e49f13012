"""``glognn train``: one or several models on the splits of a graph, into a run folder."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glognn.cli.options import MIRROR, with_settings
from glognn.cli.tables import advise, make_graph, table_options, with_tables
from glognn.cli.tune import search_settings
from glognn.data.layout import TABLES
from glognn.data.sources import find_source
from glognn.errors import InputError, MemoryExhaustedError
from glognn.experiments.config import RunConfig, resolve
from glognn.models.configs import MODELS

if TYPE_CHECKING:
    from rich.console import Console

    from glognn.experiments.folder import Report
    from glognn.experiments.run import LoadedGraph


@with_settings
@with_tables
def command(
    tables: dict[str, Any],
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset",
            "-d",
            help="A dataset by name ('glognn datasets' lists them), a twin (twin:pokec@0.1) or a .npz graph file. "
            "[dim]Default: pairs, which is generated.[/dim]",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help=f"Model to train ({', '.join(MODELS)}); repeat it to compare several. [dim]Default: glognn++.[/dim]",
        ),
    ] = None,
    splits: Annotated[
        str | None,
        typer.Option("--splits", "--split", "-s", help="'all', '3', '0,2,5' or '0-4'. [dim]Default: all.[/dim]"),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            "--config",
            "-c",
            help="Settings file (TOML), or published:NAME for the authors' settings, as in published:texas. "
            "Flags override the file.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Run folder. [dim]Default: runs/<time>-<dataset>.[/dim]")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", help="Go on with an interrupted run in this folder; takes no other settings."),
    ] = None,
    tune: Annotated[
        int | None,
        typer.Option(
            "--tune", min=1, help="First search settings in this many trials (see 'glognn tune'), then train."
        ),
    ] = None,
    data_mirror: MIRROR = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show only the result.")] = False,
    **settings: Any,
) -> None:
    """Train and evaluate.

    Without options: GloGNN++ on an embedded graph, five splits. Everything is kept in a run folder: config.toml
    (complete settings), report.json (scores, time, versions, machine), curve.csv, model.safetensors and curve.png.

    Examples:

      glognn train --model glognn++ --model glognn --model mlp

      glognn train --dataset squirrel --split 3

      glognn train --config published:chameleon --splits all

      glognn train --dataset graph.npz --alpha 0.3 --num-hops 3 --splits 0 --out runs/mine

      glognn train --edges edges.csv --nodes nodes.parquet --id user_id --label is_fraud --out runs/fraud

      glognn train --resume runs/mine

    A run on your own tables keeps the graph made of them: go on with 'glognn predict runs/fraud'.
    """
    chosen = {"dataset": dataset, "model": model, "splits": splits, "config": config, "out": out, "tune": tune}
    if resume is not None:
        extra = [name for name, value in {**chosen, **tables, **settings}.items() if value]
        if extra:
            raise InputError(
                f"--resume takes its settings from the run folder. Leave out --{extra[0].replace('_', '-')}."
            )
        _train(None, resume, data_mirror, quiet)
        return
    if tune and config is not None:
        raise InputError("--tune searches for the settings that --config gives. Leave out one of them.")
    if tables and dataset is not None:
        raise InputError(f"--dataset names a graph, and so do your tables. Leave out --dataset {dataset}.")
    options = table_options(tables) if tables else None
    configs = resolve(model or [], config, settings, dataset, splits)
    label = find_source(configs[0].dataset).label if options is None else options.nodes.name.partition(".")[0]
    folder = out or Path("runs") / f"{datetime.now():%Y%m%d-%H%M%S}-{label}"
    if options is not None:
        dataset = make_graph(options, folder, quiet=quiet)
        configs = resolve(model or [], config, settings, dataset, splits)
    if tune:
        configs = [search_settings(folder / "tune", each, settings, tune, data_mirror) for each in configs]
    _train(configs, folder, data_mirror, quiet)


def _train(configs: list[RunConfig] | None, folder: Path, mirror: Path | None, quiet: bool) -> None:
    """Train what ``configs`` say in a new folder, or go on with what the folder holds."""
    from rich.console import Console

    from glognn.experiments.folder import check_free, find_runs, held, start_runs

    console = Console()
    if configs is None:
        find_runs(folder)
        with held(folder):
            runs = find_runs(folder)
            _run(console, folder, runs, _graphs([config for _, config in runs], mirror), quiet=quiet, new=False)
        return
    check_free(folder)
    graphs = _graphs(configs, mirror)
    with held(folder):
        _run(console, folder, start_runs(folder, configs), graphs, quiet=quiet, new=True)


def _graphs(planned: list[RunConfig], mirror: Path | None) -> list[LoadedGraph]:
    """The graph of each run, once it is sure that all of them can be trained."""
    from glognn.experiments.config import parse_splits
    from glognn.experiments.run import load_graph
    from glognn.training.preflight import check_memory

    loaded: dict[tuple[object, ...], LoadedGraph] = {}
    for each in planned:
        key = (each.dataset, each.graph, each.training.dtype)
        if key not in loaded:
            loaded[key] = load_graph(each, mirror)
        graph = loaded[key].graph
        each.model.check_graph(has_features=graph.x is not None)
        for split in parse_splits(each.splits, graph.num_splits):
            graph.check_trainable(split)
        check_memory(each.model, graph, each.training)
    return [loaded[each.dataset, each.graph, each.training.dtype] for each in planned]


def _run(
    console: Console,
    folder: Path,
    runs: list[tuple[Path, RunConfig]],
    graphs: list[LoadedGraph],
    *,
    quiet: bool,
    new: bool,
) -> None:
    from glognn.cli.progress import TrainingProgress
    from glognn.experiments.config import parse_splits
    from glognn.experiments.run import run_splits
    from glognn.report.curves import plot_curves
    from glognn.report.summary import summary_table

    if not quiet:
        _describe(console, graphs[0])
        if new and (folder / TABLES).is_file():
            advise(console, folder, graphs[0].facts, runs[0][1])
    pairs = list(zip(runs, graphs, strict=True))
    total = sum(len(parse_splits(each.splits, graph.graph.num_splits)) for (_, each), graph in pairs)
    reports: list[Report] = []
    try:
        with TrainingProgress(console, total, quiet=quiet) as progress:
            for (child, each), graph in pairs:
                reports.append(
                    run_splits(child, each, graph, [progress], lambda report: progress.run_done(_line(report)))
                )
    except (KeyboardInterrupt, OSError, MemoryExhaustedError) as error:
        word = "Interrupted" if isinstance(error, KeyboardInterrupt) else "Stopped"
        console.out(f"{word}. Go on with: glognn train --resume {folder}", highlight=False)
        raise
    plot_curves(folder, [child for child, _ in runs])
    console.print()
    console.print(summary_table(reports))
    console.out(f"\nRun folder: {folder}", highlight=False)


def _describe(console: Console, loaded: LoadedGraph) -> None:
    facts, edges = loaded.facts, loaded.facts["edges"]
    homophily = facts["edge_homophily"]
    known = "unknown" if homophily is None else f"{homophily:.2f}"
    lines = [
        f"{find_source(facts['dataset']).label}: {facts['num_nodes']:,} nodes, {facts['num_entries']:,} adjacency "
        "entries, "
        f"{facts['num_features']:,} features, {facts['num_classes']} classes, edge homophily {known}, "
        f"{facts['num_isolated']:,} isolated nodes",
        f"edges: {edges['given']:,} given, {edges['duplicates_merged']:,} repeated ones merged, "
        f"{edges['reverse_added']:,} reverse ones added, {edges['self_loops_kept']:,} self-loops kept, "
        f"{edges['self_loops_removed']:,} removed",
        f"splits: {facts['num_splits']}, {facts['splits_origin']}\n",
    ]
    console.out("\n".join(lines), highlight=False)


def _line(report: Report) -> str:
    selected = report["scores"]["selected"]
    return (
        f"  {report['config']['model']['name']}, split {report['split']}: test {report['metric']} "
        f"{100 * selected['test']:.2f} % (validation {100 * selected['val']:.2f} %, epoch {selected['epoch']} of "
        f"{report['scores']['last']['epoch']}, {report['seconds']:.1f} s)"
    )
