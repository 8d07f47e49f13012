"""Seconds to compare the structure around the nodes of a graph, as WRGAT needs it once, and to read it from the cache.

python benchmarks/structure.py [--data-mirror DIR] [--datasets chameleon ...] [--threads 2]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path

from glognn.data.structure import structural_similarities
from glognn.experiments.config import resolve
from glognn.experiments.run import load_graph
from glognn.models.configs.handwritten import WRGATConfig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-mirror", type=Path, help="folder with the published files; default: download them")
    parser.add_argument("--datasets", nargs="+", default=["chameleon", "pubmed", "squirrel"])
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for dataset in options.datasets:
        [config] = resolve(["wrgat"], None, {"device": "cpu"}, dataset, None)
        graph, model = load_graph(config, options.data_mirror).graph, config.model
        assert isinstance(model, WRGATConfig)
        seconds = []
        with tempfile.TemporaryDirectory() as cache:
            os.environ["GLOGNN_DATA"] = cache
            for _ in range(2):
                started = time.perf_counter()
                found = structural_similarities(
                    graph.adjacency.matrix.to_scipy(),
                    num_similar=model.num_compared(graph.num_nodes),
                    num_rings=model.num_rings,
                    threads=options.threads,
                )
                seconds.append(time.perf_counter() - started)
            del os.environ["GLOGNN_DATA"]
        pairs = found.pairs.shape[1]
        print(f"{dataset}: {seconds[0]:.1f} s for {pairs:,} pairs, {seconds[1]:.3f} s from the cache", flush=True)


if __name__ == "__main__":
    main()
