"""What the documents say to type is typed here, a document at a time in a folder of its own."""

from __future__ import annotations

import re
import shlex
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer

import glognn
from glognn.cli import main as cli
from tests.conftest import MIRROR, ROOT, make_data
from tests.documents.examples import DOCUMENTS, blocks, commands, typed_lines

if not (ROOT / "README.md").is_file():
    pytest.skip("the documents are not beside the tests", allow_module_level=True)

ELSEWHERE = {"imbalanced.md", "tutorial.md"}
"""Run by tests of their own, beside a service and with pages that are looked into."""
QUICKER = {
    "get-started.md": {"--time-limit 60": "--time-limit 60 --quality fast --epochs 40 --folds 2"},
    "auto.md": {"--time-limit 120": "--time-limit 120 --quality fast --epochs 5"},
    "experiments.md": {"--epochs 100": "--epochs 5"},
    "metric.md": {"--epochs 30": "--epochs 5"},
}
RUN = [path for path in DOCUMENTS if path.name not in ELSEWHERE and blocks(path, "python", "bash")]


def after_readme(said: str) -> None:
    assert float(re.search(r"without labels: ([\d.]+)", said)[1]) > 0.75
    assert said.count("speaks for it with coefficient") == 3


def after_get_started(said: str) -> None:
    found = pd.read_csv("predictions.csv").set_index("id")["prediction"]
    truth = pd.read_csv("truth.csv").set_index("id")["kind"]
    assert (found.loc[truth.index] == truth).mean() > 0.9


def after_tables(said: str) -> None:
    found = pd.read_csv("predictions.csv").set_index("page")["prediction"]
    truth = pd.read_csv("truth.csv").set_index("page")["traffic"]
    assert (found.loc[truth.index] == truth).mean() > 0.55
    assert len(pd.read_csv("new.csv")) == 50


def after_new_nodes(said: str) -> None:
    new, today = pd.read_csv("new.csv"), pd.read_csv("today.csv")
    assert len(new) == 50
    assert len(today) == 450
    assert new["margin"].mean() > 0.5


def after_tutorial(said: str) -> None:
    wrong = re.search(r"filed wrongly: (.*)", said)[1].split()
    found, truth = (pd.read_csv(name).set_index("account") for name in ("predictions.csv", "truth.csv"))
    assert (found["prediction"] == truth["status"])[400:].mean() > 0.9
    assert found.loc["ACC-0400", "prediction"] == "fraud"
    collectors = [name for name in re.findall(r"edge with ACC-(\d{4}) +[\d.]+ +\+", said)[:4] if int(name) < 20]
    assert len(collectors) >= 3
    assert len(set(pd.read_csv("suspects.csv")["node"][:5]) & set(wrong)) >= 2
    assert all(Path(name).stat().st_size > 50_000 for name in ("fraud.html", "fraud-report.html"))


def after_experiments(said: str) -> None:
    assert Path("runs/first/glognn++/DONE").exists()
    assert "seed = 1" in Path("runs/second/split-0/config.toml").read_text(encoding="utf-8")


def after_modules(said: str) -> None:
    assert float(re.search(r"without labels: ([\d.]+)", said)[1]) > 0.75


def after_estimator(said: str) -> None:
    assert float(re.search(r"accuracy on test nodes: ([\d.]+)", said)[1]) > 0.75
    assert Path("model/README.md").is_file()


def after_logging(said: str) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator("logs").Reload()
    assert [event.step for event in events.Scalars("val_accuracy")] == list(range(1, 11))


AFTER: dict[str, Callable[[str], None]] = {
    "README.md": after_readme,
    "get-started.md": after_get_started,
    "tables.md": after_tables,
    "tutorial.md": after_tutorial,
    "new-nodes.md": after_new_nodes,
    "experiments.md": after_experiments,
    "modules.md": after_modules,
    "estimator.md": after_estimator,
    "logging.md": after_logging,
}


