"""What a trained model's answers are worth beside the baselines, class by class, and what to beware of."""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from glognn.errors import DataWarning, InputError
from glognn.experiments.baselines import CONSTANT, Baselines, Floats, Integers
from glognn.experiments.ensemble import scores
from glognn.experiments.predictions import Predictions
from glognn.experiments.reports import Report
from glognn.graph.graph import SET_NAMES, Graph
from glognn.metrics import TOP_K, Scoring, decide
from glognn.training.config import NO_SHARES, ThresholdRule, TrainingConfig
from glognn.training.positive import scoring
from glognn.training.threshold import choose_threshold

FEW = 20
"""Nodes of a class below which validation is said to have few of it."""
_GROUPS = 20
_ERRORS = 2.0
"""Standard errors by which the score of a single split must be above a baseline's."""


class Appraiser:
    """Appraises models trained on a graph: what it finds is part of their records.

    Args:
        graph: With labels and splits.
        names: Of the classes; by default the graph's, or their numbers.
        folds: Splits that are folds, whose validation nodes are judged together.
        now: The graph as it has become since, where nodes are to be judged there.
    """

    def __init__(
        self, graph: Graph, names: Sequence[Any] | None = None, *, folds: Sequence[int] = (), now: Graph | None = None
    ) -> None:
        self.graph, self.folds, self.now = graph, folds, now
        self.names = list(names or graph.class_names or range(graph.num_classes))
        self._y: Integers = graph.y.cpu().numpy()
        self._baselines: dict[bool, Baselines] = {}

    def baseline_scores(
        self, split: int, config: TrainingConfig, *, decided: bool = False
    ) -> dict[str, dict[str, float | None]]:
        """The metric of each baseline on each set of a split; ``None`` where it is not defined or there is no node.

        Args:
            split: Which one.
            config: Names the metric.
            decided: Of two classes, each baseline predicts the positive one from the probability on that serves the
                metric best on validation nodes, as the models beside it do.
        """
        truth, metric = self._truth(split), scoring(self.graph, config)
        return {
            name: {each: _score(metric, said[each], y, cut) for each, y in truth.items()}
            | dict.fromkeys(set(SET_NAMES) - set(truth))
            for name, (said, cut) in self._baselines_said(split, config, decided).items()
        }

    def appraise(
        self,
        split: int,
        config: TrainingConfig,
        said: Mapping[str, Floats],
        *,
        threshold: float | None = None,
        predicted: Integers | None = None,
        beside: bool = True,
    ) -> Report:
        """What a record says of a model on a split beside its scores.

        ``baselines`` are scores by name and set, with the standard error of the distance between the model's and the
        baseline's on the nodes held out; ``held_out`` is which set that is, the model's score on it, and how many nodes
        each class has, how many were predicted to be of it, and how many of these are; ``validation`` is the class that
        validation has the fewest nodes of.

        Args:
            split: Which one.
            config: Names the metric.
            said: The model's probabilities of the nodes of sets: of those of ``test``, or of ``val`` where there is no
                such node, at least.
            threshold: Of two classes, the probability from which on scores take the positive one for predicted; the
                baselines then have one, too, chosen by the same rule.
            predicted: The classes of the nodes held out, where they are others than those that scores are of.
            beside: Fit the baselines; else there are none, which takes no time.
        """
        truth, metric = self._truth(split), scoring(self.graph, config)
        held_out = "test" if "test" in truth else "val"
        mine, y = (said[held_out], threshold), truth[held_out]
        baselines = {}
        fitted = self._baselines_said(split, config, threshold is not None) if beside else {}
        for name, (found, cut) in fitted.items():
            measured = {each: _score(metric, found[each], labels, cut) for each, labels in truth.items()}
            error = _distance_error(metric, y, mine, (found[held_out], cut))
            baselines[name] = dict.fromkeys(SET_NAMES) | measured | {"error": error}
        return {
            "baselines": baselines,
            "held_out": {
                "set": held_out,
                "metric": metric.metric,
                "score": _score(metric, mine[0], y, mine[1]),
                "classes": self.by_class(decide(*mine, metric.positive) if predicted is None else predicted, y),
            },
            "validation": self._fewest(split),
        }

    def beside(
        self,
        splits: Sequence[int],
        config: TrainingConfig,
        nodes: Integers,
        *,
        decided: bool = False,
        held_out: bool = False,
    ) -> dict[str, tuple[Floats, float | None]]:
        """What the baselines of some splits say of nodes on average, and the threshold of each where it has one.

        ``held_out`` asks about each node only those that have it among their test nodes, or where there are none, as
        with folds, among those for validation.
        """
        found = {}
        shares = np.full((len(nodes), len(splits)), 1 / len(splits))
        if held_out:
            masks = {name: self.graph.masks[name][:, list(splits)] for name in ("test", "val")}
            tested = masks["test" if masks["test"].any() else "val"].cpu().numpy()[nodes]
            shares = tested / tested.sum(axis=1, keepdims=True)
        asked = [self._fitted(config).probabilities(split, nodes) for split in splits]
        chosen = [self._baselines_said(split, config, decided=False) for split in splits] if decided else []
        y = np.concatenate([self._truth(split)["val"] for split in splits])
        for name in asked[0]:
            known = [said["val"] for each in chosen for said, _ in [each[name]]]
            cut = self._cut(name, np.concatenate(known), y, config) if decided else None
            mean: Floats = np.sum([shares[:, [place]] * each[name] for place, each in enumerate(asked)], axis=0)
            found[name] = mean, cut
        return found

    def _truth(self, split: int) -> dict[str, Integers]:
        """The classes of the nodes of each set of a split that has any."""
        return {name: self._y[nodes] for name, nodes in self._sets(split).items()}

    def _sets(self, split: int) -> dict[str, Integers]:
        return {name: each.cpu().numpy() for name, each in self.graph.indices(split).items() if each.numel()}

    def _baselines_said(
        self, split: int, config: TrainingConfig, decided: bool
    ) -> dict[str, tuple[dict[str, Floats], float | None]]:
        """The probabilities of each baseline by set, and its threshold."""
        fitted = self._fitted(config)
        by_set = {each: fitted.probabilities(split, nodes) for each, nodes in self._sets(split).items()}
        y, found = self._truth(split)["val"], {}
        for name in by_set["val"]:
            said = {each: probabilities[name] for each, probabilities in by_set.items()}
            found[name] = said, self._cut(name, said["val"], y, config) if decided else None
        return found

    def _fitted(self, config: TrainingConfig) -> Baselines:
        balanced = config.class_weight == "balanced"
        if balanced not in self._baselines:
            self._baselines[balanced] = Baselines(self.graph, balanced=balanced, now=self.now)
        return self._baselines[balanced]

    def _cut(self, name: str, said: Floats, y: Integers, config: TrainingConfig) -> float | None:
        """The threshold of two classes, chosen on nodes: for what was asked, and of a constant answer, which is all or
        none of them, for the metric."""
        if len(self.names) != 2 or len(np.unique(y)) < 2:
            return None
        rule = ThresholdRule("validation") if name == CONSTANT else _rule_of(config)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # of a precision that a baseline cannot have
            return choose_threshold(said, y, scoring(self.graph, config), rule)

    def by_class(self, predicted: Integers, y: Integers) -> list[Report]:
        """How many nodes each class has, how many were predicted to be of it, and how many of these are."""
        counted = [np.bincount(each, minlength=len(self.names)).tolist() for each in (y, predicted, y[predicted == y])]
        return [
            {"class": name, "nodes": nodes, "predicted": found, "right": right}
            for name, nodes, found, right in zip(self.names, *counted, strict=True)
        ]

    def _fewest(self, split: int) -> Report:
        masks = self.graph.masks["val"]
        chosen = masks[:, list(self.folds or [split])].any(dim=1)
        sizes = torch.bincount(self.graph.y[chosen], minlength=len(self.names)).tolist()
        place = int(np.argmin(sizes))
        return {"class": self.names[place], "nodes": sizes[place]}


