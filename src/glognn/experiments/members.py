"""The members of a portfolio on one graph, trained one after another, with the ensemble of all so far after each.

The splits of a member train as one batch. Where that takes long, a member is first tried on some of the splits, and the
most promising are then trained on the others.
"""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from glognn.errors import GloGNNError, InputError, MemoryExhaustedError, TooLargeError, TrainingError, WriteError
from glognn.experiments.advice import describe, look
from glognn.experiments.appraisal import spread
from glognn.experiments.batches import make_batches
from glognn.experiments.entrants import (
    DONE_STATE,
    FAILED,
    NOT_REACHED,
    TOO_LARGE,
    TRIED,
    Entrant,
    write_probabilities,
)
from glognn.experiments.environment import machine, versions
from glognn.experiments.folder import load_model
from glognn.experiments.graphs import Graphs
from glognn.experiments.layout import DONE, ENSEMBLE, PROBABILITIES
from glognn.experiments.plan import Job
from glognn.experiments.portfolio import Member
from glognn.experiments.progress import Progress
from glognn.experiments.reports import ENSEMBLE_VERSION, Report, read_ensemble, read_report
from glognn.experiments.run import LoadedGraph, finished_report, run_batch, settled_batches
from glognn.experiments.turns import (
    FAIR,
    FEWEST_EPOCHS,
    FEWEST_TRIED,
    FEWEST_TURNS,
    FIRST_SECONDS,
    FIRST_SHARE,
    LEAST_SHARE,
    LONGEST_TURN,
    MOST_RESERVED,
    QUICK,
    ROUND,
    ROUND_TRIED,
    TOGETHER,
    TRIED_SHARE,
    WORTH_STARTING,
    Prospect,
    Turn,
    at_rest,
    next_to_go_on,
    promise,
)
from glognn.experiments.weighing import Scales
from glognn.storage import write_json
from glognn.training.devices import resolve_device, threads
from glognn.training.history import History
from glognn.training.predict import predict_alike
from glognn.training.preflight import members_at_once, ran_out

OUT_OF_TIME, AT_REST, BEHIND, TOO_SLOW = "time limit", "at rest", "far behind", "too slow"
"""Why a member was stopped before its training ended."""
RESUMABLE = (OUT_OF_TIME, AT_REST)
"""It may go on after these."""
OTHER_KIND = 0.05
"""Members that read links are put off when those tried are by so much, and beyond the spread of the best, behind those
that do not; and the other way round.
"""
WORTH_REPEATING = 0.05
"""A member is trained again with another seed if it, and those like it, have so much weight in the ensemble."""
LEVEL = 0.01
"""So far below the best, or as far as that one's spread, a member is level with it;"""
WORTH_ALL = 0.1
"""and so is one that has so much weight in an ensemble where members are tried."""
FAR, PATIENCE_BEHIND = 0.1, 0.25
"""A member whose best scores are by so much, and beyond the spread of the best member's, below that one's is stopped
when they have not risen for this share of its patience: it would hardly weigh in the ensemble.
"""


