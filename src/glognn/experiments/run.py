"""From a configuration to finished run folders."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import logging
import math
import shutil
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

import glognn
from glognn.data.sources import find_source, load_source
from glognn.data.splits import RANDOM_SPLITS, random_splits
from glognn.data.table_graph import kept_classes
from glognn.distributed.part import Part
from glognn.errors import InputError, MemoryExhaustedError, TooLargeError, TrainingError, about
from glognn.experiments.appraisal import Appraiser, cautions, over_splits
from glognn.experiments.batches import Batch, make_batches
from glognn.experiments.config import SCHEMA_VERSION, RunConfig, parse_splits, read_config
from glognn.experiments.environment import machine, peak_memory_mib, versions
from glognn.experiments.folder import save_model
from glognn.experiments.integrity import check_files, measure_tables, seal
from glognn.experiments.layout import CHECKPOINT, CONFIG, CURVE, DONE, MODEL, REPORT
from glognn.experiments.plan import Job
from glognn.experiments.reports import Report, check_settings, read_report
from glognn.experiments.settling import settled
from glognn.graph.graph import Graph
from glognn.graph.homophily import edge_homophily
from glognn.metrics import decide
from glognn.models.base import NodeModel
from glognn.records import inside
from glognn.storage import Files, write_json, write_text
from glognn.training.calibration import Calibration
from glognn.training.callbacks import Callback
from glognn.training.checkpoint import Checkpoint, Snapshot
from glognn.training.config import mean_threshold
from glognn.training.devices import DTYPES, resolve_device
from glognn.training.driver import Ending, Stop, train_batch
from glognn.training.engines import ENGINES
from glognn.training.history import TrainingResult
from glognn.training.positive import positive_record
from glognn.training.predict import predict
from glognn.training.preflight import check_memory, members_at_once
from glognn.training.threshold import calibrate_and_choose, check_threshold, describe_rule, rule_of

logger = logging.getLogger(__name__)

SEARCHED_APART = "searched for each split by itself, on its own validation nodes; those of the first are shown"
"""What a record says of splits with settings of their own."""


@dataclass(frozen=True, eq=False)
class LoadedGraph:
    """A prepared graph together with what a record says about it."""

    graph: Graph
    facts: dict[str, Any]


def prepare_graph(data: Data, config: RunConfig) -> Graph:
    """A loaded dataset as a configuration wants it; a graph without splits gets random ones."""
    with about(f"'{config.dataset}'"):
        graph = Graph.from_data(data, config.graph, dtype=DTYPES[config.training.dtype])
    return _named(graph if graph.num_splits else graph.with_masks(random_splits(graph.y)), Path(config.dataset))


def load_graph(config: RunConfig, mirror: Path | None = None) -> LoadedGraph:
    """Load and prepare the dataset of a configuration; for the engine of several ranks, this one's part of it."""
    if config.training.engine == "distributed":
        from glognn.experiments.distributed import load_part

        return load_part(config, mirror)
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
        "feature_normalization": graph.config.feature_normalization,
        "num_classes": graph.num_classes,
        "num_labelled": int((graph.y >= 0).sum()),
        "edge_homophily": None if math.isnan(homophily) else homophily,
        "edges": asdict(graph.edge_counts),
        "num_splits": graph.num_splits,
        "splits_origin": origin,
    }
    return LoadedGraph(graph, facts)


def _named(graph: Graph, file: Path) -> Graph:
    """A graph with the names of its classes, where it was made of tables."""
    classes = kept_classes(file)
    if classes is None:
        return graph
    if len(classes) != graph.num_classes:
        raise InputError(
            f"The tables beside '{file}' must name the graph's {graph.num_classes} classes. Got {len(classes)} instead."
        )
    return replace(graph, class_names=tuple(str(name) for name in classes.names))


def build_model(config: RunConfig, graph: Graph) -> NodeModel[Any]:
    """A new model for a graph, its initial weights decided by the seed alone (not by the device).

    One that cannot be trained in the memory there is is refused.
    """
    check_memory(config.model, graph, config.training)
    with torch.random.fork_rng([]):
        torch.manual_seed(config.training.seed)
        return config.model.model_class().for_graph(graph, config.model)


def _plain(config: RunConfig) -> dict[str, Any]:
    """The settings that a graph may decide."""
    return config.training.as_dict() | config.model.as_dict()


