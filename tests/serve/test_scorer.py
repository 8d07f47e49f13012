"""What a service answers is what ``glognn predict`` writes, to the bit, whatever kind of folder it serves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from glognn import GloGNNClassifier, InputError, train_models
from glognn.data.table_graph import TableOptions
from glognn.experiments.auto import auto
from glognn.experiments.saved import open_saved
from glognn.serve.description import new_nodes_example
from glognn.serve.held import hold
from glognn.serve.scorer import Scorer, UnknownIdError
from tests.cli.test_tables import Run, frames, glognn, lay_down  # noqa: F401
from tests.conftest import make_data
from tests.program import run

TABLES = ["--nodes", "nodes.csv", "--edges", "edges.csv", "--id", "who", "--label", "fraud", "--edge-weight", "times"]
PORTFOLIO = "".join(f'[[member]]\nname = "{name}"\nmodel = "{name}"\nhidden_channels = 4\n' for name in ("mlp", "gcn"))
KINDS = ("run", "auto")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables with new nodes of them, and a run and an automatic ensemble trained on the rest; not to be changed."""
    place = tmp_path_factory.mktemp("served")
    lay_down(place)
    nodes, edges = frames(seed=1)
    nodes["who"] = "new " + nodes["who"]
    edges["from"] = "new " + edges["from"]
    nodes.to_csv(place / "new.csv", index=False)
    nodes.to_parquet(place / "new.parquet")
    known = set(pd.read_csv(place / "nodes.csv")["who"])
    edges = edges[edges["to"].isin(known)]
    edges.to_csv(place / "new_edges.csv", index=False)
    (place / "portfolio.toml").write_text(PORTFOLIO)
    short = ["--epochs", "3", "--quiet", "--calibrate", "temperature", "--threshold", "recall=0.9"]
    run("train", *TABLES, *short, "--model", "glognn++", "--out", "run", cwd=place)
    short += ["--portfolio", "portfolio.toml", "--folds", "2"]
    run("train", *TABLES, *short, "--out", "auto", cwd=place)
    return place


def posted(folder: Path) -> dict[str, Any]:
    """The new nodes and edges as a client sends them."""
    nodes = pd.read_parquet(folder / "new.parquet")
    nodes["since"] = nodes["since"].dt.strftime("%Y-%m-%d")
    rows = nodes.astype(object).where(nodes.notna(), None).to_dict("records")
    return {"nodes": rows, "edges": pd.read_csv(folder / "new_edges.csv").to_dict("records")}


def scorer(place: Path) -> Scorer:
    found = Scorer(hold(open_saved(place)))
    found.warm()
    return found


def same_bits(answered: list[dict[str, Any]], table: pd.DataFrame) -> None:
    """Ids, classes, probabilities and margins of an answer are those of a table that was written."""
    rows = table.set_index(table.columns[0])
    assert [each["id"] for each in answered] == rows.index.astype(str).tolist()
    assert [each["prediction"] for each in answered] == rows["prediction"].tolist()
    for name in answered[0]["probabilities"]:
        found = np.array([each["probabilities"][name] for each in answered], np.float32)
        assert found.tobytes() == rows[f"probability_{name}"].to_numpy(np.float32).tobytes()
    margins = np.array([each["margin"] for each in answered], np.float32)
    assert margins.tobytes() == rows["margin"].to_numpy(np.float32).tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_known_and_new_nodes_as_predict_writes_them(kind: str, folder: Path, glognn: Run) -> None:  # noqa: F811
    asked = scorer(folder / kind)
    assert glognn("predict", str(folder / kind), "--out", "known.parquet")[0] == 0
    known = pd.read_parquet("known.parquet")
    same_bits(asked.by_ids(known["who"].tolist())["predictions"], known)
    few = [known["who"][7], known["who"][3], known["who"][7]]
    same_bits(asked.by_ids(few)["predictions"], known.set_index("who").loc[few].reset_index())
    new = ["--nodes", str(folder / "new.csv"), "--edges", str(folder / "new_edges.csv")]
    assert glognn("predict", str(folder / kind), *new, "--out", "new.parquet")[0] == 0
    for _ in range(2):
        found = asked.by_rows(**posted(folder), unknown_edges="error")
        assert found["notes"] == []
        same_bits(found["predictions"], pd.read_parquet("new.parquet"))


