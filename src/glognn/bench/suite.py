"""The benchmark itself: every method on every dataset, in one process, in alternating rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from glognn.bench.config import OTHERS, OURS, RELEASED, BenchConfig, chosen_datasets, chosen_methods, counterpart
from glognn.bench.floor import Rates, Shape, count, floor_record
from glognn.bench.measure import Spread, alternate, choose_epochs, ratio
from glognn.bench.memory import alone, gpu_memory, process_memory
from glognn.bench.method import Method
from glognn.bench.ours import Ours
from glognn.bench.peers import Peer
from glognn.bench.profile import profile_method
from glognn.bench.records import Record, Row, empty_row, make_record, write_record
from glognn.bench.released import Released
from glognn.data.fetch import mirror_dir
from glognn.data.sources import find_source
from glognn.errors import GloGNNError, InputError
from glognn.experiments.config import PUBLISHED_PREFIX, RunConfig, has_published, resolve
from glognn.experiments.run import load_graph
from glognn.graph.graph import Graph
from glognn.models.configs import GloGNNConfig, find_model
from glognn.training.devices import resolve_device
from glognn.training.preflight import check_memory, ran_out

SPLIT = 0
MANY = "{} in one go"
RATIOS = ("released", "linkx", "gcn")

OnProgress = Callable[[str, str], None]
"""Told the dataset and what is done now."""


def configuration(model: str, dataset: str, config: BenchConfig, width: int | None = None) -> RunConfig:
    """What is timed of a model: its authors' settings of the dataset (or its twin's), else the defaults; at a width.

    Accuracy is the metric everywhere: others cost more than training, on some datasets, and the same for all methods.
    """
    source = find_source(dataset)
    given: dict[str, Any] = {"metric": "accuracy", "device": config.device, "threads": config.threads}
    if model == "glognn++":
        given["coefficient"] = "released"
    if width is not None and "hidden_channels" in find_model(model).names():
        given["hidden_channels"] = width
    known = source.entry is not None and has_published(model, source.entry.name)
    published = f"{PUBLISHED_PREFIX}{source.entry.name}" if known and source.entry is not None else None
    [found] = resolve([model], published, given, dataset, None)
    return found


@dataclass(frozen=True)
class MethodBuilder:
    """A loaded graph and the settings that methods on it are made with."""

    dataset: str
    graph: Graph
    facts: dict[str, Any]
    config: BenchConfig
    device: torch.device

    @classmethod
    def load(cls, dataset: str, config: BenchConfig, mirror: Path | None) -> MethodBuilder:
        loaded = load_graph(configuration("glognn", dataset, config), mirror)
        loaded.graph.check_trainable(SPLIT)
        return cls(dataset, loaded.graph, loaded.facts, config, resolve_device(config.device))

    def settings(self, method: str) -> RunConfig:
        """Those of the model that a method is, or else of the GloGNN that it takes its training from."""
        if method in OTHERS:
            return configuration(method, self.dataset, self.config, self.width)
        return configuration((OURS | RELEASED).get(method, "glognn"), self.dataset, self.config)

    @property
    def width(self) -> int:
        """Hidden channels of GloGNN, which the peers get too."""
        model = self.settings("glognn").model
        assert isinstance(model, GloGNNConfig)
        return model.hidden_channels

    def build(self, method: str, inputs: tuple[str, str] | None = None) -> Method:
        """A method, ready to train; ``inputs`` as :class:`~glognn.bench.peers.Peer` takes them."""
        settings = self.settings(method)
        self._check_memory(method, settings)
        if method in OURS | OTHERS:
            return Ours(settings, self.graph, SPLIT, self.device)
        if method in RELEASED:
            return Released(settings, self.graph, SPLIT, self.device)
        return Peer(method, self.width, settings.training, self.graph, SPLIT, self.device, inputs)

    def _check_memory(self, method: str, settings: RunConfig) -> None:
        """A peer takes what our model of its name does, the released program what GloGNN does in float64."""
        if method in RELEASED:
            check_memory(settings.model, self.graph, replace(settings.training, dtype="float64", engine="eager"))
        elif method not in OURS | OTHERS:
            check_memory(
                find_model(method).from_mapping({"hidden_channels": self.width}), self.graph, settings.training
            )


def run_bench(
    datasets: Sequence[str],
    methods: Sequence[str],
    config: BenchConfig,
    mirror: Path | None = None,
    out: Path | None = None,
    on_progress: OnProgress = lambda dataset, what: None,
) -> Record:
    """Time every method on every dataset; what was measured, as a record, kept in ``out`` after every dataset."""
    device = resolve_device(config.device)
    record = make_record(config, device)
    with _threads(config.threads):
        for dataset in datasets:
            on_progress(dataset, "loading")
            builder = MethodBuilder.load(dataset, config, mirror)
            record["rows"] += _bench_dataset(builder, methods, mirror, partial(on_progress, dataset))
            record["datasets"][dataset] = builder.facts
            if out is not None:
                write_record(out, record)
    return record


def bench(
    datasets: str | Iterable[str] = "pairs",
    models: str | Iterable[str] | None = None,
    *,
    out: str | Path | None = None,
    data_mirror: str | Path | None = None,
    **settings: Any,
) -> Record:
    """Time training, as ``glognn bench`` does; what was measured, as a record (:mod:`glognn.bench.records`).

    Args:
        datasets: Graphs by name, twins or ``.npz`` files, with commas between them or in a list.
        models: What to time, likewise; by default ours, the released method and PyTorch Geometric's networks.
        out: Keep the record in this file, as JSON.
        data_mirror: Folder of published files.
        settings: ``repeats``, ``epochs``, ``splits``, ``threads``, ``device``, ``memory`` and ``profile``.
    """
    config = BenchConfig.from_mapping(settings)
    file = None if out is None else Path(out)
    if file is not None and file.is_dir():
        raise InputError(f"The 'out' parameter must be a file. Got the folder '{file}' instead.")
    return run_bench(chosen_datasets(datasets), chosen_methods(models), config, mirror_dir(data_mirror), file)


def num_steps(methods: Sequence[str], config: BenchConfig) -> int:
    """How often ``on_progress`` is called for one dataset."""
    many = config.splits > 1
    turns = len(methods) + sum(method in OURS | OTHERS for method in methods) * many
    return 1 + len(methods) * (1 + config.memory + config.profile) + turns * config.repeats


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _bench_dataset(
    builder: MethodBuilder, methods: Sequence[str], mirror: Path | None, on_progress: Callable[[str], None]
) -> list[Row]:
    config = builder.config
    built, epochs, problems = _prepare(builder, methods, on_progress)
    times = _time(built, epochs, config, on_progress)
    rates = Rates.measure(builder.graph.num_nodes, builder.width, builder.device)
    rows = {name: empty_row(builder.dataset, name) for name in methods}
    for name, problem in problems.items():
        rows[name]["problem"] = problem
    for name, method in built.items():
        rows[name] |= {**method.facts(), "epochs": epochs[name], **_times(name, times)}
        rows[name]["floor"] = _floor(builder, name, rates, times[name])
        if config.profile:
            on_progress(f"{name}: profile")
            rows[name]["profile"] = profile_method(method, builder.device)
    inputs = {name: method.inputs for name, method in built.items() if isinstance(method, Peer)}
    names = list(built)
    built.clear()
    del method
    for name in names if config.memory else []:
        on_progress(f"{name}: memory")
        rows[name]["memory_mib"] = _memory(builder, name, inputs.get(name), mirror)
    return list(rows.values())


def _prepare(
    builder: MethodBuilder, methods: Sequence[str], on_progress: Callable[[str], None]
) -> tuple[dict[str, Method], dict[str, int], dict[str, str]]:
    """The methods, the epochs of a turn of each, and why a method cannot be timed on this graph."""
    built: dict[str, Method] = {}
    epochs: dict[str, int] = {}
    problems: dict[str, str] = {}
    for name in methods:
        on_progress(f"{name}: preparing")
        try:
            method = builder.build(name)
            epochs[name] = choose_epochs(method, builder.config.epochs)
            built[name] = method
        except (GloGNNError, MemoryError, RuntimeError) as error:
            if not isinstance(error, GloGNNError) and not ran_out(error):
                raise
            problems[name] = " ".join(str(error).split()) or "out of memory"
    if not built:
        raise InputError(next(iter(problems.values())))
    return built, epochs, problems


def _time(
    built: Mapping[str, Method], epochs: Mapping[str, int], config: BenchConfig, on_progress: Callable[[str], None]
) -> dict[str, list[float]]:
    """Seconds of an epoch in every round: by method, and by ``MANY`` of ours for that of one of several splits."""
    turns: dict[str, Callable[[], float]] = {}
    for name, method in built.items():
        turns[name] = partial(method.seconds, epochs[name])
        if isinstance(method, Ours) and config.splits > 1 and method.fits(config.splits):
            turns[MANY.format(name)] = partial(method.seconds_of_splits, config.splits, epochs[name])
    return alternate(turns, config.repeats, lambda name, number: on_progress(f"{name}: round {number + 1}"))


def _times(name: str, times: dict[str, list[float]]) -> Row:
    """Milliseconds, and how many times longer the others take."""
    single, many = times[name], times.get(MANY.format(name))
    others = {other: times[other] for other in (counterpart(name), *RATIOS[1:]) if other in times}

    def ratios(of: list[float]) -> dict[str, Any]:
        named = {RATIOS[0] if other == counterpart(name) else other: found for other, found in others.items()}
        return {other: ratio(found, of).record() for other, found in named.items()}

    return {
        "epoch_ms": _milliseconds(single),
        "ratios": ratios(single),
        "split_epoch_ms": None if many is None else _milliseconds(many),
        "split_ratios": None if many is None else ratios(many),
    }


def _milliseconds(seconds: list[float]) -> dict[str, Any]:
    return Spread.of([1000 * each for each in seconds]).record()


def _floor(builder: MethodBuilder, method: str, rates: Rates, seconds: list[float]) -> dict[str, Any] | None:
    """The floor of GloGNN, which ours and the released program compute alike; the others compute something else."""
    model = builder.settings(method).model
    if method not in OURS | RELEASED or not isinstance(model, GloGNNConfig):
        return None
    return floor_record(count(Shape.of(builder.graph, model)), rates, Spread.of(seconds).median)


def _memory(
    builder: MethodBuilder, method: str, inputs: tuple[str, str] | None, mirror: Path | None
) -> dict[str, float] | None:
    if builder.device.type == "cuda":
        return gpu_memory(lambda: builder.build(method, inputs), builder.device)
    return alone(memory_of, builder.dataset, method, inputs, builder.config, mirror)


def memory_of(
    dataset: str, method: str, inputs: tuple[str, str] | None, config: BenchConfig, mirror: Path | None
) -> dict[str, float] | None:
    """Peak memory of one method in this process, which should have done nothing else."""
    with _threads(config.threads):
        builder = MethodBuilder.load(dataset, config, mirror)
        return process_memory(lambda: builder.build(method, inputs))
