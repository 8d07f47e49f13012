"""Finished folders are what they were when they were finished, or are refused by the name of the file that is not."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from glognn import GloGNNClassifier, InputError, load_model, verify
from glognn.data.npz import read_npz, write_npz
from glognn.data.table_graph import TableOptions
from glognn.experiments.jobs import run_jobs
from glognn.experiments.plan import by_cell, make_plan
from glognn.experiments.reproduce import Reproduction
from glognn.experiments.saved import open_saved
from glognn.experiments.train import train_models
from glognn.experiments.tune import tune
from tests.conftest import make_data
from tests.program import run as glognn

SPLIT = Path("glognn/split-0")
TABLES = ("graph.npz", "nodes.parquet", "tables.json")
OF_A_SPLIT = ("model.safetensors", "report.json", "curve.csv")


def flip(path: Path, place: float = 0.5, bit: int = 3) -> None:
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 1 << bit
    path.write_bytes(content)


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def remove(path: Path) -> None:
    path.unlink()


def reverse(path: Path) -> None:
    table = parquet.read_table(path)
    parquet.write_table(table.take(pa.array(range(table.num_rows)[::-1])), path)


def forget_files(folder: Path) -> None:
    """As earlier versions left a finished folder."""
    for path in folder.rglob("DONE"):
        path.write_text("")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models on two splits of tables, and a classifier; not to be changed."""
    folder, generator = tmp_path_factory.mktemp("integrity"), random.Random(0)
    rows = [f"n{i},{generator.random():.3f},{'ab'[i % 2]}" for i in range(40)]
    (folder / "nodes.csv").write_text("\n".join(["id,value,kind", *rows]))
    edges = [f"n{generator.randrange(40)},n{generator.randrange(40)}" for _ in range(90)]
    (folder / "edges.csv").write_text("\n".join(["from,to", *edges]))
    tables = TableOptions(nodes=folder / "nodes.csv", edges=folder / "edges.csv", label="kind", random_splits=2)
    train_models(model=["glognn", "mlp"], out=folder / "run", tables=tables, epochs=3, threads=1, device="cpu")
    classifier = GloGNNClassifier(epochs=3, hidden_channels=4, device="cpu").fit(make_data())
    classifier.save(folder / "classifier")
    return folder


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained / "run", tmp_path / "run"))


@pytest.fixture
def classifier(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained / "classifier", tmp_path / "classifier"))


def probabilities(folder: Path) -> np.ndarray:
    return open_saved(folder).predict()[0].probabilities


DAMAGE: dict[str, Callable[[Path], None]] = {"flipped": flip, "shortened": shorten, "missing": remove}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", [*OF_A_SPLIT, *TABLES])
def test_a_changed_file_of_a_run_is_refused_by_its_name(name: str, damage: str, run: Path) -> None:
    path = run / name if name in TABLES else run / SPLIT / name
    DAMAGE[damage](path)
    wanted = rf"{path.name}' (was changed|is missing): .*put it back from a copy, or train again; 'glognn verify"
    wanted += r"|There is no graph file '../graph\.npz'"
    for load in (lambda: open_saved(run, ["glognn"]), lambda: GloGNNClassifier.load(run)):
        with pytest.raises(InputError, match=wanted) as raised:
            load()
        assert "\n" not in str(raised.value)
    if name not in TABLES:
        open_saved(run, ["mlp"]).predict()


def test_a_reversed_table_of_ids_is_refused(run: Path) -> None:
    reverse(run / "nodes.parquet")
    with pytest.raises(InputError, match=r"nodes\.parquet' was changed"):
        open_saved(run)


def test_flipped_bits_change_no_prediction(run: Path, figures: dict[str, str]) -> None:
    """Anywhere in a folder: refused, or of no matter, as in a comment or in the report of another model."""
    before = open_saved(run, ["glognn"]).predict()[0].table()
    generator, refused, paths = random.Random(1), 0, sorted(path for path in run.rglob("*") if path.stat().st_size)
    paths = [path for path in paths if path.is_file()]
    for _ in range(150):
        path = generator.choice(paths)
        whole = path.read_bytes()
        flip(path, generator.random(), generator.randrange(8))
        try:
            after = open_saved(run, ["glognn"]).predict()[0].table()
        except InputError:
            refused += 1
        else:
            assert after.equals(before), path
        path.write_bytes(whole)
    assert refused > 50
    figures["bits flipped in a run folder, refused"] = f"{refused} of 150, the others without effect"


