"""Live progress on a terminal, and a line now and then where there is none."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.status import Status

from glognn.cli.tables import describe_graph, describe_tables
from glognn.cli.terminal import Terminal
from glognn.data.sources import find_source
from glognn.experiments.layout import REFIT
from glognn.experiments.plan import DOES_NOT_FIT
from glognn.experiments.progress import Progress, Work
from glognn.report.summary import baselines_text, shown
from glognn.report.text import score_name, score_text, unit

if TYPE_CHECKING:
    from glognn.data.table_graph import KeptTables, TableOptions
    from glognn.experiments.folder import Report
    from glognn.experiments.jobs import RunOutcome
    from glognn.experiments.plan import Job
    from glognn.experiments.run import LoadedGraph
    from glognn.experiments.tune import StudyResult

LINE_EVERY = 10.0


def counting(console: Terminal, what: str) -> Bars:
    """A bar that counts things done, with a note and the time left; nothing where there is no terminal."""
    return Bars(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        speed_estimate_period=1800,
    )


class Display(Progress):
    """Shows what work tells: a bar that counts it, and a line about each thing done.

    While models train there are two bars, one for all splits and one for the epochs of the current model.

    Attributes:
        work: What was begun last.
    """

    def __init__(self, console: Terminal, *, quiet: bool = False) -> None:
        self.console = console
        self.quiet = quiet
        self.work: Work | None = None
        self._done = 0
        self._live: Bars | Status | None = None
        self._counted = self._epochs = TaskID(0)
        self._last_line = self._begun = time.monotonic()
        self._title = self._metric = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._show(None)

    def _show(self, live: Bars | Status | None) -> None:
        """Show this in place of what is shown."""
        if self._live is not None:
            self._live.stop()
        self._live = live
        if live is not None:
            live.start()

    def _say(self, text: str) -> None:
        self.console.out(text)

    def on_tables(self, tables: KeptTables, options: TableOptions) -> None:
        if not self.quiet:
            describe_tables(self.console, tables, options)

    def on_graph(self, loaded: LoadedGraph) -> None:
        if not self.quiet:
            self._say(describe_graph(loaded.facts))

    def on_left_out(self, what: str, reason: str) -> None:
        self._say(f"{what} is left out: {reason}")

    def on_begin(self, work: Work) -> None:
        self.work, self._done, self._begun = work, work.done, time.monotonic()
        if work.unit in ("splits", "members"):
            self._begin_training(work)
            return
        if work.unit == "trials":
            self._say(_searches(work))
        else:
            self._say(f"{work.total} runs, {work.done} of them done already, {work.workers} at a time")
        bars = counting(self.console, work.unit)
        self._counted = bars.add_task("", total=work.total, completed=work.done, note="")
        self._show(bars)

    def _begin_training(self, work: Work) -> None:
        bars = Bars(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[score]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            disable=self.quiet or not self.console.is_terminal,
        )
        title = "all members" if work.unit == "members" else "all runs"
        self._counted = bars.add_task(title, total=work.total, completed=work.done, score="")
        self._epochs = bars.add_task("", total=None, score="", visible=False)
        self._show(bars)

    def _advance(self, done: int, **fields: Any) -> None:
        self._done = done
        assert isinstance(self._live, Bars)
        self._live.update(self._counted, completed=done, **fields)

    def on_train_begin(self, info: dict[str, Any]) -> None:
        which = f"split {info['split']}" if info["members"] == 1 else f"{info['members']} splits together"
        self._title = f"{info['model']}, {which}"
        self._metric = info["metric"]
        assert isinstance(self._live, Bars)
        self._live.reset(
            self._epochs,
            total=info["epochs"],
            completed=info["start_epoch"],
            description=f"{self._title}, epoch",
            score="",
            visible=True,
        )

    def on_epoch_end(self, metrics: dict[str, float]) -> None:
        score = f"val {score_text(self._metric, metrics[f'val_{self._metric}'])}"
        assert isinstance(self._live, Bars)
        self._live.update(self._epochs, completed=metrics["epoch"], score=score)
        silent = self.quiet or self.console.is_terminal
        if not silent and time.monotonic() - self._last_line >= LINE_EVERY:
            self._last_line = time.monotonic()
            self._say(f"  {self._title}: epoch {metrics['epoch']:.0f}, {score}, {metrics['seconds']:.0f} s")

    def on_split_end(self, report: Report) -> None:
        self._advance(self._done + 1)
        if not self.quiet:
            selected = report["scores"]["selected"]
            beside, metric = baselines_text(report, "test"), report["metric"]
            self._say(
                f"  {report['config']['model']['name']}, split {report['split']}: test {score_name(report)} "
                f"{score_text(metric, selected['test'])} (validation {score_text(metric, selected['val'])}, "
                f"epoch {selected['epoch']} "
                f"of {report['scores']['last']['epoch']}, {report['seconds']:.1f} s)"
                + (f"; baselines: {beside}" if beside else "")
            )

    def on_refit(self, folder: Path, record: Report) -> None:
        if not self.quiet:
            from glognn.experiments.refit import describe_refit

            self._say(f"  {describe_refit(record)}: {folder / REFIT}; the scores are those of the splits")

    def on_description(self, text: str, advice: Sequence[str] = ()) -> None:
        if not self.quiet:
            self._say(f"{text}\n")
            if advice:
                self._say("Worth trying:\n" + "\n".join(f"  {each}" for each in advice) + "\n")

    def on_member_end(self, name: str, record: Report) -> None:
        [entry] = [each for each in record["members"] if each["name"] == name]
        longer = entry["place"] != name
        if not longer:
            self._advance(self._done + 1)
        if self.quiet or entry["val"] is None:
            if entry["val"] is None:
                self.on_left_out(f"The member '{name}'", f"{entry['state']}, {entry['reason']}")
            return
        known = [each["val"]["mean"] for each in record["members"] if each["val"] is not None]
        rank = 1 + sum(score > entry["val"]["mean"] for score in known)
        metric = record["metric"]
        tried = f", tried {entry['reason'].partition(',')[0]}" if entry["state"] == "tried" else ""
        self._say(
            f"  {rank}. of {len(known)}: {name}{tried}{', trained longer' if longer else ''}, validation "
            f"{score_name(record)} {shown(metric, entry['val'])}{unit(metric)}, "
            f"{entry['seconds_to_fit']:.1f} s; ensemble so far {shown(metric, record['val'])}"
            f"{unit(metric)}"
        )

    def on_trials_end(self, done: int, best: float | None) -> None:
        if done == self._done:
            return
        assert self.work is not None
        search = next(iter(self.work.searches.values()))
        note = "" if best is None else f"best {score_text(search.default().training.metric, best)}"
        self._advance(done, note=note)
        if not self.console.is_terminal:
            each = (time.monotonic() - self._begun) / max(done - self.work.done, 1)
            left = timedelta(seconds=round(each * (self.work.total - done)))
            self._say(f"  {done}/{self.work.total} trials{', ' if note else ''}{note}, about {left} left")

    def on_search_end(self, found: Sequence[StudyResult]) -> None:
        from glognn.report.study import best_table, render_best

        self._show(None)
        self._say(render_best(found[0]) if len(found) == 1 else best_table(found))

    def on_run_end(self, outcome: RunOutcome) -> None:
        assert self.work is not None
        self._advance(self._done + 1)
        job, failed = outcome.job, "failed" if outcome.fits else DOES_NOT_FIT
        ended = f"{failed}: {outcome.error}" if outcome.error else f"{outcome.seconds:.1f} s"
        self._say(
            f"  {self._done}/{self.work.total} {job.dataset}, {job.label}, seed {job.seed}, split {job.split}: {ended}"
        )

    def on_examine(self, job: Job) -> None:
        self._show(self.console.status(f"{job.dataset}, {job.label}, split {job.split}"))


def _searches(work: Work) -> str:
    search = next(iter(work.searches.values()))
    single = len(work.searches) == 1
    title = f"{search.model} on {find_source(search.dataset).label}" if single else f"{len(work.searches)} studies"
    size = f" ({len(search.whole_space().parameters)} settings)" if single else ""
    return (
        f"{title}: {work.done} of {work.total} trials done already, space {search.space}{size}, {work.workers} at a "
        f"time, in {work.folder}"
    )
