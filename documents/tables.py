"""``python -m documents.tables``: write the tables of numbers in documents anew from committed records.

A table stands between ``<!-- table: NAME -->`` and ``<!-- end of table -->``; ``TABLES`` says of which record it is
made, and how. With ``--check`` nothing is written, and what does not follow from its record is an error: ``make docs``
does that. So is a table with decimal numbers that is neither made here nor says ``<!-- no record: WHY -->`` above it.
The tables in results/ are compared with the records beside them too.
"""

from __future__ import annotations

import difflib
import json
import re
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src")]

from glognn.experiments.comparison import JUDGED, Cell, Comparison, compare  # noqa: E402
from glognn.models.configs import MODELS  # noqa: E402
from glognn.report.comparison import comparison_table  # noqa: E402
from glognn.report.efficiency import efficiency_table  # noqa: E402
from glognn.report.markdown import table_markdown  # noqa: E402

_MARKED = re.compile(r"^( *)<!-- table: ([\w-]+) -->\n.*?^\1<!-- end of table -->$", re.DOTALL | re.MULTILINE)
_TABLE = re.compile(r"(?:^[^\n]*\n\n?)?(?:^ *\|[^\n]*\n)+", re.MULTILINE)
_DECIMAL = re.compile(r"\d\.\d")
_SMALL = ("texas", "wisconsin", "cornell", "actor", "squirrel", "chameleon", "cora", "citeseer", "pubmed")
_PEERS = ("mixhop", "gcnii", "h2gcn", "wrgat", "gprgnn", "ggcn", "acmgcn", "linkx", "glognn", "glognn++")
_PUBLISHED = {
    "texas": 88.38,
    "wisconsin": 89.41,
    "cornell": 86.49,
    "actor": 37.9,
    "squirrel": 76.71,
    "chameleon": 80.33,
    "cora": 88.5,
    "citeseer": 78.02,
    "pubmed": 90.15,
    "minesweeper": 97.9,
    "chameleon_filtered": 46.3,
}
"""From a list of public results, of whichever method and search; none is a run of ours, or traced to its paper."""
_TITLES = {"glognn": "GloGNN", "glognn++": "GloGNN++"}

Lines = Iterable[str]


def _read(record: str) -> Any:
    text = (ROOT / record).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()] if record.endswith(".jsonl") else json.loads(text)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], align: str = "") -> Iterator[str]:
    """Lines of a table; ``align`` has a letter for each column, r or l, the last of which holds for the rest."""
    letters = [(align or "l")[min(column, len(align or "l") - 1)] for column in range(len(head))]
    yield _row(head)
    yield f"|{'|'.join('---:' if letter == 'r' else '---' for letter in letters)}|"
    yield from map(_row, rows)


def _row(cells: Sequence[str]) -> str:
    return f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in cells)}|"


def _number(value: float) -> str:
    """Three digits, more in front of the point where there are more."""
    return f"{value:.2f}" if value < 9.995 else (f"{value:.1f}" if value < 99.95 else f"{value:,.0f}")


def _short(value: float) -> str:
    return f"{value:.1f}" if value < 99.95 else f"{value:,.0f}"


def _spread(mean: float, std: float) -> str:
    return f"{mean:.2f} ± {std:.2f}"


def first_run() -> Lines:
    """What ``make run`` ends with."""
    reports = _read("results/pairs.jsonl")
    rows = [
        (report["config"]["model"]["name"], report["scores"]["selected"]["test"], report["splits"])
        for report in reports
    ]
    rows += [
        (f"baseline: {name}", scores["test"], reports[0]["splits"]) for name, scores in reports[0]["baselines"].items()
    ]
    cells = [(name, _spread(100 * test["mean"], 100 * test["std"]), str(len(splits))) for name, test, splits in rows]
    return _table(["model", "test accuracy, %", "splits"], cells)


def _comparison(record: str, judged: str) -> dict[tuple[str, str], Any]:
    [table] = [each for each in _read(record) if each["judged"] == judged]
    return {(cell["model"], cell["dataset"]): cell for cell in table["cells"]}


def published() -> Lines:
    """Ours beside the paper's, at the last epoch."""
    cells = _comparison("results/table1-published.json", "last")
    rows = [
        [f"{_TITLES[model]}, {whose}", *(f"{cells[model, dataset][which]:.2f}" for dataset in _SMALL)]
        for model in _TITLES
        for whose, which in (("ours", "mean"), ("paper", "paper_mean"))
    ]
    return _table(["", *_SMALL], rows)


def equal() -> Lines:
    """All models after an equal search; the best of a dataset in bold."""
    cells, [table, *_] = _comparison("results/table1-equal.json", "best"), _read("results/table1-equal.json")
    models = list(dict.fromkeys(model for model, _ in cells))
    best = {name: max(round(cells[model, name]["mean"], 1) for model in models) for name in _SMALL}
    rows = []
    for model in models:
        row = []
        for dataset in _SMALL:
            cell = cells[model, dataset]
            text = f"{cell['mean']:.1f}"
            text = f"**{text}**" if round(cell["mean"], 1) == best[dataset] else text
            row.append(f"{text} p" if cell["settings"] == "published" else text)
        rows.append([model, *row, f"{table['ranks'][model]:.1f}"])
    return _table(["", *_SMALL, "rank"], rows, "lr")


