"""``train_models``: one or several models on the splits of a graph, into a run folder. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glognn.data.layout import TABLES, tables_folder
from glognn.data.sources import find_source
from glognn.errors import InputError, about
from glognn.experiments.advice import advise, describe, look
from glognn.experiments.config import RunConfig, parse_splits, resolve
from glognn.experiments.graphs import Graphs
from glognn.experiments.plan import split_names
from glognn.experiments.progress import Progress, Work
from glognn.experiments.search import Search
from glognn.experiments.spaces import WIDE
from glognn.experiments.tune import make_graph, own_settings, run_studies
from glognn.experiments.workers import worker_count

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
    workers: int | None = None,
    refit: bool = False,
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
        tune: First search settings in this many trials, see :func:`~glognn.tune`; of several splits for each by
            itself, on its own validation nodes, so that no test node of one has a say in the choice for another.
        workers: Processes that search; by default one for each core, with ``device="cuda"`` 1.
        refit: Then train on all labels, for as many epochs as validation chose, see
            :mod:`glognn.experiments.refit`; that is what predicts. With ``resume``, also of a finished run.
        tables: Your own tables instead of a dataset.
        data_mirror: Folder of published files.
        progress: Is told how the work goes on.
        settings: Settings of graph, training or models.
    """
    progress, names = progress or Progress(), split_names(model)
    if resume is not None:
        chosen = {"dataset": dataset, "model": names, "splits": splits, "config": config, "out": out, "tune": tune}
        chosen["workers"] = workers
        given = {**chosen, **(vars(tables) if tables else {}), **settings}
        for name in (name for name, value in given.items() if value):
            raise InputError(f"--resume takes its settings from the run folder. Leave out --{name.replace('_', '-')}.")
        return _resume(Path(resume), refit, data_mirror, progress)
    if workers and not tune:
        raise InputError("--workers is for searches: give --tune TRIALS, or leave it out.")
    if tune and config is not None:
        raise InputError("--tune searches for the settings that --config gives. Leave out one of them.")
    if tables and dataset is not None:
        raise InputError(f"--dataset names a graph, and so do your tables. Leave out --dataset {dataset}.")
    source = None if config is None else str(config)
    configs = resolve(names, source, settings, dataset, splits)
    label = find_source(configs[0].dataset).label if tables is None else tables.name
    from glognn.experiments.folder import held_for_new_runs, new_folder

    folder = Path(out) if out else new_folder(Path("runs") / f"{datetime.now():%Y%m%d-%H%M%S}-{label}")
    with held_for_new_runs(folder, new=not out):
        if tables is not None:
            configs = resolve(names, source, settings, make_graph(tables, folder, progress), splits)
        if tune:
            _load(configs, data_mirror)  # what cannot be trained is refused before it is searched
            configs = _search(folder / "tune", configs, settings, tune, workers, data_mirror, progress)
        return _start(folder, configs, refit, data_mirror, progress)


def _search(
    folder: Path,
    configs: list[RunConfig],
    given: dict[str, Any],
    trials: int,
    workers: int | None,
    mirror: str | Path | None,
    progress: Progress,
) -> list[RunConfig]:
    """Search settings of each model and split in a folder of its own; configurations with what is to be used.

    A model has one of them for each of several splits.
    """
    graphs, wanted = Graphs(mirror), dict[Path, tuple[RunConfig, str]]()
    for config in configs:
        splits = parse_splits(config.splits, graphs.of(config).graph.num_splits)
        for split in splits:
            single = len(splits) == 1
            place = folder / config.model.name / ("" if single else f"split-{split}")
            wanted[place] = config, config.splits if single else str(split)
    usual: dict[str, Any] = {"device": "cpu", "threads": 1}
    studies = {
        place: Search(config.model.name, config.dataset, WIDE, splits, usual | own_settings(config, given))
        for place, (config, splits) in wanted.items()
    }
    device = str(given.get("device", usual["device"]))
    found = run_studies(studies, trials, workers=worker_count(workers, device), mirror=mirror, progress=progress)
    paths = {each.folder: each.path for each in found}
    for place in wanted.keys() - paths.keys():
        raise InputError(f"The search in '{place}' has no completed trial: give --tune more trials.")
    return [
        resolve([config.model.name], str(paths[place]), own_settings(config, given), config.dataset, splits)[0]
        for place, (config, splits) in wanted.items()
    ]


