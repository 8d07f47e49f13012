"""``train_tables``: from a table of nodes and a table of edges to a run folder. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glognn.errors import InputError
from glognn.experiments.auto import MODEL_NAME, AutoResult, auto, means_auto
from glognn.experiments.plan import split_names
from glognn.experiments.progress import Progress
from glognn.experiments.train import TrainedModels, train_models

if TYPE_CHECKING:
    from pandas import DataFrame

    Table = str | Path | DataFrame


def train_tables(
    nodes: Table,
    edges: Table | Sequence[Table],
    label: str,
    *,
    id: str | None = None,
    source: str | None = None,
    target: str | None = None,
    edge_weight: str | Sequence[str] | None = None,
    unknown_edges: str = "error",
    split_column: str | None = None,
    random_splits: int | None = None,
    fractions: str | None = None,
    split_seed: int = 0,
    drop_columns: Sequence[str] = (),
    category_columns: Sequence[str] = (),
    rare_share: float | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    model: str | Sequence[str] = (),
    time_limit: float | None = None,
    quality: str | None = None,
    folds: int | None = None,
    portfolio: str | Path | None = None,
    splits: str | None = None,
    config: str | Path | None = None,
    tune: int | None = None,
    workers: int | None = None,
    refit: bool = False,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> TrainedModels | AutoResult:
    """Train on your own tables and keep everything in a run folder, as ``glognn train --nodes ... --edges ...`` does.

    Without a model, a portfolio of them is trained within a time limit, see :func:`~glognn.auto`; ``folder`` of what is
    returned is what ``glognn predict`` and :func:`~glognn.load_model` open.

    Args:
        nodes: Table of nodes, a file (.csv, .tsv, .parquet, .feather) or a frame, with a row for each.
        edges: Table of edges, or several, which are added up.
        label: Column of classes; empty ones are to be predicted.
        id: Column of node ids; by default the first.
        source: Column of the edges' first ends; by default the first.
        target: Column of their other ends; by default the second.
        edge_weight: Column of edge weights, or several, which are added up.
        unknown_edges: Edges to ids that no table of nodes has: ``error`` or ``drop``.
        split_column: Column that says which set a node is in.
        random_splits: Number of stratified random splits; by default 1.
        fractions: Their shares, as ``50/25/25``.
        split_seed: Their seed.
        drop_columns: Columns that are no features.
        category_columns: Columns of categories that look like something else.
        rare_share: Categories in a smaller share of the rows are one, ``other``; by default 0.01.
        separator: Sign between columns of text files; by default as found.
        decimal: Decimal sign in text files; by default as found.
        model: Name of a model, or several; by default ``auto``.
        time_limit: With auto, seconds; by default 300.
        quality: With auto, ``fast``, ``good`` or ``best``.
        folds: With auto and no given split, by default 5, on large graphs fewer.
        portfolio: With auto, file of another portfolio than the package's.
        splits: ``all`` (the default), ``3``, ``0,2,5`` or ``0-4``.
        config: Settings file.
        tune: First search settings in this many trials.
        workers: Processes that search.
        refit: Then train on all labels.
        out: Run folder; by default ``runs/<time>-<name of the node table>``.
        progress: Is told how the work goes on.
        settings: Settings of graph, training or models.
    """
    from glognn.data.encoding import RARE_SHARE
    from glognn.data.table_graph import TableOptions

    tables = TableOptions(
        nodes=nodes,
        edges=edges,
        label=label,
        id=id,
        source=source,
        target=target,
        edge_weight=edge_weight,
        unknown_edges=unknown_edges,
        split_column=split_column,
        random_splits=random_splits,
        fractions=fractions,
        split_seed=split_seed,
        drop_columns=drop_columns,
        category_columns=category_columns,
        rare_share=RARE_SHARE if rare_share is None else rare_share,
        separator=separator,
        decimal=decimal,
    )
    names = split_names(model)
    given = {"time_limit": time_limit, "quality": quality, "folds": folds, "portfolio": portfolio}
    of_auto: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    common: dict[str, Any] = {"splits": splits, "out": out, "progress": progress, **settings}
    if means_auto(names, tables=True, config=config, tune=tune):
        for name, value in {"config": config, "tune": tune, "workers": workers, "refit": refit}.items():
            if value:
                raise InputError(f"The '{name}' parameter is for models that are named. Leave it out, or name one.")
        return auto(tables=tables, **of_auto, **common)
    for name in of_auto:
        raise InputError(f"The '{name}' parameter is for model='{MODEL_NAME}'. Leave it out, or name no other model.")
    return train_models(model=names, tables=tables, config=config, tune=tune, workers=workers, refit=refit, **common)