def _rule_of(config: TrainingConfig) -> ThresholdRule:
    """How a threshold is chosen where there is one: as asked for, or by the metric."""
    return ThresholdRule.parse("validation" if config.threshold in ("auto", "none") else config.threshold)


def _score(metric: Scoring, said: Floats, y: Integers, threshold: float | None) -> float | None:
    """A metric of probabilities; ``None`` where nodes have too few classes for it."""
    try:
        value = scores(said[np.newaxis], y, metric, threshold)[0]
    except InputError:
        return None
    return None if np.isnan(value) else float(value)


def _distance_error(
    metric: Scoring, y: Integers, one: tuple[Floats, float | None], other: tuple[Floats, float | None]
) -> float | None:
    """Standard error of the distance between two scores on the same nodes: the jackknife over random groups of them.

    Every class is dealt out evenly. ``None`` where a group holds all nodes of a class that the metric needs.
    """
    order = np.random.default_rng(0).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    groups = np.empty(len(y), dtype=np.int64)
    groups[order] = np.arange(len(y)) % _GROUPS
    distances = []
    for group in range(min(_GROUPS, len(y))):
        kept = groups != group
        if not kept.any():
            return None
        first, second = (_score(metric, said[kept], y[kept], cut) for said, cut in (one, other))
        if first is None or second is None:
            return None
        distances.append(first - second)
    values = np.array(distances)
    return float(np.sqrt((len(values) - 1) / len(values) * ((values - values.mean()) ** 2).sum()))


