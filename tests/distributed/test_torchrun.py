"""``torchrun -m glognn train --distributed`` as a user runs it: a rank is killed, the run goes on, one predicts."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from glognn.cli.main import app
from glognn.data.npz import write_npz
from glognn.distributed.shards import Shards
from glognn.errors import InputError
from glognn.experiments.folder import load_model
from tests.conftest import ENVIRONMENT, make_data

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
EPOCHS = 30


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    write_npz(make_data(num_nodes=80, num_edges=300), tmp_path / "graph.npz")
    return tmp_path / "graph.npz"


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    while not path.exists() and process.poll() is None:
        time.sleep(0.01)


def test_a_killed_rank_is_started_again_and_the_run_ends_as_any_other(graph: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    flags = ["--dataset", str(graph), "--split", "0", "--model", "glognn", "--alpha", "0.5", "--epochs", str(EPOCHS)]
    flags += ["--early-stopping", "none", "--checkpoint-interval", "0", "--distributed", "--timeout", "60"]
    process = subprocess.Popen(
        [*TORCHRUN, "--max-restarts", "1", "-m", "glognn", "train", *flags, "--out", str(run)],
        env=ENVIRONMENT | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    wait_for(run / "checkpoint" / "latest.safetensors", process)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(children[-1]), signal.SIGKILL)
    output, _ = process.communicate(timeout=500)
    assert process.returncode == 0, output
    assert "Parts: 2 (balanced), ranks: 2; " in output
    assert "test accuracy" in output
    assert f"Beside baselines, in one process: glognn evaluate {run}" in output
    with (run / "curve.csv").open() as file:
        assert [int(row["epoch"]) for row in csv.DictReader(file)] == list(range(1, EPOCHS + 1))
    report = json.loads((run / "report.json").read_text())
    assert report["engine"] == "distributed"
    assert len(report["data"]["ranks"]) == 2
    assert sorted(path.name for path in run.iterdir()) == [
        ".lock", "DONE", "README.md", "config.toml", "curve.csv", "curve.png", "model.safetensors", "report.json",
    ]  # fmt: skip
    assert load_model(run).num_nodes == 80
    predicted = CliRunner().invoke(app, ["predict", str(run), "--out", str(tmp_path / "predictions.csv")])
    assert predicted.exit_code == 0, predicted.output
    assert len((tmp_path / "predictions.csv").read_text().splitlines()) == 81


@pytest.mark.parametrize(
    ("model", "wishes", "given"),
    [
        ("gcn", [], []),
        ("glognn2", ["--directed", "--feature-normalization", "auto"], ["--reads", "features link degrees"]),
    ],
)
def test_shards_are_a_graph_for_one_process_and_for_ranks(
    model: str, wishes: list[str], given: list[str], graph: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="glognn.data.shards")
    runner, out = CliRunner(), tmp_path / "shards"
    made = runner.invoke(app, ["shard", str(graph), str(out), "--parts", "3", "--partition", "contiguous", *wishes])
    assert made.exit_code == 0, made.output
    assert "Parts: 3 (contiguous); " in made.output
    assert "--parts" in runner.invoke(app, ["shard", "--help"]).output
    assert "of the edges are cut" in made.output
    scores = []
    for name, more in (("whole", ["--engine", "eager"]), ("part", ["--distributed"])):
        flags = ["--dataset", str(out), "--split", "0", "--model", model, "--epochs", "3", "--dropout", "0", *more]
        done = runner.invoke(app, ["train", *flags, *given, "--dtype", "float64", "--out", str(tmp_path / name)])
        assert done.exit_code == 0, done.output
        report = json.loads((tmp_path / name / "report.json").read_text())
        scores.append((report["scores"]["last"]["val_loss"], report["data"]["fingerprint"]))
    assert "Parts: 3 (contiguous), ranks: 1; 0.0% of the edges are cut, a rank reads 0.00 times" in caplog.text
    assert scores[0][1] == scores[1][1] == Shards.open(out).fingerprint(torch.float64), "of the graph as it was made"
    assert scores[0][0] == pytest.approx(scores[1][0], rel=1e-9)
    asked = ["train", "--dataset", str(out), "--distributed", "--feature-normalization", "row"]
    with pytest.raises(InputError, match="Leave out --feature-normalization row: it is an option of glognn shard"):
        runner.invoke(app, [*asked, "--model", model], catch_exceptions=False)
    with pytest.raises(InputError, match="is divided already. Leave out --parts 2: it is an option of glognn shard"):
        runner.invoke(app, [*asked[:-2], "--parts", "2", "--model", "mlp", *wishes[:1]], catch_exceptions=False)


def test_a_part_is_read_from_its_own_files_alone(graph: Path, tmp_path: Path) -> None:
    from glognn.distributed.ranks import Ranks

    assert CliRunner().invoke(app, ["shard", str(graph), str(tmp_path / "s"), "--parts", "2"]).exit_code == 0
    shards = Shards.open(tmp_path / "s")
    (tmp_path / "s" / "part-00001" / "edges.arrow").unlink()
    assert shards.read(0).rows.size == shards.starts[1]
    with pytest.raises(InputError, match="part-00001/edges.arrow' is missing: put it back from a copy"):
        shards.read_for(Ranks())


class _Here(ThreadPoolExecutor):
    """Divides graphs in this process; that a process of its own does is seen above."""

    def __init__(self, workers: int, mp_context: Any) -> None:
        super().__init__(workers)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--timeout", "5"], "--timeout is for --distributed"),
        (
            ["--distributed", "--model", "gat"],
            "GAT cannot be trained with --distributed, because it is not written for several ranks: take one of "
            "glognn2, glognn++, glognn, linkx, gcn, mlp.",
        ),
        (["--distributed", "--model", "auto"], "not the portfolio of --model auto: name one, such as --model glognn++"),
        (["--distributed", "--engine", "eager"], "Leave out --engine eager"),
        (["--distributed", "--tune", "3"], "--tune searches in one process"),
        (["--distributed", "--partition", "best"], "must be one of contiguous, balanced, metis. Got 'best' instead"),
        (["--distributed", "--parts", "999"], "The number of parts must be in the range [1, 80] (the nodes). Got 999"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(
    flags: list[str], words: str, graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glognn.experiments.distributed.ProcessPoolExecutor", _Here)
    done = CliRunner().invoke(app, ["train", "--dataset", str(graph), "--out", str(tmp_path / "run"), *flags])
    assert done.exit_code != 0
    assert words in str(done.exception)
    assert not (tmp_path / "run" / "config.toml").exists()


def test_processes_of_torchrun_do_not_train_one_by_one(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    monkeypatch.setenv("WORLD_SIZE", "2")
    done = CliRunner().invoke(app, ["train", "--dataset", str(graph)])
    assert "several processes, which train one model with --distributed: add it" in str(done.exception)


def test_a_run_of_one_process_is_not_gone_on_with_on_ranks(graph: Path, tmp_path: Path) -> None:
    flags = ["--dataset", str(graph), "--split", "0", "--model", "mlp", "--epochs", "2"]
    assert CliRunner().invoke(app, ["train", *flags, "--out", str(tmp_path / "run")]).exit_code == 0
    done = CliRunner().invoke(app, ["train", "--resume", str(tmp_path / "run"), "--distributed"])
    assert "was begun in one process: go on with it without --distributed" in str(done.exception)


def test_ranks_read_all_that_might_be_chosen_and_say_so(
    graph: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    flags = ["--dataset", str(graph), "--split", "0", "--model", "glognn2", "--epochs", "2", "--distributed"]
    done = CliRunner().invoke(app, ["train", *flags, "--out", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    assert "Ranks do not look at labels to decide what GloGNN2 reads" in caplog.text
    assert set(load_model(tmp_path / "run").encoder.weights) == {"features", "link", "degrees"}
