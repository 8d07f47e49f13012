"""The members of a portfolio on one graph, trained one after another, with the ensemble of all so far after each.

The splits of a member train as one batch. With given splits each split has an ensemble of its own, weighted on its
validation nodes; with folds there is one, weighted on what each model says of the fold that it was not trained on. Test
labels are read to report scores, and decide nothing.
"""

from __future__ import annotations

import csv
import shutil
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from glognn.errors import GloGNNError, InputError, MemoryExhaustedError, TooLargeError, TrainingError, WriteError
from glognn.experiments.advice import describe, look
from glognn.experiments.appraisal import Appraiser, baselines_over, over_splits, spread
from glognn.experiments.batches import can_go_on, go_on_in, make_batches
from glognn.experiments.config import RunConfig, parse_splits
from glognn.experiments.ensemble import apply, scores, select
from glognn.experiments.environment import machine, versions
from glognn.experiments.folder import load_model
from glognn.experiments.graphs import Graphs
from glognn.experiments.layout import CURVE, DONE, ENSEMBLE, MEMBERS, PROBABILITIES
from glognn.experiments.plan import Job
from glognn.experiments.portfolio import Member
from glognn.experiments.progress import Progress
from glognn.experiments.reports import ENSEMBLE_VERSION, Report, read_ensemble, read_report
from glognn.experiments.run import LoadedGraph, finished_report, run_batch
from glognn.graph.graph import Graph
from glognn.metrics import Floats, Integers
from glognn.records import inside
from glognn.storage import write_atomically, write_json
from glognn.training.calibration import Calibration, temperature
from glognn.training.config import BY_RANK
from glognn.training.devices import resolve_device, threads
from glognn.training.history import History
from glognn.training.positive import positive_record, scoring
from glognn.training.predict import predict_alike
from glognn.training.preflight import members_at_once, ran_out
from glognn.training.threshold import (
    calibration_of,
    choose_threshold,
    describe_rule,
    ranks_two,
    rule_of,
    shifts_odds,
)

DONE_STATE, FAILED, TOO_LARGE, NOT_REACHED = "done", "failed", "too large", "not reached"
WORTH_STARTING = 0.25
"""A member is started while the time left is at least this share of what those before it took on average."""
FIRST_SECONDS, FIRST_SHARE = 20.0, 1 / 15
"""The first member is stopped after so many seconds, or so large a share of the limit if that is more, so that there is
an answer soon.
"""
ROUND, FAIR, LEAST_SHARE = 0.5, 1.5, 1 / 60
"""All members have a turn in this share of the limit: each is stopped after so many times its equal share of what is
left of it, or after this share of the limit if that is more. The rest of the time is for those that were stopped.
"""
FEWEST_TURNS = 3
"""So many members have a turn, however long they take."""
FEWEST_EPOCHS, LONGEST_TURN = 30, 1 / 6
"""A turn is not over before so many epochs, for less says little of a member. One that is too slow to come to twice as
many by the end of all, or when some have had their turn to so many in this share of the limit, is given up after its
second.
"""
MOST_RESERVED = 0.15
"""Of the limit, for the baselines that are fitted when the members are done."""
OUT_OF_TIME, BEHIND, TOO_SLOW = "time limit", "far behind", "too slow"
"""Why a member was stopped before its training ended."""
OTHER_KIND = 0.05
"""Members that read links are put off when those tried are by so much, and beyond the spread of the best, behind those
that do not; and the other way round.
"""
FAR, PATIENCE_BEHIND = 0.1, 0.25
"""A member whose best scores are by so much, and beyond the spread of the best member's, below that one's is stopped
when they have not risen for this share of its patience: it would hardly weigh in the ensemble.
"""
_DECIDING = ("balanced_accuracy", "macro_f1", "f1", "mcc", *BY_RANK)
"""Metrics that a threshold of two classes serves, unless none is asked for; of ranks, it finds rare classes."""


