"""The equal search of table 1 on any graph: 25 drawn trials of every model, then the best settings on all splits.

    python benchmarks/searched.py --datasets reed98,graph.npz --models gcn,linkx --workers 2

The protocol is that of ``make check-table1``: trials are drawn at random, judged by the mean validation score of splits
0 to 2, 400 epochs at most with a patience of 100, and whatever scores best is trained on every split with seed 0. A
record is a pair of graph and model, with its trials and its scores; pairs that are in the file are not done again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import glognn
from glognn.experiments.folder import read_report
from glognn.experiments.search import chosen_settings, finished_trials, open_study
from glognn.models.configs import MODELS

METRICS = {"minesweeper": "roc_auc"}
"""Of graphs that are not judged by accuracy."""


def search(dataset: str, model: str, options: argparse.Namespace) -> dict[str, Any]:
    """The record of a pair."""
    name, started = Path(dataset).stem, time.perf_counter()
    asked = {"device": options.device, "epochs": 400, "patience": 100, "metric": METRICS.get(name, "accuracy")}
    mirror = options.data_mirror
    with TemporaryDirectory() as place:
        [found] = glognn.tune(
            dataset, model, trials=options.trials, splits="0-2", sampler="random", prune=False, keep_default=False,
            workers=1, out=Path(place, "study"), data_mirror=mirror, **asked,
        )  # fmt: skip
        trials = [
            {
                "trial": trial.number,
                "validation": None if trial.value is None else round(100 * trial.value, 3),
                "settings": chosen_settings(found.search, trial),
            }
            for trial in finished_trials(open_study(found.folder, found.search))
        ]
        best = Path(place, "best")
        glognn.train_models(dataset, config=found.path, splits="all", seed=0, out=best, data_mirror=mirror)
        reports = [read_report(run) for run in sorted(best.glob("split-*"))]
    tests = [report["scores"]["selected"]["test"] for report in reports]
    return {
        "dataset": name,
        "model": model,
        "metric": asked["metric"],
        "fingerprint": reports[0]["data"]["fingerprint"],
        "settings": found.settings,
        "validation": round(100 * found.validation, 3),
        "test": {"mean": statistics.fmean(tests), "std": statistics.stdev(tests), "splits": tests},
        "trials": trials,
        "seconds": time.perf_counter() - started,
        "versions": reports[0]["versions"],
        "machine": reports[0]["machine"],
    }


def _task(given: tuple[str, str, argparse.Namespace]) -> tuple[str, str, dict[str, Any] | str]:
    dataset, model, _ = given
    try:
        return dataset, model, search(*given)
    except (glognn.GloGNNError, RuntimeError, MemoryError) as error:
        return dataset, model, " ".join(str(error).split())


def table(records: list[dict[str, Any]]) -> str:
    lines = ["| graph | model | test, % | validation, % | seconds |", "|---|---|---|---|---|"]
    for record in sorted(records, key=lambda each: (each["dataset"], -each["test"]["mean"])):
        test = record["test"]
        lines.append(
            f"| {record['dataset']} | {record['model']} | {100 * test['mean']:.2f} ± {100 * test['std']:.2f} "
            f"| {record['validation']:.2f} | {record['seconds']:.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="cornell-corrected,reed98,amherst41,minesweeper,twitch-explicit-de")
    parser.add_argument("--models", default=",".join(name for name in MODELS if name != "trees"))
    parser.add_argument("--trials", type=int, default=25)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--data-mirror", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results/searched.jsonl"))
    parser.add_argument("--table", action="store_true", help="only print the table of the records that are there")
    options = parser.parse_args()
    lines = options.out.read_text(encoding="utf-8").splitlines() if options.out.is_file() else []
    records = [json.loads(line) for line in lines]
    if options.table:
        print(table(records))
        return
    known = {(record["dataset"], record["model"]) for record in records}
    pairs = [(dataset, model) for dataset in options.datasets.split(",") for model in options.models.split(",")]
    tasks = [(dataset, model, options) for dataset, model in pairs if (Path(dataset).stem, model) not in known]
    with multiprocessing.get_context("spawn").Pool(options.workers, maxtasksperchild=8) as pool:
        for dataset, model, found in pool.imap_unordered(_task, tasks):
            if isinstance(found, str):
                print(f"{Path(dataset).stem}, {model}: {found}", flush=True)
                continue
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(found, separators=(",", ":")) + "\n")
            print(table([found]).splitlines()[-1], flush=True)


if __name__ == "__main__":
    main()
