"""GloGNNClassifier on tables and frames, with every model and every form of a graph; and what load_model finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from torch_geometric.data import Data

import glognn
from glognn import GloGNNClassifier, InputError
from glognn.data.table_graph import TableOptions
from glognn.errors import DataWarning
from glognn.models.configs import MODELS
from tests.cli.test_tables import frames
from tests.conftest import make_data

QUICK: dict[str, Any] = {"epochs": 3, "threads": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def fitted() -> GloGNNClassifier:
    nodes, edges = frames()
    return GloGNNClassifier.from_tables(nodes, edges, id="who", label="fraud", **QUICK)


@pytest.mark.parametrize("model", MODELS)
def test_every_model_is_fitted_by_its_name(model: str) -> None:
    data = make_data(num_splits=1)
    classifier = GloGNNClassifier(model, **QUICK).fit(data)
    assert classifier.model_.config_class.name == model
    assert classifier.predict_proba().shape == (60, 3)
    config = classifier.model_.config
    usual, used = type(config)().as_dict(), config.as_dict()
    assert {name for name in usual if used[name] != usual[name]} <= {*config.settles}
    assert not config.undecided


def test_settings_of_any_model_are_parameters_and_unknown_ones_are_not() -> None:
    classifier = GloGNNClassifier("trees", num_leaves=4, epochs=2).fit(make_data(num_splits=1))
    assert classifier.model_.config.num_leaves == 4
    assert clone(classifier).get_params()["num_leaves"] == 4
    with pytest.raises(TypeError, match="no parameter 'num_leafs'. Did you mean 'num_leaves'?"):
        GloGNNClassifier("trees", num_leafs=4)


def test_tables_are_read_as_the_command_line_reads_them(fitted: GloGNNClassifier, tmp_path: Path) -> None:
    nodes, edges = frames()
    nodes.to_parquet(tmp_path / "nodes.parquet")
    edges.to_csv(tmp_path / "edges.csv", index=False)
    options = TableOptions(nodes=tmp_path / "nodes.parquet", edges=tmp_path / "edges.csv", id="who", label="fraud")
    run = glognn.train_models(model="glognn++", tables=options, out=tmp_path / "run", **QUICK)
    loaded = GloGNNClassifier.load(run.folder)
    assert torch.equal(loaded.data_.x, fitted.data_.x)
    assert torch.equal(loaded.data_.edge_index, fitted.data_.edge_index)
    assert loaded.encoding_ == fitted.encoding_
    assert fitted.classes_.tolist() == ["no", "yes"]
    who = nodes["who"][[5, 3]].tolist()
    np.testing.assert_array_equal(fitted.predict(who), fitted.transduction_[[5, 3]])
    np.testing.assert_array_equal(loaded.predict(who), loaded.transduction_[[5, 3]])
    again = GloGNNClassifier.from_tables(
        tmp_path / "nodes.parquet", edges[["from", "to"]].to_numpy(), id="who", label="fraud", **QUICK
    )
    np.testing.assert_array_equal(again.predict_proba(), fitted.predict_proba())


def test_new_nodes_of_tables_and_a_saved_classifier(fitted: GloGNNClassifier, tmp_path: Path) -> None:
    nodes, _ = frames()
    new = nodes[:2].assign(who=["a", "b"], plan=["gold", "pro"]).drop(columns="fraud")
    links = pd.DataFrame({"from": ["a", "b"], "to": [nodes["who"][0], "a"]})
    with pytest.warns(DataWarning, match="'plan' in 1 of 2 rows"):
        wanted = fitted.predict_proba(new, edges=links)
    fitted.save(tmp_path / "model")
    loaded = glognn.load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(), fitted.predict_proba())
    with pytest.warns(DataWarning, match="'plan' in 1 of 2 rows"):
        np.testing.assert_allclose(loaded.predict_proba(new, edges=links.to_numpy()), wanted, rtol=1e-6)
    assert loaded.predict([nodes["who"][7]]) == fitted.transduction_[7]
    assert loaded.origin_.startswith(f"classifier in '{tmp_path / 'model'}': glognn++, validation accuracy")
    fitted.save(tmp_path / "model")
    assert len(list((tmp_path / "model").glob("nodes-*.parquet"))) == 1


def test_ids_are_cross_validated(fitted: GloGNNClassifier) -> None:
    nodes, _ = frames()
    labelled = nodes[nodes["fraud"].notna()]
    found = cross_val_score(clone(fitted), labelled["who"], labelled["fraud"], cv=2)
    assert found.shape == (2,)
    assert ((found >= 0) & (found <= 1)).all()


def test_frames_with_words_dates_and_gaps_are_encoded_and_kept(tmp_path: Path) -> None:
    nodes, edges = frames()
    features = nodes.drop(columns=["fraud"]).set_index("who")
    classifier = GloGNNClassifier("gcn", **QUICK).fit(features, nodes["fraud"], adjacency=edges[["from", "to"]])
    assert [name for name, *_ in classifier.encoding_.described()] == [
        "age", "amount", "plan", "since", "vip", "same"
    ]  # fmt: skip
    table = GloGNNClassifier.from_tables(nodes, edges[["from", "to"]], id="who", label="fraud", model="gcn", **QUICK)
    assert torch.equal(classifier.data_.x, table.data_.x)
    np.testing.assert_array_equal(classifier.predict_proba(features), classifier.predict_proba())
    classifier.save(tmp_path)
    loaded = GloGNNClassifier.load(tmp_path)
    new, n = features[:1], len(nodes)
    one, other = (each.predict_proba(new, edges=np.array([[n], [0]])) for each in (loaded, classifier))
    np.testing.assert_allclose(one, other, rtol=1e-6)


def forms(edges: np.ndarray[Any, Any], n: int) -> dict[str, Any]:
    matrix = sp.csr_array((np.ones(edges.shape[1]), edges), shape=(n, n))
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(edges.T.tolist())
    return {
        "Data": Data(edge_index=torch.from_numpy(edges), num_nodes=n),
        "SciPy": matrix,
        "dense": matrix.toarray(),
        "torch": torch.from_numpy(matrix.toarray()).to_sparse(),
        "edge_index": torch.from_numpy(edges),
        "rows of edges": edges.T,
        "NetworkX": graph,
        "table": pd.DataFrame(edges.T, columns=["source", "target"]),
    }


def test_every_form_of_a_graph_is_taken() -> None:
    data = make_data(num_splits=1)
    edges = np.unique(data.edge_index.numpy(), axis=1)
    edges = np.concatenate([edges, np.stack([np.arange(60), (np.arange(60) + 1) % 60])], axis=1)
    edges = np.unique(edges, axis=1)
    nodes, y = np.arange(60), data.y.numpy()
    found = {
        name: GloGNNClassifier(graph=graph, directed=True, **QUICK).fit(nodes, y).predict(nodes)
        for name, graph in forms(edges, 60).items()
    }
    for name, each in found.items():
        np.testing.assert_array_equal(each, found["Data"], err_msg=name)


def test_nodes_of_a_table_of_words_are_known_by_them() -> None:
    ids = np.array([f"n{number}" for number in range(60)])
    data = make_data(num_splits=1)
    links = pd.DataFrame({"a": ids[data.edge_index[0]], "b": ids[data.edge_index[1]], "weight": 2.0})
    classifier = GloGNNClassifier(graph=links, **QUICK).fit(ids[:40], data.y[:40].numpy())
    assert classifier.data_.edge_weight.unique().tolist() == [2.0]
    assert classifier.predict(["n7", "n50"]).shape == (2,)
    with pytest.raises(InputError, match="must be nodes of the graph. Got 1 others: 'x'"):
        classifier.predict(["x"])
    with pytest.raises(InputError, match=r"must be a list of ids. .* with edges as 'adjacency', not as the param"):
        GloGNNClassifier(graph=links, **QUICK).fit(data.x.numpy(), data.y.numpy())


def test_any_folder_is_loaded_and_said(tmp_path: Path) -> None:
    glognn.write_npz(make_data(num_splits=2), tmp_path / "graph.npz")
    done = glognn.train_models(str(tmp_path / "graph.npz"), ["mlp", "gcn"], out=tmp_path / "runs/a", **QUICK)
    found = glognn.load_model(done.folder)
    assert found.origin_.startswith("run of glognn train in ")
    assert "the best of 2 on validation" in found.origin_
    assert glognn.load_model(done.folder, model="mlp", split=1).model == "mlp"
    weights = glognn.load_model(tmp_path / "runs/a/gcn/split-0/model.safetensors")
    assert type(weights).__name__ == "GCN"
    with pytest.raises(InputError, match=r"runs' holds no trained model: .* Load one of those in it: '.*runs/a'"):
        glognn.load_model(tmp_path / "runs")
    with pytest.raises(InputError, match="There is no folder"):
        glognn.load_model(tmp_path / "nothing")
