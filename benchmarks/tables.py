"""Reading an edge table: seconds and peak memory, beside pandas' own reading of the same file.

    python benchmarks/tables.py --edges 10000000 --out benchmarks/results/tables-cpu.json

Each reading has a process of its own; the two take turns. ``glognn`` is what a training run does: read the file, look
up every id in the node table's, and number the edges. ``pandas`` is ``pandas.read_csv(file)`` and nothing after it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def make(folder: Path, edges: int, nodes: int, kind: str) -> None:
    """A node table and an edge table with ids that are numbers, consecutive or sparse, or text."""
    import numpy as np
    import pyarrow as pa

    from glognn.data.tables import write_table

    generator = np.random.default_rng(0)
    numbers = generator.choice(nodes if kind == "consecutive" else 100 * nodes, nodes, replace=False)
    ids = pa.array([f"user-{number:09d}" for number in numbers]) if kind == "text" else pa.array(numbers)
    write_table(pa.table({"id": ids}), folder / "nodes.parquet")
    ends = [ids.take(pa.array(generator.integers(0, nodes, edges))) for _ in range(2)]
    write_table(pa.table({"source": ends[0], "target": ends[1]}), folder / "edges.csv")


def read(folder: Path, reader: str) -> dict[str, float]:
    """Read the edge table once; seconds, and peak memory in MiB above what imports and the ids take."""
    import time

    import pandas as pd
    import pyarrow.csv  # noqa: F401

    from glognn.data.tables import read_edges, read_table, unique_ids

    ids = None
    if reader == "glognn":
        ids = unique_ids(read_table(folder / "nodes.parquet")["id"], "the node table")
    before = peak_mib()
    start, cpu = time.perf_counter(), time.process_time()
    found = pd.read_csv(folder / "edges.csv") if ids is None else read_edges(folder / "edges.csv", ids).index
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    return {"rows": max(found.shape), "seconds": seconds, "cpu_seconds": cpu, "peak_mib": peak_mib() - before}


def peak_mib() -> float:
    """The most memory this process has held (Linux; a child's ru_maxrss would start from its parent's)."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def measure(folder: Path, rounds: int) -> dict[str, Any]:
    found: dict[str, list[dict[str, float]]] = {"pandas": [], "glognn": []}
    for _ in range(rounds):
        for reader, times in found.items():
            command = [sys.executable, __file__, "--read", reader, "--folder", str(folder)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            times.append(json.loads(done.stdout))
    result: dict[str, Any] = {
        reader: {name: statistics.median(each[name] for each in times) for name in times[0]}
        | {"all_seconds": [round(each["seconds"], 3) for each in times]}
        for reader, times in found.items()
    }
    assert result["pandas"]["rows"] == result["glognn"]["rows"]
    return result | {"ratio": result["glognn"]["seconds"] / result["pandas"]["seconds"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--read", choices=("pandas", "glognn"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        print(json.dumps(read(options.folder, options.read)))
        return
    import pandas as pd
    import pyarrow as pa

    results: dict[str, Any] = {}
    for kind in ("consecutive", "sparse", "text"):
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder), options.edges, options.nodes, kind)
            size = (Path(folder) / "edges.csv").stat().st_size
            found = results[kind] = measure(Path(folder), options.rounds) | {"file_mib": size / 2**20}
        for reader in ("pandas", "glognn"):
            each = found[reader]
            times = f"{each['seconds']:.2f} s ({each['cpu_seconds']:.2f} s of all cores)"
            print(f"{kind}, {reader}: {times}, peak {each['peak_mib']:,.0f} MiB")
        print(f"{kind}: {found['ratio']:.2f} times pandas' time, file of {found['file_mib']:,.0f} MiB", flush=True)
    if options.out:
        machine: dict[str, Any] = {
            "cores": os.cpu_count(),
            "processor": platform.machine(),
            "python": platform.python_version(),
        }
        machine["load"] = os.getloadavg()  # above the number of cores, others were at work too
        versions = {"pandas": pd.__version__, "pyarrow": pa.__version__}
        content = {"edges": options.edges, "nodes": options.nodes, "rounds": options.rounds, "results": results}
        options.out.write_text(json.dumps(content | {"machine": machine, "versions": versions}, indent=2) + "\n")


if __name__ == "__main__":
    main()
