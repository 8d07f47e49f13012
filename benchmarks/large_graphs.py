"""Seconds and memory on twins of the paper's large datasets, at the authors' widths, layers and hops.

    python benchmarks/large_graphs.py --datasets penn94 pokec [--scale 0.1] [--device cuda] [--out FILE.json]

Twins have the sizes of the datasets, not their content, so there is no score. An epoch is one training step and one
evaluation of all nodes. With --epochs 0 the graphs are only generated and prepared. Each measurement is a process of
its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import torch
from epochs import epoch_seconds

from glognn.data.catalog import DATASETS
from glognn.data.sources import find_source, load_source
from glognn.experiments.config import resolve
from glognn.experiments.environment import machine, peak_memory_mib, versions
from glognn.experiments.run import build_model
from glognn.graph.graph import Graph

TWINS = [name for name, entry in DATASETS.items() if entry.twin]


def measure(name: str, model_name: str, scale: float, device: torch.device, epochs: int) -> dict[str, Any]:
    [config] = resolve([model_name], f"published:{name}", {}, f"twin:{name}@{scale}", None)
    started = time.perf_counter()
    data = load_source(find_source(config.dataset)).data
    generated = time.perf_counter()
    graph = Graph.from_data(data, config.graph)
    prepared = time.perf_counter()
    row: dict[str, Any] = {
        "dataset": config.dataset,
        "nodes": graph.num_nodes,
        "edges_given": data.edge_index.shape[1],
        "nnz": graph.adjacency.matrix.nnz,
        "features": graph.num_features,
        "generate_s": round(generated - started, 2),
        "prepare_s": round(prepared - generated, 2),
    }
    if epochs:
        del data
        graph = graph.to(device=device)
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        model = build_model(config, graph)
        row |= {"model": model_name, "settings": config.model.as_dict()}
        row["epoch_ms"] = round(1000 * epoch_seconds(model, graph, device.type, epochs), 2)
    return row | {"peak_memory_mib": peak_memory_mib(device)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=TWINS, choices=TWINS)
    parser.add_argument("--models", nargs="+", default=["glognn", "glognn++"], choices=("glognn", "glognn++"))
    parser.add_argument("--scale", type=float, default=1.0, help="nodes and edges as a share of the dataset's")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--epochs", type=int, default=21, help="timed epochs; the median counts")
    parser.add_argument("--out", type=Path, help="write the measurements as JSON")
    options = parser.parse_args()
    device = torch.device(options.device)
    rows = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as pool:
        for name in options.datasets:
            for model in options.models if options.epochs else options.models[:1]:
                rows.append(pool.submit(measure, name, model, options.scale, device, options.epochs).result())
                row = rows[-1]
                timed = f"{model} {row['epoch_ms']:.1f} ms per epoch, " if options.epochs else ""
                print(
                    f"{row['dataset']} ({row['nodes']:,} nodes, {row['nnz']:,} entries): {timed}"
                    f"generated in {row['generate_s']:.1f} s, prepared in {row['prepare_s']:.1f} s, "
                    f"peak {row['peak_memory_mib']} MiB",
                    flush=True,
                )
    if options.out:
        record = {"rows": rows, "versions": versions(), "machine": machine(device)}
        options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
