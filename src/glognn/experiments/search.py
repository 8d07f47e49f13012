"""Search for settings: Optuna studies whose objective is the mean validation score over splits, never a test score.

The default settings are the first trial, then the authors' where there are some, unless a search is told not to keep
the default: that is the published protocol, in which whatever scores best on validation is taken.

A study lives in a folder: ``study.json`` (what is searched), ``study.journal`` (the trials, unless another Optuna
storage is named), ``confirmation.json`` (whether the winner beats the default, see
:mod:`glognn.experiments.confirmation`) and locks (:mod:`~glognn.experiments.study_locks`). Trials are taken under one
of them, so that workers together do exactly as many as asked for; the trial of a worker that died (its lock is free) is
marked as failed and its settings are tried again.
"""

from __future__ import annotations

import hashlib
import json
import math
import statistics
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glognn.errors import GloGNNError, InputError, MemoryExhaustedError, TooLargeError, about
from glognn.experiments.config import (
    PUBLISHED_PREFIX,
    RunConfig,
    graph_beside,
    has_published,
    parse_splits,
    resolve,
)
from glognn.experiments.graphs import Graphs
from glognn.experiments.plan import INDIFFERENT
from glognn.experiments.spaces import FEATURES, WIDE, Space, find_space
from glognn.experiments.study_locks import FolderLocks, StudyLocks, making, study_locks
from glognn.models.configs import find_model
from glognn.models.configs.base import alike
from glognn.records import NUMBER, Form, misfit, read_record
from glognn.settings import check_word
from glognn.storage import file_sha256, write_json, write_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    import optuna

    from glognn.experiments.confirmation import Confirmation
    from glognn.graph.graph import Graph

    TakenTrial = tuple[optuna.Trial, RunConfig]

STUDY, JOURNAL, BEST = "study.json", "study.journal", "best.toml"
DECLARED = "declared"
"""Where a study's file keeps the fingerprint of its space, which may be declared otherwise in another version."""
SAMPLERS = ("tpe", "random", "grid")
DEFAULT, PUBLISHED = "default", "published"
"""Trials of settings that are not drawn."""


_FORM: Form = {
    "model": str,
    "dataset": str,
    "space": str,
    "splits": str,
    "given": dict,
    "sampler": str,
    "prune": bool,
}


_ATTRIBUTES: Form = {
    "worker": str,
    "retry_of": int,
    "grid": int,
    "in_space": bool,
    "origin": str,
    "does not fit": str,
    "fixed_params": dict,
}
"""Of a trial, where it has them."""


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
    keep_default: bool = True

    def declared_space(self) -> Space:
        """The model's space by its name; on a graph of a user's own, how features are normalised is searched, too."""
        space, own = find_space(self.model, self.space), Path(self.dataset).suffix == ".npz"
        return space.searching(FEATURES) if own and self.space == WIDE else space

    def whole_space(self) -> Space:
        return self.declared_space().holding(self.given)

    def config(self, chosen: dict[str, Any]) -> RunConfig:
        """The configuration of a trial: held and chosen settings over the dataset's defaults."""
        settings = {**self.whole_space().fixed, **chosen}
        [config] = resolve([self.model], None, settings, self.dataset, self.splits)
        return config

    def default(self) -> RunConfig:
        """What is trained without a search: the defaults with the settings that were given put in."""
        [config] = resolve([self.model], None, self.given, self.dataset, self.splits)
        return config

    def published(self) -> RunConfig | None:
        """The authors' settings with those held put in; nothing where there are none, or where a grid is searched.

        GloGNN2's are its defaults, which are meant for every graph.
        """
        known = has_published(self.model, self.dataset)
        if self.sampler == "grid" or not (known or find_model(self.model).stated):
            return None
        held = {**find_space(self.model, self.space).fixed, **self.given}
        source = f"{PUBLISHED_PREFIX}{self.dataset}" if known else None
        [config] = resolve([self.model], source, held, self.dataset, self.splits)
        return config

    def config_of(self, trial: optuna.trial.FrozenTrial | optuna.Trial) -> RunConfig:
        """The configuration that a trial was asked to try."""
        if trial.user_attrs.get("origin") == DEFAULT:
            return self.default()
        if trial.user_attrs.get("origin") == PUBLISHED and (published := self.published()) is not None:
            return published
        chosen: dict[str, Any] = {}
        for parameter in self.whole_space().parameters:
            zero = trial.params.get(f"{parameter.name}_is_zero", False)
            if not zero and parameter.name not in trial.params:
                raise InputError(
                    f"Trial {trial.number} of the study has no '{parameter.name}': its journal is damaged."
                )
            chosen[parameter.name] = 0.0 if zero else trial.params[parameter.name]
        return self.config(chosen)

    def first_trials(self) -> dict[str, RunConfig]:
        """What is tried before anything is drawn, by where it is from."""
        found = {DEFAULT: self.default()} if self.keep_default else {}
        published = self.published()
        return found if published is None else found | {PUBLISHED: published}