def equal_against() -> Lines:
    """GloGNN2 against each other model of the equal search: paired over the splits of each dataset."""
    runs = {(each["dataset"], each["model"]): each["runs"] for each in _read("results/table1-equal-records.jsonl")}
    [table, *_] = _read("results/table1-equal.json")
    models = sorted(table["ranks"], key=table["ranks"].get)
    scores = {key: {(run["seed"], run["split"]): {"scores": run} for run in found} for key, found in runs.items()}
    wanted = {key: len(found) for key, found in runs.items()}
    found = compare(scores, _SMALL, models, judged="best", wanted=wanted, reference="glognn2").cells
    rows = []
    for model in models:
        ours = [(found[name, "glognn2"].mean or 0.0) - (found[name, model].mean or 0.0) for name in _SMALL]
        surely = [
            gain > 0
            for name, gain in zip(_SMALL, ours, strict=True)
            if (found[name, model].p_value or 1.0) < 0.05 and model != "glognn2"
        ]
        told = [
            f"{statistics.fmean(ours):+.1f}",
            sum(gain > 0 for gain in ours),
            sum(surely),
            len(surely) - sum(surely),
        ]
        rows.append(
            [model, f"{table['ranks'][model]:.2f}", *(["", "", "", ""] if model == "glognn2" else map(str, told))]
        )
    return _table(
        ["", "average rank", "GloGNN2 has more, points", "on so many of 9", "surely", "surely less"], rows, "lr"
    )


def nccl() -> Lines:
    """One rank on a GPU beside one process, in turn."""
    record = _read("benchmarks/results/distributed-nccl.json")
    rows = []
    for ranks, title in ((0, "one process, no ranks"), (1, "one rank of nccl")):
        runs = [run for run in record["runs"] if run["ranks"] == ranks]
        rows.append([title, ", ".join(f"{1000 * run['seconds_per_epoch']:.1f}" for run in runs)])
    rows.append(["least over least", f"{record['ratio']:.2f}"])
    return _table(["", "milliseconds of an epoch, of each round"], rows, "lr")


def normalisation() -> Lines:
    """Best validation score where the normalisation of the adjacency was held in a search."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for search in _read("results/search.jsonl"):
        if search["label"] == "glognn++-released":
            held = search["held"]
            found[search["dataset"], held.get("normalization", "row"), held.get("fusion", "any")] = search

    def best(dataset: str, normalization: str, fusion: str = "hidden") -> str:
        search = found.get((dataset, normalization, fusion)) or found.get((dataset, normalization, "any"))
        fits = search is not None and (fusion == "hidden" or search["held"].get("fusion") == fusion)
        return f"{max(each for each in search['validation'] if each):.1f}" if search and fits else ""

    names = ("texas", "chameleon", "squirrel")
    trials = len(found["texas", "row", "output"]["validation"])
    rows = [
        ["row", *(best(name, "row") for name in names)],
        ["symmetric (the paper's)", *(best(name, "symmetric") for name in names)],
        ["none", *(best(name, "none") for name in names)],
        [f"row, output fusion ({trials} trials)", *(best(name, "row", "output") for name in names)],
    ]
    return _table(["", *names], rows)


def grouping() -> Lines:
    """Contrast between coefficients within and between classes."""
    found = _read("results/grouping.json")
    rows = [
        [title, *(f"{statistics.fmean(run['contrast'] for run in found[model][name]):.2f}" for name in _SMALL)]
        for model, title in reversed(_TITLES.items())
    ]
    return _table(["", *_SMALL], rows)


def new_nodes() -> Lines:
    """Accuracy on nodes that came after training, beside that of nodes that were there."""
    rows = []
    for result in _read("benchmarks/results/new-nodes.json")["results"]:
        found = result["summary"]
        present, new = _spread(found["present"], found["present_std"]), _spread(found["new"], found["new_std"])
        rows.append(
            [result["dataset"], result["model"], present, new, f"{found['difference']:+.2f} ± {found['std']:.2f}"]
        )
    return _table(["dataset", "model", "present in training", "new", "difference"], rows)


def serve_load() -> Lines:
    """What a service answers that eight clients ask at once."""
    found = _read("benchmarks/results/serve-load.json")
    requests = sum(kind["requests"] for kind in found["kinds"].values())
    every = {"all of them": {"requests": requests, "p50_ms": found["p50_ms"], "p99_ms": found["p99_ms"]}}
    rows = [
        [name, f"{kind['requests'] / found['seconds']:.0f}", f"{kind['p50_ms']:.1f}", f"{kind['p99_ms']:.1f}"]
        for name, kind in (found["kinds"] | every).items()
    ]
    return _table(["asked for", "a second", "half are answered within, ms", "99 % within, ms"], rows)


def efficiency_together() -> Lines:
    """Milliseconds of an epoch on a CPU and on a GPU, and the best validation score of the CPU's run."""
    cpu, gpu = _read("results/efficiency-cpu.json"), _read("results/efficiency-h200.json")
    head = [""]
    for dataset in cpu:
        head += [f"{dataset}: CPU, ms", "GPU, ms", "best validation, %"]
    rows = []
    for model in _PEERS:
        row = [model]
        for dataset in cpu:
            ours = cpu[dataset][model]
            row += [_short(ours["milliseconds_per_epoch"]), _short(gpu[dataset][model]["milliseconds_per_epoch"])]
            row.append(f"{ours['validation']:.1f}")
        rows.append(row)
    return _table(head, rows, "lr")


