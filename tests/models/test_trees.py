"""Boosted trees: scikit-learn's own scores, the columns they read, and the doors that every model has."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
import warnings
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from torch import Tensor
from torch_geometric.data import Data

from glognn.cli.main import main
from glognn.errors import InputError
from glognn.estimator import GloGNNClassifier
from glognn.experiments import tune
from glognn.experiments.folder import load_model, save_model
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.models import trees
from glognn.models.configs.trees import FEW, WIDE, TreesConfig
from glognn.models.mlp import MLP
from glognn.models.trees import Trees
from glognn.native.library import SWITCH, find_library, why_not
from glognn.training.callbacks import Callback
from glognn.training.checkpoint import Checkpoint, load_tensors
from glognn.training.config import TrainingConfig
from glognn.training.driver import train, train_batch
from glognn.training.engines import Members, choose
from glognn.training.new_nodes import predict_new_nodes
from glognn.training.preflight import sizes_of
from tests.conftest import ENVIRONMENT, make_data

CONFIG = TrainingConfig(epochs=30, early_stopping="none", selection="last", dtype="float64", device="cpu", threads=1)


def table(rows: int = 200, classes: int = 3, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Columns with missing values, a constant one, one that is all missing, and few different values."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, 6))
    x[:, 1] = random.integers(0, 3, size=rows)
    x[:, 2] = 1.5
    x[random.random(rows) < 0.3, 3] = np.nan
    x[:, 4] = np.nan
    y = (x[:, 0] + 0.5 * x[:, 1] + 0.3 * random.normal(size=rows)).argsort().argsort() * classes // rows
    return torch.from_numpy(x), torch.from_numpy(y)


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_scikit_learn(classes: int, weighted: bool) -> None:
    x, y = table(classes=classes)
    weights = torch.rand(120, dtype=torch.float64) if weighted else None
    model = Trees(6, classes, num_trees=40, column_share=0.6).double()
    boosting = model.boosting(x, torch.arange(120), y[:120], weights, seed=3)
    assert [boosting.grow(rounds) for rounds in (1, 5, 33, 90)] == [1, 5, 33, 40]
    wanted = HistGradientBoostingClassifier(
        max_iter=40, learning_rate=0.1, max_leaf_nodes=16, min_samples_leaf=5, l2_regularization=1.0,
        max_features=0.6, max_bins=63, early_stopping=False, random_state=3,
    )  # fmt: skip
    known = x.numpy().copy()
    known[:, 4] = 0.0  # scikit-learn takes no column without a value
    wanted.fit(known[:120], y[:120].numpy(), sample_weight=None if weights is None else weights.numpy())
    scores = wanted._raw_predict(known).reshape(len(x), -1)
    found = model.logits(x).numpy()
    if classes == 2:
        assert (found[:, 0] == 0).all()
        found = found[:, 1:]
    np.testing.assert_allclose(found, scores, rtol=0, atol=1e-12)
    staged = list(wanted.staged_predict_proba(known))
    early = model.grown(x, None, 0, 7).softmax(1).numpy()
    np.testing.assert_allclose(early, staged[6], rtol=0, atol=1e-12)
    later = model.grown(x, model.grown(x, None, 0, 7), 7, 40)
    assert torch.equal(later, model.logits(x))


@pytest.mark.parametrize("classes", [2, 5])
def test_compiled_walks_give_the_same_bits(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if find_library() is None:
        pytest.skip(why_not())
    x, y = table(classes=classes)
    x = x.float()
    model = Trees(6, classes, num_trees=40)
    model.boosting(x, torch.arange(120), y[:120], None, seed=3).grow(40)
    damaged = Trees(6, classes, num_trees=40)
    damaged.load_state_dict(model.state_dict())
    damaged.left.zero_()  # ways that lead back to where they began
    for each in (model, damaged):
        for rows in (0, 1, 64, 65, 200):
            found = [each.grown(x[:rows], None, 0, 40), each.grown(x[:rows], each.grown(x[:rows], None, 0, 7), 7, 40)]
            with monkeypatch.context() as without:
                without.setenv(SWITCH, "0")
                wanted = each.grown(x[:rows], None, 0, 40)
            assert all(torch.equal(scores, wanted) for scores in found)
            assert torch.equal(each.grown(x.T.contiguous().T[:rows], None, 0, 40), wanted)


def test_lower_precision_sends_no_node_to_the_other_side() -> None:
    """Values that lie one step of float32 apart are told apart as in float64."""
    values = [torch.tensor([1.0])]
    while len(values) < 60:
        values.append(torch.nextafter(values[-1], torch.tensor([2.0])))
    x, y = torch.cat(values).unsqueeze(1), torch.arange(60) % 2
    found = []
    for dtype in (torch.float32, torch.float64):
        model = Trees(1, 2, num_trees=30, min_leaf_nodes=1, num_leaves=64, column_share=1.0, leaf_penalty=0.0).to(dtype)
        model.boosting(x.to(dtype), torch.arange(60), y, None, 0).grow(30)
        found.append(model.logits(x.to(dtype)).argmax(1))
    assert torch.equal(found[0], y)
    assert torch.equal(found[1], y)


def test_a_class_without_training_nodes_is_never_the_likeliest() -> None:
    x, y = table(classes=2)
    model = Trees(6, 4, num_trees=20).double()
    model.boosting(x, torch.arange(200), 2 * y, None, 0).grow(20)
    scores = model.logits(x)
    assert torch.isfinite(scores).all()
    assert set(scores.argmax(1).tolist()) == {0, 2}
    two = Trees(6, 2, num_trees=20).double()
    two.boosting(x, torch.arange(200), y, None, 0).grow(20)
    torch.testing.assert_close(scores[:, 2] - scores[:, 0], two.logits(x).diff(dim=1).squeeze(1))


def neighbours(data: Data, node: int, outgoing: bool) -> Tensor:
    source, target = data.edge_index if outgoing else data.edge_index.flip(0)
    return torch.unique(target[source == node])


@pytest.mark.parametrize("features", [1, FEW, FEW + 1])
@pytest.mark.parametrize("directed", [False, True])
def test_columns(features: int, directed: bool) -> None:
    """Own features, and of each direction degree, means of three hops, minimum and maximum; nan without neighbours."""
    data = make_data(30, num_features=features, num_edges=40)
    graph = Graph.from_data(data, GraphConfig(directed=directed), dtype=torch.float64)
    found = Trees(features, 3, mean_hops=3).double().prepare(graph)
    if not directed:
        data.edge_index = torch.cat([data.edge_index, data.edge_index.flip(0)], 1)
    x, isolated = data.x.double(), 0
    wanted = [x]
    for way in (True, False) if directed else (True,):
        near = [neighbours(data, node, way) for node in range(30)]
        degrees = torch.tensor([[float(len(each))] for each in near], dtype=torch.float64)
        seen = torch.cat([x, degrees], 1)
        empty = torch.full((features + 1,), torch.nan, dtype=torch.float64)
        isolated += sum(not len(each) for each in near)
        means = [seen]
        for _ in range(3):
            means.append(torch.stack([means[-1][each].nanmean(0) for each in near]))
        wanted += [degrees, *means[1:]]
        if features <= FEW:
            wanted += [torch.stack([seen[each].amin(0) if len(each) else empty for each in near])]
            wanted += [torch.stack([seen[each].amax(0) if len(each) else empty for each in near])]
    torch.testing.assert_close(found, torch.cat(wanted, 1), equal_nan=True)
    assert isolated
    assert found.shape[1] == features + (1 + directed) * TreesConfig(mean_hops=3).neighbour_columns(features)


def wide_graph(**settings: Any) -> Graph:
    data = make_data(80, num_features=WIDE + 20, num_edges=200, num_splits=3)
    data.x = (data.x > 1.5).float()
    return Graph.from_data(data, GraphConfig(**settings), dtype=torch.float64)


def test_many_features_are_replaced_by_the_directions_in_which_they_vary_most() -> None:
    graph = wide_graph()
    model = Trees(WIDE + 20, 3, num_directions=5).double()
    model.learn_inputs(graph)
    assert not isinstance(graph.x, Tensor)
    dense = graph.x.csr.to_dense()
    torch.testing.assert_close(model.directions.T @ model.directions, torch.eye(5).double())
    most = torch.linalg.svdvals(dense)[:5].square().sum()
    assert 0.99 * most < (dense @ model.directions).square().sum() < 1.000001 * most
    torch.testing.assert_close(model.prepare(graph)[:, :5], dense @ model.directions)
    again = Trees(WIDE + 20, 3, num_directions=5).double()
    again.learn_inputs(graph)
    assert torch.equal(again.directions, model.directions)


def test_fewer_nodes_than_directions() -> None:
    data = make_data(40, num_features=WIDE + 1)
    model = Trees(WIDE + 1, 3, num_directions=64)
    train(model, data, config=replace(CONFIG, dtype="float32", epochs=3))
    assert torch.isfinite(model.logits(model.prepare(Graph.from_data(data)))).all()


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("wide", [False, True])
def test_a_new_node_that_repeats_a_known_one_gets_its_scores(directed: bool, wide: bool) -> None:
    """Known nodes, and so the degrees that new ones see, do not notice new nodes."""
    graph = wide_graph(directed=directed) if wide else Graph.from_data(make_data(), GraphConfig(directed=directed))
    model = Trees.for_graph(graph, TreesConfig())
    train(model, graph, config=replace(CONFIG, dtype="float64" if wide else "float32"))
    scores = model.logits(model.prepare(graph))
    assert len(torch.unique(scores, dim=0)) > 10
    rows, columns = graph.adjacency.matrix.entries()
    features = graph.x if isinstance(graph.x, Tensor) else graph.x.csr.to_dense()
    for node in range(graph.num_nodes):
        if bool((columns[rows == node] == node).any()):
            continue
        new = graph.num_nodes
        out = torch.stack([torch.full_like(columns[rows == node], new), columns[rows == node]])
        into = torch.stack([rows[columns == node], torch.full_like(rows[columns == node], new)])
        twin = predict_new_nodes(model, graph, Data(x=features[[node]], edge_index=torch.cat([out, into], 1)))
        assert torch.equal(twin[0], scores[node]), node


def test_new_nodes_beside_each_other() -> None:
    data = make_data()
    model = Trees(7, 3)
    train(model, data, config=replace(CONFIG, dtype="float32"))
    new = Data(x=torch.rand(100, 7), edge_index=torch.tensor([[60, 61, 159], [61, 62, 3]]))
    scores = predict_new_nodes(model, data, new)
    assert scores.shape == (100, 3)
    assert torch.isfinite(scores).all()


def test_a_graph_without_features_is_judged_by_degrees() -> None:
    data = make_data(num_splits=1)
    data.x = None
    graph = Graph.from_data(data)
    model = Trees.for_graph(graph, TreesConfig())
    result = train(model, graph, config=replace(CONFIG, dtype="float32"))
    assert result.last.train > 0.5
    assert predict_new_nodes(model, graph, Data(edge_index=torch.tensor([[60], [3]]), num_nodes=1)).shape == (1, 3)
    with pytest.raises(InputError, match="'in_channels' parameter of Trees must be the graph's number of features, 0"):
        Trees(7, 3).prepare(graph)


def test_a_model_of_directed_edges_reads_a_graph_whose_edges_go_both_ways() -> None:
    data = make_data()
    data.edge_index = torch.cat([data.edge_index, data.edge_index.flip(0)], 1)
    directed = Graph.from_data(data, GraphConfig(directed=True))
    model = Trees.for_graph(directed, TreesConfig())
    train(model, directed, config=replace(CONFIG, dtype="float32"))
    both = Graph.from_data(data)
    assert model.prepare(both).shape[1] < model.prepare(directed).shape[1]
    torch.testing.assert_close(model.logits(model.prepare(both)), model.logits(model.prepare(directed)))


def test_the_best_round_is_kept_and_later_trees_are_not() -> None:
    data = make_data()
    model = Trees(7, 3, num_trees=50)
    result = train(model, data, config=TrainingConfig(device="cpu", threads=1, patience=20))
    assert 0 < int(model.num_rounds) == result.best.epoch < result.last.epoch
    assert not model.value[int(model.num_rounds) :].any()
    assert result.best.val == max(row["val_accuracy"] for row in result.curve)
    graph = Graph.from_data(data)
    val = graph.masks["val"][:, 0]
    right = model.logits(model.prepare(graph)).argmax(1) == graph.y
    assert float(right[val].double().mean()) == pytest.approx(result.best.val)


def test_epochs_beyond_the_last_tree_change_nothing() -> None:
    model = Trees(7, 3, num_trees=4)
    result = train(model, make_data(), config=CONFIG)
    assert int(model.num_rounds) == 4
    assert len({row["val_loss"] for row in result.curve[3:]}) == 1
    assert len({row["val_loss"] for row in result.curve[:4]}) == 4


class Stop(Callback):
    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def on_epoch_end(self, metrics: dict[str, float]) -> None:
        if metrics["epoch"] == self.epoch:
            raise KeyboardInterrupt


def test_an_interrupted_batch_ends_with_the_same_bits_and_its_checkpoint_is_small(tmp_path: Path) -> None:
    graph = wide_graph()
    configs = [replace(CONFIG, epochs=epochs, seed=seed, selection="best") for seed, epochs in enumerate((12, 25, 40))]

    def run(stop: int = 0, checkpoint: Checkpoint | None = None) -> list[Trees]:
        models = [Trees.for_graph(graph, TreesConfig(shrinkage=rate)) for rate in (0.1, 0.2, 0.05)]
        splits = [0, 1, 2]
        train_batch(models, graph, splits=splits, configs=configs, callbacks=[Stop(stop)], checkpoint=checkpoint)
        return models

    wanted = run()
    place = tmp_path / "latest.safetensors"
    for stop in (3, 14, 31):
        with pytest.raises(KeyboardInterrupt):
            run(stop, Checkpoint(place, interval=0, identity="x"))
    assert place.stat().st_size < 100_000
    assert load_tensors(place)[1]["engine"] == "boosted"
    found = run(checkpoint=Checkpoint(place, interval=0, identity="x"))
    for name, value in found[2].state_dict().items():  # the others had ended before
        assert torch.equal(value, wanted[2].state_dict()[name]), name


def test_what_was_grown_is_not_grown_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same trees, as far as they had grown, and the same ones after them; other rows or seeds have others."""
    inputs, y = table()
    nodes, fits = torch.arange(150), list[int]()
    fit = trees.TreeBoosting._fit
    monkeypatch.setattr(trees.TreeBoosting, "_fit", lambda self: (fits.append(self._grown), fit(self)))
    monkeypatch.setattr(trees, "_KEPT", OrderedDict())

    def grown(rounds: int, seed: int = 0, first: int = 0) -> Tensor:
        model = Trees(6, 3).double()
        model.boosting(inputs, nodes[first:], y[nodes[first:]], None, seed).grow(rounds)
        return model.logits(inputs)

    begun, went_on = grown(20), grown(40)
    assert fits == [16, 32, 48]
    assert torch.equal(grown(20), begun)
    assert torch.equal(grown(40), went_on)
    assert fits == [16, 32, 48]
    assert not torch.equal(grown(20, seed=1), begun)
    assert not torch.equal(grown(20, first=1), begun)
    assert fits == [16, 32, 48, 16, 32, 16, 32]
    trees._KEPT.clear()
    assert torch.equal(grown(40), went_on)