def open_folder(folder: Path, search: Search) -> None:
    """Start a study's folder, or check that the one there is of the same search."""
    check_word("The sampler", search.sampler, SAMPLERS)
    if search.sampler == "grid":
        for parameter in search.whole_space().parameters:
            parameter.grid()
    search.config({})
    content, declared = vars(search), search.declared_space().fingerprint()
    dataset = graph_beside(search.dataset, folder)
    if (folder / STUDY).is_file():
        known = read_record(folder / STUDY, _FORM)
        dataset, known["dataset"] = known["dataset"], _dataset(folder, known["dataset"])
        if known.pop(DECLARED, declared) != declared:
            raise InputError(
                f"'{folder}' holds a study of the space '{search.space}' as an earlier version of the package declared "
                "it: choose another --out."
            )
        known.setdefault("keep_default", search.keep_default)  # an earlier version knew nothing of it
        if _decisive(known) == _decisive(content):  # on another device, or with another number of threads, it goes on
            known = content
        for name, value in content.items():
            if known.get(name) != value:
                raise InputError(
                    f"'{folder}' holds a study with {name} {known.get(name)!r}. Got {value!r} instead: "
                    "choose another --out."
                )
    write_json(folder / STUDY, content | {"dataset": dataset, DECLARED: declared})


def _dataset(folder: Path, written: str) -> str:
    """What the file of a study calls its dataset; a graph that lies beside it or above it goes where the study goes."""
    place = folder / written
    return str(place.resolve()) if place.suffix == ".npz" and place.is_file() else written


def _decisive(content: dict[str, Any]) -> dict[str, Any]:
    """What decides the outcome of a search."""
    given = {name: value for name, value in content.get("given", {}).items() if name not in INDIFFERENT}
    return content | {"given": given}


def read_search(folder: Path) -> Search:
    """What a folder of a study searches."""
    try:
        content = read_record(folder / STUDY, _FORM)
    except FileNotFoundError:
        raise InputError(f"'{folder}' holds no study: run glognn tune first.") from None
    content["dataset"] = _dataset(folder, content["dataset"])
    return Search(**{name: content[name] for name in _FORM}, keep_default=content.get("keep_default") is True)


def open_study(folder: Path, search: Search, storage: str | None = None) -> optuna.Study:
    """The study of a search, made where there is none: in the folder, or in a database that is named."""
    import optuna
    from optuna.storages import JournalStorage

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    from glognn.experiments.journal import Journal
    from glognn.experiments.pruning import JUDGED_EVERY

    folder.mkdir(parents=True, exist_ok=True)
    written = read_record(folder / STUDY, _FORM)["dataset"] if (folder / STUDY).is_file() else search.dataset
    pruner = optuna.pruners.MedianPruner(n_startup_trials=10, n_warmup_steps=4 * JUDGED_EVERY)
    try:
        with making(storage):
            study = optuna.create_study(
                storage=storage or JournalStorage(Journal(folder / JOURNAL)),
                study_name=_shared_name(search) if storage else f"{written}-{search.model}-{search.space}",
                direction="maximize",
                load_if_exists=True,
                sampler=_sampler(search),
                pruner=pruner if search.prune else optuna.pruners.NopPruner(),
            )
        if not storage:
            _check_trials(study)
    except Exception as error:  # Optuna has many words for a journal that is none
        if storage or isinstance(error, GloGNNError):
            raise
        reason = " ".join(f"{type(error).__name__} {error}".split())
        raise InputError(f"'{folder / JOURNAL}' is damaged ({reason:.200}): choose another --out.") from None
    return study


