"""What a practitioner gets on seven sets of tables: our models and others', on the same three 50/25/25 splits.

    python benchmarks/practitioner.py --make runs/practitioner
    python benchmarks/practitioner.py --datasets fraud,social --methods glognn++,glognn2,logistic,boosting,sage
    python benchmarks/practitioner.py --methods auto --time-limit 120 --device cuda --cores 0-5 --threads 2
    python benchmarks/practitioner.py --merge elsewhere.jsonl

Tables are made into ``--data``, a folder for each, with the graph that the package makes of them; where they lie there
already, neither the verified graphs nor readers of tables are needed. Every split of every method is a line of
``--out``, written as soon as it is there; what is there is not done again, so that a run may be stopped, divided and
widened. There is a process for every ``--threads`` of ``--cores``, bound to them. ``--merge`` puts records made
elsewhere in place of those of the same dataset, method and split and writes the Markdown table beside ``--out`` anew.

Datasets: ``fraud`` (accounts with text ids, dates, categories and gaps; few fraudsters, most of whose edges lead to
others), ``social`` (directed, weighted) and ``citations`` are generated; ``reed98``, ``minesweeper``, ``chameleon``
(its 300 most frequent words) and ``twitch-de`` (200 columns) are the verified graphs of ``--verified`` as tables.

Methods: any of our models by name, with defaults (``others``: all but ``glognn++`` and ``glognn2``); ``tuned``:
glognn++ after a search of ``--trials`` trials for each split by itself; ``auto`` within ``--time-limit`` seconds for
all splits together; scikit-learn's ``logistic`` regression and ``boosting`` (HistGradientBoosting), both on features
beside the means of neighbours' features; ``sage``: PyTorch Geometric's GraphSAGE. Scores are computed here, by
scikit-learn, from the probabilities that each method gives. A model that cannot be trained on a graph is said and left
out.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import shutil
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import glognn
from glognn.data.layout import GRAPH, TABLES
from glognn.experiments.workers import do_tasks
from glognn.models.configs import MODELS

if TYPE_CHECKING:
    import pandas as pd

    Frames = tuple[pd.DataFrame, pd.DataFrame]

Numbers = npt.NDArray[Any]
Task = tuple[str, str, str]
"""A dataset, a method and the splits, as numbers with commas."""
SPLITS, TRIALS = 3, 30
OURS = ("glognn++", "glognn2")
LEARNERS = ("logistic", "boosting", "sage")
KEPT = "kept"
"""Folder of what the package keeps of tables, beside the graph: reading that would need a reader of tables."""
LONG = ("auto", "tuned")
"""Methods that are begun first, for they take longest."""


@dataclass(frozen=True)
class Dataset:
    """Tables of a practitioner, and by what they are judged.

    Attributes:
        make: The node table and the edge table, from the folder of verified graphs.
        metric: By the package's name.
        positive: The class that a metric of two classes is about.
        options: Columns with a meaning.
    """

    make: Callable[[Path], Frames]
    metric: str
    positive: str | None = None
    options: dict[str, Any] = field(default_factory=dict)


def fraud(_: Path) -> Frames:
    """5,000 accounts, 4 % of them fraudsters, to whom victims send money; fraudsters look nearly like others."""
    import pandas as pd

    random = np.random.default_rng(18)
    count, bad = 5000, 200
    ids = np.array([f"ACC-{number:06d}" for number in random.choice(10**6, count, replace=False)])
    is_bad = np.zeros(count, bool)
    is_bad[random.choice(count, bad, replace=False)] = True
    age = random.normal(44, 15, count).clip(18, 95)
    balance = random.lognormal(7.5, 1.2, count)
    trusting = np.clip((age - 40) / 30, 0.02, None) * balance**0.3  # victims are old and have money
    nodes = pd.DataFrame({"account": ids})
    nodes["opened"] = pd.Timestamp("2015-01-01") + pd.to_timedelta(
        np.where(is_bad, random.integers(900, 3600, count), random.integers(0, 3600, count)), unit="D"
    )
    nodes["country"] = random.choice(
        ["DE", "FR", "PL", "IT", "XK", "MT"], count, p=[0.35, 0.25, 0.18, 0.16, 0.04, 0.02]
    )
    nodes["channel"] = np.where(
        random.random(count) < np.where(is_bad, 0.6, 0.4), "app", random.choice(["branch", "web"], count)
    )
    nodes["age"] = np.where(random.random(count) < 0.12, np.nan, age.round())
    nodes["balance"] = np.where(random.random(count) < 0.05, np.nan, balance.round(2))
    nodes["logins"] = random.poisson(np.where(is_bad, 14, 11))
    nodes["verified"] = random.random(count) < np.where(is_bad, 0.75, 0.85)
    good, rogues = np.flatnonzero(~is_bad), np.flatnonzero(is_bad)
    among = random.choice(good, (2, 18_000))
    victims = random.choice(good, 1600, p=trusting[good] / trusting[good].sum())
    takers = random.choice(rogues, 1600)
    reverse = random.random(1600) < 0.2
    ring = np.stack([rogues, np.roll(rogues, 1)]), random.choice(rogues, (2, 150))
    ends = np.concatenate([among, np.where(reverse, [takers, victims], [victims, takers]), *ring], axis=1)
    ends = ends[:, ends[0] != ends[1]]
    edges = pd.DataFrame({"payer": ids[ends[0]], "payee": ids[ends[1]]})
    edges["amount"] = random.lognormal(4, 1, len(edges)).round(2)
    nodes["status"] = np.where(is_bad, "fraud", "legit")
    return nodes, edges.sample(frac=1, random_state=0)


def social(_: Path) -> Frames:
    """3,000 members of four groups, each of which follows the next: the direction of an edge says which."""
    import pandas as pd

    random = np.random.default_rng(19)
    count, shares = 3000, [0.4, 0.3, 0.2, 0.1]
    group = random.choice(4, count, p=shares)
    ids = np.array([f"@{name}" for name in random.permutation(10 * count)[:count]])
    members = [np.flatnonzero(group == each) for each in range(4)]
    source = random.choice(count, 24_000, p=(weights := random.pareto(2.5, count) + 0.3) / weights.sum())
    kind = random.choice(3, len(source), p=[0.45, 0.2, 0.35])  # the next group, one's own, anyone
    wanted = np.where(kind == 0, (group[source] + 1) % 4, group[source])
    target = np.array([random.choice(members[each]) for each in wanted])
    target = np.where(kind == 2, random.integers(0, count, len(source)), target)
    edges = pd.DataFrame({"follower": ids[source], "followed": ids[target]})
    edges["likes"] = random.poisson(np.where(kind == 2, 1, 4)) + 1
    edges = edges[source != target]
    nodes = pd.DataFrame({"user": ids, "age": random.normal(28 + 5 * group, 9).clip(13, 90).round()})
    nodes["joined"] = pd.Timestamp("2019-01-01") + pd.to_timedelta(random.integers(0, 2000, count), unit="D")
    nodes["device"] = random.choice(["phone", "tablet", "computer"], count, p=[0.6, 0.1, 0.3])
    nodes["posts"] = random.geometric(1 / (15 + 10 * group))
    nodes["premium"] = random.random(count) < 0.1 + 0.05 * group
    nodes.loc[random.random(count) < 0.1, "age"] = np.nan
    nodes["group"] = np.array(["gamers", "cooks", "runners", "readers"])[group]
    return nodes, edges


def citations(_: Path) -> Frames:
    """2,500 papers of six fields that cite their own, with 150 words that are there or not."""
    import pandas as pd

    random = np.random.default_rng(20)
    count, words = 2500, 150
    topic = random.choice(6, count, p=[0.3, 0.2, 0.16, 0.14, 0.12, 0.08])
    rates = random.beta(0.6, 12, (6, words)) + 0.02
    present = random.random((count, words)) < rates[topic]
    ids = np.array([f"doi:10.1/{number}" for number in random.choice(10**5, count, replace=False)])
    members = [np.flatnonzero(topic == each) for each in range(6)]
    source = random.integers(0, count, 6500)
    own = random.random(len(source)) < 0.75
    target = np.array([random.choice(members[each]) for each in topic[source]])
    target = np.where(own, target, random.integers(0, count, len(source)))
    edges = pd.DataFrame({"citing": ids[source], "cited": ids[target]})[source != target]
    nodes = pd.DataFrame({f"word_{word}": present[:, word].astype(int) for word in range(words)})
    nodes.insert(0, "paper", ids)
    nodes["year"] = random.integers(1995, 2024, count)
    nodes["field"] = np.array(["vision", "speech", "graphs", "theory", "robots", "music"])[topic]
    return nodes, edges


def verified(file: str, names: tuple[str, ...], columns: int | None = None) -> Callable[[Path], Frames]:
    """A verified graph as tables; of sparse features the most frequent columns."""

    def make(folder: Path) -> Frames:
        import pandas as pd

        with np.load(folder / file, allow_pickle=False) as arrays:
            labels, ends = arrays["node_labels"], arrays["edge_index"]
            if "node_metadata" in arrays:
                codes = arrays["node_metadata"]
                features = {f"code_{each}": codes[:, each] for each in range(codes.shape[1])}
            elif "node_features" in arrays:
                features = {f"x{each}": column for each, column in enumerate(arrays["node_features"].T)}
            else:
                import scipy.sparse as sp

                parts = [arrays[f"feat_{name}"] for name in ("data", "indices", "indptr")]
                matrix = sp.csr_array(tuple(parts), shape=tuple(arrays["feat_shape"].tolist())).tocsc()
                often = np.argsort(-np.diff(matrix.indptr), kind="stable")[:columns]
                features = {f"x{each}": matrix[:, [each]].toarray().ravel() for each in often}
        ids = np.array([f"n{number}" for number in range(len(labels))])
        nodes = pd.DataFrame({"node": ids, **features})
        nodes["label"] = [None if each < 0 else names[each] for each in labels]
        return nodes, pd.DataFrame({"from": ids[ends[0]], "to": ids[ends[1]]})

    return make


CODES = [f"code_{each}" for each in range(6)]
DATASETS = {
    "fraud": Dataset(fraud, "average_precision", "fraud", {"id": "account", "label": "status"}),
    "social": Dataset(social, "macro_f1", None, {"id": "user", "label": "group", "edge_weight": "likes"}),
    "citations": Dataset(citations, "accuracy", None, {"id": "paper", "label": "field"}),
    "reed98": Dataset(
        verified("fb100_Reed98.npz", ("first", "second")), "accuracy", None,
        {"id": "node", "label": "label", "category_columns": CODES},
    ),
    "minesweeper": Dataset(
        verified("minesweeper.npz", ("free", "mine")), "roc_auc", "mine", {"id": "node", "label": "label"}
    ),
    "chameleon": Dataset(
        verified("chameleon.npz", ("a", "b", "c", "d", "e"), 300), "accuracy", None, {"id": "node", "label": "label"}
    ),
    "twitch-de": Dataset(
        verified("twitch_DE.npz", ("no", "yes"), 200), "roc_auc", "yes", {"id": "node", "label": "label"}
    ),
}  # fmt: skip


def score(dataset: Dataset, classes: list[str], y: Numbers, probabilities: Numbers) -> float:
    """A metric of nodes' probabilities, by scikit-learn; ``y`` are numbers of classes."""
    from sklearn import metrics

    if dataset.positive is not None:
        positive = classes.index(dataset.positive)
        of = {"average_precision": metrics.average_precision_score, "roc_auc": metrics.roc_auc_score}[dataset.metric]
        return float(of(y == positive, probabilities[:, positive]))
    predicted = probabilities.argmax(axis=1)
    if dataset.metric == "macro_f1":
        return float(metrics.f1_score(y, predicted, average="macro"))
    return float((predicted == y).mean())


