"""A user's own tables on the command line: their flags, and the summary of tables and graph that comes first."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glognn.data.layout import tables_folder
from glognn.data.sources import find_source
from glognn.errors import InputError
from glognn.graph.config import SCALED_FEATURES

if TYPE_CHECKING:
    from glognn.cli.terminal import Terminal
    from glognn.data.table_graph import KeptTables, TableOptions

_PANEL = "Your own tables"
_SHOWN = 12


def _option(*names: str, help: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=_PANEL, show_default=False, **more)


Nodes = Annotated[
    Path | None, _option("--nodes", help="Table of nodes: .csv, .tsv (also .gz), .parquet or .feather, a row for each.")
]
EdgeTables = Annotated[
    list[Path] | None,
    _option("--edges", help="Table of edges, in the same formats, a row for each; repeat it to add several up."),
]
UnknownEdges = Annotated[
    str | None,
    _option("--unknown-edges", help="Edges to ids that no table of nodes has: 'error' [dim](default)[/dim] or 'drop'."),
]


def _flags(
    nodes: Nodes = None,
    edges: EdgeTables = None,
    id: Annotated[
        str | None,
        _option(
            "--id",
            help="Column of node ids, which count as written: 7 is not 007 or 7.0. [dim]Default: the first.[/dim]",
        ),
    ] = None,
    label: Annotated[
        str | None,
        _option("--label", help="Column of classes, which count as written; empty ones are to be predicted."),
    ] = None,
    source: Annotated[
        str | None, _option("--source", help="Column of the edges' first ends. [dim]Default: the first.[/dim]")
    ] = None,
    target: Annotated[
        str | None, _option("--target", help="Column of their other ends. [dim]Default: the second.[/dim]")
    ] = None,
    edge_weight: Annotated[
        list[str] | None,
        _option("--edge-weight", help="Column of edge weights; repeat it to add several up. [dim]Default: none.[/dim]"),
    ] = None,
    unknown_edges: UnknownEdges = None,
    split_column: Annotated[
        str | None,
        _option("--split-column", help="Column of sets: train, val, test or empty. [dim]Default: random.[/dim]"),
    ] = None,
    random_splits: Annotated[
        int | None,
        _option("--random-splits", min=1, max=1000, help="Number of stratified random splits. [dim]Default: 1.[/dim]"),
    ] = None,
    fractions: Annotated[
        str | None,
        _option(
            "--fractions",
            help="Their shares of train, val and test nodes, as in 60/20/20. [dim]Default: 50/25/25.[/dim]",
        ),
    ] = None,
    split_seed: Annotated[int | None, _option("--split-seed", min=0, help="Their seed. [dim]Default: 0.[/dim]")] = None,
    drop_columns: Annotated[
        list[str] | None, _option("--drop-columns", help="Columns that are no features: 'a,b', or repeat it.")
    ] = None,
    category_columns: Annotated[
        list[str] | None, _option("--category-columns", help="Columns of categories that look like something else.")
    ] = None,
    rare_share: Annotated[
        float | None,
        _option(
            "--rare-share", help="Categories in a smaller share of the rows are one, 'other'. [dim]Default: 0.01.[/dim]"
        ),
    ] = None,
    separator: Annotated[
        str | None,
        _option("--separator", help="Sign between columns of text files, or 'tab'. [dim]Default: as found.[/dim]"),
    ] = None,
    decimal: Annotated[
        str | None, _option("--decimal", help="Decimal sign in text files: . or ,  [dim]Default: as found.[/dim]")
    ] = None,
) -> None:
    pass


def with_tables(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the flags of tables; those that were used arrive as its ``tables``."""
    own = inspect.signature(function, eval_str=True).parameters.values()
    flags = inspect.signature(_flags, eval_str=True).parameters.values()
    names = [flag.name for flag in flags]

    def command(**values: Any) -> None:
        given = {name: values.pop(name) for name in names}
        function(tables={name: value for name, value in given.items() if value not in (None, [])}, **values)

    kept = [each for each in own if each.name != "tables" and each.kind is not each.VAR_KEYWORD]
    rest = [each for each in own if each.kind is each.VAR_KEYWORD]
    extra = [flag.replace(kind=flag.KEYWORD_ONLY) for flag in flags]
    command.__doc__ = function.__doc__
    command.__signature__ = inspect.Signature([*kept, *extra, *rest])  # type: ignore[attr-defined]
    return command


def table_options(given: dict[str, Any]) -> TableOptions:
    """The flags of a command, complete."""
    from glognn.data.table_graph import TableOptions

    for name in ("nodes", "edges", "label"):
        if name not in given:
            raise InputError(
                f"Your own tables need --nodes FILE, --edges FILE and --label COLUMN. --{name} is missing."
            )
    return TableOptions(**given)


