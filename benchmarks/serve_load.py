"""The load that ``glognn serve`` bears: clients that ask without a pause, on this machine alone.

    python benchmarks/serve_load.py --clients 8 --seconds 60 --out benchmarks/results/serve-load.json
    python benchmarks/serve_load.py --run runs/fraud

Without ``--run`` it trains GloGNN++ on the fraud tables of ``practitioner.py`` first. Each client is a thread with a
connection of its own; of four requests, two are of a known id, one of 20 known ids, and one posts a new node with
five edges. Said are requests a second, the median and the 99th percentile by kind, answers that were no 200, and the
memory of the service every second: its slope is that of a straight line through the second half.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np

KINDS = ("one id", "one id", "20 ids", "a new node")


class Client(threading.Thread):
    """Asks until the time is over, and remembers how long each answer took."""

    def __init__(self, number: int, address: str, ids: list[str], example: dict[str, Any], until: float) -> None:
        super().__init__(daemon=True)
        self.random = np.random.default_rng(number)
        self.ids, self.example, self.until = ids, example, until
        self.connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
        self.seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
        self.failed: Counter[str] = Counter()

    def run(self) -> None:
        while time.perf_counter() < self.until:
            kind = KINDS[self.random.integers(len(KINDS))]
            begun = time.perf_counter()
            try:
                self.ask(kind)
            except (OSError, http.client.HTTPException) as error:
                self.failed[type(error).__name__] += 1
                self.connection.close()
            else:
                self.seconds[kind].append(time.perf_counter() - begun)

    def ask(self, kind: str) -> None:
        chosen = [self.ids[place] for place in self.random.integers(len(self.ids), size=20)]
        if kind == "one id":
            self.connection.request("GET", f"/predict?id={quote(chosen[0])}")
        else:
            place, body = ("/predict", {"ids": chosen}) if kind == "20 ids" else ("/predict/new", self.new_node(chosen))
            self.connection.request("POST", place, json.dumps(body), {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        content = json.loads(answer.read())
        if answer.status != http.client.OK or not content["predictions"]:
            self.failed[str(answer.status)] += 1

    def new_node(self, chosen: list[str]) -> dict[str, Any]:
        """The example of the service, linked to five known nodes instead of one."""
        [edge] = self.example["edges"]
        target = list(edge)[1]
        return {"nodes": self.example["nodes"], "edges": [{**edge, target: each} for each in chosen[:5]]}


def resident_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def known_ids(run: Path) -> list[str]:
    from glognn.experiments.saved import open_saved

    return [str(each) for each in open_saved(run).predict()[0].ids.to_pylist()]


def train(folder: Path) -> Path:
    """A run of GloGNN++ on the fraud tables."""
    here = Path(__file__).parent
    subprocess.run(
        [sys.executable, here / "practitioner.py", "--make", folder, "--datasets", "fraud", "--out", folder / "none"],
        check=True,
    )
    flags: list[str | Path] = [
        "--id",
        "account",
        "--label",
        "status",
        "--model",
        "glognn++",
        "--out",
        folder / "run",
        "--quiet",
    ]
    tables: list[str | Path] = ["--nodes", folder / "fraud" / "nodes.csv", "--edges", folder / "fraud" / "edges.csv"]
    subprocess.run([sys.executable, "-m", "glognn", "train", *tables, *flags], check=True, stdout=subprocess.DEVNULL)
    return folder / "run"


def load(address: str, pid: int, ids: list[str], clients: int, seconds: float) -> dict[str, Any]:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    connection.request("GET", "/openapi.json")
    example = json.loads(connection.getresponse().read())["components"]["schemas"]["NewNodes"]["example"]
    connection.request("GET", "/model")
    about = json.loads(connection.getresponse().read())
    connection.close()
    begun = time.perf_counter()
    asking = [Client(number, address, ids, example, begun + seconds) for number in range(clients)]
    for client in asking:
        client.start()
    memory = []
    while any(client.is_alive() for client in asking):
        memory.append((time.perf_counter() - begun, resident_mib(pid)))
        time.sleep(1)
    took = time.perf_counter() - begun
    kinds = {}
    for kind in dict.fromkeys(KINDS):
        every = np.array([each for client in asking for each in client.seconds[kind]])
        p50, p99 = np.quantile(every, [0.5, 0.99])
        kinds[kind] = {"requests": len(every), "p50_ms": round(1e3 * p50, 2), "p99_ms": round(1e3 * p99, 2)}
    every = np.array([each for client in asking for found in client.seconds.values() for each in found])
    half = np.array(memory[len(memory) // 2 :])
    slope = np.polynomial.Polynomial.fit(half[:, 0], half[:, 1], 1).convert().coef[1] if len(half) > 2 else 0.0
    return {
        "model": about["model"],
        "nodes": about["graph"]["nodes"],
        "clients": clients,
        "seconds": round(took, 1),
        "requests_per_second": round(len(every) / took, 1),
        "p50_ms": round(1e3 * float(np.quantile(every, 0.5)), 2),
        "p99_ms": round(1e3 * float(np.quantile(every, 0.99)), 2),
        "errors": dict(sum((client.failed for client in asking), Counter[str]())),
        "kinds": kinds,
        "memory_mib": [round(each, 1) for _, each in memory],
        "memory_slope_mib_per_minute": round(60 * float(slope), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, help="folder of a trained model")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        run = options.run or train(Path(folder))
        command = [sys.executable, "-m", "glognn", "serve", run, "--port", "0", "--quiet"]
        service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert service.stdout is not None
        try:
            address = next(found[0] for line in service.stdout if (found := re.search(r"http://\S+", line)))
            result = load(address, service.pid, known_ids(run), options.clients, options.seconds)
        finally:
            service.terminate()
            service.wait()
    result |= {
        "machine": {"cores": os.cpu_count(), "processor": platform.machine(), "load": os.getloadavg()},
        "exit_code": service.returncode,
    }
    print(json.dumps(result, indent=2))
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
