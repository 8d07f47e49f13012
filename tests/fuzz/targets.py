"""Every kind of file that the program reads, as it writes it itself, and how it is read."""

from __future__ import annotations

import contextlib
import io
import json
import random
import shutil
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from glognn import GloGNNClassifier
from glognn.bench.config import BenchConfig
from glognn.bench.records import empty_row, make_record, write_record
from glognn.cli.main import app
from glognn.data.layout import SHARDS
from glognn.data.npz import write_npz
from glognn.data.table_changes import read_changes
from glognn.data.table_graph import KeptTables, TableOptions, graph_from_tables
from glognn.data.tables import read_table, write_table
from glognn.distributed.ranks import Ranks
from glognn.distributed.shards import Shards
from glognn.errors import GloGNNError
from glognn.experiments.auto import auto
from glognn.experiments.batches import Batch, make_batches
from glognn.experiments.comparison import compare
from glognn.experiments.config import resolve
from glognn.experiments.folder import find_runs, load_model
from glognn.experiments.integrity import MANIFEST
from glognn.experiments.layout import CLASSIFIER, DONE
from glognn.experiments.leaderboard import leaderboard
from glognn.experiments.plan import Job
from glognn.experiments.portfolio import read_portfolio
from glognn.experiments.progress import Progress
from glognn.experiments.reports import read_report
from glognn.experiments.run import load_graph
from glognn.experiments.saved import open_saved
from glognn.experiments.train import train_models
from glognn.experiments.tune import tune
from glognn.graph.graph import Graph
from glognn.report.html import document_html
from glognn.report.listing import find_groups
from glognn.report.overview import folder_document
from glognn.storage import write_json
from tests.conftest import make_data
from tests.fuzz import damage
from tests.fuzz.damage import Damage, damaged

QUICK: dict[str, Any] = {"epochs": 2, "hidden_channels": 4, "checkpoint_interval": 0.0, "threads": 1, "device": "cpu"}
STUDY: dict[str, Any] = {"trials": 3, "splits": "0", "sampler": "random", "workers": 1, **QUICK}


@dataclass(frozen=True)
class Target:
    """A file below the folder of all of them, how it is damaged knowingly, and how it is read; ``writes``: reading it
    changes the folder.
    """

    pattern: str
    knowing: Damage
    read: Callable[[Path], object]
    writes: bool = False


