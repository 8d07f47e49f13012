"""One rule of resuming: what was begun goes on as it was begun, whatever the command would have made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from glognn.experiments.batches import Batch, make_batches
from glognn.experiments.folder import read_report
from glognn.experiments.plan import Job, make_plan
from glognn.experiments.run import load_graph, run_batch
from glognn.training.callbacks import Callback

GIVEN = {"epochs": 12, "threads": 1, "device": "cpu", "hidden_channels": 8, "checkpoint_interval": 0.0}


class Interrupt(Callback):
    def on_epoch_end(self, metrics: dict[str, float]) -> None:
        if metrics["epoch"] == 8:
            raise KeyboardInterrupt


class Begin(Callback):
    def __init__(self) -> None:
        self.at: list[int] = []

    def on_train_begin(self, info: dict[str, Any]) -> None:
        self.at.append(info["start_epoch"])


def plan(root: Path) -> list[Job]:
    return make_plan(root, ["pairs"], ["mlp"], splits="0-2", given=GIVEN)


def finish(jobs: list[Job], *, together: bool) -> tuple[list[int], list[int]]:
    """The sizes of the batches still to do, and the epochs that they went on from."""
    loaded, begin = load_graph(jobs[0].config), Begin()
    batches = make_batches(jobs, together=together)
    for batch in batches:
        assert run_batch(batch, loaded, [begin]) == {}
    return [len(batch.jobs) for batch in batches], begin.at


@pytest.mark.parametrize("begun_together", [True, False])
def test_interrupted_runs_go_on_as_they_were_begun(begun_together: bool, tmp_path: Path) -> None:
    jobs = plan(tmp_path / "broken")
    first = make_batches(jobs, together=begun_together)[0]
    with pytest.raises(KeyboardInterrupt):
        run_batch(first, load_graph(jobs[0].config), [Interrupt()])
    assert first.checkpoint.exists()
    sizes, starts = finish(jobs, together=not begun_together)
    assert (sizes, starts) == (([3], [7]) if begun_together else ([1, 2], [7, 0]))
    whole = plan(tmp_path / "whole")
    finish(whole, together=begun_together)
    for job, other in zip(jobs, whole, strict=True):
        found, wanted = (read_report(each.folder)["scores"]["last"] for each in (job, other))
        assert found["val_loss"] == pytest.approx(wanted["val_loss"], rel=1e-5)
        assert not (job.folder / "checkpoint").exists()
    assert not list(tmp_path.rglob("together/*"))


def test_a_run_alone_draws_what_it_draws_in_a_batch(tmp_path: Path) -> None:
    """With dropout, too: a split that is done again by itself, or from its own settings, gives its former scores."""
    losses = {}
    for together in (True, False):
        jobs = plan(tmp_path / str(together))
        finish(jobs, together=together)
        losses[together] = [read_report(job.folder)["scores"]["last"]["val_loss"] for job in jobs]
    assert losses[True] == pytest.approx(losses[False], rel=1e-5)


def test_one_run_is_a_batch_with_its_checkpoint_in_its_own_folder(tmp_path: Path) -> None:
    [job] = plan(tmp_path)[:1]
    batch = Batch(job.folder.parent.parent, (job,))
    assert batch.checkpoint == job.folder / "checkpoint" / "latest.safetensors"
    batch.begin()
    assert not list(tmp_path.rglob("*.json"))
