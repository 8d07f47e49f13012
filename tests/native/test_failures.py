"""What goes wrong inside the compiled core is an error with a name; the process and the other members live on.

Failures are asked for with :meth:`glognn.native.library.Library.fail`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from glognn.errors import MemoryExhaustedError, TrainingError
from glognn.graph.graph import Graph
from glognn.models.configs import find_model
from glognn.models.glognn import GloGNN
from glognn.native.library import PLACES, Library, find_library
from glognn.training.config import TrainingConfig
from glognn.training.driver import train
from glognn.training.engines import Members, NativeEngine
from tests.conftest import make_data

pytestmark = pytest.mark.skipif(find_library() is None, reason="the native core is not built")


@pytest.fixture
def core() -> Iterator[Library]:
    """The library, and nothing left in it that fails or is held."""
    library = find_library()
    assert library is not None
    before = library.memory()[0]
    yield library
    for place in PLACES:
        library.fail(place, -1)
    gc.collect()
    assert library.memory()[0] == before


@pytest.fixture
def graph() -> Graph:
    return Graph.from_data(make_data(num_splits=3))


def make_model(graph: Graph, seed: int = 0) -> GloGNN:
    torch.manual_seed(seed)
    config = find_model("glognn++").from_mapping({"hidden_channels": 8})
    model = config.model_class().for_graph(graph, config)
    assert isinstance(model, GloGNN)
    return model


def make_members(graph: Graph, threads: int = 2) -> NativeEngine:
    models = [make_model(graph, seed) for seed in range(3)]
    configs = [TrainingConfig(seed=seed) for seed in range(3)]
    return NativeEngine(Members(graph, models, configs, [0, 1, 2]), threads=threads)


def test_every_allocation_may_fail(core: Library, graph: Graph) -> None:
    failures = 0
    while True:
        core.fail("allocation", failures)
        try:
            members = make_members(graph)
        except MemoryExhaustedError as error:
            assert str(error) == "There is not enough memory for the native core (in 'create')."  # noqa: PT017
            failures += 1
            continue
        break
    core.fail("allocation", -1)
    assert failures > 30
    assert bool(members.step().isfinite().all())


def test_a_step_takes_no_memory(core: Library, graph: Graph) -> None:
    members = make_members(graph)
    core.fail("allocation")
    held = core.memory()[0]
    for _ in range(3):
        members.step()
        members.evaluate()
    assert core.memory() == (held, held)


@pytest.mark.parametrize("started", [0, 1, 2])
def test_a_thread_that_does_not_start(core: Library, graph: Graph, started: int) -> None:
    core.fail("start of a thread", started)
    expected = (
        rf"cannot start its threads \({started + 1} of 4 run: Resource temporarily unavailable\): lower --threads"
    )
    with pytest.raises(TrainingError, match=expected):
        make_members(graph, threads=4)
    assert len(make_members(graph, threads=4)) == 3


def test_what_fails_in_a_thread_is_raised_and_can_be_gone_back_from(core: Library, graph: Graph) -> None:
    members, other = make_members(graph), make_members(graph)
    members.step()
    saved = members.snapshot()
    other.step()
    core.fail("work of a thread")
    with pytest.raises(TrainingError, match=r"failed in 'step' \(a failure that was asked for\): GLOGNN_NATIVE=0"):
        members.step()
    members.restore(saved)
    assert torch.equal(members.step(), other.step())
    assert torch.equal(members.logits(), other.logits())
    for name, call in (("measure", members.evaluate), ("forward", lambda: members.restore(saved))):
        core.fail("work of a thread")
        with pytest.raises(TrainingError, match=f"failed in '{name}'"):
            call()


def test_members_that_could_not_be_made_anew_say_so(core: Library, graph: Graph) -> None:
    members = make_members(graph)
    core.fail("allocation")
    with pytest.raises(MemoryExhaustedError, match="not enough memory for the native core"):
        members.keep([0, 2])
    calls: list[Any] = [members.step, members.evaluate, lambda: members.mask(0)]
    for call in calls:
        with pytest.raises(TrainingError, match="there are no members"):
            call()


def test_an_unknown_member_is_an_error(core: Library, graph: Graph) -> None:
    with pytest.raises(TrainingError, match="failed in 'mask'"):
        make_members(graph).mask(3)


def test_a_training_that_runs_out_of_memory_is_explained(core: Library, graph: Graph) -> None:
    core.fail("allocation", 3)
    with pytest.raises(MemoryExhaustedError, match="Memory ran out on this machine in training GloGNN.., which takes"):
        train(make_model(graph), graph, config=TrainingConfig(epochs=2))
    assert train(make_model(graph), graph, config=TrainingConfig(epochs=2)).engine == "native"