def _command(*arguments: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        app(list(arguments), standalone_mode=False)


def _graph(path: Path) -> None:
    [config] = resolve([], None, {}, str(path), None)
    load_graph(config)


def _tables(nodes: str, edges: str) -> Callable[[Path], object]:
    def read(path: Path) -> object:
        folder = path.parent
        options = TableOptions(nodes=folder / nodes, edges=folder / edges, label="y", random_splits=2)
        return Graph.from_data(graph_from_tables(options)[1])

    return read


def _runs(path: Path) -> None:
    find_runs(path.parent)
    open_saved(path.parent)


def _report(path: Path) -> None:
    read_report(path.parent)
    open_saved(path.parent)
    for group in find_groups(path.parent):
        group.record()


def _batches(path: Path) -> None:
    folder = path.parents[1]
    [(_, config)] = find_runs(folder)
    make_batches([Job(folder / f"split-{split}", config, split, "mlp", "default") for split in (0, 1)], group=folder)


def _kept(path: Path) -> None:
    folder = path.parent
    read_changes(KeptTables.load(folder), folder.parent / "new.csv", None)


def _predicted(path: Path) -> None:
    open_saved(path.parent).predict()


def _predicted_by_run(path: Path) -> None:
    open_saved(path.parents[1]).predict()


def _shards(path: Path) -> None:
    folder = next(place for place in path.parents if (place / SHARDS).exists())
    load_graph(resolve([], None, {}, str(folder), None)[0])
    Shards.open(folder).read_for(Ranks())


def _classifier(path: Path) -> None:
    GloGNNClassifier.load(path.parent).predict_proba()


def _ids(path: Path) -> None:
    _command("predict", str(path.parent / "run"), "--ids", str(path), "-o", str(path.with_name("found.csv")))


def _labels(path: Path) -> None:
    out = str(path.with_name("evaluated"))
    _command("evaluate", str(path.parent / "run"), "--labels", str(path), "-o", out)


def _new(path: Path) -> None:
    _command("predict", str(path.parent / "run"), "--nodes", str(path), "-o", str(path.with_name("found.csv")))


def _resume(path: Path) -> None:
    train_models(resume=path.parents[1])


def _leaderboard(path: Path) -> None:
    leaderboard(path.parent)
    open_saved(path.parent).predict()


def _resume_auto(path: Path) -> None:
    auto(resume=next(place for place in path.parents if (place / "auto.toml").exists()))


def _page(path: Path) -> None:
    document_html(folder_document(path if path.stem == "bench" else path.parent, path.parent))


def _study(path: Path) -> None:
    tune("pairs", "mlp", best=True, out=path.parent, **STUDY)


TARGETS: dict[str, Target] = {
    "npz": Target("graph.npz", damage.npz, _graph),
    "npz, sparse": Target("sparse.npz", damage.npz, _graph),
    **{
        f"{which}, {kind}": Target(f"{which}.{kind}", how, _tables(f"nodes.{kind}", f"edges.{kind}"))
        for kind, how in (
            ("csv", damage.csv_text),
            ("parquet", damage.parquet_table),
            ("feather", damage.feather_table),
        )
        for which in ("nodes", "edges")
    },
    "ids": Target("ids.csv", damage.csv_text, _ids),
    "labels": Target("labels.csv", damage.csv_text, _labels),
    "new nodes": Target("new.csv", damage.csv_text, _new),
    "done": Target("sealed/DONE", damage.json_text, _predicted),
    "config": Target("run/config.toml", damage.toml_text, _runs),
    "config of several": Target("both/config.toml", damage.toml_text, _runs),
    "settings": Target("settings.toml", damage.toml_text, lambda path: resolve([], str(path), {}, None, None)),
    "report": Target("run/report.json", damage.json_text, _report),
    "report of several": Target("both/mlp/report.json", damage.json_text, _report),
    "tables.json": Target("run/tables.json", damage.json_text, _kept),
    "kept ids": Target("run/nodes.parquet", damage.parquet_table, _kept),
    "kept graph": Target("run/graph.npz", damage.npz, _predicted),
    "together": Target("both/mlp/together/*.json", damage.json_text, _batches, writes=True),
    "model": Target("run/model.safetensors", damage.safetensors, lambda path: load_model(path)),
    "model of a run": Target("run/model.safetensors", damage.safetensors, _predicted),
    "checkpoint": Target("begun/checkpoint/latest.safetensors", damage.safetensors, _resume, writes=True),
    "classifier": Target("classifier/estimator.json", damage.json_text, _classifier),
    "classifier's model": Target("classifier/model-*.safetensors", damage.safetensors, _classifier),
    "classifier's graph": Target("classifier/graph-*.npz", damage.npz, _classifier),
    "portfolio": Target("portfolio.toml", damage.toml_text, lambda path: read_portfolio(path)),
    "auto": Target("auto/auto.toml", damage.toml_text, _resume_auto, writes=True),
    "ensemble": Target("auto/ensemble.json", damage.json_text, _leaderboard),
    "ensemble gone on with": Target("auto/ensemble.json", damage.json_text, _resume_auto, writes=True),
    "probabilities": Target("auto/members/mlp/split-0/probabilities.npy", damage.any_bytes, _resume_auto, writes=True),
    "auto loaded": Target("auto/auto.toml", damage.toml_text, _classifier),
    "classifier of an ensemble": Target("several/estimator.json", damage.json_text, _classifier),
    "study": Target("study/study.json", damage.json_text, _study, writes=True),
    "journal": Target("study/study.journal", damage.journal, _study, writes=True),
    "refit": Target("run/refit/refit.json", damage.json_text, _predicted_by_run),
    "shards": Target("shards/shards.json", damage.json_text, _shards),
    "nodes of a part": Target("shards/part-00000/nodes.arrow", damage.feather_table, _shards),
    "edges of a part": Target("shards/part-00001/edges.arrow", damage.feather_table, _shards),
    "features of a part": Target("sparse-shards/part-00001/features.arrow", damage.feather_table, _shards),
    "table": Target("table1/table.json", damage.json_text, _page),
    "bench": Target("bench.json", damage.json_text, _page),
}


class _Interrupted(Progress):
    def on_epoch_end(self, metrics: dict[str, float]) -> None:
        if metrics["epoch"] == 2:
            raise KeyboardInterrupt


def make_files(folder: Path) -> None:
    """All kinds of files in a new folder."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _make_files(folder)


def _make_files(folder: Path) -> None:
    data = make_data(num_nodes=40, num_splits=2)
    write_npz(data, folder / "graph.npz")
    sparse = data.clone()
    sparse.x = data.x.relu().to_sparse_csr()
    write_npz(sparse, folder / "sparse.npz")
    values = zip(data.x[:, 0].tolist(), data.y.tolist(), strict=True)
    rows = [f"{node},{x:.4f},{'red' if node % 2 else 'blue'},{'abc'[y]}" for node, (x, y) in enumerate(values)]
    texts = {
        "nodes": ["id,x,colour,y", *rows],
        "edges": ["from,to", *(f"{first},{second}" for first, second in data.edge_index.T.tolist())],
        "ids": ["id", "3", "5", "7"],
        "labels": ["id,y", "3,a", "5,b", "7,c"],
        "new": ["id,x,colour", "100,0.5,red", "101,0.25,blue"],
    }
    for name, lines in texts.items():
        (folder / f"{name}.csv").write_text("\n".join([*lines, ""]))
    for name in ("nodes", "edges"):
        for kind in ("parquet", "feather"):
            write_table(read_table(folder / f"{name}.csv"), folder / f"{name}.{kind}")
    tables = TableOptions(nodes=folder / "nodes.csv", edges=folder / "edges.csv", label="y")
    train_models(model="mlp", tables=tables, out=folder / "run", refit=True, **QUICK)
    shutil.copy(folder / "run/config.toml", folder / "settings.toml")
    for name, given in (("shards", "graph.npz"), ("sparse-shards", "sparse.npz")):
        _command("shard", str(folder / given), str(folder / name), "--parts", "2")
    graph = str(folder / "graph.npz")
    train_models(graph, ["mlp", "gcn"], out=folder / "both", **QUICK)
    with contextlib.suppress(KeyboardInterrupt):
        train_models(graph, "mlp", splits="0", out=folder / "begun", progress=_Interrupted(), **(QUICK | {"epochs": 3}))
    members = [f'[[member]]\nname = "{name}"\nmodel = "{name}"\ndropout = 0.3\n' for name in ("mlp", "gcn")]
    (folder / "portfolio.toml").write_text("".join(members))
    auto(graph, splits="0", portfolio=folder / "portfolio.toml", out=folder / "auto", **QUICK)
    tune("pairs", "mlp", out=folder / "study", **STUDY)
    scores = {("cora", "mlp"): {(0, split): {"scores": {"best": {"test": 0.5 + split / 9}}} for split in (0, 1)}}
    found = compare(scores, ["cora"], ["mlp"], judged="best", wanted={("cora", "mlp"): 2})
    write_json(folder / "table1" / "table.json", [found.record()])
    record = make_record(BenchConfig(), torch.device("cpu"))
    record["rows"] = [empty_row("cora", "gcn") | {"epoch_ms": {"median": 1.5, "lower": 1.0, "upper": 2.0}}]
    write_record(folder / "bench.json", record)
    classifier = GloGNNClassifier(hidden_channels=4, epochs=2).fit(data)
    classifier.save(folder / "classifier")
    GloGNNClassifier.load(folder / "auto").save(folder / "several")
    both = folder / "both/mlp"
    [(_, config)] = find_runs(both)
    (both / "split-1/DONE").unlink()
    batch = Batch(both, tuple(Job(both / f"split-{split}", config, split, "mlp", "default") for split in (0, 1)))
    batch.begin()
    _forget_files(folder)


def _forget_files(folder: Path) -> None:
    """Leave no sha256 of a file anywhere, as earlier versions did, but in the folder ``sealed``: what was changed is
    refused by it before it is read.
    """
    shutil.copytree(folder / "run", folder / "sealed")
    for path in folder.rglob(DONE):
        if path.parent.name != "sealed":
            path.write_text("")
    for name in ("classifier", "several"):
        record = json.loads((folder / name / CLASSIFIER).read_text())
        del record[MANIFEST]
        (folder / name / CLASSIFIER).write_text(json.dumps(record))
    for name in ("shards", "sparse-shards"):
        record = json.loads((folder / name / SHARDS).read_text())
        del record["files"]
        (folder / name / SHARDS).write_text(json.dumps(record))


class Fuzzer:
    """Damages the files of a folder, by default of a new one, and reads them in a copy of it."""

    def __init__(self, whole: Path | None = None) -> None:
        self._place = tempfile.TemporaryDirectory(prefix="glognn-fuzz-")
        self.whole, self.work = whole or Path(self._place.name) / "whole", Path(self._place.name) / "work"
        if whole is None:
            self.whole.mkdir()
            make_files(self.whole)
        shutil.copytree(self.whole, self.work)
        self.paths = {name: self._only(target.pattern) for name, target in TARGETS.items()}

    def _only(self, pattern: str) -> Path:
        [path] = self.whole.glob(pattern)
        return path.relative_to(self.whole)

    def damage(self, name: str, seed: int) -> bytes:
        chance = random.Random(f"{name} {seed}")
        return damaged((self.whole / self.paths[name]).read_bytes(), TARGETS[name].knowing, chance)

    def read(self, name: str, content: bytes) -> str:
        """Read a file with another content: how it was refused, or nothing where it was read. Whatever else is raised
        is for the caller to see, and so is a refusal that is not one line which names the file, its folder, or another
        file that it does not fit.
        """
        path = self.work / self.paths[name]
        path.write_bytes(content)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                TARGETS[name].read(path)
        except GloGNNError as error:
            message = str(error)
            if len(message.splitlines()) != 1 or str(self.work) not in message:
                raise AssertionError(f"refused with {message!r}") from error
            return message
        finally:
            if TARGETS[name].writes:
                top = self.paths[name].parts[0]
                shutil.rmtree(self.work / top)
                shutil.copytree(self.whole / top, self.work / top)
            else:
                path.write_bytes((self.whole / self.paths[name]).read_bytes())
        return ""