def _start(
    folder: Path, configs: list[RunConfig], refit: bool, mirror: str | Path | None, progress: Progress
) -> TrainedModels:
    from glognn.experiments.folder import start_runs

    graphs = _load(configs, mirror)
    runs = start_runs(folder, configs)
    return _run(folder, runs, graphs, progress, refit=refit, advises=(folder / TABLES).is_file())


def _resume(folder: Path, refit: bool, mirror: str | Path | None, progress: Progress) -> TrainedModels:
    from glognn.experiments.folder import find_runs, held

    find_runs(folder)
    with held(folder):
        runs = find_runs(folder)
        return _run(folder, runs, _load([config for _, config in runs], mirror), progress, refit=refit)


def _load(configs: list[RunConfig], mirror: str | Path | None) -> list[LoadedGraph]:
    """The graph of each run, once it is sure that all of them can be trained."""
    from glognn.training.evaluation import check_named_classes
    from glognn.training.preflight import check_memory

    graphs = Graphs(mirror)
    for each in configs:
        graph = graphs.of(each).graph
        name = "The tables" if tables_folder(Path(each.dataset)) else f"'{each.dataset}'"
        each.model.check_graph(has_features=graph.x is not None)
        for split in parse_splits(each.splits, graph.num_splits):
            with about(name):
                graph.check_trainable(split)
        with about(name):
            check_named_classes(graph, each.training)
        check_memory(each.model, graph, each.training)
    return [graphs.of(each) for each in configs]


def _run(
    folder: Path,
    runs: list[tuple[Path, RunConfig]],
    graphs: list[LoadedGraph],
    progress: Progress,
    *,
    refit: bool,
    advises: bool = False,
) -> TrainedModels:
    from glognn.experiments.appraisal import Appraiser
    from glognn.experiments.folder import by_model
    from glognn.experiments.refit import ask_for_refit, is_asked_for
    from glognn.experiments.refit import refit as train_on_all
    from glognn.experiments.run import run_splits, summarize_apart
    from glognn.experiments.saved import choose_run

    configs, graph = [config for _, config in runs], graphs[0].graph
    progress.on_graph(graphs[0])
    appraiser = None
    if configs[0].training.engine != "distributed":  # whose ranks have each a part of the nodes
        facts = look(graph, parse_splits(configs[0].splits, graph.num_splits)[0])
        advice = advise(facts, configs, graph.num_splits, tuned=(folder / "tune").is_dir()) if advises else []
        progress.on_description(describe(facts), advice)
        directed = [each.graph for each in graphs if not each.graph.adjacency.matrix.is_symmetric]
        appraiser = Appraiser(next(iter(directed), graph))  # which read what any of the models may read
    loaded = dict(zip([child for child, _ in runs], graphs, strict=True))
    total = sum(len(parse_splits(config.splits, loaded[child].graph.num_splits)) for child, config in runs)
    progress.on_begin(Work("splits", total, 0, 1, folder))
    places, reports = by_model(runs), []
    for place in places:
        if refit:
            ask_for_refit(place)
    for place, group in places.items():
        found = [
            (config, run_splits(child, config, loaded[child], [progress], progress.on_split_end, appraiser))
            for child, config in group
        ]
        reports.append(found[0][1] if len(found) == 1 else summarize_apart(place, found))
    for place in filter(is_asked_for, places):
        chosen = choose_run(place)
        used = {split: loaded[child if child in loaded else place] for split, (child, _) in chosen.places.items()}
        progress.on_refit(place, train_on_all(chosen, used))
    return TrainedModels(folder, list(places), reports)
