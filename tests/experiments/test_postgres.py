"""Studies and runs in a real PostgreSQL, which the tests start and stop, with workers that share nothing but it."""

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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from glognn.data.npz import write_npz
from glognn.errors import InputError, WriteError
from glognn.experiments import run
from glognn.experiments.database import Database
from glognn.experiments.jobs import run_jobs
from glognn.experiments.plan import Job, make_plan
from glognn.experiments.reports import read_report
from glognn.experiments.reproduce import reproduce
from glognn.experiments.search import Search, do_trials, finished_trials, open_folder, open_study
from glognn.experiments.verify import verify
from tests.conftest import ENVIRONMENT, make_data

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
            Database(url)
            return
        except InputError:
            assert server.poll() is None, "PostgreSQL has ended"
            time.sleep(0.05)
    raise AssertionError("PostgreSQL does not answer")


def child(code: str, *arguments: str) -> subprocess.Popen[str]:
    """A worker in a process of its own, as on another machine."""
    root = str(Path(__file__).parents[2])
    environment = ENVIRONMENT | {"PYTHONPATH": os.pathsep.join([ENVIRONMENT["PYTHONPATH"], root])}
    command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, cwd=root)


def wait_for(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == word:
            return
    raise AssertionError(f"the worker has ended without '{word}'")


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


HELD = 3
SEARCHES = f"""
import sys, time
from pathlib import Path
from glognn.experiments.search import do_trials, open_folder, open_study, take_trials
from glognn.experiments.study_locks import study_locks
from tests.experiments.test_postgres import SEARCH, TRIALS
folder, storage = Path(sys.argv[1]), sys.argv[2]
open_folder(folder, SEARCH)
for done, _ in enumerate(do_trials(folder, TRIALS, storage=storage)):
    print("a trial", flush=True)
    if done == 4:
        break
study = open_study(folder, SEARCH, storage)
locks = study_locks(folder, storage, study.study_name)
with locks.alive() as worker:
    assert len(take_trials(folder, study, SEARCH, TRIALS, worker, {HELD}, locks)) == {HELD}
    print("holds", flush=True)
    time.sleep(600)
"""


def test_two_machines_share_a_study_and_one_is_killed(database: str, tmp_path: Path) -> None:
    """Each worker has a folder of its own, as on another machine: the database is all they share."""
    killed = child(SEARCHES, str(tmp_path / "first"), database)
    wait_for(killed, "a trial")
    open_folder(tmp_path / "second", SEARCH)
    work = do_trials(tmp_path / "second", TRIALS, storage=database)
    for _ in range(5):  # while the other works, too
        next(work)
    wait_for(killed, "holds")
    kill(killed)
    for _ in work:
        pass
    study = open_study(tmp_path / "second", SEARCH, database)
    done = finished_trials(study)
    assert len(done) == TRIALS, "nothing is lost, and nothing done that was not asked for"
    assert sum("retry_of" in trial.user_attrs for trial in done) >= HELD, "what the dead one held is taken over"
    drawn = [tuple(sorted(trial.params.items())) for trial in done]
    assert len(set(drawn)) == TRIALS, "nothing is done twice"
    open_folder(tmp_path / "alone", SEARCH)
    for _ in do_trials(tmp_path / "alone", TRIALS):
        pass
    single = finished_trials(open_study(tmp_path / "alone", SEARCH))
    found, expected = ({tuple(sorted(t.params.items())): t.value for t in each} for each in (done, single))
    assert found == expected, "the settings that one machine draws, and their scores"


def test_workers_that_come_to_an_empty_database_at_once_make_one_study(database: str, tmp_path: Path) -> None:
    other = replace(SEARCH, splits="1")
    with ThreadPoolExecutor(4) as pool:
        opened = list(pool.map(lambda _: open_study(tmp_path, other, database).study_name, range(4)))
    assert len(set(opened)) == 1
    assert open_study(tmp_path, SEARCH, database).study_name not in opened, "another search is another study"


def test_a_graph_file_is_known_by_its_content(database: str, tmp_path: Path) -> None:
    names = []
    for folder, seed in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / folder).mkdir()
        write_npz(make_data(num_nodes=20, seed=seed), tmp_path / folder / "graph.npz")
        search = replace(SEARCH, dataset=str(tmp_path / folder / "graph.npz"))
        names.append(open_study(tmp_path / folder, search, database).study_name)
    assert names[0] == names[1] != names[2]


