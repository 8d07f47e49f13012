"""Search for settings: Optuna studies whose objective is the mean validation score over splits, never a test score.

A study lives in a folder: ``study.json`` (what is searched), ``study.journal`` (the trials, unless another Optuna
storage is named), a lock for each worker. Trials are taken under one lock, so that workers together do exactly as many
as asked for; the trial of a worker that died (its lock is free) is marked as failed and its settings are tried again.
"""

from __future__ import annotations

import json
import math
import statistics
import uuid
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glognn.errors import InputError, MemoryExhaustedError, TooLargeError
from glognn.experiments.config import RunConfig, has_published, parse_splits, published_path, read_tables, resolve
from glognn.experiments.plan import INDIFFERENT
from glognn.experiments.spaces import Space, find_space
from glognn.storage import write_json, write_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    import optuna

    from glognn.experiments.run import LoadedGraph

STUDY, JOURNAL, BEST = "study.json", "study.journal", "best.toml"
SAMPLERS = ("tpe", "random", "grid")


@dataclass(frozen=True)
class Search:
    """What a study searches. Two searches with the same content may share a folder, others may not."""

    model: str
    dataset: str
    space: str
    splits: str
    given: dict[str, Any]
    sampler: str = "tpe"
    prune: bool = True

    def whole_space(self) -> Space:
        return find_space(self.model, self.space).holding(self.given)

    def config(self, chosen: dict[str, Any]) -> RunConfig:
        """The configuration of a trial: held and chosen settings over the dataset's defaults."""
        settings = {**self.whole_space().fixed, **chosen}
        [config] = resolve([self.model], None, settings, self.dataset, self.splits)
        return config


def open_folder(folder: Path, search: Search) -> None:
    """Start a study's folder, or check that the one there is of the same search."""
    if search.sampler not in SAMPLERS:
        raise InputError(f"The sampler must be one of {', '.join(SAMPLERS)}. Got {search.sampler!r} instead.")
    if search.sampler == "grid":
        for parameter in search.whole_space().parameters:
            parameter.grid()
    search.config({})
    content = vars(search)
    if (folder / STUDY).is_file():
        known = json.loads((folder / STUDY).read_text(encoding="utf-8"))
        for name, value in content.items():
            if known.get(name) != value:
                raise InputError(
                    f"'{folder}' holds a study with {name} {known.get(name)!r}. Got {value!r} instead: "
                    "choose another --out."
                )
        return
    write_json(folder / STUDY, content)


def read_search(folder: Path) -> Search:
    try:
        return Search(**json.loads((folder / STUDY).read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise InputError(f"'{folder}' holds no study: run glognn tune first.") from None


def open_study(folder: Path, search: Search, storage: str | None = None) -> optuna.Study:
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    from glognn.experiments.pruning import JUDGED_EVERY

    folder.mkdir(parents=True, exist_ok=True)
    where: Any = storage or JournalStorage(JournalFileBackend(str(folder / JOURNAL)))
    return optuna.create_study(
        storage=where,
        study_name=f"{search.dataset}-{search.model}-{search.space}",
        direction="maximize",
        load_if_exists=True,
        sampler=_sampler(search),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=10, n_warmup_steps=4 * JUDGED_EVERY)
        if search.prune
        else optuna.pruners.NopPruner(),
    )


def _sampler(search: Search) -> optuna.samplers.BaseSampler:
    import optuna

    if search.sampler in ("random", "grid"):  # points of a grid are put into the queue one by one
        return optuna.samplers.RandomSampler()
    return optuna.samplers.TPESampler(multivariate=True, group=True, constant_liar=True)


def finished_trials(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    """Trials that count: completed and pruned ones."""
    from optuna.trial import TrialState

    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED))


def best_trial(study: optuna.Study) -> optuna.trial.FrozenTrial:
    from optuna.trial import TrialState

    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if not done:
        refused = [trial.user_attrs["does not fit"] for trial in study.trials if "does not fit" in trial.user_attrs]
        raise InputError(" ".join(["The study has no completed trial yet.", *refused[:1]]))
    return max(done, key=lambda trial: (trial.value or 0.0, -trial.number))


