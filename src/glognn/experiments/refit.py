"""Training on all labels, with the settings and the number of epochs that validation chose.

A run that is to be put to work leaves no label unused: after its splits, one model is trained for each of the settings
that they have, on every labelled node, for the median of the epochs that were selected with these settings. Nothing is
left to measure it by: the scores of the run are those of its splits.

``refit/`` of a run folder holds the models and ``refit.json``, which names no model until all are there.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

import glognn
from glognn.data.sources import find_source
from glognn.errors import InputError
from glognn.experiments.config import RunConfig
from glognn.experiments.environment import machine, versions
from glognn.experiments.folder import save_model
from glognn.experiments.integrity import refuse_changed, sealed, unseal
from glognn.experiments.layout import CHECKPOINT, REFIT, REFIT_RECORD
from glognn.experiments.reports import Report
from glognn.experiments.run import LoadedGraph, build_model
from glognn.experiments.saved import ChosenRun
from glognn.experiments.saved_model import SavedModel
from glognn.graph.graph import Graph
from glognn.records import NUMBER, Form, check_version, inside, read_record
from glognn.storage import measure_files, write_json
from glognn.training.checkpoint import Checkpoint
from glognn.training.devices import resolve_device
from glognn.training.driver import train

REFIT_VERSION = 1
_FORM: Form = {
    "labels": int,
    "models": [{"file": str, "splits": [int], "epochs": int, "selected": [int], "seconds": NUMBER}],
}


def ask_for_refit(folder: Path) -> None:
    """Note in the folder of a model's run that it is to be trained on all labels, too."""
    if not (folder / REFIT / REFIT_RECORD).is_file():
        write_json(folder / REFIT / REFIT_RECORD, {"schema_version": REFIT_VERSION, "labels": 0, "models": []})


def is_asked_for(folder: Path) -> bool:
    """Whether a run is to be trained on all labels, or has been."""
    return (folder / REFIT / REFIT_RECORD).is_file()


def refit(chosen: ChosenRun, graphs: dict[int, LoadedGraph]) -> Report:
    """Train on all labels, or go on with it; the record, as it lies in the folder then.

    Args:
        chosen: The finished splits of a model.
        graphs: The graph of each split.
    """
    place = inside(chosen.folder, REFIT)
    known = read_refit(chosen.folder)
    if known is not None and known["models"]:
        return known
    groups: dict[str, list[SavedModel]] = {}
    for split in chosen.splits:
        model = chosen.open(split)
        groups.setdefault(repr(replace(model.config, splits="")), []).append(model)
    found: list[Report] = []
    for number, models in enumerate(groups.values()):
        loaded = graphs[models[0].split]
        found.append({"file": f"model-{number}.safetensors"} | _train(place, models, loaded, number))
    first = graphs[chosen.splits[0]].graph
    config = chosen.places[chosen.splits[0]][1]
    record = {
        "schema_version": REFIT_VERSION,
        "labels": int((first.y >= 0).sum()),
        "models": found,
        "versions": versions(),
        "machine": machine(resolve_device(config.training.device), config.training.threads),
    }
    files = measure_files(place, [each["file"] for each in found])
    write_json(place / REFIT_RECORD, sealed(record, files))
    shutil.rmtree((place / CHECKPOINT).parent, ignore_errors=True)
    return record


def _train(place: Path, models: Sequence[SavedModel], loaded: LoadedGraph, number: int) -> Report:
    """Train the settings that some splits share on all labels."""
    config = models[0].config
    selected = [int(model.scores["epoch"]) for model in models]
    epochs = max(1, round(statistics.median(selected)))
    training = replace(config.training, epochs=epochs, early_stopping="none", selection="last", threshold="none")
    graph = on_all_labels(loaded.graph)
    model = build_model(replace(config, training=training), graph)
    checkpoint = Checkpoint(
        _checkpoint_path(place, number),
        interval=training.checkpoint_interval,
        identity=_identity(config, epochs, loaded),
    )
    result = train(model, graph, config=training, checkpoint=checkpoint)
    save_model(place / f"model-{number}.safetensors", model.cpu())
    return {
        "splits": [each.split for each in models],
        "epochs": epochs,
        "selected": selected,
        "seconds": result.seconds,
        "engine": result.engine,
        "config": config.tables(),
    }


def on_all_labels(graph: Graph) -> Graph:
    """A graph with one split, in which every labelled node trains; they validate, too, and decide nothing by it."""
    every = (graph.y >= 0).unsqueeze(1)
    return replace(graph, masks={"train": every, "val": every, "test": torch.zeros_like(every)})


def _checkpoint_path(place: Path, number: int) -> Path:
    return place / CHECKPOINT.with_name(f"{number}.safetensors")


def _identity(config: RunConfig, epochs: int, loaded: LoadedGraph) -> str:
    tables = config.tables()
    tables["data"]["dataset"] = find_source(config.dataset).label
    content = [tables, epochs, loaded.facts["fingerprint"], glognn.__version__]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_refit(folder: Path) -> Report | None:
    """The record of what was trained on all labels; without models where that is still to be done, none where nobody
    has asked for it. Files that are not as they were are refused."""
    place = inside(folder, REFIT)
    path = place / REFIT_RECORD
    try:
        check_version(path, read_record(path, {}), REFIT_VERSION)
        record: Report = read_record(path, _FORM)
    except FileNotFoundError:
        return None
    files = unseal(path, record)
    names = [each["file"] for each in record["models"]]
    if sorted(files) != sorted(names):
        raise InputError(f"'{path}' is damaged: it must list the files of its models.")
    refuse_changed(place, files)
    return record


def open_refit(chosen: ChosenRun, judged: Sequence[SavedModel]) -> tuple[list[SavedModel], str]:
    """The models that were trained on all labels, and what they are in words; none where there are none."""
    record = read_refit(chosen.folder)
    if record is None:
        return [], ""
    if not record["models"]:
        raise InputError(
            f"'{chosen.folder}' is not yet trained on all labels: glognn train --resume {chosen.folder}, or predict "
            "with the model of one split (--split)."
        )
    by_split = {model.split: model for model in judged}
    if not {split for each in record["models"] for split in each["splits"]} <= by_split.keys():
        raise InputError(f"'{chosen.folder / REFIT / REFIT_RECORD}' is damaged: it names splits that were not trained.")
    found = [
        replace(
            by_split[split],  # with its calibration, of which there is one for each split
            weights=chosen.folder / REFIT / each["file"],
            epochs=each["epochs"],
        )
        for each in record["models"]
        for split in (each["splits"] if by_split[each["splits"][0]].calibration else each["splits"][:1])
    ]
    return found, f"{describe_refit(record)} (--split takes one)"


def describe_refit(record: Report) -> str:
    """In words."""
    models, epochs = record["models"], [each["epochs"] for each in record["models"]]
    what = f"{len(models)} models" if len(models) > 1 else "model"
    shown = f"{epochs[0]}" if len(set(epochs)) == 1 else f"{min(epochs)} to {max(epochs)}"
    return f"{what} refitted on all {record['labels']:,} labels, {shown} epochs as validation chose"