def large_graphs() -> Lines:
    """Epochs of GloGNN on twins of the large datasets."""
    found: dict[str, dict[str, Any]] = {}
    for row in _read("benchmarks/results/large-graphs-h200.json")["rows"]:
        found.setdefault(row["dataset"].removeprefix("twin:"), {})[row["model"]] = row
    rows = []
    for name, by_model in found.items():
        ours, peak = by_model["glognn"], max(row["peak_memory_mib"]["gpu"] for row in by_model.values())
        times = [f"{by_model[model]['epoch_ms']:.1f}" for model in _TITLES]
        rows.append([name, f"{ours['nodes']:,}", f"{ours['nnz']:,}", *times, f"{peak / 1024:.1f}"])
    return _table(["twin of", "nodes", "nonzeros", "GloGNN, ms", "GloGNN++, ms", "peak, GiB"], rows)


def twins() -> Lines:
    """Epochs of other methods on twins; the shortest of a graph in bold."""
    rows = [row for which in ("", "-pokec") for row in _read(f"benchmarks/results/twins{which}-h200.json")["rows"]]
    found = {(row["method"], row["dataset"].removeprefix("twin:")): row for row in rows}
    names = ("penn94", "arxiv-year", "twitch-gamers", "genius", "pokec")
    shown = {"gcnii": "gcnii (8 layers)", "linkx": "linkx (PyTorch Geometric)"}
    stopped = {("wrgat", "arxiv-year"): "graph not ready in 500 s"}

    def cell(model: str, name: str) -> str:
        row = found.get((model, name))
        if row is None:
            return stopped.get((model, name), "not run")
        if row["problem"]:
            [needed] = re.findall(r"about ([\d.]+) GiB", row["problem"])
            return f"refused: {float(needed):.0f} GiB"
        text = _short(row["epoch_ms"]["median"])
        return f"**{text}**" if text == best[name] else text

    times = {name: [row["epoch_ms"] for (_, each), row in found.items() if each == name] for name in names}
    best = {name: _short(min(time["median"] for time in times[name] if time)) for name in names}
    head = ["", "twin of penn94", *names[1:]]
    return _table(head, ([shown.get(model, model), *(cell(model, name) for name in names)] for model in _PEERS), "lr")


def defaults() -> Lines:
    """GloGNN2 at its defaults."""
    found: dict[str, list[dict[str, Any]]] = {}
    for record in _read("results/defaults-glognn2.jsonl"):
        found.setdefault(record["dataset"], []).append(record["scores"]["selected"])
    rows = []
    for name, scores in sorted(found.items()):
        test = [100 * score["test"] for score in scores]
        val = statistics.fmean(100 * score["val"] for score in scores)
        rows.append(
            [name, "glognn2", _spread(statistics.fmean(test), statistics.stdev(test)), f"{val:.2f}", str(len(test))]
        )
    return _table(["graph", "model", "test, %", "validation, %", "splits"], rows)


def ranks(record: str = "distributed") -> Lines:
    """Epochs on several ranks of one machine."""
    rows = []
    for run in _read(f"benchmarks/results/{record}.json")["runs"]:
        exchange = run["exchange_seconds_per_epoch"]
        rows.append(
            [
                str(run["ranks"]) if run["ranks"] else "one process, no ranks",
                f"{run['seconds_per_epoch']:.2f}",
                f"{exchange:.2f}" if exchange >= 0.005 else "0",
                ", ".join(f"{peak:,.0f}" for peak in run["peak_memory_mib"]),
                f"{max(run['sent_mib_per_epoch']):.1f}" if max(run["sent_mib_per_epoch"]) >= 0.05 else "0",
            ]
        )
    return _table(
        ["ranks", "seconds per epoch", "of them in exchange", "peak MiB of each rank", "MiB sent per epoch"], rows
    )