def appraise_predictions(
    predictions: Predictions,
    graph: Graph,
    splits: Sequence[int],
    config: TrainingConfig,
    nodes: Integers,
    y: Integers,
    positive: int | None = None,
    top_k: int = TOP_K,
    *,
    held_out: bool = False,
    now: Graph | None = None,
) -> Report:
    """All metrics of the baselines beside predictions for nodes whose class is known, and what to beware of.

    The constant answer is there the majority class, whatever the threshold of the others was chosen for.

    Args:
        predictions: Of all nodes of the graph.
        graph: That the model was trained on.
        splits: On whose training nodes; those of several folds are averaged, as the model's are.
        config: How it was trained.
        nodes: Places of the nodes.
        y: Their classes.
        positive: Whose metrics those of one class are; by default that of the predictions.
        top_k: How many nodes metrics of the first k look at.
        held_out: Each node was scored only by models that have not learned from it, and so it is by baselines.
        now: The graph as it has become since, with nodes that came later after the others.
    """
    appraiser, metric = Appraiser(graph, predictions.classes.names, now=now), scoring(graph, config)
    decided = predictions.threshold is not None
    beside = appraiser.beside(splits, config, nodes, decided=decided, held_out=held_out)
    mine = predictions.probabilities[nodes], predictions.threshold
    told = {
        "held_out": {
            "set": "evaluated",
            "metric": metric.metric,
            "score": _score(metric, mine[0], y, mine[1]),
            "classes": appraiser.by_class(predictions.predicted[nodes], y),
        },
        "baselines": {
            name: {
                "evaluated": _score(metric, said, y, cut),
                "error": _distance_error(metric, y, mine, (said, cut)),
            }
            for name, (said, cut) in beside.items()
        },
    }
    every = np.arange(len(nodes))
    return {
        "baselines": {
            name: replace(
                predictions, probabilities=said, threshold=None if name == CONSTANT else cut, said=None
            ).evaluate(every, y, positive, top_k)["scores"]
            for name, (said, cut) in beside.items()
        },
        "cautions": [each for each in [_one_class([told]), *_not_above([told])] if each],
    }


