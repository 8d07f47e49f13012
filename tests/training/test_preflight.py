"""Trainings that cannot fit are refused with the numbers; those that run out of memory are explained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from glognn.errors import InputError, MemoryExhaustedError, TooLargeError, TrainingError
from glognn.experiments.jobs import run_jobs
from glognn.experiments.plan import make_plan
from glognn.experiments.search import Search, best_trial, do_trials, finished_trials, open_folder, open_study
from glognn.graph.graph import Graph
from glognn.models.configs import MODELS, GloGNNConfig
from glognn.models.configs.handwritten import H2GCNConfig, MLPConfig, WRGATConfig
from glognn.models.configs.pyg import GCNConfig
from glognn.models.memory import Sizes
from glognn.models.mlp import MLP
from glognn.native.library import find_library
from glognn.training import preflight
from glognn.training.checkpoint import Checkpoint, load_tensors
from glognn.training.config import TrainingConfig
from glognn.training.driver import train, train_batch
from glognn.training.preflight import (
    MARGIN,
    Need,
    check_memory,
    free_memory,
    members_at_once,
    need_of,
    resident_bytes,
    resident_now,
    sizes_of,
)
from tests.conftest import make_data

CONFIG = TrainingConfig(epochs=12, early_stopping="none", threads=1)
GIB = 2**30


def write(path: Path, text: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 8 GiB free, as the files of its system say."""
    monkeypatch.setattr(preflight, "_SYSTEM", tmp_path)
    write(tmp_path / "proc/meminfo", f"MemTotal: {2**30} kB\nMemAvailable:  {8 * 2**20} kB")
    return tmp_path


