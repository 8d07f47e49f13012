"""What a process is predicted to hold is what it holds where memory is tight, in a process of its own."""

from __future__ import annotations

import sys

import pytest

from glognn.bench.memory import CLEAR, STATUS, alone
from glognn.graph.graph import Graph
from glognn.models.configs import MODELS
from glognn.training.allocator import give_back_large_blocks
from glognn.training.config import TrainingConfig
from glognn.training.driver import train
from glognn.training.preflight import need_of, resident_bytes, resident_now
from tests.conftest import make_data


def predicted_and_measured(name: str, width: int) -> tuple[float, float]:
    """MB at the peak of six epochs; the system's high-water mark is set back before."""
    graph = Graph.from_data(make_data(12_000, 24, 3, 60_000))
    config, training = MODELS[name](hidden_channels=width), TrainingConfig(epochs=6, early_stopping="none", threads=1)
    give_back_large_blocks()
    predicted = resident_now() + resident_bytes(need_of(config, graph, training), graph, 1)
    CLEAR.write_text("5", encoding="ascii")
    train(config.model_class().for_graph(graph, config), graph, config=training)
    [peak] = [line.split()[1] for line in STATUS.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM:")]
    return predicted / 1e6, 1024 * int(peak) / 1e6


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says what a process held")
@pytest.mark.parametrize(("name", "width"), [("gcn", 512), ("linkx", 256), ("glognn++", 512), ("gcnii", 40)])
def test_a_process_holds_what_is_predicted(name: str, width: int) -> None:
    predicted, measured = alone(predicted_and_measured, name, width)
    assert abs(predicted - measured) <= max(0.1 * measured, 50)