def _shared_name(search: Search) -> str:
    """The name of a study in a database, where no folder keeps searches apart: by all that decides their outcome. A
    graph file is known by its content, wherever it lies.
    """
    file = Path(search.dataset)
    graph = file_sha256(file) if file.is_file() else search.dataset
    content = _decisive(vars(search)) | {"dataset": graph, DECLARED: search.declared_space().fingerprint()}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]
    return f"{file.name}-{search.model}-{search.space}-{digest}"


def _check_trials(study: optuna.Study) -> None:
    """Refuse what Optuna takes from a journal as it is, though nobody has told it so."""
    from optuna.trial import TrialState

    for trial in study.get_trials(deepcopy=False):
        attributes, values = trial.user_attrs | trial.system_attrs, trial.values or []
        scores = [*trial.intermediate_values.values(), *values]
        form = {name: each for name, each in _ATTRIBUTES.items() if name in attributes}
        wrong = misfit(attributes, form) or misfit(scores, [NUMBER], "scores")
        if not wrong:
            possible = (
                all(map(math.isfinite, values))
                and (len(values) == 1 or trial.state != TrialState.COMPLETE)
                and attributes.get("worker", "none").isalnum()  # it names a file
                and attributes.get("retry_of", -1) < trial.number
            )
            wrong = "" if possible else f"it cannot end with {values!r:.60} and {attributes!r:.100}"
        if wrong:
            raise ValueError(f"trial {trial.number}: {wrong}")


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
    """The first of those with the best score; refused where none is complete."""
    from optuna.trial import TrialState

    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if not done:
        refused = [trial.user_attrs["does not fit"] for trial in study.trials if "does not fit" in trial.user_attrs]
        raise InputError(" ".join(["The study has no completed trial yet.", *refused[:1]]))
    return max(done, key=lambda trial: (trial.value or 0.0, -trial.number))


def do_trials(
    folder: Path,
    trials: int,
    *,
    storage: str | None = None,
    graphs: Graphs | None = None,
    together: int = 1,
) -> Iterator[int]:
    """Do trials of a study until it has as many as asked for, and yield how many have just ended; any number of
    workers may do so at a time.

    ``together`` trials are taken at a time. Those of one shape train as one batch, on all splits; after the first of
    ``tpe`` the others keep its settings of shape, while ``random`` ones are independent of each other.
    """
    search = read_search(folder)
    study = open_study(folder, search, storage)
    graphs = graphs or Graphs()
    locks = study_locks(folder, storage, study.study_name)
    with locks.alive() as worker:
        while taken := take_trials(folder, study, search, trials, worker, together, locks):
            for group in _by_shape(taken):
                _train_trials(study, group, search, graphs.of(group[0][1]).graph)
                yield len(group)


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


def take_trials(
    folder: Path,
    study: optuna.Study,
    search: Search,
    trials: int,
    worker: str,
    together: int,
    locks: StudyLocks | None = None,
) -> list[TakenTrial]:
    """The next trials for a worker, with their configurations; none when enough are done or under way."""
    from optuna.samplers import PartialFixedSampler, RandomSampler
    from optuna.trial import TrialState

    space, sampler = search.whole_space(), study.sampler
    taken: list[TakenTrial] = []
    locks = locks or FolderLocks(folder)
    with locks.taking():
        holders = {
            trial.user_attrs.get("worker", "")
            for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        }
        gone = {holder for holder in holders if holder == worker or not locks.is_alive(holder)}
        for lost in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):  # read after its worker was gone
            if (holder := lost.user_attrs.get("worker", "")) in gone:
                _try_again(study, search, lost)
                locks.forget(holder)
        running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        left = trials - len(finished_trials(study)) - len(running)
        begun = {trial.user_attrs.get("origin") for trial in study.get_trials(deepcopy=False)}
        for origin, config in search.first_trials().items():
            if origin not in begun:
                known = _as_trial(search, config)
                study.enqueue_trial(known, user_attrs={"origin": origin, "in_space": bool(known)})
        for _ in range(min(left, together)):
            if search.sampler == "grid" and not study.get_trials(deepcopy=False, states=(TrialState.WAITING,)):
                done = len({trial.user_attrs.get("grid") for trial in study.get_trials(deepcopy=False)} - {None})
                if (point := _grid_point(search, done)) is None:
                    break
                study.enqueue_trial(point, user_attrs={"grid": done})
            trial = study.ask()
            if search.sampler == "random":
                study.sampler = RandomSampler(seed=_place(study, trial.number))
            trial.set_user_attr("worker", worker)
            if trial.user_attrs.get("in_space", True):
                space.suggest(trial)
            with about(f"'{folder}'"):
                taken.append((trial, search.config_of(trial)))
            if len(taken) == 1 and search.sampler == "tpe":
                shape = {key: value for key, value in trial.params.items() if key in _shape_settings(search)}
                study.sampler = PartialFixedSampler(shape, sampler)
        study.sampler = sampler
    return taken


