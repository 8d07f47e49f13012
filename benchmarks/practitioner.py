"""What a practitioner gets on seven sets of tables: our models and others', on the same three 50/25/25 splits.

    python benchmarks/practitioner.py --datasets fraud,social --methods glognn++,glognn2,logistic,boosting,sage
    python benchmarks/practitioner.py --methods auto --time-limit 120
    python benchmarks/practitioner.py --table

Every split of every method is a line of ``--out``; what is there is not done again, so that a run may be stopped,
divided and widened. ``--table`` writes the Markdown table of the lines beside them. ``--make FOLDER`` only writes the
tables.

Datasets: ``fraud`` (accounts with text ids, dates, categories and gaps; few fraudsters, most of whose edges lead to
others), ``social`` (directed, weighted) and ``citations`` are generated; ``reed98``, ``minesweeper``, ``chameleon``
(its 300 most frequent words) and ``twitch-de`` (200 columns) are the verified graphs of ``--verified`` as tables.

Methods: any of our models by name, with defaults (``others``: all but ``glognn++`` and ``glognn2``); ``tuned``:
glognn++ after a search of 30 trials; ``auto`` within ``--time-limit`` seconds; scikit-learn's ``logistic`` regression
and ``boosting`` (HistGradientBoosting), both on features beside the means of neighbours' features; ``sage``: PyTorch
Geometric's GraphSAGE. Scores are computed here, by scikit-learn, from the probabilities that each method gives. A model
that cannot be trained on a graph is said and left out.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

import glognn
from glognn.data.table_graph import TableOptions, graph_from_tables
from glognn.errors import GloGNNError
from glognn.experiments.auto import auto
from glognn.experiments.environment import machine, versions
from glognn.experiments.saved import open_saved
from glognn.models.configs import MODELS

Frames = tuple[pd.DataFrame, pd.DataFrame]
Numbers = npt.NDArray[Any]
SPLITS, TRIALS = 3, 30
OURS = ("glognn++", "glognn2")
LEARNERS = ("logistic", "boosting", "sage")


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


class Problem:
    """A dataset in a folder: its tables, and the graph that the package makes of them, with everyone's splits."""

    def __init__(self, name: str, folder: Path, verified_graphs: Path, device: str = "cpu") -> None:
        self.name, self.dataset, self.folder, self.device = name, DATASETS[name], folder, device
        nodes, edges = self.dataset.make(verified_graphs)
        folder.mkdir(parents=True, exist_ok=True)
        nodes.to_csv(folder / "nodes.csv", index=False)
        edges.to_csv(folder / "edges.csv", index=False)
        self.tables = TableOptions(
            nodes=folder / "nodes.csv", edges=folder / "edges.csv", random_splits=SPLITS, **self.dataset.options
        )

    def graph(self) -> tuple[list[str], Any]:
        """Names of the classes, and the graph with its masks."""
        tables, data = graph_from_tables(self.tables)
        return [str(name) for name in tables.classes.names], data

    def settings(self) -> dict[str, Any]:
        """What is said to the package."""
        return {"metric": self.dataset.metric, "positive_class": self.dataset.positive or "", "device": self.device}

    def scores(self, run: Path) -> list[dict[str, float]]:
        """Of each split of a run folder."""
        classes, data = self.graph()
        y, found = data.y.numpy(), []
        for split in range(SPLITS):
            probabilities = open_saved(run, split=split).predict()[0].probabilities
            nodes = {name: data[f"{name}_mask"][:, split].numpy() & (y >= 0) for name in ("val", "test")}
            found.append(
                {name: score(self.dataset, classes, y[mask], probabilities[mask]) for name, mask in nodes.items()}
            )
        return found

    def learn(self, method: str) -> list[dict[str, float]]:
        """The same of a learner that is not ours, on the features that the package makes of the columns."""
        classes, data = self.graph()
        y, found = data.y.numpy(), []
        for split in range(SPLITS):
            masks = {name: data[f"{name}_mask"][:, split].numpy() & (y >= 0) for name in ("train", "val", "test")}
            judge = {
                name: (lambda p, mask=mask: score(self.dataset, classes, y[mask], p[mask]))
                for name, mask in masks.items()
            }
            probabilities = (
                sage(data, masks, judge["val"], len(classes), self.device)
                if method == "sage"
                else with_neighbours(data, masks["train"], method)
            )
            found.append({name: judge[name](probabilities) for name in ("val", "test")})
        return found


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


