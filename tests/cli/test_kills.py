"""Kills, full disks and second writers leave a run folder that can be gone on with."""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path

import pytest

from glognn.cli import main as cli
from glognn.data.npz import write_npz
from glognn.experiments.folder import find_runs, read_report
from glognn.storage import locked
from glognn.training.checkpoint import load_tensors
from tests.conftest import make_data
from tests.disturbed import UNDERTAKINGS, disturb, make_folder, steps_of
from tests.program import GLOGNN, KILLED, Program, run

CHECKPOINT = Path("checkpoint") / "latest.safetensors"
UNFINISHED = "checkpoint/.latest.safetensors.*"

linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked and limited as on Linux")


@pytest.fixture
def options(tmp_path: Path) -> list[str]:
    """Of a run that writes all the time: a checkpoint of some 100 KiB after every epoch."""
    write_npz(make_data(num_splits=2), tmp_path / "graph.npz")
    settings = ["--epochs", "3000", "--early-stopping", "none", "--checkpoint-interval", "0"]
    return ["train", "-d", str(tmp_path / "graph.npz"), "-m", "glognn++", "-s", "0", *settings]


def epochs_in(folder: Path) -> int:
    """Of the checkpoint, which must be readable if it is there."""
    if not (folder / CHECKPOINT).exists():
        return 0
    return len(load_tensors(folder / CHECKPOINT)[1]["histories"][0]["curve"])


@linux
def test_runs_killed_while_a_checkpoint_is_written_stay_readable(
    options: list[str], tmp_path: Path, figures: dict[str, str]
) -> None:
    """SIGKILL while the next checkpoint is half written, again and again. ``GLOGNN_KILLS`` sets how often."""
    kills = int(os.environ.get("GLOGNN_KILLS", "4"))
    folder, generator, epochs = tmp_path / "run", random.Random(0), 0
    arguments = [*options, "--epochs", str(30 * kills), "-o", str(folder)]
    for _ in range(kills):
        at = generator.randint(2, 30)
        when = {"KILLED_AT": str(at), "HALF_WRITTEN": str(generator.random())}
        assert Program(KILLED, *arguments, cwd=tmp_path, environment=when).wait().returncode == -signal.SIGKILL
        assert len(list(folder.glob(UNFINISHED))) == 1  # what earlier kills left is gone
        [(_, config)] = find_runs(folder)
        assert config.training.checkpoint_interval == 0
        epochs += at - 1
        assert epochs_in(folder) == epochs
        arguments = ["train", "--resume", str(folder)]
    figures["run folders killed during checkpoint writes, all readable"] = str(kills)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kills") / "start"
    make_folder(folder)
    return folder


@linux
@pytest.mark.parametrize("name", UNDERTAKINGS)
def test_whatever_is_killed_can_be_gone_on_with(
    name: str, start: Path, tmp_path: Path, figures: dict[str, str]
) -> None:
    """SIGKILL before a step of a command's writing, or with a file half written. ``GLOGNN_KILLS`` sets how often."""
    kills = int(os.environ.get("GLOGNN_KILLS", "2"))
    steps, whole = steps_of(name, start, tmp_path / "whole")
    opened = [at for at, step in enumerate(steps, start=1) if step.startswith("open ") and not step.endswith(".lock")]
    places = [("killed", at) for at in range(1, len(steps) + 1)] + [("killed short", at) for at in opened]
    random.Random(name).shuffle(places)
    wrong = []
    for number in range(kills):
        kind, at = places[number % len(places)]
        try:
            done, _, result = disturb(name, kind, at, start, tmp_path / f"killed-{number}")
            if kind == "killed":  # what notices that a file is short may end by itself
                assert done.returncode == -signal.SIGKILL, done.stderr
            assert result == whole, "gone on with, it ends otherwise"
        except AssertionError as error:
            wrong.append(f"{name}, {kind}, step {at} ({steps[at - 1]}): {str(error).splitlines()[0]}")
    assert not wrong, "\n".join(wrong)
    figures[f"kills of {name}, gone on with to the same end"] = str(kills)


@linux
def test_a_full_disk_keeps_the_last_checkpoint(options: list[str], tmp_path: Path) -> None:
    """A process that may write no file beyond a few KiB, as on a disk without more room."""
    run(*options, "--epochs", "40", "-o", "whole", cwd=tmp_path)
    run(*options, "--epochs", "40", "-o", "run", cwd=tmp_path, program=KILLED, code=-signal.SIGKILL, KILLED_AT="3")
    content = (tmp_path / "run" / CHECKPOINT).read_bytes()
    done = Program(GLOGNN, "train", "--resume", "run", cwd=tmp_path, largest_file=8192).wait()
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: 'run/{CHECKPOINT}' cannot be written: ")
    assert done.stderr.count("\n") == 1
    assert "Go on with: glognn train --resume run" in done.stdout
    assert (tmp_path / "run" / CHECKPOINT).read_bytes() == content
    assert not list((tmp_path / "run").glob(UNFINISHED))
    run("train", "--resume", "run", cwd=tmp_path)
    assert (tmp_path / "run/model.safetensors").read_bytes() == (tmp_path / "whole/model.safetensors").read_bytes()


def test_a_second_writer_is_refused_at_once(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def refused(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["glognn", *arguments])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        assert stopped.value.code == 2
        return capsys.readouterr().err

    wanted = "error: Another process is writing to '{}': wait until it has ended, or take another folder.\n"
    with locked(tmp_path / "new"):
        assert refused(*options, "-o", "new") == wanted.format("new")
    assert not (tmp_path / "new/config.toml").exists()
    both = [*options, "-m", "mlp", "--epochs", "2", "-o", "run"]
    monkeypatch.setattr(sys, "argv", ["glognn", *both])
    with pytest.raises(SystemExit, match="0"):
        cli.main()
    capsys.readouterr()
    assert read_report(tmp_path / "run/mlp")["scores"]["last"]["epoch"] == 2
    with locked(tmp_path / "run"):
        assert refused("train", "--resume", "run") == wanted.format("run")
        assert refused("train", "--resume", "run/mlp") == wanted.format(tmp_path / "run")
        assert "already holds a run" in refused(*both)