def over_splits(appraised: Sequence[Report], isolated: float) -> Report:
    """What the record of several splits says, from those of each: means, counts added up, and what to beware of.

    Baselines are those of the splits that have some, which the first must have.
    """
    if not all("baselines" in each for each in appraised):  # which came later
        return {}
    return {
        "baselines": baselines_over([report["baselines"] for report in appraised if report["baselines"]]),
        "held_out": {
            "set": appraised[0]["held_out"]["set"],
            "classes": [_added_up(classes) for classes in zip(*_classes(appraised), strict=True)],
        },
        "cautions": cautions(appraised, isolated),
    }


def baselines_over(splits: Sequence[Report]) -> dict[str, dict[str, dict[str, float | None] | None]]:
    """Means and standard deviations of the baselines' scores over splits, by name and set."""
    return {name: {each: spread([found[name][each] for found in splits]) for each in SET_NAMES} for name in splits[0]}


def _classes(appraised: Sequence[Report]) -> list[list[Report]]:
    return [report["held_out"]["classes"] for report in appraised]


def _added_up(entries: Sequence[Report]) -> Report:
    return {"class": entries[0]["class"]} | {
        name: sum(entry[name] for entry in entries) for name in ("nodes", "predicted", "right")
    }


def spread(values: Sequence[float | None]) -> dict[str, float | None] | None:
    """Mean and sample standard deviation of scores; ``None`` where none is known."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return {"mean": statistics.fmean(known), "std": statistics.stdev(known) if len(known) > 1 else None}


def cautions(appraised: Sequence[Report], isolated: float) -> list[str]:
    """What a reader of scores should beware of.

    Args:
        appraised: Records of the splits that the scores are the mean of.
        isolated: The share of nodes without an edge.
    """
    said = [_one_class(appraised), *_not_above(appraised)]
    fewest = min((each["validation"] for each in appraised), key=lambda found: int(found["nodes"]))
    if fewest["nodes"] < FEW:
        nodes = "no node" if not fewest["nodes"] else f"{fewest['nodes']} node{'s' * (fewest['nodes'] > 1)}"
        said.append(f"Validation has {nodes} of class '{fewest['class']}': what its score has chosen may be chance.")
    if isolated > 0.5:
        said.append(f"{100 * isolated:.0f} % of the nodes have no edge: of those the graph tells nothing.")
    return [each for each in said if each]


def _one_class(appraised: Sequence[Report]) -> str:
    only = []
    for classes in _classes(appraised):
        predicted = [entry["class"] for entry in classes if entry["predicted"]]
        if len(predicted) == 1 and sum(entry["nodes"] > 0 for entry in classes) > 1:
            only += predicted
    if not only:
        return ""
    where = f" in {len(only)} of {len(appraised)} splits" if len(appraised) > 1 else ""
    return f"One class, '{only[0]}', is predicted for all {_set_name(appraised)} nodes{where}."


def _set_name(appraised: Sequence[Report]) -> str:
    found = str(appraised[0]["held_out"]["set"])
    return "validation" if found == "val" else found


def _not_above(appraised: Sequence[Report]) -> list[str]:
    """Baselines that the score is not above: by more than their distance varies over splits or, on a single split, by
    two standard errors."""
    found = []
    appraised = [each for each in appraised if each["baselines"]]
    for name, only in appraised[0]["baselines"].items():
        pairs = [(each["held_out"]["score"], each["baselines"][name][each["held_out"]["set"]]) for each in appraised]
        if any(None in pair for pair in pairs):
            continue
        distances = [mine - other for mine, other in pairs]
        allowed = statistics.stdev(distances) if len(distances) > 1 else _ERRORS * (only["error"] or 0.0)
        if statistics.fmean(distances) > allowed:
            continue
        shares = appraised[0]["held_out"].get("metric") not in NO_SHARES
        scale, form, unit = (100, ".2f", " %") if shares else (1, ".4f", "")
        mine, other = (scale * statistics.fmean(each) for each in zip(*pairs, strict=True))
        found.append(
            f"The {_set_name(appraised)} score, {mine:{form}}{unit}, is not above that of the baseline '{name}', "
            f"{other:{form}}{unit}, by more than their distance varies ({scale * allowed:{form}})."
        )
    return found
