"""What one experiment is: a dataset, its preparation, a model, its training, and the splits. Imports no torch.

As a file it is TOML with the tables ``[data]``, ``[model]`` and ``[training]``; everything may be left out but is
always complete in a run folder. Published settings lie in ``published/<model>/<dataset>.toml`` in the same form,
with a ``[published]`` table that names their source and the paper's number. Settings that a search of ours found lie in
``tuned/<label>/<dataset>.toml``, with a ``[tuned]`` table that says how they were found; those of a search with an
equal budget for every model in ``equal/``.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from glognn.data.layout import TABLES
from glognn.data.sources import find_source
from glognn.errors import InputError
from glognn.graph.config import GraphConfig
from glognn.models.configs import MODELS, ModelConfig, find_model
from glognn.settings import suggest
from glognn.training.config import TrainingConfig

SCHEMA_VERSION = 1
ALL_SPLITS = "all"
DEFAULT_DATASET = "pairs"
DEFAULT_MODEL = "glognn++"
PUBLISHED_PREFIX = "published:"
TUNED_PREFIX = "tuned:"

Tables = dict[str, dict[str, Any]]


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
        if folder is not None and self.dataset.endswith(".npz"):
            graph, place = Path(self.dataset), folder.resolve()
            if graph.parent in (place, *place.parents) and (graph.parent / TABLES).is_file():
                tables["data"]["dataset"] = os.path.relpath(graph, place)
        return tomli_w.dumps(tables)

    def for_split(self, split: int) -> RunConfig:
        return replace(self, splits=str(split))


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


def read_tables(path: Path) -> Tables:
    """Read a settings file; only its form is checked here. A graph file's path may be relative to it."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"There is no settings file '{path}'.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"'{path}' is not a TOML file: {error}.") from None
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}.") from None
    if "runs" in content:
        raise InputError(f"'{path}' lists several runs ({', '.join(content['runs'])}): use the file of one of them.")
    version = content.pop("schema_version", SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        raise InputError(f"schema_version of '{path}' must be {SCHEMA_VERSION}. Got {version!r} instead.")
    known = ("data", "model", "training", "published", "tuned")
    for name, table in content.items():
        if name not in known or not isinstance(table, dict):
            raise InputError(f"'{path}' has no place for '{name}': its tables are {', '.join(known)}.")
    dataset = content.get("data", {}).get("dataset")
    if isinstance(dataset, str) and dataset.endswith(".npz") and (path.parent / dataset).is_file():
        content["data"]["dataset"] = str((path.parent / dataset).resolve())
    return content


def has_published(model: str, dataset: str) -> bool:
    """Whether there are settings of the authors for a model on a dataset."""
    return (_root("published") / model / f"{dataset}.toml").is_file()


def _root(kind: str) -> Path:
    return Path(str(resources.files("glognn.experiments"))) / kind


def published_path(model: str, dataset: str) -> Path:
    """The file of the authors' settings for a model on a dataset."""
    root = _root("published")
    path = root / model / f"{dataset}.toml"
    if not path.is_file():
        known = sorted(found.stem for found in (root / model).glob("*.toml"))
        raise _no_settings("published", model, dataset, known)
    return path


def _no_settings(kind: str, model: str, dataset: str, known: list[str]) -> InputError:
    if not known:
        return InputError(f"There are no {kind} settings for the model '{model}'.")
    return InputError(f"There are no {kind} settings of {model} for '{dataset}'.{suggest(dataset, known)}")


def tuned_paths(label: str, dataset: str, kind: str = "tuned") -> list[Path]:
    """Files of settings searched for a model or one of its variants, the best on validation first.

    ``kind`` is ``tuned``, ``equal`` (see :data:`~glognn.experiments.plan.SETTINGS`) or a folder of studies.
    """
    root = _root(kind) if kind in ("tuned", "equal") else Path(kind)
    places = (f"{name}/{dataset}{end}" for name in (label, f"{label}-*") for end in (".toml", "/best.toml"))
    found = [path for place in places for path in root.glob(place)]
    return sorted(found, key=lambda path: (-read_tables(path)["tuned"]["validation"], path))


def tuned_path(label: str, dataset: str) -> Path:
    """The best settings that a search found for a model, or a variant of one, on a dataset."""
    found = tuned_paths(label, dataset)
    if not found:
        known = sorted({path.stem for pattern in (label, f"{label}-*") for path in _root("tuned").glob(f"{pattern}/*")})
        raise _no_settings("tuned", label, dataset, known)
    return found[0]


def resolve(
    models: Iterable[str], source: str | None, given: Mapping[str, Any], dataset: str | None, splits: str | None
) -> list[RunConfig]:
    """One complete configuration for each model: defaults, then the settings file, then what was given by hand.

    Args:
        models: Model names; when empty, the file's, else the default one.
        source: A settings file, or ``published:<dataset>`` or ``tuned:<dataset>``, which name the dataset too.
        given: Settings by name, from any of the three groups. With several models a model setting goes to the
            models that have it.
        dataset: Name or file, see :func:`~glognn.data.sources.find_source`; when ``None``, the settings file's or the
            default one. How its graph is prepared and scored are facts of the dataset that settings override.
        splits: See :func:`parse_splits`; when ``None``, the settings file's or all.
    """
    names = list(models)
    if not names:
        shipped = source is None or source.startswith((PUBLISHED_PREFIX, TUNED_PREFIX))
        tables = {} if source is None or shipped else read_tables(Path(source))
        names = [str(tables.get("model", {}).get("name", DEFAULT_MODEL))]
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
            hint = f" (it belongs to {', '.join(owners)})" if owners else suggest(name, sorted(general | of_models))
            raise InputError(f"{chosen} has no setting '{name}'{hint}.")


def _resolve_one(
    model: type[ModelConfig], source: str | None, given: Mapping[str, Any], dataset: str | None, splits: str | None
) -> RunConfig:
    tables: Tables = {}
    usual_dataset = DEFAULT_DATASET
    if source is not None and source.startswith(PUBLISHED_PREFIX):
        usual_dataset = source.removeprefix(PUBLISHED_PREFIX)
        tables = read_tables(published_path(model.name, usual_dataset))
    elif source is not None and source.startswith(TUNED_PREFIX):
        usual_dataset = source.removeprefix(TUNED_PREFIX)
        tables = read_tables(tuned_path(model.name, usual_dataset))
    elif source is not None:
        tables = read_tables(Path(source))
    from_file = dict(tables.get("model", {}))
    if from_file.pop("name", model.name) != model.name:
        # The file describes another model: of its settings, take those this one has too.
        from_file = {name: value for name, value in from_file.items() if name in model.names()}
    data = dict(tables.get("data", {}))
    file_dataset, file_splits = data.pop("dataset", usual_dataset), data.pop("splits", ALL_SPLITS)
    found = find_source(str(dataset or file_dataset))
    usual = found.graph.as_dict() | dict(model.graph_settings)

    def pick(names: list[str]) -> dict[str, Any]:
        return {name: value for name, value in given.items() if name in names}

    config = RunConfig(
        dataset=found.name,
        splits=str(splits or file_splits),
        graph=GraphConfig.from_mapping(usual | data | pick(GraphConfig.names())),
        model=model.from_mapping(from_file | pick(model.names())),
        training=TrainingConfig.from_mapping(
            {"metric": found.metric} | tables.get("training", {}) | pick(TrainingConfig.names())
        ),
    )
    parse_splits(config.splits)
    return config


def read_config(path: Path) -> RunConfig:
    """The complete configuration a run folder holds."""
    [config] = resolve([], str(path), {}, None, None)
    return config
