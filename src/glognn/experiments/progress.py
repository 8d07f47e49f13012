"""What the commands that train tell while they work, as functions too: train, auto, tune, reproduce.

Imports no torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from glognn.training.callbacks import Callback

if TYPE_CHECKING:
    from glognn.data.table_graph import KeptTables, TableOptions
    from glognn.experiments.folder import Report
    from glognn.experiments.jobs import RunOutcome
    from glognn.experiments.plan import Job
    from glognn.experiments.run import LoadedGraph
    from glognn.experiments.search import Search
    from glognn.experiments.tune import StudyResult


@dataclass(frozen=True)
class Work:
    """What is about to be done.

    Attributes:
        unit: What is counted: ``splits`` to train on, ``members`` of a portfolio, ``trials`` of searches, or
            ``runs`` of a plan.
        total: How many there are.
        done: How many of them were done before.
        workers: How many are done at a time.
        folder: Where they are kept.
        searches: The searches of trials, by the folders of their studies.
    """

    unit: str
    total: int
    done: int
    workers: int
    folder: Path
    searches: Mapping[Path, Search] = field(default_factory=dict)


class Progress(Callback):
    """Told how work goes on: derive from it and override what you need.

    What a training tells (:class:`Callback`) is told of the models trained in this process by ``train_models`` and
    ``auto``.
    """

    def on_tables(self, tables: KeptTables, options: TableOptions) -> None:
        """A user's tables were read, and are a graph in the run folder."""

    def on_graph(self, loaded: LoadedGraph) -> None:
        """Before models are trained on a graph."""

    def on_begin(self, work: Work) -> None:
        """Before work that is counted."""

    def on_split_end(self, report: Report) -> None:
        """A model is trained on a split, or was before."""

    def on_refit(self, folder: Path, record: Report) -> None:
        """The model of a run was trained on all labels, or was before."""

    def on_description(self, text: str, advice: Sequence[str] = ()) -> None:
        """What kind of graph it is that is about to be trained on, what that means for the choice of a model, and which
        options are worth trying beside those given, where there are any."""

    def on_member_end(self, name: str, record: Report) -> None:
        """A member of a portfolio is trained, or was given up; the record of the ensemble with it."""

    def on_trials_end(self, done: int, best: float | None) -> None:
        """Some trials ended: how many are done in all, and of a single search the best validation score."""

    def on_search_end(self, found: Sequence[StudyResult]) -> None:
        """Searches have all their trials, or as many as are wanted."""

    def on_run_end(self, outcome: RunOutcome) -> None:
        """A run of a plan is done or failed."""

    def on_left_out(self, what: str, reason: str) -> None:
        """A dataset or a study that cannot be worked on; the others are."""

    def on_examine(self, job: Job) -> None:
        """Before the trained model of a run is looked at."""