def test_what_is_free_is_the_least_of_system_and_control_groups(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert free_memory() == 8 * GIB
    write(machine / "proc/self/cgroup", "4:cpu,memory:/outer/inner\n3:cpuset:/other\n0::/new/one")
    assert free_memory() == 8 * GIB  # nothing there to be read
    old = machine / "sys/fs/cgroup/memory/outer"
    write(old / "memory.limit_in_bytes", 6 * GIB)
    write(old / "memory.usage_in_bytes", 2 * GIB)
    write(old / "memory.stat", f"cache 1\ntotal_inactive_file {GIB}")
    assert free_memory() == 5 * GIB  # the limit of an outer group counts, and caches can be given back
    write(machine / "sys/fs/cgroup/new/one/memory.max", "max")
    write(machine / "sys/fs/cgroup/new/one/memory.current", 2 * GIB)
    assert free_memory() == 5 * GIB
    write(machine / "sys/fs/cgroup/new/memory.max", 3 * GIB)
    write(machine / "sys/fs/cgroup/new/memory.current", 2 * GIB)
    assert free_memory() == GIB
    monkeypatch.setattr(preflight, "_share", preflight._Share(GIB / 4, 4))
    assert free_memory() == GIB / 4


def test_too_large_is_refused_with_the_numbers(machine: Path, data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_data(data)
    check_memory(MLPConfig(), graph, CONFIG)
    wide = MLPConfig(hidden_channels=40_000_000)
    with pytest.raises(
        TooLargeError,
        match=r"MLP does not fit: training takes about 44\.\d GiB \(weights with gradients and moments 8\.\d GiB, "
        r"activations 3\d\.\d GiB, graph and features .* MiB\), and 8\.0 GiB are free on this machine, 4\.4 GiB of "
        r"them as a margin\. Lower hidden_channels \(now 40000000\) or num_layers \(now 2\), or use another device\. "
        r"GLOGNN_MEMORY",
    ):
        check_memory(wide, graph, CONFIG)
    with pytest.raises(TooLargeError, match="MLP, 500 at a time, does not fit: .* train fewer at a time"):
        check_memory(MLPConfig(hidden_channels=100_000), graph, CONFIG, 500)
    monkeypatch.setattr(preflight, "_share", preflight._Share(GIB, 8))
    with pytest.raises(TooLargeError, match=r"1\.0 GiB are free for each of 8 workers, .* use fewer workers"):
        check_memory(MLPConfig(hidden_channels=2_000_000), graph, CONFIG)
    preflight.take_share(GIB, 2, ranks=True)
    with pytest.raises(TooLargeError, match=r"1\.0 GiB are free for each of 2 ranks, .* more machines \(--nnodes\)"):
        check_memory(MLPConfig(hidden_channels=2_000_000), graph, CONFIG)
    monkeypatch.setenv("GLOGNN_MEMORY_CHECK", "0")
    check_memory(wide, graph, CONFIG)


def test_a_margin_of_what_the_process_will_hold_stays_free(machine: Path) -> None:
    graph, config = Graph.from_data(make_data(3000, 24, 3, 12000)), GCNConfig(hidden_channels=512)
    added = resident_bytes(need_of(config, graph, CONFIG), graph, 1)
    assert resident_now() == 0  # nothing there to be read
    write(machine / "proc/self/status", "VmHWM: 4 kB\nVmRSS:\t  400000 kB")
    held = resident_now()
    assert held == 400_000 * 1024
    enough = added + MARGIN * (held + added)
    for free, fits in ((0.99 * enough, False), (1.01 * enough, True)):
        write(machine / "proc/meminfo", f"MemAvailable: {int(free / 1024)} kB")
        if fits:
            check_memory(config, graph, CONFIG)
        else:
            with pytest.raises(TooLargeError, match=r"are free on this machine, .* MiB of them as a margin\."):
                check_memory(config, graph, CONFIG)


@pytest.mark.parametrize("free", [100, 200, 400])
def test_a_batch_leaves_the_margin_too(machine: Path, free: int) -> None:
    """As many as may train at once are not refused, and one more would be."""
    graph, config = Graph.from_data(make_data(3000, 24, 3, 12000)), GCNConfig(hidden_channels=256)
    write(machine / "proc/self/status", "VmRSS: 400000 kB")
    write(machine / "proc/meminfo", f"MemAvailable: {free * 2**10} kB")
    most = members_at_once(config, graph, CONFIG)
    assert most > 1
    check_memory(config, graph, CONFIG, most)
    with pytest.raises(TooLargeError, match="at a time, does not fit"):
        check_memory(config, graph, CONFIG, most + 1)


@pytest.mark.skipif(find_library() is None, reason="the native core is not built")
def test_the_engine_that_trains_decides_what_is_needed(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code stores a width of 1 as a whole vector."""
    graph = Graph.from_data(make_data(400, 6000, num_splits=1))
    config = GloGNNConfig(alpha=0.0, hidden_channels=1)
    by_core = need_of(config, graph, CONFIG)
    monkeypatch.setenv("GLOGNN_NATIVE", "0")
    by_torch = need_of(config, graph, CONFIG)
    sizes = [resident_bytes(need, graph, 1) for need in (by_torch, by_core)]
    assert 1.1 * sizes[0] < sizes[1]
    write(machine / "proc/meminfo", f"MemAvailable: {int(1.1 * sizes[0]) // 1024 + 1} kB")
    check_memory(config, graph, CONFIG)
    monkeypatch.delenv("GLOGNN_NATIVE")
    with pytest.raises(TooLargeError, match="GloGNN does not fit: training takes about 23.8 MiB"):
        check_memory(config, graph, CONFIG)


def test_nothing_is_computed_when_refused(machine: Path, data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    write(machine / "proc/meminfo", "MemAvailable: 1 kB")
    model = MLP(7, 3)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(InputError, match="MLP does not fit"):
        train(model, data, config=CONFIG)
    with pytest.raises(InputError, match="MLP, 2 at a time, does not fit"):
        train_batch([model, MLP(7, 3)], Graph.from_data(data), splits=[0, 1], configs=[CONFIG] * 2)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    monkeypatch.setenv("GLOGNN_MEMORY_CHECK", "0")
    assert train(model, data, config=CONFIG).last.epoch == 12


@pytest.mark.parametrize("config", MODELS.values(), ids=MODELS)
def test_the_estimate_is_what_models_declare(config: type[Any]) -> None:
    sizes = Sizes(3000, 20_000, 50, 4)
    need, double = Need.of(config(), sizes), Need.of(config(), sizes, value_bytes=8)
    assert need.training == need.weights + need.activations + config().input_bytes(sizes)
    assert double.training == pytest.approx(2 * need.training, rel=1e-6)
    many = Need.of(config(), sizes, members=10)
    assert many.inputs == need.inputs
    assert many.activations == 10 * need.activations


def test_neighbours_of_neighbours_are_bounded_before_they_are_formed(machine: Path) -> None:
    """A star of 30,000 nodes: every two of them are at distance 2."""
    data = make_data(30_000, num_edges=1, num_splits=1)
    data.edge_index = torch.stack([torch.zeros(29_999, dtype=torch.int64), torch.arange(1, 30_000)])
    graph = Graph.from_data(data)
    assert sizes_of(graph).second_ring == pytest.approx(30_000**2, rel=1e-3)
    with pytest.raises(TooLargeError, match=r"H2GCN does not fit: preparing the graph takes about 5\d\.\d GiB"):
        train(MODELS["h2gcn"].model_class()(7, 3), graph, config=CONFIG)
    path = torch.arange(29_999)
    data.edge_index = torch.stack([path, path + 1])
    check_memory(H2GCNConfig(), Graph.from_data(data), CONFIG)
    twitch = Sizes(168_114, 13_595_114, 7, 2)  # a published graph, by its counts
    assert WRGATConfig().preparation_bytes(twitch) > 20 * GIB
    assert WRGATConfig().preparation_bytes(Sizes(5201, 396_846, 2089, 5)) < GIB


class Exhausting(MLP):
    """Runs out of memory in its fifth epoch, in the way that ``error`` says."""

    passes = 0
    error: Any = None

    def decode(self, encoded: Any, inputs: Any) -> torch.Tensor:
        self.passes += self.training
        if self.passes == 5:
            if self.error is None:
                torch.empty(2**48)
            raise self.error
        return super().decode(encoded, inputs)


@pytest.mark.parametrize("error", [None, MemoryError(), torch.OutOfMemoryError("CUDA out of memory.")])
def test_running_out_of_memory_is_explained_and_the_checkpoint_stays(
    data: Data, tmp_path: Path, error: Exception | None
) -> None:
    model = Exhausting(7, 3)
    model.error = error
    checkpoint = Checkpoint(tmp_path / "latest", interval=0, identity="x")
    with pytest.raises(
        MemoryExhaustedError, match=r"Memory ran out on this machine in training MLP, .* The last checkpoint is kept\."
    ):
        train(model, data, config=CONFIG, checkpoint=checkpoint)
    assert len(load_tensors(checkpoint.path)[1]["histories"][0]["curve"]) == 4
    assert issubclass(MemoryExhaustedError, TrainingError)


def test_other_errors_stay_what_they_are(data: Data) -> None:
    model = Exhausting(7, 3)
    model.error = RuntimeError("something else")
    with pytest.raises(RuntimeError, match="^something else$"):
        train(model, data, config=CONFIG)


def test_a_run_that_does_not_fit_does_not_stop_the_others(tmp_path: Path) -> None:
    quick: dict[str, Any] = {"epochs": 2, "threads": 1, "device": "cpu"}
    jobs = make_plan(tmp_path, ["pairs"], ["mlp"], splits="0-1", given=quick | {"hidden_channels": 10**9})
    jobs += make_plan(tmp_path, ["pairs"], ["gcn"], splits="0", given=quick)
    outcomes = list(run_jobs(jobs))
    assert [(bool(outcome.error), outcome.fits) for outcome in outcomes] == [
        (True, False),
        (True, False),
        (False, True),
    ]
    assert "MLP does not fit" in outcomes[0].error
    assert jobs[-1].done


def test_trials_that_do_not_fit_are_given_up(tmp_path: Path) -> None:
    held = {"epochs": 2, "threads": 1, "device": "cpu", "hidden_channels": 10**9, "num_layers": 2}
    search = Search("mlp", "pairs", "wide", "0-1", held)
    open_folder(tmp_path, search)
    list(do_trials(tmp_path, 2))
    study = open_study(tmp_path, search)
    assert len(finished_trials(study)) == 2
    with pytest.raises(InputError, match=r"no completed trial yet\. MLP does not fit: training takes about"):
        best_trial(study)


@pytest.mark.gpu
def test_a_gpu_is_asked_for_its_own_memory(data: Data) -> None:
    free = free_memory(torch.device("cuda"))
    assert free is not None
    assert 0 < free <= torch.cuda.get_device_properties(0).total_memory
    width = free // 100
    with pytest.raises(TooLargeError, match="are free on the GPU"):
        check_memory(GCNConfig(hidden_channels=width), Graph.from_data(data), TrainingConfig(device="cuda"))


def test_the_allocator_is_left_alone_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Giving freed blocks back at once takes time: it is done where what is needed could fill what is free."""
    asked = []
    monkeypatch.setattr(preflight, "give_back_large_blocks", lambda: asked.append(True))
    graph, config, training = Graph.from_data(make_data(300)), MODELS["gcn"](), TrainingConfig(threads=1)
    need = preflight.resident_bytes(preflight.need_of(config, graph, training), graph, 1)
    whole = need + preflight._margin(need, "cpu")
    for times, wanted in ((4, []), (2, [True])):
        asked.clear()
        monkeypatch.setattr(preflight, "free_memory", lambda device=None, free=times * whole: free)
        preflight.check_memory(config, graph, training)
        assert bool(asked) == bool(wanted)
