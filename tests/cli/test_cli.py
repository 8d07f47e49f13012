"""The command line as a user meets it."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest
from safetensors import SafetensorError, safe_open

from glognn.cli import main as cli
from glognn.cli.options import PANELS, SELDOM, flag
from glognn.data.npz import write_npz
from glognn.experiments.config import RunConfig, resolve
from glognn.models.configs import MODELS
from glognn.training.config import TrainingConfig
from tests import program
from tests.conftest import COMMAND, ENVIRONMENT, make_data
from tests.program import GLOGNN, KILLED, Program


def run(*arguments: str, cwd: Path | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
    return program.run(*arguments, cwd=cwd, code=0 if check else None)


@pytest.fixture
def graph_file(tmp_path: Path) -> Path:
    write_npz(make_data(num_splits=2), tmp_path / "graph.npz")
    return tmp_path / "graph.npz"


def flags_in(text: str) -> set[str]:
    """The flags that have a line of their own in a help page."""
    return set(re.findall(r"^│ \*?\s*(--[a-z0-9-]+)", text, re.MULTILINE))


def test_help_names_the_commands_and_every_setting() -> None:
    out = run("--help").stdout
    assert "train" in out
    assert "models" in out
    text = run("train", "--help-all").stdout
    settings = {*TrainingConfig.names(), *(name for config in MODELS.values() for name in config.names())}
    for name in settings:
        assert flag(name) in text, name
    assert re.fullmatch(r"glognn \d+\.\d+\.\d+\n", run("--version").stdout)


def test_help_is_short_first() -> None:
    text = run("train", "--help").stdout
    first, everything = flags_in(text), flags_in(run("train", "--help-all").stdout)
    assert first < everything
    assert len(first) <= 30
    assert {"--nodes", "--edges", "--label", "--model", "--metric", "--out", "--help-all"} <= first
    assert not {"--gamma", "--learning-rate", "--checkpoint-interval", "--rare-share"} & first
    assert text.index("Your own tables") < text.index("What to train") < text.index("Where and how")
    assert "WORD" in text  # instead of all metrics in a column
    assert "macro_f1" in text
    assert len(text.splitlines()) <= 130
    assert "cost=1:20" not in text
    assert "cost=1:20" in run("train", "--help-all").stdout
    shown = {*(name for names in PANELS.values() for name in names), *SELDOM}
    known = everything | flags_in(run("tune", "--help-all").stdout)
    assert {flag(name) for name in shown - {"datasets", "models"}} <= known  # of tune: --dataset, --model


def test_models() -> None:
    out = run("models").stdout
    assert all(name in out for name in MODELS)
    assert run("models", "--names").stdout.split() == list(MODELS)
    for name, config in MODELS.items():
        text = run("models", name).stdout
        assert all(flag(info.name) in text and str(info.default) in text for info in config.infos())


def test_train_several_models(graph_file: Path, tmp_path: Path) -> None:
    options = ["--dataset", str(graph_file), "--model", "glognn++", "--model", "mlp", "--epochs", "6"]
    out = run("train", *options, "--out", "run", cwd=tmp_path).stdout
    assert "60 nodes" in out
    assert re.search(r"glognn\+\+, split 1: test accuracy [\d.]+ %", out)
    assert re.search(r"^glognn\+\+ +[\d.]+ ± [\d.]+ +2 +12 +[\d.]+$", out, re.MULTILINE)
    assert (tmp_path / "run" / "curve.png").is_file()
    assert (tmp_path / "run" / "models.png").is_file()
    report = json.loads((tmp_path / "run" / "glognn++" / "report.json").read_text())
    assert report["splits"] == [0, 1]
    quiet = run("train", "--resume", "run", "--quiet", cwd=tmp_path).stdout  # all done: only the table
    assert "split 0" not in quiet
    assert "glognn++" in quiet


def test_without_an_out_option_the_folder_is_named_by_time(graph_file: Path, tmp_path: Path) -> None:
    options = ["-d", str(graph_file), "--epochs", "2", "-s", "0"]
    subprocess.run([*COMMAND, "train", *options], cwd=tmp_path, env=ENVIRONMENT, check=True, capture_output=True)
    [folder] = (tmp_path / "runs").iterdir()
    assert re.fullmatch(r"\d{8}-\d{6}-graph", folder.name)


def test_a_run_repeats_from_its_own_config(graph_file: Path, tmp_path: Path) -> None:
    settings = ["--alpha", "0.25", "--directed", "--num-hops", "3", "--dtype", "float64", "--epochs", "5"]
    run("train", "-d", str(graph_file), "-m", "glognn", "-s", "1", *settings, "-o", "a", cwd=tmp_path)
    content = tomllib.loads((tmp_path / "a" / "config.toml").read_text())
    assert content["model"]["alpha"] == 0.25
    assert content["data"]["directed"] is True
    [config] = resolve([], str(tmp_path / "a" / "config.toml"), {}, None, None)
    assert isinstance(config, RunConfig)
    run("train", "--config", "a/config.toml", "-o", "b", cwd=tmp_path)
    assert (tmp_path / "a/model.safetensors").read_bytes() == (tmp_path / "b/model.safetensors").read_bytes()
    assert (tmp_path / "a/config.toml").read_text() == (tmp_path / "b/config.toml").read_text()


def epochs_done(folder: Path) -> int:
    """How far the checkpoint of a run folder is, 0 when there is none yet."""
    try:
        with safe_open(folder / "checkpoint" / "latest.safetensors", framework="np") as file:
            values = json.loads(file.metadata()["glognn"])
            return len(values["histories"][0]["curve"])
    except (FileNotFoundError, SafetensorError):
        return 0


def test_killed_runs_end_with_the_same_bits(graph_file: Path, tmp_path: Path, figures: dict[str, str]) -> None:
    """SIGKILL at a random epoch, resume, again and again. ``GLOGNN_KILLS`` sets how often."""
    kills = int(os.environ.get("GLOGNN_KILLS", "2"))
    options = ["-d", str(graph_file), "-m", "glognn++", "-s", "0", "--epochs", "400", "--early-stopping", "none"]
    options += ["--checkpoint-interval", "0"]
    run("train", *options, "-o", "whole", cwd=tmp_path)
    generator, done = random.Random(0), 0
    while done < kills:
        folder = tmp_path / f"killed-{done}"
        arguments = ["train", *options, "-o", str(folder)]
        for _ in range(2 if kills - done > 1 else 1):  # some runs are killed twice
            before = epochs_done(folder)
            at = generator.randint(1, 380 - before)
            program.run(*arguments, cwd=tmp_path, program=KILLED, code=-signal.SIGKILL, KILLED_AT=str(at))
            assert epochs_done(folder) == before + at
            assert not (folder / "DONE").exists()
            done += 1
            arguments = ["train", "--resume", str(folder)]
        run(*arguments)
        assert (folder / "DONE").exists()
        whole, resumed = ((tmp_path / "whole"), folder)
        assert (whole / "model.safetensors").read_bytes() == (resumed / "model.safetensors").read_bytes()
        curves = [np.genfromtxt(path / "curve.csv", delimiter=",", skip_header=1)[:, :-1] for path in (whole, resumed)]
        assert np.array_equal(*curves)
    figures["runs killed and resumed to the same bits"] = str(done)


def test_an_interrupt_says_how_to_go_on(graph_file: Path, tmp_path: Path) -> None:
    options = ["-d", str(graph_file), "-s", "0", "--epochs", "100000", "--early-stopping", "none"]
    process = Program(GLOGNN, "train", *options, "--checkpoint-interval", "0", "-o", "run", cwd=tmp_path)
    while not (tmp_path / "run/checkpoint/latest.safetensors").exists() and process.poll() is None:
        time.sleep(0.01)
    process.send(signal.SIGINT)
    done = process.wait()
    assert done.returncode == 130
    assert "glognn train --resume run" in done.stdout
    assert done.stderr == "error: interrupted.\n"


@pytest.mark.skipif(sys.platform == "win32", reason="a process group is interrupted as on POSIX systems")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_interrupt_of_a_search_and_its_workers_is_one_line(workers: str, graph_file: Path, tmp_path: Path) -> None:
    options = ["-d", str(graph_file), "-m", "mlp", "--trials", "9999", "--epochs", "1000", "--workers", workers]
    process = subprocess.Popen(
        [*COMMAND, "tune", *options, "-o", "study"], cwd=tmp_path, env=ENVIRONMENT, text=True,
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()  # the search has begun
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate()[1] == "error: interrupted.\n"
    assert process.returncode == 130


def test_an_interrupt_while_the_program_is_loaded_is_one_line() -> None:
    code = "import sys, signal, glognn.__main__ as program\n"
    code += "class Interrupt:\n    def find_spec(*_):\n        signal.raise_signal(signal.SIGINT)\n"
    code += "sys.meta_path.insert(0, Interrupt)\nprogram.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT)
    assert (done.returncode, done.stderr) == (130, "error: interrupted.\n")


def test_an_error_nobody_foresaw_is_one_line_and_a_file(tmp_path: Path) -> None:
    code = "import glognn.cli.models as room\ndef fail(name):\n    raise LookupError('lost\\nthings')\n"
    code += f"room.find_model = fail\n{GLOGNN}"
    done = program.run("models", "gcn", code=1, program=code, TMPDIR=str(tmp_path))
    [kept] = tmp_path.glob("glognn-error-*.txt")
    assert done.stderr == (
        f"error: LookupError: lost things (an error in glognn itself; '{kept}' says where, and so does --debug)\n"
    )
    text = kept.read_text()
    assert "['models', 'gcn']" in text
    assert text.endswith("LookupError: lost\nthings\n")
    assert "Traceback (most recent call last)" in text
    shown = program.run("models", "gcn", "--debug", code=1, program=code, TMPDIR=str(tmp_path)).stderr
    assert shown.startswith("Traceback (most recent call last)")
    assert "error: LookupError: lost things" in shown


def test_debug_shows_where_a_known_error_was_raised() -> None:
    plain, shown = (run(*words, "models", "no such", check=False).stderr for words in ([], ["--debug"]))
    assert plain.startswith("error: There is no model 'no such'")
    assert shown.startswith("Traceback (most recent call last)")
    assert shown.endswith(plain)


def nothing(path: Path) -> None:
    """Leave the graph as it is."""


def change(**arrays: object):
    def apply(path: Path) -> None:
        with np.load(path) as file:
            content = dict(file)
        content.update({name: np.asarray(value) for name, value in arrays.items() if value is not None})
        for name, value in arrays.items():
            if value is None:
                content.pop(name, None)
        np.savez(path, **content)

    return apply


def nan_features() -> np.ndarray:
    x = np.ones((60, 7))
    x[4, 2] = np.nan
    return x


def weights(value: float) -> np.ndarray:
    return np.full(150, value)


BAD = [
    (["--gamma", "1.5"], nothing, "'gamma' parameter of GloGNN++ must be a number in the range [0.0, 1.0]. Got 1.5"),
    (["--gamma", "-0.1"], nothing, "[0.0, 1.0]. Got -0.1"),
    (["--gamma", "nan"], nothing, "Got nan instead"),
    (["--gamma", "half"], nothing, "in the range [0.0, 1.0]. Got 'half'"),
    (["--beta1", "0", "--beta2", "0"], nothing, "must have a sum in the range (0.0, inf). Got 0.0 + 0.0"),
    (["--beta2", "-1"], nothing, "[0.0, 1e+20]. Got -1.0"),
    (["--alpha", "2"], nothing, "[0.0, 1.0]. Got 2.0"),
    (["--dropout", "1"], nothing, "[0.0, 1.0). Got 1.0"),
    (["--num-hops", "0"], nothing, "[1, 64]. Got 0"),
    (["--num-layers", "-3"], nothing, "[1, 64]. Got -3"),
    (["--hidden-channels", "0"], nothing, "[1, inf). Got 0"),
    (
        ["--engine", "eager", "--hidden-channels", "1000000000"],
        nothing,
        "does not fit: training takes about 2,458.7 GiB",
    ),
    (["--hidden-channels", "1.5"], nothing, "an integer in the range [1, inf). Got '1.5'"),
    (["--epochs", "0"], nothing, "[1, inf). Got 0"),
    (["--learning-rate", "0"], nothing, "(0.0, inf). Got 0.0"),
    (["--learning-rate", "inf"], nothing, "Got inf"),
    (["--weight-decay", "-1"], nothing, "[0.0, inf). Got -1.0"),
    (["--patience", "0"], nothing, "[1, inf). Got 0"),
    (["--seed", "-1"], nothing, "[0, 4294967295]. Got -1"),
    (["--optimizer", "sgd"], nothing, "one of 'adam', 'adamw'. Got 'sgd'"),
    (["--early-stopping", "never"], nothing, "one of 'patience', 'paper', 'none'. Got 'never'"),
    (["--selection", "first"], nothing, "one of 'best', 'last'. Got 'first'"),
    (["--metric", "auc"], nothing, "'neg_log_loss', 'neg_brier'. Got 'auc'"),
    (["--dtype", "float16"], nothing, "one of 'float32', 'float64'. Got 'float16'"),
    (["--device", "tpu"], nothing, "one of 'auto', 'cpu', 'cuda'. Got 'tpu'"),
    (["--normalization", "column"], nothing, "one of 'row', 'symmetric', 'none'. Got 'column'"),
    (["--fusion", "early"], nothing, "one of 'hidden', 'output'. Got 'early'"),
    (["--coefficient", "new"], nothing, "one of 'exact', 'released'. Got 'new'"),
    (["--self-loops", "add"], nothing, "one of 'keep', 'remove'. Got 'add'"),
    (["--model", "glogn"], nothing, "There is no model 'glogn'. Did you mean 'glognn'?"),
    (["--model", "mlp", "--alpha", "0.5"], nothing, "MLP has no setting 'alpha'"),
    (["--gama", "0.5"], nothing, "--gama"),
    (["--splits", "7"], nothing, "The split must be in the range [0, 1]. Got 7"),
    (["--splits", "x"], nothing, "Got 'x'"),
    (["--config", "nowhere.toml"], nothing, "There is no settings file 'nowhere.toml'"),
    (["--config", "published:texs"], nothing, "Did you mean 'texas'?"),
    (["--resume", "nowhere"], nothing, "--resume takes its settings from the run folder"),
    ([], change(edge_index=[[0], [60]]), "holds node 60, but nodes must be in the range [0, 59]"),
    ([], change(edge_index=[[0], [-4]]), "holds node -4"),
    ([], change(edge_index=[[0.5], [1.0]]), "edge_index must hold integers"),
    ([], change(edge_index=[[0, 1, 2]]), "shape (2, edges). Got (1, 3)"),
    ([], change(node_features=nan_features()), "x must be finite in torch.float32. Got nan at row 4, column 2"),
    ([], change(node_features=np.ones((59, 7))), "x must have one row per node (60). Got 59"),
    ([], change(edge_weight=weights(-1.0)), "in the range [0.0, inf). Got -1.0 at edge 0"),
    ([], change(edge_weight=weights(np.nan)), "Got nan at edge 0"),
    ([], change(edge_weight=np.ones(3)), "one number per edge (150). Got shape (3,)"),
    ([], change(node_labels=np.zeros(60, int)), "at least 2 classes. Got only class 0"),
    ([], change(node_labels=np.full(60, -1)), "Got no labelled node"),
    ([], change(node_labels=np.full(60, -7)), "-1 for unlabelled. Got -7 at node 0"),
    ([], change(train_masks=np.zeros((2, 60), bool)), "The train set of split 0 must hold labelled nodes"),
    ([], change(test_masks=np.zeros((2, 60), bool)), "The test set of split 0 must hold labelled nodes"),
    ([], change(val_masks=None), "val_mask is missing"),
    ([], change(val_masks=np.zeros((2, 59), bool)), "with 60 nodes. Got (59, 2)"),
    ([], change(edge_index=None), "has no array 'edge_index'"),
    ([], change(node_features=None), "'alpha' parameter of GloGNN++ must be 1.0 for a graph without features. Got 0.5"),
    ([], lambda path: path.write_bytes(b"broken"), "is not a readable .npz graph file"),
    ([], lambda path: path.unlink(), "There is no graph file"),
]


@pytest.mark.parametrize(("arguments", "spoil", "message"), BAD, ids=[message for _, _, message in BAD])
def test_bad_values_give_one_clear_line_and_exit_code_two(
    arguments: list[str],
    spoil,
    message: str,
    graph_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    spoil(graph_file)
    monkeypatch.chdir(tmp_path)
    line = ["glognn", "train", "--dataset", str(graph_file), "--out", "run", *arguments]
    monkeypatch.setattr(sys, "argv", line)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    error = capsys.readouterr().err
    assert stopped.value.code == 2
    assert message in error
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()  # nothing is left behind


def test_bad_values_through_the_real_program(graph_file: Path, tmp_path: Path) -> None:
    def start(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, cwd=tmp_path, env=ENVIRONMENT)

    done = start("train", "-d", str(graph_file), "--gamma", "7")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: The 'gamma' parameter of GloGNN++ must be a number in the range [0.0, 1.0]. Got 7.0 instead.\n"
    )
    done = start("train", "--dataset", "texsa")
    assert done.returncode == 2
    assert done.stderr.startswith("error: There is no dataset 'texsa'")


def test_a_folder_in_use_is_left_alone(graph_file: Path, tmp_path: Path) -> None:
    options = ["train", "-d", str(graph_file), "-s", "0", "--epochs", "2", "-o", "run"]
    run(*options, cwd=tmp_path)
    done = run(*options, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert "already holds a run" in done.stderr
    (tmp_path / "file").write_text("")
    done = run(*options[:-1], "file/run", cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_diverging_training_fails_with_code_one(graph_file: Path, tmp_path: Path) -> None:
    options = ["-d", str(graph_file), "-s", "0", "--learning-rate", "1e18", "-o", "run"]
    done = run("train", *options, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert re.match(r"error: Training stopped in epoch \d+", done.stderr)
    assert "Traceback" not in done.stderr