def sage(
    data: Any, masks: dict[str, Numbers], judge: Callable[[Numbers], float], num_classes: int, device: str
) -> Numbers:
    """Probabilities of PyTorch Geometric's GraphSAGE at its best validation epoch of at most 500."""
    from torch_geometric.nn import GraphSAGE
    from torch_geometric.utils import to_undirected

    torch.manual_seed(0)
    data = data.clone().to(device)
    edges, train = to_undirected(data.edge_index), torch.from_numpy(masks["train"]).to(device)
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


def measure(problem: Problem, method: str, time_limit: float) -> list[dict[str, float]]:
    """Scores of each split."""
    if method in LEARNERS:
        return problem.learn(method)
    run = problem.folder / "run"
    if method == "auto":
        auto(tables=problem.tables, out=run, time_limit=time_limit, **problem.settings())
    else:
        model, tune = ("glognn++", TRIALS) if method == "tuned" else (method, None)
        glognn.train_models(model=model, tables=problem.tables, tune=tune, out=run, **problem.settings())
    return problem.scores(run)


def expand(methods: Iterable[str]) -> list[str]:
    """Names of methods, ``others`` as all of them."""
    found: list[str] = []
    for method in methods:
        found += [name for name in MODELS if name not in OURS] if method == "others" else [method]
    return found


def read(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()] if out.is_file() else []


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
    limits = sorted({record["time_limit"] for record in records if record["method"] == "auto"})
    if limits:
        lines += ["", f"auto: {' and '.join(f'{limit:g}' for limit in limits)} s of training for all splits together."]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--methods", default="glognn++,tuned,glognn2,others,auto,logistic,boosting,sage")
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds of auto")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--verified", type=Path, default=Path("../shared/data/verified"))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/practitioner.jsonl"))
    parser.add_argument("--table", action="store_true", help="only write the table of what is there")
    parser.add_argument("--make", type=Path, help="only write the tables, into this folder")
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    records = read(options.out)
    done = {(record["dataset"], record["method"]) for record in records}
    for name in [] if options.table else options.datasets.split(","):
        if options.make:
            Problem(name, options.make / name, options.verified)
            continue
        for method in expand(options.methods.split(",")):
            if (name, method) in done:
                continue
            with TemporaryDirectory() as folder:
                problem = Problem(name, Path(folder), options.verified, options.device)
                begun = time.perf_counter()
                try:
                    scores = measure(problem, method, options.time_limit)
                except GloGNNError as error:
                    print(f"{name}, {method}: {error}", flush=True)
                    continue
                seconds = time.perf_counter() - begun
            facts: dict[str, Any] = {
                "metric": problem.dataset.metric,
                "positive": problem.dataset.positive,
                "seconds": round(seconds, 1),
            }
            facts |= {"time_limit": options.time_limit} if method == "auto" else {}
            facts |= {"versions": versions(), "machine": machine(torch.device(options.device)), "load": os.getloadavg()}
            new = [
                {"dataset": name, "method": method, "split": split, **each, **facts}
                for split, each in enumerate(scores)
            ]
            with options.out.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(record) + "\n" for record in new)
            records += new
            mean = statistics.fmean(100 * each["test"] for each in scores)
            print(f"{name}, {method}: {mean:.1f} ({seconds:.0f} s)", flush=True)
    if not options.make:
        text = table(records)
        options.out.with_suffix(".md").write_text(text, encoding="utf-8")
        print(text)


if __name__ == "__main__":
    main()