def predicted_ranks() -> Lines:
    """Predicted seconds of an epoch on up to 256 ranks."""
    found = _read("benchmarks/results/distributed-simulated.json")["predictions"]
    rates = {"25 Gb Ethernet": "2.5 GB/s, 30 µs", "200 Gb InfiniBand": "20 GB/s, 3 µs"}
    columns = {1: 0, 4: 2, 16: 4, 64: 6, 256: 8}
    rows = []
    for number, (graph, networks) in enumerate(found.items()):
        for network, predictions in networks.items():
            rate = f" ({rates[network]})" if number == 0 else ""
            seconds = (predictions[column]["seconds"] for column in columns.values())
            rows.append([f"{graph}, {network}{rate}", *(_three(value) for value in seconds)])
    return _table(["graph, network", *map(str, columns)], rows)


def resident() -> Lines:
    """Predicted over measured memory of whole processes, the least and the most of all graphs."""
    runs = _read("benchmarks/results/resident.json")["runs"]
    widths = sorted({run["width"] for run in runs})

    def cell(model: str, width: int) -> str:
        ratios = [run["predicted"] / run["measured"] for run in runs if (run["model"], run["width"]) == (model, width)]
        return f"{min(ratios):.2f} to {max(ratios):.2f}"

    rows = [[MODELS[model].title, *(cell(model, width) for width in widths)] for model in {r["model"]: 0 for r in runs}]
    return _table(["", *(f"width {width:,}" for width in widths)], rows, "lr")


def _three(value: float) -> str:
    """Three digits that count, without an exponent."""
    if value >= 100:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:#.3g}"


def _bench(record: str) -> dict[tuple[str, str], Any]:
    return {(row["dataset"], row["method"]): row for row in _read(f"benchmarks/results/{record}.json")["rows"]}


def small_cpu() -> Lines:
    """Epochs on the nine small datasets on a CPU."""
    head = ["dataset", "model", "ms per epoch", "ms, of 10 splits", "vs released", "vs LINKX", "vs GCN"]
    head += ["10 splits vs released", "vs LINKX", "vs GCN", "of floor"]
    rows = []
    for (dataset, model), row in _bench("small-cpu").items():
        if model not in _TITLES:
            continue
        peers = ("released", "linkx", "gcn")
        ratios = [f"{_number(row[which][peer]['median'])}x" for which in ("ratios", "split_ratios") for peer in peers]
        times = [_number(row["epoch_ms"]["median"]), _number(row["split_epoch_ms"]["median"])]
        rows.append([dataset, model, *times, *ratios, f"{100 * row['floor']['share']:.0f} %"])
    return _table(head, rows)


def large_cpu() -> Lines:
    """Epochs on large graphs on one thread of a CPU, beside the fastest other models."""
    found = _bench("large-cpu")
    peers = {"linkx": "LINKX", "gcn": "GCN", "gprgnn": "GPR-GNN"}
    rows = []
    for dataset in dict.fromkeys(dataset for dataset, _ in found):
        ours = found[dataset, "glognn"]
        others = [found[dataset, peer]["epoch_ms"]["median"] for peer in peers]
        spread = f"{_number(ours['epoch_ms']['lower'])} to {_number(ours['epoch_ms']['upper'])}"
        times = [f"{_number(ours['epoch_ms']['median'])} ({spread})", *map(_number, others)]
        ratio = min(others) / ours["epoch_ms"]["median"]
        rows.append([dataset, *times, f"{ratio:.1f}x", f"{100 * ours['floor']['share']:.0f} %"])
    head = ["graph", "GloGNN (quartiles)", *peers.values(), "over the fastest", "of floor"]
    return _table(head, rows, "lr")


def two_threads() -> Lines:
    """Epochs of one run on one thread and on two."""
    one, two = _bench("one-thread-cpu"), _bench("two-threads-cpu")
    rows = []
    for (dataset, model), row in one.items():
        times = [each["epoch_ms"]["median"] for each in (row, two[dataset, model])]
        rows.append([dataset, model, *map(_number, times), f"{times[0] / times[1]:.2f}x"])
    return _table(["graph", "model", "one thread, ms", "two threads, ms", "ratio"], rows, "llr")


def ten_splits() -> Lines:
    """Ten splits at once on a GPU, beside single runs of the same call."""
    rows = []
    for row in _read("benchmarks/results/ten-splits-h200.json")["rows"]:
        launched, replayed, together = (row[name]["median"] for name in ("launched", "replayed", "together"))
        ratios = [f"{launched / together:.0f}x", f"{replayed / together:.1f}x"]
        rows.append([row["dataset"], row["model"], *map(_number, (launched, replayed, together)), *ratios])
    head = ["dataset", "model", "launched", "replayed", "of 10 splits", "over launched", "over replayed"]
    return _table(head, rows)


