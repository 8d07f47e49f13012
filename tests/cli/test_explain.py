"""``glognn explain`` and ``glognn audit`` on a small run of tables, in this process."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import glognn
from glognn.cli.main import app
from glognn.errors import InputError
from glognn.estimator import GloGNNClassifier

CLASSES = ("fraud", "ok")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on tables of 60 nodes, one of which has a name that is no markup."""
    folder = tmp_path_factory.mktemp("fraud")
    generator = random.Random(0)
    names = ["[red]u0[/red]", *(f"u{number}" for number in range(1, 60))]
    rows = [f"{name},{generator.gauss(1 + 4 * (n % 2), 1):.2f},{CLASSES[n % 2]}" for n, name in enumerate(names)]
    (folder / "nodes.csv").write_text("\n".join(["id,age,class", *rows]) + "\n")
    ends = [(generator.choice(names), generator.choice(names)) for _ in range(120)]
    (folder / "edges.csv").write_text("\n".join(["a,b", *(",".join(pair) for pair in ends)]) + "\n")
    options = ["--nodes", str(folder / "nodes.csv"), "--edges", str(folder / "edges.csv"), "--label", "class"]
    more = ["--model", "glognn++", "--epochs", "15", "--out", str(folder / "run")]
    assert CliRunner().invoke(app, ["train", *options, *more]).exit_code == 0
    return folder / "run"


def told(*arguments: str) -> str:
    found = CliRunner().invoke(app, list(arguments), catch_exceptions=False, env={"COLUMNS": "200"})
    assert found.exit_code == 0, found.output
    return found.output


def test_a_node_is_explained_in_every_format(run: Path, tmp_path: Path) -> None:
    text = told("explain", str(run), "--node", "[red]u0[/red]", "--top", "3", "--picture", str(tmp_path / "a.png"))
    assert "Node [red]u0[/red]: " in text
    assert "the coefficients Z* of the last layer, exactly" in text
    assert "the score" in text
    assert "age" in text
    assert (tmp_path / "a.png").stat().st_size > 1000
    [found] = json.loads(told("explain", str(run), "--node", "u7", "--top", "3", "--format", "json"))
    assert set(found["probabilities"]) == set(CLASSES)
    assert len(found["supporters"]) == 3
    listed = tmp_path / "cases.csv"
    listed.write_text("id\nu7\nu9\n")
    told("explain", str(run), "--nodes", str(listed), "--out", str(tmp_path / "all.parquet"), "--through", "all")
    table = pq.read_table(tmp_path / "all.parquet").to_pandas()
    assert set(table["node"]) == {"u7", "u9"}
    added = table[(table["node"] == "u7") & (table["to"] == "score")]["contribution_ok"].sum()
    assert added == pytest.approx(found["scores"]["ok"], abs=1e-4)
    lines = told("explain", str(run), "--node", "u7", "--format", "csv").splitlines()
    assert lines[0].startswith('"node","prediction","part","name","to"')


def test_the_function_says_what_the_command_does(run: Path) -> None:
    [found] = json.loads(
        told("explain", str(run), "--node", "u7", "--top", "3", "--through", "all", "--format", "json")
    )
    [reason] = glognn.explain(run, nodes="u7", top=3, through="all")
    assert json.loads(json.dumps(reason.as_dict())) == found
    with pytest.raises(InputError, match="^The ids in nodes must be nodes of the graph. Got 1 others: 'u700'"):
        glognn.explain(str(run), nodes=["u700"])
    with pytest.raises(InputError, match="Leave out the 'data' parameter of explain"):
        glognn.explain(run, glognn.load_dataset("pairs"), 7)
    with pytest.raises(InputError, match="must name nodes"):
        glognn.explain(run)
    with pytest.raises(InputError, match=r"explain\(model, data, nodes\)"):
        glognn.explain(glognn.MLP(3, 2, 10), nodes=1)


