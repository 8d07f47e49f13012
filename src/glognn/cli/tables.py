"""What commands say about a user's own tables: their flags, and the summary that comes first."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glognn.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from glognn.data.table_graph import KeptTables, TableOptions
    from glognn.experiments.config import RunConfig

_PANEL = "Your own tables"
_SHOWN = 12
_IMBALANCED, _RARE, _DENSE, _FEW_LABELS = 3.0, 0.1, 20.0, 20


def _option(*names: str, help: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=_PANEL, show_default=False, **more)


Nodes = Annotated[
    Path | None, _option("--nodes", help="Table of nodes: .csv, .tsv (also .gz), .parquet or .feather, a row for each.")
]
EdgeTable = Annotated[Path | None, _option("--edges", help="Table of edges, in the same formats, a row for each.")]
UnknownEdges = Annotated[
    str | None,
    _option("--unknown-edges", help="Edges to ids that no table of nodes has: 'error' [dim](default)[/dim] or 'drop'."),
]


def _flags(
    nodes: Nodes = None,
    edges: EdgeTable = None,
    id: Annotated[str | None, _option("--id", help="Column of node ids. [dim]Default: the first.[/dim]")] = None,
    label: Annotated[str | None, _option("--label", help="Column of classes; empty ones are to be predicted.")] = None,
    source: Annotated[
        str | None, _option("--source", help="Column of the edges' first ends. [dim]Default: the first.[/dim]")
    ] = None,
    target: Annotated[
        str | None, _option("--target", help="Column of their other ends. [dim]Default: the second.[/dim]")
    ] = None,
    edge_weight: Annotated[
        str | None, _option("--edge-weight", help="Column of edge weights. [dim]Default: none.[/dim]")
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


def make_graph(options: TableOptions, folder: Path, *, quiet: bool) -> str:
    """Read tables, say what they hold, and write the graph made of them into a run folder; its path."""
    from rich.console import Console

    from glognn.data.table_graph import KeptTables, graph_from_tables
    from glognn.experiments.folder import check_free, held

    check_free(folder)
    tables, data = graph_from_tables(options)
    with held(folder):
        if (folder / "tune").is_dir() and KeptTables.load(folder).read != tables.read:
            raise InputError(f"'{folder}' holds a search on other tables or columns: choose another --out.")
        path = tables.save(folder, data)
    if not quiet:
        _describe(Console(), tables, options)
    return str(path.resolve())


def _describe(console: Console, tables: KeptTables, options: TableOptions) -> None:
    from rich.table import Table

    read, encoding = tables.read, tables.encoding
    ends = f"'{tables.edge_columns['source']}' -> '{tables.edge_columns['target']}'"
    weight = f", weights '{options.edge_weight}'" if options.edge_weight else ""
    lines = [
        f"{options.nodes}: {read['nodes']:,} nodes, ids '{tables.id_column}'",
        f"{options.edges}: {read['edges']:,} edges, {ends}{weight}; "
        f"{read['unknown_edges_dropped']:,} to unknown ids dropped",
    ]
    left_out = dict.fromkeys(read["columns_left_out"], "as asked") | dict(encoding.dropped)
    if left_out:
        lines.append("columns left out: " + ", ".join(f"{name} ({why})" for name, why in left_out.items()))
    console.out("\n".join(lines), highlight=False)
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("column", "kind", "features", "of them"):
        shown.add_column(heading)
    for column in encoding.columns[:_SHOWN]:
        parts = [f"{len(column.values)} values"] * (column.kind == "category")
        parts += ["other"] * column.other + ["missing"] * column.missing
        shown.add_row(column.name, column.kind, str(len(column.features)), ", ".join(parts))
    if more := encoding.columns[_SHOWN:]:
        shown.add_row(f"{len(more):,} more", ", ".join(sorted({column.kind for column in more})),
                      str(sum(len(column.features) for column in more)), "")  # fmt: skip
    console.print(shown)
    balance = sorted(zip(read["class_sizes"], tables.classes.names, strict=True), key=lambda each: -each[0])
    total = sum(read["class_sizes"])
    named = ", ".join(f"{name} {size:,} ({100 * size / total:.1f} %)" for size, name in balance[:_SHOWN])
    console.out(
        f"'{tables.label_column}': {named}{' ...' if len(balance) > _SHOWN else ''}; "
        f"{read['unlabelled']:,} without a label, to be predicted\n"
        f"sets: {read['splits']}\n",
        highlight=False,
    )


def advise(console: Console, folder: Path, facts: dict[str, Any], config: RunConfig) -> None:
    """Settings that the graph of a user's tables suggests and that were not chosen."""
    from glognn.data.table_graph import KeptTables

    sizes = sorted(KeptTables.load(folder).read["class_sizes"])
    advice = []
    if sizes[-1] > _IMBALANCED * sizes[0] and config.training.metric == "accuracy":
        rare = sizes[0] < _RARE * sum(sizes)
        metric = "macro_f1" if len(sizes) > 2 else "average_precision" if rare else "roc_auc"
        advice.append(f"classes are imbalanced: --metric {metric} --class-weight balanced")
    homophily = facts["edge_homophily"]
    if homophily is not None and homophily < 0.5 and not config.model.name.startswith("glognn"):
        advice.append(f"linked nodes differ (edge homophily {homophily:.2f}): --model glognn++")
    elif homophily is not None and homophily > 0.8:
        advice.append(f"linked nodes are alike (edge homophily {homophily:.2f}): compare with --model gcn")
    entries, edges = facts["num_entries"], facts["edges"]
    if 2.2 * edges["reverse_added"] > entries and not config.graph.directed and config.model.name != "dirgnn":
        advice.append("edges go one way in the table: if that means something, try --model dirgnn or --directed")
    dense = entries > _DENSE * facts["num_nodes"]
    if dense and getattr(config.model, "normalization", "none") != "none":
        advice.append(f"the graph is dense ({entries / facts['num_nodes']:.0f} links a node): try --normalization none")
    if sizes[0] < _FEW_LABELS:
        advice.append(
            f"the smallest class has {sizes[0]} labels: --random-splits 5 shows how far scores can be trusted"
        )
    if not (folder / "tune").is_dir():
        advice.append("settings of this graph: --tune 50")
    console.out("Worth trying:\n" + "\n".join(f"  {each}" for each in advice) + "\n", highlight=False)
