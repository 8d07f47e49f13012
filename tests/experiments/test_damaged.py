"""Records of a run folder that were damaged: one line that names the file, whoever reads it."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from glognn import GloGNNClassifier
from glognn.data.npz import write_npz
from glognn.errors import InputError
from glognn.experiments.batches import Batch, make_batches
from glognn.experiments.folder import find_runs, load_model, read_report
from glognn.experiments.plan import Job
from glognn.experiments.saved import open_saved
from glognn.experiments.train import train_models
from glognn.report.listing import find_groups
from glognn.training.checkpoint import load_tensors, save_tensors
from tests.conftest import make_data


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models on two splits, not to be changed."""
    folder = tmp_path_factory.mktemp("finished")
    write_npz(make_data(num_splits=2), folder / "graph.npz")
    train_models(str(folder / "graph.npz"), ["mlp", "gcn"], out=folder / "run", epochs=2)
    return folder / "run"


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.mark.parametrize(
    "text",
    ["runs = 3", "runs = [1]", "runs = []", 'runs = "mlp"', 'runs = ["mlp", "mlp"]', "runs = {}", "runs = [", "\udcff"],
)
def test_a_list_of_runs_that_is_none(text: str, run: Path) -> None:
    (run / "config.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=r"config\.toml' (is not a readable TOML file|must name different folders)"):
        find_runs(run)


@pytest.mark.parametrize("name", ["../other/mlp", "..", ".", "", "mlp/split-0", "{other}", "link", "a" * 300])
def test_runs_outside_of_the_folder_are_not_opened(name: str, run: Path, tmp_path: Path) -> None:
    run.rename(tmp_path / "other")
    run.mkdir()
    if name == "link":
        (run / "link").symlink_to(tmp_path / "other" / "mlp", target_is_directory=True)
    named = name.format(other=tmp_path / "other" / "mlp")
    (run / "config.toml").write_text(f"runs = [{json.dumps(named)}]")
    for read in (find_runs, open_saved):
        with pytest.raises(InputError, match="must name folders in"):
            read(run)


def forget_files(folder: Path) -> None:
    """As earlier versions left a finished folder."""
    for path in folder.rglob("DONE"):
        path.write_text("")


def places(content: Any, trail: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [trail, *(place for key, each in inner for place in places(each, (*trail, key)))][not trail :]


def test_whatever_is_wrong_in_a_report_is_one_line(run: Path, figures: dict[str, str]) -> None:
    """Every value of both kinds of report, removed or of another type: refused by name, or of no matter.

    In folders of earlier versions, that is: by now a changed report is refused whatever it says.
    """
    tried, messages = 0, set()
    forget_files(run)
    for path in (run / "mlp/report.json", run / "mlp/split-0/report.json"):
        whole = path.read_text()
        for trail in places(json.loads(whole)):
            for value in (None, "x", [], {}, -1.5):
                content = json.loads(whole)
                inner = content
                for key in trail[:-1]:
                    inner = inner[key]
                inner[trail[-1]] = value
                path.write_text(json.dumps(content))
                tried += 1
                for read in (lambda: open_saved(run, ["mlp"]), lambda: [each.record() for each in find_groups(run)]):
                    try:
                        read()
                    except InputError as error:
                        messages.add(str(error).replace(str(path), "FILE"))
        for text in ("", whole[:300], "[]", "null", '{"kind": "run"}', "\x00", whole.replace("0.", "NaN, 0.", 1)):
            path.write_text(text)
            with pytest.raises(InputError, match=r"report\.json' (cannot be read|is damaged|must be 1)"):
                read_report(path.parent)
        path.write_text(whole)
    named = ("'FILE' is damaged: ", "'FILE' cannot be read: ", "schema_version of 'FILE' must be 1. ")
    others = {message for message in messages if not message.startswith(named)}
    known = r"'.*/mlp(/split-0)?' is done, with |The splits of '.*/mlp' were trained on different graphs: "
    assert all(re.match(known, message) for message in others)
    assert not any("\n" in message for message in messages)
    figures["damaged reports refused or read"] = str(tried)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"members": 3}', '{"members": [3]}', '{"members": [[]]}', "\x00"])
def test_a_damaged_list_of_a_batch(text: str, run: Path) -> None:
    [(folder, config), _] = find_runs(run)
    jobs = [Job(folder / f"split-{split}", config, split, "mlp", "default") for split in (0, 1)]
    listing = Batch(folder, tuple(jobs)).listing
    listing.parent.mkdir(exist_ok=True)
    listing.write_text(text)
    with pytest.raises(InputError, match=listing.name):
        make_batches(jobs, group=folder)


def forge(path: Path, change: Callable[[dict[str, torch.Tensor], dict[str, Any]], object]) -> None:
    tensors, values = load_tensors(path)
    change(tensors, values)
    save_tensors(path, tensors, values)


DAMAGE: dict[str, tuple[Callable[[dict[str, torch.Tensor], dict[str, Any]], object], str]] = {
    "missing": (lambda tensors, _: tensors.popitem(), "must be of shape .* It is absent instead"),
    "all missing": (lambda tensors, _: tensors.clear(), "It is absent instead"),
    "extra": (lambda tensors, _: tensors.update(more=torch.ones(2)), r"'more' must be absent\. It is of shape \(2,\)"),
    "misshapen": (lambda tensors, _: tensors.update({next(iter(tensors)): torch.ones(1, 1)}), r"is of shape \(1, 1\)"),
    "huge": (lambda _, values: values["settings"].update(hidden_channels=2**26), "must be of shape .*67108864"),
    "huge inputs": (lambda _, values: values.update(in_channels=2**40), "must be of shape .*1099511627776"),
    "beyond numbers": (lambda _, values: values.update(in_channels=2**70), "its settings make no model"),
    "negative inputs": (lambda _, values: values.update(in_channels=-3), "its settings make no model"),
    "text as a size": (lambda _, values: values.update(out_channels="3"), "out_channels must be int, not '3'"),
    "no settings": (lambda _, values: values.pop("settings"), "settings is missing"),
    "an unknown setting": (lambda _, values: values["settings"].update(width=3), "its settings make no model: .*width"),
    "an unknown model": (lambda _, values: values.update(model="none"), "no model: There is no model 'none'"),
    "another model": (lambda _, values: values.update(model="gcnii", settings={}), "is damaged"),
    "whole numbers": (lambda tensors, _: tensors.update({k: t.long() for k, t in tensors.items()}), "must be float32"),
    "half of it halves": (lambda tensors, _: tensors.update({next(iter(tensors)): next(iter(tensors.values())).half()}),
                          "must be float32 or float64, all alike"),
    "not a number": (lambda tensors, _: next(iter(tensors.values())).fill_(math.nan), "that are not finite"),
    "no values": (lambda _, values: values.clear(), "schema_version"),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGE)
def test_weights_that_do_not_fit_their_settings(case: str, run: Path) -> None:
    """Sizes are compared before a tensor is read or a model built: one of 2**26 channels would take gigabytes."""
    path = run / "mlp/split-0/model.safetensors"
    change, message = DAMAGE[case]
    forge(path, change)
    forget_files(run)
    with pytest.raises(InputError, match=message) as raised:
        load_model(path)
    assert "\n" not in str(raised.value)


def test_shapes_are_compared_before_a_tensor_is_read(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = run / "mlp/split-0/model.safetensors"
    forge(path, DAMAGE["huge"][0])
    forget_files(run)
    monkeypatch.setattr("glognn.experiments.folder.load_tensors", lambda file: pytest.fail("read"))
    with pytest.raises(InputError, match="must be of shape .*67108864"):
        load_model(path)


def test_flipped_bits_of_weights_by_themselves_are_found(run: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(run / "mlp/split-0/model.safetensors", tmp_path / "weights.safetensors"))
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"weights\.safetensors' is damaged: its sha256 is not the one"):
        load_model(path)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier, not to be changed."""
    folder = tmp_path_factory.mktemp("saved") / "classifier"
    data = make_data(num_splits=1)
    GloGNNClassifier(epochs=2, hidden_channels=4, device="cpu").fit(data).save(folder)
    return folder


@pytest.fixture
def classifier(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "classifier"))


def is_one_line(folder: Path, message: str) -> None:
    for load in (GloGNNClassifier.load, lambda path: open_saved(path).predict()):
        with pytest.raises(InputError, match=message) as raised:
            load(folder)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "3", "\udcff", "{}", '{"schema_version": true}', "[" * 100_000]
)
def test_a_record_of_a_classifier_that_is_none(text: str, classifier: Path) -> None:
    (classifier / "estimator.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    is_one_line(classifier, r"estimator\.json' (cannot be read|is damaged|must be 1)")


def test_a_truncated_record_of_a_classifier(classifier: Path) -> None:
    whole = (classifier / "estimator.json").read_bytes()
    for size in range(0, len(whole) - 2, 97):
        (classifier / "estimator.json").write_bytes(whole[:size])
        is_one_line(classifier, r"estimator\.json' cannot be read")


def put(trail: tuple[Any, ...], value: Any) -> Callable[[dict[str, Any]], None]:
    def change(record: dict[str, Any]) -> None:
        inner: Any = record
        for key in trail[:-1]:
            inner = inner[key]
        inner[trail[-1]] = value

    return change


def test_whatever_is_wrong_in_a_record_of_a_classifier_is_one_line(classifier: Path, figures: dict[str, str]) -> None:
    """Every value, removed or of another type, in a record without the sha256 of its content: refused by name, or of
    no matter.
    """
    path = classifier / "estimator.json"
    whole = json.loads(path.read_text())
    del whole["manifest"]
    tried, refused = 0, 0
    for trail in places(whole):
        for value in (None, "x", [], {}, -1.5, 10**30, ABSENT):
            record = json.loads(json.dumps(whole))
            put(trail, value)(record)
            if value is ABSENT:
                inner = record
                for key in trail[:-1]:
                    inner = inner[key]
                del inner[trail[-1]]
            path.write_text(json.dumps(record, default=str))
            tried += 1
            for load in (GloGNNClassifier.load, lambda folder: open_saved(folder).predict()):
                try:
                    load(classifier)
                except InputError as error:
                    refused += 1
                    message = str(error)
                    if str(classifier) not in message or "\n" in message:
                        pytest.fail(f"{trail} {value}: {message}")
    assert refused > tried // 2
    figures["damaged classifiers refused or read"] = str(tried)


ABSENT = object()
FORGED: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a file outside": (put(("files", "model"), "../model.safetensors"), "files must name files of its folder"),
    "a file of no name": (put(("files", "model"), "a\0b"), "files must name files of its folder"),
    "an absolute file": (put(("files", "graph"), "/graph.npz"), "files must name files of its folder"),
    "huge classes": (put(("classes", "dtype"), "<U100000000"), "is damaged: classes of the type '<U100000000'"),
    "classes of no type": (put(("classes", "dtype"), "wide"), "is damaged: data type 'wide' not understood"),
    "objects as classes": (put(("classes", "dtype"), "V8"), "is damaged: classes of the type 'V8'"),
    "words as numbers": (put(("classes", "values"), ["a", "b", "c"]), "is damaged: invalid literal"),
    "a class more": (put(("classes", "values"), [0, 1, 2, 3]), "must hold .* 4 classes, .* It holds .* 3 classes"),
    "another model": (put(("params", "model"), "glognn"), r"must hold glognn of .* It holds glognn\+\+ of"),
    "an unknown model": (put(("params", "model"), "none"), "is damaged: There is no model 'none'"),
    "an unknown setting": (put(("params", "width"), 3), "is damaged: GloGNNClassifier has no parameter 'width'"),
    "a setting out of range": (put(("params", "gamma"), 7), "is damaged: The 'gamma' parameter"),
    "another graph's fingerprint": (put(("data", "fingerprint"), "0" * 16), "is not the one that .* was trained on"),
}  # fmt: skip


@pytest.mark.parametrize("case", FORGED)
def test_forged_records_of_a_classifier(case: str, classifier: Path) -> None:
    path = classifier / "estimator.json"
    record = json.loads(path.read_text())
    del record["manifest"]
    change, message = FORGED[case]
    change(record)
    path.write_text(json.dumps(record))
    with pytest.raises(InputError, match=message) as raised:
        GloGNNClassifier.load(classifier)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("case", [*DAMAGE, "no file", "no tensors file", "no graph file", "no graph"])
def test_files_of_a_classifier_that_do_not_fit(case: str, classifier: Path) -> None:
    """Also in a record without the sha256 of them."""
    record = json.loads((classifier / "estimator.json").read_text())
    del record["manifest"]
    (classifier / "estimator.json").write_text(json.dumps(record))
    weights, graph = (classifier / record["files"][name] for name in ("model", "graph"))
    if case in DAMAGE:
        forge(weights, DAMAGE[case][0])
        message = weights.name
    elif "graph" in case:
        graph.unlink() if case == "no graph file" else graph.write_bytes(b"PK")
        message = graph.name
    else:
        weights.unlink() if case == "no file" else weights.write_bytes(b"{}")
        message = weights.name
    is_one_line(classifier, message)
