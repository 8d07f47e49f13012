"""Opening what lies in a folder and predicts: a finished run of ``glognn train``, an automatic one, or what
``GloGNNClassifier.save`` wrote.

All are opened by :func:`open_saved`: as one :class:`~glognn.experiments.saved_model.SavedModel`, by whatever names
the folder holds it, as the mean of several, or as an ensemble.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glognn.errors import InputError
from glognn.experiments.config import RunConfig, read_config
from glognn.experiments.folder import by_model, find_runs
from glognn.experiments.integrity import check_files, check_tables, refuse_changed
from glognn.experiments.layout import AUTO, CLASSIFIER, CONFIG, DONE, MODEL
from glognn.experiments.reports import Report, check_settings, damaged, read_classifier, read_report
from glognn.experiments.saved_base import Saved
from glognn.experiments.saved_model import SavedModel
from glognn.graph.config import GraphConfig
from glognn.models.configs import find_model
from glognn.records import inside, misfit
from glognn.training.config import TrainingConfig

if TYPE_CHECKING:
    from glognn.experiments.saved_ensemble import SavedEnsemble


def open_saved(folder: Path, models: Sequence[str] = (), split: int | None = None) -> Saved:
    """A trained model of a folder: of several models the best on validation, of several splits the mean of theirs, or
    what was trained on all labels after them.

    Of an automatic run, and of a classifier fitted by one, it is the ensemble.

    Its files must be those that it was finished with, as far as that is recorded.

    Args:
        folder: A run folder, or that of a saved classifier.
        models: Names of models, one of which it must be; none: whichever it is.
        split: One split of a run alone.
    """
    if (folder / CLASSIFIER).is_file():
        return _open_classifier(folder, models, split)
    if (folder / AUTO).is_file():
        from glognn.experiments.saved_ensemble import open_ensemble

        return open_ensemble(folder, models, split)
    if (folder / CONFIG).is_file():
        from glognn.experiments.saved_mean import open_mean

        return open_mean(folder, models) if split is None else open_run(folder, models, split)
    raise InputError(
        f"'{folder}' holds no trained model: no {CONFIG} of a run, and no readable {CLASSIFIER} of a saved classifier."
    )


def holds_ensemble(folder: Path) -> bool:
    """Whether it is of an automatic run, or of a classifier fitted by one."""
    if (folder / CLASSIFIER).is_file():
        return "ensemble" in read_classifier(folder)[0]["files"]
    return (folder / AUTO).is_file()


def open_run(folder: Path, models: Sequence[str] = (), split: int | None = None) -> SavedModel:
    """A trained model of a run folder on one split, the first unless another is named."""
    chosen = choose_run(folder, models)
    if split is not None and split not in chosen.splits:
        raise InputError(
            f"'{chosen.folder}' was not trained on split {split}. It was on: {', '.join(map(str, chosen.splits))}."
        )
    why = [chosen.why] if chosen.why else []
    if split is None and len(chosen.splits) > 1:
        why.append(f"split {chosen.splits[0]}, the first of {len(chosen.splits)} (--split)")
    return replace(chosen.open(chosen.splits[0] if split is None else split), why=", ".join(why))


@dataclass(frozen=True)
class ChosenRun:
    """The runs of one model in a folder, finished.

    Attributes:
        folder: Of the model.
        why: How it was chosen, where there was a choice.
        splits: That were trained.
        places: The folder and the settings of each.
    """

    folder: Path
    why: str
    splits: Sequence[int]
    places: Mapping[int, tuple[Path, RunConfig]]

    def open(self, split: int) -> SavedModel:
        """The model of a split; files that are not as they were are refused."""
        child, config = self.places[split]
        report = read_report(child)
        check_settings(child, report, config)
        check_files(child)
        check_tables(child, config.dataset)
        return SavedModel(
            kind="run",
            folder=child,
            why="",
            config=config,
            record=report,
            weights=child / MODEL,
            split=report["split"],
            scores={"metric": report["metric"], "engine": report.get("engine"), **report["scores"]["selected"]},
            epochs=report["scores"]["last"]["epoch"],
            threshold=report.get("threshold"),
            threshold_for=str(report.get("threshold_for", "")),
            fingerprint=report["data"]["fingerprint"],
        )


def choose_run(folder: Path, models: Sequence[str] = ()) -> ChosenRun:
    """Of the models in a run folder, or of some of them by name, the best on validation."""
    runs = by_model(find_runs(folder))
    wanted = {place: group for place, group in runs.items() if not models or group[0][1].model.name in models}
    if not wanted:
        held = ", ".join(group[0][1].model.name for group in runs.values())
        raise InputError(f"'{folder}' holds no run of the model {_either(models)}. It holds: {held}.")
    for child in (child for group in wanted.values() for child, _ in group):
        if not (child / DONE).exists():
            raise InputError(f"The run in '{child}' is not finished: glognn train --resume {folder}.")
    reports = {place: [read_report(child) for child, _ in group] for place, group in wanted.items()}
    best = max(wanted, key=lambda place: statistics.fmean(map(_validation, reports[place])))
    why = ""
    if len(wanted) > 1:
        why = f"model {wanted[best][0][1].model.name}, the best of {len(wanted)} on validation (--model)"
    places: dict[int, tuple[Path, RunConfig]] = {}
    for (child, config), report in zip(wanted[best], reports[best], strict=True):
        if report["kind"] == "splits":
            check_settings(child, report, config)
            parts = {split: inside(child, f"split-{split}") for split in report["splits"]}
            places |= {split: (place, read_config(place / CONFIG)) for split, place in parts.items()}
        else:
            places[report["split"]] = child, config
    return ChosenRun(best, why, list(places), places)


def _either(models: Sequence[str]) -> str:
    return " or ".join(f"'{name}'" for name in models)


def _validation(report: Report) -> float:
    score = report["scores"]["selected"]["val"]
    return float(score if report["kind"] == "run" else score["mean"])


def _open_classifier(folder: Path, models: Sequence[str], split: int | None) -> SavedModel | SavedEnsemble:
    record, files = read_classifier(folder)
    refuse_changed(folder, files)
    if split is not None:
        raise InputError(f"'{folder}' is a saved classifier, which was fitted once: leave out split {split}.")
    if "ensemble" in record["files"]:
        from glognn.experiments.saved_ensemble import open_ensemble

        found = open_ensemble(folder / record["files"]["ensemble"], models, record["split"])
        return replace(found, kind="classifier", fitted=record)
    params = {name: "none" if value is None else value for name, value in record["params"].items()}
    params["seed"] = record["seed"]

    def pick(config: type[Any]) -> Any:
        return config.from_mapping({name: params[name] for name in config.names() if name in params})

    groups = record.get("settings", {})
    if wrong := misfit(groups, dict, "settings") or misfit(groups, dict.fromkeys(groups, dict), "settings"):
        raise damaged(folder, wrong)
    params |= {name: value for group in groups.values() for name, value in group.items()}
    try:
        model = find_model(params["model"])
        config = RunConfig(
            dataset=str(folder / record["files"]["graph"]),
            splits="0",
            graph=pick(GraphConfig),
            model=pick(model),
            training=pick(TrainingConfig),
        )
    except InputError as error:
        raise damaged(folder, error) from None
    if models and model.name not in models:
        raise InputError(f"'{folder}' is a saved classifier of the model '{model.name}', not {_either(models)}.")
    return SavedModel(
        kind="classifier",
        folder=folder,
        why="",
        config=config,
        record=record,
        weights=folder / record["files"]["model"],
        split=0,
        scores={"test": None, **record["scores"]},
        epochs=record["epochs"],
        threshold=record["threshold"],
        threshold_for=str(record.get("threshold_for", "")),
        fingerprint=record["data"]["fingerprint"],
    )
