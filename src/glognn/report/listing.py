"""What runs there are, from their records alone: runs that differ only in split and seed are one group."""

from __future__ import annotations

import contextlib
import statistics
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from glognn.data.layout import GRAPH, TABLES
from glognn.errors import DataWarning, InputError
from glognn.experiments.layout import ENSEMBLE, MEMBERS, REPORT
from glognn.experiments.leaderboard import BASELINE, Standing, standings
from glognn.experiments.plan import settings_hash
from glognn.experiments.reports import read_ensemble, read_report
from glognn.records import Form, read_record
from glognn.report.document import Cell, Column, Row, Table, row, scored, table
from glognn.report.text import class_score, figures, in_unit, scale_of, score_name

_NAMES: Form = {"label": str, "read": {"options": {"nodes": str, "edges": (str, list)}}}
_DEEPEST = 4
"""Folders between a run and the tables of all: members, member and split."""
_NAMED = 3
"""Records that cannot be read, of which a warning says why."""


@dataclass(frozen=True)
class RunGroup:
    """Finished runs with the same settings.

    Attributes:
        key: Hash of what decides the outcome but split and seed.
        dataset: As in their settings; of runs on a user's tables, the file of the graph made of them.
        tables: The files of a user's tables and the column of labels, where it was made of such.
        metric: Its name.
        positive: The class that metrics of one class are of, where there is one.
    """

    key: str
    dataset: str
    tables: str | None
    model: str
    metric: str
    positive: str | None
    folders: list[Path] = field(default_factory=list)
    reports: list[dict[str, Any]] = field(default_factory=list)

    @property
    def splits(self) -> list[int]:
        return sorted({report["split"] for report in self.reports})

    @property
    def seeds(self) -> list[int]:
        return sorted({report["config"]["training"]["seed"] for report in self.reports})

    @property
    def seconds(self) -> float:
        return float(sum(report["seconds"] for report in self.reports))

    def score(self, which: str, name: str = "test") -> tuple[float | None, float | None]:
        """Mean and sample standard deviation, in percent where it is a share, of the ``best`` or ``last`` epoch; no
        mean where runs on folds have no test nodes."""
        found = [report["scores"][which][name] for report in self.reports]
        values = [scale_of(self.metric) * value for value in found if value is not None]
        if not values:
            return None, None
        return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None

    @property
    def name(self) -> str:
        """Of what they were trained on: the tables, or the dataset."""
        return self.tables or (Path(self.dataset).stem if self.dataset.endswith(".npz") else self.dataset)

    @property
    def score_name(self) -> str:
        """The metric, with the class that it is of."""
        return class_score(self.metric, self.positive)

    def baseline(self) -> tuple[str, float] | None:
        """The better of the baselines on the test nodes of the runs, with its mean score as :meth:`score` has it."""
        found: dict[str, list[float]] = {}
        for report in self.reports:
            for name, scores in report.get("baselines", {}).items():
                found.setdefault(name, []).extend(
                    [] if scores["test"] is None else [scale_of(self.metric) * scores["test"]]
                )
        means = {name: statistics.fmean(values) for name, values in found.items() if len(values) == len(self.reports)}
        return max(means.items(), key=lambda each: each[1]) if means else None

    @property
    def common_folder(self) -> Path:
        first, *others = self.folders
        return next(path for path in [first, *first.parents] if all(path in [o, *o.parents] for o in others))

    def record(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "dataset": self.dataset,
            "tables": self.tables,
            "model": self.model,
            "metric": self.metric,
            "positive_class": self.positive,
            "baseline": dict(zip(("name", "mean"), self.baseline() or (None, None), strict=True)),
            "splits": self.splits,
            "seeds": self.seeds,
            "seconds": self.seconds,
            "scores": {which: dict(zip(("mean", "std"), self.score(which), strict=True)) for which in ("best", "last")},
            "folders": [str(folder) for folder in self.folders],
        }


@dataclass(frozen=True)
class AutomaticRun:
    """A run of ``--model auto``: its folder, what it was trained on, and its record."""

    folder: Path
    dataset: str
    tables: str | None
    record: dict[str, Any]

    def holds(self, group: RunGroup) -> bool:
        """Whether all runs of a group are members of it."""
        return all(self.folder / MEMBERS in folder.parents for folder in group.folders)


def find_automatic(root: Path) -> list[AutomaticRun]:
    """Every automatic run below a folder whose record can be read."""
    from glognn.experiments.auto import Asked

    found = []
    for path in sorted(root.rglob(ENSEMBLE)):
        folder = path.parent
        with contextlib.suppress(InputError):
            found.append(AutomaticRun(folder, Asked.read(folder).dataset, _tables(folder), read_ensemble(folder)))
    return found


def automatic_table(runs: list[AutomaticRun]) -> Table:
    """A row for each automatic run: scores of its ensemble, and the better of the baselines beside it."""
    heads = [Column("folder"), Column("dataset or tables: metric"), Column("models", whole=True)]
    heads += [Column(name, number=True, whole=True) for name in ("validation", "test")]
    return table([*heads, Column("baseline")], [_automatic_row(run) for run in runs])


