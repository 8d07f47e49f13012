"""``glognn explain`` and ``glognn audit`` on a small run of tables, in this process."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from glognn.cli.main import app
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
