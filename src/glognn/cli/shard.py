"""``glognn shard``: a graph as a folder of parts, which processes that train together read one each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from glognn.cli.options import MIRROR
from glognn.cli.tables import describe_tables, table_options, with_tables
from glognn.distributed.methods import METHODS
from glognn.errors import InputError


@with_tables
def command(
    tables: dict[str, Any],
    graph: Annotated[
        str,
        typer.Argument(
            help="A dataset by name, a twin (twin:pokec@0.1) or a .npz graph file; left out where --nodes and --edges "
            "name your own tables."
        ),
    ],
    out: Annotated[
        Path | None, typer.Argument(help="Folder to write; shards that lie there are replaced.", show_default=False)
    ] = None,
    parts: Annotated[int, typer.Option("--parts", min=1, help="How many parts.")] = 8,
    partition: Annotated[
        str, typer.Option("--partition", metavar="|".join(METHODS), help="Who owns which nodes.")
    ] = "balanced",
    directed: Annotated[
        bool | None, typer.Option("--directed/--no-directed", help="Keep edges in the direction they are given.")
    ] = None,
    self_loops: Annotated[
        str | None, typer.Option("--self-loops", metavar="keep|remove", help="Edges from a node to itself.")
    ] = None,
    feature_normalization: Annotated[
        str | None,
        typer.Option("--feature-normalization", metavar="none|row|standard|length|auto", help="As of 'glognn train'."),
    ] = None,
    data_mirror: MIRROR = None,
) -> None:
    """Divide a graph into parts.

    The folder is a graph as any other: 'glognn train --dataset OUT', in one process, or with --distributed in as many
    as there are parts or fewer, each of which reads its own alone. The graph is written as it is prepared, so that
    settings of it belong here; those left out are the dataset's own.

    Examples:

      glognn shard graph.npz shards --parts 8

      glognn shard shards --nodes nodes.parquet --edges edges.parquet --id user_id --label is_fraud --parts 8

      torchrun --nproc-per-node 8 -m glognn train --dataset shards --distributed
    """
    from glognn.cli.terminal import Terminal
    from glognn.distributed.partition import Balance
    from glognn.experiments.config import resolve
    from glognn.experiments.distributed import divide, divide_tables

    given = {"directed": directed, "self_loops": self_loops, "feature_normalization": feature_normalization}
    settings = {name: value for name, value in given.items() if value is not None}
    console = Terminal()
    if tables:
        if out is not None:
            raise InputError(f"--nodes and --edges name the graph, and so does '{graph}'. Leave it out.")
        out, options = Path(graph), table_options(tables)
        kept, shards = divide_tables(options, parts, partition, out, settings)
        describe_tables(console, kept, options)
    else:
        if out is None:
            raise InputError(f"Name the graph and the folder to write: glognn shard GRAPH OUT. Got '{graph}' alone.")
        [config] = resolve(["mlp"], None, settings, graph, None)
        shards = divide(config, parts, partition, out, data_mirror)
    console.out(f"Parts: {parts} ({partition}); {Balance.of(shards.sizes).of_each('part')}.")
    console.out(f"Shards: {out}")
