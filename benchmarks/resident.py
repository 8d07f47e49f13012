"""Predicted and measured resident memory of whole training processes on the CPU, each case in a process of its own.

Predicted is what the process holds when the graph is there, with what preflight says that training adds; measured is
the system's high-water mark of resident memory while a model is built and trained for some epochs, set back before.
python benchmarks/resident.py [--models gcn,linkx] [--widths 64,256] [--graphs twin:penn94@0.1] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from pathlib import Path
from typing import Any

import torch

from glognn.bench.memory import CLEAR, STATUS, alone
from glognn.experiments.config import resolve
from glognn.experiments.environment import machine, versions
from glognn.experiments.run import build_model, load_graph
from glognn.training.allocator import give_back_large_blocks
from glognn.training.driver import train
from glognn.training.preflight import SWITCH, need_of, resident_bytes, resident_now

EPOCHS = 4
MODELS = "glognn++,glognn,glognn2,linkx,gcn,mlp,dirgnn,gcnii"
GRAPHS = "twin:penn94@0.05,twin:penn94@0.3,twin:arxiv-year@0.1"
CLOSE_SHARE, CLOSE_BYTES = 0.1, 50e6
"""A prediction is close within a tenth of what is measured, or within 50 MB."""


def measure(model: str, graph: str, width: int, threads: int) -> dict[str, Any]:
    """Predicted and measured bytes of this process, which must be a new one."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(threads)
    os.environ[SWITCH] = "0"  # whatever the machine has free
    given = {"hidden_channels": width, "epochs": EPOCHS, "threads": threads, "device": "cpu", "early_stopping": "none"}
    [config] = resolve([model], None, given | {"selection": "best"}, graph, "0")
    loaded = load_graph(config).graph
    give_back_large_blocks()
    need = need_of(config.model, loaded, config.training)
    predicted = resident_now() + resident_bytes(need, loaded, threads)
    CLEAR.write_text("5", encoding="ascii")
    before = resident_now()
    result = train(build_model(config, loaded), loaded, config=config.training)
    peak = next(line for line in STATUS.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM:"))
    measured = 1024 * int(peak.split()[1])
    return {
        "model": model,
        "graph": graph,
        "width": width,
        "threads": threads,
        "engine": result.engine,
        "before": before,
        "predicted": predicted,
        "measured": measured,
        "close": abs(predicted - measured) <= max(CLOSE_SHARE * measured, CLOSE_BYTES),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--graphs", default=GRAPHS)
    parser.add_argument("--widths", default="64,256,1024")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--out", type=Path, default=None)
    arguments = parser.parse_args()
    rows = []
    head = f"{'graph':<22}{'model':<12}{'engine':<8}{'width':>6}{'threads':>8}"
    print(f"{head}{'predicted, MB':>15}{'measured, MB':>14}{'ratio':>7}")
    for graph in arguments.graphs.split(","):
        for model in arguments.models.split(","):
            for width in map(int, arguments.widths.split(",")):
                for threads in map(int, arguments.threads.split(",")):
                    row = alone(measure, model, graph, width, threads)
                    rows.append(row)
                    if arguments.out is not None:
                        record = {"versions": versions(), "machine": machine(torch.device("cpu")), "runs": rows}
                        arguments.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
                    sizes = f"{row['predicted'] / 1e6:>15.0f}{row['measured'] / 1e6:>14.0f}"
                    ratio = f"{row['predicted'] / row['measured']:>7.2f}{'' if row['close'] else ' far'}"
                    print(f"{graph:<22}{model:<12}{row['engine']:<8}{width:>6}{threads:>8}{sizes}{ratio}", flush=True)
    print(f"{sum(row['close'] for row in rows)} of {len(rows)} are close")


if __name__ == "__main__":
    main()