def test_class_weights_and_seeds_decide() -> None:
    x, y = table(classes=2)
    data = make_data(200, num_features=6)
    data.x, data.y = x.nan_to_num(0.0), (y * (torch.arange(200) % 4 == 0)).long()
    found = {}
    for key, config in {
        "plain": CONFIG,
        "again": CONFIG,
        "balanced": replace(CONFIG, class_weight="balanced"),
        "seed": replace(CONFIG, seed=1),
    }.items():
        model = Trees(6, 2)
        train(model, data, config=replace(config, epochs=10))
        found[key] = model(data.x.double(), data.edge_index).softmax(1)[:, 1]
    assert torch.equal(found["plain"], found["again"])
    assert found["balanced"].mean() > found["plain"].mean() + 0.1
    assert not torch.equal(found["plain"], found["seed"])


def test_the_number_of_threads_changes_no_bit() -> None:
    data = make_data(300, num_features=10)
    states = []
    for threads in (1, 2):
        model = Trees(10, 3, num_trees=3)
        train(model, data, config=replace(CONFIG, threads=threads, epochs=3))
        states.append(model.state_dict())
    assert all(torch.equal(value, states[1][name]) for name, value in states[0].items())


def test_which_engine_takes_trees_and_what_is_said_about_it() -> None:
    graph = Graph.from_data(make_data())
    choice = choose(Members(graph, [Trees(7, 3)], [CONFIG], [0]))
    assert choice.engine.name == "boosted"
    assert "not eager, because Trees is fitted on the CPU, without gradients" in choice.reason
    for model, name in ((Trees(7, 3), "stacked"), (Trees(7, 3), "eager"), (MLP(7, 3), "boosted")):
        with pytest.raises(InputError, match=f"The engine '{name}' does not take this run.*gradients"):
            train(model, graph, config=replace(CONFIG, engine=name))


