"""Members made one: each calibrated, their weights, and what their mean is worth, as ``ensemble.json`` says it.

With given splits each split has an ensemble of its own, weighted on its validation nodes; with folds there is one,
weighted on what each model says of the fold that it was not trained on. Test labels are read to report scores, and
decide nothing.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from glognn.experiments.appraisal import Appraiser, baselines_over, over_splits, spread
from glognn.experiments.ensemble import apply, scores, select, shares
from glognn.experiments.entrants import DONE_STATE, TRIED, read_probabilities
from glognn.experiments.layout import MEMBERS, PROBABILITIES
from glognn.experiments.reports import Report
from glognn.graph.graph import Graph
from glognn.metrics import Floats, Integers
from glognn.training.calibration import Calibration, temperature
from glognn.training.config import BY_RANK, TrainingConfig
from glognn.training.positive import positive_record, scoring
from glognn.training.threshold import (
    calibration_of,
    choose_threshold,
    describe_rule,
    ranks_two,
    rule_of,
    shifts_odds,
)

BASELINE_SPLITS = 3
"""The baselines are fitted on so many splits, the first ones, so that the members have the time of the others."""
_DECIDING = ("balanced_accuracy", "macro_f1", "f1", "mcc", *BY_RANK)
"""Metrics that a threshold of two classes serves, unless none is asked for; of ranks, it finds rare classes."""


@dataclass(frozen=True)
class Weighed:
    """How members are made one: a calibration and a weight of each; temperature, calibration, threshold of their mean.

    All are chosen on the same nodes, in this order.
    """

    each: Sequence[Calibration]
    weights: Floats
    temperature: float
    calibration: Calibration | None = None
    threshold: float | None = None

    def together(self, found: Floats) -> Floats:
        """Probabilities of the ensemble from those of its members."""
        mean = apply(self.weights, _each_calibrated(found, self.each), self.temperature)
        return mean if self.calibration is None else self.calibration.apply(mean)


def _each_calibrated(found: Floats, each: Sequence[Calibration]) -> Floats:
    return np.stack([calibration.apply(said) for said, calibration in zip(found, each, strict=True)])


class Scales:
    """Weighs the members of an ``auto`` folder that are trained on all splits.

    Args:
        folder: The ``auto`` folder.
        graph: Its labels are read.
        training: Metric, threshold and calibration are those of all members.
        splits: Those that members are trained on.
        names: Of the classes.
        folds: The splits are folds of all labels.
    """

    def __init__(
        self,
        folder: Path,
        graph: Graph,
        training: TrainingConfig,
        splits: Sequence[int],
        *,
        names: Sequence[Any],
        folds: bool,
    ) -> None:
        self.folder, self.graph, self.training = folder, graph, training
        self.splits, self.names, self.folds = splits, names, folds
        self.scoring, self.rule = scoring(graph, training), rule_of(training, len(names), _DECIDING)
        self.y = graph.y.cpu().numpy()
        self.sets = {
            split: {name: each.cpu().numpy() for name, each in graph.indices(split).items()} for split in splits
        }
        self.appraiser = Appraiser(graph, names, folds=splits if folds else ())
        self.baselines: dict[int, dict[str, dict[str, float | None]]] = {}
        self.calibrations: dict[tuple[str, int | None], Calibration] = {}
        self.reserved = 0.0
        """Seconds that the baselines of the other splits will take."""

    def weigh(self, members: Mapping[str, Report], *, final: bool) -> Report:
        """What the record says of the ensemble of all members that are done, whose lines get their weights.

        While more members are to come (not ``final``) it is done in less time.
        """
        done = {name: entry for name, entry in members.items() if entry["state"] == DONE_STATE}
        weighed = self._weighed(done, final)
        splits: dict[str, Report] = {}
        appraised: list[Report] = []
        for split, (chosen, validated) in weighed.items():
            tested = self.sets[split]["test"]
            together = {"val": chosen.together(validated), "test": chosen.together(self._read(done, split, "test"))}
            if final:
                beside = len(appraised) < BASELINE_SPLITS
                appraised.append(
                    self.appraiser.appraise(split, self.training, together, threshold=chosen.threshold, beside=beside)
                )
            used = [(place, name) for place, name in enumerate(done) if chosen.weights[place]]
            splits[str(split)] = {
                "weights": {name: float(chosen.weights[place]) for place, name in used},
                "temperatures": {name: chosen.each[place].temperature for place, name in used},
                "shifts": {name: list(chosen.each[place].shifts) for place, name in used},
                "temperature": chosen.temperature,
                "calibration": None if chosen.calibration is None else chosen.calibration.as_dict(),
                "threshold": chosen.threshold,
                "threshold_for": describe_rule(self.rule, self.training.metric) if chosen.threshold is not None else "",
                "val": self._score(together["val"], self.y[self.sets[split]["val"]], chosen.threshold),
                "test": self._score(together["test"], self.y[tested], chosen.threshold),
            }
        for name, entry in members.items():
            entry["weight"] = statistics.fmean(each["weights"].get(name, 0.0) for each in splits.values())
        best = max(done.values(), key=lambda entry: entry["val"]["mean"])
        return {
            "metric": self.training.metric,
            "positive_class": positive_record(self.graph, self.training),
            "classes": self.names,
            "folds": self.folds,
            "splits": splits,
            "val": spread([each["val"] for each in splits.values()]),
            "test": spread([each["test"] for each in splits.values()]),
            "best_single": {name: best[name] for name in ("name", "val", "test")},
            **self._appraised(appraised, len(done)),
        }

    def shares(self, members: Mapping[str, Report], splits: Sequence[int]) -> dict[str, float]:
        """What members weigh in an ensemble of all that are trained on some splits, by their validation nodes."""
        found = {name: entry for name, entry in members.items() if entry["state"] in (DONE_STATE, TRIED)}
        total = np.zeros(len(found))
        for split in splits:
            said, y = self._read(found, split, "val"), self.y[self.sets[split]["val"]]
            each = self._calibrations(said, y, [entry["place"] for entry in found.values()], split)
            total += shares(_each_calibrated(said, each), y, self.scoring) / len(splits)
        return dict(zip(found, total.tolist(), strict=True))

    def _read(self, done: Mapping[str, Report], split: int, which: str) -> Floats:
        shape, nodes = (len(self.y), len(self.names)), self.sets[split][which]
        places = [self.folder / MEMBERS / entry["place"] / f"split-{split}" for entry in done.values()]
        return np.stack([read_probabilities(place / PROBABILITIES, shape, nodes) for place in places])

    def _weighed(self, done: Mapping[str, Report], final: bool) -> dict[int, tuple[Weighed, Floats]]:
        """By split, with what the members say of its validation nodes."""
        validated = {split: self._read(done, split, "val") for split in self.splits}
        truth = {split: self.y[self.sets[split]["val"]] for split in self.splits}
        places = [entry["place"] for entry in done.values()]
        if not self.folds:
            return {
                split: (self._weigh(said, truth[split], places, split, final=final), said)
                for split, said in validated.items()
            }
        pooled = np.concatenate(list(validated.values()), axis=1)
        common = self._weigh(pooled, np.concatenate(list(truth.values())), places, None, final=final)
        return {split: (common, said) for split, said in validated.items()}

    def _weigh(self, found: Floats, y: Integers, places: Sequence[str], split: int | None, *, final: bool) -> Weighed:
        """Members calibrated, their weights, and what becomes of their mean."""
        training, classes = self.training, len(self.names)
        each = self._calibrations(found, y, places, split)
        alone = _each_calibrated(found, each)
        weights = select(alone, y, self.scoring, sampled=final)
        chosen = Weighed(each, weights, temperature(np.tensordot(weights, alone, axes=1), y))
        kind, shifted = calibration_of(training, classes), shifts_odds(training, classes)
        if kind == "isotonic" or (kind != "none" and shifted):
            together = chosen.together(found)
            fitted = Calibration.fit(kind, together, y, shifted=shifted, positive=self.scoring.positive)
            chosen = replace(chosen, calibration=fitted)
        if self.rule.kind == "none" or len(np.unique(y)) < 2:
            return chosen
        return replace(chosen, threshold=choose_threshold(chosen.together(found), y, self.scoring, self.rule))

    def _calibrations(self, found: Floats, y: Integers, places: Sequence[str], split: int | None) -> list[Calibration]:
        """Those of members, fitted once."""
        by_rank = ranks_two(self.training, len(self.names))
        for place, said in zip(places, found, strict=True):
            if (place, split) not in self.calibrations:
                self.calibrations[place, split] = Calibration.fit("temperature", said, y, shifted=by_rank)
        return [self.calibrations[place, split] for place in places]

    def _appraised(self, appraised: list[Report], done: int) -> Report:
        """What the record says beside scores: the baselines', of one split until the end, and then classes and what to
        beware of."""
        if appraised:
            return over_splits(appraised, self.graph.num_isolated / self.graph.num_nodes)
        if done < 2:
            return {}  # an answer soon is worth more
        first = self.splits[0]  # the others would take time from the members
        if first not in self.baselines:
            begun, decided = time.perf_counter(), self.rule.kind != "none"
            self.baselines[first] = self.appraiser.baseline_scores(first, self.training, decided=decided)
            others = min(len(self.splits), BASELINE_SPLITS) - 1
            self.reserved = others * (time.perf_counter() - begun)
        return {"baselines": baselines_over(list(self.baselines.values()))}

    def _score(self, together: Floats, y: Integers, threshold: float | None) -> float | None:
        value = scores(together[np.newaxis], y, self.scoring, threshold)[0]
        return None if np.isnan(value) else float(value)
