"""Ranks that are killed, hang, or come back in another number."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import distributed as dist

from glognn.distributed import ranks as ranks_module
from glognn.distributed.partition import make_partition
from glognn.distributed.ranks import RankError, Ranks, together
from glognn.distributed.shards import Shards, write_graph
from glognn.errors import InputError
from glognn.graph.graph import Graph
from glognn.models.configs import MODELS
from glognn.training.callbacks import Callback
from glognn.training.config import TrainingConfig
from glognn.training.driver import train_batch
from glognn.training.sharded import ShardedCheckpoint
from tests.conftest import make_data
from tests.distributed.processes import Group, on_ranks

EPOCHS = 24


class At(Callback):
    """Does something on one rank when an epoch has been computed, before its checkpoint is written."""

    def __init__(self, epoch: int, rank: int, ranks: Ranks, what: str) -> None:
        self.mine, self.epoch, self.what = ranks.rank == rank, epoch, what
        self.begun = 0

    def on_train_begin(self, info: dict[str, Any]) -> None:
        self.begun = info["start_epoch"]

    def on_epoch_end(self, metrics: dict[str, float]) -> None:
        if self.mine and metrics["epoch"] == self.epoch:
            if self.what == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)


def _train(ranks: Ranks, folder: Path, stop_at: int = 0, rank: int = 1, what: str = "die", identity: str = "a") -> Any:
    part = Shards.open(folder / "shards").read_for(ranks)
    torch.manual_seed(0)
    config = MODELS["glognn++"].from_mapping({"alpha": 0.5, "dropout": 0.3, "hidden_channels": 8})
    model = MODELS["glognn++"].model_class().for_graph(part, config)
    training = TrainingConfig(epochs=EPOCHS, early_stopping="none", dtype="float64", engine="distributed")
    checkpoint = ShardedCheckpoint(
        folder / "checkpoint" / "latest.safetensors",
        interval=0.0,
        identity=identity,
        ranks=ranks,
        nodes=part.nodes,
    )
    at = At(stop_at, rank, ranks, what)
    with together(ranks):
        [ending] = train_batch([model], part, splits=[0], configs=[training], checkpoint=checkpoint, callbacks=[at])
    assert ending is not None
    assert not isinstance(ending, Exception), ending
    return at.begun, [row["train_loss"] for row in ending.curve], vars(ending.selected)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    graph = Graph.from_data(make_data(num_nodes=40, seed=1), dtype=torch.float64)
    partition = make_partition(graph.adjacency.matrix.to_scipy(), 4, "balanced")
    write_graph(graph, partition, tmp_path / "shards", {})
    return tmp_path


def test_ten_kills_lose_no_epoch_that_was_saved_whatever_the_number_of_ranks(folder: Path) -> None:
    undisturbed = _alone(folder)
    for kill in range(10):
        size = (2, 3, 4)[kill % 3]
        group = Group(size, _train, folder, 2 + 2 * kill, kill % size, folder=folder)
        outcomes = [group.outcome(rank) for rank in range(size)]
        assert outcomes[kill % size] is None, "the process was killed"
        for rank, outcome in enumerate(outcomes):
            if rank != kill % size:
                assert isinstance(outcome, RankError)
                assert f"rank {kill % size} of {size} (process " in str(outcome)
    begun, losses, selected = on_ranks(2, _train, folder, folder=folder)[0]
    assert begun == 19, "the checkpoint of the last epoch before the kill in epoch 20"
    np.testing.assert_allclose(losses, undisturbed[1], rtol=1e-10)
    assert selected == pytest.approx(undisturbed[2], rel=1e-10)


def _alone(folder: Path) -> Any:
    other = folder / "undisturbed"
    other.mkdir()
    (other / "shards").symlink_to(folder / "shards")
    return _train(Ranks(), other)


def test_a_rank_that_hangs_ends_the_others_and_is_named(folder: Path) -> None:
    group = Group(3, _train, folder, 3, 1, "hang", folder=folder, timeout=3)
    began = time.monotonic()
    outcome = group.outcome(0)
    assert time.monotonic() - began < 40
    assert isinstance(outcome, RankError)
    pid = group.processes[1].pid
    assert re.search(rf"No answer within 3 s \(--timeout\) from rank 1 of 3 \(process {pid} on .*\)", str(outcome))
    group.processes[1].kill()


def test_a_checkpoint_is_whole_or_the_one_before(folder: Path) -> None:
    Group(2, _train, folder, 5, 1, folder=folder).outcome(0)
    place = folder / "checkpoint"
    assert {path.name for path in place.glob("shards-*")} == {"shards-4"}
    unfinished = place / "shards-5"
    unfinished.mkdir()
    (unfinished / "0-of-2.safetensors").write_bytes(b"half")
    begun, *_ = on_ranks(2, _train, folder, folder=folder)[0]
    assert begun == 4


def test_a_damaged_or_foreign_checkpoint_is_refused(folder: Path) -> None:
    Group(2, _train, folder, 5, 1, folder=folder).outcome(0)
    with pytest.raises(InputError, match="belongs to another graph, settings or package version"):
        _train(Ranks(), folder, identity="b")
    (folder / "checkpoint" / "shards-4" / "1-of-2.safetensors").unlink()
    with pytest.raises(InputError, match="is damaged \\(There is no file .*1-of-2.safetensors"):
        _train(Ranks(), folder)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_never_starts_is_named_by_the_others(rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    store = dist.HashStore()
    store.set("asks/1", "by a process that has ended since")
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setattr(ranks_module, "rendezvous", lambda url: iter([(store, rank, 2)]))
    with pytest.raises(RankError, match=rf"^No answer within 0.2 s \(--timeout\) from rank {1 - rank} of 2: it"):
        Ranks.from_environment(0.2)


def _late(ranks: Ranks, what: str) -> str:
    if ranks.rank == 1:
        if what == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(4)
    ranks.meet()
    return "met"


def test_a_rank_that_others_wait_for_may_take_long_but_must_live(tmp_path: Path) -> None:
    assert on_ranks(3, _late, "work", folder=tmp_path, timeout=3) == ["met"] * 3
    group = Group(3, _late, "stop", folder=tmp_path, timeout=2)
    pid = group.processes[1].pid
    for rank in (0, 2):
        assert f"No answer within 2 s (--timeout) from rank 1 of 3 (process {pid} on " in str(group.outcome(rank))
    group.processes[1].kill()