def test_saved_trees_are_read_without_scikit_learn(tmp_path: Path) -> None:
    data = make_data()
    model = Trees(7, 3, num_trees=12)
    train(model, data, config=replace(CONFIG, dtype="float32"))
    save_model(tmp_path / "model.safetensors", model)
    assert torch.equal(load_model(tmp_path)(data.x, data.edge_index), model(data.x, data.edge_index))
    program = (
        "import sys; from glognn.experiments.folder import load_model; import torch; model = load_model('.');"
        "model(torch.rand(60, 7), torch.empty(2, 0, dtype=torch.int64)); print('sklearn.ensemble' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=ENVIRONMENT, cwd=tmp_path
    )
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(("name", "wrong"), [("left", 31), ("right", -1), ("feature", 90), ("num_rounds", 13)])
def test_trees_that_lead_to_nowhere_are_refused(name: str, wrong: int, tmp_path: Path) -> None:
    model = Trees(7, 3, num_trees=12)
    getattr(model, name).view(-1)[0] = wrong
    save_model(tmp_path / "model.safetensors", model)
    with pytest.raises(
        InputError, match=rf"The '{name}' parameter of Trees must be in the range .* Got {wrong} instead"
    ):
        load_model(tmp_path)


def test_the_classifier_takes_trees(tmp_path: Path) -> None:
    data = make_data()
    fitted = GloGNNClassifier(model="trees", epochs=20, device="cpu", threads=1).fit(data)
    assert fitted.scores_["engine"] == "boosted"
    fitted.save(tmp_path)
    loaded = GloGNNClassifier.load(tmp_path)
    assert np.array_equal(loaded.predict_proba(), fitted.predict_proba())
    new = fitted.predict_proba(np.zeros((2, 7)), edges=np.array([[60, 61], [3, 5]]))
    assert np.array_equal(loaded.predict_proba(np.zeros((2, 7)), edges=np.array([[60, 61], [3, 5]])), new)


