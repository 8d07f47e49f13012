"""A user's own tables through train, predict and evaluate; and everything that can be wrong with them."""

from __future__ import annotations

import csv
import json
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score
from torch_geometric.data import Data

from glognn import GloGNNClassifier, InputError
from glognn.cli import main as cli
from glognn.data.graph_forms import to_edges
from glognn.data.npz import read_npz, write_npz
from glognn.data.table_changes import read_changes
from glognn.data.table_graph import KeptTables
from glognn.data.tables import read_table, write_table
from glognn.training.config import METRIC_NAMES
from tests.conftest import make_data

NODES, EDGES = 48, 160

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def glognn(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """The command line in this process, in a folder of its own: exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: call(monkeypatch, capsys, *arguments)


def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "argv", ["glognn", *arguments])
        patch.setattr(warnings, "showwarning", warnings.showwarning)
        with pytest.raises(SystemExit) as ended:
            cli.main()
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def frames(seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A node table with a column of every kind, some labels missing, and an edge table with weights."""
    generator = np.random.default_rng(seed)
    ids = [f"käfer-{number}" for number in generator.permutation(1000)[:NODES]]
    nodes = pd.DataFrame({"who": ids})
    nodes["age"] = generator.integers(18, 90, NODES)
    nodes["amount"] = np.where(generator.random(NODES) < 0.2, np.nan, generator.normal(size=NODES).round(3))
    nodes["plan"] = generator.choice(["basic", "plus", "pro"], NODES)
    nodes["since"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(generator.integers(0, 900, NODES), unit="D")
    nodes["vip"] = generator.random(NODES) < 0.3
    nodes["same"] = 7
    nodes["fraud"] = ["yes" if number % 3 == 0 else "no" for number in range(NODES)]
    nodes.loc[40:, "fraud"] = None
    ends = generator.integers(0, NODES, (2, EDGES))
    edges = pd.DataFrame({"from": np.array(ids)[ends[0]], "to": np.array(ids)[ends[1]], "times": ends[0] % 5 + 1})
    return nodes, edges


def lay_down(folder: Path, suffix: str = ".csv") -> None:
    import pyarrow as pa

    folder.mkdir(exist_ok=True)
    for name, frame in zip(("nodes", "edges"), frames(), strict=True):
        write_table(pa.Table.from_pandas(frame, preserve_index=False), folder / f"{name}{suffix}")


TABLES = ["--nodes", "nodes.csv", "--edges", "edges.csv", "--id", "who", "--label", "fraud", "--epochs", "3"]
TRAIN = [*TABLES, "--model", "glognn++"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tables and a finished run on them, not to be changed."""
    folder = tmp_path_factory.mktemp("finished")
    lay_down(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["glognn", "train", *TRAIN, "--quiet", "--out", "run"])
        with pytest.raises(SystemExit) as ended:
            cli.main()
    assert not ended.value.code
    return folder


@pytest.mark.parametrize("suffix", [".tsv.gz", ".parquet", ".feather"])
def test_every_format_gives_the_same_graph_and_predictions(
    suffix: str, finished: Path, glognn: Run, tmp_path: Path
) -> None:
    lay_down(tmp_path, suffix)
    arguments = [word.replace(".csv", suffix) for word in TRAIN]
    assert glognn("train", *arguments, "--quiet", "--out", "run")[0] == 0
    first, second = read_npz(finished / "run/graph.npz"), read_npz(tmp_path / "run/graph.npz")
    for key in ("x", "edge_index", "y", "train_mask"):
        assert bool((first[key] == second[key]).all()), key
    tables = []
    for folder, out in ((finished, "a.csv"), (tmp_path, f"b{suffix}")):
        assert glognn("predict", str(folder / "run"), "--out", out)[0] == 0
        found = read_table(tmp_path / out).to_pandas()
        tables.append(found.astype(dict.fromkeys(found.columns[2:], np.float32)))
    pd.testing.assert_frame_equal(*tables)


def test_the_summary_the_card_and_the_list_say_what_was_read_and_what_became_of_it(
    glognn: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_down(tmp_path)
    code, out, _ = glognn("train", *TRAIN, "--edge-weight", "times", "--drop-columns", "age", "--out", "run")
    assert code == 0
    for words in ("48 nodes, ids 'who'", "160 edges", "weights 'times'", "age (as asked)", "same (always the same"):
        assert words in out
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in out.splitlines() if line}
    assert rows["amount"] == "number 2 mean 0, standard deviation 1, one for missing ones"
    assert rows["plan"] == "category 3 0 or 1 for each of 3 values"
    assert rows["vip"] == "boolean 1 0 or 1, kept as they are"
    assert "no 26 (65.0 %), yes 14 (35.0 %); 8 without a label" in out
    assert "links between labelled nodes are too few to say whether neighbours are alike" in out
    assert "--tune 50" in out
    for name in ("constant", "logistic regression"):
        assert f"baseline: {name}  " in out
    assert "Validation has 3 nodes of class 'yes'" in out
    kept = json.loads((tmp_path / "run/tables.json").read_text())
    assert kept["classes"] == {"names": ["no", "yes"], "kind": "text"}
    assert "who" not in (tmp_path / "run/report.json").read_text()
    card = (tmp_path / "run/README.md").read_text()
    for words in (
        "Finished: 20",
        "## Intended use\n\nTo predict 'fraud' of the nodes",
        "## Limits",
        "|  | this model | baseline: constant | baseline: logistic regression |",
        "## Held-out test nodes, class by class (one split)",
        "| class | nodes | recall | precision | F1 | predicted |",
        "- Validation has 3 nodes of class 'yes'",
        "| splits | random 50/25/25, stratified, seed 0 |",
        "| no | 26 (65.0%) |",
        "| plan | category | 3 | 0 or 1 for each of 3 values |",
        "| age | left out | 0 | as asked |",
        "| same | left out | 0 | always the same value |",
        "| num_layers | 2 |",
        "| positive class | yes |",
    ):
        assert words in card, words
    monkeypatch.setenv("COLUMNS", "250")
    code, out, _ = glognn("runs", "run", "--dataset", "edges.csv")
    assert "glognn++  nodes.csv, edges.csv: fraud: accuracy" in out
    assert "(constant)" in out or "(logistic regression)" in out
    assert "No finished run" in glognn("runs", "run", "--dataset", "others.csv")[1]


def test_ids_labels_and_edges_alone_make_a_run(glognn: Run, tmp_path: Path) -> None:
    lay_down(tmp_path)
    nodes, _ = frames()
    nodes[["who", "fraud"]].to_csv("nodes.csv", index=False)
    code, out, _ = glognn("train", *TRAIN, "--model", "gcn", "--out", "run")
    assert code == 0
    assert "a node's features are its numbers of edges" in out
    (tmp_path / "new.csv").write_text("who\nnew\n")
    (tmp_path / "new_edges.csv").write_text(f"from,to\nnew,{nodes['who'][0]}\n")
    new = ["--nodes", "new.csv", "--edges", "new_edges.csv", "--out", "out.csv"]
    assert glognn("predict", "run", *new)[0] == 0
    assert read_table(tmp_path / "out.csv")["who"].to_pylist() == ["new"]


def test_what_is_done_to_the_features_of_each_node_is_said(glognn: Run, tmp_path: Path) -> None:
    lay_down(tmp_path)
    nodes, _ = frames()
    words = {f"word_{number}": (np.arange(len(nodes)) % 20 == number).astype(int) for number in range(20)}
    nodes[["who", "fraud"]].assign(**words).to_csv("words.csv", index=False)
    arguments = ["--nodes", "words.csv", *TRAIN[2:]]
    code, out, err = glognn("train", *arguments, "--out", "run")
    assert code == 0, err
    assert "features: each node's divided by their length (--feature-normalization)" in out
    assert json.loads(Path("run/report.json").read_text())["data"]["feature_normalization"] == "length"
    assert "| features are taken | each node's divided by their length |" in Path("run/README.md").read_text()
    code, out, _ = glognn("train", *arguments, "--feature-normalization", "none", "--out", "plain")
    assert (code, "features: " in out) == (0, False)
    assert "| features are taken | as they are |" in Path("plain/README.md").read_text()


def test_several_edge_tables_and_weights_are_added_up_and_said(glognn: Run, tmp_path: Path) -> None:
    lay_down(tmp_path)
    ids = frames()[0]["who"]
    calls = pd.DataFrame({"from": ids[:4], "to": ids[1:5].tolist(), "calls": [1, 2, 3, 2], "sum": 9})
    calls.to_csv("c.csv", index=False)
    more = ["--edges", "c.csv", "--edge-weight", "times", "--edge-weight", "calls", "--edge-weight", "sum"]
    code, out, _ = glognn("train", *TRAIN, *more[:2], "--out", "without")
    assert code == 0
    assert "edges, 'from' -> 'to'; not read: 'calls', 'sum' (--edge-weight takes columns of weights)" in out
    code, out, _ = glognn("train", *TRAIN, *more, "--out", "run")
    assert (code, "not read" in out) == (0, False)
    for words in ("edges.csv: 160 edges, 'from' -> 'to', weights 'times' (each divided by its mean)",
                  "c.csv: 4 edges, 'from' -> 'to', weights 'calls' + 'sum' (each divided by its mean)",
                  "all 164 edges are added up"):  # fmt: skip
        assert words in out
    weights = read_npz(tmp_path / "run/graph.npz").edge_weight.numpy()
    np.testing.assert_allclose(weights[160:], np.array([1, 2, 3, 2]) / 2 + 1)
    assert weights[:160].mean() == pytest.approx(1)
    kept = KeptTables.load(tmp_path / "run")
    assert [each.weights for each in kept.edge_columns] == [("times",), ("calls", "sum")]
    frames()[0][:1].assign(who="x").to_csv("new.csv", index=False)
    pd.DataFrame({"from": ["x"], "to": ids[:1], "calls": [4], "sum": [18]}).to_csv("new_edges.csv", index=False)
    found = read_changes(kept, tmp_path / "new.csv", tmp_path / "new_edges.csv")
    assert found.new.edge_weight.tolist() == [4.0]


def test_a_german_table_is_read_as_it_is_meant(finished: Path, glognn: Run, tmp_path: Path) -> None:
    nodes, edges = frames()
    nodes.to_csv("nodes.csv", index=False, sep=";", decimal=",")
    edges.to_csv("edges.csv", index=False, sep=";")
    code, out, _ = glognn("train", *TRAIN, "--out", "run")
    assert code == 0
    assert "nodes.csv: 48 nodes, ids 'who' (separator ';', decimal sign ',')" in out
    first, second = read_npz(finished / "run/graph.npz"), read_npz(tmp_path / "run/graph.npz")
    assert bool((first.x == second.x).all())
    nodes.to_csv("nodes.csv", index=False, sep="~", decimal=",")
    given = ["--separator", "~", "--decimal", ",", "--edges", "edges.parquet"]
    edges.to_parquet("edges.parquet")
    arguments = [word for word in TRAIN if word not in ("--edges", "edges.csv")]
    assert glognn("train", *arguments, *given, "--quiet", "--out", "again")[0] == 0
    assert bool((read_npz(tmp_path / "again/graph.npz").x == first.x).all())
    truth = nodes.loc[:9, ["who", "fraud"]]
    for sign in ("~", ";", ","):
        truth.to_csv("truth.csv", index=False, sep=sign)
        code, out, err = glognn("evaluate", "again", "--labels", "truth.csv")
        assert (code, err) == (0, "")
        assert "10 nodes" in out
        code, _, err = glognn("predict", "again", "--ids", "truth.csv", "--out", "some.csv")
        assert (code, err, len(pd.read_csv("some.csv"))) == (0, "", 10)
        code, out, _ = glognn("explain", "again", "--nodes", "truth.csv", "--format", "json")
        assert (code, [each["node"] for each in json.loads(out)]) == (0, truth["who"].tolist())


def test_categories_that_training_did_not_have_are_counted(finished: Path, glognn: Run, tmp_path: Path) -> None:
    nodes, _ = frames()
    nodes["who"] = "new-" + nodes["who"]
    nodes.loc[:4, "plan"] = ["gold", "gold", "pro", "tin", "gold"]
    nodes.head(9).drop(columns="fraud").to_csv("new.csv", index=False)
    code, _, err = glognn("predict", str(finished / "run"), "--nodes", "new.csv", "--out", "out.csv")
    assert code == 0
    said = "'plan' in 4 of 9 rows ('gold', 'tin'), taken for none of the known ones."
    assert said in " ".join(err.split())


def test_names_that_look_like_markup_or_command_the_terminal_are_shown_as_they_are(
    glognn: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    generator = np.random.default_rng(0)
    strange = ["[/b]", "[red]", "\x1b[31mx", ":smile:", "$a_$", "\x9b2J\u202e"]
    ids = [f"{strange[place % len(strange)]}{place}" for place in range(60)]
    labels = ["[/yes]", "\x1b[2Jno [x]", "$\\frac$"]
    columns = {"income [/month]": generator.normal(size=60), "age [years] \x1b[31m": generator.normal(size=60)}
    nodes = pd.DataFrame({"id [/]": ids, **columns, "class [/c]": [labels[place % 3] for place in range(60)]})
    nodes["constant [/k]"] = 1
    nodes.to_csv(tmp_path / "n [red].csv", index=False)
    pd.DataFrame({"s": ids, "t [/t]": ids[1:] + ids[:1]}).to_csv(tmp_path / "e [bold].csv", index=False)
    tables = ["--nodes", "n [red].csv", "--edges", "e [bold].csv", "--label", "class [/c]"]
    code, out, err = glognn("train", *tables, "-m", "mlp", "--epochs", "2", "--out", "run [i]")
    assert (code, err) == (0, "")
    for shown in (r"age [years] \x1b[31m ", "income [/month] ", "n [red].csv", "e [bold].csv", "id [/]", "t [/t]",
                  "class [/c]", "[/yes]", r"\x1b[2Jno [x]", "constant [/k] (", "run [i]"):  # fmt: skip
        assert shown in out, shown
    seen = out
    truth = tmp_path / "truth.csv"
    nodes[["id [/]", "class [/c]"]].to_csv(truth, index=False)
    code, out, err = glognn("evaluate", "run [i]", "--labels", "truth.csv", "--out", "e [u]")
    assert (code, err) == (0, "")
    assert all(shown in out for shown in ("[/yes] ", r"\x1b[2Jno [x] ", "$\\frac$ ", "as [/yes]", "e [u]"))
    seen += out
    code, out, err = glognn("predict", "run [i]", "--out", "p [dim].csv")
    assert (code, err) == (0, "")
    assert "p [dim].csv" in out
    assert set(read_table(tmp_path / "p [dim].csv")["id [/]"].to_pylist()) == set(ids)
    seen += out
    code, out, err = glognn("runs", ".", "--differences")
    assert (code, err) == (0, "")
    assert "run [i]" in out
    seen += out
    (tmp_path / "ids.csv").write_text("id [/]\n\x1b[31mnobody\n")
    code, out, err = glognn("predict", "run [i]", "--ids", "ids.csv", "--out", "\x1b[31m.csv")
    assert code == 2
    assert r"\x1b[31mnobody" in err
    for text in (seen, out, err):
        assert not {"\x1b", "\x9b", "\u202e"} & set(text)


def test_a_moved_run_folder_goes_on_and_predicts(glognn: Run, tmp_path: Path) -> None:
    lay_down(tmp_path)
    several = ["--model", "mlp", "--random-splits", "2"]
    assert glognn("train", *TRAIN, *several, "--quiet", "--out", "run")[0] == 0
    for name in ("nodes.csv", "edges.csv"):
        (tmp_path / name).unlink()
    assert glognn("predict", "run", "--out", "before.csv", "--model", "mlp", "--split", "1")[0] == 0
    shutil.move("run", "elsewhere")
    shutil.rmtree("elsewhere/mlp/split-1")
    (tmp_path / "elsewhere/mlp/DONE").unlink()
    code, _, err = glognn("predict", "elsewhere", "--out", "after.csv", "--model", "mlp")
    assert (code, "glognn train --resume elsewhere" in err) == (2, True)
    assert glognn("train", "--resume", "elsewhere", "--quiet")[0] == 0
    code, out, _ = glognn("predict", "elsewhere", "--out", "after.csv", "--model", "mlp", "--split", "1")
    assert (code, out) == (0, "48 predictions: after.csv\n")
    assert Path("before.csv").read_text() == Path("after.csv").read_text()
    assert "the best of 2 on validation" in glognn("predict", "elsewhere", "--out", "best.csv")[1]


def test_whatever_is_wrong_in_the_record_of_tables_is_one_line(finished: Path, tmp_path: Path) -> None:
    """Every value removed or of another type: refused by the file's name, or of no matter."""
    whole, messages = (finished / "run/tables.json").read_text(), set()
    (tmp_path / "nodes.parquet").write_bytes((finished / "run/nodes.parquet").read_bytes())

    def spoil(content: Any) -> Iterator[str]:
        for key in list(content) if isinstance(content, dict) else range(len(content)):
            before = content[key]
            for value in (None, "x", [], {}, -1.5):
                content[key] = value
                yield json.dumps(whole_content)
            content[key] = before
            if isinstance(before, dict | list):
                yield from spoil(before)

    whole_content = json.loads(whole)
    for text in (*spoil(whole_content), "", "[]", "null", "{}", whole[:99], "NaN"):
        (tmp_path / "tables.json").write_text(text)
        try:
            KeptTables.load(tmp_path)
        except InputError as error:
            messages.add(str(error))
    assert all("tables.json' " in message and "\n" not in message for message in messages)
    assert any("encoding.columns[0].mean must be int or float, not None" in message for message in messages)


def test_predictions_name_ids_and_classes(finished: Path, glognn: Run, tmp_path: Path) -> None:
    nodes, _ = frames()
    assert glognn("predict", str(finished / "run"), "--out", "all.parquet")[0] == 0
    found = pd.read_parquet("all.parquet")
    assert list(found) == ["who", "prediction", "probability_no", "probability_yes", "margin"]
    assert found["who"].tolist() == nodes["who"].tolist()
    assert np.allclose(found["probability_no"] + found["probability_yes"], 1)
    assert np.allclose(found["margin"], abs(found["probability_no"] - found["probability_yes"]))
    assert set(found["prediction"]) <= {"no", "yes"}
    nodes.loc[[40, 3], ["who"]].to_csv("some.csv", index=False)
    assert glognn("predict", str(finished / "run"), "--ids", "some.csv", "--out", "some.tsv")[0] == 0
    pd.testing.assert_frame_equal(
        pd.read_csv("some.tsv", sep="\t"), found.iloc[[40, 3]].reset_index(drop=True), check_dtype=False
    )


STRANGE_IDS = {
    "numbers and what looks like them": ["007", "7", "7.0", " 7", "+7", "0x7", "-0", "00", "0", "NA", "nan", "1e3"],
    "numbers": ["7", "70", "-7", "0", str(2**62), "12"],
    "above 2**63": [str(2**63), str(2**63 + 1), str(2**64), "1"],
    "formulas": ["=cmd()", "+1", "-1", "@x", "\tx", "'=x", 'a"b', "a,b", "a\nb", "＝x"],
}


def trained_on(ids: list[str], labels: list[str]) -> None:
    """A run on these ids, and numbered ones after them, in a circle; labels repeat."""
    every = ids + [f"n{row}" for row in range(60 - len(ids))]
    rows = {"id": every, "v": [row % 7 for row in range(60)], "y": [labels[row % len(labels)] for row in range(60)]}
    pd.DataFrame(rows).to_csv("nodes.csv", index=False)
    pd.DataFrame({"a": every, "b": every[1:] + every[:1]}).to_csv("edges.csv", index=False)


def written(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


CIRCLE = ["--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "y", "-m", "mlp", "--epochs", "2", "--quiet"]


@pytest.mark.parametrize("kind", STRANGE_IDS)
def test_ids_come_back_as_they_were_written(kind: str, glognn: Run) -> None:
    ids = STRANGE_IDS[kind]
    trained_on(ids, ["01", "1", "yes"])
    assert glognn("train", *CIRCLE, "--out", "run")[0] == 0
    assert glognn("predict", "run", "--out", "all.csv")[0] == 0
    found = written("all.csv")
    assert [row["id"] for row in found][: len(ids)] == ids
    assert list(found[0])[2:5] == ["probability_01", "probability_1", "probability_yes"]
    wanted = ids[::-1]
    pd.DataFrame({"id": wanted}).to_csv("some.csv", index=False)
    assert glognn("predict", "run", "--ids", "some.csv", "--out", "some.csv.gz")[0] == 0
    assert pd.read_csv("some.csv.gz", dtype=str, keep_default_na=False)["id"].tolist() == wanted
    pd.DataFrame({"id": wanted, "y": ["1", "01"] * (len(ids) // 2)}).to_csv("truth.csv", index=False)
    assert glognn("evaluate", "run", "--labels", "truth.csv", "--out", "judged")[0] == 0
    judged = json.loads(Path("judged/evaluation.json").read_text())
    assert judged["classes"] == ["01", "1", "yes"]
    assert np.array(judged["confusion"]).sum(axis=1).tolist() == [len(ids) // 2, len(ids) // 2, 0]


def test_ids_that_only_look_alike_are_refused_at_every_door(glognn: Run) -> None:
    rows = {"id": range(60), "v": [row % 7 for row in range(60)], "y": [row % 2 for row in range(60)]}
    pd.DataFrame(rows).to_csv("nodes.csv", index=False)
    pd.DataFrame({"a": range(59), "b": range(1, 60)}).to_csv("edges.csv", index=False)
    assert glognn("train", *CIRCLE, "--out", "run")[0] == 0
    for text in ("007", "0x7", "-0", " 7", "7.0"):
        Path("some.csv").write_text(f"id,y\n{text},1\n8,0\n")
        Path("ends.csv").write_text(f"a,b\n{text},1\n8,0\n")
        doors = {
            "--ids": glognn("predict", "run", "--ids", "some.csv", "--out", "p.csv"),
            "--labels": glognn("evaluate", "run", "--labels", "some.csv"),
            "--edges": glognn("train", *CIRCLE, "--edges", "ends.csv", "--out", "other"),
        }
        for door, (code, _, err) in doors.items():
            assert code == 2, door
            assert f"{text!r} is not " in err, door
    Path("truth.csv").write_text("id,y\n7,01\n8,1\n")
    is_one_clear_error(glognn("evaluate", "run", "--labels", "truth.csv"), "Got '01' instead")


def test_a_table_for_spreadsheets_holds_no_formula(glognn: Run) -> None:
    ids = STRANGE_IDS["formulas"]
    trained_on(ids, ["=1+1", "no"])
    assert glognn("train", *CIRCLE, "--out", "run")[0] == 0
    assert glognn("predict", "run", "--out", "exact.csv")[0] == 0
    assert glognn("predict", "run", "--spreadsheet", "--out", "safe.csv")[0] == 0
    exact, safe = written("exact.csv"), written("safe.csv")
    assert [row["id"] for row in exact][:10] == ids
    assert [row["id"] for row in safe][:10] == [
        "'=cmd()", "'+1", "'-1", "'@x", "'\tx", "'=x", 'a"b', "a,b", "a\nb", "'＝x"
    ]  # fmt: skip
    assert {row["prediction"] for row in safe} <= {"'=1+1", "no"}
    assert [row["margin"] for row in safe] == [row["margin"] for row in exact]
    is_one_clear_error(glognn("predict", "run", "--spreadsheet", "--out", "x.parquet"), "--spreadsheet is for .csv")


@pytest.mark.parametrize("threshold", [0.0, 1.1])
def test_a_threshold_of_the_run_decides(threshold: float, finished: Path, glognn: Run, tmp_path: Path) -> None:
    shutil.copytree(finished / "run", tmp_path / "run")
    report = json.loads((tmp_path / "run/report.json").read_text()) | {"threshold": threshold}
    (tmp_path / "run/report.json").write_text(json.dumps(report))
    (tmp_path / "run/DONE").write_text("")  # as of a version that recorded no files
    assert glognn("predict", "run", "--out", "all.csv")[0] == 0
    assert set(pd.read_csv("all.csv")["prediction"]) == {"yes" if threshold == 0 else "no"}


@pytest.mark.parametrize("values", [[1, 0], [True, False], ["ünsure", "1"], [2.5, 1.0]], ids=str)
def test_classes_come_back_as_they_went_in(values: list[Any], glognn: Run, tmp_path: Path) -> None:
    nodes, edges = frames()
    nodes["fraud"] = [values[number % 2] for number in range(NODES)]
    nodes.to_parquet("nodes.parquet")
    edges.to_csv("edges.csv", index=False)
    arguments = [word.replace("nodes.csv", "nodes.parquet") for word in TRAIN]
    assert glognn("train", *arguments, "--quiet", "--out", "run")[0] == 0
    assert glognn("predict", "run", "--out", "all.parquet")[0] == 0
    found = pd.read_parquet("all.parquet")
    assert {type(value) for value in found["prediction"].tolist()} == {type(values[0])}
    assert set(found["prediction"].tolist()) <= set(values)
    nodes[["who", "fraud"]].to_csv("truth.csv", index=False)
    assert glognn("evaluate", "run", "--labels", "truth.csv")[0] == 0
    GloGNNClassifier.load("run").save("classifier")
    for folder in ("run", "classifier"):
        loaded = GloGNNClassifier.load(folder)
        assert loaded.classes_.tolist() == sorted(values)
        assert loaded.transduction_.tolist() == found["prediction"].tolist()
    assert glognn("predict", "classifier", "--out", "again.parquet")[0] == 0
    again = pd.read_parquet("again.parquet")
    pd.testing.assert_frame_equal(again, found)


@pytest.mark.parametrize("named", ["yes", "no"])
def test_a_run_of_a_named_class_is_evaluated(named: str, glognn: Run, tmp_path: Path) -> None:
    nodes, edges = frames()
    nodes.to_csv("nodes.csv", index=False)
    edges.to_csv("edges.csv", index=False)
    flags = ["--positive-class", named, "--metric", "f1", "--threshold", "recall=0.5", "--epochs", "3"]
    assert glognn("train", *TRAIN, *flags, "--quiet", "--out", "run")[0] == 0
    code, out, _ = glognn("evaluate", "run")
    assert (code, f"f1 of {named}" in out) == (0, True)


@pytest.mark.parametrize("how", [["--model", "mlp"], ["--model", "mlp", "--tune", "2"], ["--time-limit", "0.1"]])
def test_a_class_that_is_not_there_is_refused_before_anything_is_begun(
    how: list[str], glognn: Run, tmp_path: Path
) -> None:
    lay_down(tmp_path)
    arguments = [*TABLES, *how, "--metric", "f1", "--out", "run"]
    told = "must be a class of the graph. Got 'yess' instead. Did you mean 'yes'?"
    is_one_clear_error(glognn("train", *arguments, "--positive-class", "yess"), told)
    begun = {path.name for path in Path("run").glob("[!.]*")}
    assert begun == {"graph.npz", "nodes.parquet", "tables.json"}
    is_one_clear_error(glognn("train", *arguments, "--class-weight", "yess=3"), "Did you mean 'yes'?")


def test_evaluation_agrees_with_a_count_by_hand(finished: Path, glognn: Run, tmp_path: Path) -> None:
    nodes, _ = frames()
    truth = pd.DataFrame({"fraud": ["yes", "no"] * 10, "who": nodes["who"][:20], "more": 1})
    truth.to_csv("truth.csv", index=False)
    code, out, _ = glognn("evaluate", str(finished / "run"), "--labels", "truth.csv", "--out", "judged")
    assert code == 0
    assert glognn("predict", str(finished / "run"), "--out", "all.csv")[0] == 0
    predicted = pd.read_csv("all.csv").set_index("who").loc[truth["who"]]
    found = json.loads(Path("judged/evaluation.json").read_text())
    right = (predicted["prediction"].to_numpy() == truth["fraud"].to_numpy()).mean()
    assert found["scores"]["accuracy"] == pytest.approx(right)
    assert f"{100 * right:.2f}" in out
    assert np.array(found["confusion"]).sum(axis=1).tolist() == [10, 10]
    assert found["baselines"]["constant"]["accuracy"] == 0.5
    assert set(found["baselines"]["logistic regression"]) == set(found["scores"])
    assert "score  constant  logistic regression" in out
    assert tuple(found["scores"]) == METRIC_NAMES
    rare = found["positive_class"]
    assert rare == json.loads((finished / "run/report.json").read_text())["positive_class"]["name"]
    score, members = predicted[f"probability_{rare}"].to_numpy(), (truth["fraud"] == rare).to_numpy()
    assert found["scores"]["average_precision"] == pytest.approx(average_precision_score(members, score))
    assert f"average precision of {rare}" in out
    bins = found["calibration"]["bins"]
    assert sum(each["count"] for each in bins) == 20
    assert sum(each["count"] * each["accuracy"] for each in bins) == pytest.approx(members.sum())
    [curve] = found["curves"]
    assert (curve["class"], curve["recall"][-1], curve["precision"][-1]) == (rare, 1.0, 0.5)
    pictures = {"confusion.png", "reliability.png", "rankings.png"}
    assert {path.name for path in Path("judged").iterdir()} == {"evaluation.json", *pictures}
    code, out, _ = glognn("evaluate", str(finished / "run"), "--out", "test-set")
    assert (code, "test set of split 0" in out) == (0, True)


def test_a_second_evaluation_does_not_overwrite_the_first(finished: Path, glognn: Run, tmp_path: Path) -> None:
    shutil.copytree(finished / "run", "run")
    for positive in ("yes", "no"):
        code, out, _ = glognn("evaluate", "run", "--positive-class", positive, "--top-k", "7")
        assert (code, f"recall at 7 of {positive}" in out) == (0, True)
    first, second = (
        json.loads(Path("run", name, "evaluation.json").read_text()) for name in ("evaluation", "evaluation-2")
    )
    assert (first["positive_class"], second["positive_class"]) == ("yes", "no")
    assert first["confusion"] == second["confusion"]
    is_one_clear_error(glognn("evaluate", "run", "--out", "run/evaluation"), "'run/evaluation' holds an evaluation")
    is_one_clear_error(
        glognn("evaluate", "run", "--positive-class", "maybe"), "must be one of 'no', 'yes'. Got 'maybe'"
    )


def test_a_run_on_tables_is_a_classifier_in_python(finished: Path, glognn: Run, tmp_path: Path) -> None:
    run, report = finished / "run", json.loads((finished / "run/report.json").read_text())
    loaded = GloGNNClassifier.load(run)
    assert glognn("predict", str(run), "--out", "all.parquet")[0] == 0
    found = pd.read_parquet("all.parquet")
    np.testing.assert_allclose(loaded.predict_proba(), found.iloc[:, 2:4], rtol=1e-6)
    assert (loaded.n_iter_, loaded.epochs, loaded.n_features_in_) == (3, 3, report["data"]["num_features"])
    selected = report["scores"]["selected"]
    assert {name: loaded.scores_[name] for name in selected} == selected
    again = GloGNNClassifier(**loaded.get_params()).fit(loaded.data_)
    np.testing.assert_array_equal(again.predict_proba(), loaded.predict_proba())
    with pytest.raises(InputError, match="holds a run of glognn train: save the classifier in another folder"):
        loaded.save(run)
    loaded.save("classifier")
    assert "| accuracy, test nodes |" in Path("classifier/README.md").read_text()
    for folder in (str(run), "classifier"):
        assert glognn("evaluate", folder, "--out", f"judged-{Path(folder).name}")[0] == 0
    first, second = (json.loads(Path(f"judged-{name}/evaluation.json").read_text()) for name in ("run", "classifier"))
    assert first["scores"]["accuracy"] == selected["test"]
    apart = {"run": "", "label": ""}  # a classifier knows no columns
    assert {**first, **apart} == {**second, **apart}


def test_runs_on_datasets_predict_by_node_number(glognn: Run, tmp_path: Path) -> None:
    write_npz(make_data(), tmp_path / "graph.npz")
    assert glognn("train", "-d", "graph.npz", "--epochs", "2", "-s", "1", "--quiet", "--out", "run")[0] == 0
    assert glognn("predict", "run", "--out", "all.csv")[0] == 0
    assert pd.read_csv("all.csv")["node"].tolist() == list(range(60))
    Path("truth.csv").write_text("node,label\n3,0\n59,2\n")
    assert "2 nodes with a known class" in glognn("evaluate", "run", "--labels", "truth.csv")[1]


def test_new_nodes_are_predicted_from_tables(finished: Path, glognn: Run, tmp_path: Path) -> None:
    nodes, _ = frames()
    known = nodes["who"].tolist()
    fresh = nodes.iloc[:3].assign(who=["new-1", "new-2", "new-3"], plan=["basic", "unheard of", None])
    fresh.drop(columns=["fraud", "same"]).to_csv("new.csv", index=False)
    pairs = [("new-1", known[5]), (known[7], "new-2"), ("new-1", "new-2"), (known[0], known[1]), ("new-1", "nobody")]
    pd.DataFrame(pairs, columns=["from", "to"]).to_csv("new_edges.csv", index=False)
    options = ["--nodes", "new.csv", "--edges", "new_edges.csv", "--unknown-edges", "drop", "--out", "new-found.csv"]
    code, out, err = glognn("predict", str(finished / "run"), *options)
    assert code == 0, err
    assert "1 edge between its nodes added" in out
    assert "; 3 new nodes with 3 edges; 1 edge to unknown ids left out" in out
    found = pd.read_csv("new-found.csv")
    assert found["who"].tolist() == ["new-1", "new-2", "new-3"]
    assert np.allclose(found["probability_no"] + found["probability_yes"], 1)


def test_changes_of_known_nodes_are_scored_and_said(finished: Path, glognn: Run, tmp_path: Path) -> None:
    nodes, _ = frames()
    run, known = str(finished / "run"), nodes["who"].tolist()
    nodes.iloc[[5, 2]].assign(age=99).to_csv("changed.csv", index=False)
    pd.DataFrame([(known[0], known[9])], columns=["from", "to"]).to_csv("more.csv", index=False)
    code, out, err = glognn("predict", run, "--nodes", "changed.csv", "--edges", "more.csv", "--out", "some.csv")
    assert code == 0, err
    assert "1 edge between its nodes added; 2 nodes of it in the table, 2 with other features" in out
    assert pd.read_csv("some.csv")["who"].tolist() == [known[5], known[2]]
    assert glognn("predict", run, "--edges", "more.csv", "--out", "now.csv")[0] == 0
    assert glognn("predict", run, "--out", "then.csv")[0] == 0
    now, then = (pd.read_csv(name).set_index("who") for name in ("now.csv", "then.csv"))
    assert now.index.tolist() == known
    assert (now.loc[known[9]] != then.loc[known[9]]).any()
    Path("ids.csv").write_text(f"who\n{known[9]}\n", encoding="utf-8")
    options = ["--edges", "more.csv", "--ids", "ids.csv", "--out", "one.csv"]
    assert glognn("predict", run, *options)[0] == 0
    pd.testing.assert_frame_equal(pd.read_csv("one.csv").set_index("who"), now.loc[[known[9]]])


def test_several_tables_of_edges_bring_a_graph_up_to_date(finished: Path, glognn: Run) -> None:
    known, run = frames()[0]["who"].tolist(), str(finished / "run")
    pairs = pd.DataFrame([(known[0], known[9]), (known[3], known[4])], columns=["from", "to"])
    pairs.to_csv("both.csv", index=False)
    for place in (0, 1):
        pairs.iloc[[place]].to_csv(f"part-{place}.csv", index=False)
    assert glognn("predict", run, "--edges", "both.csv", "--out", "once.csv")[0] == 0
    code, out, err = glognn("predict", run, "--edges", "part-0.csv", "--edges", "part-1.csv", "--out", "twice.csv")
    assert code == 0, err
    assert "2 edges between its nodes added" in out
    assert Path("twice.csv").read_text() == Path("once.csv").read_text()


def test_a_threshold_may_be_changed_after_training(finished: Path, glognn: Run) -> None:
    run, found = str(finished / "run"), {}
    for threshold in ("0.01", "0.99", "recall=1"):
        code, out, err = glognn("predict", run, "--threshold", threshold, "--out", "found.csv")
        assert code == 0, err
        assert "yes is predicted from its probability" in out
        found[threshold] = (pd.read_csv("found.csv")["prediction"] == "yes").sum()
    assert found["0.99"] <= found["recall=1"] <= found["0.01"] == NODES
    code, out, _ = glognn("evaluate", run, "--threshold", "recall=1", "--out", "judged")
    assert (code, "(chosen for recall 1 on validation nodes)" in out) == (0, True)
    record = json.loads(Path("judged/evaluation.json").read_text())
    assert record["threshold_for"] == "recall 1"
    assert 0 < record["threshold"] < 1
    is_one_clear_error(
        glognn("predict", run, "--threshold", "2", "--out", "x.csv"), "between 0 and 1, or a rule. Got 2"
    )


@pytest.mark.parametrize("metric", ["neg_log_loss", "neg_brier"])
def test_losses_are_no_percentages(metric: str, glognn: Run, tmp_path: Path) -> None:
    lay_down(tmp_path)
    code, out, err = glognn("train", *TRAIN, "--metric", metric, "--out", "run")
    assert code == 0, err
    scored = json.loads(Path("run/report.json").read_text())["scores"]["selected"]["test"]
    assert f"{scored:.4f}" in out.split("Run folder")[0].splitlines()[-6:].__str__()
    assert "%" not in "".join(line for line in out.splitlines() if metric.replace("_", " ") in line)
    assert f"{scored:.4f}" in glognn("runs", ".")[1]


def test_a_run_of_several_splits_is_refitted_and_used(glognn: Run, tmp_path: Path) -> None:
    lay_down(tmp_path)
    options = ["--random-splits", "2", "--fractions", "60/20/20", "--refit", "--out", "run"]
    code, out, err = glognn("train", *TRAIN, *options)
    assert code == 0, err
    assert "sets: random 60/20/20, stratified, seed 0" in out
    assert "splits: " not in out
    assert "model refitted on all 40 labels" in out
    assert "What predicts is the model refitted on all 40 labels" in Path("run/README.md").read_text()
    code, out, _ = glognn("predict", "run", "--out", "all.csv")
    assert (code, "Used: model refitted on all 40 labels" in out) == (0, True)
    code, out, _ = glognn("evaluate", "run")
    assert "test sets of splits 0, 1, each node scored by the models that have not learned from it" in out
    assert "Used: " not in out
    assert "not learned" not in glognn("evaluate", "run", "--split", "1")[1]


def test_new_nodes_are_judged(finished: Path, glognn: Run, tmp_path: Path) -> None:
    nodes, _ = frames()
    known, fresh = nodes["who"].to_list(), nodes.iloc[:6].assign(who=[f"new-{number}" for number in range(6)])
    fresh.to_csv("new.csv", index=False)
    pd.DataFrame({"from": fresh["who"].to_list(), "to": known[10:16]}).to_csv("new_edges.csv", index=False)
    tables = ["--nodes", "new.csv", "--edges", "new_edges.csv"]
    code, out, err = glognn("evaluate", str(finished / "run"), *tables, "--out", "judged")
    assert code == 0, err
    assert "6 new nodes with 6 edges" in out
    beside = json.loads(Path("judged/evaluation.json").read_text())["baselines"]
    assert set(beside) == {"constant", "logistic regression"}
    assert beside["constant"]["accuracy"] == pytest.approx((fresh["fraud"] == "no").mean())
    assert "6 nodes with a known class: new.csv" in out
    assert glognn("predict", str(finished / "run"), *tables, "--out", "new-found.csv")[0] == 0
    right = (pd.read_csv("new-found.csv")["prediction"] == fresh["fraud"].to_numpy()).mean()
    assert json.loads(Path("judged/evaluation.json").read_text())["scores"]["accuracy"] == pytest.approx(right)
    fresh[["who", "fraud"]].iloc[:2].to_csv("truth.csv", index=False)
    out = glognn("evaluate", str(finished / "run"), *tables, "--labels", "truth.csv", "--out", "two")[1]
    assert "2 nodes with a known class: truth.csv" in out


def test_a_search_comes_first_where_asked_for(glognn: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from glognn.experiments import tune

    monkeypatch.setattr(tune, "worker_count", lambda workers, device: 1)
    lay_down(tmp_path)
    code, out, err = glognn("train", *TRAIN, "--tune", "2", "--out", "run")
    assert code == 0, err
    assert "best of 2 trials" in out
    best, used = (Path(name).read_text() for name in ("run/tune/glognn++/best.toml", "run/config.toml"))
    [line] = [line for line in best.splitlines() if line.startswith("beta2 = ")]
    assert line in used


def test_a_thousand_classes_and_a_hub(glognn: Run, tmp_path: Path) -> None:
    count = 4000
    nodes = pd.DataFrame({"id": np.arange(count) * 977, "x": np.arange(count) % 7, "y": np.arange(count) % 1000})
    nodes.to_csv("nodes.csv", index=False)
    pd.DataFrame({"a": 0, "b": nodes["id"]}).to_csv("edges.csv", index=False)
    arguments = ["--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "y", "--epochs", "1", "--model", "mlp"]
    assert glognn("train", *arguments, "--quiet", "--out", "run")[0] == 0
    assert glognn("predict", "run", "--out", "all.parquet")[0] == 0
    assert pd.read_parquet("all.parquet").shape == (count, 1003)
    nodes[["id", "y"]].iloc[:20].to_csv("truth.csv", index=False)
    assert glognn("evaluate", "run", "--labels", "truth.csv")[0] == 0


def edit(name: str, change: Callable[[pd.DataFrame], object]) -> Callable[[], None]:
    """Change a table by its frame."""

    def prepare() -> None:
        path = Path(name)
        frame = pd.read_csv(path)
        changed = change(frame)
        (frame if changed is None else changed).to_csv(path, index=False)  # type: ignore[attr-defined]

    return prepare


def put(name: str, content: bytes | str) -> Callable[[], None]:
    return lambda: Path(name).write_bytes(content.encode() if isinstance(content, str) else content) and None


def to_parquet(change: Callable[[pd.DataFrame], object]) -> Callable[[], None]:
    def prepare() -> None:
        frame, _ = frames()
        change(frame)
        frame.to_parquet("nodes.parquet")

    return prepare


def column(name: str, value: Any) -> Callable[[pd.DataFrame], None]:
    return lambda frame: frame.__setitem__(name, value)


def nothing() -> None:
    pass


def another_graph() -> None:
    """The graph of a run with one edge less."""
    data = read_npz("run/graph.npz")
    data.edge_index = data.edge_index[:, 1:]
    if "edge_weight" in data:
        data.edge_weight = data.edge_weight[1:]
    write_npz(data, "run/graph.npz")


def remove(pattern: str) -> None:
    next(Path("classifier").glob(pattern)).unlink()


PARQUET = ["--nodes", "nodes.parquet"]
SENTENCE = "a story that goes on and on, about nothing much, for as long as it takes to be told"
BAD_TRAINING: dict[str, tuple[Callable[[], object], list[str], str]] = {
    "no node table": (lambda: Path("nodes.csv").unlink(), [], "no table 'nodes.csv'"),
    "no edge table": (lambda: Path("edges.csv").unlink(), [], "no table 'edges.csv'"),
    "a folder": (lambda: Path("folder.csv").mkdir(), ["--nodes", "folder.csv"], "cannot be read"),
    "unknown ending": (nothing, ["--nodes", "nodes.xlsx"], "must end in .csv"),
    "gzipped parquet": (nothing, ["--nodes", "nodes.parquet.gz"], "must end in .csv"),
    "empty node file": (put("nodes.csv", ""), [], "'nodes.csv' cannot be read"),
    "empty edge file": (put("edges.csv", ""), [], "'edges.csv' cannot be read"),
    "node header only": (put("nodes.csv", "who,fraud\n"), [], "must have rows"),
    "edge header only": (put("edges.csv", "from,to\n"), [], "must have rows"),
    "latin-1 values": (put("nodes.csv", "who,fraud\nkäfer,yes\n".encode("latin-1")), [], "not in UTF-8"),
    "latin-1 header": (put("nodes.csv", "who,fraud,größe\na,yes,1\n".encode("latin-1")), [], "UTF-8"),
    "latin-1 category": (put("nodes.csv", "who,fraud,k\na,yes,ü\n".encode("latin-1")), [], "not in UTF-8"),
    "latin-1 edges": (put("edges.csv", "from,to\nkäfer,a\n".encode("latin-1")), [], "not in UTF-8"),
    "utf-16": (put("nodes.csv", "who,fraud\na,yes\n".encode("utf-16")), [], "error"),
    "binary rubbish": (put("nodes.csv", bytes(range(256)) * 9), [], "error"),
    "short row of nodes": (put("nodes.csv", "who,fraud\na,yes\nb\n"), [], "Expected 2 columns, got 1"),
    "long row of edges": (put("edges.csv", "from,to\na,b\na,b,c,d\n"), [], "Expected 2 columns, got 4"),
    "columns of one name": (put("nodes.csv", "who,fraud,fraud\na,yes,no\n"), [], "'fraud' more than once"),
    "no such id column": (nothing, ["--id", "whom"], "Did you mean 'who'?"),
    "no such label column": (nothing, ["--label", "frauds"], "Did you mean 'fraud'?"),
    "label is id": (nothing, ["--label", "who"], "must be two columns"),
    "tables and dataset": (nothing, ["--dataset", "pairs"], "Leave out --dataset"),
    "repeated ids": (edit("nodes.csv", lambda f: f.__setitem__("who", ["a", "b"] * 24)), [], "'a', 'b' more than once"),
    "an empty id": (edit("nodes.csv", lambda f: f.loc.__setitem__((3, "who"), "")), [], "Got none in row 4."),
    "fractions as ids": (to_parquet(column("who", np.arange(NODES) + 0.5)), PARQUET, "Got fractions"),
    "lists as ids": (to_parquet(column("who", [[1]] * NODES)), PARQUET, "must be text or whole numbers"),
    "dates as ids": (to_parquet(column("who", pd.Timestamp("2020-01-01"))), PARQUET, "must be text or whole numbers"),
    "unknown ids": (put("edges.csv", "from,to\nx,y\nx,z\n"), [], "2 of 2 edges to unknown ids ('x', 'y', 'z')"),
    "number among text": (put("edges.csv", "from,to\n1,2\n"), [], "unknown ids ('1', '2')"),
    "edges of one column": (put("edges.csv", "from\nx\n"), [], "at least 2 columns"),
    "no such source": (nothing, ["--source", "form"], "Did you mean 'from'?"),
    "no such target": (nothing, ["--target", "too"], "Did you mean 'to'?"),
    "source is target": (nothing, ["--source", "to", "--target", "to"], "must be two columns"),
    "an empty end": (edit("edges.csv", lambda f: f.loc.__setitem__((8, "to"), "")), [], "Got none in row 9."),
    "no such weight": (nothing, ["--edge-weight", "time"], "Did you mean 'times'?"),
    "words as weights": (edit("edges.csv", column("times", "often")), ["--edge-weight", "times"], "must be numbers"),
    "a negative weight": (edit("edges.csv", column("times", -1)), ["--edge-weight", "times"], "Got -1.0 in row 1"),
    "an endless weight": (edit("edges.csv", column("times", np.inf)), ["--edge-weight", "times"], "Got inf in row 1"),
    "no weight": (edit("edges.csv", column("times", [1] * 159 + [None])), ["--edge-weight", "times"], "in row 160"),
    "weights are ends": (nothing, ["--edge-weight", "from"], "other than the edges' ends"),
    "unknown word for unknown": (nothing, ["--unknown-edges", "keep"], "one of error, drop"),
    "all edges unknown": (put("edges.csv", "a,b\nx,y\n"), ["--unknown-edges", "drop"], "are these the same ids?"),
    "no labels": (edit("nodes.csv", column("fraud", None)), [], "no label at all"),
    "one class": (edit("nodes.csv", column("fraud", "yes")), [], "only 'yes'"),
    "NaN as labels": (to_parquet(column("fraud", np.nan)), PARQUET, "no label at all"),
    "dates as labels": (nothing, ["--label", "since"], "must be words, numbers or booleans"),
    "lists as labels": (to_parquet(column("fraud", [["a"], ["b"]] * 24)), PARQUET, "must be words, numbers"),
    "a class for each node": (edit("nodes.csv", lambda f: f.__setitem__("fraud", range(NODES))), [], "val set"),
    "no such split column": (nothing, ["--split-column", "set"], "no column 'set'"),
    "strange sets": (nothing, ["--split-column", "plan"], "Got 'basic' instead"),
    "sets without val": (edit("nodes.csv", column("set", ["train", "test"] * 24)), ["--split-column", "set"], "in val"),
    "sets of unlabelled": (
        edit("nodes.csv", column("set", ["train"] * 20 + ["test"] * 20 + ["val"] * 8)),
        ["--split-column", "set"],
        "in val",
    ),
    "no splits": (nothing, ["--random-splits", "0"], "--random-splits"),
    "negative split seed": (nothing, ["--split-seed", "-1"], "--split-seed"),
    "split seed of words": (nothing, ["--split-seed", "one"], "--split-seed"),
    "split out of range": (nothing, ["--splits", "3"], "range [0, 0]"),
    "long texts": (edit("nodes.csv", column("story", SENTENCE)), [], "characters on average"),
    "names": (edit("nodes.csv", lambda f: f.__setitem__("name", f["who"])), [], "--drop-columns name"),
    "a column of lists": (to_parquet(column("age", [[1, 2]] * NODES)), PARQUET, "--drop-columns age"),
    "infinity": (edit("nodes.csv", column("age", [1.0] * 47 + [np.inf])), [], "Got inf in row 48"),
    "too large numbers": (edit("nodes.csv", column("age", [1e308, -1e308] * 24)), [], "smaller numbers"),
    "no such column to drop": (nothing, ["--drop-columns", "age,plans"], "Did you mean 'plan'?"),
    "no such category": (nothing, ["--category-columns", "plans"], "Did you mean 'plan'?"),
    "too large a share": (nothing, ["--rare-share", "2"], "[0.0, 1.0)"),
    "a share of words": (nothing, ["--rare-share", "few"], "--rare-share"),
    "no parquet": (put("nodes.parquet", "PAR1 not really"), PARQUET, "cannot be read"),
    "no feather": (put("nodes.feather", "who,fraud\na,yes\n"), ["--nodes", "nodes.feather"], "cannot be read"),
    "no header of edges": (
        lambda: Path("edges.csv").write_text(Path("edges.csv").read_text().split("\n", 1)[1]), [], "must name its"
    ),
    "half a gzip": (put("nodes.csv.gz", b"\x1f\x8b\x08\x00\x00\x00"), ["--nodes", "nodes.csv.gz"], "cannot be read"),
    "one node": (edit("nodes.csv", lambda f: f.iloc[:1]), ["--unknown-edges", "drop"], "at least 2 classes"),
    "lists": (edit("nodes.csv", lambda f: f.assign(tags="[1, 2]")), [], "Or leave it out with --drop-columns tags"),
    "no separator": (nothing, ["--separator", "ab"], "--separator must be one sign"),
    "no decimal sign": (nothing, ["--decimal", ";"], "--decimal must be '.' or ','"),
    "a wrong separator": (nothing, ["--separator", ";"], "has no column"),
    "one sign for both": (nothing, ["--separator", ",", "--decimal", ","], "must be two signs"),
    "no such weight in any table": (nothing, ["--edges", "edges.csv", "--edge-weight", "x"], "No table of edges has"),
    "a run is there": (lambda: (Path("run").mkdir(), Path("run/config.toml").touch()), [], "already holds a run"),
    "out is a file": (put("run", "x"), [], "cannot be written"),
    "resume and tables": (nothing, ["--resume", "run"], "Leave out --"),
    "tune and config": (nothing, ["--tune", "2", "--config", "published:texas"], "Leave out one"),
    "two fractions": (nothing, ["--fractions", "60/40"], "as in 60/20/20. Got '60/40' instead"),
    "fractions of more": (nothing, ["--fractions", "60/20/30"], "that sum to 100 (or to 1)"),
    "fractions without test": (nothing, ["--fractions", "80/20/0"], "three positive shares"),
    "fractions and a column": (nothing, ["--fractions", "60/20/20", "--split-column", "plan"], "Leave out one of them"),
    "workers without a search": (nothing, ["--workers", "2"], "--workers is for searches"),
    "no trials": (nothing, ["--tune", "0"], "--tune"),
    "unknown model": (nothing, ["--model", "glogn"], "Did you mean"),
    "wrong setting": (nothing, ["--gamma", "7"], "'gamma' parameter"),
}  # fmt: skip
BAD_PREDICTION: dict[str, tuple[Callable[[], object], list[str], str]] = {
    "no ending": (nothing, ["run", "--out", "predictions"], "must end in .csv"),
    "no out": (nothing, ["run"], "--out"),
    "no folder": (nothing, ["ran", "--out", "p.csv"], "no config.toml of a run, and no readable estimator.json"),
    "no run": (
        lambda: Path("empty").mkdir(),
        ["empty", "--out", "p.csv"],
        "no config.toml of a run, and no readable estimator.json",
    ),
    "unfinished": (lambda: Path("run/DONE").unlink(), ["run", "--out", "p.csv"], "--resume run"),
    "no model file": (lambda: Path("run/model.safetensors").unlink(), ["run", "--out", "p.csv"], "model.safetensors"),
    "no graph file": (lambda: Path("run/graph.npz").unlink(), ["run", "--out", "p.csv"], "graph.npz"),
    "broken tables.json": (put("run/tables.json", "{"), ["run", "--out", "p.csv"], "tables.json"),
    "newer tables.json": (
        lambda: (put("run/tables.json", '{"schema_version": 9}')(), put("run/DONE", "")()),
        ["run", "--out", "p.csv"],
        "Got 9",
    ),
    "no ids kept": (lambda: Path("run/nodes.parquet").unlink(), ["run", "--out", "p.csv"], "nodes.parquet"),
    "another model": (nothing, ["run", "--out", "p.csv", "--model", "mlp"], "It holds: glognn++"),
    "another split": (nothing, ["run", "--out", "p.csv", "--split", "4"], "It was on: 0"),
    "unwritable": (nothing, ["run", "--out", "nodes.csv/p.csv"], "cannot be written: File exists."),
    "no ids file": (nothing, ["run", "--out", "p.csv", "--ids", "ids.csv"], "no table 'ids.csv'"),
    "unknown id": (put("ids.csv", "who\nme\n"), ["run", "--out", "p.csv", "--ids", "ids.csv"], "1 others: 'me'"),
    "no header of ids": (
        lambda: pd.read_csv("nodes.csv")["who"].to_csv("ids.csv", header=False, index=False),
        ["run", "--out", "p.csv", "--ids", "ids.csv"],
        "must name its columns",
    ),
    "another graph": (another_graph, ["run", "--out", "p.csv"], "graph.npz' was changed"),
    "another graph in a folder without a list of its files": (
        lambda: (another_graph(), put("run/DONE", "")()),
        ["run", "--out", "p.csv"],
        "not the one that 'run' was trained on",
    ),
    "another graph below new nodes": (
        lambda: (edit("nodes.csv", lambda f: f.assign(who=f["who"] + "x"))(), another_graph(), put("run/DONE", "")()),
        ["run", "--out", "p.csv", "--nodes", "nodes.csv"],
        "not the one that 'run' was trained on",
    ),
    "no id": (put("ids.csv", "who\n"), ["run", "--out", "p.csv", "--ids", "ids.csv"], "must have rows"),
    "no edges to be unknown": (nothing, ["run", "--out", "p.csv", "--unknown-edges", "drop"], "with --edges FILE"),
    "no new nodes": (nothing, ["run", "--out", "p.csv", "--nodes", "b.csv"], "no table 'b.csv'"),
    "an edge to nobody": (
        put("e.csv", "from,to\na,b\n"),
        ["run", "--out", "p.csv", "--edges", "e.csv"],
        "unknown ids ('a', 'b')",
    ),
    "a column less": (
        edit("nodes.csv", lambda f: f.assign(who=f["who"] + "x").drop(columns="age")),
        ["run", "--out", "p.csv", "--nodes", "nodes.csv"],
        "must have the column 'age'",
    ),
    "words as numbers": (
        edit("nodes.csv", lambda f: f.assign(who=f["who"] + "x", age="old")),
        ["run", "--out", "p.csv", "--nodes", "nodes.csv"],
        "must hold numbers. Got string such as 'old'",
    ),
    "numbers as dates": (
        edit("nodes.csv", lambda f: f.assign(who=f["who"] + "x", since=7)),
        ["run", "--out", "p.csv", "--nodes", "nodes.csv"],
        "must hold dates",
    ),
    "no id column": (
        edit("nodes.csv", lambda f: f.rename(columns={"who": "whom"})),
        ["run", "--out", "p.csv", "--nodes", "nodes.csv"],
        "no column 'who'",
    ),
    "repeated new ids": (
        edit("nodes.csv", lambda f: f.assign(who="new")),
        ["run", "--out", "p.csv", "--nodes", "nodes.csv"],
        "'new' more than once",
    ),
    "new edges to nobody": (
        lambda: (edit("nodes.csv", lambda f: f.assign(who=f["who"] + "x"))(), put("e.csv", "from,to\na,b\n")()),
        ["run", "--out", "p.csv", "--nodes", "nodes.csv", "--edges", "e.csv"],
        "unknown ids ('a', 'b')",
    ),
    "new edges of other columns": (
        lambda: (edit("nodes.csv", lambda f: f.assign(who=f["who"] + "x"))(), put("e.csv", "a,b\na,b\n")()),
        ["run", "--out", "p.csv", "--nodes", "nodes.csv", "--edges", "e.csv"],
        "no column 'from'",
    ),
}
BAD_CLASSIFIER: dict[str, tuple[Callable[[], object], list[str], str]] = {
    "another model": (nothing, ["predict", "--out", "p.csv", "--model", "mlp"], "of the model 'glognn++', not 'mlp'"),
    "a split": (nothing, ["predict", "--out", "p.csv", "--split", "0"], "fitted once: leave out split 0"),
    "new nodes": (nothing, ["predict", "--out", "p.csv", "--nodes", "new.csv"], "was not trained on tables"),
    "no weights": (lambda: remove("model-*"), ["predict", "--out", "p.csv"], "model-"),
    "no graph": (lambda: remove("graph-*"), ["predict", "--out", "p.csv"], "graph-"),
    "another graph": (
        lambda: write_npz(make_data(), next(Path("classifier").glob("graph-*"))),
        ["predict", "--out", "p.csv"],
        ".npz' was changed",
    ),
    "no record": (put("classifier/estimator.json", "{"), ["predict", "--out", "p.csv"], ".json' cannot be read"),
    "half a record": (
        put("classifier/estimator.json", '{"schema_version": 1}'), ["predict", "--out", "p.csv"], "files is missing"
    ),
    "no truth": (nothing, ["evaluate"], "has no test nodes to measure on. Give the truth with --labels FILE"),
}  # fmt: skip
BAD_EVALUATION: dict[str, tuple[Callable[[], object], list[str], str]] = {
    "no truth": (nothing, ["--labels", "truth.csv"], "no table 'truth.csv'"),
    "columns of nothing": (nothing, ["--id", "who"], "with --labels FILE"),
    "unknown class": (put("truth.csv", "who,fraud\na,maybe\n"), ["--labels", "truth.csv"], "error"),
    "another class": (edit("nodes.csv", column("fraud", "maybe")), ["--labels", "nodes.csv"], "Got 'maybe'"),
    "dates as classes": (nothing, ["--labels", "nodes.csv", "--label", "since"], "must be one of 'no', 'yes'"),
    "unknown nodes": (put("truth.csv", "who,fraud\nme,yes\n"), ["--labels", "truth.csv"], "1 others: 'me'"),
    "no known class": (edit("nodes.csv", column("fraud", None)), ["--labels", "nodes.csv"], "must hold labels"),
    "no such column": (nothing, ["--labels", "nodes.csv", "--label", "frauds"], "Did you mean 'fraud'?"),
    "one column": (put("truth.csv", "who\nme\n"), ["--labels", "truth.csv"], "at least 2 columns"),
    "twice the same": (nothing, ["--labels", "nodes.csv", "--label", "who"], "must be two columns"),
    "repeated nodes": (
        edit("nodes.csv", lambda f: pd.concat([f, f])),
        ["--labels", "nodes.csv"],
        "must be unique",
    ),
    "unwritable": (nothing, ["--out", "nodes.csv"], "cannot be written: File exists."),
    "another split": (nothing, ["--split", "1"], "It was on: 0"),
}


def is_one_clear_error(result: tuple[int, str, str], expected: str) -> None:
    code, _, err = result
    lines = err.strip().splitlines()
    assert code == 2, err
    assert len(lines) == 1, err
    assert lines[0].startswith("error: ")
    assert expected in lines[0]
    assert "Traceback" not in err


@pytest.mark.parametrize("case", BAD_TRAINING)
def test_bad_tables_are_refused_by_train(case: str, glognn: Run, tmp_path: Path) -> None:
    prepare, arguments, expected = BAD_TRAINING[case]
    lay_down(tmp_path)
    prepare()
    is_one_clear_error(glognn("train", *TRAIN, "--quiet", "--out", "run", *arguments), expected)


@pytest.mark.parametrize("missing", ["nodes", "edges", "label"])
def test_train_says_which_table_is_missing(missing: str, glognn: Run) -> None:
    place = TRAIN.index(f"--{missing}")
    is_one_clear_error(glognn("train", *TRAIN[:place], *TRAIN[place + 2 :]), f"--{missing} is missing")


@pytest.mark.parametrize("case", BAD_PREDICTION)
def test_bad_input_is_refused_by_predict(case: str, finished: Path, glognn: Run, tmp_path: Path) -> None:
    prepare, arguments, expected = BAD_PREDICTION[case]
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    prepare()
    is_one_clear_error(glognn("predict", *arguments), expected)


@pytest.mark.parametrize("case", BAD_EVALUATION)
def test_bad_input_is_refused_by_evaluate(case: str, finished: Path, glognn: Run, tmp_path: Path) -> None:
    prepare, arguments, expected = BAD_EVALUATION[case]
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    prepare()
    is_one_clear_error(glognn("evaluate", "run", *arguments), expected)


@pytest.mark.parametrize("case", BAD_CLASSIFIER)
def test_bad_classifiers_are_refused(case: str, glognn: Run, tmp_path: Path) -> None:
    prepare, (command, *arguments), expected = BAD_CLASSIFIER[case]
    GloGNNClassifier(epochs=2, hidden_channels=4, device="cpu").fit(make_data(num_splits=1)).save(
        tmp_path / "classifier"
    )
    prepare()
    is_one_clear_error(glognn(command, "classifier", *arguments), expected)


def test_a_classifier_predicts_and_is_judged_by_commands(glognn: Run, tmp_path: Path) -> None:
    data = make_data(num_classes=2, num_splits=1)
    y = np.array(["no", "yes"])[data.y.numpy()]
    fitted = GloGNNClassifier(epochs=5, hidden_channels=4, device="cpu", threshold="validation")
    fitted.fit(data.x.numpy(), y, adjacency=data.edge_index)
    fitted.threshold_ = 0.4
    fitted.save("classifier")
    assert glognn("predict", "classifier", "--out", "all.parquet")[0] == 0
    found = pd.read_parquet("all.parquet")
    np.testing.assert_allclose(found[["probability_no", "probability_yes"]], fitted.predict_proba(), rtol=1e-6)
    assert found["prediction"].tolist() == np.where(fitted.predict_proba()[:, 1] >= 0.4, "yes", "no").tolist()
    pd.DataFrame({"node": range(60), "label": y}).to_csv("truth.csv", index=False)
    assert glognn("evaluate", "classifier", "--labels", "truth.csv")[0] == 0
    judged = json.loads(Path("classifier/evaluation/evaluation.json").read_text())
    assert judged["scores"]["accuracy"] == pytest.approx(np.mean(found["prediction"] == y))
    assert judged["threshold"] == 0.4
    np.testing.assert_array_equal(GloGNNClassifier.load("classifier").predict_proba(), fitted.predict_proba())


def test_enough_is_tried(figures: dict[str, str]) -> None:
    count = len(BAD_TRAINING) + 3 + len(BAD_PREDICTION) + len(BAD_CLASSIFIER) + len(BAD_EVALUATION)
    figures["bad inputs tried on train, predict and evaluate"] = str(count)
    assert count >= 60


def test_tables_and_python_s_doors_give_the_same_predictions(finished: Path, glognn: Run) -> None:
    """CSV through the command line; the same graph as PyG Data, SciPy matrices and NetworkX through the estimator."""
    import networkx as nx
    import scipy.sparse as sp

    assert glognn("predict", str(finished / "run"), "--out", "all.parquet")[0] == 0
    expected = pd.read_parquet("all.parquet").iloc[:, 2:4].to_numpy()
    data = read_npz(finished / "run/graph.npz")
    nodes = int(data.num_nodes)
    source, target = data.edge_index.numpy()
    matrix = sp.coo_array((np.ones(len(source)), (source, target)), shape=(nodes, nodes)).tocsr()
    matrix.data[:] = 1
    network = nx.DiGraph()
    network.add_nodes_from(range(nodes))
    network.add_edges_from(zip(source.tolist(), target.tolist(), strict=True))
    masks = {name: data[f"{name}_mask"].view(-1) for name in ("train", "val", "test")}
    whole = Data(x=data.x, edge_index=data.edge_index, y=data.y, **{f"{name}_mask": m for name, m in masks.items()})
    doors = {"data": whole}
    for name, (edges, weight) in {"scipy": to_edges(matrix, nodes), "networkx": to_edges(network, nodes)}.items():
        assert weight is None or bool((weight == 1).all())
        doors[name] = whole.clone()
        doors[name].edge_index = edges
    for name, door in doors.items():
        found = GloGNNClassifier(epochs=3, device="cpu").fit(door)
        np.testing.assert_array_equal(found.predict_proba(), expected, err_msg=name)
