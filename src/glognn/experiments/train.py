"""``train_models``: one or several models on the splits of a graph, into a run folder. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glognn.data.layout import TABLES
from glognn.data.sources import find_source
from glognn.errors import InputError, about
from glognn.experiments.advice import advise, describe, look
from glognn.experiments.config import RunConfig, parse_splits, resolve
from glognn.experiments.graphs import Graphs
from glognn.experiments.plan import split_names
from glognn.experiments.progress import Progress, Work
from glognn.experiments.tune import own_settings
from glognn.experiments.tune import tune as search

if TYPE_CHECKING:
    from glognn.data.table_graph import TableOptions
    from glognn.experiments.folder import Report
    from glognn.experiments.run import LoadedGraph


@dataclass(frozen=True)
class TrainedModels:
    """What a run folder holds: ``runs`` are the folders of its models, ``reports`` what each came to."""

    folder: Path
    runs: list[Path]
    reports: list[Report]


def train_models(
    dataset: str | None = None,
    model: str | Sequence[str] = (),
    *,
    splits: str | None = None,
    config: str | Path | None = None,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    tune: int | None = None,
    tables: TableOptions | None = None,
    data_mirror: str | Path | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> TrainedModels:
    """Train models on the splits of a graph and keep everything in a run folder, as ``glognn train`` does.

    Args:
        dataset: A dataset by name, a twin (``twin:pokec@0.1``) or a graph file; by default ``pairs``.
        model: Name of a model, or several; by default ``glognn++``.
        splits: ``all`` (the default), ``3``, ``0,2,5`` or ``0-4``.
        config: Settings file, ``published:NAME`` or ``tuned:NAME``.
        out: Run folder; by default ``runs/<time>-<dataset>``.
        resume: Go on with the run in this folder; takes no other settings.
        tune: First search settings in this many trials, see :func:`~glognn.tune`.
        tables: Your own tables instead of a dataset.
        data_mirror: Folder of published files.
        progress: Is told how the work goes on.
        settings: Settings of graph, training or models.
    """
    progress, names = progress or Progress(), split_names(model)
    if resume is not None:
        chosen = {"dataset": dataset, "model": names, "splits": splits, "config": config, "out": out, "tune": tune}
        given = {**chosen, **(vars(tables) if tables else {}), **settings}
        for name in (name for name, value in given.items() if value):
            raise InputError(f"--resume takes its settings from the run folder. Leave out --{name.replace('_', '-')}.")
        return _resume(Path(resume), data_mirror, progress)
    if tune and config is not None:
        raise InputError("--tune searches for the settings that --config gives. Leave out one of them.")
    if tables and dataset is not None:
        raise InputError(f"--dataset names a graph, and so do your tables. Leave out --dataset {dataset}.")
    source = None if config is None else str(config)
    configs = resolve(names, source, settings, dataset, splits)
    label = find_source(configs[0].dataset).label if tables is None else Path(tables.nodes).name.partition(".")[0]
    from glognn.experiments.folder import held_for_new_runs, new_folder

    folder = Path(out) if out else new_folder(Path("runs") / f"{datetime.now():%Y%m%d-%H%M%S}-{label}")
    with held_for_new_runs(folder, new=not out):
        if tables is not None:
            configs = resolve(names, source, settings, make_graph(tables, folder, progress), splits)
        if tune:
            configs = [_search(folder / "tune", each, settings, tune, data_mirror, progress) for each in configs]
        return _start(folder, configs, data_mirror, progress)


def make_graph(options: TableOptions, folder: Path, progress: Progress) -> str:
    """Read tables and write the graph made of them into a run folder; its path."""
    from glognn.data.table_graph import KeptTables, graph_from_tables

    tables, data = graph_from_tables(options)
    if (folder / "tune").is_dir() and KeptTables.load(folder).read != tables.read:
        raise InputError(f"'{folder}' holds a search on other tables or columns: choose another --out.")
    path = tables.save(folder, data)
    progress.on_tables(tables, options)
    return str(path.resolve())


def _search(
    folder: Path, config: RunConfig, given: dict[str, Any], trials: int, mirror: str | Path | None, progress: Progress
) -> RunConfig:
    """Search settings of a configuration's model in a folder of its own; the configuration with the best found."""
    name, held = config.model.name, own_settings(config, given)
    [found] = search(
        config.dataset, name, trials=trials, splits=config.splits, together=1, out=folder / name, data_mirror=mirror,
        progress=progress, **held,
    )  # fmt: skip
    [best] = resolve([name], str(found.path), held, config.dataset, config.splits)
    return best


def _start(folder: Path, configs: list[RunConfig], mirror: str | Path | None, progress: Progress) -> TrainedModels:
    from glognn.experiments.folder import start_runs

    graphs = _load(configs, mirror)
    runs = start_runs(folder, configs)
    return _run(folder, runs, graphs, progress, advises=(folder / TABLES).is_file())


def _resume(folder: Path, mirror: str | Path | None, progress: Progress) -> TrainedModels:
    from glognn.experiments.folder import find_runs, held

    find_runs(folder)
    with held(folder):
        runs = find_runs(folder)
        return _run(folder, runs, _load([config for _, config in runs], mirror), progress)


def _load(configs: list[RunConfig], mirror: str | Path | None) -> list[LoadedGraph]:
    """The graph of each run, once it is sure that all of them can be trained."""
    from glognn.training.positive import scoring
    from glognn.training.preflight import check_memory

    graphs = Graphs(mirror)
    for each in configs:
        graph = graphs.of(each).graph
        each.model.check_graph(has_features=graph.x is not None)
        for split in parse_splits(each.splits, graph.num_splits):
            with about(f"'{each.dataset}'"):
                graph.check_trainable(split)
        with about(f"'{each.dataset}'"):
            scoring(graph, each.training)
        check_memory(each.model, graph, each.training)
    return [graphs.of(each) for each in configs]


def _run(
    folder: Path,
    runs: list[tuple[Path, RunConfig]],
    graphs: list[LoadedGraph],
    progress: Progress,
    *,
    advises: bool = False,
) -> TrainedModels:
    from glognn.experiments.appraisal import Appraiser
    from glognn.experiments.run import run_splits

    configs, graph = [config for _, config in runs], graphs[0].graph
    progress.on_graph(graphs[0])
    appraiser = None
    if configs[0].training.engine != "distributed":  # whose ranks have each a part of the nodes
        facts = look(graph, parse_splits(configs[0].splits, graph.num_splits)[0])
        advice = advise(facts, configs, graph.num_splits, tuned=(folder / "tune").is_dir()) if advises else []
        progress.on_description(describe(facts), advice)
        appraiser = Appraiser(graph)
    pairs = list(zip(runs, graphs, strict=True))
    total = sum(len(parse_splits(config.splits, loaded.graph.num_splits)) for (_, config), loaded in pairs)
    progress.on_begin(Work("splits", total, 0, 1, folder))
    reports = [
        run_splits(child, config, loaded, [progress], progress.on_split_end, appraiser)
        for (child, config), loaded in pairs
    ]
    return TrainedModels(folder, [child for child, _ in runs], reports)
