"""Models at their defaults, without any search, on graphs by name or file: every split as a record, and a table.

    python benchmarks/defaults.py --models glognn2 --datasets texas,cora,graph.npz --out results/defaults.jsonl
    python benchmarks/defaults.py --models ablation --datasets texas,cora --out results/ablation-glognn2.jsonl

``ablation`` stands for GloGNN2 with one part left out, or put in, at a time. The file is added to: several processes or
machines may write theirs, to be joined by ``cat``. ``--table`` only prints the table of the records that are there.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import glognn
from glognn.experiments.folder import read_report

ABLATION: dict[str, dict[str, Any]] = {
    "all three inputs": {},
    "without features": {"reads": "link degrees"},
    "without links": {"reads": "features degrees"},
    "without degrees": {"reads": "features link"},
    "without the layer": {"num_layers": 0},
    "without scale-free coefficients": {"scale_free": False},
    "without a learnt tau": {"tau": "fixed"},
    "without directions": {"directed": False},
    "with two local blocks": {"num_blocks": 2},
    "two local blocks, without the layer": {"num_blocks": 2, "num_layers": 0},
}
"""Beside what is named, features, rows of links and degrees are read, whatever labels say."""


def train(dataset: str, name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The records of all splits; the graph goes by the name of its file."""
    model, settings = name, {"device": options.device, "epochs": options.epochs}
    if name in ABLATION:
        model, settings = "glognn2", settings | {"reads": "features link degrees"} | ABLATION[name]
    with TemporaryDirectory() as folder:
        glognn.train_models(
            dataset, model, splits=options.splits, out=folder, data_mirror=options.data_mirror, **settings
        )
        reports = [read_report(run) for run in sorted(Path(folder).glob("split-*")) or [Path(folder)]]
    kept = ("model", "config", "split", "seed", "scores", "engine", "seconds", "epochs", "versions", "machine")
    for report in reports:
        report["config"]["data"]["dataset"] = Path(dataset).stem
    return [
        {"dataset": Path(dataset).stem, "fingerprint": report["data"]["fingerprint"], "settings": name}
        | {name: report[name] for name in kept if name in report}
        | {"scores": {"selected": report["scores"]["selected"]}}
        for report in reports
    ]


def table(records: list[dict[str, Any]]) -> str:
    lines = ["| graph | model | test, % | validation, % | splits |", "|---|---|---|---|---|"]
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records:
        cells.setdefault((record["dataset"], record["settings"]), []).append(record["scores"]["selected"])
    for (dataset, model), scores in sorted(cells.items()):
        test = [100 * score["test"] for score in scores]
        val = statistics.fmean(100 * score["val"] for score in scores)
        spread = f" ± {statistics.stdev(test):.2f}" if len(test) > 1 else ""
        lines.append(f"| {dataset} | {model} | {statistics.fmean(test):.2f}{spread} | {val:.2f} | {len(test)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="glognn2")
    parser.add_argument("--datasets", default="texas,wisconsin,cornell,actor,squirrel,chameleon,cora,citeseer,pubmed")
    parser.add_argument("--splits", default="all")
    parser.add_argument("--data-mirror", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--epochs", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path("results/defaults.jsonl"))
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    for dataset in [] if options.table else options.datasets.split(","):
        for name in ABLATION if options.models == "ablation" else options.models.split(","):
            try:
                records = train(dataset, name, options)
            except glognn.InputError as error:  # such as features left out of what a graph has nothing but
                print(f"{dataset}, {name}: {error}", flush=True)
                continue
            with options.out.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(record, separators=(",", ":")) + "\n" for record in records)
            print(table(records).splitlines()[-1], flush=True)
    if options.table:
        print(table([json.loads(line) for line in options.out.read_text(encoding="utf-8").splitlines()]))


if __name__ == "__main__":
    main()
