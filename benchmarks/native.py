"""Milliseconds per epoch (training step and full evaluation) of the compiled core, at the authors' settings.

    python benchmarks/native.py [--data-mirror DIR] [--datasets texas ...] [--loop]

One member and ten (one for each split), 1 thread, in processor time, so that other processes disturb little; with
--loop beside epochs as the driver runs them.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
import warnings
from itertools import pairwise
from pathlib import Path

import torch

from glognn.data.catalog import DATASETS as CATALOG
from glognn.experiments.config import resolve
from glognn.experiments.run import load_graph
from glognn.graph.graph import Graph
from glognn.models.configs import ModelConfig
from glognn.training.callbacks import Callback
from glognn.training.config import TrainingConfig
from glognn.training.driver import train
from glognn.training.engines import Members, NativeEngine

DATASETS = [name for name, entry in CATALOG.items() if entry.group == "small"]
RELEASED = {
    "texas": (5.6, 6.5),
    "wisconsin": (10.0, 8.4),
    "cornell": (7.8, 6.6),
    "cora": (116, 109),
    "citeseer": (380, 420),
    "actor": (205, 182),
    "chameleon": (95, 227),
    "squirrel": (511, 658),
}
"""The released code on 1 thread, GloGNN and GloGNN++, ms per epoch (measured outside this repository)."""

MODELS = ("glognn", "glognn++")
MEMBERS = 10


def native_ms(graph: Graph, model: ModelConfig, training: TrainingConfig, count: int, seconds: float) -> float:
    """Median over short stretches of epochs, per member."""
    configs = [training] * count
    models = []
    for seed in range(count):
        torch.manual_seed(seed)
        models.append(model.model_class().for_graph(graph, model))
    members = NativeEngine(Members(graph, models, configs, list(range(count))))
    members.step()
    started = time.process_time()
    members.step()
    stretch = max(1, min(100, int(seconds / 10 / (time.process_time() - started))))
    found: list[float] = []
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends or len(found) < 3:
        started = time.process_time()
        for _ in range(stretch):
            members.step()
            members.logits()
        found.append((time.process_time() - started) / stretch / count)
    return 1000 * min(found) if len(found) < 5 else 1000 * statistics.median(found)


class _Clock(Callback):
    """Processor time after every epoch."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def on_epoch_end(self, metrics: dict[str, float]) -> None:
        self.seconds.append(time.process_time())


def loop_ms(graph: Graph, model: ModelConfig, training: TrainingConfig, epochs: int = 20) -> float:
    torch.manual_seed(0)
    settings = training.as_dict() | {"epochs": epochs, "early_stopping": "none", "selection": "last", "threads": 1}
    clock = _Clock()
    module = model.model_class().for_graph(graph, model)
    train(module, graph, config=TrainingConfig.from_mapping(settings), callbacks=[clock])
    seconds = clock.seconds
    return 1000 * statistics.median(after - before for before, after in pairwise(seconds[2:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-mirror", type=Path, help="folder with the published files; default: download them")
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS), choices=DATASETS)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--seconds", type=float, default=1.0, help="time spent on each measurement")
    parser.add_argument("--loop", action="store_true", help="measure epochs as the driver runs them, too")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    print(f"| dataset | model | one, ms | of {MEMBERS}, ms each | loop, ms | one, x | of {MEMBERS}, x |")
    print("|---|---|---|---|---|---|---|")
    gains: list[tuple[float, float]] = []
    for dataset in options.datasets:
        for name in options.models:
            [config] = resolve([name], f"published:{dataset}", {"device": "cpu"}, None, None)
            graph = load_graph(config, options.data_mirror).graph
            one, many = (native_ms(graph, config.model, config.training, k, options.seconds) for k in (1, MEMBERS))
            loop = f"{loop_ms(graph, config.model, config.training):.2f}" if options.loop else ""
            times = ["", ""]
            if dataset in RELEASED:
                released = RELEASED[dataset][MODELS.index(name)]
                gains.append((released / one, released / many))
                times = [f"{gain:.0f}" for gain in gains[-1]]
            print(f"| {dataset} | {name} | {one:.3f} | {many:.3f} | {loop} | {times[0]} | {times[1]} |", flush=True)
    for k, what in enumerate(("one", f"of {MEMBERS}")):
        if gains:
            mean = math.exp(statistics.fmean(math.log(gain[k]) for gain in gains))
            print(f"{what}: {min(gain[k] for gain in gains):.0f}x at least, {mean:.0f}x in geometric mean")


if __name__ == "__main__":
    main()