def _try_again(study: optuna.Study, search: Search, lost: optuna.trial.FrozenTrial) -> None:
    """Put a trial whose worker has died into the queue again, once, and only then give it up.

    What it was told to try stands in its system attributes before all of it is among its parameters. A random one is
    drawn again, see :func:`_place`.
    """
    from optuna.trial import TrialState

    if not any(trial.user_attrs.get("retry_of") == lost.number for trial in study.get_trials(deepcopy=False)):
        kept = {name: value for name, value in lost.user_attrs.items() if name in ("origin", "in_space", "grid")}
        drawn = {} if search.sampler == "random" else lost.params
        told = lost.system_attrs.get("fixed_params", {})
        study.enqueue_trial(drawn | told, user_attrs={"retry_of": lost.number} | kept)
    study.tell(lost.number, state=TrialState.FAIL)


def _place(study: optuna.Study, number: int) -> int:
    """The number that a trial would have if none had been tried again; it decides what a random one draws."""
    trials = study.get_trials(deepcopy=False)
    while (first := trials[number].user_attrs.get("retry_of")) is not None:
        number = first
    return sum("retry_of" not in trial.user_attrs for trial in trials[:number])


def _shape_settings(search: Search) -> list[str]:
    """The searched settings that models trained together must have in common."""
    config = search.config({})
    own = (*config.model.varying, "optimizer", "learning_rate", "weight_decay", "epochs", "early_stopping", "patience")
    return [parameter.name for parameter in search.whole_space().parameters if parameter.name not in own]


def _as_trial(search: Search, config: RunConfig) -> dict[str, Any]:
    """Settings as the parameters of a trial, so that later ones learn from it; none where the space lacks a value."""
    values = _flat(config)
    point: dict[str, Any] = {}
    for parameter in search.whole_space().parameters:
        if not parameter.holds(values[parameter.name]):
            return {}
        point |= parameter.as_trial(values[parameter.name])
    return point


def _flat(config: RunConfig) -> dict[str, Any]:
    """All settings of a configuration by name."""
    return config.graph.as_dict() | config.training.as_dict() | config.model.as_dict()


def _by_shape(taken: list[TakenTrial]) -> list[list[TakenTrial]]:
    """Trials in groups that can be trained together."""
    from glognn.training.driver import SHARED

    groups: dict[object, list[TakenTrial]] = {}
    for trial, config in taken:
        shared = [getattr(config.training, name) for name in SHARED]
        groups.setdefault((config.graph, config.model.shape(), *shared), []).append((trial, config))
    return list(groups.values())


