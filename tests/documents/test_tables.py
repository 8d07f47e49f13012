"""The tutorial on a user's own tables, typed as it stands."""

from __future__ import annotations

import re
import shlex
import sys
import warnings
from pathlib import Path

import pandas as pd
import pytest

from glognn.cli import main as cli
from tests.conftest import MIRROR, ROOT

TUTORIAL = ROOT / "docs" / "tables.md"


@pytest.mark.skipif(not TUTORIAL.is_file(), reason="the documents are not beside the tests")
def test_the_tutorial_on_tables_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setenv("GLOGNN_MIRROR", str(MIRROR) if MIRROR.is_dir() else "")
    for language, block in re.findall(
        r"^```(python|bash)\n(.*?)^```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    ):
        if language == "python":
            code = block if MIRROR.is_dir() else block.replace('"chameleon"', '"pairs"')
            exec(compile(code, str(TUTORIAL), "exec"), {})
            continue
        monkeypatch.setattr(sys, "argv", [word for line in block.splitlines() for word in shlex.split(line)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert not ended.value.code, block
    found = pd.read_csv("predictions.csv").set_index("page")["prediction"]
    truth = pd.read_csv("truth.csv").set_index("page")["traffic"]
    assert (found.loc[truth.index] == truth).mean() > 0.55
    assert len(pd.read_csv("new.csv")) == 50
