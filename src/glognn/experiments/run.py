"""From a configuration to finished run folders."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import shutil
import statistics
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

import glognn
from glognn.data.sources import find_source, load_source
from glognn.data.splits import RANDOM_SPLITS, random_splits
from glognn.errors import MemoryExhaustedError, TrainingError
from glognn.experiments.batches import Batch, interrupted
from glognn.experiments.config import SCHEMA_VERSION, RunConfig, parse_splits
from glognn.experiments.environment import machine, peak_memory_mib, versions
from glognn.experiments.folder import Report, read_report, save_model
from glognn.experiments.layout import CHECKPOINT, CONFIG, CURVE, DONE, MODEL, REPORT
from glognn.experiments.plan import Job
from glognn.graph.graph import Graph
from glognn.graph.homophily import edge_homophily
from glognn.models.base import NodeModel
from glognn.storage import write_json, write_text
from glognn.training.callbacks import Callback, describe
from glognn.training.checkpoint import Checkpoint
from glognn.training.devices import DTYPES, resolve_device
from glognn.training.loop import train
from glognn.training.preflight import check_memory
from glognn.training.threshold import check_threshold, choose_threshold
from glognn.training.together import Outcome, Watcher, members_at_once, train_together
from glognn.training.track import Track, TrainingResult


@dataclass(frozen=True, eq=False)
class LoadedGraph:
    """A prepared graph together with what a record says about it."""

    graph: Graph
    facts: dict[str, Any]


def prepare_graph(data: Data, config: RunConfig) -> Graph:
    """A loaded dataset as a configuration wants it; a graph without splits gets random ones."""
    graph = Graph.from_data(data, config.graph, dtype=DTYPES[config.training.dtype])
    return graph if graph.num_splits else graph.with_masks(random_splits(graph.y))


def load_graph(config: RunConfig, mirror: Path | None = None) -> LoadedGraph:
    """Load and prepare the dataset of a configuration."""
    loaded = load_source(find_source(config.dataset), mirror=mirror)
    graph = prepare_graph(loaded.data, config)
    origin = loaded.splits_origin or f"{RANDOM_SPLITS} (the graph brings none)"
    homophily = edge_homophily(graph.adjacency.matrix, graph.y)
    facts = {
        "dataset": config.dataset,
        "kind": loaded.source.kind,
        "files": loaded.files,
        "fingerprint": graph.fingerprint(),
        "num_nodes": graph.num_nodes,
        "num_entries": graph.adjacency.matrix.nnz,
        "num_isolated": graph.num_isolated,
        "num_features": graph.num_features,
        "num_classes": graph.num_classes,
        "num_labelled": int((graph.y >= 0).sum()),
        "edge_homophily": None if math.isnan(homophily) else homophily,
        "edges": asdict(graph.edge_counts),
        "num_splits": graph.num_splits,
        "splits_origin": origin,
    }
    return LoadedGraph(graph, facts)


def build_model(config: RunConfig, graph: Graph) -> NodeModel[Any]:
    """A new model for a graph, its initial weights decided by the seed alone (not by the device).

    One that cannot be trained in the memory there is is refused.
    """
    check_memory(config.model, graph, config.training)
    with torch.random.fork_rng([]):
        torch.manual_seed(config.training.seed)
        return config.model.model_class().for_graph(graph, config.model)


def run_split(
    folder: Path, config: RunConfig, split: int, loaded: LoadedGraph, callbacks: Iterable[Callback] = ()
) -> Report:
    """Train on one split, or go on with it, or just read the report when it is done."""
    if (folder / DONE).exists():
        return read_report(folder)
    config = config.for_split(split)
    graph = loaded.graph
    graph.check_trainable(split)
    check_threshold(graph, config.training)
    device = resolve_device(config.training.device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    write_text(folder / CONFIG, config.to_toml(folder))
    model = build_model(config, graph)
    checkpoint = Checkpoint(
        folder / CHECKPOINT,
        interval=config.training.checkpoint_interval,
        identity=_identity(config, loaded),
    )
    result = train(model, graph, split=split, config=config.training, callbacks=callbacks, checkpoint=checkpoint)
    report = _split_report(config, split, loaded, model, result, device)
    _write_run(folder, report, model, result)
    _close(folder)
    return report


def _write_run(folder: Path, report: Report, model: NodeModel[Any], result: TrainingResult) -> None:
    save_model(folder / MODEL, model)
    write_text(folder / CURVE, _curve_csv(result.curve))
    write_json(folder / REPORT, report)


def _close(folder: Path) -> None:
    write_text(folder / DONE, "")
    shutil.rmtree((folder / CHECKPOINT).parent, ignore_errors=True)


class _Recorder(Watcher):
    """Writes the folder of each member of a batch as it ends, and tells callbacks of the batch as of one run."""

    def __init__(
        self,
        batch: Batch,
        models: list[NodeModel[Any]],
        loaded: LoadedGraph,
        device: torch.device,
        callbacks: Iterable[Callback],
        on_run_end: Callable[[Report], None],
    ) -> None:
        self.batch, self.models, self.loaded, self.device = batch, models, loaded, device
        self.callbacks = list(callbacks)
        self.on_run_end = on_run_end
        self.errors: dict[Path, str] = {}

    def on_begin(self, start_epoch: int, finished: Sequence[int]) -> None:
        training = self.batch.jobs[0].config.training
        info = describe(self.models[0], training, self.batch.jobs[0].split, start_epoch, self.device)
        for callback in self.callbacks:
            callback.on_train_begin(info | {"split": f"{len(self.batch.jobs)} splits together"})
        self.on_saved(finished)

    def on_epoch_end(self, epoch: int, alive: Sequence[int], tracks: Sequence[Track]) -> Sequence[int]:
        if self.callbacks and tracks:
            rows = [track.curve[-1] for track in tracks]
            means = {name: statistics.fmean(row[name] for row in rows) for name in rows[0]}
            for callback in self.callbacks:
                callback.on_epoch_end(means | {"seconds": sum(row["seconds"] for row in rows)})
        return ()

    def on_member_end(self, member: int, outcome: Outcome) -> None:
        job, model = self.batch.jobs[member], self.models[member]
        if isinstance(outcome, TrainingError):
            self.errors[job.folder] = _failed(job, outcome)
            return
        write_text(job.folder / CONFIG, job.config.to_toml(job.folder))
        report = _split_report(
            job.config, job.split, self.loaded, model, outcome, self.device, together=len(self.batch.jobs)
        )
        _write_run(job.folder, report, model, outcome)

    def on_saved(self, members: Sequence[int]) -> None:
        for member in members:
            folder = self.batch.jobs[member].folder
            if (folder / REPORT).exists() and not (folder / DONE).exists():
                _close(folder)
                self.on_run_end(read_report(folder))


def run_batch(
    batch: Batch,
    loaded: LoadedGraph,
    callbacks: Iterable[Callback] = (),
    on_run_end: Callable[[Report], None] = lambda report: None,
) -> dict[Path, str]:
    """Train the runs of a batch together, or go on with it; errors by the folder of the run they ended.

    A graph too large for several models at once is trained on one by one.
    """
    config, graph = batch.jobs[0].config, loaded.graph
    check_threshold(graph, config.training)
    device = resolve_device(config.training.device)
    begun = batch.checkpoint.exists()
    most = len(batch.jobs) if begun else members_at_once(config.model, graph, config.training)
    if most == 1 and not begun:
        return _run_alone(batch, loaded, callbacks, on_run_end)
    if most < len(batch.jobs):
        parts = [Batch(batch.group, batch.jobs[start : start + most]) for start in range(0, len(batch.jobs), most)]
        found = [run_batch(part, loaded, callbacks, on_run_end) for part in parts]
        return {folder: error for errors in found for folder, error in errors.items()}
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    models = initial_models([job.config for job in batch.jobs], graph)
    batch.begin()
    identity = hashlib.sha256("".join(_identity(job.config, loaded) for job in batch.jobs).encode()).hexdigest()
    recorder = _Recorder(batch, models, loaded, device, callbacks, on_run_end)
    train_together(
        models,
        graph,
        splits=[job.split for job in batch.jobs],
        configs=[job.config.training for job in batch.jobs],
        watcher=recorder,
        checkpoint=Checkpoint(batch.checkpoint, interval=config.training.checkpoint_interval, identity=identity),
    )
    batch.end()
    return recorder.errors


def _run_alone(
    batch: Batch, loaded: LoadedGraph, callbacks: Iterable[Callback], on_run_end: Callable[[Report], None]
) -> dict[Path, str]:
    """The runs of a batch one by one; as :func:`run_batch`."""
    errors = {}
    for job in batch.jobs:
        try:
            on_run_end(run_split(job.folder, job.config, job.split, loaded, callbacks))
        except MemoryExhaustedError:
            raise
        except TrainingError as error:
            errors[job.folder] = _failed(job, error)
    return errors


def _failed(job: Job, error: TrainingError) -> str:
    return f"Split {job.split}, seed {job.seed}: {error}"


def initial_models(configs: list[RunConfig], graph: Graph) -> list[NodeModel[Any]]:
    """A new model for each configuration; equal ones are drawn once and copied."""
    known: dict[tuple[object, ...], NodeModel[Any]] = {}
    models = []
    for config in configs:
        key = (config.model, config.training.seed)
        if key not in known:
            known[key] = build_model(config, graph)
        models.append(deepcopy(known[key]))
    return models


def run_splits(
    folder: Path,
    config: RunConfig,
    loaded: LoadedGraph,
    callbacks: Iterable[Callback] = (),
    on_split_end: Callable[[Report], None] | None = None,
) -> Report:
    """Train on every split of a configuration; one split makes a plain run folder, several a parent of them.

    Several splits train together. Callbacks are then told of the batch as of one run: the split is their number, scores
    and losses are means over the splits still training.
    """
    splits = parse_splits(config.splits, loaded.graph.num_splits)
    told = on_split_end or (lambda report: None)
    if len(splits) == 1:
        report = run_split(folder, config, splits[0], loaded, callbacks)
        told(report)
        return report
    write_text(folder / CONFIG, config.to_toml(folder))
    jobs = [
        Job(folder / f"split-{split}", config.for_split(split), split, config.model.name, "given") for split in splits
    ]
    for job in jobs:
        if job.done or (job.folder / CHECKPOINT).exists():  # the latter was begun alone
            told(run_split(job.folder, job.config, job.split, loaded, callbacks))
    batches = interrupted(folder, jobs)
    taken = {job.folder for batch in batches for job in batch.jobs}
    fresh = tuple(job for job in jobs if not job.done and job.folder not in taken)
    for batch in [*batches, *([Batch(folder, fresh)] if fresh else [])]:
        for error in run_batch(batch, loaded, callbacks, told).values():
            raise TrainingError(error)
    summary = summarize(config, [read_report(job.folder) for job in jobs])
    write_json(folder / REPORT, summary)
    write_text(folder / DONE, "")
    return summary


def summarize(config: RunConfig, reports: list[Report]) -> Report:
    """Mean and sample standard deviation over splits."""

    def spread(which: str, name: str) -> dict[str, float | None]:
        values = [report["scores"][which][name] for report in reports]
        deviation = statistics.stdev(values) if len(values) > 1 else None
        return {"mean": statistics.fmean(values), "std": deviation}

    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "splits",
        "config": config.tables(),
        "metric": config.training.metric,
        "selection": config.training.selection,
        "splits": [report["split"] for report in reports],
        "scores": {
            which: {name: spread(which, name) for name in ("train", "val", "test")}
            for which in ("selected", "best", "last")
        },
        "seconds": sum(report["seconds"] for report in reports),
        "epochs": sum(report["scores"]["last"]["epoch"] for report in reports),
        "num_parameters": reports[0]["num_parameters"],
        "data": reports[0]["data"],
        "versions": reports[-1]["versions"],
        "machine": reports[-1]["machine"],
    }


def _split_report(
    config: RunConfig,
    split: int,
    loaded: LoadedGraph,
    model: NodeModel[Any],
    result: TrainingResult,
    device: torch.device,
    together: int = 1,
) -> Report:
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "run",
        "config": config.tables(),
        "split": split,
        "metric": config.training.metric,
        "selection": config.training.selection,
        "scores": {name: asdict(getattr(result, name)) for name in ("selected", "best", "last")},
        "threshold": choose_threshold(model, loaded.graph, split, config.training),
        "stopped_by": result.stopped_by,
        "seconds": result.seconds,
        "trained_together": together,
        "engine": result.engine,
        "num_parameters": sum(parameter.numel() for parameter in model.parameters()),
        "peak_memory_mib": peak_memory_mib(device),
        "data": loaded.facts,
        "versions": versions(),
        "machine": machine(device, config.training.threads),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _curve_csv(curve: list[dict[str, float]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(curve[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(curve)
    return text.getvalue()


def _identity(config: RunConfig, loaded: LoadedGraph) -> str:
    tables = config.tables()
    tables["data"]["dataset"] = find_source(config.dataset).label  # a folder that is moved takes its graph along
    content = [tables, loaded.facts["fingerprint"], glognn.__version__]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