def make_tables(name: str, folder: Path, verified_graphs: Path) -> None:
    """The tables of a dataset and the graph that the package makes of them, in a folder."""
    from glognn.data.table_graph import TableOptions, graph_from_tables

    dataset = DATASETS[name]
    nodes, edges = dataset.make(verified_graphs)
    folder.mkdir(parents=True, exist_ok=True)
    nodes.to_csv(folder / "nodes.csv", index=False)
    edges.to_csv(folder / "edges.csv", index=False)
    tables, data = graph_from_tables(
        TableOptions(nodes=folder / "nodes.csv", edges=folder / "edges.csv", random_splits=SPLITS, **dataset.options)
    )
    kept = tables.save(folder / KEPT, data)
    shutil.copyfile(kept, folder / GRAPH)


class Problem:
    """A dataset in a folder: the graph that the package made of its tables, with everyone's splits."""

    def __init__(self, name: str, folder: Path, device: str = "cpu") -> None:
        from glognn.data.sources import find_source, load_source

        self.name, self.dataset, self.device = name, DATASETS[name], device
        self.path = (folder / GRAPH).resolve()
        self.data: Any = load_source(find_source(str(self.path))).data
        kept = json.loads((folder / KEPT / TABLES).read_text(encoding="utf-8"))
        self.classes = [str(each) for each in kept["classes"]["names"]]

    def settings(self) -> dict[str, Any]:
        """What is said to the package; classes of a graph alone have numbers for names."""
        positive = self.dataset.positive and str(self.classes.index(self.dataset.positive))
        return {"metric": self.dataset.metric, "positive_class": positive or "", "device": self.device}

    def judge(self, split: int, part: str) -> Callable[[Numbers], float]:
        """The score of all nodes' probabilities on a part of a split."""
        y = self.data.y.numpy()
        mask = self.data[f"{part}_mask"][:, split].numpy() & (y >= 0)
        return lambda probabilities: score(self.dataset, self.classes, y[mask], probabilities[mask])

    def scores(self, split: int, probabilities: Numbers) -> dict[str, float]:
        return {part: self.judge(split, part)(probabilities) for part in ("val", "test")}

    def learn(self, method: str, split: int) -> dict[str, float]:
        """Scores of a learner that is not ours, on the features that the package makes of the columns."""
        y = self.data.y.numpy()
        train = self.data.train_mask[:, split].numpy() & (y >= 0)
        probabilities = (
            sage(self.data, train, self.judge(split, "val"), len(self.classes), self.device)
            if method == "sage"
            else with_neighbours(self.data, train, method)
        )
        return self.scores(split, probabilities)