def test_what_is_put_beside_the_files_of_a_run_is_nobodys_business(run: Path) -> None:
    before = probabilities(run)
    for folder in (run, run / SPLIT, run / "mlp"):
        (folder / "notes.txt").write_text("mine")
    config = run / SPLIT.parent / "config.toml"
    config.write_text(config.read_text().replace("threads = 1", "threads = 2  # more"))
    np.testing.assert_array_equal(probabilities(run), before)


def test_settings_of_a_finished_run_are_those_of_its_record(run: Path) -> None:
    config = run / SPLIT.parent / "config.toml"
    config.write_text(config.read_text().replace("directed = false", "directed = true"))
    with pytest.raises(InputError, match=r"is done, with directed False. Got directed True instead: put it back into"):
        open_saved(run, ["glognn"])


def test_a_folder_of_an_earlier_version_opens(run: Path) -> None:
    before = probabilities(run)
    forget_files(run)
    np.testing.assert_array_equal(probabilities(run), before)
    table = parquet.read_table(run / "nodes.parquet")
    parquet.write_table(table.slice(0, 39), run / "nodes.parquet")
    with pytest.raises(InputError, match=r"nodes\.parquet' must hold the ids of 40 nodes. Got 39"):
        probabilities(run)


@pytest.mark.parametrize("name", OF_A_SPLIT)
def test_resuming_does_not_go_on_from_changed_splits(name: str, run: Path) -> None:
    (run / "glognn/DONE").unlink()
    shutil.rmtree(run / "glognn/split-1")
    flip(run / SPLIT / name)
    with pytest.raises(InputError, match=f"{name}' was changed"):
        train_models(resume=run)


def test_resuming_a_finished_run_leaves_it_finished(run: Path) -> None:
    before = probabilities(run)
    train_models(resume=run)
    np.testing.assert_array_equal(probabilities(run), before)


@pytest.mark.parametrize("path", [SPLIT, SPLIT / "model.safetensors"])
def test_weights_that_were_changed_are_not_loaded(path: Path, run: Path) -> None:
    load_model(run / path)
    flip(run / SPLIT / "model.safetensors", 0.9)
    with pytest.raises(InputError, match=r"model\.safetensors' was changed"):
        load_model(run / path)


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "null", "x", '{"schema_version": 1}', '{"schema_version": 1, "files": {}}',
     '{"schema_version": 1, "files": [], "tables": {}}', '{"schema_version": 1, "files": {"a": 3}, "tables": {}}',
     '{"schema_version": 1, "files": {"../a": {"bytes": 1, "sha256": ""}}, "tables": {}}',
     '{"schema_version": 1, "files": {}, "tables": {"/a": {"bytes": 1, "sha256": ""}}}'],
)  # fmt: skip
def test_a_damaged_mark_of_a_finished_run(text: str, run: Path) -> None:
    (run / SPLIT / "DONE").write_text(text)
    with pytest.raises(InputError, match=r"DONE' (is damaged|cannot be read|must be 1)") as raised:
        open_saved(run, ["glognn"])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("pattern", ["model-*", "graph-*"])
def test_a_changed_file_of_a_classifier_is_refused_by_its_name(pattern: str, damage: str, classifier: Path) -> None:
    [path] = classifier.glob(pattern)
    DAMAGE[damage](path)
    for load in (open_saved, GloGNNClassifier.load):
        with pytest.raises(InputError, match=f"{path.name}' (was changed|is missing)"):
            load(classifier)


def test_a_swapped_graph_under_a_classifier_is_refused(classifier: Path) -> None:
    """One that differs in a loop, which the graph's fingerprint does not see."""
    [path] = classifier.glob("graph-*")
    data = read_npz(path)
    data.edge_index[:, 0] = data.edge_index[0, 0]
    write_npz(data, path)
    with pytest.raises(InputError, match=f"{path.name}' was changed"):
        GloGNNClassifier.load(classifier)


def test_a_changed_record_of_a_classifier_is_refused(classifier: Path) -> None:
    path = classifier / "estimator.json"
    record = json.loads(path.read_text())
    (classifier / "README.md").write_text("The card is the user's.")
    path.write_text(json.dumps(record))
    GloGNNClassifier.load(classifier)
    record["classes"]["values"].reverse()
    path.write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"estimator\.json' was changed: put it back from a copy"):
        GloGNNClassifier.load(classifier)