def test_the_doors_of_every_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables, a search, training, a run that goes on, predictions of known and of new nodes, the classifier."""

    def glognn(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["glognn", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert not ended.value.code, err
        return out

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tune, "worker_count", lambda workers, device: 1)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    rows = [f"{node},{node % 7},{node % 2 * 2 + node % 5},{'ab'[node % 2]}" for node in range(60)]
    (tmp_path / "nodes.csv").write_text("\n".join(["id,size,kind,label", *rows]))
    edges = [f"{node},{(node * 7 + step) % 60}" for node in range(60) for step in (1, 3)]
    (tmp_path / "edges.csv").write_text("\n".join(["from,to", *edges]))
    tables = ["--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "label"]
    training = ["--model", "trees", "--epochs", "12", "--num-trees", "8", "--device", "cpu", "--threads", "1"]
    glognn("train", *tables, *training, "--tune", "2", "--random-splits", "2", "--quiet", "--out", "run")
    reports = [json.loads((tmp_path / f"run/split-{split}/report.json").read_text()) for split in (0, 1)]
    assert [(report["engine"], report["trained_together"]) for report in reports] == [
        ("boosted", 1)
    ] * 2  # searched one by one
    before = (tmp_path / "run/split-0/model.safetensors").read_bytes()
    (tmp_path / "run/split-0/DONE").unlink()
    glognn("train", "--resume", "run", "--quiet")
    assert (tmp_path / "run/split-0/model.safetensors").read_bytes() == before
    glognn("predict", "run", "--out", "all.csv")
    (tmp_path / "new.csv").write_text("id,size,kind\n900,3,2\n901,4,1\n")
    (tmp_path / "new_edges.csv").write_text("from,to\n900,3\n900,901\n")
    glognn("predict", "run", "--nodes", "new.csv", "--edges", "new_edges.csv", "--out", "new-found.csv")
    assert [len((tmp_path / name).read_text().splitlines()) for name in ("all.csv", "new-found.csv")] == [61, 3]
    assert "accuracy" in glognn("evaluate", "run")
    assert GloGNNClassifier.load(tmp_path / "run").predict_proba().shape == (60, 2)


@pytest.mark.parametrize(
    ("features", "nodes", "labels"), [(40, 3000, False), (200, 1500, False), (5, 15_000, False), (5, 15_000, True)]
)
def test_growing_takes_the_memory_that_is_predicted(features: int, nodes: int, labels: bool) -> None:
    """What scikit-learn allocates with all nodes in training, against the prediction less what torch holds."""
    data = make_data(nodes, num_features=features, num_edges=4 * nodes)
    graph = Graph.from_data(data)
    config = TreesConfig(num_trees=4, column_share=1.0, neighbour_labels=labels)
    model = Trees.for_graph(graph, config)
    model.learn_inputs(graph)
    model.learn_labels(torch.arange(nodes), graph.y)
    inputs = model.prepare(graph)
    boosting = model.boosting(inputs, torch.arange(nodes), graph.y, None, 0)
    tracemalloc.start()
    boosting.grow(4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    sizes = sizes_of(graph)
    assert inputs.nbytes == pytest.approx(
        config.input_bytes(sizes) - sizes.adjacency_bytes(loops=False, symmetric=True)
    )
    own = labels * inputs.nbytes  # held beside those that models share
    assert 4 * config.num_activations(sizes) - inputs.nbytes - own == pytest.approx(peak, rel=0.3)