def with_neighbours(data: Any, train: Numbers, method: str) -> Numbers:
    """Probabilities of a learner of scikit-learn, on each node's features beside the mean of its neighbours'."""
    import scipy.sparse as sp
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    count, ends = data.num_nodes, data.edge_index.numpy()
    both = np.concatenate([ends, ends[::-1]], axis=1)
    adjacency = sp.csr_array((np.ones(both.shape[1]), (both[0], both[1])), shape=(count, count)).sign()
    degrees = np.asarray(adjacency.sum(axis=1))
    x = data.x.numpy()
    features = np.column_stack([x, adjacency @ x / np.maximum(degrees, 1)[:, np.newaxis], degrees])
    learner: Any = (
        HistGradientBoostingClassifier(random_state=0)
        if method == "boosting"
        else make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    )
    learner.fit(features[train], data.y.numpy()[train])
    found: Numbers = learner.predict_proba(features)
    return found


def sage(data: Any, learned: Numbers, judge: Callable[[Numbers], float], num_classes: int, device: str) -> Numbers:
    """Probabilities of PyTorch Geometric's GraphSAGE at its best validation epoch of at most 500."""
    import torch
    from torch_geometric.nn import GraphSAGE
    from torch_geometric.utils import to_undirected

    torch.manual_seed(0)
    data = data.clone().to(device)
    edges, train = to_undirected(data.edge_index), torch.from_numpy(learned).to(device)
    model = GraphSAGE(data.num_features, 64, num_layers=2, out_channels=num_classes, dropout=0.5).to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    best, kept, since = -1.0, np.empty((0, 0)), 0
    for _ in range(500):
        model.train()
        optimiser.zero_grad()
        loss: Any = torch.nn.functional.cross_entropy(model(data.x, edges)[train], data.y[train])
        loss.backward()
        optimiser.step()
        model.eval()
        with torch.no_grad():
            probabilities = model(data.x, edges).softmax(dim=1).cpu().numpy()
        since += 1
        if (now := judge(probabilities)) > best:
            best, kept, since = now, probabilities, 0
        if since >= 100:
            break
    return kept


