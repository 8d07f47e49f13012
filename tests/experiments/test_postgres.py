"""A study in a real PostgreSQL, which the test starts and stops, with workers that share nothing but it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from glognn.errors import InputError
from glognn.experiments.search import Search, finished_trials, open_folder, open_study
from glognn.experiments.study_locks import check_storage
from tests.conftest import ENVIRONMENT

TRIALS = 40
SEARCH = Search("mlp", "pairs", "wide", "0", {"epochs": 2, "hidden_channels": 8, "device": "cpu"}, "random", False)


def _binaries() -> Path | None:
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((place for place in reversed(places) if (place / "postgres").is_file()), None)


def _owner() -> str | None:
    """Another user than root, which PostgreSQL does not run as."""
    if os.getuid() != 0:
        return None
    names = {user.pw_name for user in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """The address of an empty database."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    binaries = _binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed")
    place = Path(tempfile.mkdtemp(prefix="glognn-postgres-"))
    owner: Any = {} if _owner() is None else {"user": _owner(), "cwd": "/"}
    if owner:
        shutil.chown(place, _owner())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **owner}
    subprocess.run([binaries / "initdb", "-D", place / "data", "-U", "glognn", "-A", "trust", "--no-sync"], **quiet)
    server = subprocess.Popen(
        [binaries / "postgres", "-D", place / "data", "-p", str(port), "-k", str(place), "-c", "fsync=off"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **owner,
    )
    url = f"postgresql+psycopg://glognn@127.0.0.1:{port}/postgres"
    try:
        _wait(url, server)
        yield url
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)
        shutil.rmtree(place, ignore_errors=True)


def _wait(url: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        try:
            check_storage(url)
            return
        except InputError:
            assert server.poll() is None, "PostgreSQL has ended"
            time.sleep(0.05)
    raise AssertionError("PostgreSQL does not answer")


WORK = """
import sys
from pathlib import Path
from glognn.experiments.search import do_trials
from tests.experiments.test_postgres import SEARCH, TRIALS, open_folder
folder = Path(sys.argv[1])
open_folder(folder, SEARCH)
for done in do_trials(folder, TRIALS, storage=sys.argv[2] or None, together=int(sys.argv[3])):
    print(done, flush=True)
"""


def worker(folder: Path, storage: str, together: int = 2) -> subprocess.Popen[str]:
    root = str(Path(__file__).parents[2])
    environment = ENVIRONMENT | {"PYTHONPATH": os.pathsep.join([ENVIRONMENT["PYTHONPATH"], root])}
    arguments = [sys.executable, "-W", "ignore", "-c", WORK, str(folder), storage, str(together)]
    return subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, text=True, cwd=root)


def test_two_machines_share_a_study_and_one_is_killed(database: str, tmp_path: Path) -> None:
    """Each worker has a folder of its own, as on another machine: the database is all they share."""
    killed, other = worker(tmp_path / "first", database, together=1), worker(tmp_path / "second", database)
    assert killed.stdout is not None
    killed.stdout.readline()  # it has done a trial, and is at the next
    killed.send_signal(signal.SIGSTOP)
    killed.kill()
    killed.wait()
    other.communicate(timeout=240)
    assert other.returncode == 0
    study = open_study(tmp_path / "second", SEARCH, database)
    done = finished_trials(study)
    assert len(done) == TRIALS, "nothing is lost, and nothing done that was not asked for"
    drawn = [tuple(sorted(trial.params.items())) for trial in done]
    assert len(set(drawn)) == TRIALS, "nothing is done twice"
    alone = worker(tmp_path / "alone", "", together=TRIALS)
    alone.communicate(timeout=240)
    single = finished_trials(open_study(tmp_path / "alone", SEARCH))
    found, expected = ({tuple(sorted(t.params.items())): t.value for t in each} for each in (done, single))
    assert found.keys() == expected.keys(), "the settings that one machine draws"
    for settings, value in expected.items():
        assert found[settings] == pytest.approx(value, abs=2e-3)


def test_a_database_that_is_not_there_is_said_in_one_line(tmp_path: Path) -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    open_folder(tmp_path, SEARCH)
    with pytest.raises(InputError, match="The storage 'postgresql\\+psycopg://me:\\*\\*\\*@127.0.0.1:1/x' cannot be"):
        open_study(tmp_path, SEARCH, "postgresql+psycopg://me:secret@127.0.0.1:1/x")
