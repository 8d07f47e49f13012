"""Training on the ranks that ``torchrun`` has started: rank 0 does what one process would do, the others follow.

Rank 0 alone reads settings, holds and writes run folders and talks to the user. It tells the others which graph to read
their parts of and what to train; within a training all of them are alike. The run folder, for checkpoints, and the
shards must be where all ranks can read them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import multiprocessing
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from glognn import __version__
from glognn.data.fetch import cache_dir
from glognn.data.sources import find_source
from glognn.data.streaming import can_stream, stream_npz, stream_tables_to_parts
from glognn.data.table_graph import KeptTables, TableOptions
from glognn.distributed.methods import METHODS
from glognn.distributed.partition import Balance, make_partition
from glognn.distributed.ranks import TIMEOUT, Ranks, together
from glognn.distributed.shards import SHARDS, Shards, write_graph
from glognn.errors import InputError, TrainingError
from glognn.experiments.config import RunConfig
from glognn.experiments.environment import peak_memory_mib
from glognn.experiments.folder import find_runs
from glognn.experiments.layout import CONFIG
from glognn.experiments.run import LoadedGraph, build_model, load_graph
from glognn.experiments.train import TrainedModels, train_models
from glognn.graph.config import GraphConfig
from glognn.models.base import NodeModel
from glognn.models.parts import refusal, whole_model
from glognn.settings import check_word
from glognn.storage import locked, write_json
from glognn.training.callbacks import Callback
from glognn.training.devices import DTYPES, resolve_device
from glognn.training.driver import train_batch
from glognn.training.history import TrainingResult
from glognn.training.preflight import free_memory, take_share
from glognn.training.sharded import ShardedCheckpoint

DISTRIBUTED = "distributed"
"""The engine of runs on several ranks."""
DEFAULT_METHOD = "balanced"
logger = logging.getLogger("glognn.data.shards")


@dataclass(eq=False)
class Launch:
    """The group that this process is in, and how graphs are divided for it; ``None``: as it is by default."""

    ranks: Ranks = field(default_factory=Ranks)
    method: str | None = None
    parts: int | None = None


_launches: list[Launch] = []


@contextmanager
def on_ranks(timeout: float | None = None, partition: str | None = None, parts: int | None = None) -> Iterator[bool]:
    """Within this context graphs are loaded in parts and trained on all ranks; whether this is the rank that leads.

    Another one has followed it to its end when the context is entered, and has nothing left to do.
    """
    if partition is not None:
        check_word("The partition", partition, METHODS)
    ranks = Ranks.from_environment(TIMEOUT if timeout is None else timeout)
    if ranks.local_size > 1 and (free := free_memory()) is not None:
        take_share(free / ranks.local_size, ranks.local_size, ranks=True)
    if not ranks.leads:
        follow(ranks)
        ranks.close()
        yield False
        return
    _launches.append(Launch(ranks, partition, parts))
    try:
        yield True
    finally:
        _launches.pop()
        ranks.tell(None)
        ranks.close()


def may_restart() -> bool:
    """Whether ``torchrun`` starts the ranks again when one of them fails."""
    return int(os.environ.get("TORCHELASTIC_MAX_RESTARTS", "0")) > 0


def train_on_ranks(ranks: Mapping[str, Any], **asked: Any) -> TrainedModels | None:
    """:func:`~glognn.experiments.train.train_models` on all ranks; nothing where this one does not lead.

    What ``torchrun`` starts again after a failure goes on with the run that it had begun.

    Args:
        ranks: What :func:`on_ranks` takes.
        asked: What ``train_models`` takes.
    """
    out, resume = asked.get("out"), asked.get("resume")
    if asked.get("tune"):
        raise InputError("--tune searches in one process. Leave out --distributed, then train with what it found.")
    if asked.get("engine") not in (None, DISTRIBUTED):
        raise InputError(f"--distributed is an engine of its own. Leave out --engine {asked['engine']}.")
    if may_restart() and out is None and resume is None:
        raise InputError("torchrun --max-restarts needs --out, so that a restart finds the run it goes on with.")
    with on_ranks(**ranks) as leads:
        if not leads:
            return None
        restarted = _launches[-1].ranks.restarted
        if resume is None and out is not None and restarted and (Path(out) / CONFIG).is_file():
            resume = out
        if resume is None:
            return train_models(**asked | {"engine": DISTRIBUTED})
        for folder, config in find_runs(Path(resume)):
            if config.training.engine != DISTRIBUTED:
                raise InputError(f"'{folder}' was begun in one process: go on with it without --distributed.")
        kept = {name: asked[name] for name in ("data_mirror", "progress") if name in asked}
        others = {} if restarted else {name: value for name, value in asked.items() if name not in kept}
        return train_models(**kept | others | {"resume": resume})


def follow(ranks: Ranks) -> None:
    """Do as rank 0 says until it has ended."""
    loaded: LoadedGraph | None = None
    while (told := ranks.listen()) is not None:
        what, *rest = told
        if what == "graph":
            loaded = _read(Path(rest[0]), rest[1], ranks, rest[2])
        else:
            assert loaded is not None
            task: Task = rest[0]
            model = build_model(task.config, loaded.graph)
            train_part(task, loaded, model, [_Gathering(model, loaded, task)])


def load_part(config: RunConfig, mirror: Path | None) -> LoadedGraph:
    """This rank's part of the graph of a configuration; the other ranks are told to load theirs."""
    if reason := refusal(config.model):
        raise InputError(f"{config.model.title} cannot be trained with --distributed, because {reason}.")
    for name in ("threshold", "calibrate"):
        if getattr(config.training, name) not in ("auto", "none"):
            raise InputError(f"--{name} is not for --distributed: leave it out, or train in one process.")
    launch = _launches[-1] if _launches else Launch()
    folder = _shards(config, launch, mirror)
    launch.ranks.tell(("graph", str(folder), config.training.dtype, (config, mirror, launch.method, launch.parts)))
    return _read(folder, config.training.dtype, launch.ranks, None, config.dataset)


