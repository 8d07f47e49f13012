"""Several models on several datasets compared, from run records alone. Imports no torch.

A cell is the mean and sample standard deviation over all runs (splits and seeds), in percent; its 95 % interval is
Student's, over the splits' means. Ranks are averages over datasets, ties sharing their mean rank, as in the paper
(which gives a model that ran out of memory the worst rank). Significance: Wilcoxon's signed-rank test over the splits'
means, two-sided, of the reference model against each other one, Holm-corrected within a dataset.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from glognn.experiments.paper import paper_result
from glognn.experiments.plan import DOES_NOT_FIT

JUDGED = {"best": "at the best validation epoch", "last": "at the last epoch, as the paper"}


@dataclass(frozen=True)
class Cell:
    """What is known of one model on one dataset. ``status`` is ``ok``, or says why there is no complete number."""

    dataset: str
    model: str
    status: str
    runs: int
    wanted: int
    mean: float | None = None
    std: float | None = None
    low: float | None = None
    high: float | None = None
    paper_mean: float | None = None
    paper_std: float | None = None
    difference: float | None = None
    p_value: float | None = None
    """Of the reference model's being different from this one; Holm-corrected."""
    settings: str = ""
    """Where its settings are from: ``published``, ``searched`` or ``default``."""


@dataclass(frozen=True)
class Comparison:
    """One table: cells by dataset and model, ranks by model."""

    judged: str
    datasets: list[str]
    models: list[str]
    reference: str
    cells: dict[tuple[str, str], Cell]
    ranks: dict[str, float] = field(default_factory=dict)
    ranked_datasets: list[str] = field(default_factory=list)

    def record(self) -> dict[str, Any]:
        return {
            "judged": self.judged,
            "reference": self.reference,
            "ranks": self.ranks,
            "ranked_datasets": self.ranked_datasets,
            "cells": [asdict(cell) for cell in self.cells.values()],
        }


Scores = Mapping[tuple[str, str], Mapping[tuple[int, int], dict[str, Any]]]
"""Reports by (dataset, model), then by (seed, split)."""


def compare(
    scores: Scores,
    datasets: Sequence[str],
    models: Sequence[str],
    *,
    judged: str,
    wanted: Mapping[tuple[str, str], int],
    problems: Mapping[tuple[str, str], str] | None = None,
    origins: Mapping[tuple[str, str], str] | None = None,
    reference: str = "glognn++",
) -> Comparison:
    """Put reports into a table.

    Args:
        scores: The reports there are.
        datasets: Columns.
        models: Rows.
        judged: ``best`` or ``last``.
        wanted: How many runs each cell should have.
        problems: Why a cell has no run, where that is known.
        origins: Where each cell's settings are from.
        reference: The model to test the others against.
    """
    problems, origins = problems or {}, origins or {}
    by_split: dict[tuple[str, str], dict[int, float]] = {}
    cells: dict[tuple[str, str], Cell] = {}
    for dataset in datasets:
        for model in models:
            key = (dataset, model)
            reports = scores.get(key, {})
            values: dict[int, list[float]] = {}
            for (_, split), report in sorted(reports.items()):
                values.setdefault(split, []).append(100 * report["scores"][judged]["test"])
            by_split[key] = {split: statistics.fmean(found) for split, found in values.items()}
            cell = _cell(dataset, model, values, wanted[key], problems.get(key, ""))
            cells[key] = replace(cell, settings=origins.get(key, ""))
    for dataset in datasets:
        for model, p_value in _p_values(dataset, models, by_split, reference).items():
            cells[dataset, model] = replace(cells[dataset, model], p_value=p_value)
    ranks, ranked = _ranks(cells, datasets, models)
    return Comparison(judged, list(datasets), list(models), reference, cells, ranks, ranked)


