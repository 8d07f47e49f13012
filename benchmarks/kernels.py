"""On a GPU: epochs on random graphs of the large datasets' sizes, ours beside the released method and PyG's networks.

The graphs are drawn on the GPU in a second each, with the nodes, edges, features, classes and spread of degrees that a
dataset's twin has, but neither its homophily nor features that tell of classes: they are for time and memory alone.
(``glognn bench twin:NAME`` makes the twin itself, on the CPU, which takes minutes for the largest.) Methods, settings
and rounds are those of ``glognn bench``. "before" is ours with the kernels of torch and cuSPARSE, in float32.

    python benchmarks/kernels.py OUT.json --datasets pokec,snap-patents --methods glognn,before,released,gcn --profile
    python benchmarks/kernels.py OUT.json --grow 1e5,1e6,1e7,3e7,1e8

``--grow`` times GloGNN of width 32 on random graphs of so many nodes, with 16 entries of the adjacency a node, beside
two bare sparse products of the same shape and precision, both replayed as CUDA graphs. "peak" is above the graph,
"whole" is with it, and "predicted" what the preflight says of the whole.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import time
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from glognn.bench.config import BenchConfig
from glognn.bench.measure import Spread, alternate
from glognn.bench.method import Method
from glognn.bench.ours import Ours
from glognn.bench.profile import profile_method
from glognn.bench.suite import MethodBuilder
from glognn.data.catalog import find_dataset
from glognn.data.twins import DEGREE_SPREAD
from glognn.experiments.config import RunConfig, resolve
from glognn.graph.adjacency import Adjacency, EdgeCounts
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.graph.sparse import SparseMatrix
from glognn.ops.kernels import SWITCH, _available
from glognn.ops.products import spmm
from glognn.training.devices import precision
from glognn.training.preflight import need_of, ran_out

DEVICE = torch.device("cuda")
REPLAYS = 20
FEW = 10**7
"""Nodes up to which growth is timed three times."""
DATASETS = "penn94,arxiv-year,genius,twitch-gamers,pokec,snap-patents"


def _csr(rows: Tensor, columns: Tensor, shape: tuple[int, int]) -> Tensor:
    """A matrix of ones where there are entries, repeated ones merged."""
    place = torch.unique(rows * shape[1] + columns)
    starts = torch.zeros(shape[0] + 1, dtype=torch.int64, device=DEVICE)
    starts[1:] = torch.bincount(place // shape[1], minlength=shape[0]).cumsum(0)
    values = torch.ones(place.numel(), device=DEVICE)
    parts = starts.int(), (place % shape[1]).int(), values
    return torch.sparse_csr_tensor(*parts, size=shape, check_invariants=False)


def _matrix(nodes: int, pairs: int, directed: bool) -> SparseMatrix:
    """So many pairs of nodes, both ends drawn in proportion to a popularity with the spread of the twins'."""
    popularity = torch.exp(DEGREE_SPREAD * torch.randn(nodes, device=DEVICE, dtype=torch.float64)).cumsum(0)
    drawn = torch.rand(2, int(1.03 * pairs), device=DEVICE, dtype=torch.float64) * popularity[-1]
    ends = torch.searchsorted(popularity, drawn).clamp(max=nodes - 1)
    place = torch.unique(ends.amin(0) * nodes + ends.amax(0))
    place = place[torch.randperm(place.numel(), device=DEVICE)[:pairs]]
    low, high = place // nodes, place % nodes
    if not directed:
        csr = _csr(torch.cat([low, high]), torch.cat([high, low]), (nodes, nodes))
        return SparseMatrix(csr, csr)
    turned = torch.rand(low.numel(), device=DEVICE) < 0.5
    sources, targets = torch.where(turned, high, low), torch.where(turned, low, high)
    return SparseMatrix(_csr(sources, targets, (nodes, nodes)), _csr(targets, sources, (nodes, nodes)))


def _features(nodes: int, width: int, ones: int) -> Tensor | SparseMatrix:
    if not ones:
        return torch.randn(nodes, width, device=DEVICE)
    rows = torch.arange(nodes, device=DEVICE).repeat_interleave(ones)
    part = width // ones
    columns = torch.randint(part, rows.shape, device=DEVICE) + part * torch.arange(ones, device=DEVICE).repeat(nodes)
    return SparseMatrix(_csr(rows, columns, (nodes, width)), _csr(columns, rows, (width, nodes)))


