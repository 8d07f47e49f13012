"""Size, time to make and frames per second of the page of ``glognn explore`` at 50,000 nodes and 500,000 edges.

python benchmarks/pages.py --out benchmarks/results/pages.json

Chromium is headless and draws without a graphics card (SwiftShader), which is the slowest that a reader may have.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

import glognn
from glognn.cli.main import app
from glognn.experiments.environment import machine, versions

MOVES = """
const done = arguments[1], drawing = explore.drawing, times = [];
let number = 0;
const begun = performance.now();
function step(now) {
  times.push(now);
  if (now - begun > 6000) { done(times.slice(1).map((each, at) => each - times[at])); return; }
  const there = number++ % 40 < 20;
  if (arguments_[0] === "zoom") drawing.zoom(there ? 1.03 : 1 / 1.03, 500, 400); else drawing.move(there ? 8 : -8, 3);
  requestAnimationFrame(step);
}
const arguments_ = arguments;
requestAnimationFrame(step);
"""


def make_graph(nodes: int, edges: int, classes: int = 8, seed: int = 0) -> Data:
    """Nodes whose neighbours are mostly of the next class, with weak features."""
    generator = np.random.default_rng(seed)
    y = generator.integers(0, classes, nodes)
    ends = generator.integers(0, nodes, (2, 2 * edges))
    kept = ((y[ends[0]] + 1) % classes == y[ends[1]]) | (generator.random(2 * edges) < 0.3)
    pairs = np.unique(np.sort(ends[:, kept & (ends[0] != ends[1])], axis=0), axis=1)
    while pairs.shape[1] < edges:
        more = generator.integers(0, nodes, (2, edges))
        pairs = np.unique(np.concatenate([pairs, np.sort(more[:, more[0] != more[1]], axis=0)], axis=1), axis=1)
    pairs = pairs[:, generator.permutation(pairs.shape[1])[:edges]]
    x = generator.normal(size=(nodes, 8)).astype(np.float32)
    x[np.arange(nodes), y % 8] += 1
    data = Data(x=torch.from_numpy(x), edge_index=torch.from_numpy(pairs), y=torch.from_numpy(y), num_nodes=nodes)
    for name, mask in glognn.random_splits(data.y, num_splits=1).items():
        data[f"{name}_mask"] = mask
    return data


def look(page: Path) -> dict[str, Any]:
    """Seconds until the page is ready, and frames while it is moved and zoomed, in a browser."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("headless=new", "no-sandbox", "window-size=1440,900", "use-angle=swiftshader",
                 "enable-unsafe-swiftshader", "ignore-gpu-blocklist"):  # fmt: skip
        options.add_argument(f"--{flag}")
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    browser.set_script_timeout(120)
    begun = time.perf_counter()
    browser.get(page.resolve().as_uri())
    while not browser.execute_script("return document.documentElement.dataset.ready"):
        time.sleep(0.02)
    found: dict[str, Any] = {"seconds_until_ready": time.perf_counter() - begun}
    while not browser.execute_script("return explore.drawing.drawnEdges >= explore.drawing.wantedEdges"):
        time.sleep(0.1)
    found["seconds_until_drawn"] = time.perf_counter() - begun
    for kind in ("move", "zoom"):
        frames = browser.execute_async_script(MOVES, kind)
        found[kind] = {"frames_per_second": 1000 * len(frames) / sum(frames), "median_ms": float(np.median(frames))}
    found["browser"] = browser.capabilities["browserVersion"]
    browser.quit()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=50_000)
    parser.add_argument("--edges", type=int, default=500_000)
    parser.add_argument("--reasons", type=int, default=50)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        graph, run, page = (str(Path(place) / name) for name in ("graph.npz", "run", "page.html"))
        glognn.write_npz(make_graph(given.nodes, given.edges), graph)
        train = ["train", "--dataset", graph, "--model", "glognn++", "--epochs", "40", "--out", run]
        app(train, standalone_mode=False)
        begun = time.process_time()
        app(["explore", run, "--out", page, "--reasons", str(given.reasons)], standalone_mode=False)
        record = {
            "nodes": given.nodes,
            "edges": given.edges,
            "reasons": given.reasons,
            "processor_seconds_to_make": time.process_time() - begun,
            "megabytes": Path(page).stat().st_size / 1e6,
            **look(Path(page)),
            "load_average": os.getloadavg()[0],
            "versions": versions(),
            "machine": machine(torch.device("cpu")),
        }
    print(json.dumps(record, indent=2))
    if given.out is not None:
        given.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
