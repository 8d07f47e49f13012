"""Shared fixtures: small graphs, the folder of real data, and the figures that tests report at the end."""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the graphs are small, and torch reads it once

import hypothesis
import numpy as np
import torch
from torch_geometric.data import Data

import glognn
from glognn.data import sources
from glognn.data.splits import random_splits
from glognn.graph.graph import Graph

ROOT = Path(__file__).parents[1]
REAL_DATA = ROOT.parent / "shared" / "data" / "verified"
MIRROR = ROOT.parent / "shared" / "data" / "mirror"

COMMAND = [sys.executable, "-m", "glognn"]
"""The command line, run from the package under test."""

_GIVEN = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
_PATHS = [str(Path(glognn.__file__).parents[1]), *map(os.path.abspath, _GIVEN)]  # programs run in other folders
ENVIRONMENT = os.environ | {
    "COLUMNS": "200",
    "NO_COLOR": "1",
    "TERM": "dumb",
    "PYTHONPATH": os.pathsep.join(_PATHS),
    "CUDA_VISIBLE_DEVICES": "",
    "GLOGNN_DATA": str(Path(tempfile.gettempdir()) / f"glognn-tests-{os.getpid()}"),
    "GLOGNN_MIRROR": "",
}
"""For programs that tests start: a plain terminal, no GPU, a cache of their own."""

no_warnings = pytest.mark.filterwarnings("error", "ignore::ResourceWarning")
"""Any warning fails the test, but for one that the collector of another test's remains may give at any time."""

_FIGURES = pytest.StashKey[dict[str, str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_FIGURES] = {}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("gpu") and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))
        if item.get_closest_marker("real_data") and not REAL_DATA.is_dir():
            item.add_marker(pytest.mark.skip(reason="the verified graphs are not on this machine"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    figures = config.stash[_FIGURES]
    if figures:
        terminalreporter.section("figures")
        for name, value in figures.items():
            terminalreporter.write_line(f"{name}: {value}")


@pytest.fixture(scope="session")
def figures(request: pytest.FixtureRequest) -> dict[str, str]:
    """Numbers worth seeing after a test run; written at its end."""
    return request.config.stash[_FIGURES]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):  # one of several processes: the first one writes the figures
        session.config.workeroutput["figures"] = session.config.stash[_FIGURES]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[_FIGURES].update(getattr(node, "workeroutput", {}).get("figures", {}))


def pytest_unconfigure() -> None:
    shutil.rmtree(ENVIRONMENT["GLOGNN_DATA"], ignore_errors=True)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has an empty data cache, no mirror, and no warning shown yet."""
    monkeypatch.setenv("GLOGNN_DATA", str(tmp_path / "cache"))
    monkeypatch.delenv("GLOGNN_MIRROR", raising=False)
    monkeypatch.setattr(sources, "_warned", set())
    return tmp_path / "cache"


hypothesis.settings.register_profile("same examples every time", derandomize=True, database=None)
hypothesis.settings.load_profile("same examples every time")


@pytest.fixture(autouse=True)
def _seed() -> None:
    """What a test draws without a seed of its own is the same every time, alone or among others."""
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    random.seed(0)


@pytest.fixture(autouse=True)
def _cpu_unless_marked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is claimed for the CPU is tested on the CPU, also where there is a GPU."""
    if not request.node.get_closest_marker("gpu"):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def make_data(
    num_nodes: int = 60,
    num_features: int = 7,
    num_classes: int = 3,
    num_edges: int = 150,
    *,
    weighted: bool = False,
    isolated: int = 2,
    num_splits: int = 2,
    seed: int = 0,
) -> Data:
    """A small random graph whose last ``isolated`` nodes have no edge."""
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(0, num_nodes - isolated, (2, num_edges), generator=generator)
    y = torch.arange(num_nodes) % num_classes
    y = y[torch.randperm(num_nodes, generator=generator)]
    x = torch.randn(num_nodes, num_features, generator=generator)
    x[:, 0] += y
    data = Data(x=x, edge_index=edge_index, y=y, num_nodes=num_nodes)
    if weighted:
        data.edge_weight = torch.rand(num_edges, generator=generator) + 0.1
    for name, mask in random_splits(y, num_splits, seed=seed).items():
        data[f"{name}_mask"] = mask
    return data


@pytest.fixture
def data() -> Data:
    return make_data()


@pytest.fixture
def graph(data: Data) -> Graph:
    return Graph.from_data(data)