def test_a_saved_classifier_and_an_ensemble_without_tables(tmp_path: Path) -> None:
    data = make_data()
    x = data.x.numpy()
    GloGNNClassifier(epochs=3, feature_normalization="standard").fit(data).save(tmp_path / "classifier")
    (tmp_path / "portfolio.toml").write_text(PORTFOLIO)
    auto(data, out=tmp_path / "auto", portfolio=tmp_path / "portfolio.toml", epochs=3, threads=1, device="cpu")
    nodes = [{"node": "a", "x": x[3].tolist()}, {"node": 71, "x": x[4].tolist()}]
    edges = [{"source": "a", "target": 5}, {"source": "71", "target": "a"}, {"source": 1, "target": 2}]
    for name in ("classifier", "auto"):
        saved, asked = open_saved(tmp_path / name), scorer(tmp_path / name)
        known, graph = saved.predict()
        same_bits(asked.by_ids(range(graph.num_nodes))["predictions"], known.table().to_pandas())
        found = asked.by_rows(nodes, edges, "error")
        assert [each["id"] for each in found["predictions"]] == ["a", "71"]
        assert found["notes"] == ["Edges left out: 1 between nodes that the graph holds already."]
        dropped = asked.by_rows(nodes, [*edges, {"source": "a", "target": "nobody"}], "drop")
        assert dropped["predictions"] == found["predictions"]
        assert dropped["notes"][0] == "Edges left out: 1 to unknown ids."
        with pytest.raises(InputError, match="from 'a' to 'nobody': post both"):
            asked.by_rows(nodes, [{"source": "a", "target": "nobody"}], "error")
        with pytest.raises(InputError, match="must hold 7 numbers. Got 2 instead"):
            asked.by_rows([{"node": "a", "x": [1, 2]}], [], "error")
        with pytest.raises(InputError, match="must be new. Got '3', which the graph of training holds"):
            asked.by_rows([{"node": 3, "x": x[3].tolist()}], [], "error")
        with pytest.raises(InputError, match="must be unique. Got 'a' twice"):
            asked.by_rows([nodes[0], nodes[0]], [], "error")


def test_weights_and_edges_of_new_nodes_mean_what_they_mean_to_the_classifier(tmp_path: Path) -> None:
    data = make_data(weighted=True)
    fitted = GloGNNClassifier(epochs=3).fit(data)
    fitted.save(tmp_path / "run")
    x, edges, weights = data.x[:2].numpy(), np.array([[60, 61, 61, 4], [3, 60, 5, 61]]), [0.5, 2.0, 1.0, 3.0]
    wanted = fitted.predict_proba(x, edges=edges, edge_weight=np.array(weights))
    nodes = [{"node": 60, "x": x[0].tolist()}, {"node": 61, "x": x[1].tolist()}]
    rows = [
        {"source": source, "target": target, "weight": weight}
        for source, target, weight in zip(*edges.tolist(), weights, strict=True)
    ]
    found = scorer(tmp_path / "run").by_rows(nodes, rows, "error")["predictions"]
    assert [list(each["probabilities"].values()) for each in found] == pytest.approx(wanted, abs=1e-6)


def test_columns_without_features_may_be_there_and_gaps_are_null(folder: Path) -> None:
    asked, body = scorer(folder / "run"), posted(folder)
    first = asked.by_rows(**body, unknown_edges="error")["predictions"]
    bare = [{name: value for name, value in row.items() if name not in ("same", "fraud")} for row in body["nodes"]]
    assert asked.by_rows(bare, body["edges"], "error")["predictions"] == first
    nan = [{name: float("nan") if value is None else value for name, value in row.items()} for row in bare]
    assert asked.by_rows(nan, body["edges"], "error")["predictions"] == first