def _read(folder: Path, dtype: str, ranks: Ranks, making: Any, dataset: str = "") -> LoadedGraph:
    if making is not None and not (folder / SHARDS).is_file():  # on another machine, with a cache of its own
        config, mirror, method, parts = making
        folder = _shards(config, Launch(ranks, method, parts), mirror)
    ranks.meet()
    shards = Shards.open(folder)
    part = shards.read_for(ranks, DTYPES[dtype])
    sizes = ranks.gather(part.sizes)
    facts = shards.record["facts"] | {
        "dataset": dataset,
        "fingerprint": part.fingerprint(),
        "partition": {
            "method": shards.record["method"],
            "parts": shards.parts,
            "ranks": ranks.size,
            "nodes": [size.nodes for size in sizes],
            "entries": [size.entries for size in sizes],
            "halo": [size.halo for size in sizes],
        },
    }
    if ranks.leads:
        parts, cost = f"Parts: {shards.parts} ({shards.record['method']})", Balance.of(sizes).of_each("rank")
        logger.info("%s, ranks: %d; %s.", parts, ranks.size, cost)
    return LoadedGraph(part, facts)


def _shards(config: RunConfig, launch: Launch, mirror: Path | None) -> Path:
    """The folder of a configuration's graph in parts: the one that it names, or one in the cache, made if need be.

    A process of its own makes it, whose memory is given back when it ends.
    """
    source = find_source(config.dataset)
    if source.kind == "shards":
        _check_prepared(config, Path(source.name))
        if launch.parts or launch.method:
            given = f"--parts {launch.parts}" if launch.parts else f"--partition {launch.method}"
            raise InputError(f"'{source.name}' is divided already. Leave out {given}: it is an option of glognn shard.")
        return Path(source.name)
    parts, method = launch.parts or launch.ranks.size, launch.method or DEFAULT_METHOD
    cache = cache_dir() / "shards"
    known = cache / f"{_source_key(config)}.json"
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache):
        if known.is_file():
            folder = cache / f"{json.loads(known.read_text())['fingerprint']}-{method}-{parts}"
            if (folder / SHARDS).is_file():
                return folder
        alone = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=alone) as pool:
            name = pool.submit(_divide_into_cache, config, parts, method, cache, mirror).result()
        write_json(known, {"dataset": config.dataset, "fingerprint": name.split("-")[0]})
        return cache / name


def _check_prepared(config: RunConfig, folder: Path) -> None:
    """Shards are a prepared graph: what they were not prepared for is refused."""
    made = Shards.open(folder).config
    if made.directed and not config.graph.directed:
        raise InputError(f"'{folder}' was made with --directed: train on it with --directed, or make other shards.")
    if config.graph.feature_normalization != "none":
        raise InputError(
            f"'{folder}' holds features as they were made. Leave out --feature-normalization "
            f"{config.graph.feature_normalization}: it is an option of glognn shard."
        )


