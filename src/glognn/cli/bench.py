"""``glognn bench``: our speed against the released method's and that of PyTorch Geometric's networks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glognn.bench.config import METHODS, OTHERS, BenchConfig, chosen_datasets, chosen_methods
from glognn.cli.options import MIRROR
from glognn.data.fetch import mirror_dir
from glognn.data.sources import find_source
from glognn.errors import InputError
from glognn.report.text import visible
from glognn.settings import SettingInfo

if TYPE_CHECKING:
    from glognn.bench.records import Record
    from glognn.cli.terminal import Terminal

_INFOS: dict[str, SettingInfo] = {info.name: info for info in BenchConfig.infos()}
_QUIET_PROFILER = {"KINETO_LOG_LEVEL": "99"}


def _help(name: str) -> str:
    return _INFOS[name].help


def command(
    datasets: Annotated[
        str,
        typer.Argument(
            help="Datasets by name, twins (twin:pokec@0.1) or .npz graph files, with commas between them.",
        ),
    ] = "pairs",
    models: Annotated[
        str | None,
        typer.Option(
            "--models", help=f"What to time; also {', '.join(OTHERS)}. [dim]Default: {','.join(METHODS)}.[/dim]"
        ),
    ] = None,
    splits: Annotated[int, typer.Option("--splits", help=_help("splits"))] = _INFOS["splits"].default,
    repeats: Annotated[int, typer.Option("--repeats", help=_help("repeats"))] = _INFOS["repeats"].default,
    epochs: Annotated[int, typer.Option("--epochs", help=_help("epochs"))] = _INFOS["epochs"].default,
    threads: Annotated[int, typer.Option("--threads", help=_help("threads"))] = _INFOS["threads"].default,
    device: Annotated[str, typer.Option("--device", metavar="cpu|cuda", help=_help("device"))] = _INFOS[
        "device"
    ].default,
    memory: Annotated[bool, typer.Option("--memory/--no-memory", help=_help("memory"))] = _INFOS["memory"].default,
    profile: Annotated[bool, typer.Option("--profile", help=_help("profile"))] = _INFOS["profile"].default,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Keep everything measured in this file, as JSON.")
    ] = None,
    data_mirror: MIRROR = None,
) -> None:
    """Time training: ours, the method as it was released, and PyTorch Geometric's LINKX, GCN, SGFormer and Polynormer.

    All run in one process on the same graph at the same hidden size, each with the inputs that it is fastest with, and
    take turns round after round; the table gives medians. An epoch is one training step and an evaluation of all nodes
    with the scores of train, val and test. 'of floor' is the least time in which a machine that copies and multiplies
    as fast as this one could do GloGNN's epoch, as a share of the time measured; docs/performance.md says what it
    counts.

    Times are those of your machine at this moment: let nothing else run on it.

    Examples:

      glognn bench

      glognn bench texas,cora,chameleon,squirrel --out bench.json

      glognn bench squirrel --models glognn,released --profile

      glognn bench twin:pokec --device cuda --splits 1
    """
    from glognn.cli.terminal import Terminal

    chosen, names = chosen_methods(models), chosen_datasets(datasets)
    config = BenchConfig(
        repeats=repeats,
        epochs=epochs,
        splits=splits,
        threads=threads,
        device=device,
        memory=memory,
        profile=profile,
    )
    if out is not None and out.is_dir():
        raise InputError(f"--out must be a file. Got the folder '{out}' instead.")
    mirror = mirror_dir(data_mirror)
    os.environ |= {name: value for name, value in _QUIET_PROFILER.items() if name not in os.environ}
    console = Terminal()
    _show(console, _run(console, names, chosen, config, mirror, out))
    if out is not None:
        console.out(f"Record: {out}")


def _run(
    console: Terminal, names: list[str], chosen: list[str], config: BenchConfig, mirror: Path | None, out: Path | None
) -> Record:
    from glognn.bench.suite import num_steps, run_bench
    from glognn.cli.progress import counting

    with counting(console, "steps") as progress:
        task = progress.add_task("", total=len(names) * num_steps(chosen, config), note="")
        begun: list[str] = []

        def tell(dataset: str, what: str) -> None:
            if not console.is_terminal and dataset not in begun:
                console.out(f"{find_source(dataset).label}: timing {', '.join(chosen)}")
            progress.update(task, advance=1 if begun else 0, note=visible(f"{dataset}, {what}"))
            begun.append(dataset)

        record = run_bench(names, chosen, config, mirror, out, tell)
        progress.update(task, completed=len(names) * num_steps(chosen, config), note="")
    return record


def _show(console: Terminal, record: Record) -> None:
    from glognn.report.bench import bench_table, full_table, notes, profile_tables
    from glognn.report.markdown import table_markdown

    for table in profile_tables(record):
        console.print(table)
        console.print()
    if console.is_terminal:
        console.print(bench_table(record))
    else:
        typer.echo(table_markdown(full_table(record)), nl=False)
    for line in notes(record):
        console.out(line)
