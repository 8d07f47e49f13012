"""What a reproduction consists of: every model on every dataset, split and seed, each as one run. Imports no torch.

A run's folder is named by everything that decides its outcome: dataset, model, a hash of the settings, seed and split.
Doing a plan again therefore repeats nothing that is done and reuses nothing that was done otherwise.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from glognn.data.sources import find_source
from glognn.errors import InputError
from glognn.experiments.config import ORIGINS, RunConfig, SettingsTables, find_settings, parse_splits, resolve
from glognn.experiments.layout import DONE
from glognn.graph.config import GraphConfig
from glognn.models.configs import MODELS, ModelConfig
from glognn.settings import nearest, suggest
from glognn.training.config import TrainingConfig

SETTINGS = (*ORIGINS, "default")
"""Whose settings: those that come with the package, or the defaults."""
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "glognn++-exact": ("glognn++", {"coefficient": "exact"}),
    "glognn++-released": ("glognn++", {"coefficient": "released"}),
}
"""Names of plans for a model with some settings held: the model and those settings."""
DOES_NOT_FIT = "does not fit"
"""In a table, for runs that memory is too small for: an answer, not a failure."""
INDIFFERENT = ("seed", "device", "threads", "engine", "checkpoint_interval")
"""Training settings that are no part of the hash: in the path already, or without influence on the outcome."""


@dataclass(frozen=True)
class Job:
    """One run of a plan; ``label`` is the model or variant it stands for, ``origin`` where its settings are from, and
    ``settled`` which of them were decided from its graph.
    """

    folder: Path
    config: RunConfig
    split: int
    label: str
    origin: str
    settled: tuple[str, ...] = ()

    @property
    def dataset(self) -> str:
        return self.config.dataset

    @property
    def model(self) -> str:
        return self.config.model.name

    @property
    def seed(self) -> int:
        return self.config.training.seed

    @property
    def done(self) -> bool:
        return (self.folder / DONE).exists()


Cells = dict[tuple[str, str], list[Job]]
"""The runs of a plan by dataset and label."""


def by_cell(plan: Iterable[Job]) -> Cells:
    """The runs of each cell of a table, by dataset and label."""
    cells: Cells = {}
    for job in plan:
        cells.setdefault((job.dataset, job.label), []).append(job)
    return cells


def settings_hash(tables: Mapping[str, Any]) -> str:
    """Eight letters that differ when settings (as in a record) with an influence on the outcome differ."""
    training = {name: value for name, value in tables["training"].items() if name not in INDIFFERENT}
    data = {name: value for name, value in tables["data"].items() if name != "splits"}
    groups = [
        GraphConfig.without_added(data),
        MODELS.get(tables["model"]["name"], ModelConfig).without_added(tables["model"]),
        TrainingConfig.without_added(training),
    ]
    content = json.dumps([tables["schema_version"], *groups], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:8]


def make_plan(
    root: Path,
    datasets: Iterable[str],
    models: Iterable[str],
    *,
    settings: str = "published",
    splits: str = "all",
    seeds: list[int] | None = None,
    given: dict[str, Any] | None = None,
) -> list[Job]:
    """The runs of a reproduction, dataset by dataset.

    Args:
        root: Folder of all runs.
        datasets: Names of published or generated datasets.
        models: Names of models or of :data:`VARIANTS`.
        settings: ``published`` takes the authors' settings where there are some, and defaults elsewhere; ``tuned``
            takes those that a search of ours found, else published ones, else defaults; ``equal`` likewise those of
            the search with one budget for all; a folder those of the studies in it; ``default`` takes defaults.
        splits: See :func:`~glognn.experiments.config.parse_splits`.
        seeds: ``None`` takes the seed of the settings.
        given: Settings that override those of every run that has them.
    """
    if settings not in SETTINGS and not Path(settings).is_dir():
        raise InputError(
            f"The settings must be one of {', '.join(SETTINGS)} or a folder of studies. Got {settings!r} "
            f"instead.{nearest(settings, SETTINGS)}"
        )
    jobs = []
    for dataset in datasets:
        available = find_source(dataset).num_splits
        if available is None:
            raise InputError(f"'{dataset}' is no dataset with splits of its own: name datasets of 'glognn datasets'.")
        for label in models:
            model, held = VARIANTS.get(label, (label, {}))
            origin, source = _find_settings(settings, label, model, dataset)
            [config] = resolve([model], source, {**(given or {}), **held}, dataset, splits)
            name = f"{model}-{settings_hash(config.tables())}"
            for seed in seeds if seeds is not None else [config.training.seed]:
                seeded = replace(config, training=replace(config.training, seed=seed))
                for split in parse_splits(splits, available):
                    folder = root / find_source(dataset).label / name / f"seed-{seed}" / f"split-{split}"
                    jobs.append(Job(folder, seeded.for_split(split), split, label, origin))
    return jobs


def _find_settings(wanted: str, label: str, model: str, dataset: str) -> tuple[str, SettingsTables | None]:
    """The best settings of the wanted kind, or what stands in for them, and whose they are."""
    if wanted not in ("published", "default") and (found := find_settings(wanted, label, dataset)):
        origin = found[0].get("tuned", {}).get("origin", "drawn")
        return "published" if origin == "published" else "searched", found[0]
    if wanted != "default" and (found := find_settings("published", model, dataset)):
        return "published", found[0]
    return "default", None


def split_names(names: str | Iterable[str]) -> list[str]:
    """``a,b,c``, or names in a list, as a list."""
    given = names.split(",") if isinstance(names, str) else names
    return [name.strip() for name in given if name.strip()]


def parse_names(given: str | Iterable[str], known: Iterable[str], what: str) -> list[str]:
    """``a,b,c``, or names in a list, as names that are all known, each once."""
    names, choices = split_names(given), list(known)
    for name in names:
        if name not in choices:
            raise InputError(f"There is no {what} '{name}'.{suggest(name, choices)}")
    if not names or len(set(names)) != len(names):
        raise InputError(f"Name each {what} once. Got {given!r} instead.")
    return names


def parse_seeds(seeds: str | Iterable[int]) -> list[int]:
    """``0``, ``0,3`` or ``0-2``, or numbers in a list, as a list."""
    text = seeds if isinstance(seeds, str) else ",".join(str(seed) for seed in seeds)
    try:
        return parse_splits(text)
    except InputError:
        raise InputError(f"seeds must be numbers such as '0', '0,3' or '0-2'. Got {text!r} instead.") from None
