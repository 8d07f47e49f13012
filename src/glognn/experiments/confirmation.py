"""Whether the winner of a search beats the default settings beyond noise.

The best of many trials looks better than it is on the validation nodes that it was chosen on. So it is compared with
the default on others: the train and validation nodes of each split searched are dealt out anew, its test nodes stay
out, and both settings are trained on each division. The winner is better where its mean gain over these pairs is above
their standard error, which counts that divisions share nodes (Nadeau and Bengio, Machine Learning 52, 2003).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glognn.errors import MemoryExhaustedError, TooLargeError, TrainingError
from glognn.experiments.config import RunConfig, parse_splits
from glognn.experiments.graphs import Graphs
from glognn.models.configs.base import alike
from glognn.records import NUMBER, Form, read_record
from glognn.storage import write_json

if TYPE_CHECKING:
    import optuna

    from glognn.experiments.search import Search
    from glognn.graph.graph import Graph

CONFIRMATION = "confirmation.json"
PAIRS = 5
"""Divisions at least, over all splits searched."""
RULE = (
    "the winner is used if its mean gain over the default, paired over fresh divisions of the train and validation "
    "nodes of the splits searched, is above one corrected standard error (Nadeau and Bengio, 2003)"
)
_FORM: Form = {"trial": int, "default": [NUMBER], "winner": [NUMBER], "ratio": NUMBER}


@dataclass(frozen=True)
class Confirmation:
    """Validation scores of the default settings and of the winner on the same fresh divisions.

    Attributes:
        trial: The number of the winner.
        default, winner: A score for each division.
        ratio: Validation nodes for each training node.
    """

    trial: int
    default: Sequence[float]
    winner: Sequence[float]
    ratio: float

    @property
    def gain(self) -> float:
        """Of the winner, on average."""
        return statistics.fmean(self.winner) - statistics.fmean(self.default)

    @property
    def noise(self) -> float:
        """The standard error of the gain."""
        gains = [mine - other for mine, other in zip(self.winner, self.default, strict=True)]
        return math.sqrt((1 / len(gains) + self.ratio) * statistics.variance(gains))

    @property
    def better(self) -> bool:
        return self.gain > self.noise

    def facts(self) -> dict[str, Any]:
        """What a settings file says about it, in percent."""
        return {
            "winner_trial": self.trial,
            "used": "winner" if self.better else "default",
            "gain": round(100 * self.gain, 4),
            "noise": round(100 * self.noise, 4),
            "pairs": len(self.winner),
            "rule": RULE,
        }

    def describe(self) -> str:
        """In a line."""
        found = (
            f"{100 * self.gain:+.2f} ± {100 * self.noise:.2f} on {len(self.winner)} fresh divisions of train and "
            "validation nodes"
        )
        if self.better:
            return f"the winner beats the default beyond noise ({found}) and is used"
        return f"the winner does not beat the default beyond noise ({found}): the default is used"


def confirm(folder: Path, study: optuna.Study, search: Search, graphs: Graphs | None) -> Confirmation | None:
    """Compare the best trial of a study with the default, or read what was found before.

    ``None`` where there is nothing to compare: the default is the best, could not be trained, or is not kept; or,
    without ``graphs``, where it has not been done yet.
    """
    from glognn.experiments.search import best_trial, default_trial

    best, default = best_trial(study), default_trial(study)
    if default is None or best.number == default.number:
        return None
    path = folder / CONFIRMATION
    if path.is_file():
        known = read_record(path, _FORM)
        pairs = len(known["winner"])
        if known["trial"] == best.number and pairs == len(known["default"]) and pairs > 1:
            return Confirmation(**{name: known[name] for name in _FORM})
    if graphs is None:
        return None
    try:
        found = _compare(best.number, search.default(), search.config_of(best), graphs)
    except (TooLargeError, MemoryExhaustedError):
        return None
    write_json(path, {name: getattr(found, name) for name in _FORM} | found.facts())
    return found


def _compare(trial: int, default: RunConfig, winner: RunConfig, graphs: Graphs) -> Confirmation:
    from glognn.data.splits import redraw
    from glognn.training.positive import class_names, positive_class

    found: list[list[float]] = [[], []]
    nodes = {"train": 0, "val": 0}
    for scores, config in zip(found, (default, winner), strict=True):
        graph = graphs.of(config).graph
        splits = parse_splits(config.splits, graph.num_splits)
        if (positive := positive_class(graph, config.training)) is not None:  # which of two is rarer, a draw may change
            named = replace(config.training, positive_class=class_names(graph)[positive])
            config = replace(config, training=named)
        count = -(-PAIRS // len(splits))
        for split in splits:
            masks = redraw(graph.y, graph.masks, split, count)
            nodes = {name: nodes[name] + int(masks[name].sum()) for name in nodes}
            scores += validation_scores(config, graph.with_masks(masks), list(range(count)))
    return Confirmation(trial, found[0], found[1], nodes["val"] / nodes["train"])


def validation_scores(config: RunConfig, graph: Graph, splits: Sequence[int]) -> list[float]:
    """The best validation score on each of some splits, trained as many at a time as memory holds; 0 where training
    fails."""
    from glognn.experiments.run import initial_models
    from glognn.experiments.settling import settled
    from glognn.training.driver import train_batch
    from glognn.training.history import TrainingResult
    from glognn.training.preflight import members_at_once

    most, scores = members_at_once(config.model, graph, config.training), list[float]()
    decided = settled([config] * len(splits), graph, splits)
    while len(scores) < len(splits):
        configs = decided[len(scores) : len(scores) + most]
        configs = configs[: alike(each.model for each in configs)]
        part = splits[len(scores) : len(scores) + len(configs)]
        try:
            endings = train_batch(
                initial_models(configs, graph),
                graph,
                splits=part,
                configs=[each.training for each in configs],
                with_weights=False,
            )
        except (TooLargeError, MemoryExhaustedError):
            if most == 1:
                raise
            most = -(-most // 2)
            continue
        for ending in endings:
            assert isinstance(ending, TrainingResult | TrainingError)
            scores.append(0.0 if isinstance(ending, TrainingError) else ending.best.val)
    return scores