class _Recorder(Callback):
    """Writes the folder of each run of a batch as it ends, and closes it when no checkpoint needs it any more."""

    def __init__(
        self,
        batch: Batch,
        models: list[NodeModel[Any]],
        loaded: LoadedGraph,
        device: torch.device,
        on_run_end: Callable[[Report], None],
        appraiser: Appraiser | None,
    ) -> None:
        self.batch, self.models, self.loaded, self.device = batch, models, loaded, device
        self.on_run_end, self.appraiser = on_run_end, appraiser
        self.tables = measure_tables(batch.jobs[0].dataset)

    def on_train_end(self, result: TrainingResult) -> None:
        job, model = self.batch.jobs[result.member], self.models[result.member]
        if job.done:  # before the batch, which goes on as a whole, was interrupted
            return
        _check_present(job)
        report = _split_report(job, self.loaded, model, result, self.device, batch_size=len(self.batch.jobs))
        if self.appraiser is not None:
            report |= _appraised(self.appraiser, job, self.loaded, model, report)
        save_model(job.folder / MODEL, model)
        write_text(job.folder / CURVE, _curve_csv(result.curve))
        write_json(job.folder / REPORT, report)

    def on_saved(self, members: Sequence[int]) -> None:
        for member in members:
            _close(self.batch.jobs[member].folder, self.tables, self.on_run_end)


class _BatchCheckpoint(Checkpoint):
    """Of runs whose folders must still be there: writing into a deleted one would make it anew, without the rest."""

    def __init__(self, batch: Batch, *, interval: float, identity: str, resumable: Collection[str]) -> None:
        super().__init__(batch.checkpoint, interval=interval, identity=identity)
        self.batch, self.resumable = batch, resumable

    def save(self, snapshot: Snapshot, *, hastily: bool = False) -> None:
        for job in self.batch.jobs:
            _check_present(job)
        super().save(snapshot, hastily=hastily)

    def keep_stopped(self, reason: str, snapshot: Callable[[], Snapshot]) -> None:
        if reason in self.resumable and (state := snapshot()).values["alive"]:
            Checkpoint(self.batch.stopped, interval=0, identity=self.identity).save(state, hastily=True)
            write_json(self.batch.stopped.with_suffix(".json"), {"members": self.batch.names})


def _check_present(job: Job) -> None:
    if not (job.folder / CONFIG).exists():
        raise TrainingError(f"The run folder '{job.folder}' was deleted or moved while it was in use: start again.")


def settled_batches(batch: Batch, graph: Graph, callbacks: Iterable[Callback] = ()) -> list[Batch]:
    """The runs of a batch with all settings decided, in as many batches as there are kinds of models then.

    What was decided of one that was interrupted stays as it is.
    """
    for job in batch.jobs:
        graph.check_trainable(job.split, tested=False)
    configs = {job: _decided_before(job) for job in batch.jobs}
    left = [job for job in batch.jobs if configs[job].model.undecided]
    found = settled([job.config for job in left], graph, [job.split for job in left], callbacks)
    configs |= dict(zip(left, found, strict=True))
    kinds: dict[object, list[Job]] = {}
    for job, config in configs.items():
        before = _plain(job.config)
        changed = [name for name, value in _plain(config).items() if value != before[name]]
        job = replace(job, config=config, settled=(*job.settled, *changed))
        kinds.setdefault(config.model.shape(), []).append(job)
    return [Batch(batch.group, tuple(jobs)) for jobs in kinds.values()]


def _decided_before(job: Job) -> RunConfig:
    """The configuration of a run with what its folder says was decided, where it says so of the same settings."""
    if not job.config.model.undecided or not (job.folder / CONFIG).is_file():
        return job.config
    kept = read_config(job.folder / CONFIG)
    if type(kept.model) is not type(job.config.model) or kept.model.undecided:
        return job.config
    decided = {name: getattr(kept.model, name) for name in job.config.model.undecided}
    wished = {name: getattr(kept.training, name) for name in job.config.model.wished_training}
    model, training = replace(job.config.model, **decided), replace(job.config.training, **wished)
    return (
        replace(job.config, model=model, training=training)
        if (model, training) == (kept.model, kept.training)
        else job.config
    )


