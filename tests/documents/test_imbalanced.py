"""The worked example of a rare class, typed as it stands; the service of it runs beside the client."""

from __future__ import annotations

import re
import shlex
import socket
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from glognn.cli import main as cli
from tests.conftest import ROOT
from tests.program import GLOGNN, Program

EXAMPLE = ROOT / "docs" / "imbalanced.md"


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return str(taken.getsockname()[1])


@pytest.mark.skipif(not EXAMPLE.is_file(), reason="the documents are not beside the tests")
def test_the_example_of_a_rare_class_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("fastapi")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    text = EXAMPLE.read_text(encoding="utf-8").replace("8000", free_port())
    said: dict[str, str] = {}
    service: Program | None = None
    for language, block in re.findall(r"^```(python|bash|console)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if language == "python":
            exec(compile(block, str(EXAMPLE), "exec"), {})
            said["python"] = capsys.readouterr().out
            continue
        words = shlex.split(block)
        if language == "console":
            service = Program(GLOGNN, *words[1:])
            while "http://" not in service.output():
                assert service.poll() is None, service.wait().stderr
                time.sleep(0.01)
            continue
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert not ended.value.code, block
        said[words[1]] = capsys.readouterr().out
    assert service is not None
    service.send(15)
    assert service.wait().returncode == 0
    assert "average precision of fraud" in said["train"]
    assert "precision of fraud" in said["evaluate"]
    for name in ("rankings.png", "reliability.png", "confusion.png"):
        assert (tmp_path / "evaluation" / name).stat().st_size > 5000
    found = pd.read_csv("predictions.csv").set_index("account")
    truth = pd.read_csv("truth.csv").set_index("account")["status"]
    flagged = found.loc[truth.index, "prediction"] == "fraud"
    assert (truth[flagged] == "fraud").mean() > 0.6
    assert flagged[truth == "fraud"].mean() > 0.6
    assert found.loc[truth.index, "probability_fraud"].mean() == pytest.approx((truth == "fraud").mean(), abs=0.02)
    monkeypatch.setattr(sys, "argv", shlex.split(re.search(r"`(glognn predict runs/fraud --nodes [^`]+)`", text)[1]))
    sys.argv += ["--out", "new.parquet"]
    with pytest.raises(SystemExit):
        cli.main()
    new = pd.read_parquet("new.parquet").set_index("account")
    flagged_new = new[new["prediction"] == "fraud"]
    lines = [line.split() for line in said["python"].splitlines() if line.startswith("ACC-")]
    assert [name for name, _ in lines] == flagged_new.index.tolist()
    probabilities = np.array([float(number) for _, number in lines], np.float32)
    assert probabilities.tobytes() == flagged_new["probability_fraud"].to_numpy(np.float32).tobytes()