def single_gpu() -> Lines:
    """Single runs whose kernels are launched one by one, and replayed."""
    before, after = _bench("single-h200-uncaptured"), _bench("single-h200")
    names = ("texas", "squirrel", "pubmed")
    head = [""]
    for name in names:
        head += [f"{name}: launched", "replayed", "ratio"]
    rows = []
    for model in ("glognn", "glognn++", "mixhop", "gcnii", "h2gcn", "wrgat", "gprgnn", "ggcn", "acmgcn", "gat"):
        row = [model]
        for name in names:
            launched, replayed = (found[name, model]["epoch_ms"]["median"] for found in (before, after))
            row += [_number(launched), _number(replayed), f"{launched / replayed:.1f}x"]
        rows.append(row)
    return _table(head, rows, "lr")


_LARGE = ("penn94", "arxiv-year", "genius", "twitch-gamers", "pokec", "snap-patents")
_KERNELS = "benchmarks/results/kernels-h200.json"
_PARTS = {
    "sparse products": ("sum_rows", "csrmm", "cusparse", "halve", "largest"),
    "dense maps": ("gemm", "cutlass", "cublas", "splitKreduce"),
    "bias, relu, dropout": ("activate",),
    "the last map with its activation": ("head",),
    "c x c maps and Gram matrices": ("cross", "mixed", "getrf", "trsm"),
    "loss and scores": ("measure",),
    "Adam": ("FusedOptimizer", "adam"),
}
"""Words in the names of kernels, by part of an epoch; the first that fits."""


def _kernels() -> dict[tuple[str, str], Any]:
    return {(row["dataset"], row["method"]): row for row in _read(_KERNELS)["rows"]}


def kernel_times() -> Lines:
    """Milliseconds of an epoch with kernels of our own, beside the others in the same run."""
    rows, others = _kernels(), ("released", "linkx", "gcn")
    cells, ratios = [], []
    for graph in _LARGE:
        own = rows[graph, "glognn"]["epoch_ms"]
        found = [rows[graph, each]["epoch_ms"]["median"] for each in others]
        ratios.append([each / own["median"] for each in found])
        before = rows.get((graph, "before"))
        cells.append(
            [graph, *map(_number, found), _number(before["epoch_ms"]["median"]) if before else ""]
            + [f"{_number(own['median'])} ({_number(own['lower'])} to {_number(own['upper'])})"]
            + [f"{each:.1f}x" for each in ratios[-1]]
        )
    means = [statistics.geometric_mean(each) for each in zip(*ratios, strict=True)]
    cells.append(["geometric mean", "", "", "", "", "", *(f"{each:.1f}x" for each in means)])
    head = ["graph", "released", "PyG LINKX", "PyG GCN", "torch's kernels", "ours (quartiles)"]
    return _table([*head, "over released", "over LINKX", "over GCN"], cells, "lr")


def kernel_memory() -> Lines:
    """MiB at the peak above the graph, and what the preflight says of both."""
    rows, cells = _kernels(), []
    for graph in _LARGE:
        own = rows[graph, "glognn"]
        peaks = [rows[graph, each]["peak_mib"] for each in ("released", "linkx", "gcn")]
        line = [graph, *(f"{each:,.0f}" for each in (*peaks, own["peak_mib"])), f"{own['peak_mib'] / peaks[0]:.2f}"]
        if "whole_mib" in own:
            whole = own["whole_mib"]
            line += [f"{whole:,.0f}", f"{own['predicted_mib']:,.0f}", f"{own['predicted_mib'] / whole:.2f}"]
        cells.append([*line, *([""] * (9 - len(line)))])
    head = ["graph", "released", "PyG LINKX", "PyG GCN", "ours", "of released", "with the graph", "predicted", "ratio"]
    return _table(head, cells, "lr")


def _part(operation: str) -> str:
    return next((part for part, words in _PARTS.items() if any(word in operation for word in words)), "all else")


def kernel_profile() -> Lines:
    """Milliseconds of kernels in an epoch, by part, with torch's kernels where they were timed and with our own."""
    rows = _kernels()
    shown = [(graph, method) for graph in _LARGE for method in ("before", "glognn") if (graph, method) in rows]
    sums = {key: dict.fromkeys([*_PARTS, "all else"], 0.0) for key in shown}
    for key, parts in sums.items():
        for each in rows[key]["profile"]:
            parts[_part(each["operation"])] += each["ms"]
    cells = [
        [part, *(f"{parts[part]:.2f}" if parts[part] else "" for parts in sums.values())]
        for part in [*_PARTS, "all else"]
    ]
    head = [f"{graph}, torch's" if method == "before" else graph for graph, method in shown]
    return _table(["part", *head], cells, "lr")


def precision() -> Lines:
    """Accuracy with kernels at a precision, and the difference from torch's kernels in float32 on the same splits."""
    rows, found = _read("benchmarks/results/precision-h200.json")["rows"], []
    scores = {(row["dataset"], row["precision"]): {run["split"]: run["best"] for run in row["runs"]} for row in rows}
    for (dataset, name), own in scores.items():
        off = scores.get((dataset, "off")) or scores[dataset, "highest"]
        if own is off:
            continue
        apart = [100 * (score - off[split]) for split, score in own.items()]
        means = [100 * statistics.fmean(each) for each in ([off[split] for split in own], own.values())]
        error = statistics.stdev(apart) / len(apart) ** 0.5
        difference = f"{statistics.fmean(apart):+.2f} ± {error:.2f}"
        found.append([dataset, name, *(f"{mean:.2f}" for mean in means), difference, str(len(own))])
    return _table(["dataset", "precision", "off", "on", "difference", "splits"], found, "llr")


