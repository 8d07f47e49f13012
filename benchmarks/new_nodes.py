"""New nodes without training again, against the same nodes present in training, unlabelled.

    python benchmarks/new_nodes.py [--repeats 5] [--datasets chameleon,cora] [--out FILE.json]

A stratified tenth of all nodes is held out: in no training or validation set. One model is trained on the graph with
them, another on the graph without them, at published settings, with the same labels and seed; the held-out nodes are
then scored as nodes of the graph and as new ones. Repeats differ in published split, held-out nodes and seed.
"""

from __future__ import annotations

import argparse
import json
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from glognn.data.sources import load_dataset
from glognn.data.splits import random_splits
from glognn.experiments.config import RunConfig, resolve
from glognn.experiments.environment import machine, versions
from glognn.experiments.run import build_model
from glognn.graph.graph import Graph
from glognn.metrics import Scoring
from glognn.training.driver import train
from glognn.training.new_nodes import predict_new_nodes
from glognn.training.predict import predict

DATASETS = ("chameleon", "cora", "actor", "pubmed")
MODELS = ("glognn", "glognn++")
HELD_OUT = 0.1


def held_out(y: Tensor, seed: int) -> Tensor:
    """A stratified tenth of the nodes, as a mask."""
    mask: Tensor = random_splits(y, 1, seed=seed, fractions=(1 - 2 * HELD_OUT, HELD_OUT, HELD_OUT))["test"]
    return mask[:, 0]


def without(data: Data, held: Tensor) -> tuple[Data, Data]:
    """The graph of the other nodes, and the held-out ones as new nodes of it."""
    order = torch.cat([(~held).nonzero().view(-1), held.nonzero().view(-1)])
    number = torch.empty_like(order).scatter_(0, order, torch.arange(order.numel()))
    kept = int((~held).sum())
    edges = number[data.edge_index]
    inside = (edges < kept).all(dim=0)
    x = data.x.to_dense()[order]
    masks = {name: data[name][order[:kept]] for name in ("train_mask", "val_mask", "test_mask")}
    known = Data(x=x[:kept], y=data.y[order[:kept]], edge_index=edges[:, inside], **masks)
    return known, Data(x=x[kept:], edge_index=edges[:, ~inside])


def repeat(data: Data, config: RunConfig, number: int) -> dict[str, float]:
    """Accuracy on the held-out nodes, present in training and new."""
    config = replace(config, training=replace(config.training, seed=number))
    held = held_out(data.y, number)
    whole = Data(x=data.x, y=data.y, edge_index=data.edge_index)
    for name in ("train_mask", "val_mask", "test_mask"):
        split = number % data[name].shape[1]
        whole[name] = data[name][:, [split]] & ~held.unsqueeze(1)
    known, new = without(whole, held)
    scores = []
    for part in (whole, known):
        graph = Graph.from_data(part, config.graph)
        model = build_model(config, graph)
        train(model, graph, config=config.training)
        if part is whole:
            scores.append(Scoring("accuracy")(predict(model, graph)[held], data.y[held]))
        else:
            scores.append(Scoring("accuracy")(predict_new_nodes(model, part, new, config.graph), data.y[held]))
    return {"repeat": number, "held_out": int(held.sum()), "present": 100 * scores[0], "new": 100 * scores[1]}


def summary(rows: list[dict[str, float]]) -> dict[str, float]:
    differences = [row["new"] - row["present"] for row in rows]
    found = {name: statistics.fmean(row[name] for row in rows) for name in ("present", "new")}
    deviations = {f"{name}_std": statistics.stdev(row[name] for row in rows) for name in ("present", "new")}
    return found | deviations | {"difference": statistics.fmean(differences), "std": statistics.stdev(differences)}


def table(results: list[dict[str, Any]]) -> str:
    lines = ["| dataset | model | present in training | new | difference |", "|---|---|---|---|---|"]
    for each in results:
        means = each["summary"]
        lines.append(
            f"| {each['dataset']} | {each['model']} | {means['present']:.2f} ± {means['present_std']:.2f} "
            f"| {means['new']:.2f} ± {means['new_std']:.2f} | {means['difference']:+.2f} ± {means['std']:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--repeats", type=int, default=5, help="at least 2")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "new-nodes.json")
    options = parser.parse_args()
    results = []
    for dataset in options.datasets.split(","):
        data = load_dataset(dataset)
        for name in MODELS:
            given = {"device": "cpu", "threads": options.threads}
            [config] = resolve([name], f"published:{dataset}", given, None, None)
            rows = [repeat(data, config, number) for number in range(options.repeats)]
            results.append({"dataset": dataset, "model": name, "summary": summary(rows), "repeats": rows})
            print(table(results[-1:]).splitlines()[-1], flush=True)
            record = {
                "held_out": HELD_OUT,
                "results": results,
                "versions": versions(),
                "machine": machine(torch.device("cpu"), options.threads),
            }
            options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(table(results))


if __name__ == "__main__":
    main()
