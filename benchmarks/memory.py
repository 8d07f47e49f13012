"""Predicted and measured peak memory of training every model on real graphs, on the CPU.

Measured are the bytes that torch holds at once while three epochs are trained (by its profiler), with the weights of
the model and its constant inputs; memory of Python, of libraries and of reading the graph is not. GloGNN is trained by
PyTorch and by the compiled core, whose own count is added. With the published
files at hand: python benchmarks/memory.py --data-mirror DIR [--datasets squirrel,pubmed] [--models gcn] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from glognn.errors import DataWarning
from glognn.experiments.config import resolve
from glognn.experiments.run import load_graph
from glognn.graph.graph import Graph
from glognn.models.base import NodeModel
from glognn.models.configs import MODELS, ModelConfig
from glognn.models.glognn import GloGNN
from glognn.native.library import SWITCH, find_library
from glognn.training.config import TrainingConfig
from glognn.training.driver import train
from glognn.training.engines import native
from glognn.training.preflight import Need, need_of, sizes_of

EPOCHS = 3
LATE: dict[str, dict[str, Any]] = {"polynormer": {"local_epochs": 1}}
"""Settings without which three epochs would not reach what a model needs most memory for."""


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Every dense tensor inside what a model prepared, with the parts of sparse ones."""
    if isinstance(value, Tensor):
        yield from (
            (value,)
            if value.layout == torch.strided
            else (
                value.crow_indices(),
                value.col_indices(),
                value.values(),
            )
        )
    elif is_dataclass(value):
        for each in fields(value):
            yield from tensors_in(getattr(value, each.name))
    elif isinstance(value, dict):
        yield from tensors_in(tuple(value.values()))
    elif isinstance(value, tuple | list):
        for each in value:
            yield from tensors_in(each)


def held(value: Any) -> int:
    """Bytes of the distinct tensors inside a value."""
    return sum({tensor.data_ptr(): tensor.nbytes for tensor in tensors_in(value)}.values())


def measure(model: NodeModel[Any], graph: Graph) -> int:
    """Bytes held at the peak of training: inputs, weights, and what the training itself allocates."""
    inputs = model.prepare(graph)
    model.prepare = lambda graph: inputs  # type: ignore[method-assign]
    config = TrainingConfig(epochs=EPOCHS, early_stopping="none", device="cpu")
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        train(model, graph, config=config)
    results = profiler.profiler.kineto_results
    changes = [event for event in results.events() if event.name() == "[memory]"]
    now = peak = 0
    for event in sorted(changes, key=lambda event: event.start_ns()):
        now += event.nbytes()
        peak = max(peak, now)
    return peak + held(inputs) + held(tuple(model.parameters()))


def measure_native(model: NodeModel[Any], graph: Graph) -> int:
    """The same by the compiled core: with what it counts itself."""
    core = find_library()
    assert core is not None
    assert isinstance(model, GloGNN)
    inputs = native._inputs(graph, model)
    before, _ = core.memory()
    with (
        mock.patch.object(native, "_inputs", return_value=inputs),
        mock.patch.object(native, "_HUGE_PAGE", sys.maxsize),  # weights in memory that torch sees
    ):
        seen = measure(model, graph)
    return seen + core.memory()[1] - before


def predict(config: ModelConfig, graph: Graph) -> int:
    """From the sizes that a user knows: how many pairs of nodes are at distance 2 is guessed."""
    return Need.of(config, replace(sizes_of(graph), second_paths=None)).training


def rows_of(name: str, config: ModelConfig, graph: Graph) -> Iterator[dict[str, Any]]:
    """What is predicted and measured of a model, by each engine that trains it on a CPU."""
    training = TrainingConfig(device="cpu", threads=1)
    for engine, switch in (("eager", "0"), ("native", "1")):
        os.environ[SWITCH] = switch
        if engine == "native" and native.refusal_of_settings(config, training, graph):
            continue
        torch.manual_seed(0)
        model = config.model_class().for_graph(graph, config)
        by_torch = engine == "eager"
        measured = measure(model, graph) if by_torch else measure_native(model, graph)
        predicted = predict(config, graph) if by_torch else need_of(config, graph, training).training
        yield {"model": name, "engine": engine, "predicted": predicted, "measured": measured}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-mirror", type=Path, default=None)
    parser.add_argument("--datasets", default="squirrel,pubmed")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--out", type=Path, default=None)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", category=DataWarning)
    rows = []
    print(f"{'dataset':<12}{'model':<12}{'engine':<8}{'predicted, MB':>15}{'measured, MB':>15}{'ratio':>8}")
    for dataset in arguments.datasets.split(","):
        for name in arguments.models.split(","):
            [config] = resolve([name], None, LATE.get(name, {}), dataset, "0")
            graph = load_graph(config, arguments.data_mirror).graph
            for row in rows_of(name, config.model, graph):
                rows.append({"dataset": dataset} | row)
                sizes = f"{row['predicted'] / 1e6:>15.1f}{row['measured'] / 1e6:>15.1f}"
                ratio = f"{row['predicted'] / row['measured']:>8.2f}"
                print(f"{dataset:<12}{name:<12}{row['engine']:<8}{sizes}{ratio}", flush=True)
    if arguments.out is not None:
        arguments.out.write_text(json.dumps({"torch": torch.__version__, "runs": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
