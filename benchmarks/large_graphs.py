"""Seconds and memory on generated graphs of the sizes of the paper's large datasets.

    python benchmarks/large_graphs.py --sizes penn94 pokec [--device cuda] [--out FILE.json]

The graphs are random (skewed degrees, no information), so there is no score: they have the sizes of the datasets and
the published widths, layers and hops, nothing else. An epoch is one training step and one evaluation of all nodes.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from epochs import epoch_seconds
from torch_geometric.data import Data

from glognn.experiments.environment import machine, peak_memory_mib, versions
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.models.configs import MODELS


@dataclass(frozen=True)
class Size:
    num_nodes: int
    num_edges: int
    num_features: int
    num_classes: int
    hidden_channels: int
    num_layers: int
    num_hops: int
    ones_per_row: int = 0
    """Sparse 0/1 features with this many ones per row; 0 means dense ones."""


SIZES = {
    "penn94": Size(41_554, 1_362_229, 4_814, 2, 256, 2, 2, ones_per_row=6),
    "arxiv-year": Size(169_343, 585_000, 128, 5, 256, 1, 1),
    "genius": Size(421_961, 925_000, 12, 2, 256, 2, 2),
    "twitch-gamers": Size(168_114, 6_797_557, 7, 2, 256, 1, 1),
    "pokec": Size(1_632_803, 22_301_964, 65, 2, 128, 1, 1),
    "snap-patents": Size(2_923_922, 7_000_000, 269, 5, 64, 1, 3),
}


def generate(size: Size) -> Data:
    """Endpoints floor(n u^1.6) for uniform u, node numbers permuted."""
    generator = np.random.default_rng(0)
    n, m = size.num_nodes, size.num_edges
    ends = (n * generator.random((2, m), dtype=np.float32) ** 1.6).astype(np.int64)
    edge_index = torch.from_numpy(generator.permutation(n)[np.minimum(ends, n - 1)])
    if size.ones_per_row:
        rows = torch.arange(n).repeat_interleave(size.ones_per_row)
        columns = torch.from_numpy(generator.integers(0, size.num_features, rows.numel()))
        shape = (n, size.num_features)
        entries = torch.sparse_coo_tensor(torch.stack([rows, columns]), torch.ones(rows.numel()), shape)
        x = entries.coalesce()
    else:
        x = torch.from_numpy(generator.standard_normal((n, size.num_features), dtype=np.float32))
    y = torch.from_numpy(generator.integers(0, size.num_classes, n))
    part = torch.from_numpy(generator.integers(0, 4, n))
    masks = {"train_mask": part < 2, "val_mask": part == 2, "test_mask": part == 3}
    return Data(x=x, edge_index=edge_index, y=y, num_nodes=n, **masks)


def measure(name: str, model_name: str, device: torch.device, epochs: int) -> dict[str, Any]:
    size = SIZES[name]
    started = time.perf_counter()
    data = generate(size)
    generated = time.perf_counter()
    graph = Graph.from_data(data, GraphConfig())
    prepared = time.perf_counter()
    del data
    graph = graph.to(device=device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    settings = {"hidden_channels": size.hidden_channels, "num_layers": size.num_layers, "num_hops": size.num_hops}
    config = MODELS[model_name].from_mapping(settings | {"num_encoder_layers": 3, "normalization": "none"})
    model = config.model_class().for_graph(graph, config)
    return {
        "size": name,
        "model": model_name,
        **asdict(size),
        "nnz": graph.adjacency.matrix.nnz,
        "generate_s": generated - started,
        "prepare_s": prepared - generated,
        "epoch_ms": 1000 * epoch_seconds(model, graph, device.type, epochs),
        "peak_memory_mib": peak_memory_mib(device),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), choices=SIZES)
    parser.add_argument("--models", nargs="+", default=["glognn", "glognn++"], choices=("glognn", "glognn++"))
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--epochs", type=int, default=21, help="timed epochs; the median counts")
    parser.add_argument("--out", type=Path, help="write the measurements as JSON")
    options = parser.parse_args()
    device = torch.device(options.device)
    rows = []
    for name in options.sizes:
        for model in options.models:
            rows.append(measure(name, model, device, options.epochs))
            row = rows[-1]
            print(
                f"{name} (n {row['num_nodes']:,}, nnz {row['nnz']:,}), {model}: {row['epoch_ms']:.1f} ms per epoch, "
                f"prepared in {row['prepare_s']:.1f} s, peak memory {row['peak_memory_mib']} MiB",
                flush=True,
            )
    if options.out:
        record = {"rows": rows, "versions": versions(), "machine": machine(device)}
        options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
