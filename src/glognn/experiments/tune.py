"""``tune``: searches for settings, by several workers, each study in a folder of its own. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glognn.data.layout import GRAPH, TABLES
from glognn.data.sources import find_source
from glognn.errors import GloGNNError, InputError, about
from glognn.experiments.config import DEFAULT_DATASET, DEFAULT_MODEL, RunConfig, parse_splits, resolve
from glognn.experiments.confirmation import Confirmation, confirm
from glognn.experiments.graphs import Graphs
from glognn.experiments.plan import parse_names, split_names
from glognn.experiments.progress import Progress, Work
from glognn.experiments.search import (
    STUDY,
    Search,
    best_trial,
    by_own_names,
    chosen_settings,
    do_trials,
    finished_trials,
    open_folder,
    open_study,
    used_trial,
    write_best,
)
from glognn.experiments.spaces import find_space
from glognn.experiments.workers import do_tasks, worker_count
from glognn.graph.config import GraphConfig
from glognn.models.configs import MODELS
from glognn.storage import locked
from glognn.training.config import TrainingConfig

if TYPE_CHECKING:
    import optuna

    from glognn.data.table_graph import TableOptions
    from glognn.experiments.run import LoadedGraph

DEFAULT_SPACE = "wide"
ROOT = Path("runs/tune")
"""Where studies are kept unless asked otherwise."""


@dataclass(frozen=True)
class StudyResult:
    """What a study has found so far.

    Attributes:
        folder: Of the study.
        search: What was searched.
        config: The settings to use, complete: the best, or the default where the best is not better beyond noise.
        settings: Of these, the ones that were searched.
        validation: Their mean validation score over splits.
        trial: The number of their trial.
        trials: How many trials count.
        origin: ``default`` or ``published`` where those settings are used, the authors' being the latter; else
            ``drawn``.
        confirmation: How the winner compares with the default; ``None`` where they are the same or were not compared.
        positive: The class that a metric of one class is of, by name, where there is one.
        baselines: Mean validation scores of the baselines over the same splits, by name.
        path: The file of the best settings, which ``train_models(config=...)`` reads.
        study: The completed trials, with the settings under their own names.
    """

    folder: Path
    search: Search
    config: RunConfig
    settings: dict[str, Any]
    validation: float
    trial: int
    trials: int
    origin: str
    confirmation: Confirmation | None
    positive: str | None
    baselines: dict[str, float | None]
    path: Path
    study: optuna.Study = field(repr=False)


def tune(
    dataset: str | Sequence[str] | None = None,
    model: str | Sequence[str] = DEFAULT_MODEL,
    *,
    trials: int = 100,
    space: str = DEFAULT_SPACE,
    splits: str = "all",
    sampler: str = "tpe",
    prune: bool = True,
    keep_default: bool = True,
    workers: int | None = None,
    together: int | None = None,
    out: str | Path | None = None,
    storage: str | None = None,
    best: bool = False,
    tables: TableOptions | None = None,
    data_mirror: str | Path | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> list[StudyResult]:
    """Search for settings; the objective is the mean validation score over splits, never a test score.

    The same as ``glognn tune``: what was begun in a folder is gone on with. With several workers, which are processes
    of their own, a script needs ``if __name__ == "__main__":`` around the call.

    The validation nodes of one split may be test nodes of another. Test scores on several splits with settings that
    were searched on all of them, which is how published tables are made, are therefore not independent of the search;
    ``train_models(tune=...)`` searches for every split by itself.

    Args:
        dataset: Name or file, or several; by default ``pairs``.
        model: Name of a model, or several.
        trials: Trials of each study in all.
        space: ``wide``, ``paper-small`` or ``paper-large``.
        splits: Splits whose validation scores are averaged: ``all``, ``3``, ``0,2,5`` or ``0-4``.
        sampler: ``tpe``, ``random`` or ``grid``.
        prune: Give up trials below the median early.
        keep_default: The default settings are trial 0, and stay where the winner does not beat them beyond noise, see
            :mod:`glognn.experiments.confirmation`. ``False`` takes whatever scores best, as published protocols do.
        workers: Processes; by default one for each core, with ``device="cuda"`` 1.
        together: Trials taken at a time; by default 1, with ``device="cuda"`` 8, with ``sampler="random"`` all.
        out: Folder of the study; of several studies, a folder with ``<model>/<dataset>`` for each.
        storage: An Optuna storage URL instead of a journal in the folder.
        best: Run nothing; what was found so far.
        tables: Your own tables instead of a dataset; their graph is kept in the folder.
        data_mirror: Folder of published files.
        progress: Is told how the work goes on.
        settings: Settings of graph, training or model that are held.

    Returns:
        For each dataset and model what was found, with the settings as a file; of several studies those without a
        completed trial are left out.
    """
    progress = progress or Progress()
    names = parse_names(model, MODELS, "model")
    for name in names:
        find_space(name, space)
    root = Path(out or ROOT)
    if tables is not None:
        if dataset is not None:
            raise InputError(f"--dataset names a graph, and so do your tables. Leave out --dataset {dataset}.")
        label = tables.name
        root = Path(out) if out else ROOT / label
        sources = [(find_source(make_graph(tables, root, progress)), label)]
    else:
        sources = [(each, each.label) for each in map(find_source, split_names(dataset or DEFAULT_DATASET))]
    held: dict[str, Any] = {"device": "cpu", "threads": 1} | settings
    configs = resolve(names, None, held, sources[0][0].name, splits)
    single, studies = len(configs) * len(sources) == 1, dict[Path, Search]()
    for source, label in sources:
        for config in configs:
            name = config.model.name
            place = Path(name, label)
            if single:
                place = Path() if out else Path(f"{name}-{space}") if tables else Path(label, f"{name}-{space}")
            given = own_settings(config, held)
            studies[root / place] = Search(
                name, source.name, space, splits, given, sampler, prune, keep_default=keep_default
            )
    at_once = together or (trials if sampler == "random" else 8 if held["device"] == "cuda" else 1)
    return run_studies(
        studies, trials, workers=worker_count(workers, held["device"]), together=at_once, storage=storage, best=best,
        mirror=data_mirror, progress=progress,
    )  # fmt: skip


def make_graph(options: TableOptions, folder: Path, progress: Progress) -> str:
    """Read tables and write the graph made of them into a folder, where a search on them is gone on with; its path."""
    from glognn.data.table_graph import KeptTables, graph_from_tables

    tables, data = graph_from_tables(options)
    searched = (folder / TABLES).is_file() and any(folder.rglob(STUDY))
    if searched and KeptTables.load(folder).read != tables.read:
        raise InputError(f"'{folder}' holds a search on other tables or columns: choose another --out.")
    path = folder / GRAPH if searched else tables.save(folder, data)
    progress.on_tables(tables, options)
    return str(path.resolve())


def run_studies(
    studies: Mapping[Path, Search],
    trials: int,
    *,
    workers: int,
    together: int = 1,
    storage: str | None = None,
    best: bool = False,
    mirror: str | Path | None = None,
    progress: Progress,
) -> list[StudyResult]:
    """Do the trials of studies, by the folders that they are kept in, and compare what won with the default.

    Of several studies those without a completed trial are left out.
    """
    for folder, search in studies.items():
        if best and not (folder / STUDY).is_file():
            raise InputError(f"'{folder}' holds no study yet: run the same command without --best.")
        open_folder(folder, search)
    opened = {folder: open_study(folder, search, storage) for folder, search in studies.items()}
    if not best:
        work = partial(_search, trials=trials, storage=storage, mirror=mirror, together=together)
        _do_searches(work, studies, opened, trials, workers, progress)
    graphs, found = Graphs(mirror), []
    for folder, search in studies.items():
        try:
            found.append(_result(folder, search, opened[folder], graphs, best=best))
        except InputError:
            if len(studies) == 1:
                raise
    progress.on_search_end(found)
    return found


def own_settings(config: RunConfig, given: dict[str, Any]) -> dict[str, Any]:
    """Of settings given for several models, those that a configuration has."""
    owned = {*GraphConfig.names(), *TrainingConfig.names(), *config.model.names()}
    return {name: value for name, value in given.items() if name in owned}


def _search(
    tasks: Iterator[list[Path]], trials: int, storage: str | None, mirror: str | Path | None, together: int
) -> Iterator[tuple[Path, str]]:
    """The work of one process: trials of every study in turn. Tells the folder of each study that has come further, or
    that cannot go on, then with the reason.
    """
    graphs = Graphs(mirror)
    for folders in tasks:
        for folder in folders:
            try:
                for _ in do_trials(folder, trials, storage=storage, graphs=graphs, together=together):
                    yield folder, ""
            except (GloGNNError, OSError, MemoryError) as error:
                yield folder, " ".join(str(error).split()) or "out of memory"


def _do_searches(
    work: partial[Iterator[tuple[Path, str]]],
    studies: Mapping[Path, Search],
    opened: dict[Path, optuna.Study],
    trials: int,
    workers: int,
    progress: Progress,
) -> None:
    done = {folder: min(len(finished_trials(study)), trials) for folder, study in opened.items()}
    total, before, single = trials * len(studies), sum(done.values()), len(studies) == 1
    place = next(iter(studies))
    progress.on_begin(Work("trials", total, before, workers, place if single else place.parent.parent, studies))
    failed: dict[Path, str] = {}
    for folder, reason in do_tasks(work, [list(studies)] * min(workers, max(total - before, 1)), workers):
        if reason and folder not in failed:
            failed[folder] = reason
            progress.on_left_out(str(folder), reason)
        done[folder] = min(len(finished_trials(opened[folder])), trials)
        progress.on_trials_end(sum(done.values()), _best_score(opened[folder]) if single else None)
    if failed and sum(done.values()) < total:
        raise GloGNNError(
            f"A worker ended with an error: {next(iter(failed.values()))} The same command goes on with the study, "
            "perhaps with fewer --workers."
        )


def _best_score(study: optuna.Study) -> float | None:
    try:
        return best_trial(study).value
    except InputError:
        return None


def _result(folder: Path, search: Search, study: optuna.Study, graphs: Graphs, *, best: bool) -> StudyResult:
    with locked(folder), about(f"'{folder}'"):
        confirmation = confirm(folder, study, search, None if best else graphs)
        trial, path = used_trial(study, confirmation), write_best(folder, study, search, confirmation)
        named = by_own_names(study, search)
    config = search.config_of(trial)
    return StudyResult(
        folder=folder,
        search=search,
        config=config,
        settings=chosen_settings(search, trial),
        validation=trial.value or 0.0,
        trial=trial.number,
        trials=len(finished_trials(study)),
        origin=trial.user_attrs.get("origin", "drawn"),
        confirmation=confirmation,
        positive=_positive(config, graphs.of(config)),
        baselines=_baselines(config, graphs.of(config)),
        path=path,
        study=named,
    )


def _positive(config: RunConfig, loaded: LoadedGraph) -> str | None:
    from glognn.training.positive import positive_record

    found = positive_record(loaded.graph, config.training)
    return None if found is None else str(found["name"])


def _baselines(config: RunConfig, loaded: LoadedGraph) -> dict[str, float | None]:
    """What settings must beat: mean validation scores, as the objective is."""
    from glognn.experiments.appraisal import Appraiser, baselines_over

    appraiser = Appraiser(loaded.graph)
    splits = parse_splits(config.splits, loaded.graph.num_splits)
    found = baselines_over([appraiser.baseline_scores(split, config.training) for split in splits])
    return {name: (scores["val"] or {}).get("mean") for name, scores in found.items()}