def measure(problem: Problem, method: str, splits: list[int], options: argparse.Namespace) -> list[dict[str, float]]:
    """Scores of some splits."""
    if method in LEARNERS:
        return [problem.learn(method, split) for split in splits]
    from glognn.experiments.auto import auto

    wanted = ",".join(map(str, splits))
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        if method == "auto":
            auto(str(problem.path), splits=wanted, out=run, time_limit=options.time_limit, **problem.settings())
        else:
            more: dict[str, Any] = {"tune": options.trials, "workers": 1} if method == "tuned" else {}
            model = "glognn++" if method == "tuned" else method
            glognn.train_models(str(problem.path), model, splits=wanted, out=run, **more, **problem.settings())
        return [problem.scores(split, probabilities_of(run, split)) for split in splits]


def probabilities_of(run: Path, split: int) -> Numbers:
    """Of all nodes, by what a run folder holds of a split."""
    from glognn.experiments.saved import open_saved

    saved = open_saved(run, split=split)
    data, _ = saved.graph()
    found: Numbers = saved.score_all(data)
    return found


def expand(methods: Iterable[str]) -> list[str]:
    """Names of methods, ``others`` as all of them."""
    found: list[str] = []
    for method in methods:
        found += [name for name in MODELS if name not in OURS] if method == "others" else [method]
    return found