class Contest:
    """What is known of the members so far; :meth:`run` trains those that are left.

    Args:
        folder: The ``auto`` folder.
        entrants: The members, in their order.
        graphs: Where graphs come from.
        origin: Of the splits, in words; empty: what the graph says.
        folds: The splits are folds of all labels.
        names: Of the classes.
        first: So many members come before the others, which have what time these leave; by default all.
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
        first: int | None = None,
        progress: Progress,
    ) -> None:
        self.folder, self.entrants, self.graphs, self.progress = folder, list(entrants), graphs, progress
        self.first = first
        self.origin, self.training = origin, entrants[0].config.training
        self.loaded = graphs.of(entrants[0].config)
        graph, self.splits = self.loaded.graph, [job.split for job in entrants[0].jobs]
        named = list(range(graph.num_classes)) if names is None else list(names)
        self.scales = Scales(folder, graph, self.training, self.splits, names=named, folds=folds)
        self.facts = look(graph, self.splits[0], folds=folds)
        self.description = describe(self.facts)
        self.slow, self.failed, self.least = set[str](), set[str](), FEWEST_EPOCHS
        self.members: dict[str, Report] = {each.member.name: each.line() for each in entrants}
        self.repeated = _repeated([each.member for each in entrants])
        self.vals: dict[str, dict[int, float]] = {}
        """The validation scores of members by split."""
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
            trained, needed = len(there.trained), {DONE_STATE: len(there.jobs), TRIED: 1}.get(entry["state"], 0)
            if trained >= needed:
                self.entrants[number], self.members[each.member.name] = there, entry
                if needed:
                    self._know(there, there.trained)

    def run(self, limit: float) -> Report:
        """Train what is left within a limit of seconds; the record, as it lies in the folder then."""
        if self.finished == len(self.entrants) and not self._unfinished() and (self.folder / DONE).exists():
            return read_ensemble(self.folder)
        (self.folder / DONE).unlink(missing_ok=True)
        ended = f"the time limit of {limit:g} s was used up"
        try:
            turns = self._train_each(limit)
            while self._train_longer(limit) and turns:
                if self.finished == len(self.entrants):
                    left = self._unfinished()
                    ended = f"what was left of {limit:g} s was not enough for more" if left else "all members are done"
                    break
                if not self._waiting():  # the others have what time is left, then those given up
                    if self.first is None:
                        self.slow, self.least = set(), 0
                    self.first = None
                turns = self._train_each(limit, most=1)
        except KeyboardInterrupt:
            if not self._in_state(DONE_STATE):
                raise
            ended = "interrupted"
        if not self._in_state(DONE_STATE):
            reasons = "; ".join(f"{name}: {entry['reason']}" for name, entry in self.members.items())
            raise TrainingError(f"No member of the portfolio could be trained. {reasons}")
        for name, entry in self.members.items():
            if entry["state"] == NOT_REACHED:
                needless = f"'{self.repeated[name]}' is not worth repeating" if self._needless(name) else ""
                entry["reason"] = entry["reason"] or needless or ended
        return self._write(ended)

    def _train_each(self, limit: float, most: int | None = None) -> bool:
        """Give members their turn that have had none, while the round lasts, or ``most`` of them; whether there is time
        for more: those whose turn does not come have one when the others have ended.
        """
        turns = 0
        while waiting := self._waiting():
            if self._hopeless(limit):
                return False
            over = time.perf_counter() > self.started + self._round(limit) * limit
            if (turns >= FEWEST_TURNS and over) if most is None else turns >= most:
                return True
            each = waiting[0]
            trained = len(self._in_state(DONE_STATE, TRIED))
            least = self.least if trained else 0  # of the first there is to be an answer soon
            longest = limit if trained < FEWEST_TURNS else LONGEST_TURN * limit
            turn = Turn(self._deadline(limit, len(waiting)), self._end(limit), least, longest)
            entry = self._train(each, turn, each.jobs[: self._to_try(limit)])
            self.members[each.member.name] = entry
            if self._in_state(DONE_STATE) and entry["state"] != NOT_REACHED:
                self.progress.on_member_end(each.member.name, self._write(""))
            else:
                self.progress.on_left_out(f"The member '{each.member.name}'", entry["reason"])
            turns += entry["state"] in (DONE_STATE, TRIED)
        return True

    def _to_try(self, limit: float) -> int:
        """On how many splits a member is tried at first: all, where that takes little time."""
        done, every = self._in_state(DONE_STATE), len(self.splits)
        if not done or every < FEWEST_TRIED:
            return every
        if resolve_device(self.training.device).type == "cuda":
            quick = every * self.loaded.graph.num_nodes <= TOGETHER
        else:
            quick = QUICK * self.members[done[0]]["seconds_to_fit"] <= limit
        return every if quick else max(1, every // TRIED_SHARE)

    def _waiting(self) -> list[Entrant]:
        """The members that have had no turn: in their order, those of a kind that is behind (``OTHER_KIND``) later, and
        those that repeat another last, what weighs most first."""
        tried: dict[bool, list[Report]] = {}
        for each in self.entrants:
            if (entry := self.members[each.member.name])["state"] in (DONE_STATE, TRIED):
                tried.setdefault(each.config.model.reads_links, []).append(entry["val"])
        kinds = {kind: max(found, key=lambda val: val["mean"]) for kind, found in tried.items()}
        best = max(kinds.values(), key=lambda val: val["mean"], default=None)
        behind = {
            kind: best is not None and val["mean"] < best["mean"] - max(OTHER_KIND, best["std"] or 0.0)
            for kind, val in kinds.items()
        }
        left = [each for each in self.entrants[: self.first] if each.member.name not in self.slow]
        waiting = [each for each in left if self.members[each.member.name]["state"] == NOT_REACHED]
        wanted = [each for each in waiting if not self._needless(each.member.name)]

        def place(each: Entrant) -> tuple[bool, bool, float]:
            name, kind = each.member.name, each.config.model.reads_links
            return name in self.repeated, behind.get(kind, False), -self._weight_of_alike(name)

        return sorted(wanted, key=place)

    def _weight_of_alike(self, name: str) -> float:
        """What the member that another one repeats, and others that do, weigh together; 0 of one that repeats none."""
        first = self.repeated.get(name)
        alike = [each for each, other in self.repeated.items() if other == first] if first else []
        return float(sum(self.members[each]["weight"] for each in [first, *alike] if each))

    def _needless(self, name: str) -> bool:
        """Whether it would repeat a member that is not trained, or has little weight."""
        return name in self.repeated and self._weight_of_alike(name) < WORTH_REPEATING

    def _train_longer(self, limit: float) -> bool:
        """Go on with members that were stopped, each for as long again, and train on all splits those that were tried
        on some and are level with the best or add to it; the most promising first. Whether there is time for others.

        A member goes on in a folder of its own, and takes the place of what it was when it ends.
        """
        end = self._end(limit)
        while left := {each.member.name: each for each in self._unfinished()}:
            if (now := time.perf_counter()) > end - LEAST_SHARE * limit:
                return False
            others_wait = bool(self._waiting()) and not self._hopeless(limit)
            shares = {} if others_wait or not self._in_state(TRIED) else self.scales.shares(self.members, self._common)
            found = {name: self._prospect(each, shares.get(name, 0.0), end - now) for name, each in left.items()}
            name = next_to_go_on(found, end - now, others_wait=others_wait)
            if name is None:
                break
            each = left[name]
            trained, curves, patient = each.trained, each.curves(self.training.metric), found[name].rests
            taken, epochs = self.members[name]["seconds_to_fit"], min(map(len, curves.values()))
            waits = not each.stopped or (_rests(each, curves) and not patient)
            again = 0.0 if waits else max(taken, taken * (FEWEST_EPOCHS - epochs) / epochs)
            longer = each.longer(RESUMABLE)
            jobs = longer.jobs if found[name].on_all else longer.jobs[: len(trained)]
            again += (taken + again) * (len(jobs) - len(trained)) / len(trained)
            turn = Turn(min(end, now + max(again, LEAST_SHARE * limit)), end, patient=patient)
            entry = self._train(longer, turn, jobs)
            if entry["state"] not in (DONE_STATE, TRIED):
                self.progress.on_left_out(f"The member '{name}', trained longer,", entry["reason"])
                self.failed.add(name)
                continue
            self.members[name], self.entrants[self.entrants.index(each)] = entry, longer
            record = self._write("")
            shutil.rmtree(each.place, ignore_errors=True)
            self.progress.on_member_end(name, record)
        return True

    def _unfinished(self) -> list[Entrant]:
        """The members that were stopped by time and could go on, and those that were tried on some splits."""
        able = [each for each in self.entrants if each.member.name not in self.failed]
        return [
            each
            for each in able
            if (entry := self.members[each.member.name])["state"] == TRIED or (entry["stopped_by"] and each.stopped)
        ]

    @property
    def _common(self) -> list[int]:
        """The splits that all members are tried on."""
        return self.splits[: max(1, len(self.splits) // TRIED_SHARE)]

    def _prospect(self, each: Entrant, share: float, left: float) -> Prospect:
        """What a member of such a weight that goes on may reach in the seconds that are left, where all are tried."""
        curves, taken = each.curves(self.training.metric), self.members[each.member.name]["seconds_to_fit"]
        common = self._common
        reached = promise({split: curves[split] for split in common}, taken if each.stopped else 0.0, left)
        known = [(self.members[name]["val"]["std"] or 0.0, name) for name in self._in_state(DONE_STATE)]
        scores = {name: statistics.fmean(self.vals[name][split] for split in common) for _, name in known}
        allowed, first = max(known, key=lambda pair: scores[pair[1]])
        behind = reached <= scores[first]
        missing = len(each.jobs) - len(curves)
        score = statistics.fmean(self.vals[each.member.name][split] for split in common)
        rests = each.stopped and _rests(each, curves)
        if not missing:
            return Prospect(True, True, False, share, score, reached, taken, 0.0, behind, rests)
        level = score >= scores[first] - max(allowed, LEVEL) or share >= WORTH_ALL
        best = max(curve.index(max(curve)) + 1 for curve in curves.values())
        needed = max(best / 2, 2 * FEWEST_EPOCHS) / sum(map(len, curves.values()))
        least, alike = missing * taken * min(needed, 1 / len(curves)), missing * taken / len(curves)
        on_all = level or not each.stopped
        return Prospect(least <= left, on_all, level, share, score, reached, alike, least, behind, rests and not on_all)

    @property
    def finished(self) -> int:
        """How many members have had their turn, or need none."""
        return len(self.members) - sum(not self._needless(name) for name in self._in_state(NOT_REACHED))

    def _in_state(self, *states: str) -> list[str]:
        return [name for name, entry in self.members.items() if entry["state"] in states]

    def _end(self, limit: float) -> float:
        """When no member may train any more: the baselines of the other splits are fitted then."""
        return self.started + limit - min(self.scales.reserved, MOST_RESERVED * limit)

    def _hopeless(self, limit: float) -> bool:
        taken = [self.members[name]["seconds_to_fit"] for name in self._in_state(DONE_STATE, TRIED)]
        left = self._end(limit) - time.perf_counter()
        return bool(taken) and left < WORTH_STARTING * statistics.fmean(taken)

    def _round(self, limit: float) -> float:
        return ROUND if self._to_try(limit) == len(self.splits) else ROUND_TRIED

    def _deadline(self, limit: float, members: int) -> float:
        """When to stop the first of so many members that are left."""
        now, end = time.perf_counter(), self._end(limit)
        if not self._in_state(DONE_STATE):
            return min(end, now + max(FIRST_SECONDS, FIRST_SHARE * limit))
        share = FAIR * (self.started + self._round(limit) * limit - now) / members
        return min(end, now + max(share, LEAST_SHARE * limit))

    def _train(self, entrant: Entrant, turn: Turn, jobs: Sequence[Job]) -> Report:
        """Train a member on some splits, or go on with it; what became of it."""
        try:
            loaded = self.graphs.of(entrant.config)
            entrant.config.model.check_graph(has_features=loaded.graph.x is not None)
            for job in jobs:
                if job.done:
                    finished_report(job, loaded)
            made, training = make_batches(jobs, group=entrant.place), entrant.config.training
            batches = [part for batch in made for part in settled_batches(batch, loaded.graph, [self.progress])]
            at_once = max(members_at_once(entrant.config.model, loaded.graph, training), 1)
            sizes = [len(batch.jobs) for batch in batches]
            turn.parts = [min(at_once, size - k) for size in sizes for k in range(0, size, at_once)] or (1,)
            for batch in batches:
                stop = partial(self._stop, turn, [job.split for job in batch.jobs])
                errors = run_batch(batch, loaded, [self.progress], stop=stop, resumable=RESUMABLE)
                for folder, error in errors.items():
                    raise TrainingError(f"{folder.name}: {error}")
            if turn.slow:
                shutil.rmtree(entrant.place)
                self.slow.add(entrant.member.name)
                return entrant.line(reason=f"an epoch takes {turn.slow:.2g} s, too long for the time left")
            return self._measure(entrant, loaded, jobs)
        except WriteError:
            raise
        except (GloGNNError, MemoryError, RuntimeError) as error:
            large = isinstance(error, TooLargeError | MemoryExhaustedError) or ran_out(error)
            if not large and not isinstance(error, GloGNNError):
                raise
            reason = " ".join(str(error).split()) or "out of memory"
            return entrant.line(TOO_LARGE if large else FAILED, reason)

    def _stop(self, turn: Turn, splits: Sequence[int], going: Mapping[int, History]) -> str:
        if turn.over(max(history.epoch for history in going.values())):
            return TOO_SLOW if turn.slow else OUT_OF_TIME
        if not turn.patient and at_rest([history.vals for history in going.values()]):
            return AT_REST
        known = [vals for vals in self.vals.values() if vals.keys() >= set(splits)]
        others = [statistics.fmean(vals[split] for split in splits) for vals in known]
        if not others:
            return ""
        spreads = [self.members[name]["val"] for name in self._in_state(DONE_STATE)]
        std = max(spreads, key=lambda val: val["mean"])["std"] or 0.0
        scores = [(history.best.val, history.epoch - history.best.epoch) for history in going.values() if history.best]
        waited = PATIENCE_BEHIND * max(history.config.patience for history in going.values())
        behind = statistics.fmean(val for val, _ in scores) < max(others) - max(FAR, std)
        return BEHIND if behind and min(since for _, since in scores) >= waited else ""

    def _know(self, entrant: Entrant, jobs: Sequence[Job]) -> list[Report]:
        """The reports of some runs, whose validation scores are known from then on."""
        reports = [read_report(job.folder) for job in jobs]
        found = zip(jobs, reports, strict=True)
        self.vals[entrant.member.name] = {job.split: report["scores"]["selected"]["val"] for job, report in found}
        return reports

    def _measure(self, entrant: Entrant, loaded: LoadedGraph, jobs: Sequence[Job]) -> Report:
        """Write what the models of a trained member say of every node; the member's line in the record."""
        started = time.perf_counter()
        training = entrant.config.training
        device = resolve_device(training.device)
        graph = loaded.graph.to(device=device)
        with threads(training.threads):
            models = (load_model(job.folder).to(device) for job in jobs)
            for job, said in zip(jobs, predict_alike(models, graph), strict=True):
                write_probabilities(job.folder / PROBABILITIES, said.float().cpu().numpy())
        seconds = time.perf_counter() - started
        reports = self._know(entrant, jobs)
        selected = [report["scores"]["selected"] for report in reports]
        held = [report["peak_memory_mib"] for report in reports]
        some = len(jobs) < len(entrant.jobs)
        return entrant.line(
            TRIED if some else DONE_STATE,
            f"on {len(jobs)} of {len(entrant.jobs)} splits, and then not on all" if some else "",
            val=spread([each["val"] for each in selected]),
            test=spread([each["test"] for each in selected]),
            seconds_to_fit=sum(report["seconds"] for report in reports),
            seconds_to_predict=seconds,
            memory_mib=max((each.get("gpu", each.get("process", 0.0)) for each in held), default=None),
            stopped_by=sorted({report["stopped_by"] for report in reports}),
        )

    def _write(self, ended: str) -> Report:
        """The record of the ensemble of all members that are done, also in the folder."""
        device = resolve_device(self.training.device)
        record = {
            "schema_version": ENSEMBLE_VERSION,
            "fingerprint": self.loaded.facts["fingerprint"],
            "splits_origin": self.origin or self.loaded.facts["splits_origin"],
            "members": list(self.members.values()),
            **self.scales.weigh(self.members, final=bool(ended)),
            "description": self.description,
            "ended": ended,
            "seconds": self.before + time.perf_counter() - self.started,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(),
            "machine": machine(device, self.training.threads),
        }
        write_json(self.folder / ENSEMBLE, record)
        return record


def _rests(each: Entrant, curves: Mapping[int, Sequence[float]]) -> bool:
    """Whether the runs that could go on hardly rise any more."""
    going = [curves[split] for split in each.going(RESUMABLE)]
    return bool(going) and at_rest(going)


def _repeated(members: Sequence[Member]) -> dict[str, str]:
    """By the name of a member that repeats an earlier one with another seed: the name of that one, the first such."""
    found: dict[str, str] = {}
    for place, member in enumerate(members):
        first = next((other.name for other in members[:place] if member.repeats(other)), None)
        if first is not None:
            found[member.name] = first
    return found