def _automatic_row(run: AutomaticRun) -> Row:
    metric = run.record["metric"]
    ensemble, *others = standings(run.record)
    which = "val" if ensemble.test is None else "test"
    baselines = [each for each in others if each.state == BASELINE and getattr(each, which) is not None]
    best = max(baselines, key=lambda each: float(getattr(each, which)), default=None)

    def score(of: Standing, name: str) -> Cell:
        return scored(metric, getattr(of, name), getattr(of, f"{name}_spread"))

    return row(
        str(run.folder),
        f"{run.tables or Path(run.dataset).stem}: {in_unit(score_name(run.record), metric)}",
        ensemble.model,
        score(ensemble, "val"),
        score(ensemble, "test"),
        "" if best is None else f"{score(best, which).text} ({best.name})",
    )


def find_groups(root: Path) -> list[RunGroup]:
    """Every finished run below a folder; a warning names the records that cannot be read."""
    groups: dict[str, RunGroup] = {}
    unread: list[InputError] = []
    for path in sorted(root.rglob(REPORT)):
        try:
            report = read_report(path.parent)
        except InputError as error:
            unread.append(error)
            continue
        if report["kind"] != "run":
            continue
        config = report["config"]
        key = settings_hash(config)
        if key not in groups:
            dataset, positive = config["data"]["dataset"], report["positive_class"]
            groups[key] = RunGroup(
                key,
                dataset,
                _tables(path.parent) if Path(dataset).name == GRAPH else None,
                config["model"]["name"],
                report["metric"],
                None if positive is None else positive["name"],
            )
        group = groups[key]
        group.folders.append(path.parent)
        group.reports.append(report)
    if unread:
        shown = " ".join(map(str, unread[:_NAMED])) + (" ..." if len(unread) > _NAMED else "")
        warnings.warn(f"{len(unread):,} of the records below '{root}' are left out: {shown}", DataWarning, stacklevel=2)
    return sorted(groups.values(), key=lambda group: (group.dataset, group.model, group.key))


def _tables(folder: Path) -> str | None:
    """``nodes.csv, edges.csv: is_fraud``, of the tables that a run or one of those around it was made of."""
    for place in (folder, *folder.parents[:_DEEPEST]):
        if (place / TABLES).is_file():
            try:
                found = read_record(place / TABLES, _NAMES)
            except InputError:
                return None
            options = found["read"]["options"]
            files = [options["nodes"], *([options["edges"]] if isinstance(options["edges"], str) else options["edges"])]
            return f"{', '.join(Path(str(file)).name for file in files)}: {found['label']}"
    return None


def run_table(groups: list[RunGroup]) -> Table:
    """A row for each group: scores of the best epoch with their deviations, in percent where they are shares, and the
    better baseline; its seconds and the last epoch's scores are in its record."""
    heads = [Column("key", whole=True), Column("model", whole=True), Column("dataset or tables: metric")]
    heads += [Column(name, number=True, whole=True) for name in ("runs", "validation", "test")]
    return table([*heads, Column("baseline"), Column("folder")], [_row(group) for group in groups])


def _row(group: RunGroup) -> Row:
    beside = group.baseline()
    runs, many = len(group.reports), len(group.splits) > 1 and len(group.seeds) > 1
    return row(
        group.key,
        group.model,
        f"{group.name}: {in_unit(group.score_name, group.metric)}",
        Cell(f"{len(group.splits)} x {len(group.seeds)}" if many else f"{runs}", runs),
        *(_score(group, group.score(*which)) for which in (("best", "val"), ("best",))),
        Cell() if beside is None else Cell(f"{_figures(group, beside[1])} ({beside[0]})", beside[1]),
        str(group.common_folder),
    )


def _score(group: RunGroup, score: tuple[float | None, float | None]) -> Cell:
    mean, std = score
    return Cell() if mean is None else Cell(_figures(group, mean, std), mean)


def _figures(group: RunGroup, mean: float, std: float | None = None) -> str:
    scale = scale_of(group.metric)
    return figures(group.metric, mean / scale, None if std is None else std / scale)


def difference_table(groups: list[RunGroup]) -> Table | None:
    """A row for each setting in which groups differ, a column for each of them; none where they differ in nothing."""
    found = differing_settings(groups)
    if not found:
        return None
    heads = [Column("setting", whole=True), *(Column(group.key) for group in groups)]
    return table(heads, [row(name, *("" if value is None else str(value) for value in values))
                         for name, values in found.items()])  # fmt: skip


def differing_settings(groups: list[RunGroup]) -> dict[str, list[Any]]:
    """Settings that are not the same in all groups, with the value in each; ``None`` where a model has no such one."""
    flat = [
        {f"{table}.{name}": value for table in ("data", "model", "training") for name, value in config[table].items()}
        for config in (group.reports[0]["config"] for group in groups)
    ]
    ignored = {"data.splits", "training.seed"}
    names = dict.fromkeys(name for each in flat for name in each if name not in ignored)
    values = {name: [each.get(name) for each in flat] for name in names}
    return {name: found for name, found in values.items() if any(value != found[0] for value in found)}
