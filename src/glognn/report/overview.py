"""What lies in a folder as one document: runs, automatic runs, searches, tables of the paper, benchmarks.

Everything is read from records; nothing is trained, and nothing in the folder is changed. Every part says on what it
was made and with which command it is made again.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from glognn.bench.records import KIND, SCHEMA_VERSION
from glognn.errors import InputError
from glognn.experiments.comparison import JUDGED, Cell, Comparison
from glognn.experiments.folder import by_model, find_runs
from glognn.experiments.layout import AUTO, CONFIG, DONE, ENSEMBLE, MEMBERS
from glognn.experiments.leaderboard import standings
from glognn.experiments.reports import read_ensemble, read_report
from glognn.experiments.search import BEST, JOURNAL, STUDY
from glognn.records import NUMBER, Form, check_version, misfit, read_record
from glognn.report.bench import full_table, notes, profile_tables
from glognn.report.comparison import comparison_table
from glognn.report.curves import plot_curves, split_folders
from glognn.report.document import (
    Block,
    Column,
    Document,
    Figure,
    Heading,
    Table,
    Text,
    columns,
    numeral,
    row,
    scored,
    table,
)
from glognn.report.leaderboard import BEST as BEST_SINGLE
from glognn.report.leaderboard import STAR, leaderboard_table, plot_leaderboard
from glognn.report.listing import difference_table, find_groups, run_table
from glognn.report.models import compare_runs
from glognn.report.summary import beware, decisions, ensemble_decision, summary_table
from glognn.report.text import class_score, in_unit, scale_of, score_name

COMPARED = "table.json"
"""Of a reproduction's folder: its tables as data."""
_DETAILED = 20
"""Runs of a folder up to which each has a part of its own."""
_TRIALS = 200
_MAYBE = (*NUMBER, type(None))
_COMPARISONS: Form = [
    {
        "judged": set(JUDGED),
        "reference": str,
        "ranks": dict,
        "ranked_datasets": [str],
        "cells": [{"dataset": str, "model": str, "status": str, "runs": int, "wanted": int}],
    }
]
_BENCH: Form = {
    "config": dict,
    "rows": [{"dataset": str, "method": str, "problem": (str, type(None))}],
    "versions": dict,
    "machine": dict,
}
_NUMBERS = ("mean", "std", "low", "high", "paper_mean", "paper_std", "difference", "p_value")
_TIMED = ("dataset", "method")
_DAMAGE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What numbers raise that are none, deep inside of a record."""

Found = Iterator[Block]


def folder_document(place: Path, pictures: Path) -> Document:
    """The document of a folder, or of the record of a benchmark.

    Args:
        place: What it is of.
        pictures: An empty folder, into which pictures are drawn.
    """
    if not place.exists():
        raise InputError(f"There is no folder or record '{place}'.")
    parts = list(_parts(place))
    if not parts:
        raise InputError(f"'{place}' holds nothing to report: no run, search, table or benchmark.")
    blocks: list[Block] = []
    runs = [part for kind, part in parts if kind == "run"]
    if len(parts) > 1 and runs:
        groups = find_groups(place)
        blocks += [Heading("All runs"), run_table(groups)]
        if (found := difference_table(groups)) is not None and len(groups) <= _DETAILED:
            blocks += [Heading("Settings in which they differ", 2), found]
    left_out = len(runs) > _DETAILED
    if left_out:
        blocks.append(
            Text(f"{len(runs):,} run folders are listed; a report of one of them shows its curves and settings.")
        )
    for number, (kind, part) in enumerate(parts):
        if kind == "run" and left_out:
            continue
        drawn = pictures / str(number)
        drawn.mkdir(parents=True, exist_ok=True)
        title = place.resolve().name if part == place else part.relative_to(place).as_posix()
        if len(parts) > 1:
            blocks.append(Heading(f"{title}: {_KINDS[kind][0]}"))
        blocks += _lowered(_KINDS[kind][1](part, drawn), 1 if len(parts) > 1 else 0)
    return Document(f"{place.resolve().name}: {_KINDS[parts[0][0]][0] if len(parts) == 1 else 'report'}", tuple(blocks))


def _lowered(blocks: Iterable[Block], by: int) -> list[Block]:
    return [Heading(each.text, each.level + by) if isinstance(each, Heading) else each for each in blocks]


def _parts(place: Path) -> Iterator[tuple[str, Path]]:
    """What there is to report, from above to below; what lies inside of a part belongs to it."""
    if place.is_file():
        if place.suffix == ".json" and _is_bench(place):
            yield "bench", place
        return
    kind = next((kind for name, kind in _SIGNS.items() if (place / name).is_file()), None)
    if kind is not None:
        yield kind, place
        return
    children = sorted(each for each in place.iterdir() if not each.name.startswith("."))
    for child in children:
        if child.is_dir() or child.suffix == ".json":
            yield from _parts(child)


def _is_bench(path: Path) -> bool:
    try:
        content = read_record(path, {})
    except InputError:
        return False
    return isinstance(content, dict) and content.get("kind") == KIND


def _run(folder: Path, pictures: Path) -> Found:
    runs = [child for group in by_model(find_runs(folder)).values() for child, _ in group if (child / DONE).is_file()]
    if not runs:
        yield Text(f"It is not finished: glognn train --resume {shlex.quote(str(folder))}")
        return
    reports = [read_report(run) for run in runs]
    yield Heading("Scores")
    yield summary_table(reports)
    for told in filter(None, (decisions(reports), beware(reports))):
        yield Text(told)
    if len(runs) > 1:
        yield Figure(
            compare_runs(folder, runs, pictures / "models.svg"), "Scores of the models, with those of baselines"
        )
    if any(split_folders(run) for run in runs):
        yield Heading("Learning")
        drawn = plot_curves(folder, runs, pictures / "curves.svg")
        yield Figure(drawn, "Score and loss by epoch; the diamond is the epoch whose weights were kept")
    for run, report in zip(runs, reports, strict=True):
        name = report["config"]["model"]["name"]
        several = f": {name}" if len(runs) > 1 else ""
        if report["kind"] == "splits":
            yield Heading(f"Splits{several}")
            yield _split_table(run, report)
        yield from _by_class(report, f"Class by class{several}")
        yield Heading(f"Settings{several}")
        yield _settings(report["config"])
        yield Text(_again("train", "--config", run / CONFIG, "--out", f"runs/{name}-again"), code=True)
    yield from _environment(reports[0])


def _split_table(run: Path, report: Mapping[str, Any]) -> Table:
    names = ("training", "validation", "test", "epoch kept", "seconds")
    rows = []
    for split in split_folders(run):
        found = read_report(split)
        scores = found["scores"]["selected"]
        shares = (scored(report["metric"], scores[name]) for name in ("train", "val", "test"))
        rows.append(row(numeral(found["split"], "d"), *shares, numeral(scores["epoch"], ","),
                        numeral(found["seconds"], ".1f")))  # fmt: skip
    return table([Column("split", number=True), *(Column(name, number=True) for name in names)], rows,
                 title=in_unit(score_name(report), report["metric"]))  # fmt: skip


def _by_class(record: Mapping[str, Any], title: str) -> Found:
    """What was found of each class among the nodes held out."""
    if "held_out" not in record:
        return
    rows = []
    for each in record["held_out"]["classes"]:
        nodes, predicted, right = (each[name] for name in ("nodes", "predicted", "right"))
        shares = [numeral(100 * right / below, ".1f") if below else numeral(None, "") for below in (nodes, predicted)]
        rows.append(row(str(each["class"]), numeral(nodes, ","), numeral(predicted, ","), *shares))
    names = ("nodes", "predicted", "recall, %", "precision, %")
    yield Heading(title)
    held_out = {"val": "validation", "test": "test"}[record["held_out"]["set"]]
    yield table(columns("class", *names, numbers=names), rows, title=f"Of {held_out} nodes, which were held out")


def _settings(config: Mapping[str, Any]) -> Table:
    rows = [
        row(group, name, str(value))
        for group in ("data", "model", "training")
        for name, value in config.get(group, {}).items()
    ]
    return table(columns("group", "setting", "value"), rows)


def _environment(record: Mapping[str, Any]) -> Found:
    yield Heading("Environment")
    rows = [row(name, str(value)) for part in ("versions", "machine") for name, value in record.get(part, {}).items()]
    yield table(
        columns("", "found"),
        [*rows, *(row(name, str(record[name])) for name in ("finished", "started") if record.get(name))],
    )


def _again(*words: object) -> str:
    """A command that makes a number again."""
    return " ".join(["glognn", *(shlex.quote(str(word)) for word in words)])


def _auto(folder: Path, pictures: Path) -> Found:
    if not (folder / ENSEMBLE).is_file():
        yield Text(f"No member is trained yet: glognn train --resume {shlex.quote(str(folder))}")
        return
    record = read_ensemble(folder)
    rows = standings(record)
    yield Heading("Leaderboard")
    yield leaderboard_table(rows, record["metric"])
    yield Text(f"{STAR} {BEST_SINGLE} on validation; {score_name(record)}; splits: {record['splits_origin']}")
    drawn = plot_leaderboard(rows, score_name(record), pictures / "leaderboard.svg", record["metric"])
    yield Figure(drawn, "Scores of the members and of their ensemble, with spreads, weights and baselines")
    yield Text(record["description"])
    for told in filter(None, (decisions([ensemble_decision(record)]), beware([record]))):
        yield Text(told)
    yield from _by_class(record, "Class by class")
    yield Heading("Made again")
    yield Text("auto.toml holds what was asked for; members with their settings:")
    yield table(
        columns("member", "model", "settings"),
        [
            row(each["name"], each["model"], ", ".join(f"{name} {value}" for name, value in each["settings"].items()))
            for each in record["members"]
        ],
    )
    best = next(each for each in record["members"] if each["name"] == record["best_single"]["name"])
    config = folder / MEMBERS / best["place"] / f"split-{next(iter(record['splits']))}" / CONFIG
    if config.is_file():
        yield Text(f"The best single one, {best['name']}, by itself:")
        yield Text(_again("train", "--config", config, "--out", "runs/again"), code=True)
    yield from _environment(record)


def _study(folder: Path, pictures: Path) -> Found:
    from optuna.trial import TrialState

    from glognn.experiments.search import by_own_names, finished_trials, open_study, read_search
    from glognn.report.study import plot_study

    search = read_search(folder)
    if not (folder / JOURNAL).is_file():
        yield Text("Its trials lie in another storage: they are not shown.")
        return
    study = by_own_names(open_study(folder, search), search)
    trials = sorted(finished_trials(study), key=lambda trial: -(trial.value or 0.0))
    config = search.config({}).training if not trials else search.config_of(trials[0]).training
    metric = class_score(config.metric, config.positive_class or "the rarer class")
    where = f"the space {search.space}, splits {search.splits}"
    yield Text(f"{search.model} on {search.dataset}: {len(trials):,} trials of {where}")
    done = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    names = sorted({name for trial in done for name in trial.params})
    numbers = [
        "trial",
        in_unit(f"validation {metric}", config.metric),
        *(name for name in names if _all_numbers(done, name)),
    ]
    yield Heading("Trials")
    yield table(
        columns("trial", numbers[1], *names, numbers=numbers),
        [
            row(
                numeral(trial.number, "d"),
                scored(config.metric, trial.value),
                *(_setting(trial.params.get(name)) for name in names),
            )
            for trial in done[:_TRIALS]
        ],
        note=f"The best {_TRIALS} of {len(done):,}." if len(done) > _TRIALS else "",
    )
    captions = {
        "importance": "Share of the score's variance by setting (fANOVA)",
        "slices": "Score against each setting",
    }
    for picture in plot_study(study, pictures, metric, scale_of(config.metric)):
        if picture.suffix == ".svg":
            yield Figure(picture, captions[picture.stem])
    yield Heading("Made again")
    if (folder / BEST).is_file():
        yield Text(_again("train", "--config", folder / BEST, "--out", "runs/best"), code=True)
        yield Text((folder / BEST).read_text(encoding="utf-8"), code=True)


def _all_numbers(trials: Iterable[Any], name: str) -> bool:
    values = [trial.params[name] for trial in trials if name in trial.params]
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _setting(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return numeral(value, ".4g")
    return "" if value is None else str(value)


def _reproduction(folder: Path, _: Path) -> Found:
    path = folder / COMPARED
    content = read_record(path, _COMPARISONS)
    for record in content:
        found = _comparison(path, record)
        yield Heading(f"Test score in %, {JUDGED[found.judged]}")
        yield comparison_table(found)
        yield Heading("With intervals and significance", 2)
        yield _cell_table(found)
    captions = {"bars": "Models with parts left out", "efficiency": "Score against training time"}
    for picture in sorted(folder.glob("*.svg")):
        yield Figure(picture, captions.get(picture.stem, picture.stem))
    yield Heading("Made again")
    yield Text("What is done is not done again; --render-only draws the table of what is there.")
    study = folder.name
    yield Text(_again("reproduce", study, "--out", folder.parent, "--render-only"), code=True)
    yield Text("Settings, seed, split, scores and versions of every run lie in records.jsonl beside the table.")


def _comparison(path: Path, record: Mapping[str, Any]) -> Comparison:
    known = {"settings": str, **dict.fromkeys(_NUMBERS, _MAYBE)}
    wrong = misfit(record["ranks"], dict.fromkeys(record["ranks"], NUMBER), "ranks")
    for each in record["cells"]:
        wrong = wrong or misfit(each, {name: form for name, form in known.items() if name in each}, "cells")
    cells = {(each["dataset"], each["model"]): each for each in record["cells"]}
    datasets, models = (list(dict.fromkeys(key[at] for key in cells)) for at in (0, 1))
    if not wrong and len(cells) < len(datasets) * len(models):
        wrong = "cells must have every model on every dataset"
    if record["reference"] not in models and any(each.get("p_value") is not None for each in record["cells"]):
        wrong = wrong or f"cells were compared with {record['reference']!r:.60}, which is none of the models"
    names = {field.name for field in fields(Cell)}
    if unknown := sorted({name for each in record["cells"] for name in each} - names):
        wrong = wrong or f"cells have no {unknown[0]!r:.60}"
    if wrong:
        raise InputError(f"'{path}' is damaged: {wrong}.")
    return Comparison(
        record["judged"],
        datasets,
        models,
        record["reference"],
        {key: Cell(**each) for key, each in cells.items()},
        record["ranks"],
        record["ranked_datasets"],
    )


def _cell_table(found: Comparison) -> Table:
    numbers = ("runs", "mean", "deviation", "95 % from", "to", "paper", "difference", "p")
    rows = [
        row(
            cell.dataset,
            cell.model,
            numeral(cell.runs, "d"),
            *(numeral(each, ".2f") for each in (cell.mean, cell.std, cell.low, cell.high, cell.paper_mean)),
            numeral(cell.difference, "+.2f"),
            numeral(cell.p_value, ".3g"),
            cell.settings if cell.status == "ok" else f"{cell.settings} ({cell.status})".strip(),
        )
        for cell in found.cells.values()
    ]
    note = f"p: of being the same as {found.reference}, Wilcoxon over the splits, Holm-corrected within a dataset."
    heads = [Column(name, whole=True) for name in ("dataset", "model")]
    heads += [Column(name, number=True) for name in numbers] + [Column("settings")]
    return table(heads, rows, note=note)


def _bench(path: Path, _: Path) -> Found:
    record = read_record(path, {})
    check_version(path, record, SCHEMA_VERSION)
    if wrong := misfit(record, _BENCH):
        raise InputError(f"'{path}' is damaged: {wrong}.")
    try:
        blocks: list[Block] = [full_table(record), *(Text(line) for line in notes(record)), *profile_tables(record)]
    except _DAMAGE as error:
        reason = " ".join(f"{type(error).__name__} {error}".split())
        raise InputError(f"'{path}' is damaged: {reason:.200}.") from None
    yield Heading("Time and memory")
    yield from blocks
    yield Heading("Made again")
    datasets, methods = (",".join(dict.fromkeys(str(each[name]) for each in record["rows"])) for name in _TIMED)
    yield Text(_again("bench", datasets, "--models", methods), code=True)
    yield from _environment(record)


_SIGNS = {AUTO: "auto", STUDY: "study", COMPARED: "reproduction", CONFIG: "run"}
_KINDS: dict[str, tuple[str, Callable[[Path, Path], Found]]] = {
    "run": ("run", _run),
    "auto": ("automatic run", _auto),
    "study": ("search", _study),
    "reproduction": ("table", _reproduction),
    "bench": ("benchmark", _bench),
}
