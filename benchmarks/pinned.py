"""`glognn bench`, each dataset in a process of its own with cores of its own, and one record of all.

    python benchmarks/pinned.py OUT.json texas,cora,pubmed [--cores N] [--first CORE] [any option of glognn bench]

As many datasets run side by side as there are cores for their threads, the first named first. The methods of a dataset
stay within one process, in alternating rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any


def bench(dataset: str, out: Path, cores: set[int], options: list[str]) -> int:
    command = [sys.executable, "-m", "glognn", "bench", dataset, "--out", str(out), *options]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, preexec_fn=lambda: os.sched_setaffinity(0, cores)
    )
    print(f"{dataset} (cores {sorted(cores)})\n{done.stdout if done.returncode == 0 else done.stderr}", flush=True)
    return done.returncode


def merged(paths: list[Path]) -> dict[str, Any]:
    """One record: rows and datasets of all, the rest of the first."""
    records: list[dict[str, Any]] = [json.loads(path.read_text()) for path in paths]
    whole = records[0] | {"rows": [row for record in records for row in record["rows"]]}
    whole["datasets"] = {name: facts for record in records for name, facts in record["datasets"].items()}
    return whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("datasets", help="names with commas between them")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)), help="how many to use; default: all")
    parser.add_argument("--first", type=int, default=0, help="leave out so many of the first cores")
    parser.add_argument("--threads", type=int, default=1, help="of each dataset")
    given, options = parser.parse_known_args()
    names = given.datasets.split(",")
    allowed = sorted(os.sched_getaffinity(0))[given.first :][: given.cores]
    free: SimpleQueue[set[int]] = SimpleQueue()
    for k in range(len(allowed) // given.threads):
        free.put(set(allowed[k * given.threads : (k + 1) * given.threads]))
    if free.empty():
        sys.exit(f"{given.threads} threads do not fit {len(allowed)} cores: name fewer --threads or more --cores.")

    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder, f"{number}.json") for number, name in enumerate(names)}

        def run(name: str) -> int:
            cores = free.get()
            try:
                return bench(name, paths[name], cores, [*options, "--threads", str(given.threads)])
            finally:
                free.put(cores)

        with ThreadPoolExecutor(free.qsize()) as pool:
            failed = [name for name, code in zip(names, pool.map(run, names), strict=True) if code]
        found = [path for path in paths.values() if path.is_file()]
        if found:
            given.out.write_text(json.dumps(merged(found), indent=2) + "\n")
    if failed:
        sys.exit(f"{', '.join(failed)} failed.")


if __name__ == "__main__":
    main()
