"""What a stranger meets first: the command alone, mistyped words, completion by the shell."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from glognn.cli import main as cli
from glognn.settings import nearest, suggest
from tests import program
from tests.conftest import ENVIRONMENT


def test_the_command_alone_says_what_to_do_next() -> None:
    text = program.run(code=0).stdout
    commands = re.findall(r"^  glognn (\w+)", text, re.MULTILINE)
    assert {"train", "predict", "datasets", "models", "doctor"} <= set(commands) <= set(cli._COMMANDS)
    assert "--help" in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["trian"], "Did you mean 'train'?"),
        (["train", "--learnin-rate", "1"], "There is no flag '--learnin-rate'. Did you mean '--learning-rate'?"),
        (["train", "--xyzzy"], "There is no flag '--xyzzy'. 'glognn train --help' lists what there is."),
        (["train", "--metric", "Macro-F1"], "Got 'Macro-F1' instead. Did you mean 'macro_f1'?"),
        (["train", "--metric", "auc"], "Got 'auc' instead. Did you mean 'roc_auc'?"),
        (["train", "--optimizer", "adm"], "Got 'adm' instead. Did you mean 'adam'?"),
        (["train", "--dataset", "Squirel"], "Did you mean 'squirrel'?"),
        (["train", "--dataset", "zzz"], "'glognn datasets' lists them."),
        (["train", "--model", "GloGNN"], "There is no model 'GloGNN'. Did you mean 'glognn'?"),
        (["models", "sage"], "Did you mean 'sage+'?"),
        (["datasets", "tolokrs"], "Did you mean 'tolokers'?"),
        (["reproduce", "tabel1"], "Got 'tabel1' instead. Did you mean 'table1'?"),
        (["train", "--distributed", "--partition", "meti"], "Got 'meti' instead. Did you mean 'metis'?"),
        (["train", "--model", "auto", "--quality", "god"], "Got 'god' instead. Did you mean 'good'?"),
    ],
)
def test_the_nearest_right_word(
    line: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["glognn", *line])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    error = capsys.readouterr().err
    assert stopped.value.code == 2
    assert error.startswith("error: ")
    assert error.endswith(f"{message}\n")
    assert error.count("\n") == 1


def test_columns_and_classes_of_tables(tmp_path: Path) -> None:
    rows = "".join(f"n{number},{number % 3},{('fraud', 'legit')[number % 2]}\n" for number in range(40))
    (tmp_path / "nodes.csv").write_text("account,amount,is_fraud\n" + rows)
    (tmp_path / "edges.csv").write_text("a,b\n" + "".join(f"n{number},n{number + 1}\n" for number in range(39)))
    given = ["train", "--nodes", "nodes.csv", "--edges", "edges.csv", "--model", "mlp", "--epochs", "2", "--out", "run"]
    wrong = program.run(*given, "--label", "Is Fraud", cwd=tmp_path, code=2)
    assert "has no column 'Is Fraud' (--label). Did you mean 'is_fraud'?" in wrong.stderr
    wrong = program.run("train", "--nodes", "node.csv", "--edges", "edges.csv", "--label", "x", cwd=tmp_path, code=2)
    assert wrong.stderr.endswith("There is no table 'node.csv'. Did you mean 'nodes.csv'?\n")
    program.run(*given, "--label", "is_fraud", cwd=tmp_path, code=0)
    shown = program.run("datasets", "run/graph.npz", "--picture", "graph.png", cwd=tmp_path, code=0)
    assert "fraud: 20 (50.0 %), legit: 20 (50.0 %)" in " ".join(shown.stdout.split())
    (tmp_path / "truth.csv").write_text("account,is_fraud\nn1,Fraud\n")
    wrong = program.run("evaluate", "run", "--labels", "truth.csv", cwd=tmp_path, code=2)
    assert wrong.stderr.endswith("Got 'Fraud' instead. Did you mean 'fraud'?\n")


def test_what_is_near() -> None:
    assert nearest("Early Stopping", ["early_stopping", "patience"]) == " Did you mean 'early_stopping'?"
    assert nearest("f1", ["accuracy", "macro_f1"]) == " Did you mean 'macro_f1'?"
    assert nearest("x", ["accuracy", "macro_f1"]) == ""
    assert nearest("accuracy", ["accuracy"]) == ""  # it is right: something else is wrong
    assert nearest("", ["accuracy"]) == ""
    assert suggest("zzz", ["a", "b"]) == " Known: a, b."
    assert suggest("zzz", []) == ""


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("glognn train --gam", {"--gamma"}),
        ("glognn tune -m mlp,gcni", {"mlp,gcnii"}),
    ],
)
def test_the_shell_completes(line: str, offered: set[str]) -> None:
    asked = {"_GLOGNN_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    done = subprocess.run(
        [sys.executable, "-m", "glognn"], capture_output=True, text=True, check=True, env={**ENVIRONMENT, **asked}
    )
    assert set(done.stdout.split()) == offered
