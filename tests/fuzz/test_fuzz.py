"""A few damaged files of every kind, the same every time; ``make fuzz`` goes on for ten minutes."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.fuzz.targets import TARGETS, Fuzzer, make_files
from tests.program import Program, run

EACH, BY_COMMAND = 12, 3

PROGRAM = """
import resource, sys, traceback
from pathlib import Path
from tests.fuzz.targets import TARGETS, Fuzzer
resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30,) * 2)
fuzzer, refused = Fuzzer(Path(sys.argv[2])), 0
for name in TARGETS:
    assert not fuzzer.read(name, (fuzzer.whole / fuzzer.paths[name]).read_bytes()), name
    for seed in range(int(sys.argv[1])):
        try:
            refused += bool(fuzzer.read(name, fuzzer.damage(name, seed)))
        except Exception:
            print(f"{name}, {seed}: {traceback.format_exc()}", file=sys.stderr)
print(refused)
"""

QUICK = "--epochs 2 --hidden-channels 4 --checkpoint-interval 0 --threads 1 --device cpu"
COMMANDS = {
    "npz": f"train -d graph.npz -m mlp {QUICK} -o new",
    "nodes, feather": f"train --nodes nodes.feather --edges edges.feather --label y -m mlp {QUICK} -o new",
    "edges, csv": f"train --nodes nodes.csv --edges edges.csv --label y -m mlp {QUICK} -o new",
    "model of a run": "predict run -o found.csv",
    "journal": f"tune -d pairs -m mlp --splits 0 --sampler random --trials 3 --workers 1 {QUICK} -o study",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All kinds of files, not to be changed."""
    folder = tmp_path_factory.mktemp("whole")
    make_files(folder)
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as on Linux")
def test_damaged_files_are_read_or_refused_in_one_line(whole: Path, figures: dict[str, str]) -> None:
    done = Program(PROGRAM, str(EACH), str(whole), cwd=ROOT).wait()
    assert done.stderr == ""
    assert done.returncode == 0
    assert int(done.stdout) > EACH * len(TARGETS) / 2
    figures["damaged files read or refused in one line"] = f"{EACH * len(TARGETS)}, {int(done.stdout)} of them refused"


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_read_or_refuse_damaged_files_in_one_line(name: str, whole: Path, tmp_path: Path) -> None:
    """In processes of their own, which a reader in another language could end."""
    fuzzer = Fuzzer(whole)
    for seed in range(BY_COMMAND):
        folder = Path(shutil.copytree(whole, tmp_path / str(seed)))
        (folder / fuzzer.paths[name]).write_bytes(fuzzer.damage(name, 100 + seed))
        done = run(*COMMANDS[name].split(), cwd=folder, code=None)
        last = done.stderr.splitlines()[-1:]
        assert done.returncode in (0, 1, 2), (seed, done)
        assert not done.returncode or re.match("error: .*'", last[0]), (seed, done)
        assert "in glognn itself" not in done.stderr, (seed, done)
        assert "Traceback" not in done.stderr, (seed, done)
