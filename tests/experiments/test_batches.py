"""One rule of resuming: what was begun goes on as it was begun, whatever the command would have made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from glognn.errors import MemoryExhaustedError
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


class Exhausts(Callback):
    """Memory runs out in epoch 8 where more than ``most`` runs train together."""

    def __init__(self, most: int, error: Exception) -> None:
        self.most, self.error, self.members = most, error, 0
        self.begun: list[tuple[int, int]] = []

    def on_train_begin(self, info: dict[str, Any]) -> None:
        self.members = info["members"]
        self.begun.append((info["members"], info["start_epoch"]))

    def on_epoch_end(self, metrics: dict[str, float]) -> None:
        if metrics["epoch"] == 8 and self.members > self.most:
            raise self.error


OUT_OF_MEMORY = [
    MemoryError(),
    RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes."),
    torch.OutOfMemoryError("CUDA out of memory."),
]


@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=["python", "torch", "cuda"])
@pytest.mark.parametrize("model", ["mlp", "glognn", "linkx"])  # stacked, compiled where it is there, with buffers
def test_a_batch_that_runs_out_of_memory_goes_on_in_halves(
    model: str, error: Exception, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """From the last checkpoint, and each run ends as it would have."""
    broken, whole = (
        make_plan(tmp_path / name, ["pairs"], [model], splits="0-4", given=GIVEN) for name in ("broken", "whole")
    )
    loaded, exhausts = load_graph(broken[0].config), Exhausts(2, error)
    [batch] = make_batches(broken)
    assert run_batch(batch, loaded, [exhausts]) == {}
    assert exhausts.begun == [(5, 0), (3, 7), (2, 7), (1, 7), (2, 7)]
    assert "Memory does not hold 5 runs at once: going on with 3 at a time." in caplog.text
    finish(whole, together=True)
    for job, other, together in zip(broken, whole, (2, 2, 1, 2, 2), strict=True):
        found, wanted = (read_report(each.folder) for each in (job, other))
        assert found["scores"]["last"]["val_loss"] == pytest.approx(wanted["scores"]["last"]["val_loss"], rel=1e-5)
        assert (found["trained_together"], wanted["trained_together"]) == (together, 5)
        assert not (job.folder / "checkpoint").exists()
    assert not list(tmp_path.rglob("together/*"))


def test_one_run_that_memory_does_not_hold_is_an_error(tmp_path: Path) -> None:
    jobs = plan(tmp_path)
    [batch] = make_batches(jobs)
    with pytest.raises(MemoryExhaustedError, match="Memory ran out on this machine"):
        run_batch(batch, load_graph(jobs[0].config), [Exhausts(0, MemoryError())])
    assert finish(jobs, together=True)[1][0] == 7


def test_an_interrupted_batch_that_fits_no_more_goes_on_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    jobs, whole = plan(tmp_path / "broken"), plan(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run_batch(make_batches(jobs)[0], load_graph(jobs[0].config), [Interrupt()])
    monkeypatch.setattr("glognn.experiments.run.members_at_once", lambda *_: 2)
    sizes, starts = finish(jobs, together=True)
    assert (sizes, starts) == ([3], [7, 7])
    assert "Memory does not hold 3 runs at once: going on with 2 at a time." in caplog.text
    monkeypatch.undo()
    finish(whole, together=True)
    for job, other in zip(jobs, whole, strict=True):
        found, wanted = (read_report(each.folder)["scores"]["last"]["val_loss"] for each in (job, other))
        assert found == pytest.approx(wanted, rel=1e-5)
    assert not list(tmp_path.rglob("together/*"))


def test_a_kill_while_a_batch_is_halved_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batch and halves are there at once: the batch goes on as it was."""
    jobs = plan(tmp_path)
    loaded = load_graph(jobs[0].config)
    [batch] = make_batches(jobs)
    with monkeypatch.context() as patch:
        patch.setattr(Batch, "end", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run_batch(batch, loaded, [Exhausts(2, MemoryError())])
    assert len(list(tmp_path.rglob("together/*.json"))) == 2
    assert make_batches(jobs) == [batch]
    assert finish(jobs, together=True) == ([3], [7])
    assert make_batches(jobs) == []
