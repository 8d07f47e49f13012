"""The tutorial, typed as it stands: from tables to a prediction, its reasons, a wrong label, and the pages."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

from tests.conftest import ROOT
from tests.pages.conftest import told

TUTORIAL = ROOT / "docs" / "tutorial.md"


@pytest.mark.skipif(not TUTORIAL.is_file(), reason="the documents are not beside the tests")
def test_the_tutorial_runs_and_says_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = TUTORIAL.read_text(encoding="utf-8")
    said: dict[str, str] = {}
    for language, block in re.findall(r"^```(python|bash)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if language == "python":
            exec(compile(block, str(TUTORIAL), "exec"), {})
            said["python"] = capsys.readouterr().out
        else:
            _, command, *arguments = shlex.split(block)
            said[command] = told(command, *arguments)
    assert said["python"].strip() in text
    wrong = said["python"].split()[2:]
    found, truth = (pd.read_csv(name).set_index("account") for name in ("predictions.csv", "truth.csv"))
    assert (found["prediction"] == truth["status"])[400:].mean() > 0.9
    assert found.loc["ACC-0400", "prediction"] == "fraud"
    named = re.findall(r"edge with ACC-(\d{4}) +[\d.]+ +\+", said["explain"])
    assert len([each for each in named[:4] if int(each) < 20]) >= 3
    suspects = pd.read_csv("suspects.csv")["node"].tolist()
    assert len(set(suspects[:5]) & set(wrong)) >= 2
    assert all(
        "<script src" not in Path(name).read_text(encoding="utf-8") for name in ("fraud.html", "fraud-report.html")
    )