@pytest.mark.parametrize("name", ["report.json", "DONE", "tables.json", "estimator.json"])
def test_records_of_a_later_version_are_refused(name: str, run: Path, classifier: Path) -> None:
    folder = classifier if name == "estimator.json" else run
    path = run / SPLIT / name if name in ("report.json", "DONE") else folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": 2}))
    if name in ("report.json", "tables.json"):
        forget_files(run)
    with pytest.raises(InputError, match=rf"schema_version of '.*{name}' must be 1\. Got 2 instead"):
        open_saved(folder).predict()


def states(folder: Path) -> dict[str, str]:
    return {each.path.relative_to(folder).as_posix(): each.state for each in verify(folder)}


def test_verify_names_every_file_of_a_whole_folder(run: Path, classifier: Path) -> None:
    of_runs = {f"{model}/split-{split}/{name}" for model in ("glognn", "mlp") for split in (0, 1)
               for name in (*OF_A_SPLIT, "config.toml")}  # fmt: skip
    of_parents = {f"{model}/{name}" for model in ("glognn", "mlp") for name in ("config.toml", "report.json")}
    (run / "notes.txt").write_text("mine")
    assert states(run) == dict.fromkeys(of_runs | of_parents | {"config.toml", *TABLES}, "ok")
    names = {path.name for path in classifier.iterdir()} - {"README.md", ".lock"}
    assert states(classifier) == dict.fromkeys(names, "ok")
    assert set(states(run.parent).values()) == {"ok"}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", [*OF_A_SPLIT, *TABLES])
def test_verify_says_which_file_is_wrong(name: str, damage: str, run: Path) -> None:
    place = name if name in TABLES else f"{SPLIT}/{name}"
    DAMAGE[damage](run / place)
    found = states(run)
    assert found[place] == ("missing" if damage == "missing" else "changed")
    wrong = {path for path, state in found.items() if state != "ok"}
    assert wrong - {path for path in wrong if path.endswith("config.toml") and name == "graph.npz"} == {place}


def test_verify_says_what_else_is_wrong(run: Path, classifier: Path, tmp_path: Path) -> None:
    config = run / "mlp/config.toml"
    config.write_text(config.read_text().replace("dropout = 0.5", "dropout = 0.25"))
    (run / "mlp/split-0/DONE").write_text("{")
    shutil.rmtree(run / "glognn/split-1")
    [path] = classifier.glob("model-*")
    remove(path)
    found = states(tmp_path)
    assert found["run/mlp/config.toml"] == "changed"
    assert found["run/mlp/split-0/DONE"] == "damaged"
    assert found["run/glognn/split-1/DONE"] == "missing"
    assert found[f"classifier/{path.name}"] == "missing"
    flip(classifier / "estimator.json")
    assert states(classifier) == {"estimator.json": "damaged"}
    shutil.rmtree(run / "glognn")
    assert states(run)["glognn/config.toml"] == "missing"


def test_a_mark_that_lists_not_all_files_is_refused(run: Path) -> None:
    for name in ("report.json", "model.safetensors", "nodes.parquet"):
        whole = (run / SPLIT / "DONE").read_text()
        content = json.loads(whole)
        del content["tables" if name in TABLES else "files"][name]
        (run / SPLIT / "DONE").write_text(json.dumps(content))
        assert states(run)[f"{SPLIT}/DONE"] == "damaged"
        for load in (lambda: load_model(run / SPLIT), lambda: open_saved(run, ["glognn"])):
            with pytest.raises(InputError, match=f"DONE' is damaged: it does not list {name}"):
                load()
        (run / SPLIT / "DONE").write_text(whole)


def test_a_linked_folder_of_a_split_is_neither_opened_nor_passed_over(run: Path, tmp_path: Path) -> None:
    (run / SPLIT).rename(tmp_path / "elsewhere")
    (run / SPLIT).symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    for read in (lambda: open_saved(run, ["glognn"]), lambda: train_models(resume=run)):
        with pytest.raises(InputError, match=r"split-0' must be a folder of its own. Got a link to '.*elsewhere'"):
            read()
    assert states(run)[str(SPLIT)] == "damaged"
    run.rename(tmp_path / "there")
    run.symlink_to(tmp_path / "there", target_is_directory=True)  # of the whole folder, which is the user's choice
    (run / SPLIT).unlink()
    (tmp_path / "elsewhere").rename(run / SPLIT)
    open_saved(run, ["glognn"])
    assert set(states(run).values()) == {"ok"}


