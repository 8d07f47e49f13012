"""Training on ranks: memory and time of each beside one process, and what more ranks than this machine has would cost.

``measure`` trains GloGNN++ by one process and by 1, 2 and 4 ranks of ``torchrun`` on this machine, each in new
processes. ``simulate`` divides twins of pokec into 1 to 256 parts, counts what an epoch sends, and predicts epoch times
on a network whose bandwidth and latency are stated, for pokec and for a graph of 1e9 nodes of the same degrees.
``tables`` divides generated Parquet tables as a whole and part by part, and tells what each process held at most.

python benchmarks/distributed.py measure [--graph twin:pokec@0.2] [--ranks 1,2,4] [--epochs 6] [--out FILE]
python benchmarks/distributed.py nccl [--graph twin:pokec@0.2] [--epochs 300] [--rounds 3]
python benchmarks/distributed.py tables [--nodes 1000000] [--columns 64] [--parts 16]
python benchmarks/distributed.py simulate [--measured FILE] [--scales 0.02,0.05] [--partition balanced] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from glognn.distributed.partition import Balance, make_partition, part_sizes
from glognn.experiments.config import resolve
from glognn.experiments.environment import machine, versions
from glognn.experiments.run import load_graph

RESULTS = Path(__file__).parent / "results"
WIDTH, LAYERS, HOPS, CLASSES = 64, 1, 2, 2
SETTINGS = ["--model", "glognn++", "--alpha", "0.5", "--hidden-channels", str(WIDTH), "--num-layers", str(LAYERS)]
SETTINGS += ["--num-hops", str(HOPS), "--normalization", "row", "--split", "0"]
SETTINGS += ["--early-stopping", "none", "--checkpoint-interval", "3600", "--threads", "1"]
NETWORKS = {"25 Gb Ethernet": (2.5e9, 30e-6), "200 Gb InfiniBand": (20e9, 3e-6)}
"""Bytes per second of a machine, and seconds of a message."""
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
GRAPHS = {"pokec": 1_632_803, "1e9 nodes": 1_000_000_000}
MEBIBYTE = 2**20
NAMES = {"simulate": "simulated"}


def rows_per_epoch() -> int:
    """Values that an epoch exchanges for each row of the halo.

    The product with the weights of links once forward (it serves evaluation and step) and once backward; the hops of
    every layer in the step forward and backward, and in the evaluation.
    """
    return 2 * WIDTH + 3 * LAYERS * HOPS * CLASSES


def measure(graph: str, ranks: int, epochs: int, device: str = "cpu", dropout: str = "0.5") -> dict[str, Any]:
    """Of one training in new processes; 0 ranks are one process without any."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        flags = ["train", "--dataset", graph, *SETTINGS, "--epochs", str(epochs), "--out", str(run), "--quiet"]
        flags += ["--device", device, "--dropout", dropout]
        start = [sys.executable, "-m"]
        if ranks == 0:
            start, flags = [*start, "glognn"], [*flags, "--engine", "eager"]
        else:
            start += ["torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), "-m", "glognn"]
            flags += ["--distributed"]
        subprocess.run(
            [*start, *flags], check=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL
        )
        report = json.loads((run / "report.json").read_text(encoding="utf-8"))
    lines = report["data"].get("ranks", [{"peak_memory_mib": report["peak_memory_mib"]}])
    waited = [line.get("waited_seconds", 0.0) / epochs for line in lines]
    each = report["seconds"] / epochs
    return {
        "ranks": ranks,
        "epochs": epochs,
        "seconds_per_epoch": each,
        "exchange_seconds_per_epoch": max(waited),
        "compute_seconds_per_epoch": each - max(waited),
        "cpu_seconds_per_epoch": [line.get("cpu_seconds", 0.0) / epochs for line in lines],
        "peak_memory_mib": [line["peak_memory_mib"]["process"] for line in lines],
        "sent_mib_per_epoch": [line.get("sent_bytes", 0) / epochs / MEBIBYTE for line in lines],
        "partition": report["data"].get("partition"),
        "val_loss": report["scores"]["last"]["val_loss"],
    }


def compared(graph: str, epochs: int, rounds: int) -> dict[str, Any]:
    """One rank of nccl on a GPU beside one process on it, in turn; without dropout, which ranks draw otherwise."""
    import torch

    found: dict[int, list[dict[str, Any]]] = {0: [], 1: []}
    for _ in range(rounds):
        for ranks, runs in found.items():
            runs.append(measure(graph, ranks, epochs, "cuda", "0"))
            print(f"{ranks or 'no'} ranks: {1000 * runs[-1]['seconds_per_epoch']:.2f} ms per epoch", flush=True)
    alone, rank = (min(run["seconds_per_epoch"] for run in runs) for runs in found.values())
    losses = [runs[0]["val_loss"] for runs in found.values()]
    print(f"one rank of nccl / one process: {rank / alone:.3f} (at most 1.10), validation losses {losses}")
    return {
        "graph": graph,
        "runs": [run for runs in found.values() for run in runs],
        "ratio": rank / alone,
        "versions": versions(),
        "machine": machine(torch.device("cuda"), 1),
    }


def measured(graph: str, ranks: list[int], epochs: int) -> dict[str, Any]:
    import torch

    found = [measure(graph, count, epochs) for count in (0, *ranks)]
    for each in found:
        memory = ", ".join(f"{size:,.0f}" for size in each["peak_memory_mib"])
        print(
            f"{each['ranks'] or 'no'} ranks: {each['seconds_per_epoch']:.3f} s per epoch, "
            f"{each['exchange_seconds_per_epoch']:.3f} of them in exchange, {memory} MiB, "
            f"{max(each['sent_mib_per_epoch']):.1f} MiB sent",
            flush=True,
        )
    return {"graph": graph, "runs": found, "versions": versions(), "machine": machine(torch.device("cpu"), 1)}


DIVIDE = """
import resource, sys
from pathlib import Path
import torch
from glognn.data.streaming import stream_tables_to_parts
from glognn.data.table_graph import TableOptions, graph_from_tables
from glognn.distributed.partition import make_partition
from glognn.distributed.shards import write_graph
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
place, parts = Path(sys.argv[2]), int(sys.argv[3])
options = TableOptions(nodes=place / "nodes.parquet", edges=place / "edges.parquet", label="y")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if sys.argv[1] == "whole":
    graph = Graph.from_data(graph_from_tables(options)[1], GraphConfig())
    shards = write_graph(graph, make_partition(graph.adjacency.matrix.to_scipy(), parts, "balanced"), place / "w", {})
else:
    shards = stream_tables_to_parts(options, parts, "balanced", place / "s", GraphConfig())[1]
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(before // 1024, after // 1024, shards.fingerprint(torch.float32))
"""


def divided_tables(nodes: int, columns: int, parts: int) -> dict[str, Any]:
    """Peak memory of the process that divides tables, in MiB, before it began and when it had ended."""
    import pyarrow as pa
    from pyarrow import parquet

    random = np.random.default_rng(0)
    found: dict[str, Any] = {"nodes": nodes, "columns": columns, "edges": 10 * nodes, "parts": parts}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        features = {f"x{number}": random.standard_normal(nodes) for number in range(columns)}
        table = pa.table({"id": np.arange(nodes), "y": random.integers(0, 2, nodes), **features})
        parquet.write_table(table, place / "nodes.parquet", row_group_size=2**17)
        ends = {name: random.integers(0, nodes, 10 * nodes) for name in ("source", "target")}
        parquet.write_table(pa.table(ends), place / "edges.parquet", row_group_size=2**17)
        for way in ("whole", "streamed"):
            command = [sys.executable, "-W", "ignore", "-c", DIVIDE, way, folder, str(parts)]
            before, after, name = subprocess.run(command, check=True, text=True, capture_output=True).stdout.split()
            found[way] = {"before_mib": int(before), "peak_mib": int(after), "fingerprint": name}
            print(f"{way}: {int(before):,} MiB before, at most {int(after):,}, fingerprint {name}", flush=True)
    return found


def halos(scale: str, method: str) -> list[dict[str, Any]]:
    """Mean and largest halo of a part as a share of all nodes, for twins of pokec."""
    [config] = resolve(["glognn++"], None, {}, f"twin:pokec@{scale}", "0")
    matrix = load_graph(config).graph.adjacency.matrix.to_scipy()
    found = []
    for parts in COUNTS:
        partition = make_partition(matrix, parts, method)
        places = partition.places()
        sizes = []
        for part in range(parts):
            nodes = partition.nodes(part)
            columns = matrix[nodes].indices.astype(np.int64)
            if places is not None:
                columns = places[columns]
            sizes.append(part_sizes(columns, nodes.size, int(partition.starts[part])))
        shares = [size.halo / matrix.shape[0] for size in sizes]
        balance = Balance.of(sizes)
        found.append(
            {
                "parts": parts,
                "cut": balance.cut,
                "work": balance.work,
                "halo": sum(shares) / parts,
                "most": max(shares),
            }
        )
        print(f"pokec@{scale}, {parts} parts ({method}): {balance.of_each('part')}", flush=True)
    return found


def predict(nodes: int, compute: float, halo: dict[str, Any], network: tuple[float, float]) -> dict[str, float]:
    """Seconds of an epoch with one rank on each machine.

    Args:
        nodes: Of the graph.
        compute: Seconds that one process computes for each node.
        halo: Of the partition.
        network: Bytes per second and seconds of a message.
    """
    bandwidth, latency = network
    parts, exchanges = halo["parts"], 2 + 3 * LAYERS * HOPS
    volume = 4.0 * rows_per_epoch() * halo["most"] * nodes
    alone = compute * nodes * halo["work"] / parts
    messages = (parts - 1) * exchanges * latency if parts > 1 else 0.0
    exchange = volume / bandwidth + messages
    return {"compute": alone, "exchange": exchange, "bytes": volume, "seconds": alone + exchange}


def simulated(path: Path, scales: list[str], method: str) -> dict[str, Any]:
    record = json.loads(path.read_text(encoding="utf-8"))
    one = next(run for run in record["runs"] if run["ranks"] == 1)
    nodes = one["partition"]["nodes"][0]
    compute = one["compute_seconds_per_epoch"] / nodes
    found = {scale: halos(scale, method) for scale in scales}
    shares = found[scales[-1]]
    predictions = {
        graph: {name: [predict(size, compute, halo, network) for halo in shares] for name, network in NETWORKS.items()}
        for graph, size in GRAPHS.items()
    }
    checked = _check(record)
    for graph, by_network in predictions.items():
        for name, times in by_network.items():
            line = ", ".join(f"{parts}: {time['seconds']:.3g}" for parts, time in zip(COUNTS, times, strict=True))
            print(f"{graph}, {name}, seconds per epoch by ranks: {line}")
    return {
        "compute_seconds_per_node": compute,
        "halos": found,
        "method": method,
        "predictions": predictions,
        "volume": checked,
    }


def _check(record: dict[str, Any]) -> list[dict[str, float]]:
    """Predicted and measured bytes that a rank sends in an epoch."""
    found = []
    for run in record["runs"]:
        if run["ranks"] > 1:
            halo = max(run["partition"]["halo"])
            predicted = 4 * rows_per_epoch() * halo / MEBIBYTE
            found.append({"ranks": run["ranks"], "predicted": predicted, "sent": max(run["sent_mib_per_epoch"])})
            print(f"{run['ranks']} ranks: {predicted:.1f} MiB an epoch predicted, {found[-1]['sent']:.1f} sent")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("measure", "simulate", "tables", "nccl"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--parts", type=int, default=16)
    parser.add_argument("--graph", default="twin:pokec@0.2")
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--epochs", type=int, help="6, of nccl 300")
    parser.add_argument("--measured", type=Path, default=RESULTS / "distributed.json")
    parser.add_argument("--scales", default="0.02,0.05")
    parser.add_argument("--partition", default="balanced")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.what == "measure":
        record = measured(given.graph, [int(count) for count in given.ranks.split(",")], given.epochs or 6)
    elif given.what == "nccl":
        record = compared(given.graph, given.epochs or 300, given.rounds)
    elif given.what == "tables":
        record = divided_tables(given.nodes, given.columns, given.parts)
    else:
        record = simulated(given.measured, given.scales.split(","), given.partition)
    name = "distributed.json" if given.what == "measure" else f"distributed-{NAMES.get(given.what, given.what)}.json"
    (given.out or RESULTS / name).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
