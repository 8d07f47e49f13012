"""``auto``: a portfolio of models on a graph within a time limit, and their ensemble. Imports no torch.

The folder is described in :mod:`glognn.experiments.layout`. It is usable after the first member; kill it at any moment,
and what is finished is not repeated when it is gone on with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glognn.data.layout import GRAPH, TABLES
from glognn.data.sources import find_source, load_source
from glognn.errors import InputError, about
from glognn.experiments.advice import advise_metric
from glognn.experiments.config import DEFAULT_DATASET
from glognn.experiments.graphs import Graphs
from glognn.experiments.integrity import measure_tables, seal
from glognn.experiments.layout import AUTO, DONE
from glognn.experiments.leaderboard import Standing, standings
from glognn.experiments.portfolio import (
    QUALITIES,
    Member,
    check_given,
    check_quality,
    choose_members,
    read_members,
    read_portfolio,
)
from glognn.experiments.progress import Progress, Work
from glognn.experiments.tune import make_graph
from glognn.records import NUMBER, Form, check_version, misfit, read_toml
from glognn.storage import write_text

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from glognn.data.table_graph import TableOptions
    from glognn.experiments.folder import Report
    from glognn.training.config import TrainingConfig

AUTO_VERSION = 1
MODEL_NAME = "auto"
"""What stands for a portfolio where a model is named."""
TIME_LIMIT, QUALITY, FOLDS = 300.0, "good", 5
SIZE_PER_SECOND = {"cpu": 66.0, "cuda": 1300.0}
"""Nodes and tenths of edges for which a second of the limit is time enough to train on all folds; on larger graphs
fewer of them are trained on.
"""
_ASKED: Form = {
    "dataset": str,
    "splits": str,
    "splits_origin": str,
    "folds": int,
    "quality": str,
    "time_limit": NUMBER,
    "settings": dict,
}


def means_auto(
    models: Sequence[str], *, tables: bool, config: object = None, tune: int | None = None, resume: Path | None = None
) -> bool:
    """Whether a training is one of a portfolio: ``auto`` is named, or tables are given and nothing names a model."""
    if resume is not None:
        return (resume / AUTO).is_file()
    if MODEL_NAME not in models:
        return tables and not models and config is None and tune is None
    if len(models) > 1:
        raise InputError(f"--model auto chooses the models. Leave out the others of {', '.join(models)}.")
    if config is not None or tune is not None:
        raise InputError(f"--model auto takes no {'--config' if config is not None else '--tune'}. Leave it out.")
    return True


@dataclass(frozen=True)
class AutoResult:
    """What an ``auto`` folder holds: ``record`` is its ``ensemble.json``."""

    folder: Path
    record: Report

    @property
    def leaderboard(self) -> list[Standing]:
        """The ensemble, then its members, the best on validation first."""
        return standings(self.record)


@dataclass(frozen=True)
class Asked:
    """What an ``auto`` folder was started with, as it lies in ``auto.toml``.

    ``folds`` is 0 where splits are given, and ``settings`` are those given by hand, which go before the members' own.
    ``class_names`` are those of a ``Data``, where they were given.
    """

    dataset: str
    splits: str
    splits_origin: str
    folds: int
    quality: str
    time_limit: float
    settings: Mapping[str, Any]
    members: Sequence[Member]
    class_names: Sequence[str] = ()

    def write(self, folder: Path, training: TrainingConfig) -> None:
        """Put it into a folder, with the metric and the seed that it comes to."""
        import tomli_w

        graph = Path(self.dataset)
        inside = graph.suffix == ".npz" and graph.parent == folder.resolve()
        content = {
            "schema_version": AUTO_VERSION,
            "dataset": graph.name if inside else self.dataset,
            "splits": self.splits,
            "splits_origin": self.splits_origin,
            "folds": self.folds,
            "metric": training.metric,
            "seed": training.seed,
            "quality": self.quality,
            "time_limit": self.time_limit,
            "settings": dict(self.settings),
            **({"class_names": list(self.class_names)} if self.class_names else {}),
            "member": [member.table() for member in self.members],
        }
        write_text(folder / AUTO, tomli_w.dumps(content))

    @classmethod
    def read(cls, folder: Path) -> Asked:
        path = folder / AUTO
        try:
            content = read_toml(path)
        except FileNotFoundError:
            raise InputError(f"'{folder}' is no auto folder: it has no {AUTO}.") from None
        check_version(path, content, AUTO_VERSION)
        named = {"class_names": [str]} if "class_names" in content else {}
        if wrong := misfit(content, _ASKED | named):
            raise InputError(f"'{path}' is damaged: {wrong}.")
        dataset = content["dataset"]
        if dataset.endswith(".npz") and (folder / dataset).is_file():
            dataset = str((folder / dataset).resolve())
        with about(f"'{path}'"):
            check_time(content["time_limit"])
            check_quality(content["quality"])
            members = read_members(content, f"'{path}'")
            check_given(members, content["settings"])
            for member in members:
                member.resolve(content["settings"], dataset, content["splits"])
        given = {name: content[name] for name in (*_ASKED, *named) if name != "dataset"}
        return cls(dataset, **given, members=members)


def check_time(limit: float) -> None:
    if not (limit > 0 and math.isfinite(limit)):
        raise InputError(f"The time limit must be a positive number of seconds. Got {limit} instead.")


def auto(
    data: Data | str | None = None,
    *,
    tables: TableOptions | None = None,
    splits: str | None = None,
    folds: int | None = None,
    time_limit: float | None = None,
    quality: str = QUALITY,
    portfolio: str | Path | None = None,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    class_names: Sequence[str] = (),
    data_mirror: str | Path | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> AutoResult:
    """Train a portfolio of models on a graph, and keep them with their ensemble in a folder.

    With given splits every split has an ensemble of its own, weighted on its validation nodes. Without, all labels are
    used: each fold is predicted by models trained on the others, and the ensemble is weighted on these predictions.

    The time limit counts from when the graph is loaded. In its first half members have a turn, and are stopped, with
    their best weights so far, when they have used one and a half times their share and 30 epochs (the first: 20 s,
    or a fifteenth of the limit if that is more), or when their scores hardly rise any more. Where all splits take long,
    all but the first are tried on a fifth of them. Then those that were stopped go on, and those that are level with
    the best, or weigh in an ensemble of all that were tried, are trained on all splits, what weighs most first; those
    that hardly rise go on last. One is not started when the time left is less than a quarter of what those before it
    took on average, and given up when it is not enough for 60 epochs. One that is far behind the best so far has a
    quarter of its patience.
    Interrupted by Ctrl-C, it ends with the members that are finished; before the first, the interruption goes on.

    Args:
        data: A PyTorch Geometric ``Data``, a dataset by name or a graph file; by default ``pairs``.
        tables: Your own tables instead.
        splits: Of the given splits, ``all`` (the default), ``3``, ``0,2,5`` or ``0-4``.
        folds: How many, where no split is given; by default 5, and on a graph that is large for the time limit only the
            first of them are trained on.
        time_limit: Seconds, by default 300; a folder gone on with has as many again.
        quality: ``fast``: the first 3 members of the portfolio; ``good``: the first 12, and the others where these
            leave time; ``best``: all.
        portfolio: File of another portfolio than the package's.
        out: Folder; by default ``runs/<time>-<dataset>``.
        resume: Go on with this folder; takes no settings but ``time_limit``.
        class_names: What the classes of a ``Data`` are called in records.
        data_mirror: Folder of published files.
        progress: Is told how the work goes on.
        settings: Settings of graph, training or models, for all members that have them.
    """
    progress = progress or Progress()
    if time_limit is not None:
        check_time(time_limit)
    from glognn.experiments.folder import held, held_for_new_runs, new_folder
    from glognn.training.evaluation import check_named_classes

    if resume is not None:
        given = {"dataset": data, "splits": splits, "portfolio": portfolio, "out": out, "class_names": class_names}
        given |= settings
        given |= vars(tables) if tables else {}
        for name in (name for name, value in given.items() if value):
            raise InputError(f"--resume takes its settings from the folder. Leave out --{name.replace('_', '-')}.")
        folder = Path(resume)
        Asked.read(folder)
        with held(folder):
            asked = Asked.read(folder)
            return _run(folder, asked, time_limit or asked.time_limit, Graphs(data_mirror), progress)
    if tables is not None and data is not None:
        raise InputError("--dataset names a graph, and so do your tables. Leave out one of them.")
    members = choose_members(read_portfolio(None if portfolio is None else Path(portfolio)), quality)
    check_given(members, settings)
    named = (data or DEFAULT_DATASET) if data is None or isinstance(data, str) else None
    label = tables.name if tables else find_source(named).label if named else "graph"
    folder = Path(out) if out else new_folder(Path("runs") / f"{datetime.now():%Y%m%d-%H%M%S}-{label}")
    with held_for_new_runs(folder, new=not out):
        if tables is not None:
            used = 0 if tables.split_column or tables.random_splits or tables.fractions else folds or FOLDS
            dataset = make_graph(replace(tables, folds=used), folder, progress)
            origin = _tables_origin(folder)
        else:
            dataset, origin, used = _place_graph(named, data, folder, folds or FOLDS, settings, data_mirror)
        if used and folds is None and splits is None:
            trained = _folds_in_time(dataset, used, time_limit or TIME_LIMIT, str(settings.get("device", "auto")))
            if trained < int(origin.split()[0]):  # folds that were made: fewer where a class has fewer nodes
                splits, origin = (
                    f"0-{trained - 1}" if trained > 1 else "0",
                    f"{origin}, of which {trained} {'is' if trained == 1 else 'are'} trained on in the time given",
                )
        asked = Asked(
            dataset,
            splits or "all",
            origin,
            used,
            quality,
            time_limit or TIME_LIMIT,
            settings,
            members,
            class_names,
        )
        first, *_ = [member.resolve(settings, dataset, splits) for member in members]
        graphs = Graphs(data_mirror)
        check_named_classes(graphs.of(first).graph, first.training)
        asked.write(folder, first.training)
        return _run(folder, asked, asked.time_limit, graphs, progress)


def _folds_in_time(dataset: str, folds: int, limit: float, device: str) -> int:
    """How many of the folds to train on: one well-trained model is better than five that have hardly begun."""
    from glognn.data.npz import read_sizes
    from glognn.training.devices import resolve_device

    nodes, edges = read_sizes(Path(dataset))
    size = nodes + edges / 10
    found = folds * SIZE_PER_SECOND[resolve_device(device).type] * limit / size
    return int(min(max(found, 1), folds))


def _tables_origin(folder: Path) -> str:
    from glognn.data.table_graph import KeptTables

    return str(KeptTables.load(folder).read["splits"])


def _place_graph(
    named: str | None,
    data: Data | str | None,
    folder: Path,
    folds: int,
    settings: Mapping[str, Any],
    mirror: str | Path | None,
) -> tuple[str, str, int]:
    """The dataset to train on, where its splits are from, and how many folds they are.

    A ``Data``, and a graph without splits, which then gets folds, are written into the folder.
    """
    from glognn.data.npz import write_npz
    from glognn.data.splits import add_folds

    if named is not None:
        source = find_source(named)
        if source.kind != "file":
            return source.name, "", 0
        data = load_source(source, mirror=None if mirror is None else Path(mirror)).data
        if "train_mask" in data:
            return source.name, "given with the graph", 0
    assert data is not None
    assert not isinstance(data, str)
    kept, origin, used = data, "given with the graph", 0
    if getattr(data, "train_mask", None) is None:
        kept = data.clone()
        used, origin = folds, add_folds(kept, folds, int(settings.get("seed", 0)))
    write_npz(kept, folder / GRAPH)
    return str((folder / GRAPH).resolve()), origin, used


def _run(folder: Path, asked: Asked, limit: float, graphs: Graphs, progress: Progress) -> AutoResult:
    from glognn.data.table_graph import KeptTables
    from glognn.experiments.entrants import available_splits, enter
    from glognn.experiments.members import Contest

    configs = [member.resolve(asked.settings, asked.dataset, asked.splits) for member in asked.members]
    loaded = graphs.of(configs[0])
    splits = available_splits(configs[0], loaded.graph)
    entrants = [enter(folder, *pair, splits) for pair in zip(asked.members, configs, strict=True)]
    names = KeptTables.load(folder).classes.names if (folder / TABLES).is_file() else asked.class_names or None
    if names is not None and len(names) != loaded.graph.num_classes:
        raise InputError(f"There must be {loaded.graph.num_classes} names of classes. Got {len(names)} instead.")
    contest = Contest(
        folder,
        entrants,
        graphs,
        origin=asked.splits_origin,
        folds=asked.folds > 0,
        names=names,
        first=QUALITIES[asked.quality],
        progress=progress,
    )
    progress.on_graph(loaded)
    advice = advise_metric(contest.facts, contest.training.metric) if (folder / TABLES).is_file() else []
    progress.on_description(contest.description, advice)
    progress.on_begin(Work("members", len(entrants), contest.finished, 1, folder))
    record = contest.run(limit)
    if not (folder / DONE).exists():
        seal(folder, measure_tables(asked.dataset))
    return AutoResult(folder, record)