def _source_key(config: RunConfig) -> str:
    """Tells graphs apart that a configuration can name, without loading them."""
    source = find_source(config.dataset)
    content: list[Any] = [source.name, config.graph.as_dict(), config.training.dtype, __version__]
    if source.kind == "file":
        state = Path(source.name).stat()
        content += [state.st_size, state.st_mtime_ns]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _divide_into_cache(config: RunConfig, parts: int, method: str, cache: Path, mirror: Path | None) -> str:
    making = cache / "unfinished"
    shards = divide(config, parts, method, making, mirror)
    name = f"{shards.fingerprint(DTYPES[config.training.dtype])}-{method}-{parts}"
    shutil.rmtree(cache / name, ignore_errors=True)
    making.rename(cache / name)
    return name


def divide(config: RunConfig, parts: int, method: str, folder: Path, mirror: Path | None = None) -> Shards:
    """Write the graph of a configuration as a folder of parts: a graph file part by part, others from memory."""
    source, dtype = find_source(config.dataset), DTYPES[config.training.dtype]
    path = Path(source.name)
    if source.kind == "file" and can_stream(path, method, config.graph):
        return stream_npz(path, parts, method, folder, config.graph, dtype)
    loaded = load_graph(replace(config, training=replace(config.training, engine="auto")), mirror)
    partition = make_partition(loaded.graph.adjacency.matrix.to_scipy(), parts, method)
    return write_graph(loaded.graph, partition, folder, loaded.facts)


def divide_tables(
    options: TableOptions, parts: int, method: str, folder: Path, settings: Mapping[str, Any]
) -> tuple[KeptTables, Shards]:
    """Write the graph of a user's tables as a folder of parts, in the memory of one; prepared as tables are in one
    process where settings do not say otherwise."""
    check_word("The partition", method, METHODS)
    config = GraphConfig.from_mapping({"feature_normalization": "auto"} | dict(settings))
    return stream_tables_to_parts(options, parts, method, folder, config)


@dataclass(frozen=True)
class Task:
    """What ranks train together: one model on one split, with a checkpoint that they write together."""

    config: RunConfig
    split: int
    checkpoint: Path
    identity: str


def train_part(
    task: Task, loaded: LoadedGraph, model: NodeModel[Any], callbacks: list[Callback], stop: Any = None
) -> list[Any]:
    """Train this rank's part of a model; all ranks must."""
    part: Any = loaded.graph
    config = task.config.training
    checkpoint = ShardedCheckpoint(
        task.checkpoint,
        interval=config.checkpoint_interval,
        identity=task.identity,
        ranks=part.ranks,
        nodes=part.nodes,
    )
    with together(part.ranks):
        return train_batch(
            [model], part, splits=[task.split], configs=[config], callbacks=callbacks, checkpoint=checkpoint, stop=stop
        )


class _Gathering(Callback):
    """Brings the parts of a trained model to rank 0, with what each rank has used."""

    def __init__(self, model: NodeModel[Any], loaded: LoadedGraph, task: Task) -> None:
        self.model, self.part, self.task = model, loaded.graph, task
        self.whole: NodeModel[Any] | None = None
        self.used: list[dict[str, Any]] = []
        self.began = 0.0

    def on_train_begin(self, info: dict[str, Any]) -> None:
        self.began = time.process_time()

    def on_train_end(self, result: TrainingResult) -> None:
        part: Any = self.part
        busy = round(time.process_time() - self.began, 3)
        device = resolve_device(self.task.config.training.device)
        used = {"peak_memory_mib": peak_memory_mib(device), "waited_seconds": round(part.ranks.seconds, 3)}
        self.used = part.ranks.gather(used | {"sent_bytes": part.ranks.sent, "cpu_seconds": busy})
        self.whole = whole_model(self.model, part, self.task.checkpoint.parents[1])


class Leading(_Gathering):
    """The same on rank 0, where the model of the whole graph is then recorded as any other."""

    def __init__(self, model: NodeModel[Any], loaded: LoadedGraph, task: Task, recorder: Any) -> None:
        super().__init__(model, loaded, task)
        self.recorder = recorder

    def on_train_end(self, result: TrainingResult) -> None:
        super().on_train_end(result)
        self.recorder.models = [self.whole]
        self.recorder.loaded = LoadedGraph(self.part, self.recorder.loaded.facts | {"ranks": self.used})
        self.recorder.on_train_end(result)

    def on_saved(self, members: Any) -> None:
        self.recorder.on_saved(members)


def train_leading(task: Task, loaded: LoadedGraph, recorder: Any, callbacks: list[Callback], stop: Any) -> list[Any]:
    """Train on all ranks, as rank 0."""
    part: Any = loaded.graph
    if stop is not None:
        raise TrainingError("A time limit cannot be kept with --distributed: leave it out.")
    model = recorder.models[0]
    part.ranks.tell(("train", task))
    return train_part(task, loaded, model, [Leading(model, loaded, task, recorder), *callbacks])