@pytest.mark.parametrize("document", RUN, ids=[path.name for path in RUN])
def test_what_a_document_says_to_type_works(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written = blocks(document, "python", "bash")
    if document.name == "logging.md":
        pytest.importorskip("tensorboard")
    if 'load_dataset("texas")' in str(written) and not MIRROR.is_dir():
        pytest.skip("the published files are not on this machine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setenv("GLOGNN_MIRROR", str(MIRROR) if MIRROR.is_dir() else "")
    for language, block in written:
        if language == "python":
            code = block if MIRROR.is_dir() else block.replace('"chameleon"', '"pairs"')
            exec(compile(code, str(document), "exec"), {"__name__": "example"})
            continue
        for long, short in QUICKER.get(document.name, {}).items():
            block = block.replace(long, short)
        lines = typed_lines(block)
        assert len(lines) == len(block.strip().splitlines()), block
        for words in lines:
            call(words, monkeypatch)
    AFTER.get(document.name, lambda said: None)(capsys.readouterr().out)


def call(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["glognn", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code, shlex.join(words)


YOURS = {"README.md": 8, "docs/explain.md": 8, "docs/scale.md": 3}
"""Commands on files that a reader has, and how many of each document are run; a service and other machines are not."""


def write_yours() -> None:
    """The tables and the graph that those commands name."""
    random = np.random.default_rng(0)
    names = np.array([f"u{number}" for number in range(200)])
    fraud = np.where(np.arange(200) % 2, "yes", "no")
    users = pd.DataFrame({"user": names, "age": random.normal(np.arange(200) % 2, 1.0), "fraud": fraud})
    users[120:].drop(columns="age").to_csv("truth.csv", index=False)
    users.loc[120:, "fraud"] = None
    payments = pd.DataFrame(random.choice(names, (600, 2)), columns=["from", "to"])
    users.to_parquet("users.parquet")
    payments.to_csv("payments.csv", index=False)
    pd.DataFrame({"user": ["n0", "n1"], "age": [0.5, 1.5]}).to_csv("new.csv", index=False)
    pd.DataFrame({"from": ["n0", "u3"], "to": ["u5", "n1"]}).to_csv("new_edges.csv", index=False)
    pd.DataFrame({"user": ["u7", "u150"]}).to_csv("cases.csv", index=False)
    users.rename(columns={"user": "user_id", "fraud": "is_fraud"}).to_parquet("nodes.parquet")
    payments.to_parquet("edges.parquet")
    glognn.write_npz(make_data(num_nodes=60), "graph.npz")


@pytest.mark.parametrize(("document", "count"), YOURS.items(), ids=YOURS)
def test_commands_on_files_of_yours_work(
    document: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_yours()
    lines = [words for _, block in blocks(ROOT / document, "") for words in typed_lines(block)]
    if document == "docs/explain.md":
        tables = ["--nodes", "users.parquet", "--edges", "payments.csv", "--id", "user", "--label", "fraud"]
        call(["train", *tables, "--model", "glognn++", "--epochs", "10", "--out", "runs/fraud"], monkeypatch)
    known = {"users.parquet", "runs/fraud", "graph.npz", "nodes.parquet", "shards"}
    chosen = [words for words in lines if known & set(words) and not {"serve", "--storage", "--timeout"} & set(words)]
    for words in chosen:
        quick = ["--quality", "fast", "--epochs", "10", "--folds", "2"] if "auto" in words else []
        quick = ["--epochs", "3"] if "--distributed" in words else quick
        call([*words, *quick], monkeypatch)
    assert len(chosen) == count


@cache
def whole_command() -> Any:
    return typer.main.get_command(cli.app)


def parse(words: list[str]) -> None:
    """Whether there is such a command with such flags and values; nothing is run."""
    command, name = whole_command(), "glognn"
    with typer.Context(command, info_name=name) as context:
        while hasattr(command, "resolve_command") and words and not words[0].startswith("-"):
            name, command, words = command.resolve_command(context, words)
        if not hasattr(command, "resolve_command") and not {"--help", "--help-all"} & set(words):
            command.make_context(name, words, parent=context)


@pytest.mark.parametrize("document", DOCUMENTS, ids=[path.name for path in DOCUMENTS])
def test_every_command_of_a_document_is_understood(document: Path) -> None:
    """In blocks they are complete; in the text, where some only name a command or a flag, arguments may be missing."""
    for _, block in blocks(document, "", "bash", "console"):
        for words in typed_lines(block):
            parse(words)
    for words in commands(document):
        try:
            parse([word.strip("[]") for part in words for word in part.split("] [")])
        except Exception as error:
            if type(error).__name__ not in ("MissingParameter", "BadOptionUsage"):
                raise


def test_how_much_is_tested(figures: dict[str, str]) -> None:
    run = [block for path in DOCUMENTS for block in blocks(path, "python", "bash", "console")]
    lines = sum(len(typed_lines(block)) for language, block in run if language != "python") + sum(YOURS.values())
    figures["commands in documents"] = f"{sum(len(commands(path)) for path in DOCUMENTS)} understood, {lines} run"
    figures["Python examples in documents"] = f"{sum(language == 'python' for language, _ in run)} run"
    assert lines >= 50
