"""What one experiment is: a dataset, its preparation, a model, its training, and the splits. Imports no torch.

As a file it is TOML with the tables ``[data]``, ``[model]`` and ``[training]``; everything may be left out but is
always complete in a run folder. Settings that come with the package lie in ``settings/<origin>/<model>.toml`` in the
same form, a group of tables for each dataset (``[texas.model]``). Those of ``published`` have a table of that name with
their source and the paper's number; those that searches of ours found, ``tuned`` and (with one budget for every model)
``equal``, have a ``tuned`` table that says how.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from glognn.data.layout import TABLES
from glognn.data.sources import find_source
from glognn.errors import InputError, about
from glognn.experiments.layout import AUTO
from glognn.graph.config import GraphConfig
from glognn.models.configs import MODELS, ModelConfig, find_model
from glognn.records import read_toml
from glognn.settings import suggest
from glognn.training.config import TrainingConfig

SCHEMA_VERSION = 1
ALL_SPLITS = "all"
DEFAULT_DATASET = "pairs"
DEFAULT_MODEL = "glognn++"
ORIGINS = ("published", "tuned", "equal")
"""Settings of the package: the authors', those of our longer searches, those of 25 trials for every model."""
PUBLISHED_PREFIX = "published:"

SettingsTables = dict[str, dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Everything that decides the outcome of training one model on some splits of one dataset."""

    dataset: str
    splits: str
    graph: GraphConfig
    model: ModelConfig
    training: TrainingConfig

    def tables(self) -> dict[str, Any]:
        """The complete settings in the layout of the TOML file."""
        return {
            "schema_version": SCHEMA_VERSION,
            "data": {"dataset": self.dataset, "splits": self.splits, **self.graph.as_dict()},
            "model": {"name": self.model.name, **self.model.as_dict()},
            "training": self.training.as_dict(),
        }

    def to_toml(self, folder: Path | None = None) -> str:
        """The file's text; in a run folder that holds its own graph, the graph's path is relative to the file."""
        import tomli_w

        tables = self.tables()
        if folder is not None:
            tables["data"]["dataset"] = graph_beside(self.dataset, folder)
        return tomli_w.dumps(tables)

    def for_split(self, split: int) -> RunConfig:
        return replace(self, splits=str(split))


def graph_beside(dataset: str, folder: Path) -> str:
    """What a file in a folder names a dataset by: a graph that was made of tables for it, by the way to it."""
    graph, place = Path(dataset), folder.resolve()
    kept = graph.suffix == ".npz" and any((graph.parent / name).is_file() for name in (TABLES, AUTO))
    return os.path.relpath(graph, place) if kept and graph.parent in (place, *place.parents) else dataset


def parse_splits(text: str, available: int | None = None) -> list[int]:
    """``all``, ``3``, ``0,2,5`` or ``0-4`` as numbers; checked against what is available when that is known."""
    if text == ALL_SPLITS:
        return list(range(available or 0))
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise InputError(f"splits must be 'all' or numbers such as '3', '0,2,5' or '0-4'. Got {text!r} instead.")
        numbers += range(int(first), int(last if dash else first) + 1)
    if not numbers or len(set(numbers)) != len(numbers):
        raise InputError(f"splits must name each split once, smaller number first. Got {text!r} instead.")
    if available is not None and max(numbers) >= available:
        raise InputError(f"The split must be in the range [0, {available - 1}]. Got {max(numbers)} instead.")
    return numbers


def read_settings(path: Path) -> SettingsTables:
    """Read a settings file; only its form is checked here. A graph file's path may be relative to it."""
    content = _read(path)
    _check_form(content, f"'{path}'")
    dataset = content.get("data", {}).get("dataset")
    if isinstance(dataset, str) and dataset.endswith(".npz") and (path.parent / dataset).is_file():
        content["data"]["dataset"] = str((path.parent / dataset).resolve())
    return content


def _read(path: Path) -> dict[str, Any]:
    try:
        content = read_toml(path)
    except FileNotFoundError:
        raise InputError(f"There is no settings file '{path}'.") from None
    if "runs" in content:
        runs = content["runs"] if isinstance(content["runs"], list) else [content["runs"]]
        raise InputError(f"'{path}' lists several runs ({', '.join(map(str, runs))}): use the file of one of them.")
    version = content.pop("schema_version", SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        raise InputError(f"schema_version of '{path}' must be {SCHEMA_VERSION}. Got {version!r} instead.")
    return content


def _check_form(tables: Mapping[str, Any], place: str) -> None:
    known = ("data", "model", "training", "published", "tuned")
    for name, table in tables.items():
        if name not in known or not isinstance(table, dict):
            raise InputError(f"{place} has no place for '{name}': its tables are {', '.join(known)}.")


def read_collection(path: Path) -> dict[str, SettingsTables]:
    """The settings of one model by dataset; only their form is checked here."""
    content = _read(path)
    for dataset, tables in content.items():
        if not isinstance(tables, dict):
            raise InputError(f"'{path}' has no place for '{dataset}': it holds a group of tables for each dataset.")
        _check_form(tables, f"'{dataset}' of '{path}'")
    return content


def _collections(root: Path, label: str) -> list[dict[str, SettingsTables]]:
    """Of a model and its variants, or of a variant."""
    return [read_collection(path) for name in (label, f"{label}-*") for path in sorted(root.glob(f"{name}.toml"))]


@cache
def _shipped(origin: str, label: str) -> list[dict[str, SettingsTables]]:
    return _collections(Path(__file__).parent / "settings" / origin, label)


def find_settings(kind: str, label: str, dataset: str) -> list[SettingsTables]:
    """Settings for a model (its variants included) or for a variant on a dataset, the best on validation first.

    ``kind`` is one of :data:`ORIGINS`, or a folder of studies or of files such as the package has.
    """
    if kind in ORIGINS:
        found = _shipped(kind, label)
    else:
        places = [f"{name}/{dataset}{end}" for name in (label, f"{label}-*") for end in (".toml", "/best.toml")]
        single = [read_settings(path) for place in places for path in sorted(Path(kind).glob(place))]
        found = [*_collections(Path(kind), label), *({dataset: tables} for tables in single)]
    known = [tables[dataset] for tables in found if dataset in tables]
    return sorted(known, key=lambda tables: -tables.get("tuned", {}).get("validation", 0.0))


def has_published(model: str, dataset: str) -> bool:
    """Whether there are settings of the authors for a model on a dataset."""
    return bool(find_settings("published", model, dataset))


def _best_settings(origin: str, label: str, dataset: str) -> SettingsTables:
    if found := find_settings(origin, label, dataset):
        return found[0]
    known = sorted({name for tables in _shipped(origin, label) for name in tables})
    if not known:
        raise InputError(f"There are no {origin} settings for the model '{label}'.")
    raise InputError(f"There are no {origin} settings of {label} for '{dataset}'.{suggest(dataset, known)}")


def resolve(
    models: Iterable[str],
    source: str | SettingsTables | None,
    given: Mapping[str, Any],
    dataset: str | None,
    splits: str | None,
) -> list[RunConfig]:
    """One complete configuration for each model: defaults, then the settings file, then what was given by hand.

    Args:
        models: Model names; when empty, the file's, else the default one.
        source: A settings file, its tables, or one of :data:`ORIGINS` with a dataset, as in ``published:texas``.
        given: Settings by name, from any of the three groups. With several models a model setting goes to the
            models that have it.
        dataset: Name or file, see :func:`~glognn.data.sources.find_source`; when ``None``, the settings file's or the
            default one. How its graph is prepared and scored are facts of the dataset that settings override.
        splits: See :func:`parse_splits`; when ``None``, the settings file's or all.
    """
    if isinstance(source, str) and not source.startswith(tuple(f"{origin}:" for origin in ORIGINS)):
        tables = read_settings(Path(source))
        with about(f"With the settings of '{source}'"):
            return resolve(models, tables, given, dataset, splits)
    names = list(models)
    if not names:
        named = source.get("model", {}) if isinstance(source, dict) else {}
        names = [str(named.get("name", DEFAULT_MODEL))]
    classes = [find_model(name) for name in names]
    if len(set(names)) != len(names):
        raise InputError(f"Each model must be named once. Got {', '.join(names)} instead.")
    _check_names(given, classes)
    return [_resolve_one(config, source, given, dataset, splits) for config in classes]


def _check_names(given: Mapping[str, Any], classes: list[type[ModelConfig]]) -> None:
    general = {*GraphConfig.names(), *TrainingConfig.names()}
    of_models = {name for config in classes for name in config.names()}
    for name in given:
        if name not in general | of_models:
            owners = [config.name for config in MODELS.values() if name in config.names()]
            chosen = " or ".join(config.title for config in classes)
            hint = (
                f" (it belongs to {', '.join(owners)})." if owners else f".{suggest(name, sorted(general | of_models))}"
            )
            raise InputError(f"{chosen} has no setting '{name}'{hint}")


def _resolve_one(
    model: type[ModelConfig],
    source: str | SettingsTables | None,
    given: Mapping[str, Any],
    dataset: str | None,
    splits: str | None,
) -> RunConfig:
    tables, usual_dataset = source or {}, DEFAULT_DATASET
    if isinstance(tables, str):
        origin, _, usual_dataset = tables.partition(":")
        tables = _best_settings(origin, model.name, usual_dataset)
    from_file = dict(tables.get("model", {}))
    if from_file.pop("name", model.name) != model.name:
        # The file describes another model: of its settings, take those this one has too.
        from_file = {name: value for name, value in from_file.items() if name in model.names()}
    data = dict(tables.get("data", {}))
    file_dataset, file_splits = data.pop("dataset", usual_dataset), data.pop("splits", ALL_SPLITS)
    found = find_source(str(dataset or file_dataset))
    wishes = {} if found.kind == "shards" else dict(model.graph_settings)  # a graph that is prepared has them behind it
    usual = found.graph.as_dict() | wishes

    def pick(names: list[str]) -> dict[str, Any]:
        return {name: value for name, value in given.items() if name in names}

    config = RunConfig(
        dataset=found.name,
        splits=str(splits or file_splits),
        graph=GraphConfig.from_mapping(usual | data | pick(GraphConfig.names())),
        model=model.from_mapping(from_file | pick(model.names())),
        training=TrainingConfig.from_mapping(
            {"metric": found.metric, **model.training_settings}
            | tables.get("training", {})
            | pick(TrainingConfig.names())
        ),
    )
    parse_splits(config.splits)
    return config


def read_config(path: Path) -> RunConfig:
    """The complete configuration a run folder holds."""
    [config] = resolve([], str(path), {}, None, None)
    return config