def faithfulness() -> Lines:
    """Area under the probability of the predicted class while nodes are silenced."""
    methods = ["ours", "contribution, down to the inputs", "GNNExplainer", "integrated gradients", "random"]
    methods.append("lowest of ours")
    head = ["", "nodes", *methods, "gradients less ours", "seconds: ours, GNNExplainer, gradients"]
    rows = []
    for record in _read("results/explain.jsonl"):
        if record["benchmark"] == "faithfulness":
            seconds = [record["seconds"][method] for method in ("ours", "GNNExplainer", "integrated gradients")]
            gap = record["less_than_ours"]["integrated gradients"]
            rows.append(
                [
                    record["dataset"],
                    str(record["nodes"]),
                    *(f"{record['area'][method]:.3f}" for method in methods),
                    f"{gap['mean']:+.3f} ± {gap['error']:.3f}",
                    ", ".join(f"{value:.2g}" for value in seconds),
                ]
            )
    return _table(head, rows)


def label_errors() -> Lines:
    """How well replaced labels are found: means over seeds."""
    columns = {"audit": "audit", "loss of a model trained on all": "loss"}
    for name, method in (("self-confidence", "self_confidence"), ("normalised margin", "normalized_margin")):
        columns |= {f"cleanlab, {name}": f"cleanlab, {method}"}
        columns |= {f"the same on audit's probabilities, {name}": f"cleanlab, {method}, averaged"}
    found: dict[str, list[dict[str, float]]] = {}
    for record in _read("results/explain.jsonl"):
        if record["benchmark"] == "labels":
            found.setdefault(record["dataset"], []).append(record["average_precision"])
    rows = [
        [name, str(len(each)), *(f"{sum(one[method] for one in each) / len(each):.3f}" for method in columns.values())]
        for name, each in found.items()
    ]
    return _table(["", "seeds", *columns], rows)


def best_searched() -> dict[str, tuple[float, str]]:
    """Of each dataset the best of all searched models."""
    found: dict[str, tuple[float, str]] = {}
    for (model, dataset), cell in _comparison("results/table1-equal.json", "best").items():
        found[dataset] = max(found.get(dataset, (0.0, "")), (cell["mean"], model))
    return found


def glognn2_plain() -> dict[str, float]:
    """The mean test score of GloGNN2's defaults on each graph."""
    found: dict[str, list[float]] = {}
    for run in _read("results/defaults-glognn2.jsonl"):
        found.setdefault(run["dataset"], []).append(100 * run["scores"]["selected"]["test"])
    return {name: statistics.fmean(each) for name, each in found.items()}


def auto_records() -> list[dict[str, Any]]:
    """What ``auto`` came to, by graph: on a GPU, and on two cores."""
    return [{each["dataset"]: each for each in _read(f"results/auto-{which}.jsonl")} for which in ("gpu", "cpu")]


def auto() -> Lines:
    """``auto`` on a GPU and on two cores, beside GloGNN2's defaults and the best of all searched models."""
    searched, plain, found = best_searched(), glognn2_plain(), auto_records()
    rows = []
    for name, record in found[0].items():
        both = [each.get(name) for each in found]
        tests = [_spread(100 * each["test"]["mean"], 100 * each["test"]["std"]) if each else "" for each in both]
        mean, model = searched.get(name, (0.0, ""))
        rows.append(
            [
                name,
                *tests,
                f"{plain[name]:.2f}" if name in plain else "",
                f"{mean:.2f} {model}" if model else "",
                f"{_PUBLISHED[name]:.2f}" if name in _PUBLISHED else "",
                f"{100 * record['baselines']['logistic regression']['test']['mean']:.2f}",
                ", ".join(f"{each['seconds']:.0f}" for each in both if each),
                ", ".join(str(round(_idle(each))) for each in both if each),
            ]
        )
    head = ["graph", "auto, GPU, 60 s", "auto, two cores, 300 s", "GloGNN2's defaults", "best of 17, searched"]
    head += ["published", "logistic regression", "seconds", "% idle"]
    return _table(head, rows, "lr")