@dataclass(frozen=True)
class Entrant:
    """A member with its complete configuration, its folder, and its runs by split below it."""

    member: Member
    config: RunConfig
    place: Path
    jobs: tuple[Job, ...]

    def at(self, place: Path) -> Entrant:
        """The same in another folder."""
        jobs = [replace(job, folder=place / job.folder.name) for job in self.jobs]
        return replace(self, place=place, jobs=tuple(jobs))

    def longer(self) -> Entrant:
        """The same in the folder in which it goes on after it was stopped: ``deep``, ``deep~2``, ``deep~3``."""
        _, _, number = self.place.name.removeprefix(self.member.name).rpartition("~")
        return self.at(self.place.with_name(f"{self.member.name}~{int(number or 1) + 1}"))


def enter(folder: Path, member: Member, config: RunConfig, splits: Sequence[int]) -> Entrant:
    places = {split: inside(folder, MEMBERS, member.name, f"split-{split}") for split in splits}
    jobs = [Job(place, config.for_split(split), split, member.name, "portfolio") for split, place in places.items()]
    return Entrant(member, config, folder / MEMBERS / member.name, tuple(jobs))


class Contest:
    """What is known of the members so far; :meth:`run` trains those that are left.

    Args:
        folder: The ``auto`` folder.
        entrants: The members, in their order.
        graphs: Where graphs come from.
        origin: Of the splits, in words; empty: what the graph says.
        folds: The splits are folds of all labels.
        names: Of the classes.
        progress: Is told how the work goes on.
    """

    def __init__(
        self,
        folder: Path,
        entrants: Sequence[Entrant],
        graphs: Graphs,
        *,
        origin: str,
        folds: bool,
        names: Sequence[Any] | None,
        progress: Progress,
    ) -> None:
        self.folder, self.entrants, self.graphs, self.progress = folder, list(entrants), graphs, progress
        self.origin, self.folds = origin, folds
        first = entrants[0].config
        self.metric, self.training = first.training.metric, first.training
        self.loaded = graphs.of(first)
        graph = self.loaded.graph
        self.scoring = scoring(graph, first.training)
        self.names = list(range(graph.num_classes)) if names is None else list(names)
        self.y = graph.y.cpu().numpy()
        self.splits = [job.split for job in entrants[0].jobs]
        self.sets = {
            split: {name: each.cpu().numpy() for name, each in graph.indices(split).items()} for split in self.splits
        }
        self.description = describe(look(graph, self.splits[0], folds=folds))
        self.appraiser = Appraiser(graph, self.names, folds=self.splits if folds else ())
        self.rule = rule_of(self.training, len(self.names), _DECIDING)
        self.baselines: dict[int, dict[str, dict[str, float | None]]] = {}
        self.calibrations: dict[tuple[str, int | None], Calibration] = {}
        self.reserved = 0.0
        self.slow, self.least = set[str](), FEWEST_EPOCHS
        self.members: dict[str, Report] = {each.member.name: _waiting(each) for each in entrants}
        self.before = 0.0
        if (folder / ENSEMBLE).is_file():
            self._go_on(read_ensemble(folder))
        self.started = time.perf_counter()

    def _go_on(self, record: Report) -> None:
        """Take over what became of members before; one whose predictions are not there is looked at again."""
        found = self.loaded.facts["fingerprint"]
        if record["fingerprint"] != found:
            raise InputError(
                f"'{self.folder}' was begun on a graph with the fingerprint {record['fingerprint'][:12]}. Got "
                f"{found[:12]} instead: put the graph back, or start again in a new folder."
            )
        self.before = record["seconds"]
        entries = {entry["name"]: entry for entry in record["members"]}
        for number, each in enumerate(self.entrants):
            entry = entries.get(each.member.name)
            if entry is None or entry["state"] == NOT_REACHED:
                continue
            there = each.at(each.place.with_name(entry["place"]))
            if entry["state"] != DONE_STATE or all((job.folder / PROBABILITIES).is_file() for job in there.jobs):
                self.entrants[number], self.members[each.member.name] = there, entry

    def run(self, limit: float) -> Report:
        """Train what is left within a limit of seconds; the record, as it lies in the folder then."""
        if self.finished == len(self.entrants) and not self._stopped() and (self.folder / DONE).exists():
            return read_ensemble(self.folder)
        (self.folder / DONE).unlink(missing_ok=True)
        ended = f"the time limit of {limit:g} s was used up"
        try:
            turns = self._train_each(limit)
            while self._train_longer(limit) and turns:
                if self.finished == len(self.entrants):
                    ended = "all members are done"
                    break
                if not self._waiting():  # those given up have what time is left
                    self.slow, self.least = set(), 0
                turns = self._train_each(limit, most=1)
        except KeyboardInterrupt:
            if not self._done():
                raise
            ended = "interrupted"
        if not self._done():
            reasons = "; ".join(f"{name}: {entry['reason']}" for name, entry in self.members.items())
            raise TrainingError(f"No member of the portfolio could be trained. {reasons}")
        for entry in self.members.values():
            if entry["state"] == NOT_REACHED:
                entry["reason"] = entry["reason"] or ended
        return self._write(ended)

    def _train_each(self, limit: float, most: int | None = None) -> bool:
        """Give members their turn that have had none, while the round lasts, or ``most`` of them; whether there is time
        for more: those whose turn does not come have one when the others have ended.
        """
        turns = 0
        while waiting := self._waiting():
            if self._hopeless(limit):
                return False
            over = time.perf_counter() > self.started + ROUND * limit
            if (turns >= FEWEST_TURNS and over) if most is None else turns >= most:
                return True
            each = waiting[0]
            done = len(self._done())
            least = self.least if done else 0  # of the first there is to be an answer soon
            longest = limit if done < FEWEST_TURNS else LONGEST_TURN * limit
            entry = self._train(each, _Turn(self._deadline(limit, len(waiting)), self._end(limit), least, longest))
            self.members[each.member.name] = entry
            if self._done() and entry["state"] != NOT_REACHED:
                self.progress.on_member_end(each.member.name, self._write(""))
            else:
                self.progress.on_left_out(f"The member '{each.member.name}'", entry["reason"])
            turns += entry["state"] == DONE_STATE
        return True

    def _waiting(self) -> list[Entrant]:
        """The members that have had no turn: in their order, those of a kind that is behind (``OTHER_KIND``) last."""
        tried: dict[bool, list[Report]] = {}
        for each in self.entrants:
            if (entry := self.members[each.member.name])["state"] == DONE_STATE:
                tried.setdefault(each.config.model.reads_links, []).append(entry["val"])
        kinds = {kind: max(found, key=lambda val: val["mean"]) for kind, found in tried.items()}
        best = max(kinds.values(), key=lambda val: val["mean"], default=None)
        behind = {
            kind: best is not None and val["mean"] < best["mean"] - max(OTHER_KIND, best["std"] or 0.0)
            for kind, val in kinds.items()
        }
        left = [each for each in self.entrants if each.member.name not in self.slow]
        waiting = [each for each in left if self.members[each.member.name]["state"] == NOT_REACHED]
        return sorted(waiting, key=lambda each: behind.get(each.config.model.reads_links, False))

    def _train_longer(self, limit: float) -> bool:
        """Go on with members that were stopped, the most promising first, each for as long again; whether all ended.

        A member goes on in a folder of its own, and takes the place of what it was when it ends.
        """
        end, failed = self._end(limit), set[str]()
        while going := [each for each in self._stopped() if each.member.name not in failed]:
            if (now := time.perf_counter()) > end - LEAST_SHARE * limit:
                return False
            promises = {each.member.name: self._promise(each, end - now) for each in going}
            each = max(going, key=lambda each: promises[each.member.name])
            name, longer = each.member.name, each.longer()
            taken, epochs = self.members[name]["seconds_to_fit"], min(map(len, self._curves(each)))
            if not longer.place.exists():
                ended = [
                    job.folder.name for job in each.jobs if OUT_OF_TIME not in read_report(job.folder)["stopped_by"]
                ]
                go_on_in(longer.place, each.place, ended)
            again = max(taken, taken * (FEWEST_EPOCHS - epochs) / epochs, LEAST_SHARE * limit)
            entry = self._train(longer, _Turn(min(end, now + again), end))
            if entry["state"] != DONE_STATE:
                self.progress.on_left_out(f"The member '{name}', trained longer,", entry["reason"])
                failed.add(name)
                continue
            self.members[name], self.entrants[self.entrants.index(each)] = entry, longer
            record = self._write("")
            shutil.rmtree(each.place, ignore_errors=True)
            self.progress.on_member_end(name, record)
        return True

    def _stopped(self) -> list[Entrant]:
        """The members that were stopped by time, and could go on."""
        return [
            each for each in self.entrants if self.members[each.member.name]["stopped_by"] and can_go_on(each.place)
        ]

    def _curves(self, each: Entrant) -> list[list[float]]:
        """The validation scores of a member by split, epoch by epoch."""
        found = []
        for job in each.jobs:
            with (job.folder / CURVE).open(encoding="utf-8", newline="") as file:
                found.append([float(row[f"val_{self.metric}"]) for row in csv.DictReader(file)])
        return found

    def _promise(self, each: Entrant, left: float) -> float:
        """What a member that was stopped may reach in the seconds that are left.

        Its best score, and twice what it gained in the last half of its epochs, as if each time as long again brought
        half as much, as far as there is time for that. One that has hardly begun may reach anything, if it can be
        brought to a number of epochs that says something.
        """
        curves, taken = self._curves(each), self.members[each.member.name]["seconds_to_fit"]
        epochs = min(map(len, curves))
        if epochs < FEWEST_EPOCHS and 2 * FEWEST_EPOCHS * taken / epochs <= left:
            return float("inf")
        more = 2 * left / (taken + left) if epochs >= FEWEST_EPOCHS else 0.0
        return statistics.fmean(
            (1 + more) * max(curve) - more * max(curve[: (len(curve) + 1) // 2]) for curve in curves
        )

    @property
    def finished(self) -> int:
        """How many members have had their turn."""
        return sum(entry["state"] != NOT_REACHED for entry in self.members.values())

    def _done(self) -> list[str]:
        return [name for name, entry in self.members.items() if entry["state"] == DONE_STATE]

    def _end(self, limit: float) -> float:
        """When no member may train any more: the baselines of the other splits are fitted then."""
        return self.started + limit - min(self.reserved, MOST_RESERVED * limit)

    def _hopeless(self, limit: float) -> bool:
        taken = [entry["seconds_to_fit"] for entry in self.members.values() if entry["state"] == DONE_STATE]
        left = self._end(limit) - time.perf_counter()
        return bool(taken) and left < WORTH_STARTING * statistics.fmean(taken)

    def _deadline(self, limit: float, members: int) -> float:
        """When to stop the first of so many members that are left."""
        now, end = time.perf_counter(), self._end(limit)
        if not self._done():
            return min(end, now + max(FIRST_SECONDS, FIRST_SHARE * limit))
        share = FAIR * (self.started + ROUND * limit - now) / members
        return min(end, now + max(share, LEAST_SHARE * limit))

    def _train(self, entrant: Entrant, turn: _Turn) -> Report:
        """Train a member on all splits, or go on with it; what became of it."""
        try:
            loaded = self.graphs.of(entrant.config)
            entrant.config.model.check_graph(has_features=loaded.graph.x is not None)
            for job in entrant.jobs:
                if job.done:
                    finished_report(job, loaded)
            batches, training = make_batches(entrant.jobs, group=entrant.place), entrant.config.training
            at_once = max(members_at_once(entrant.config.model, loaded.graph, training), 1)
            turn.parts = sum(-(-len(batch.jobs) // at_once) for batch in batches)
            for batch in batches:
                stop = partial(self._stop, turn)
                errors = run_batch(batch, loaded, [self.progress], stop=stop, resumable=OUT_OF_TIME)
                for folder, error in errors.items():
                    raise TrainingError(f"{folder.name}: {error}")
            if turn.slow:
                shutil.rmtree(entrant.place)
                self.slow.add(entrant.member.name)
                return _waiting(entrant) | {"reason": f"an epoch takes {turn.slow:.2g} s, too long for the time left"}
            return self._measure(entrant, loaded)
        except WriteError:
            raise
        except (GloGNNError, MemoryError, RuntimeError) as error:
            large = isinstance(error, TooLargeError | MemoryExhaustedError) or ran_out(error)
            if not large and not isinstance(error, GloGNNError):
                raise
            reason = " ".join(str(error).split()) or "out of memory"
            return _waiting(entrant) | {"state": TOO_LARGE if large else FAILED, "reason": reason}

    def _stop(self, turn: _Turn, going: Mapping[int, History]) -> str:
        if turn.over(max(history.epoch for history in going.values())):
            return TOO_SLOW if turn.slow else OUT_OF_TIME
        if not (done := self._done()):
            return ""
        best = max((self.members[name]["val"] for name in done), key=lambda each: each["mean"])
        scores = [(history.best.val, history.epoch - history.best.epoch) for history in going.values() if history.best]
        waited = PATIENCE_BEHIND * max(history.config.patience for history in going.values())
        behind = statistics.fmean(val for val, _ in scores) < best["mean"] - max(FAR, best["std"] or 0.0)
        return BEHIND if behind and min(since for _, since in scores) >= waited else ""

    def _measure(self, entrant: Entrant, loaded: LoadedGraph) -> Report:
        """Write what the models of a trained member say of every node; the member's line in the record."""
        started = time.perf_counter()
        training = entrant.config.training
        device = resolve_device(training.device)
        graph = loaded.graph.to(device=device)
        with threads(training.threads):
            models = (load_model(job.folder).to(device) for job in entrant.jobs)
            for job, said in zip(entrant.jobs, predict_alike(models, graph), strict=True):
                write_atomically(job.folder / PROBABILITIES, partial(_save, said.float().cpu().numpy()))
        seconds = time.perf_counter() - started
        reports = [read_report(job.folder) for job in entrant.jobs]
        selected = [report["scores"]["selected"] for report in reports]
        held = [report["peak_memory_mib"] for report in reports]
        return _waiting(entrant) | {
            "state": DONE_STATE,
            "val": spread([each["val"] for each in selected]),
            "test": spread([each["test"] for each in selected]),
            "seconds_to_fit": sum(report["seconds"] for report in reports),
            "seconds_to_predict": seconds,
            "memory_mib": max((each.get("gpu", each.get("process", 0.0)) for each in held), default=None),
            "stopped_by": sorted({report["stopped_by"] for report in reports}),
        }

    def _read(self, name: str, split: int, nodes: Integers) -> Floats:
        return read_probabilities(self._path(name, split), (len(self.y), len(self.names)), nodes)

    def _path(self, name: str, split: int) -> Path:
        place: str = self.members[name]["place"]
        return self.folder / MEMBERS / place / f"split-{split}" / PROBABILITIES

    def _write(self, ended: str) -> Report:
        record = self._ensemble(ended)
        write_json(self.folder / ENSEMBLE, record)
        return record

    def _ensemble(self, ended: str) -> Report:
        """The record of the ensemble of all members that are done."""
        names = self._done()
        validated = {
            split: np.stack([self._read(name, split, self.sets[split]["val"]) for name in names])
            for split in self.splits
        }
        truth = {split: self.y[self.sets[split]["val"]] for split in self.splits}
        if self.folds:
            pooled = np.concatenate(list(validated.values()), axis=1)
            common = self._weigh(pooled, np.concatenate(list(truth.values())), names, final=bool(ended))
            weighed = dict.fromkeys(self.splits, common)
        else:
            weighed = {
                split: self._weigh(validated[split], truth[split], names, split, final=bool(ended))
                for split in self.splits
            }
        splits: dict[str, Report] = {}
        appraised: list[Report] = []
        for split, chosen in weighed.items():
            tested = self.sets[split]["test"]
            said = np.stack([self._read(name, split, tested) for name in names])
            together = {"val": chosen.together(validated[split]), "test": chosen.together(said)}
            if ended:
                appraised.append(self.appraiser.appraise(split, self.training, together, threshold=chosen.threshold))
            used = [place for place, weight in enumerate(chosen.weights) if weight]
            splits[str(split)] = {
                "weights": {names[place]: float(chosen.weights[place]) for place in used},
                "temperatures": {names[place]: chosen.each[place].temperature for place in used},
                "shifts": {names[place]: list(chosen.each[place].shifts) for place in used},
                "temperature": chosen.temperature,
                "calibration": None if chosen.calibration is None else chosen.calibration.as_dict(),
                "threshold": chosen.threshold,
                "threshold_for": describe_rule(self.rule, self.metric) if chosen.threshold is not None else "",
                "val": self._score(together["val"], truth[split], chosen.threshold),
                "test": self._score(together["test"], self.y[tested], chosen.threshold),
            }
        for name, entry in self.members.items():
            entry["weight"] = statistics.fmean(each["weights"].get(name, 0.0) for each in splits.values())
        best = max(names, key=lambda name: self.members[name]["val"]["mean"])
        device = resolve_device(self.entrants[0].config.training.device)
        return {
            "schema_version": ENSEMBLE_VERSION,
            "metric": self.metric,
            "positive_class": positive_record(self.loaded.graph, self.entrants[0].config.training),
            "classes": self.names,
            "fingerprint": self.loaded.facts["fingerprint"],
            "splits_origin": self.origin or self.loaded.facts["splits_origin"],
            "folds": self.folds,
            "members": list(self.members.values()),
            "splits": splits,
            "val": spread([each["val"] for each in splits.values()]),
            "test": spread([each["test"] for each in splits.values()]),
            "best_single": {"name": best, "val": self.members[best]["val"], "test": self.members[best]["test"]},
            **self._appraised(appraised),
            "description": self.description,
            "ended": ended,
            "seconds": self.before + time.perf_counter() - self.started,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(),
            "machine": machine(device, self.entrants[0].config.training.threads),
        }

    def _appraised(self, appraised: list[Report]) -> Report:
        """What the record says beside scores: the baselines', of one split until the end, and then classes and what to
        beware of."""
        graph = self.loaded.graph
        if appraised:
            return over_splits(appraised, graph.num_isolated / graph.num_nodes)
        if len(self._done()) < 2:
            return {}  # an answer soon is worth more
        first = self.splits[0]  # the others would take time from the members
        if first not in self.baselines:
            begun, decided = time.perf_counter(), self.rule.kind != "none"
            self.baselines[first] = self.appraiser.baseline_scores(first, self.training, decided=decided)
            self.reserved = (len(self.splits) - 1) * (time.perf_counter() - begun)
        return {"baselines": baselines_over(list(self.baselines.values()))}

    def _score(self, together: Floats, y: Integers, threshold: float | None) -> float | None:
        value = scores(together[np.newaxis], y, self.scoring, threshold)[0]
        return None if np.isnan(value) else float(value)

    def _weigh(
        self, found: Floats, y: Integers, names: Sequence[str], split: int | None = None, *, final: bool
    ) -> _Weighed:
        """Members calibrated, their weights, and what becomes of their mean; while under way in less time."""
        training, classes = self.training, len(self.names)
        by_rank = ranks_two(training, classes)
        each = []
        for name, said in zip(names, found, strict=True):
            key = self.members[name]["place"], split
            if key not in self.calibrations:
                self.calibrations[key] = Calibration.fit("temperature", said, y, shifted=by_rank)
            each.append(self.calibrations[key])
        alone = _each_calibrated(found, each)
        weights = select(alone, y, self.scoring, sampled=final)
        chosen = _Weighed(each, weights, temperature(np.tensordot(weights, alone, axes=1), y))
        kind, shifted = calibration_of(training, classes), shifts_odds(training, classes)
        if kind == "isotonic" or (kind != "none" and shifted):
            together = chosen.together(found)
            fitted = Calibration.fit(kind, together, y, shifted=shifted, positive=self.scoring.positive)
            chosen = replace(chosen, calibration=fitted)
        if self.rule.kind == "none" or len(np.unique(y)) < 2:
            return chosen
        return replace(chosen, threshold=choose_threshold(chosen.together(found), y, self.scoring, self.rule))


@dataclass
class _Turn:
    """When a member is to be stopped.

    Args:
        deadline: By the clock, at the end of its turn.
        end: By the clock, at the end of all.
        least: Epochs that it has nevertheless, if there is time for twice as many.
        longest: Seconds that these may take.
        parts: As many times it is trained one after the other, each on some splits, with an equal share of the time.
        slow: Seconds of an epoch, where that is too long.
    """

    deadline: float
    end: float
    least: int = 0
    longest: float = float("inf")
    parts: int = 1
    slow: float = 0.0
    _first: int = 0
    _last: int = 0
    _began: float = 0.0
    _share: tuple[float, float] = (0.0, 0.0)

    def over(self, epoch: int) -> bool:
        """Whether to stop after an epoch of the part that is under way; the epochs of the next begin anew."""
        now = time.perf_counter()
        if epoch <= self._last or not self._first:
            self.longest /= 1 if self._first else self.parts
            self._began, self._first = now, epoch
            self._share = (now + (self.deadline - now) / self.parts, now + (self.end - now) / self.parts)
            self.parts = max(self.parts - 1, 1)
        self._last = epoch
        deadline, end = self._share
        if epoch >= self.least or now >= end:
            return now >= deadline
        each = (now - self._began) / max(epoch - self._first, 1)
        slow = now + each * (2 * self.least - epoch) > end or each * self.least > self.longest
        self.slow = each if slow else self.slow
        return slow


@dataclass(frozen=True)
class _Weighed:
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


def _waiting(entrant: Entrant) -> Report:
    """The line of a member that was not reached."""
    unknown = ("val", "test", "seconds_to_fit", "seconds_to_predict", "memory_mib")
    return {
        "name": entrant.member.name,
        "model": entrant.member.model,
        "settings": dict(entrant.member.settings),
        "place": entrant.place.name,
        "state": NOT_REACHED,
        "reason": "",
        **dict.fromkeys(unknown),
        "weight": 0.0,
        "stopped_by": [],
    }


def read_probabilities(path: Path, shape: tuple[int, int], nodes: Integers) -> Floats:
    """What a member says of some nodes of a split, in float64; ``shape``: nodes and classes of the graph."""
    try:
        said = np.load(path, mmap_mode="r")
        if said.shape != shape or said.dtype != np.float32:
            raise ValueError(f"it must hold {shape} numbers of 32 bits, not {said.shape} of type {said.dtype}")
        found: Floats = said[nodes].astype(np.float64)
        if not np.isfinite(found).all() or found.min(initial=0) < 0 or found.max(initial=1) > 1.001:
            raise ValueError("it must hold probabilities")
    except Exception as error:  # whatever the reader raises is about the file
        reason = " ".join(str(error).split())
        raise InputError(f"'{path}' is damaged: {reason}. Delete it: --resume makes it anew.") from None
    return found


def _save(found: np.ndarray[Any, Any], path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, found, allow_pickle=False)


def available_splits(config: RunConfig, graph: Graph) -> list[int]:
    """The splits of a configuration, each of which can be trained on."""
    splits = parse_splits(config.splits, graph.num_splits)
    for split in splits:
        graph.check_trainable(split, tested=False)
    return splits
