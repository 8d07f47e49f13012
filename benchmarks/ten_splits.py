"""On a GPU: an epoch of one of ten splits that train together, beside single runs, in one process and in turns.

    python benchmarks/ten_splits.py OUT.json --datasets texas,squirrel,pubmed --data-mirror DIR

"launched" is a single run whose kernels are launched one by one (``--engine eager``), "replayed" one as CUDA graphs, as
it is trained by default, "together" ten splits at once. GloGNN and GloGNN++ with the authors' settings.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from glognn.bench.config import BenchConfig
from glognn.bench.measure import Spread, alternate
from glognn.bench.ours import Ours
from glognn.bench.suite import MethodBuilder

SPLITS, EPOCHS, FEW = 10, 100, 30
MODELS = ("glognn", "glognn++")
DATASETS = "squirrel,pubmed,chameleon,texas"


def measured(dataset: str, model: str, repeats: int, mirror: Path | None) -> dict[str, Any]:
    """The record of a model on a graph, in milliseconds."""
    builder = MethodBuilder.load(dataset, BenchConfig(device="cuda", threads=1), mirror)
    replayed = builder.build(model)
    assert isinstance(replayed, Ours)
    config = builder.settings(model)
    eager = replace(config, training=replace(config.training, engine="eager"))
    launched = Ours(eager, builder.graph, replayed.split, builder.device)
    turns: dict[str, Callable[[], float]] = {
        "launched": lambda: launched.seconds(FEW),
        "replayed": lambda: replayed.seconds(EPOCHS),
        "together": lambda: replayed.seconds_of_splits(SPLITS, EPOCHS),
    }
    for turn in turns.values():
        turn()
    found = alternate(turns, repeats, lambda *_: None)
    spreads = {name: asdict(Spread.of([1000 * each for each in seconds])) for name, seconds in found.items()}
    return {"dataset": dataset, "model": model, "splits": SPLITS, **spreads}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--datasets", default=DATASETS)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--data-mirror", type=Path)
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for dataset in given.datasets.split(","):
        for model in MODELS:
            rows.append(measured(dataset, model, given.repeats, given.data_mirror))
            times = ", ".join(
                f"{name} {rows[-1][name]['median']:.2f} ms" for name in ("launched", "replayed", "together")
            )
            print(f"{dataset} {model}: {times}", flush=True)
    record = {"kind": "ten splits", "rows": rows, "machine": torch.cuda.get_device_name(), "torch": torch.__version__}
    given.out.write_text(json.dumps(record, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