def unseen() -> Lines:
    """``auto`` and models at their defaults on other graphs; the best of each in bold."""
    tests: dict[str, dict[str, list[float]]] = {"auto": {}, "logistic regression": {}}
    for record in _read("results/unseen-auto.jsonl"):
        tests["auto"][record["dataset"]] = [record["test"]["mean"], record["test"]["std"]]
        base = record["baselines"]["logistic regression"]["test"]
        tests["logistic regression"][record["dataset"]] = [base["mean"], base["std"]]
    runs: dict[tuple[str, str], list[float]] = {}
    for record in _read("results/unseen-defaults.jsonl"):
        runs.setdefault((record["settings"], record["dataset"]), []).append(record["scores"]["selected"]["test"])
    for (model, graph), scores in runs.items():
        tests.setdefault(model, {})[graph] = [statistics.fmean(scores), statistics.stdev(scores)]
    graphs = list(tests["auto"])
    best = {graph: max(found[graph][0] for found in tests.values() if graph in found) for graph in graphs}
    rows = []
    for model, found in sorted(tests.items(), key=lambda pair: -sum(each[0] for each in pair[1].values())):
        cells = {graph: _spread(100 * found[graph][0], 100 * found[graph][1]) for graph in graphs if graph in found}
        marked = {graph: f"**{cell}**" if found[graph][0] == best[graph] else cell for graph, cell in cells.items()}
        rows.append([model, *(marked.get(graph, "") for graph in graphs)])
    return _table(["", *graphs], rows, "lr")


def _idle(record: Any) -> float:
    """Per cent of the time of fitting that went to members without a weight."""
    done = [each for each in record["members"] if each["seconds_to_fit"] is not None]
    idle = sum(each["seconds_to_fit"] for each in done if not each["weight"])
    return float(100 * idle / sum(each["seconds_to_fit"] for each in done))


def growth() -> Lines:
    """An epoch on random graphs of growing size beside two bare sparse products, on a GPU."""
    rows = [
        [
            f"{row['nodes']:,}",
            f"{row['entries']:,}",
            _number(row["epoch_ms"]["median"]),
            _number(row["two_products_ms"]),
            f"{row['ratio']:.1f}",
            f"{row['whole_mib']:,.0f}",
            f"{row['predicted_mib']:,.0f}",
        ]
        for row in _read("benchmarks/results/growth-h200.json")["rows"]
    ]
    head = ["nodes", "entries", "epoch, ms", "two products, ms", "ratio", "peak, MiB", "predicted, MiB"]
    return _table(head, rows, "r")


def ablation_glognn2() -> Lines:
    """GloGNN2 with one part left out, or put in, at a time: difference of the mean test score.

    Its defaults, which training labels decide, are from their own record, on the same splits.
    """
    cells: dict[str, dict[str, list[float]]] = {"the default": {}}
    splits: dict[str, set[int]] = {}
    for record in _read("results/ablation-glognn2.jsonl"):
        by_graph = cells.setdefault(record["settings"], {})
        by_graph.setdefault(record["dataset"], []).append(100 * record["scores"]["selected"]["test"])
        splits.setdefault(record["dataset"], set()).add(record["split"])
    for record in _read("results/defaults-glognn2.jsonl"):
        if record["split"] in splits.get(record["dataset"], ()):
            by_graph = cells["the default"]
            by_graph.setdefault(record["dataset"], []).append(100 * record["scores"]["selected"]["test"])
    whole = {name: statistics.fmean(found) for name, found in cells.pop("all three inputs").items()}
    rows = []
    for name in sorted(whole):
        parts = [f"{statistics.fmean(cells[part][name]) - whole[name]:+.1f}" for part in cells]
        rows.append([name, f"{whole[name]:.1f}", *parts])
    means = [
        statistics.fmean(statistics.fmean(found[name]) - whole[name] for name in whole) for found in cells.values()
    ]
    rows.append(["mean", f"{statistics.fmean(whole.values()):.1f}", *(f"{mean:+.1f}" for mean in means)])
    return _table(["graph", "all three inputs", *cells], rows, "lr")


def stranger() -> Lines:
    """Seconds of each command from a clone to predictions."""
    record = _read("benchmarks/results/stranger.json")
    head = [*record["seconds"], f"all {record['commands']}"]
    return _table(head, [[str(seconds) for seconds in (*record["seconds"].values(), record["total"])]], "r")


def install() -> Lines:
    """Seconds of an installation without a compiler and of one with the core, and of a training with each."""
    rows = []
    for name, seconds in _read("benchmarks/results/install.json")["seconds"].items():
        rows.append([name, *(f"{seconds[part]:.1f}" for part in ("install", "train", "epochs"))])
    return _table(["", "pip install", "glognn train", "of that in epochs"], rows, "lr")


TABLES: dict[str, Callable[[], Lines]] = {
    "stranger": stranger,
    "install": install,
    "auto": auto,
    "unseen": unseen,
    "growth": growth,
    "ablation-glognn2": ablation_glognn2,
    "first-run": first_run,
    "published": published,
    "equal": equal,
    "equal-against": equal_against,
    "nccl": nccl,
    "normalisation": normalisation,
    "grouping": grouping,
    "new-nodes": new_nodes,
    "serve-load": serve_load,
    "efficiency": efficiency_together,
    "large-graphs": large_graphs,
    "twins": twins,
    "defaults": defaults,
    "ranks": ranks,
    "ranks-large": lambda: ranks("distributed-large"),
    "predicted-ranks": predicted_ranks,
    "resident": resident,
    "small-cpu": small_cpu,
    "large-cpu": large_cpu,
    "two-threads": two_threads,
    "ten-splits": ten_splits,
    "single-gpu": single_gpu,
    "kernel-times": kernel_times,
    "kernel-memory": kernel_memory,
    "kernel-profile": kernel_profile,
    "precision": precision,
    "faithfulness": faithfulness,
    "label-errors": label_errors,
}