def _cell(dataset: str, model: str, values: dict[int, list[float]], wanted: int, problem: str) -> Cell:
    flat = [value for found in values.values() for value in found]
    paper = paper_result(model, dataset)
    status = "ok" if len(flat) >= wanted else problem or ("not run" if not flat else f"{len(flat)} of {wanted} runs")
    facts: dict[str, Any] = {"paper_mean": paper[0], "paper_std": paper[1]} if paper else {}
    if not flat:
        return Cell(dataset, model, status, 0, wanted, **facts)
    mean = statistics.fmean(flat)
    std = statistics.stdev(flat) if len(flat) > 1 else None
    low, high = _interval([statistics.fmean(found) for found in values.values()])
    difference = mean - paper[0] if paper else None
    return Cell(dataset, model, status, len(flat), wanted, mean, std, low, high, difference=difference, **facts)


def _interval(values: list[float]) -> tuple[float | None, float | None]:
    from scipy.stats import t

    if len(values) < 2:
        return None, None
    half = float(t.ppf(0.975, len(values) - 1)) * statistics.stdev(values) / math.sqrt(len(values))
    mean = statistics.fmean(values)
    return mean - half, mean + half


def _p_values(
    dataset: str, models: Sequence[str], by_split: Mapping[tuple[str, str], dict[int, float]], reference: str
) -> dict[str, float]:
    """Holm: the k-th smallest of m values times m - k + 1, never below the one before."""
    from scipy.stats import wilcoxon

    raw: dict[str, float] = {}
    ours = by_split.get((dataset, reference), {})
    for model in models:
        theirs = by_split[dataset, model]
        common = sorted(ours.keys() & theirs.keys())
        if model == reference or len(common) < 5:
            continue
        differences = [ours[split] - theirs[split] for split in common]
        raw[model] = 1.0 if not any(differences) else float(wilcoxon(differences).pvalue)
    corrected: dict[str, float] = {}
    floor = 0.0
    for position, (model, value) in enumerate(sorted(raw.items(), key=lambda item: item[1])):
        floor = max(floor, min(1.0, value * (len(raw) - position)))
        corrected[model] = floor
    return corrected


def _ranks(
    cells: Mapping[tuple[str, str], Cell], datasets: Sequence[str], models: Sequence[str]
) -> tuple[dict[str, float], list[str]]:
    """Average ranks over the datasets on which every model has a complete number, failed or does not fit."""
    from scipy.stats import rankdata

    collected: dict[str, list[float]] = {model: [] for model in models}
    used = []
    for dataset in datasets:
        found = [cells[dataset, model] for model in models]
        if not all(cell.status in ("ok", DOES_NOT_FIT) or cell.status.startswith("failed") for cell in found):
            continue
        if all(cell.mean is None for cell in found):
            continue
        used.append(dataset)
        order = rankdata([math.inf if cell.status != "ok" else -(cell.mean or 0.0) for cell in found])
        for model, rank in zip(models, order, strict=True):
            collected[model].append(float(rank))
    return ({model: statistics.fmean(ranks) for model, ranks in collected.items()} if used else {}), used


def compact_records(scores: Scores) -> list[dict[str, Any]]:
    """What a table rests on, small enough to be kept with it: settings, content hash of the data, versions and machine
    of each cell, and of every run its scores at the best and the last epoch and its seconds.
    """
    cells = []
    for (dataset, model), reports in scores.items():
        if not reports:
            continue
        first = next(iter(reports.values()))
        cells.append(
            {
                "dataset": dataset,
                "model": model,
                "settings": {name: first["config"][name] for name in ("data", "model", "training")},
                "data": {name: first["data"][name] for name in ("fingerprint", "splits_origin")},
                "versions": first["versions"],
                "machine": first["machine"],
                "trained_together": first.get("trained_together", 1),
                "runs": [
                    {"seed": seed, "split": split, "seconds": round(report["seconds"], 3)}
                    | {
                        which: {name: round(value, 6) for name, value in report["scores"][which].items()}
                        for which in ("best", "last")
                    }
                    for (seed, split), report in sorted(reports.items())
                ],
            }
        )
    return cells
