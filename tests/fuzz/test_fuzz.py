"""A few damaged files of every kind, the same every time; ``make fuzz`` goes on for ten minutes."""

from __future__ import annotations

import sys

import pytest

from tests.conftest import ROOT
from tests.fuzz.targets import TARGETS
from tests.program import Program

EACH = 7

PROGRAM = """
import resource, sys, traceback
from tests.fuzz.targets import TARGETS, Fuzzer
resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30,) * 2)
fuzzer, refused = Fuzzer(), 0
for name in TARGETS:
    assert not fuzzer.read(name, (fuzzer.whole / fuzzer.paths[name]).read_bytes()), name
    for seed in range(int(sys.argv[1])):
        try:
            refused += bool(fuzzer.read(name, fuzzer.damage(name, seed)))
        except Exception:
            print(f"{name}, {seed}: {traceback.format_exc()}", file=sys.stderr)
print(refused)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as on Linux")
def test_damaged_files_are_read_or_refused_in_one_line(figures: dict[str, str]) -> None:
    done = Program(PROGRAM, str(EACH), cwd=ROOT).wait()
    assert done.stderr == ""
    assert done.returncode == 0
    assert int(done.stdout) > EACH * len(TARGETS) / 2
    figures["damaged files read or refused in one line"] = f"{EACH * len(TARGETS)}, {int(done.stdout)} of them refused"
