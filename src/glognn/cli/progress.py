"""Live progress of training on a terminal, and a line now and then where there is none."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from glognn.training.callbacks import Callback

LINE_EVERY = 10.0


def counting(console: Console, what: str) -> Progress:
    """A bar that counts things done, with a note and the time left; nothing where there is no terminal."""
    return Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        speed_estimate_period=1800,
    )


class TrainingProgress(Callback):
    """Two bars: all runs, and the epochs of the current one with its validation score."""

    def __init__(self, console: Console, num_runs: int, *, quiet: bool = False) -> None:
        self.console = console
        self.live = console.is_terminal and not quiet
        self.quiet = quiet
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[score]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not self.live,
        )
        self._runs = self._progress.add_task("all runs", total=num_runs, score="")
        self._epochs = self._progress.add_task("", total=None, score="", visible=False)
        self._last_line = time.monotonic()
        self._title = ""
        self._metric = ""

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._progress.stop()

    def on_train_begin(self, info: dict[str, Any]) -> None:
        which = f"split {info['split']}" if info["members"] == 1 else f"{info['members']} splits together"
        self._title = f"{info['model']}, {which}"
        self._metric = info["metric"]
        self._progress.reset(
            self._epochs,
            total=info["epochs"],
            completed=info["start_epoch"],
            description=f"{self._title}, epoch",
            score="",
            visible=True,
        )

    def on_epoch_end(self, metrics: dict[str, float]) -> None:
        score = f"val {100 * metrics[f'val_{self._metric}']:.1f} %"
        self._progress.update(self._epochs, completed=metrics["epoch"], score=score)
        if not self.live and not self.quiet and time.monotonic() - self._last_line >= LINE_EVERY:
            self._last_line = time.monotonic()
            line = f"  {self._title}: epoch {metrics['epoch']:.0f}, {score}, {metrics['seconds']:.0f} s"
            self.console.out(line, highlight=False)

    def run_done(self, line: str) -> None:
        """Count a finished run and leave a line about it."""
        self._progress.advance(self._runs)
        if not self.quiet:
            self.console.out(line, highlight=False)
