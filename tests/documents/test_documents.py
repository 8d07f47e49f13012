"""What the documents say to type is typed here."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.conftest import MIRROR, ROOT
from tests.program import run

if not (ROOT / "README.md").is_file():
    pytest.skip("the documents are not beside the tests", allow_module_level=True)


def blocks(document: str, language: str) -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


PYTHON = [(document, block) for document in ("README.md", "docs/logging.md") for block in blocks(document, "python")]


@pytest.mark.parametrize(("document", "code"), PYTHON, ids=[f"{d}-{n}" for n, (d, _) in enumerate(PYTHON)])
def test_python_examples_run(document: str, code: str, tmp_path: Path) -> None:
    if "tensorboard" in code:
        pytest.importorskip("tensorboard")
    published = 'load_dataset("texas")' in code
    if published and not MIRROR.is_dir():
        pytest.skip("the published files are not on this machine")
    out = run(program=code, cwd=tmp_path, GLOGNN_MIRROR=str(MIRROR) if published else "").stdout
    if "without labels" in code:
        assert float(re.search(r"without labels: ([\d.]+)", out)[1]) > 0.75
    if "tensorboard" in code:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        events = EventAccumulator(str(tmp_path / "logs")).Reload()
        assert [event.step for event in events.Scalars("val_accuracy")] == list(range(1, 11))


def test_the_guide_to_the_estimator_runs(tmp_path: Path) -> None:
    out = run(program="\n".join(blocks("docs/estimator.md", "python")), cwd=tmp_path).stdout
    assert float(re.search(r"accuracy on test nodes: ([\d.]+)", out)[1]) > 0.75
    assert (tmp_path / "model/README.md").is_file()


def test_commands_of_the_readme_run(tmp_path: Path) -> None:
    [block] = blocks("README.md", "bash")
    lines = [shlex.split(line) for line in block.splitlines() if line]
    assert all(words[0] == "glognn" for words in lines)
    for words in lines:
        run(*words[1:], cwd=tmp_path)
    assert (tmp_path / "runs/first/glognn++/DONE").exists()
    assert "seed = 1" in (tmp_path / "runs/second/split-0/config.toml").read_text()


def test_make_names_what_the_readme_promises() -> None:
    readme, makefile = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "Makefile"))
    results = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"(?:^|`)make ([a-z0-9-]+)", readme + results, re.MULTILINE))
    assert targets >= {"run", "test"}
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_every_promise_about_security_names_a_test_that_there_is() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    promises = text.partition("## What is promised")[2].partition("## What is not promised")[0]
    for promise in promises.split("\n**")[1:]:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", promise)
        assert named, promise
        for path, name in named:
            assert f"\ndef {name}(" in (ROOT / path).read_text(encoding="utf-8"), (path, name)


def test_links_of_documents_at_the_root_lead_somewhere() -> None:
    """Those of docs/ are checked when the site is built, where pages are that no file is."""
    for document in ROOT.glob("*.md"):
        for link in re.findall(r"\]\(([^)]+)\)", document.read_text(encoding="utf-8")):
            if not link.startswith("http"):
                assert (document.parent / link).exists(), (document.name, link)
