"""How the time of an epoch grows with the number of nodes, against two bare sparse products of the same shape.

    python benchmarks/scaling.py [--device cuda] [--out FILE.json]

At fixed degree both grow linearly, but caches bend the curve of each; their ratio shows what the method adds. An
epoch is one training step and one evaluation. Medians of repeated, alternating measurements in one process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data

from glognn.experiments.environment import machine, versions
from glognn.graph.graph import Graph
from glognn.models.glognn import GloGNN
from glognn.ops.products import spmm
from glognn.training.loop import _SharedForward

SIZES = (10_000, 31_623, 100_000, 316_228, 1_000_000)
DEGREE, FEATURES, CLASSES, HIDDEN = 10, 32, 5, 64


def make_graph(num_nodes: int) -> Graph:
    generator = torch.Generator().manual_seed(0)
    edge_index = torch.randint(0, num_nodes, (2, num_nodes * DEGREE // 2), generator=generator)
    masks = {f"{name}_mask": torch.arange(num_nodes) % 3 == k for k, name in enumerate(("train", "val", "test"))}
    x = torch.randn(num_nodes, FEATURES, generator=generator)
    y = torch.randint(0, CLASSES, (num_nodes,), generator=generator)
    return Graph.from_data(Data(x=x, edge_index=edge_index, y=y, **masks))


def epoch_of(graph: Graph) -> Callable[[], None]:
    """One training step and one evaluation, as the training loop does them."""
    model = GloGNN(FEATURES, CLASSES, graph.num_nodes, hidden_channels=HIDDEN).to(graph.y.device)
    forward = _SharedForward(model, model.prepare(graph))
    nodes = graph.indices(0)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)

    def epoch() -> None:
        loss = F.cross_entropy(forward.for_training()[nodes["train"]], graph.y[nodes["train"]])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        scores = forward.for_evaluation()
        float(F.cross_entropy(scores[nodes["val"]], graph.y[nodes["val"]]))

    return epoch


def bare_of(graph: Graph) -> Callable[[], Tensor]:
    """A times (n x hidden), and its transpose times the result."""
    matrix = graph.adjacency.normalized("row")
    dense = torch.randn(graph.num_nodes, HIDDEN, device=graph.y.device)
    return lambda: spmm(matrix.transpose, spmm(matrix, dense))


def seconds(work: Callable[[], object], device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize()
    started = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - started


def measure(num_nodes: int, device: torch.device, repeats: int) -> dict[str, float]:
    graph = make_graph(num_nodes).to(device=device)
    epoch, bare = epoch_of(graph), bare_of(graph)
    for _ in range(3):
        epoch()
        bare()
    times = [(seconds(epoch, device), seconds(bare, device)) for _ in range(repeats)]
    epoch_ms, bare_ms = (1000 * statistics.median(column) for column in zip(*times, strict=True))
    ratio = statistics.median(first / second for first, second in times)
    return {"nodes": num_nodes, "epoch_ms": epoch_ms, "two_products_ms": bare_ms, "ratio": ratio}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--out", type=Path, help="write the measurements as JSON")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    device = torch.device(options.device)
    rows = []
    for size in SIZES:
        rows.append(measure(size, device, options.repeats))
        print({name: round(value, 2) for name, value in rows[-1].items()}, flush=True)
    growth = rows[-1]["ratio"] / rows[0]["ratio"]
    print(f"the ratio grows {growth:.2f}x from {SIZES[0]:,} to {SIZES[-1]:,} nodes (wanted: less than 1.2x)")
    if options.out:
        record = {"rows": rows, "growth": growth, "versions": versions(), "machine": machine(device)}
        options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