def run_batch(
    batch: Batch,
    loaded: LoadedGraph,
    callbacks: Iterable[Callback] = (),
    on_run_end: Callable[[Report], None] = lambda report: None,
    stop: Stop | None = None,
    appraiser: Appraiser | None = None,
    resumable: Collection[str] = (),
) -> dict[Path, str]:
    """Train the runs of a batch as one, or go on with it; errors by the folder of the run they ended.

    A batch too large for the memory there is is trained in parts; one that runs out of it, in halves, each of which
    goes on from the last checkpoint. Where ``stop`` gives a reason to stop, all that are under way end with their best
    weights so far; if it is one of the ``resumable`` ones, their state is kept (:attr:`Batch.stopped`). What an
    ``appraiser`` says of each is part of its report.
    """
    callbacks = list(callbacks)
    batch, *others = settled_batches(batch, loaded.graph, callbacks)
    if others:
        parts = [batch, *others]
        ended = [run_batch(part, loaded, callbacks, on_run_end, stop, appraiser, resumable) for part in parts]
        return {folder: error for errors in ended for folder, error in errors.items()}
    config, graph = batch.jobs[0].config, loaded.graph
    check_threshold(graph, config.training)
    most = len(batch.jobs) if len(batch.jobs) == 1 else members_at_once(config.model, graph, config.training)
    if most >= len(batch.jobs):
        errors = _train_as_one(batch, loaded, callbacks, on_run_end, stop, appraiser, resumable)
        if errors is not None:
            return errors
        most = -(-len(batch.jobs) // 2)
    elif batch.checkpoint.exists():
        _say_fewer(batch, most)
    parts = _parts(batch, loaded, most, on_run_end)
    found = [run_batch(part, loaded, callbacks, on_run_end, stop, appraiser, resumable) for part in parts]
    return {folder: error for errors in found for folder, error in errors.items()}


def _train_as_one(
    batch: Batch,
    loaded: LoadedGraph,
    callbacks: Iterable[Callback],
    on_run_end: Callable[[Report], None],
    stop: Stop | None,
    appraiser: Appraiser | None,
    resumable: Collection[str],
) -> dict[Path, str] | None:
    """Errors by the folder of the run they ended; ``None`` where memory does not hold all members at once."""
    config, graph = batch.jobs[0].config, loaded.graph
    device = resolve_device(config.training.device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    for job in batch.jobs:
        if not job.done:
            write_text(job.folder / CONFIG, job.config.to_toml(job.folder))
    try:
        models = initial_models([job.config for job in batch.jobs], graph)
        batch.begin()
        recorder = _Recorder(batch, models, loaded, device, on_run_end, appraiser)
        if isinstance(graph, Part):
            endings = _train_on_ranks(batch, loaded, recorder, callbacks, stop)
        else:
            endings = train_batch(
                models,
                graph,
                splits=[job.split for job in batch.jobs],
                configs=[job.config.training for job in batch.jobs],
                callbacks=[recorder, *callbacks],
                checkpoint=_checkpoint(batch, loaded, resumable),
                stop=stop,
            )
    except (TooLargeError, MemoryExhaustedError):
        if len(batch.jobs) == 1:
            raise
        _say_fewer(batch, -(-len(batch.jobs) // 2))
        return None
    batch.end()
    return {
        job.folder: str(ending)
        for job, ending in zip(batch.jobs, endings, strict=True)
        if isinstance(ending, TrainingError)
    }


def _train_on_ranks(
    batch: Batch, loaded: LoadedGraph, recorder: _Recorder, callbacks: Iterable[Callback], stop: Stop | None
) -> list[Ending | None]:
    from glognn.experiments.distributed import Task, train_leading

    [job], checkpoint = batch.jobs, _checkpoint(batch, loaded)
    task = Task(job.config, job.split, checkpoint.path.absolute(), checkpoint.identity)
    return train_leading(task, loaded, recorder, list(callbacks), stop)


def _say_fewer(batch: Batch, most: int) -> None:
    logger.warning("Memory does not hold %d runs at once: going on with %d at a time.", len(batch.jobs), most)


def _checkpoint(batch: Batch, loaded: LoadedGraph, resumable: Collection[str] = ()) -> _BatchCheckpoint:
    identity = "".join(_identity(job.config, loaded) for job in batch.jobs)
    return _BatchCheckpoint(
        batch,
        interval=batch.jobs[0].config.training.checkpoint_interval,
        identity=hashlib.sha256(identity.encode()).hexdigest(),
        resumable=resumable,
    )


def _parts(batch: Batch, loaded: LoadedGraph, most: int, on_run_end: Callable[[Report], None]) -> list[Batch]:
    """A batch as several of at most so many members, which go on from its checkpoint where it has one.

    It ends only when all parts are there: a kill in between leaves it as it was.
    """
    snapshot = _checkpoint(batch, loaded).load()
    if snapshot is None:
        batch.end()
        return _cut(batch, [job for job in batch.jobs if not job.done], most)
    alive, inside = snapshot.values["alive"], snapshot.values["inside"]
    tables = measure_tables(batch.jobs[0].dataset)
    for place, job in enumerate(batch.jobs):
        if place not in alive:
            _close(job.folder, tables, on_run_end)
    config = batch.jobs[0].config.model
    sizes = loaded.graph.num_features, loaded.graph.num_classes, loaded.graph.num_nodes
    with torch.device("meta"):
        model = config.model_class()(*sizes, **config.as_dict())
    engine = next(engine for engine in ENGINES if engine.name == snapshot.engine)
    parts = _cut(batch, [batch.jobs[place] for place in alive], most)
    for number, part in enumerate(parts):
        members = alive[number * most : (number + 1) * most]
        values = {
            "alive": list(range(len(members))),
            "inside": list(range(len(members))),
            "histories": snapshot.values["histories"][number * most : (number + 1) * most],
        }
        tensors = engine.part(snapshot.tensors, [inside.index(member) for member in members], model)
        _checkpoint(part, loaded).save(Snapshot(tensors, values, snapshot.engine))
        part.begin()
    diverged = [job for place, job in enumerate(batch.jobs) if place not in alive and not job.done]
    batch.end()
    return parts + _cut(batch, diverged, most)


def _cut(batch: Batch, jobs: list[Job], most: int) -> list[Batch]:
    return [Batch(batch.group, tuple(jobs[start : start + most])) for start in range(0, len(jobs), most)]


def _close(folder: Path, tables: Files, on_run_end: Callable[[Report], None]) -> None:
    """A run that no checkpoint needs any more is done."""
    if (folder / REPORT).exists() and not (folder / DONE).exists():
        seal(folder, tables)
        shutil.rmtree((folder / CHECKPOINT).parent, ignore_errors=True)
        on_run_end(read_report(folder))


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
    on_split_end: Callable[[Report], None] = lambda report: None,
    appraiser: Appraiser | None = None,
) -> Report:
    """Train on every split of a configuration, or go on with it; what is done is only read.

    One split makes a plain run folder, several a parent of them, trained as one batch. Reports hold what an
    ``appraiser`` finds: baselines, what was found of each class, and what to beware of.
    """
    splits = parse_splits(config.splits, loaded.graph.num_splits)
    places = [folder] if len(splits) == 1 else [inside(folder, f"split-{split}") for split in splits]
    jobs = [
        Job(place, config.for_split(split), split, config.model.name, "given")
        for place, split in zip(places, splits, strict=True)
    ]
    done = [finished_report(job, loaded) for job in jobs if job.done]
    if len(splits) > 1:
        write_text(folder / CONFIG, config.to_toml(folder))
    for report in done:
        on_split_end(report)
    for batch in make_batches(jobs, group=folder, together=not isinstance(loaded.graph, Part)):
        for place, error in run_batch(batch, loaded, callbacks, on_split_end, appraiser=appraiser).items():
            raise TrainingError(error if place == folder else f"{place.name}: {error}")
    if len(jobs) == 1:
        return read_report(folder)
    summary = summarize(config, [read_report(job.folder) for job in jobs])
    (folder / DONE).unlink(missing_ok=True)  # which says what the report was
    write_json(folder / REPORT, summary)
    seal(folder, measure_tables(config.dataset))
    return summary


def summarize_apart(folder: Path, runs: list[tuple[RunConfig, Report]]) -> Report:
    """Write the mean over splits, each with settings of its own, into the folder that holds them."""
    reports = [report for _, report in runs]
    splits = ",".join(str(report["split"]) for report in reports)
    summary = summarize(replace(runs[0][0], splits=splits), reports) | {"settings": SEARCHED_APART}
    write_json(folder / REPORT, summary)
    return summary


def finished_report(job: Job, loaded: LoadedGraph) -> Report:
    """The report of a run that is done, which must be of the settings and the graph that it is asked for.

    The graph is known by its fingerprint, wherever it lies now.
    """
    check_files(job.folder)
    report = read_report(job.folder)
    check_settings(job.folder, report, job.config)
    if report["data"]["fingerprint"] != loaded.facts["fingerprint"]:
        raise InputError(
            f"'{job.folder}' is done, on a graph with the fingerprint {report['data']['fingerprint'][:12]}. Got "
            f"'{job.dataset}' with {loaded.facts['fingerprint'][:12]} instead: put the graph back, or start again in a "
            "new folder."
        )
    return report


def summarize(config: RunConfig, reports: list[Report]) -> Report:
    """Mean and sample standard deviation over splits."""

    def spread(which: str, name: str) -> dict[str, float | None]:
        values = [report["scores"][which][name] for report in reports]
        deviation = statistics.stdev(values) if len(values) > 1 else None
        return {"mean": statistics.fmean(values), "std": deviation}

    plain, undecided = _plain(config), config.model.undecided
    known = [report["config"]["training"] | report["config"]["model"] for report in reports]
    names = (*undecided, *config.model.wished_training) if undecided else ()
    decided = {name: [str(each[name]) for each in known] for name in names}
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "splits",
        "config": config.tables(),
        "metric": config.training.metric,
        "positive_class": reports[0]["positive_class"],
        "threshold": mean_threshold(report.get("threshold") for report in reports),
        "threshold_for": reports[0].get("threshold_for", ""),
        "selection": config.training.selection,
        "splits": [report["split"] for report in reports],
        "scores": {
            which: {name: spread(which, name) for name in ("train", "val", "test")}
            for which in ("selected", "best", "last")
        },
        "settled": {name: dict(Counter(values)) for name, values in decided.items() if {*values} != {str(plain[name])}},
        "seconds": sum(report["seconds"] for report in reports),
        "epochs": sum(report["scores"]["last"]["epoch"] for report in reports),
        "num_parameters": reports[0]["num_parameters"],
        "data": reports[0]["data"],
        "versions": reports[-1]["versions"],
        "machine": reports[-1]["machine"],
        "finished": reports[-1].get("finished"),
        **over_splits(reports, _isolated(reports[0]["data"])),
    }


def _appraised(appraiser: Appraiser, job: Job, loaded: LoadedGraph, model: NodeModel[Any], report: Report) -> Report:
    """What its record says of a trained model beside its scores, which are those of uncalibrated probabilities."""
    chances = predict(model, loaded.graph).double().cpu().numpy()
    sets = {name: nodes.cpu().numpy() for name, nodes in loaded.graph.indices(job.split).items()}
    said, positive = {name: chances[nodes] for name, nodes in sets.items()}, report["positive_class"]
    decided = chances
    if report["calibration"] is not None:
        decided = Calibration.from_dict(report["calibration"], chances.shape[1]).apply(chances)
    held_out = sets["test"] if len(sets["test"]) else sets["val"]
    predicted = decide(decided[held_out], report["threshold"], None if positive is None else positive["number"])
    found = appraiser.appraise(job.split, job.config.training, said, predicted=predicted)
    return found | {"cautions": cautions([found], _isolated(loaded.facts))}


def _isolated(facts: Report) -> float:
    return float(facts.get("num_isolated", 0) / max(facts.get("num_nodes", 1), 1))


def _split_report(
    job: Job,
    loaded: LoadedGraph,
    model: NodeModel[Any],
    result: TrainingResult,
    device: torch.device,
    batch_size: int,
) -> Report:
    config = job.config
    calibration, threshold = calibrate_and_choose(model, loaded.graph, job.split, config.training)
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "run",
        "config": config.tables(),
        "settled": {name: {str(_plain(config)[name]): 1} for name in job.settled},
        "split": job.split,
        "metric": config.training.metric,
        "selection": config.training.selection,
        "scores": {name: asdict(getattr(result, name)) for name in ("selected", "best", "last")},
        "positive_class": positive_record(loaded.graph, config.training),
        "calibration": None if calibration is None else calibration.as_dict(),
        "threshold": threshold,
        "threshold_for": ""
        if threshold is None
        else describe_rule(rule_of(config.training, loaded.graph.num_classes), config.training.metric),
        "stopped_by": result.stopped_by,
        "seconds": result.seconds,
        "trained_together": batch_size,
        "engine": result.engine,
        "engine_reason": result.engine_reason,
        "warnings": list(result.warnings),
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
