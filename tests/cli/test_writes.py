"""A disk that is full at any step of a command's writing: one line says so, nothing is lost, and the command goes on.

``GLOGNN_WRITES=all`` takes every step; a test run takes a few of each command.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest

from tests.disturbed import UNDERTAKINGS, disturb, make_folder, steps_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked and limited as on Linux")

REASONS = ("No space left on device", "File too large")


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("writes") / "start"
    make_folder(folder)
    return folder


@pytest.mark.parametrize("kind", ["once", "full", "short"])
@pytest.mark.parametrize("name", UNDERTAKINGS)
def test_a_full_disk_at_any_step(name: str, kind: str, start: Path, tmp_path: Path, figures: dict[str, str]) -> None:
    """``once``: that step alone; ``full``: all from it on; ``short``: what is written into the file opened."""
    steps, whole = steps_of(name, start, tmp_path / "whole")
    places = [
        at
        for at, step in enumerate(steps, start=1)
        if (step.startswith("open ") and not step.endswith(".lock") if kind == "short" else " " in step)
    ]
    chosen = places if os.environ.get("GLOGNN_WRITES") == "all" else random.Random(name).sample(places, 1)
    wrong = []
    for at in chosen:
        try:
            done, at_first, result = disturb(name, kind, at, start, tmp_path / f"at-{at}")
            if done.returncode == 0:  # what cannot be cleaned up, or need not be written, does not stop a command
                assert at_first == whole, "it says that it has ended, and has not"
            else:
                assert done.returncode in (1, 2), done.returncode
                assert done.stderr.startswith("error: "), done.stderr
                assert done.stderr.count("\n") == 1, done.stderr
                assert any(reason in done.stderr for reason in REASONS), done.stderr
                assert "'" in done.stderr, "it names no file"
            assert result == whole, "gone on with, it ends otherwise"
        except AssertionError as error:
            wrong.append(f"{name}, {kind}, step {at} ({steps[at - 1]}): {str(error).splitlines()[0]}")
    assert not wrong, "\n".join(wrong)
    figures[f"steps of writing on a full disk ({kind}), {name}"] = f"{len(chosen)} of {len(places)}"