def plan(options: argparse.Namespace) -> list[Task]:
    """What is not done yet, the longest first; splits that are searched each by itself are tasks of their own."""
    done = {(record["dataset"], record["method"], record["split"]) for record in read(options.out)}
    tasks: list[Task] = []
    for method in sorted(expand(options.methods.split(",")), key=lambda name: name not in LONG):
        for name in options.datasets.split(","):
            left = [str(split) for split in range(SPLITS) if (name, method, split) not in done]
            tasks += [(name, method, each) for each in (left if method == "tuned" else [",".join(left)]) if each]
    return tasks


def work(tasks: Iterator[Task], options: argparse.Namespace, place: str) -> Iterator[str]:
    """A process: takes cores of its own, and writes the records of each task as they come."""
    held = take_cores(options, Path(place))
    import torch

    torch.set_num_threads(options.threads)
    warnings.simplefilter("ignore", UserWarning)
    for task in tasks:
        if time.time() > options.until:
            continue
        name, method, wanted = task
        splits, begun = [int(each) for each in wanted.split(",")], time.perf_counter()
        try:
            problem = Problem(name, options.data / name, options.device)
            scores = measure(problem, method, splits, options)
        except Exception as error:  # whatever becomes of one method, the others go on
            yield f"{name}, {method}: left out: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
            continue
        seconds = time.perf_counter() - begun
        facts = facts_of(problem, method, seconds, options)
        lines = [
            json.dumps({"dataset": name, "method": method, "split": split, **each, **facts}) + "\n"
            for split, each in zip(splits, scores, strict=True)
        ]
        with options.out.open("a", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write("".join(lines))
        mean = statistics.fmean(100 * each["test"] for each in scores)
        yield f"{name}, {method}, splits {wanted}: {mean:.1f} ({seconds:.0f} s)"
    del held


def take_cores(options: argparse.Namespace, place: Path) -> Any:
    """Bind this process to cores that no other of this command has: a file of each group is locked."""
    for number in range(len(options.cores) // options.threads):
        file = (place / str(number)).open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            continue
        first = number * options.threads
        os.sched_setaffinity(0, options.cores[first : first + options.threads])
        return file
    return None


def facts_of(problem: Problem, method: str, seconds: float, options: argparse.Namespace) -> dict[str, Any]:
    """Under which conditions scores were made."""
    import torch

    from glognn.experiments.environment import machine, versions

    facts: dict[str, Any] = {"metric": problem.dataset.metric, "positive": problem.dataset.positive}
    facts |= {"time_limit": options.time_limit} if method == "auto" else {}
    facts |= {"trials": options.trials} if method == "tuned" else {}
    device = torch.device("cpu" if method in {"logistic", "boosting"} else options.device)
    return facts | {
        "seconds": round(seconds, 1),
        "at_once": len(options.cores) // options.threads,
        "source": source(),
        "versions": versions(),
        "machine": machine(device, options.threads),
        "load": [round(each, 1) for each in os.getloadavg()],
    }


@cache
def source() -> str:
    """A digest of the package's source, by which records of other code are told."""
    found, root = hashlib.sha256(), Path(glognn.__file__).parent
    for path in sorted(each for kind in ("py", "toml", "cpp", "hpp", "h") for each in root.rglob(f"*.{kind}")):
        found.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:12]


def read(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()] if out.is_file() else []


def merge(out: Path, files: Iterable[Path]) -> None:
    """Records of files in place of those of the same dataset, method and split, in the order of the table; those that
    do not say of which source they are, as earlier ones, are left out."""
    known = [each for path in (out, *files) for each in read(path) if "source" in each]
    records = {(each["dataset"], each["method"], each["split"]): each for each in known}
    places = {name: number for number, name in enumerate(DATASETS)}
    ordered = sorted(records, key=lambda key: (places[key[0]], key[1], key[2]))
    out.write_text("".join(json.dumps(records[key]) + "\n" for key in ordered), encoding="utf-8")


def table(records: list[dict[str, Any]]) -> str:
    """Means of test scores over splits, in per cent; of our other models the best by validation, with its name."""
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records:
        cells.setdefault((record["dataset"], record["method"]), []).append(record)

    def mean(dataset: str, method: str, part: str = "test") -> float:
        return statistics.fmean(100 * each[part] for each in cells[dataset, method])

    def cell(dataset: str, method: str) -> str:
        if (dataset, method) not in cells:
            return "not run"
        tests = [100 * each["test"] for each in cells[dataset, method]]
        return f"{statistics.fmean(tests):.1f} ± {statistics.stdev(tests):.1f}" if len(tests) > 1 else f"{tests[0]:.1f}"

    fixed = {
        "glognn++": "glognn++ default", "tuned": f"glognn++ `--tune {TRIALS}`", "glognn2": "glognn2 default",
        "": "best other", "auto": "auto",
        "logistic": "LogisticRegression", "boosting": "HistGradientBoosting", "sage": "PyG GraphSAGE",
    }  # fmt: skip
    lines = [
        f"| test, {SPLITS} splits | {' | '.join(fixed.values())} |",
        "|---" * (len(fixed) + 1) + "|",
    ]
    for name, dataset in DATASETS.items():
        others = [method for place, method in cells if place == name and method in MODELS and method not in OURS]
        row = []
        for method in fixed:
            if method:
                row.append(cell(name, method))
            elif others:
                best = max(others, key=lambda other: mean(name, other, "val"))
                row.append(f"{best} {cell(name, best)} (of {len(others)})")
            else:
                row.append("not run")
        of = f" of {dataset.positive}" if dataset.positive else ""
        lines.append(f"| {name}, {dataset.metric}{of} | {' | '.join(row)} |")
    conditions = {
        "auto": "{time_limit:g} s of training for all splits together",
        "tuned": "a search of {trials} trials for each split by itself",
    }
    notes = []
    for method, text in conditions.items():
        said = sorted({text.format(**record) for record in records if record["method"] == method})
        notes += [f"{method}: {' or '.join(said)}."] if said else []
    where = sorted({place(record) for record in records})
    return "\n".join([*lines, "", *notes, f"Made on {'; '.join(where)}."]) + "\n"


def place(record: dict[str, Any]) -> str:
    """Where a record was made, in words."""
    machine = record["machine"]
    device = f"{machine['gpu']} and " if "gpu" in machine else ""
    return f"{device}{machine['threads']} thread{'s' * (machine['threads'] > 1)} of {machine['processor']}"


def cores_of(text: str) -> list[int]:
    """``0-5`` or ``0,2,4``; by default all that this process may use."""
    if not text:
        return sorted(os.sched_getaffinity(0))
    first, _, last = text.partition("-")
    return list(range(int(first), int(last) + 1)) if last else [int(each) for each in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--methods", default="glognn++,tuned,glognn2,others,auto,logistic,boosting,sage")
    parser.add_argument("--time-limit", type=float, default=120.0, help="seconds of auto")
    parser.add_argument("--trials", type=int, default=TRIALS, help="of the search for each split")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--cores", type=cores_of, default="", help="0-5 or 0,2,4; by default all")
    parser.add_argument("--threads", type=int, default=1, help="cores of a process")
    parser.add_argument("--stop-after", type=float, default=float("inf"), help="seconds after which nothing is begun")
    parser.add_argument("--data", type=Path, default=Path("runs/practitioner"), help="folder of the tables")
    parser.add_argument("--verified", type=Path, default=Path("../shared/data/verified"))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/practitioner.jsonl"))
    parser.add_argument("--merge", type=Path, nargs="*", help="files of records to put into --out; only that is done")
    parser.add_argument("--make", type=Path, help="only write the tables, into this folder")
    options = parser.parse_args()
    options.until = time.time() + options.stop_after
    if options.merge is None:
        data = options.make or options.data
        for name in options.datasets.split(","):
            if not (data / name / GRAPH).is_file():
                make_tables(name, data / name, options.verified)
    if options.make:
        return
    if options.merge is not None:
        merge(options.out, options.merge)
    else:
        with tempfile.TemporaryDirectory() as groups:
            processes = max(1, len(options.cores) // options.threads)
            for message in do_tasks(partial(work, options=options, place=groups), plan(options), processes):
                print(message, flush=True)
    text = table(read(options.out))
    options.out.with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
