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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glognn.errors import InputError, TrainingError
from glognn.experiments.config import RunConfig, parse_splits, resolve
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
    folder.mkdir(parents=True, exist_ok=True)
    where: Any = storage or JournalStorage(JournalFileBackend(str(folder / JOURNAL)))
    return optuna.create_study(
        storage=where,
        study_name=f"{search.dataset}-{search.model}-{search.space}",
        direction="maximize",
        load_if_exists=True,
        sampler=_sampler(search),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=10, n_warmup_steps=1)
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
        raise InputError("The study has no completed trial yet.")
    return max(done, key=lambda trial: (trial.value or 0.0, -trial.number))


def work(
    folder: Path,
    trials: int,
    *,
    storage: str | None = None,
    mirror: Path | None = None,
) -> None:
    """Do trials of a study until it has as many as asked for; any number of workers may do so at a time."""
    from glognn.experiments.run import load_graph

    search = read_search(folder)
    loaded = load_graph(search.config({}), mirror)
    study = open_study(folder, search, storage)
    with _alive(folder) as name:
        while (trial := _take(folder, study, search, trials, name)) is not None:
            _do(study, trial, search, loaded)


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


def _take(folder: Path, study: optuna.Study, search: Search, trials: int, name: str) -> optuna.Trial | None:
    """The next trial for a worker, or nothing when enough are done or under way."""
    from filelock import FileLock
    from optuna.trial import TrialState

    with FileLock(folder / ".lock"):
        running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        for trial in running:
            if trial.user_attrs.get("worker") == name or not _is_alive(folder, trial.user_attrs.get("worker", "")):
                study.tell(trial.number, state=TrialState.FAIL)
                study.enqueue_trial(trial.params, user_attrs={"retry_of": trial.number})
                (folder / "workers" / f"{trial.user_attrs.get('worker')}.lock").unlink(missing_ok=True)
        running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        if len(finished_trials(study)) + len(running) >= trials:
            return None
        if search.sampler == "grid":
            done = sum("grid" in trial.user_attrs for trial in study.get_trials(deepcopy=False))
            if (point := _grid_point(search, done)) is None:
                return None
            study.enqueue_trial(point, user_attrs={"grid": done})
        taken = study.ask()
        taken.set_user_attr("worker", name)
        return taken


def _do(study: optuna.Study, trial: optuna.Trial, search: Search, loaded: LoadedGraph) -> None:
    """Train on the splits one after another; the mean validation score so far decides whether to go on."""
    from optuna.trial import TrialState

    from glognn.experiments.run import build_model
    from glognn.training.loop import train

    config = search.config(search.whole_space().suggest(trial))
    graph, values = loaded.graph, []
    for step, split in enumerate(parse_splits(search.splits, loaded.graph.num_splits)):
        model = build_model(config, graph)
        training = replace(config.training, selection="last")  # the best epoch's score is recorded without its weights
        try:
            values.append(train(model, graph, split=split, config=training).best.val)
        except TrainingError:
            values.append(0.0)
            trial.set_user_attr("diverged", True)
        trial.report(statistics.fmean(values), step)
        if trial.should_prune():
            trial.set_user_attr("validation", values)
            study.tell(trial, state=TrialState.PRUNED)
            return
    trial.set_user_attr("validation", values)
    study.tell(trial, statistics.fmean(values))


def chosen_settings(search: Search, trial: optuna.trial.FrozenTrial) -> dict[str, Any]:
    """The settings of a trial, zeros put in."""
    chosen: dict[str, Any] = {}
    for parameter in search.whole_space().parameters:
        zero = trial.params.get(f"{parameter.name}_is_zero", False)
        chosen[parameter.name] = 0.0 if zero else trial.params[parameter.name]
    return chosen


def write_best(folder: Path, study: optuna.Study, search: Search, path: Path | None = None) -> Path:
    """The settings of the best trial as a file that ``glognn train --config`` reads."""
    trial = best_trial(study)
    config = search.config(chosen_settings(search, trial))
    found = finished_trials(study)
    comment = (
        f"# Chosen on validation: mean {config.training.metric} {100 * (trial.value or 0):.2f} % over splits "
        f"{search.splits}, trial {trial.number} of {len(found)}, space {search.space}, sampler {search.sampler}.\n"
    )
    place = path or folder / BEST
    write_text(place, comment + replace(config, splits="all").to_toml())
    return place
