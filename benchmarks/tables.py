"""Reading an edge table: seconds and peak memory, beside what pandas and pyarrow offer for the same file.

    python benchmarks/tables.py --edges 100000 1000000 10000000 --out benchmarks/results/tables-cpu.json

Each reading has a process of its own; they take turns. ``glognn`` is what a training run does: read the file, look up
every id in the node table's, check, and number the edges. ``pandas`` is ``pandas.read_csv(file)`` and nothing after it;
``pandas index`` looks both columns up with ``pandas.Index.get_indexer``, ``pyarrow index`` reads with ``pyarrow.csv``
and looks them up with ``pyarrow.compute.index_in``. There is a node for every ten edges.
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

READERS = ("pandas", "glognn", "pandas index", "pyarrow index")


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

    import numpy as np
    import pandas as pd
    from pyarrow import compute, csv

    from glognn.data.edge_tables import read_edges
    from glognn.data.ids import unique_ids
    from glognn.data.tables import read_table

    path = folder / "edges.csv"
    ids: Any = None if reader == "pandas" else unique_ids(read_table(folder / "nodes.parquet")["id"], "the node table")
    before = peak_mib()
    start, cpu = time.perf_counter(), time.process_time()
    found: Any
    if reader == "pandas":
        found = pd.read_csv(path)
    elif reader == "glognn":
        found = read_edges(path, ids).index
    elif reader == "pandas index":
        index, table = pd.Index(ids.to_pandas()), pd.read_csv(path)
        found = np.stack([index.get_indexer(pd.Index(table[name])) for name in ("source", "target")])
    else:
        table = csv.read_csv(path)
        found = np.stack([compute.index_in(table[name], value_set=ids).to_numpy() for name in ("source", "target")])
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    return {"rows": max(found.shape), "seconds": seconds, "cpu_seconds": cpu, "peak_mib": peak_mib() - before}


def peak_mib() -> float:
    """The most memory this process has held (Linux; a child's ru_maxrss would start from its parent's)."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def measure(folder: Path, rounds: int) -> dict[str, Any]:
    found: dict[str, list[dict[str, float]]] = {reader: [] for reader in READERS}
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
    assert len({each["rows"] for each in result.values()}) == 1
    return result | {"ratio": result["glognn"]["seconds"] / result["pandas"]["seconds"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, nargs="+", default=[10_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--read", choices=READERS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        print(json.dumps(read(options.folder, options.read)))
        return
    import pandas as pd
    import pyarrow as pa

    results: dict[str, Any] = {}
    for edges in options.edges:
        for kind in ("consecutive", "sparse", "text"):
            with tempfile.TemporaryDirectory() as folder:
                make(Path(folder), edges, edges // 10, kind)
                size = (Path(folder) / "edges.csv").stat().st_size
                found = measure(Path(folder), options.rounds) | {"file_mib": size / 2**20}
            results.setdefault(str(edges), {})[kind] = found
            print(f"{edges:,} edges, {kind} ids, file of {found['file_mib']:,.0f} MiB:")
            for reader in READERS:
                each = found[reader]
                times = f"{each['seconds']:.3f} s ({each['cpu_seconds']:.3f} s of all cores)"
                print(f"  {reader:<14}{times}, peak {each['peak_mib']:,.0f} MiB", flush=True)
    if options.out:
        machine: dict[str, Any] = {
            "cores": os.cpu_count(),
            "processor": platform.machine(),
            "python": platform.python_version(),
        }
        machine["load"] = os.getloadavg()  # above the number of cores, others were at work too
        versions = {"pandas": pd.__version__, "pyarrow": pa.__version__}
        content = {"rounds": options.rounds, "results": results}
        options.out.write_text(json.dumps(content | {"machine": machine, "versions": versions}, indent=2) + "\n")


if __name__ == "__main__":
    main()
