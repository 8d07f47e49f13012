"""Commands that write, to be killed or to run out of disk at any step of it, and what they must come to in the end."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from torch_geometric.data import Data

from glognn import GloGNNClassifier
from glognn.data.npz import write_npz
from glognn.experiments.search import open_study, read_search
from tests.conftest import make_data
from tests.program import DISTURBED, GLOGNN, run

OPTIONS = ("-m", "mlp", "--hidden-channels", "4", "--epochs", "2", "--checkpoint-interval", "0")
TRAIN = ("train", "-d", "graph.npz", "-s", "0-1", *OPTIONS, "-o", "run")
TABLES = ("train", "--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "y", "-s", "0", *OPTIONS, "-o", "run")
AUTO = ("train", "-m", "auto", "-d", "unsplit.npz", "--portfolio", "portfolio.toml", "--folds", "2", *OPTIONS[2:])
TUNE = ("tune", "-d", "graph.npz", "-s", "0", *OPTIONS, "--trials", "3", "--workers", "1", "--sampler", "random")

COMMAND = """
import matplotlib.figure
def draw(figure, path, **options):
    with open(path, "wb") as file:
        file.write(b"as good as a picture")
matplotlib.figure.Figure.savefig = draw
""" + GLOGNN  # fmt: skip
"""The command line, which spends no time on drawing the pictures that it writes."""

REPRODUCE = """
import glognn.cli.reproduce as door, glognn.experiments.reproduce as room
door.choose_studies = room.choose_studies = lambda *names, **more: [("table1", ["mlp"], ["pairs"])]
room.QUICK = room.QUICK | {"epochs": 2}
room._fetch_all = lambda *names: {}
""" + COMMAND  # fmt: skip
"""The command with the embedded graph in place of the published ones, which need not be on this machine."""

SAVE = """
import sys
from glognn import GloGNNClassifier
from glognn.errors import GloGNNError
try:
    GloGNNClassifier.load(sys.argv[1]).save(sys.argv[2])
except GloGNNError as error:
    sys.exit(f"error: {error}")
"""
FIT = """
from glognn import GloGNNClassifier
from glognn.data.npz import read_npz
for seed in (0, 1):
    classifier = GloGNNClassifier(random_state=seed, hidden_channels=4, epochs=2)
    classifier.fit(read_npz("graph.npz")).save(f"fitted-{seed}")
GloGNNClassifier.load("fitted-0").save("saved")
"""


def _contents(folder: Path, *patterns: str) -> dict[str, bytes]:
    """Files by name; what a kill has left of unfinished ones counts for nothing."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for pattern in patterns
        for path in sorted(folder.rglob(pattern))
        if not path.parent.name.startswith(".")
    }


def _trained(folder: Path) -> dict[str, Any]:
    """Weights, bit by bit, and scores; that nothing is under way any more."""
    reports = {name: json.loads(text)["scores"] for name, text in _contents(folder, "report.json").items()}
    under_way = [path.name for path in folder.rglob("*") if path.parent.name in ("checkpoint", "together")]
    done = [*_contents(folder, "DONE")]
    return {"under way": under_way, "done": done, "scores": reports, **_contents(folder, "model.safetensors")}


def _ensemble(folder: Path) -> dict[str, Any]:
    """Models, what they say of each node, bit by bit, and the record of the ensemble but for times."""
    record = json.loads((folder / "run/ensemble.json").read_text())
    members = [
        {name: value for name, value in each.items() if "seconds" not in name and name != "memory_mib"}
        for each in record["members"]
    ]
    said = _contents(folder / "run", "probabilities.npy")
    return {**_trained(folder / "run"), **said, "record": record | {"seconds": 0, "finished": "", "members": members}}


def _searched(folder: Path) -> list[Any]:
    """The settings tried and what they came to."""
    study = open_study(folder / "st", read_search(folder / "st"))
    found = [trial for trial in study.trials if trial.state.name == "COMPLETE"]
    assert (folder / "st/best.toml").is_file()
    return sorted(((trial.params, trial.value) for trial in found), key=repr)


def _saved(folder: Path) -> dict[str, bytes]:
    """All there is in the folder, but for when it was written."""
    found = {path.name: path.read_bytes() if path.is_file() else b"" for path in sorted((folder / "saved").iterdir())}
    if record := found.pop("estimator.json", None):
        content = json.loads(record)
        found = {name: text.replace(content["finished"].encode(), b"") for name, text in found.items()}
        found["estimator.json"] = json.dumps(content | {"finished": "", "manifest": ""}).encode()
    return found