def test_tables_beside_another_graph_do_not_name_its_nodes(run: Path) -> None:
    write_npz(read_npz(run / "graph.npz"), run / "other.npz")
    found = train_models(model="mlp", dataset=str(run / "other.npz"), out=run.with_name("new"), epochs=2, device="cpu")
    assert open_saved(found.folder).tables is None
    assert open_saved(run).tables is not None


def test_verify_of_folders_of_earlier_versions_and_unfinished_ones(run: Path) -> None:
    forget_files(run)
    (run / "mlp/split-0/DONE").unlink()
    (run / "mlp/DONE").unlink()
    found = states(run)
    assert found["mlp/split-0/config.toml"] == found["mlp/config.toml"] == "unfinished"
    assert {found[f"{SPLIT}/{name}"] for name in OF_A_SPLIT} == {"not recorded"}
    assert {found[name] for name in TABLES} == {"not recorded"}
    assert not any(each.wrong for each in verify(run))
    earlier = Path(__file__).with_name("saved_classifier")
    assert set(states(earlier).values()) == {"not recorded"}


def test_verify_of_a_search(tmp_path: Path) -> None:
    tune("pairs", "mlp", trials=1, splits="0", out=tmp_path / "study", epochs=2, workers=1)
    assert states(tmp_path) == {"study/study.json": "not recorded", "study/study.journal": "not recorded"}
    with (tmp_path / "study/study.journal").open("a") as file:
        file.write("half a li")
    assert states(tmp_path)["study/study.journal"] == "damaged"
    with pytest.raises(InputError, match="There is no folder"):
        verify(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no run, no search, no graph in parts and no saved classifier"):
        verify(tmp_path / "empty")


def test_the_verify_command(run: Path, tmp_path: Path) -> None:
    assert glognn("verify", "run", cwd=tmp_path).stdout.endswith("24 files: 24 ok\n")
    flip(run / SPLIT / "model.safetensors")
    told = glognn("verify", "run", cwd=tmp_path, code=1)
    assert "1 changed" in told.stdout
    assert told.stderr == ""
    content = json.loads(glognn("verify", "run", "--format", "json", cwd=tmp_path, code=1).stdout)
    assert content["ok"] is False
    assert [each["path"] for each in content["files"] if each["state"] != "ok"] == [f"run/{SPLIT}/model.safetensors"]
    assert "must be table or json" in glognn("verify", "run", "--format", "xml", cwd=tmp_path, code=2).stderr


def test_a_reproduction_does_not_mix_graphs(tmp_path: Path) -> None:
    """Neither when it goes on beside a run on another graph, nor when all runs are done."""
    plan = make_plan(tmp_path, ["pairs"], ["mlp"], splits="0-2", given={"epochs": 2, "threads": 1, "device": "cpu"})
    assert [outcome.error for outcome in run_jobs(plan[:1])] == [""]
    path = plan[0].folder / "report.json"
    whole, mark = path.read_bytes(), (plan[0].folder / "DONE").read_bytes()
    report = json.loads(whole)
    report["data"]["fingerprint"] = "0123456789abcdef"
    path.write_text(json.dumps(report))
    for outcome in run_jobs(plan):
        assert re.search(r"report\.json' was changed", outcome.error)
    forget_files(tmp_path)
    for outcome in run_jobs(plan):
        assert re.search(r"split-0' is done, on a graph with the fingerprint 0123456789ab\. Got 'pairs'", outcome.error)
    assert not any(job.done for job in plan[1:])
    path.write_bytes(whole)
    (plan[0].folder / "DONE").write_bytes(mark)
    assert [outcome.error for outcome in run_jobs(plan)] == ["", ""]
    done = Reproduction("table1", tmp_path, ["pairs"], ["mlp"], "published", by_cell(plan), {})
    assert len(done.reports()["pairs", "mlp"]) == 3
    path.write_text(json.dumps(report))
    with pytest.raises(InputError, match=r"report\.json' was changed"):
        done.reports()
    forget_files(tmp_path)
    with pytest.raises(
        InputError, match=r"mlp on pairs must be of one graph. Got '.*split-0' with the fingerprint 01234"
    ):
        done.reports()
