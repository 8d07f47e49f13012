"""A portfolio built from runs on many graphs: in which order members add most to the ensembles of them.

Each graph is a finished ``auto`` folder with given splits. What some members are worth on it is what their ensemble,
weighted on the validation nodes of each split, scores on its test nodes. The first member is the one that is worth most
on average over graphs among those that take less time than most, so that there is an answer soon, and the next is
always the one whose addition gains most (Xu et al., Hydra, AAAI 2010, with ensembles in place of the best by itself)
for the root of the time that it takes: where time is short those that take much come late. Graphs with few test nodes
count less: there chance makes larger differences than members do. Which graphs a portfolio is built from says on which
graphs it is not to be judged.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from glognn.errors import InputError
from glognn.experiments.auto import Asked
from glognn.experiments.ensemble import scores, select
from glognn.experiments.entrants import DONE_STATE, available_splits, read_probabilities
from glognn.experiments.graphs import Graphs
from glognn.experiments.layout import MEMBERS, PROBABILITIES
from glognn.experiments.portfolio import Member
from glognn.experiments.reports import read_ensemble
from glognn.metrics import Floats, Integers, Scoring
from glognn.training.calibration import calibrated, temperature
from glognn.training.positive import scoring

SPREAD = 0.01
"""By how much scores on graphs differ from what members are worth in general, chance apart; beside the standard error
of a graph's scores it says how much the graph counts."""
LEAST_TIME = 0.25
"""Of the usual time of a member: one that takes less is not worth more for that."""
MOST_NODES = 2_000
"""Of the validation nodes, and of the test nodes, of a split: more change no order, and cost time."""


@dataclass(frozen=True)
class Said:
    """What the members of a graph say, calibrated, of nodes of one split: members x n x classes."""

    validated: Floats
    val_y: Integers
    tested: Floats
    test_y: Integers


@dataclass(frozen=True)
class JudgedGraph:
    """A graph, and what each member that could be trained on it is worth there, by itself and with others.

    ``seconds`` are those that each took.
    """

    name: str
    scoring: Scoring
    members: Sequence[Member]
    seconds: Sequence[float]
    splits: Sequence[Said]

    @cached_property
    def least(self) -> float:
        """What an ensemble is worth of which no member could be trained: as much as the worst that could."""
        return min(self.worth([member.name]) for member in self.members)

    @cached_property
    def weight(self) -> float:
        """How much it counts among others: 1 / (SPREAD^2 + the squared standard error of the best member's score)."""
        nodes = sum(len(said.test_y) for said in self.splits)
        best = max(self.worth([member.name]) for member in self.members)
        share = (best * nodes + 1) / (nodes + 2)
        return 1 / (SPREAD**2 + share * (1 - share) / nodes)

    def worth(self, names: Iterable[str]) -> float:
        """The ensemble's score on test nodes, mean over splits; members that are not there take no part."""
        wanted = set(names)
        places = tuple(place for place, member in enumerate(self.members) if member.name in wanted)
        if not places:
            return self.least
        if places not in self._worths:
            self._worths[places] = self._ensemble(list(places))
        return self._worths[places]

    @cached_property
    def _worths(self) -> dict[tuple[int, ...], float]:
        """Those known by now: portfolios built without one graph or another mostly ask for the same."""
        return {}

    def _ensemble(self, places: list[int]) -> float:
        found = []
        for said in self.splits:
            weights = select(said.validated[places], said.val_y, self.scoring, sampled=False)
            mean = np.tensordot(weights, said.tested[places], axes=1)
            found.append(float(scores(mean[np.newaxis], said.test_y, self.scoring)[0]))
        return statistics.fmean(found)


@dataclass(frozen=True)
class Step:
    """A member of the portfolio, and what the members up to it are worth, weighted mean over graphs."""

    member: Member
    worth: float


