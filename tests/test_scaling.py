"""Memory grows linearly with the number of nodes: nothing n x n is ever formed."""

from __future__ import annotations

import itertools
import math
import sys

import pytest

from tests.program import run

MEASURE = """
import sys
from pathlib import Path
import torch
from torch_geometric.data import Data
from glognn.graph.graph import Graph
from glognn.models.glognn import GloGNNPlusPlus
from glognn.training.config import TrainingConfig
from glognn.training.driver import train

def kib(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(field)))

def run(n):
    torch.manual_seed(0)
    edge_index = torch.randint(0, n, (2, 3 * n))
    masks = {f"{s}_mask": torch.arange(n) % 3 == k for k, s in enumerate(("train", "val", "test"))}
    data = Data(x=torch.randn(n, 16), edge_index=edge_index, y=torch.randint(0, 4, (n,)), **masks)
    graph = Graph.from_data(data)
    model = GloGNNPlusPlus(16, 4, n)
    train(model, graph, config=TrainingConfig(epochs=2))

run(100)  # what libraries take once is not counted
Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
before = kib("VmRSS")
run(int(sys.argv[1]))
print(kib("VmHWM") - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from Linux")
def test_peak_memory_grows_linearly(figures: dict[str, str]) -> None:
    sizes = (10_000, 100_000, 1_000_000)
    peaks = [int(run(str(size), program=MEASURE).stdout.split()[-1]) / 1024 for size in sizes]
    slopes = [math.log(b / a) / math.log(10) for a, b in itertools.pairwise(peaks)]
    overall = math.log(peaks[-1] / peaks[0]) / math.log(sizes[-1] / sizes[0])
    figures["peak memory, MiB, at 1e4, 1e5, 1e6 nodes; log-log slope"] = (
        f"{', '.join(f'{peak:.0f}' for peak in peaks)}; {overall:.3f}"
    )
    assert overall < 1.1
    assert slopes[-1] < 1.1