def work(
    folder: Path,
    trials: int,
    *,
    storage: str | None = None,
    mirror: Path | None = None,
    together: int = 1,
) -> None:
    """Do trials of a study until it has as many as asked for; any number of workers may do so at a time.

    ``together`` trials are taken at a time. Those after the first keep its settings of shape, so that all of them, on
    all splits, train as one batch.
    """
    from glognn.experiments.run import load_graph

    search = read_search(folder)
    loaded = load_graph(search.config({}), mirror)
    study = open_study(folder, search, storage)
    with _alive(folder) as name:
        while taken := _take(folder, study, search, trials, name, together):
            _do(study, taken, search, loaded)


@contextmanager
def _alive(folder: Path) -> Iterator[str]:
    """Hold a lock that says this worker lives; its name."""
    from filelock import FileLock

    name = uuid.uuid4().hex
    path = folder / "workers" / f"{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path):
        yield name
    path.unlink(missing_ok=True)


def _is_alive(folder: Path, name: str) -> bool:
    from filelock import FileLock, Timeout

    path = folder / "workers" / f"{name}.lock"
    if not path.exists():
        return False
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True


def _grid_point(search: Search, number: int) -> dict[str, Any] | None:
    """One combination of a grid, in an order that goes through all of it evenly; nothing after the last."""
    grid = {parameter.name: parameter.grid() for parameter in search.whole_space().parameters}
    size = math.prod(len(values) for values in grid.values())
    if number >= size:
        return None
    stride = next(step for step in range(int(0.618 * size) + 1, 2 * size + 2) if math.gcd(step, size) == 1)
    place, point = number * stride % size, {}
    for name, values in grid.items():
        place, index = divmod(place, len(values))
        point[name] = values[index]
    return point


def _take(
    folder: Path, study: optuna.Study, search: Search, trials: int, name: str, together: int
) -> list[tuple[optuna.Trial, RunConfig]]:
    """The next trials for a worker, with their configurations; none when enough are done or under way."""
    from filelock import FileLock
    from optuna.samplers import PartialFixedSampler
    from optuna.trial import TrialState

    space, sampler = search.whole_space(), study.sampler
    taken: list[tuple[optuna.Trial, RunConfig]] = []
    with FileLock(folder / ".lock"):
        running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        for lost in running:
            if lost.user_attrs.get("worker") == name or not _is_alive(folder, lost.user_attrs.get("worker", "")):
                study.tell(lost.number, state=TrialState.FAIL)
                study.enqueue_trial(lost.params, user_attrs={"retry_of": lost.number})
                (folder / "workers" / f"{lost.user_attrs.get('worker')}.lock").unlink(missing_ok=True)
        running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        left = trials - len(finished_trials(study)) - len(running)
        if not study.get_trials(deepcopy=False) and (known := _known_settings(search)):
            study.enqueue_trial(known, user_attrs={"origin": "published"})
        for _ in range(min(left, together)):
            if search.sampler == "grid":
                done = sum("grid" in trial.user_attrs for trial in study.get_trials(deepcopy=False))
                if (point := _grid_point(search, done)) is None:
                    break
                study.enqueue_trial(point, user_attrs={"grid": done})
            trial = study.ask()
            trial.set_user_attr("worker", name)
            config = search.config(space.suggest(trial))
            taken.append((trial, config))
            if len(taken) == 1 and search.sampler != "grid":
                shape = {key: value for key, value in trial.params.items() if key in _shape_settings(search)}
                study.sampler = PartialFixedSampler(shape, sampler)
        study.sampler = sampler
    return taken


def _shape_settings(search: Search) -> list[str]:
    """The searched settings that models trained together must have in common."""
    config = search.config({})
    own = (*config.model.numbers, "optimizer", "learning_rate", "weight_decay", "epochs", "early_stopping", "patience")
    return [parameter.name for parameter in search.whole_space().parameters if parameter.name not in own]


