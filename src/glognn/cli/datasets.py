"""``glognn datasets``: what can be loaded by name, what it is, and whether it is what was published."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glognn.cli.options import DATASET_NAMES, MIRROR
from glognn.data.catalog import DATASETS
from glognn.data.entry import Dataset
from glognn.data.fetch import cache_dir, is_present, mirror_dir
from glognn.data.layout import tables_folder
from glognn.data.sources import Source, find_source
from glognn.errors import GloGNNError, InputError, MissingFileError

if TYPE_CHECKING:
    from glognn.cli.terminal import Terminal
    from glognn.data.statistics import Statistics

GROUPS = {"small": "small, of the paper", "large": "large, of the paper", "beyond": "beyond the paper"}
WIDE = 128
"""Columns of a terminal from which the list shows everything."""
PICTURE_SUFFIXES = (".png", ".svg", ".pdf")


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Datasets to show in full (or twin:NAME, or a .npz file). [dim]Default: list all.[/dim]",
            autocompletion=DATASET_NAMES,
        ),
    ] = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Load every dataset that is on this machine (or those named) and compare it with the catalog.",
        ),
    ] = False,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture",
            help="Where the picture of a dataset goes (.png, .svg or .pdf). "
            "[dim]Default: pictures/NAME.png in the cache.[/dim]",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON instead of tables.")] = False,
    data_mirror: MIRROR = None,
) -> None:
    """List the datasets, show some in full, or verify them.

    Published files are downloaded on first use into the cache (GLOGNN_DATA, else the platform's place for caches) and
    checked every time they are read.

    Examples:

      glognn datasets

      glognn datasets texas --picture texas.svg

      glognn datasets --verify --data-mirror /data/mirror
    """
    from glognn.cli.terminal import Terminal

    console = Terminal()
    mirror = mirror_dir(data_mirror)
    sources = [find_source(name) for name in names or []]
    if picture is not None and (len(sources) != 1 or verify or picture.suffix not in PICTURE_SUFFIXES):
        raise InputError(
            f"--picture takes one dataset and a file ending in {', '.join(PICTURE_SUFFIXES)}. Got '{picture}' instead."
        )
    if verify:
        _verify(console, sources, mirror, as_json)
    elif not sources:
        _list(console, mirror, as_json)
    else:
        for source in sources:
            _show(console, source, mirror, picture, as_json)


def _list(console: Terminal, mirror: Path | None, as_json: bool) -> None:
    from rich.table import Table

    from glognn.cli.terminal import Terminal

    if as_json:
        content = {name: _facts(entry) | {"here": is_present(entry, mirror)} for name, entry in DATASETS.items()}
        typer.echo(json.dumps(content, indent=2))
        return
    wide = not console.is_terminal or console.width >= WIDE
    if not console.is_terminal:
        console = Terminal(width=max(console.width, WIDE))
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("dataset", no_wrap=True)
    for full, short in (
        ("nodes",) * 2,
        ("edges",) * 2,
        ("features", "feat."),
        ("classes", "cls"),
        ("homophily", "hom."),
    ):
        table.add_column(full if wide else short, justify="right", no_wrap=True)
    for heading in ("metric", "splits", "here", *(("from",) if wide else ())):
        table.add_column(heading, no_wrap=True)
    group = ""
    for entry in DATASETS.values():
        if entry.group != group:
            group = entry.group
            table.add_row(GROUPS[group], style="dim")
        expected = entry.expected
        table.add_row(
            entry.name,
            f"{expected.nodes:,}",
            f"{expected.edges:,}{'*' if expected.counted == 'given' else ''}",
            f"{expected.features:,}",
            str(expected.classes),
            "" if expected.homophily is None else f"{expected.homophily:.2f}",
            entry.metric,
            str(entry.num_splits),
            "yes" if is_present(entry, mirror) else "no",
            *((entry.source,) if wide else ()),
        )
    console.print(table)
    twins = ", ".join(name for name, entry in DATASETS.items() if entry.twin)
    notes = [
        "",
        "Edges: undirected, self-loops included; * directed, as published. Homophily: share of same-class edges.",
        f"Generated: pairs; twin:NAME of {twins} (twin:NAME@0.1: a tenth of it).",
        f"Cache: {cache_dir()}",
    ]
    console.out("\n".join(notes + ([f"Mirror: {mirror}"] if mirror else [])))


def _facts(entry: Dataset) -> dict[str, Any]:
    """An entry as plain values."""
    from dataclasses import asdict

    return {
        "group": entry.group,
        "what": entry.what,
        "expected": asdict(entry.expected),
        "metric": entry.metric,
        "splits": entry.splits_rule,
        "preparation": entry.graph.as_dict(),
        "files": {each.path: {"url": each.url, "sha256": each.sha256} for each in entry.all_files},
        "citation": entry.citation,
        "licence": entry.licence,
        "traps": list(entry.traps),
    }


def _show(console: Terminal, source: Source, mirror: Path | None, picture: Path | None, as_json: bool) -> None:
    entry = source.entry if source.kind == "published" else None
    content: dict[str, Any] = {"name": source.name, "kind": source.kind} | (_facts(entry) if entry else {})
    if not as_json:
        _print_facts(console, source, entry)
    try:
        with console.status(f"loading {source.label}"):
            from glognn.data.sources import load_source
            from glognn.data.statistics import measure

            loaded = load_source(source, mirror=mirror)
            found = measure(loaded.data)
    except MissingFileError as error:
        if as_json:
            typer.echo(json.dumps(content | {"measured": None, "reason": str(error)}, indent=2))
        else:
            console.out(f"\nnot measured: {error}")
        return
    from glognn.report.dataset import plot_dataset

    names = _class_names(source)
    path = plot_dataset(source.label, found, picture or cache_dir() / "pictures" / f"{source.label}.png", names)
    if as_json:
        measured = found.record() | {"splits_origin": loaded.splits_origin, "files_read": loaded.files}
        typer.echo(json.dumps(content | {"measured": measured, "picture": str(path)}, indent=2))
        return
    _print_measured(console, found, loaded.splits_origin, names)
    console.out(f"\npicture: {path}\n")


def _rows(console: Terminal, title: str, rows: list[tuple[str, str]]) -> None:
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="dim", min_width=22)
    table.add_column()
    for name, text in rows:
        table.add_row(name, text)
    console.print(table)


def _print_facts(console: Terminal, source: Source, entry: Dataset | None) -> None:
    console.print(source.name, style="bold")
    if entry is None:
        if source.entry is not None:
            console.out(
                f"a generated graph with the sizes of {source.entry.name}; scores on it say nothing about that dataset",
            )
        return
    prepared = ", ".join(f"{name} {str(value).lower()}" for name, value in entry.graph.as_dict().items())
    rows = [
        ("what", entry.what),
        ("metric", entry.metric),
        ("splits", entry.splits_rule),
        ("prepared", f"{prepared} (the paper's choice; flags override it)"),
        ("from", entry.source),
        ("citation", entry.citation),
        ("licence", entry.licence),
        *(("trap", trap) for trap in entry.traps),
    ]
    _rows(console, "", rows)


def _class_names(source: Source) -> Sequence[Any] | None:
    """Of a graph that is kept of a user's tables; others number their classes."""
    folder = tables_folder(Path(source.name)) if source.kind in ("file", "shards") else None
    if folder is None:
        return None
    from glognn.data.table_graph import KeptTables

    return KeptTables.load(folder).classes.names


def _print_measured(
    console: Terminal, found: Statistics, splits_origin: str, names: Sequence[Any] | None = None
) -> None:
    degrees, h = found.degree_summary(), found.homophily
    sizes = [
        f"{name} {low:,}" + (f" to {high:,}" if low != high else "") for name, (low, high) in found.set_sizes.items()
    ]
    labelled = max(sum(found.class_sizes), 1)
    rows = [
        ("nodes", f"{found.nodes:,}, of them {found.isolated:,} isolated, {found.unlabelled:,} unlabelled"),
        (
            "edges",
            f"{found.edges_given:,} published, {found.edges_directed:,} distinct directed, "
            f"{found.edges_undirected:,} distinct undirected (with {found.self_loops:,} self-loops)",
        ),
        (
            "degree",
            f"min {degrees['min']:.0f}, median {degrees['median']:g}, mean {degrees['mean']:.2f}, "
            f"max {degrees['max']:,.0f} (linked nodes)",
        ),
        ("features", f"{found.features:,}, {100 * found.feature_density:.2f} % of the values nonzero"),
        (
            "classes",
            ", ".join(
                f"{number if names is None else names[number]}: {size:,} ({100 * size / labelled:.1f} %)"
                for number, size in enumerate(found.class_sizes)
            ),
        ),
        ("edge homophily", f"{h.edge:.4f} without self-loops, {h.edge_with_loops:.4f} with them (the paper's rule)"),
        ("node homophily", f"{h.node:.4f}"),
        ("class-insensitive", f"{h.class_insensitive:.4f} (LINKX)"),
        ("adjusted", f"{h.adjusted:.4f} (0: links ignore classes)"),
        ("label informativeness", f"{h.label_informativeness:.4f}"),
        (
            "splits",
            f"{found.splits}, {splits_origin}; nodes: {', '.join(sizes)}"
            if sizes
            else "none; training makes random ones",
        ),
        ("fingerprint", found.fingerprint),
    ]
    _rows(console, "\nmeasured", rows)


def _verify(console: Terminal, sources: list[Source], mirror: Path | None, as_json: bool) -> None:
    """One line for each dataset; exit code 1 when one differs."""
    from glognn.data.sources import load_source
    from glognn.data.statistics import differences, measure

    wrong = [source.name for source in sources if source.kind != "published"]
    if wrong:
        raise InputError(f"--verify is for published datasets. Got '{wrong[0]}' instead.")
    chosen = sources or [find_source(name) for name, entry in DATASETS.items() if is_present(entry, mirror)]
    if not chosen:
        raise InputError("No dataset is on this machine to verify: name one to download it, or name a --data-mirror.")
    results: dict[str, Any] = {}
    for source in chosen:
        entry = source.entry
        assert entry is not None
        with console.status(f"verifying {source.name}"):
            loaded = load_source(source, mirror=mirror)
            found = measure(loaded.data)
        wrongs = differences(found, entry.expected)
        given = entry.expected.counted == "given"
        homophily = found.given_homophily if given else found.homophily.edge_with_loops
        published = sum(file.sha256 is not None for file in entry.all_files)
        results[source.name] = {
            "differences": wrongs,
            "files_with_published_checksum": published,
            "files_read": loaded.files,
            "splits_origin": loaded.splits_origin,
        } | found.record()
        if not as_json:
            content = "content equal" if entry.expected.fingerprint else "content not on record"
            console.out(
                f"{'DIFFERENT' if wrongs else 'ok':<10}{source.name:<20}{found.nodes:>9,} nodes "
                f"{found.edges_given if given else found.edges_undirected:>10,} edges {found.features:>6,} features "
                f"{found.classes:>3} classes  homophily {homophily:.2f}  "
                f"{'; '.join(wrongs) if wrongs else content}",
            )
    if as_json:
        typer.echo(json.dumps(results, indent=2))
    else:
        absent = [name for name, entry in DATASETS.items() if not is_present(entry, mirror)] if not sources else []
        if absent:
            console.out(f"not on this machine: {', '.join(absent)}")
    bad = [name for name, result in results.items() if result["differences"]]
    if bad:
        raise GloGNNError(f"{len(bad)} of {len(results)} datasets are not what was published: {', '.join(bad)}.")
