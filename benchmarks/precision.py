"""On a GPU: accuracy with the fast paths on and off, split by split, of GloGNN++ with its authors' settings.

    python benchmarks/precision.py OUT.json --data FOLDER --seconds 85

"off" is torch's kernels in float32 (``GLOGNN_KERNELS=0``, ``--precision highest``), all splits as one batch, where each
draws what it would draw alone. The others are single runs with kernels at a ``--precision``, in which rows are gathered
in 16 bits wherever the precision allows it, also where that does not pay. FOLDER holds graph files NAME.npz; splits
come one after the other on all graphs, until the seconds are over. ``python -m documents.tables`` makes the table of
docs/performance.md of it, with standard errors.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from glognn.experiments.config import RunConfig, resolve
from glognn.experiments.run import initial_models, load_graph
from glognn.graph.graph import Graph
from glognn.ops import kernels, products
from glognn.training.driver import train_batch
from glognn.training.history import TrainingResult

GRAPHS: dict[str, tuple[str, dict[str, Any]]] = {
    "chameleon": ("chameleon", {}),
    "cora": ("cora", {}),
    "pubmed": ("pubmed", {}),
    "squirrel": ("squirrel", {}),
    "arxiv-year": ("arxiv_year_nofeat", {"alpha": 1.0, "directed": True}),
}
"""Names of files, and what differs from the authors' settings: without features the adjacency alone is read."""
SEED = 42


def _use(precision: str) -> None:
    os.environ[kernels.SWITCH] = "0" if precision == "off" else "1"
    kernels._available.cache_clear()
    products._OFTEN, products._WIDE, products._MANY = {"high": 0, "medium": 0}, 1, 0


def _run(config: RunConfig, graph: Graph, precision: str, splits: list[int]) -> list[dict[str, Any]]:
    _use(precision)
    training = replace(
        config.training,
        precision="highest" if precision == "off" else precision,
        seed=SEED,
        device="cuda",
        engine="auto",
    )
    configs = [replace(config, training=training)] * len(splits)
    found = train_batch(
        initial_models(configs, graph), graph, splits=splits, configs=[each.training for each in configs]
    )
    rows = []
    for split, result in zip(splits, found, strict=True):
        assert isinstance(result, TrainingResult)
        scores = {"split": split, "best": result.selected.test}
        rows.append({**scores, "epochs": len(result.curve), "engine": result.engine})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--datasets", default=",".join(GRAPHS))
    parser.add_argument("--splits", type=int, default=5, help="at most so many of each graph")
    parser.add_argument("--precisions", default="high")
    parser.add_argument("--seconds", type=float, default=85.0)
    given = parser.parse_args()
    end = time.perf_counter() + given.seconds
    rows: list[dict[str, Any]] = []
    todo = []
    for name in given.datasets.split(","):
        file, settings = GRAPHS[name]
        [config] = resolve(["glognn++"], f"published:{name}", settings, str(given.data / f"{file}.npz"), None)
        graph = load_graph(config).graph.to(device=torch.device("cuda"))
        splits = list(range(min(graph.num_splits, given.splits)))
        rows.append({"dataset": name, "precision": "off", "runs": _run(config, graph, "off", splits)})
        for precision in given.precisions.split(","):
            rows.append({"dataset": name, "precision": precision, "runs": []})
            todo += [(split, config, graph, rows[-1]) for split in splits]
        print(name, f"{given.seconds - end + time.perf_counter():.0f} s", flush=True)
    for split, config, graph, row in sorted(todo, key=lambda each: each[0]):
        if time.perf_counter() > end:
            break
        row["runs"] += _run(config, graph, row["precision"], [split])
    rows = [row for row in rows if row["runs"]]
    record = {"kind": "accuracy", "machine": torch.cuda.get_device_name(), "model": "glognn++", "rows": rows}
    given.out.write_text(json.dumps(record | {"torch": torch.__version__}), encoding="utf-8")


if __name__ == "__main__":
    main()