def _known_settings(search: Search) -> dict[str, Any]:
    """The authors' settings as a first trial, if there are any and the space holds them."""
    if search.sampler == "grid" or not has_published(search.model, search.dataset):
        return {}
    tables = read_tables(published_path(search.model, search.dataset))
    known = {**tables.get("data", {}), **tables.get("training", {}), **tables["model"]}
    defaults = search.config({}).model.as_dict()
    point: dict[str, Any] = {}
    for parameter in search.whole_space().parameters:
        value = known.get(parameter.name, defaults.get(parameter.name))
        if value is None or not parameter.holds(value):
            return {}
        point |= parameter.as_trial(value)
    return point


def _do(study: optuna.Study, taken: list[tuple[optuna.Trial, RunConfig]], search: Search, loaded: LoadedGraph) -> None:
    """Train trials of one shape together, as many splits at a time as memory allows; the mean validation score so far
    decides whether to go on with a trial. Trials that do not fit count as pruned.
    """
    from optuna.trial import TrialState

    from glognn.experiments.pruning import Pruning
    from glognn.experiments.run import initial_models
    from glognn.training.together import members_at_once, train_together

    graph = loaded.graph
    splits = parse_splits(search.splits, graph.num_splits)
    groups: dict[object, list[tuple[optuna.Trial, RunConfig]]] = {}
    for trial, config in taken:
        groups.setdefault(config.model.shape(), []).append((trial, config))
    for group in groups.values():
        watcher = Pruning([trial for trial, _ in group], len(splits))
        members = [(config, split) for _, config in group for split in splits]
        most = members_at_once(group[0][1].model, graph, group[0][1].training)
        try:
            for start in range(0, len(members), most):
                stop = min(start + most, len(members))
                part = [k for k in range(start, stop) if k // len(splits) not in watcher.pruned]
                watcher.begin(part)
                if part:
                    train_together(
                        initial_models([members[k][0] for k in part], graph),
                        graph,
                        splits=[members[k][1] for k in part],
                        configs=[members[k][0].training for k in part],
                        watcher=watcher,
                        with_weights=False,
                    )
        except (TooLargeError, MemoryExhaustedError) as error:
            for trial, _ in group:
                trial.set_user_attr("does not fit", str(error))
                study.tell(trial, state=TrialState.PRUNED)
            continue
        for place, (trial, _) in enumerate(group):
            trial.set_user_attr("validation", watcher.validation(place))
            if place in watcher.pruned:
                study.tell(trial, state=TrialState.PRUNED)
            else:
                study.tell(trial, statistics.fmean(watcher.validation(place)))


def chosen_settings(search: Search, trial: optuna.trial.FrozenTrial) -> dict[str, Any]:
    """The settings of a trial, zeros put in."""
    chosen: dict[str, Any] = {}
    for parameter in search.whole_space().parameters:
        zero = trial.params.get(f"{parameter.name}_is_zero", False)
        chosen[parameter.name] = 0.0 if zero else trial.params[parameter.name]
    return chosen


def write_best(folder: Path, study: optuna.Study, search: Search, path: Path | None = None) -> Path:
    """The settings of the best trial as a file that ``glognn train --config`` reads, with how they were found."""
    import tomli_w

    trial = best_trial(study)
    tables = search.config(chosen_settings(search, trial)).tables()
    tables["data"] = {name: value for name, value in tables["data"].items() if name != "splits"}
    tables["training"] = {name: value for name, value in tables["training"].items() if name not in INDIFFERENT}
    tables["tuned"] = {
        "validation": round(100 * (trial.value or 0.0), 4),
        "splits": search.splits,
        "trial": trial.number,
        "trials": len(finished_trials(study)),
        "space": search.space,
        "sampler": search.sampler,
    }
    place = path or folder / BEST
    write_text(place, tomli_w.dumps(tables))
    return place