def documents() -> list[Path]:
    """What may hold tables of numbers."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def renewed(text: str) -> str:
    """A document with its tables as their records have them."""

    def made(found: re.Match[str]) -> str:
        indent, name = found.groups()
        if name not in TABLES:
            raise SystemExit(f"There is no table '{name}'. Known: {', '.join(TABLES)}.")
        lines = [f"<!-- table: {name} -->", "", *TABLES[name](), "", "<!-- end of table -->"]
        return "\n".join(f"{indent}{line}" if line else "" for line in lines)

    return _MARKED.sub(made, text)


def unexplained(text: str) -> list[str]:
    """Headings of tables with decimal numbers that are made of no record and do not say why."""
    plain = re.sub(r"^ *```.*?^ *```$", "", _MARKED.sub("", text), flags=re.DOTALL | re.MULTILINE)
    return [
        next(line.strip() for line in found[0].splitlines() if line.lstrip().startswith("|"))
        for found in _TABLE.finditer(plain)
        if _DECIMAL.search(found[0]) and "<!-- no record: " not in found[0]
    ]


def kept_tables() -> dict[Path, str]:
    """What results/ must hold as Markdown, by file, from the records beside it."""
    found = {}
    for path in sorted((ROOT / "results").glob("*.md")):
        record = _read(f"results/{path.stem}.json")
        if path.stem.startswith("efficiency"):
            found[path] = table_markdown(efficiency_table(record))
        else:
            _, heading, origins = path.read_text(encoding="utf-8").partition("Settings are from:")
            found[path] = "".join([*map(_shown, map(_compared, record)), heading, origins])
    return found


def _compared(table: dict[str, Any]) -> Comparison:
    cells = {(cell["dataset"], cell["model"]): Cell(**cell) for cell in table["cells"]}
    names, models = (list(dict.fromkeys(key[place] for key in cells)) for place in (0, 1))
    return Comparison(
        table["judged"], names, models, table["reference"], cells, table["ranks"], table["ranked_datasets"]
    )


def _shown(table: Comparison) -> str:
    title = f"Test score in %, {JUDGED[table.judged]}; in brackets the paper's mean and the difference to it."
    return f"{title}\n\n{table_markdown(comparison_table(table))}\n"


def wrong_means() -> Iterator[str]:
    """Cells of kept tables whose mean is not that of the runs in the records beside them."""
    for records in sorted((ROOT / "results").glob("*-records.jsonl")):
        name = records.name.removesuffix("-records.jsonl")
        runs = {(each["dataset"], each["model"]): each["runs"] for each in _read(f"results/{records.name}")}
        for table in _read(f"results/{name}.json"):
            for cell in table["cells"]:
                found = runs.get((cell["dataset"], cell["model"]))
                if cell["mean"] is None or found is None:
                    continue
                mean = statistics.fmean(100 * run[table["judged"]]["test"] for run in found)
                if abs(mean - cell["mean"]) > 1e-3 or len(found) != cell["runs"]:
                    where = f"{cell['model']} on {cell['dataset']}"
                    yield f"results/{name}.json says {cell['mean']:.4f} of {where}, its runs {mean:.4f}"


def problems() -> Iterator[str]:
    """What does not follow from its record, a line or a comparison for each."""
    for path in documents():
        text, name = path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()
        wanted = renewed(text)
        if text != wanted:
            lines = difflib.unified_diff(text.splitlines(), wanted.splitlines(), name, "as recorded", lineterm="", n=0)
            yield "\n".join(lines)
        for heading in unexplained(text):
            yield f"{name}: a table of numbers is made of no record, and does not say why: {heading}"
    for path, wanted in kept_tables().items():
        if path.read_text(encoding="utf-8") != wanted:
            yield f"{path.relative_to(ROOT)} does not follow from the record beside it"
    yield from wrong_means()


def main() -> int:
    if "--check" not in sys.argv:
        for path in documents():
            text = path.read_text(encoding="utf-8")
            if (wanted := renewed(text)) != text:
                path.write_text(wanted, encoding="utf-8")
                print(f"{path.relative_to(ROOT)} is written anew")
        for path, wanted in kept_tables().items():
            path.write_text(wanted, encoding="utf-8")
    found = list(problems())
    count = sum(len(_MARKED.findall(path.read_text(encoding="utf-8"))) for path in documents())
    print("\n".join([*found, f"{count} tables in documents, {len(kept_tables())} in results/; {len(found)} problems"]))
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