def test_edges_of_several_tables_and_nodes_without_columns(tmp_path: Path) -> None:
    nodes, edges = frames()
    nodes[["who", "fraud"]].to_csv(tmp_path / "nodes.csv", index=False)
    edges.to_csv(tmp_path / "paid.csv", index=False)
    edges.iloc[::3, :2].set_axis(["caller", "called"], axis=1).to_csv(tmp_path / "called.csv", index=False)
    tables = TableOptions(
        nodes=tmp_path / "nodes.csv",
        edges=[tmp_path / "paid.csv", tmp_path / "called.csv"],
        id="who",
        label="fraud",
        edge_weight="times",
    )
    train_models(model="gcn", tables=tables, out=tmp_path / "run", epochs=2)
    asked = scorer(tmp_path / "run")
    assert asked.node_columns == {"who": "id"}
    assert [set(columns) for columns in asked.edge_columns] == [{"from", "to", "times"}, {"caller", "called"}]
    known = nodes["who"].tolist()
    paid = pd.DataFrame({"from": ["new", "new"], "to": known[:2], "times": [2, 3]})
    called = pd.DataFrame({"caller": known[3:4], "called": ["new"]})
    rows = [paid.to_dict("records")[0], *called.to_dict("records"), paid.to_dict("records")[1]]
    found = asked.by_rows([{"who": "new"}], rows, "error")["predictions"]
    paid.to_csv(tmp_path / "new_paid.csv", index=False)
    called.to_csv(tmp_path / "new_called.csv", index=False)
    (tmp_path / "new.csv").write_text("who\nnew\n")
    files = [tmp_path / "new_paid.csv", tmp_path / "new_called.csv"]
    wanted, _ = open_saved(tmp_path / "run").predict_new(tmp_path / "new.csv", files)
    same_bits(found, wanted.table().to_pandas())


def test_the_example_of_the_document_is_answered(folder: Path) -> None:
    asked = scorer(folder / "run")
    example = new_nodes_example(asked)
    assert set(example["nodes"][0]) == {"who", "age", "amount", "plan", "since", "vip"}
    assert asked.by_rows(**example, unknown_edges="error")["predictions"][0]["id"] == example["nodes"][0]["who"]


def test_unknown_ids_are_named(folder: Path) -> None:
    with pytest.raises(UnknownIdError, match="no id 'nobody', '7'. Ids count as they are written"):
        scorer(folder / "run").by_ids(["nobody", 7])


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a column": ({"agee": 3}, "'agee' of node 1 is no column of training. Did you mean 'age'?"),
    "words for numbers": (
        {"age": "old"},
        "column 'age' of the posted nodes must hold numbers. Got string such as 'old'",
    ),
    "no date": ({"since": "yesterday"}, "column 'since' of the posted nodes must hold dates"),
    "no truth": ({"vip": "maybe"}, "column 'vip' of the posted nodes must hold true or false"),
    "a list": ({"plan": ["basic"]}, "'plan' of a posted node must be a single value. Got \"['basic']\" instead"),
    "too large a number": ({"age": 10**400}, "must be of one kind"),
    "infinity": ({"amount": float("inf")}, "must hold finite numbers"),
    "no id": ({"who": None}, "'who' of a posted node must be an id: text or a whole number. Got 'None' instead"),
    "a truth for an id": ({"who": True}, "'who' of a posted node must be an id"),
    "an empty id": ({"who": ""}, "must have an id"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_nodes_are_told_in_one_line(name: str, folder: Path) -> None:
    change, expected = WRONG[name]
    asked = scorer(folder / "run")
    example = new_nodes_example(asked)
    with pytest.raises(InputError) as told:
        asked.by_rows([{**example["nodes"][0], **change}], [], "error")
    assert expected in str(told.value)
    assert len(str(told.value).splitlines()) == 1