def draw_graph(name: str) -> Graph:
    """A random graph of a dataset's size, on the GPU."""
    entry = find_dataset(name)
    twin, expected, config = entry.twin, entry.expected, entry.graph
    assert twin is not None
    torch.manual_seed(0)
    nodes = expected.nodes
    matrix = _matrix(nodes, twin.directed_edges if config.directed else twin.undirected_edges, config.directed)
    share = torch.rand(nodes, 1, device=DEVICE)
    return Graph(
        x=_features(nodes, expected.features, twin.ones_per_row),
        adjacency=Adjacency(matrix),
        y=torch.randint(expected.classes, (nodes,), device=DEVICE),
        masks={"train": share < 0.5, "val": (share >= 0.5) & (share < 0.75), "test": share >= 0.75},
        num_classes=expected.classes,
        edge_counts=EdgeCounts(matrix.nnz, 0, 0, 0, 0),
        config=GraphConfig(directed=config.directed),
    )


def draw_plain(nodes: int) -> Graph:
    """Random edges, 16 entries of the adjacency a node, 8 features and 5 classes."""
    torch.manual_seed(0)
    ends = torch.randint(nodes, (2, 8 * nodes), device=DEVICE, dtype=torch.int32)
    keys = torch.unique(torch.minimum(*ends).long() * nodes + torch.maximum(*ends))
    del ends
    low, high = (keys // nodes).int(), (keys % nodes).int()
    del keys
    starts = torch.zeros(nodes + 1, dtype=torch.int32, device=DEVICE)
    starts[1:] = (torch.bincount(low, minlength=nodes) + torch.bincount(high, minlength=nodes)).cumsum(0)
    order = torch.sort(torch.cat([low, high]), stable=True).indices
    columns = torch.cat([high, low])[order]
    del low, high, order
    values = torch.ones(columns.numel(), device=DEVICE)
    csr = torch.sparse_csr_tensor(starts, columns, values, size=(nodes, nodes), check_invariants=False)
    part = torch.arange(nodes, device=DEVICE).unsqueeze(1) % 4
    return Graph(
        x=torch.randn(nodes, 8, device=DEVICE),
        adjacency=Adjacency(SparseMatrix(csr, csr)),
        y=torch.randint(5, (nodes,), device=DEVICE),
        masks={"train": part < 2, "val": part == 2, "test": part == 3},
        num_classes=5,
        edge_counts=EdgeCounts(columns.numel(), 0, 0, 0, 0),
        config=GraphConfig(),
    )


def _two_products(graph: Graph, width: int) -> float:
    """Median seconds of A times an n x width matrix and A transposed times the result, replayed as epochs are."""
    matrix = graph.adjacency.matrix
    found: list[float] = []
    dense = torch.randn(graph.num_nodes, width, device=DEVICE)
    for _ in range(2):
        spmm(matrix.transpose, spmm(matrix, dense))
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        spmm(matrix.transpose, spmm(matrix, dense))
    for _ in range(7):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(REPLAYS):
            captured.replay()
        torch.cuda.synchronize()
        found.append((time.perf_counter() - began) / REPLAYS)
    return statistics.median(found[2:])


def _grown(nodes: int, width: int = 32) -> dict[str, Any]:
    began = time.perf_counter()
    graph = draw_plain(nodes)
    settings = {"hidden_channels": width, "normalization": "none", "device": "cuda", "threads": 1}
    [config] = resolve(["glognn"], None, settings, "pairs", None)
    torch.cuda.empty_cache()
    row: dict[str, Any] = {"nodes": nodes, "entries": graph.adjacency.matrix.nnz, "method": "glognn", "width": width}
    row["predicted_mib"] = _predicted(config, graph)
    with precision(config.training.precision, DEVICE):
        row["two_products_ms"] = 1000 * _two_products(graph, width)
    gc.collect()
    torch.cuda.empty_cache()
    held = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    method = Ours(config, graph, 0, DEVICE)
    row["made_s"] = time.perf_counter() - began
    found = [1000 * method.seconds(5 if nodes <= FEW else 2) for _ in range(3 if nodes <= FEW else 1)]
    row["peak_mib"] = (torch.cuda.max_memory_allocated() - held) / 2**20
    row["whole_mib"] = torch.cuda.max_memory_allocated() / 2**20
    row["reserved_mib"] = torch.cuda.max_memory_reserved() / 2**20
    row["seconds"] = time.perf_counter() - began
    row["epoch_ms"] = asdict(Spread.of(found))
    row["ratio"] = row["epoch_ms"]["median"] / row["two_products_ms"]
    return row


def _predicted(config: RunConfig, graph: Graph) -> float:
    """MiB that the preflight predicts of what is timed, with the graph: the last weights, and so no best ones."""
    training = replace(config.training, selection="last")
    return need_of(config.model, graph, training).training / 2**20


class _Before(Ours):
    """Ours with the kernels of torch and cuSPARSE, in float32."""

    def seconds(self, epochs: int) -> float:
        given = os.environ.get(SWITCH)
        os.environ[SWITCH] = "0"
        _available.cache_clear()
        try:
            return super().seconds(epochs)
        finally:
            os.environ.pop(SWITCH)
            if given is not None:
                os.environ[SWITCH] = given
            _available.cache_clear()


def _built(method: str, builder: MethodBuilder, graph: Graph) -> Method:
    if method != "before":
        return builder.build(method)
    settings = builder.settings("glognn")
    return _Before(replace(settings, training=replace(settings.training, precision="highest")), graph, 0, DEVICE)


def _turn(method: Method) -> float:
    return method.seconds(5)


def _measured(name: str, methods: list[str], repeats: int, profiled: bool) -> list[dict[str, Any]]:
    graph = draw_graph(name)
    builder = MethodBuilder(f"twin:{name}", graph, {}, BenchConfig(device="cuda", threads=1), DEVICE)
    built: dict[str, Method] = {}
    rows = []
    for method in methods:
        gc.collect()
        held = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        built[method] = _built(method, builder, graph)
        built[method].seconds(5)
        rows.append({"dataset": name, "method": method, "entries": graph.adjacency.matrix.nnz})
        rows[-1]["peak_mib"] = (torch.cuda.max_memory_allocated() - held) / 2**20
        settings = builder.settings(method)
        if method == "glognn":
            rows[-1]["predicted_mib"] = _predicted(settings, graph)
            rows[-1]["whole_mib"] = torch.cuda.max_memory_allocated() / 2**20
        rows[-1]["precision"] = settings.training.precision if method == "glognn" else ""
    found = alternate({each: partial(_turn, built[each]) for each in methods}, repeats, lambda *_: None)
    for row, method in zip(rows, methods, strict=True):
        row["epoch_ms"] = asdict(Spread.of([1000 * seconds for seconds in found[method]]))
        if profiled and isinstance(built[method], Ours):
            row["profile"] = profile_method(built[method], DEVICE)
    return rows


def _write(out: Path, rows: list[dict[str, Any]]) -> None:
    record = {"kind": "kernels", "rows": rows, "machine": torch.cuda.get_device_name(), "torch": torch.__version__}
    out.write_text(json.dumps(record, indent=1), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--datasets", default=DATASETS)
    parser.add_argument("--methods", default="glognn,before,released,linkx,gcn")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--grow", help="numbers of nodes, instead of datasets")
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for size in given.grow.split(",") if given.grow else []:
        try:
            rows.append(_grown(int(float(size))))
        except Exception as error:
            if not ran_out(error):
                raise
            rows.append({"nodes": int(float(size)), "problem": " ".join(str(error).split())[:200]})
        print(rows[-1], flush=True)
        gc.collect()
        torch.cuda.empty_cache()
        _write(given.out, rows)
    for name in [] if given.grow else given.datasets.split(","):
        rows += _measured(name, given.methods.split(","), given.repeats, given.profile)
        gc.collect()
        torch.cuda.empty_cache()
        for row in rows[-len(given.methods.split(",")) :]:
            print(
                row["dataset"],
                row["method"],
                f"{row['epoch_ms']['median']:.2f} ms, {row['peak_mib']:.0f} MiB",
                flush=True,
            )
        _write(given.out, rows)


if __name__ == "__main__":
    main()
