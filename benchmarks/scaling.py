"""How the time of an epoch grows with the number of nodes, against two bare sparse products of the same shape.

    python benchmarks/scaling.py [--device cuda] [--out FILE.json]

At fixed degree both grow linearly, but caches bend the curve of each; their ratio shows what the method adds. An
epoch is one training step and one evaluation. Medians of alternating rounds in one process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import torch
from epochs import epoch_seconds
from torch_geometric.data import Data

from glognn.experiments.environment import machine, versions
from glognn.graph.graph import Graph
from glognn.models.glognn import GloGNN
from glognn.ops.products import spmm

SIZES = (10_000, 31_623, 100_000, 316_228, 1_000_000)
DEGREE, FEATURES, CLASSES, HIDDEN = 10, 32, 5, 64


def make_graph(num_nodes: int) -> Graph:
    generator = torch.Generator().manual_seed(0)
    edge_index = torch.randint(0, num_nodes, (2, num_nodes * DEGREE // 2), generator=generator)
    masks = {f"{name}_mask": torch.arange(num_nodes) % 3 == k for k, name in enumerate(("train", "val", "test"))}
    x = torch.randn(num_nodes, FEATURES, generator=generator)
    y = torch.randint(0, CLASSES, (num_nodes,), generator=generator)
    return Graph.from_data(Data(x=x, edge_index=edge_index, y=y, **masks))


def product_seconds(graph: Graph, repeats: int) -> float:
    """Median seconds of A times an n x hidden matrix, and A transposed times the result."""
    matrix = graph.adjacency.normalized("row")
    dense = torch.randn(graph.num_nodes, HIDDEN, device=matrix.device)
    times = []
    for _ in range(repeats + 2):
        started = time.perf_counter()
        float(spmm(matrix.transpose, spmm(matrix, dense))[0, 0])  # waits for a GPU to finish
        times.append(time.perf_counter() - started)
    return statistics.median(times[2:])


def measure(num_nodes: int, device: str, repeats: int) -> dict[str, float]:
    graph = make_graph(num_nodes).to(device=device)
    rounds = []
    for _ in range(3):
        model = GloGNN(FEATURES, CLASSES, num_nodes, hidden_channels=HIDDEN)
        rounds.append((epoch_seconds(model, graph, device, repeats), product_seconds(graph, repeats)))
    epoch, products = (statistics.median(column) for column in zip(*rounds, strict=True))
    ratio = statistics.median(first / second for first, second in rounds)
    return {"nodes": num_nodes, "epoch_ms": 1000 * epoch, "two_products_ms": 1000 * products, "ratio": ratio}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--out", type=Path, help="write the measurements as JSON")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rows = []
    for size in SIZES:
        rows.append(measure(size, options.device, options.repeats))
        print({name: round(value, 2) for name, value in rows[-1].items()}, flush=True)
    growth = rows[-1]["ratio"] / rows[0]["ratio"]
    print(f"the ratio grows {growth:.2f}x from {SIZES[0]:,} to {SIZES[-1]:,} nodes (wanted: less than 1.2x)")
    if options.out:
        record = {"rows": rows, "growth": growth, "versions": versions()}
        record["machine"] = machine(torch.device(options.device))
        options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