def _train_trials(study: optuna.Study, group: list[TakenTrial], search: Search, graph: Graph) -> None:
    """Train trials of one shape together, as many splits at a time as memory allows; the mean validation score so far
    decides whether to go on with a trial. Trials that do not fit count as pruned.
    """
    from optuna.trial import TrialState

    from glognn.experiments.pruning import Pruning
    from glognn.experiments.run import initial_models
    from glognn.experiments.settling import settled
    from glognn.training.driver import train_batch
    from glognn.training.preflight import members_at_once

    splits = parse_splits(search.splits, graph.num_splits)
    pruning = Pruning([trial for trial, _ in group], len(splits))
    pairs = [(config, split) for _, config in group for split in splits]
    decided = settled([config for config, _ in pairs], graph, [split for _, split in pairs])
    members = [(config, split) for config, (_, split) in zip(decided, pairs, strict=True)]
    most = members_at_once(group[0][1].model, graph, group[0][1].training)
    start = 0
    try:
        while start < len(members):
            stop = start + alike(members[k][0].model for k in range(start, min(start + most, len(members))))
            part = [k for k in range(start, stop) if k // len(splits) not in pruning.pruned]
            pruning.begin(part)
            try:
                if part:
                    endings = train_batch(
                        initial_models([members[k][0] for k in part], graph),
                        graph,
                        splits=[members[k][1] for k in part],
                        configs=[members[k][0].training for k in part],
                        judge=pruning.judge,
                        with_weights=False,
                    )
                    pruning.end(endings)
            except (TooLargeError, MemoryExhaustedError):  # others may use the memory too: fewer at a time may fit
                if most == 1:
                    raise
                most = -(-most // 2)
                continue
            start = stop
    except (TooLargeError, MemoryExhaustedError) as error:
        for trial, _ in group:
            trial.set_user_attr("does not fit", str(error))
            study.tell(trial, state=TrialState.PRUNED)
        return
    for place, (trial, _) in enumerate(group):
        trial.set_user_attr("validation", pruning.validation(place))
        if place in pruning.pruned:
            study.tell(trial, state=TrialState.PRUNED)
        else:
            study.tell(trial, statistics.fmean(pruning.validation(place)))


def default_trial(study: optuna.Study) -> optuna.trial.FrozenTrial | None:
    """That of the default settings, where it has been tried to the end."""
    from optuna.trial import TrialState

    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return next((trial for trial in done if trial.user_attrs.get("origin") == DEFAULT), None)


def chosen_settings(search: Search, trial: optuna.trial.FrozenTrial) -> dict[str, Any]:
    """The searched settings of a trial, zeros put in."""
    values = _flat(search.config_of(trial))
    return {parameter.name: values[parameter.name] for parameter in search.whole_space().parameters}


ZEROS = "zeros"
"""The attribute of a study that says where values of 0 lie on scales of logarithms."""


def by_own_names(study: optuna.Study, search: Search) -> optuna.Study:
    """The completed trials with the settings under their own names, in memory, for tables and pictures.

    A search draws a setting that may be 0 in two steps, whether it is, and else which; and the default may lie outside
    of what is drawn. Here every trial has every setting, see :meth:`Parameter.scale`.
    """
    import optuna

    done = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
    chosen = [chosen_settings(search, trial) for trial in done]
    scales = {
        each.name: each.scale([settings[each.name] for settings in chosen])
        for each in search.whole_space().parameters
        if chosen
    }
    zeros = {name: zero for name, (_, zero) in scales.items() if zero is not None}
    named = optuna.create_study(direction="maximize", study_name=study.study_name)
    named.set_user_attr(ZEROS, zeros)
    for trial, settings in zip(done, chosen, strict=True):
        params = {name: zeros[name] if value == 0 and name in zeros else value for name, value in settings.items()}
        kinds = {name: scale for name, (scale, _) in scales.items()}
        named.add_trial(
            optuna.create_trial(
                value=trial.value, params=params, distributions=kinds, user_attrs={"number": trial.number}
            )
        )
    return named


def best_settings(
    study: optuna.Study, search: Search, confirmation: Confirmation | None = None
) -> dict[str, dict[str, Any]]:
    """The settings to use as the tables of a settings file, with how they were found: those of the best trial, or the
    default where the best does not beat it beyond noise.
    """
    trial = used_trial(study, confirmation)
    tables = search.config_of(trial).tables()
    tables["data"] = {name: value for name, value in tables["data"].items() if name != "splits"}
    tables["training"] = {name: value for name, value in tables["training"].items() if name not in INDIFFERENT}
    tables["tuned"] = {
        "validation": round(100 * (trial.value or 0.0), 4),
        "splits": search.splits,
        "trial": trial.number,
        "trials": len(finished_trials(study)),
        "space": search.space,
        "sampler": search.sampler,
        "origin": trial.user_attrs.get("origin", "drawn"),
    }
    if confirmation is not None:
        tables["tuned"] |= confirmation.facts()
    return tables


def used_trial(study: optuna.Study, confirmation: Confirmation | None) -> optuna.trial.FrozenTrial:
    """The best trial, or that of the default settings where the best does not beat it beyond noise."""
    default = default_trial(study)
    refuted = confirmation is not None and not confirmation.better
    return default if refuted and default is not None else best_trial(study)


def write_best(folder: Path, study: optuna.Study, search: Search, confirmation: Confirmation | None = None) -> Path:
    """Write :func:`best_settings` as a file that ``glognn train --config`` reads."""
    import tomli_w

    tables = best_settings(study, search, confirmation)
    tables["data"]["dataset"] = graph_beside(search.dataset, folder)
    write_text(folder / BEST, tomli_w.dumps(tables))
    return folder / BEST