def describe_tables(console: Terminal, tables: KeptTables, options: TableOptions) -> None:
    """What was read of a user's tables, and as what."""
    from rich.table import Table

    from glognn.data.tables import column_names

    read, encoding = tables.read, tables.encoding
    lines = [f"{options.nodes}: {read['nodes']:,} nodes, ids '{tables.id_column}'{_signs(read, options.node_table)}"]
    several = len(tables.edge_columns) > 1
    for path, columns, count in zip(options.edge_tables, tables.edge_columns, read["edges_of"], strict=True):
        named = " + ".join(f"'{name}'" for name in columns.weights)
        scaled = " (each divided by its mean)" if columns.means and columns.means != (1.0,) else ""
        weights = f", weights {named}{scaled}" if named else ""
        used = {columns.source, columns.target, *columns.weights}
        unread = [f"'{name}'" for name in column_names(path, tables.dialect) if name not in used]
        parts = [f"{path}: {count:,} edges, '{columns.source}' -> '{columns.target}'{weights}{_signs(read, path)}"]
        if unread:
            hint = "" if columns.weights else " (--edge-weight takes columns of weights)"
            parts.append(f"not read: {', '.join(unread[:_SHOWN])}{' ...' if len(unread) > _SHOWN else ''}{hint}")
        if not several:
            parts.append(f"{read['unknown_edges_dropped']:,} to unknown ids dropped")
        lines.append("; ".join(parts))
    if several:
        lines.append(
            f"all {read['edges']:,} edges are added up: one that is in two tables has the weight of both; "
            f"{read['unknown_edges_dropped']:,} to unknown ids dropped"
        )
    left_out = dict.fromkeys(read["columns_left_out"], "as asked") | dict(encoding.dropped)
    if left_out:
        lines.append("columns left out: " + ", ".join(f"{name} ({why})" for name, why in left_out.items()))
    if encoding.reads_edges:
        lines.append("no column to learn from: a node's features are its numbers of edges")
    console.out("\n".join(lines))
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("column", "kind", "features", "what was done"):
        shown.add_column(heading)
    for column in encoding.columns[:_SHOWN]:
        shown.add_row(column.name, column.kind, str(len(column.features)), column.done)
    alike = Counter((column.kind, column.done) for column in encoding.columns[_SHOWN:])
    sizes = Counter[tuple[str, str]]()
    for column in encoding.columns[_SHOWN:]:
        sizes[column.kind, column.done] += len(column.features)
    for (kind, done), count in alike.most_common(_SHOWN):
        shown.add_row(f"{count:,} more", kind, f"{sizes[kind, done]:,}", done)
    if len(alike) > _SHOWN:
        shown.add_row("...")
    console.print(shown)
    balance = sorted(zip(read["class_sizes"], tables.classes.names, strict=True), key=lambda each: -each[0])
    total = sum(read["class_sizes"])
    named = ", ".join(f"{name} {size:,} ({100 * size / total:.1f} %)" for size, name in balance[:_SHOWN])
    console.out(
        f"'{tables.label_column}': {named}{' ...' if len(balance) > _SHOWN else ''}; "
        f"{read['unlabelled']:,} without a label, to be predicted\n"
        f"sets: {read['splits']}\n",
    )


def _signs(read: dict[str, Any], path: object) -> str:
    """How a text file is written, where that is not as usual."""
    separator, decimal = read["signs"].get(str(path), (",", "."))
    parts = [f"separator {separator!r}"] * (separator not in ",\t") + [f"decimal sign {decimal!r}"] * (decimal != ".")
    return f" ({', '.join(parts)})" if parts else ""


def describe_graph(facts: dict[str, Any]) -> str:
    """What a graph is that models are about to be trained on; where it is of tables, these have told of the sets."""
    edges = facts["edges"]
    splits = f"splits: {facts['num_splits']}, {facts['splits_origin']}\n"
    scaled = facts.get("feature_normalization", "none")  # which came later
    features = "" if scaled == "none" else f"features: {SCALED_FEATURES[scaled]} (--feature-normalization)\n"
    return (
        f"{find_source(facts['dataset']).label}: {facts['num_nodes']:,} nodes, {facts['num_entries']:,} adjacency "
        f"entries, {facts['num_features']:,} features, {facts['num_classes']} classes, "
        f"{facts['num_isolated']:,} isolated nodes\n"
        f"edges: {edges['given']:,} given, {edges['duplicates_merged']:,} repeated ones merged, "
        f"{edges['reverse_added']:,} reverse ones added, {edges['self_loops_kept']:,} self-loops kept, "
        f"{edges['self_loops_removed']:,} removed\n{features}"
        + ("" if tables_folder(Path(facts["dataset"])) else splits)
    )