def test_the_model_as_a_whole(run: Path) -> None:
    found = json.loads(told("explain", str(run), "--format", "json"))
    assert found["classes"] == list(CLASSES)
    assert len(found["class_matrix"]["coefficients"]) == 2
    assert found["far"]["looked_at"] == 60


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--node", "u700"], "must be nodes of the graph. Got 1 others: 'u700'"),
        (["--node", "u7", "--format", "parquet"], "--format parquet is for a file: give --out FILE."),
        (["--node", "u7", "--format", "xml"], "--format must be one of table, json, csv, parquet. Got 'xml'"),
        (["--node", "u7", "--change", "labels"], "--change must be one of nodes, edges. Got 'labels'"),
        (["--node", "u7", "--picture", "a.gif"], "--picture must end in .png or .svg. Got 'a.gif'"),
        (["--node", "u7", "--by", "luck"], "'by' parameter of explain must be one of"),
    ],
)
def test_what_is_refused(run: Path, arguments: list[str], message: str) -> None:
    found = CliRunner().invoke(app, ["explain", str(run), *arguments])
    assert found.exit_code != 0
    assert message in str(found.exception)


def test_audit(run: Path, tmp_path: Path) -> None:
    new, edges = tmp_path / "new.csv", tmp_path / "edges.csv"
    new.write_text("\n".join(["id,age,class", *(f"n{number},{90 + number}," for number in range(30))]) + "\n")
    edges.write_text("a,b\nn1,u7\n")
    place = tmp_path / "audit.json"
    text = told("audit", str(run), "--folds", "3", "--nodes", str(new), "--edges", str(edges), "--out", str(place))
    assert "labels are not what 9 models of glognn++ say that did not see them" in text
    found = json.loads(place.read_text())
    assert found["drift"]["columns"][0]["drifted"]
    assert "age" in {each["column"] for each in found["drift"]["columns"] if each["drifted"]}
    assert found["duplicates"]["test_nodes"] > 0


def test_a_classifier_explains_by_its_own_classes(run: Path) -> None:
    classifier = GloGNNClassifier.load(run)
    [found] = classifier.explain(7, top=2)
    assert classifier.classes_[found.prediction] == classifier.predict([7])[0]
    assert found.as_dict()["prediction"] in CLASSES
    assert len(found.supporters) == 2


@pytest.mark.parametrize("model", ["glognn2", "gcn", "trees"])
def test_features_are_told_by_the_values_of_the_table(model: str, tmp_path: Path) -> None:
    generator = random.Random(1)
    rows = []
    for n in range(80):
        amount = "" if n == 7 else f"{generator.lognormvariate(5 + 2 * (n % 2), 1.5):.2f}"
        country = ("DE", "FR")[n % 2] if generator.random() < 0.8 else "PL"
        day = f"2021-{n % 12 + 1:02d}-{n % 28 + 1:02d}"
        rows.append(f"u{n},{amount},{country},{day},{'yes' if n % 3 else 'no'},{CLASSES[n % 2]}")
    (tmp_path / "nodes.csv").write_text("\n".join(["id,amount,country,since,letters,class", *rows]) + "\n")
    ends = [(generator.randrange(79), generator.randrange(79)) for _ in range(160)]
    (tmp_path / "edges.csv").write_text("\n".join(["a,b", *(f"u{one},u{two}" for one, two in ends)]) + "\n")
    options = ["--nodes", str(tmp_path / "nodes.csv"), "--edges", str(tmp_path / "edges.csv"), "--label", "class"]
    run = str(tmp_path / "run")
    told("train", *options, "--model", model, "--epochs", "30", "--quiet", "--out", run)
    first = dict(zip(("id", "amount", "country", "since", "letters"), rows[4].split(","), strict=False))
    nodes = [each for name in ("u4", "u7", "u79") for each in ("--node", name)]
    found, missing, alone = json.loads(told("explain", run, *nodes, "--format", "json"))  # u79 has no edges
    parts = {each["name"]: each for each in found["inputs"]["parts"] if each["input"] == "features"}
    assert set(parts) <= {"amount", "country", "since", "letters"}
    first["amount"] = f"{float(first['amount']):,}"
    assert {name: each["original"] for name, each in parts.items()} == {name: first[name] for name in parts}
    assert all(each["original"] == "missing" for each in missing["inputs"]["parts"] if each["name"] == "amount")
    assert alone["node"] == "u79"
    text = told("explain", run, "--node", "u4")
    assert "encoded" in text
    [classified] = GloGNNClassifier.load(run).explain("u4")
    assert {(each.name, each.original) for each in classified.inputs if each.input == "features"} == {
        (name, each["original"]) for name, each in parts.items()
    }
    told("explain", run, "--node", "u4", "--out", str(tmp_path / "flat.parquet"))
    flat = pq.read_table(tmp_path / "flat.parquet").to_pandas()
    assert dict(flat[flat["part"] == "features"][["name", "original"]].to_numpy()) == {
        name: each["original"] for name, each in parts.items()
    }