def _check_saved(folder: Path) -> None:
    """That it is the classifier of before, or that of after."""
    names = ("saved", "fitted-0", "fitted-1")
    found, *known = (GloGNNClassifier.load(folder / name).predict_proba() for name in names)
    assert any(np.array_equal(found, each) for each in known)


def _finished(folder: Path) -> dict[str, bytes]:
    """What counts as done, and must stay as it is."""
    done = [path.parent for path in folder.rglob("DONE") if not path.parent.name.startswith(".")]
    return {str(path): path.read_bytes() for place in done for path in sorted(place.glob("*")) if path.is_file()}


def _resume(folder: Path) -> tuple[str, ...]:
    begun = any((folder / "run" / name).exists() for name in ("config.toml", "auto.toml"))
    return ("train", "--resume", "run") if begun else ()


@dataclass(frozen=True)
class Undertaking:
    """A command, how to go on with it where that is another one, what must hold however it ended, and what must be
    equal in the end.
    """

    arguments: tuple[str, ...]
    result: Callable[[Path], object]
    program: str = COMMAND
    again: Callable[[Path], tuple[str, ...]] = field(default=lambda folder: ())
    check: Callable[[Path], None] = field(default=lambda folder: None)


UNDERTAKINGS = {
    "train": Undertaking(TRAIN, _trained, again=_resume),
    "train on tables": Undertaking(TABLES, _trained, again=_resume),
    "auto": Undertaking((*AUTO, "-o", "run"), _ensemble, again=_resume),
    "tune": Undertaking((*TUNE, "-o", "st"), _searched),
    "reproduce": Undertaking(
        ("reproduce", "table1", "--quick", "--workers", "1", "--settings", "default", "-o", "out"),
        lambda folder: {**_trained(folder), **_contents(folder, "table.*")},
        REPRODUCE,
    ),
    "predict": Undertaking(("predict", "trained", "-o", "found.csv"), lambda folder: _contents(folder, "found.csv")),
    "save": Undertaking(("fitted-1", "saved"), _saved, SAVE, check=_check_saved),
    "explore": Undertaking(
        ("explore", "trained", "--split", "0", "--reasons", "1", "-o", "page.html"),
        lambda folder: _contents(folder, "page.html"),
    ),
    "report": Undertaking(
        ("report", "trained", "-o", "page.md"), lambda folder: _contents(folder, "page.md", "curves.svg")
    ),
}


def make_folder(folder: Path) -> None:
    """What the undertakings start from."""
    folder.mkdir()
    data = make_data(num_nodes=40, num_splits=2)
    write_npz(data, folder / "graph.npz")
    write_npz(Data(x=data.x, edge_index=data.edge_index, y=data.y), folder / "unsplit.npz")
    members = [f'[[member]]\nname = "{name}"\nmodel = "{name}"\n' for name in ("mlp", "gcn")]
    (folder / "portfolio.toml").write_text("".join(members))
    rows = [f"{node},{x:.4f},{'abc'[y]}" for node, (x, y) in enumerate(zip(data.x[:, 0], data.y, strict=True))]
    (folder / "nodes.csv").write_text("\n".join(["id,x,y", *rows, ""]))
    ends = [f"{first},{second}" for first, second in data.edge_index.T.tolist()]
    (folder / "edges.csv").write_text("\n".join(["from,to", *ends, ""]))
    run(*TRAIN[:-1], "trained", cwd=folder)
    run(cwd=folder, program=FIT)


def steps_of(name: str, start: Path, place: Path) -> tuple[list[str], object]:
    """The steps of an undertaking's writing, and what it comes to undisturbed."""
    folder = Path(shutil.copytree(start, place))
    what = UNDERTAKINGS[name]
    told = run(
        *what.arguments, cwd=folder, program=DISTURBED + what.program, DISTURBED="listed", DISTURBED_AT="0"
    ).stderr
    return told.splitlines(), what.result(folder)


def disturb(
    name: str, kind: str, at: int, start: Path, place: Path
) -> tuple[subprocess.CompletedProcess[str], object, object]:
    """An undertaking disturbed at a step, what it came to where it ended well all the same, and what it comes to when
    it is gone on with.
    """
    folder = Path(shutil.copytree(start, place))
    what = UNDERTAKINGS[name]
    disturbed = run(
        *what.arguments, cwd=folder, program=DISTURBED + what.program, code=None, DISTURBED=kind, DISTURBED_AT=str(at)
    )
    what.check(folder)
    at_first = what.result(folder) if disturbed.returncode == 0 else None
    done = _finished(folder)
    run(*(what.again(folder) or what.arguments), cwd=folder, program=what.program)
    after = _finished(folder)
    assert {path: after.get(path) for path in done} == done, "what was done is not what it was"
    return disturbed, at_first, what.result(folder)