def read_judged(folder: str | Path, data_mirror: str | Path | None = None) -> JudgedGraph:
    """A finished ``auto`` folder, with what its members say of validation and test nodes."""
    folder = Path(folder)
    asked, record = Asked.read(folder), read_ensemble(folder)
    if asked.folds:
        raise InputError(f"'{folder}' must be of a graph with given splits. Its members have no test nodes.")
    done = {entry["name"]: entry for entry in record["members"] if entry["state"] == DONE_STATE}
    members = [member for member in asked.members if member.name in done]
    places = [done[member.name]["place"] for member in members]
    config = members[0].resolve(asked.settings, asked.dataset, asked.splits)
    graph = Graphs(data_mirror).of(config).graph
    shape = graph.num_nodes, graph.num_classes
    splits = []
    for split in available_splits(config, graph):
        chosen = {name: _some(nodes.cpu().numpy()) for name, nodes in graph.indices(split).items()}
        if not len(chosen["test"]):
            raise InputError(f"Split {split} of '{folder}' must have labelled test nodes. It has none.")
        y = {name: graph.y.cpu().numpy()[nodes] for name, nodes in chosen.items()}
        said = {
            name: [
                read_probabilities(folder / MEMBERS / place / f"split-{split}" / PROBABILITIES, shape, nodes)
                for place in places
            ]
            for name, nodes in chosen.items()
            if name != "train"
        }
        heats = [temperature(each, y["val"]) for each in said["val"]]
        both = {
            name: np.stack([calibrated(each, heat) for each, heat in zip(found, heats, strict=True)])
            for name, found in said.items()
        }
        splits.append(Said(both["val"], y["val"], both["test"], y["test"]))
    seconds = [done[member.name]["seconds_to_fit"] for member in members]
    return JudgedGraph(Path(asked.dataset).stem, scoring(graph, config.training), members, seconds, splits)


def _some(nodes: Integers) -> Integers:
    """All of them, or as many of them as are looked at, the same every time."""
    if len(nodes) <= MOST_NODES:
        return nodes
    order = torch.randperm(len(nodes), generator=torch.Generator().manual_seed(0))
    chosen: Integers = np.sort(nodes[order[:MOST_NODES].numpy()])
    return chosen


def build_portfolio(
    graphs: Sequence[JudgedGraph], size: int | None = None, told: Callable[[Step], None] = lambda step: None
) -> list[Step]:
    """Members in the order in which they add most for their time; those of equal names must have equal settings on all
    graphs.

    Args:
        graphs: What members are worth on each graph.
        size: How many members; by default all.
        told: Is told each step.
    """
    if not graphs:
        raise InputError("A portfolio must be built from at least one finished auto folder. Got none.")
    known: dict[str, Member] = {}
    for graph in graphs:
        for member in graph.members:
            if known.setdefault(member.name, member) != member:
                raise InputError(f"The member '{member.name}' of {graph.name} has other settings on another graph.")
    times, steps, reached = _times(graphs), list[Step](), 0.0
    usual = statistics.median(times.values())

    def value(worth: float, time: float) -> float:
        """A gain for the time it takes, or a loss."""
        root, gain = math.sqrt(max(time / usual, LEAST_TIME)), worth - reached
        return gain / root if gain > 0 else gain * root

    while known and len(steps) != size:
        chosen = [step.member.name for step in steps]
        worth = {name: _mean(graphs, [*chosen, name]) for name in known if chosen or times[name] <= usual}
        values = {name: value(found, times[name]) if chosen else found for name, found in worth.items()}
        best = max(values, key=values.__getitem__)
        reached = worth[best]
        steps.append(Step(known.pop(best), reached))
        told(steps[-1])
    return steps


def _mean(graphs: Sequence[JudgedGraph], names: Sequence[str]) -> float:
    """What members are worth over graphs, in percent."""
    return 100 * statistics.fmean([graph.worth(names) for graph in graphs], [graph.weight for graph in graphs])


def _times(graphs: Sequence[JudgedGraph]) -> dict[str, float]:
    """How long each member takes over what is usual on a graph, geometric mean."""
    shares: dict[str, list[float]] = {}
    for graph in graphs:
        usual = max(statistics.median(graph.seconds), 1e-3)
        for member, seconds in zip(graph.members, graph.seconds, strict=True):
            shares.setdefault(member.name, []).append(max(seconds, 1e-3) / usual)
    return {name: statistics.geometric_mean(found) for name, found in shares.items()}