RUNS = """
import sys, time
from pathlib import Path
from glognn.experiments import run
from glognn.experiments.jobs import run_jobs
from tests.experiments.test_postgres import plan
inner = run.run_batch
def run_batch(batch, loaded):
    print("begins", *batch.names, flush=True)
    if batch.jobs[0].model == "gcn":
        time.sleep(600)
    return inner(batch, loaded)
run.run_batch = run_batch
root = Path(sys.argv[1])
for _ in run_jobs(plan(root), storage=sys.argv[2], root=root):
    print("a run", flush=True)
"""


def plan(root: Path) -> list[Job]:
    given = {"epochs": 3, "threads": 1, "device": "cpu", "hidden_channels": 8}
    return make_plan(root, ["pairs"], ["mlp", "gcn", "glognn"], splits="0-1", given=given)


def test_two_machines_share_the_runs_of_a_table_and_one_is_killed(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = child(RUNS, str(tmp_path / "first"), database)
    wait_for(killed, "begins seed-0/split-0 seed-0/split-1")  # mlp
    wait_for(killed, "begins seed-0/split-0 seed-0/split-1")  # gcn, which never ends
    inner, trained = run.run_batch, []

    def run_batch(batch: Any, loaded: Any) -> Any:
        trained.append(batch.jobs[0].model)
        if len(trained) == 1:
            kill(killed)
        return inner(batch, loaded)

    monkeypatch.setattr(run, "run_batch", run_batch)
    root = tmp_path / "second"
    outcomes = list(run_jobs(plan(root), storage=database, root=root))
    assert [outcome.error for outcome in outcomes] == [""] * 6
    assert trained == ["glognn", "gcn"], "what is held waits, what is done is brought, what is left is taken over"
    alone = tmp_path / "alone"
    assert len(list(run_jobs(plan(alone)))) == 6
    for mine, one in zip(plan(root), plan(alone), strict=True):
        assert {state.state for state in verify(mine.folder)} == {"ok"}
        assert read_report(mine.folder)["scores"] == read_report(one.folder)["scores"]
    third = tmp_path / "third"
    assert len(list(run_jobs(plan(third), storage=database, root=third))) == 6
    assert len(trained) == 5, "the table of another machine is brought whole"


def test_runs_are_shared_by_postgresql_alone(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="shared by PostgreSQL .* Got 'sqlite:///x.db' instead"):
        list(run_jobs(plan(tmp_path), storage="sqlite:///x.db", root=tmp_path))
    with pytest.raises(InputError, match="runs are of one machine. Leave out --storage"):
        reproduce("efficiency", "mlp", "texas", storage="postgresql://x", out=tmp_path)


def test_a_database_that_is_not_there_is_said_in_one_line(tmp_path: Path) -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    open_folder(tmp_path, SEARCH)
    with pytest.raises(InputError, match="The storage 'postgresql\\+psycopg://me:\\*\\*\\*@127.0.0.1:1/x' cannot be"):
        open_study(tmp_path, SEARCH, "postgresql+psycopg://me:secret@127.0.0.1:1/x")
    with pytest.raises(InputError, match="^--storage must be a URL such as postgresql.*. Got what cannot"):
        Database("postgresql+psycopg://me:secret@host:port/x")


def test_a_session_that_is_lost_holds_nothing_and_spoils_nothing(database: str) -> None:
    """As when the server is started again while a run is trained."""
    shared, ended = Database(database), "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
    with shared.held("a run"):
        assert shared.is_held("a run")
        shared.ask(ended)
    assert not shared.is_held("a run")


def test_a_database_that_is_lost_is_said_in_one_line(database: str) -> None:
    shared = Database(database)
    with pytest.raises(WriteError, match=r"^The storage '.*' does not answer as it did: .*glognn_lost"):
        shared.ask("SELECT run FROM glognn_lost")
