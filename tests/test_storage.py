"""Files are the old one or the new one, whoever else writes them and however a writer ends."""

from __future__ import annotations

import errno
import os
import signal
import stat
import sys
from pathlib import Path

import pytest
import torch

from glognn.errors import WriteError
from glognn.storage import write_atomically, write_text
from glognn.training.checkpoint import load_tensors, save_tensors
from tests.program import Program

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes, links and locks of folders as on POSIX")

WRITER = """
import sys
from pathlib import Path
from glognn.storage import write_text

for _ in range(40):
    write_text(Path(sys.argv[1]), sys.argv[2] * 200_000)
"""
KILLED_WRITER = """
import os, signal, sys
from pathlib import Path
from glognn.storage import write_atomically

def die(temporary):
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)

write_atomically(Path(sys.argv[1]), die)
"""


def test_a_failed_write_keeps_the_previous_file(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    write_text(path, "old")

    def fail(temporary: Path) -> None:
        temporary.write_text("half of the n")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(WriteError, match=r"file\.txt' cannot be written: No space left on device\.$"):
        write_atomically(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_may_be_as_long_as_the_system_takes(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_text(path, "new")
    assert path.read_text() == "new"


def test_two_writers_of_one_file_never_tear_it(tmp_path: Path) -> None:
    """A second writer begins and ends while the first is in the middle of it."""
    path = tmp_path / "file.txt"

    def write(temporary: Path) -> None:
        with temporary.open("w") as file:
            file.write("first, ")
            file.flush()
            write_text(path, "second")
            assert path.read_text() == "second"
            file.write("whole")

    write_atomically(path, write)
    assert path.read_text() == "first, whole"
    assert list(tmp_path.iterdir()) == [path]


def test_processes_that_write_one_file_all_succeed(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    writers = [Program(WRITER, str(path), letter) for letter in "abc"]
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            text = path.read_text()
            assert len(text) == 200_000
            assert len(set(text)) == 1
    assert [writer.wait().stderr for writer in writers] == [""] * 3
    assert list(tmp_path.iterdir()) == [path]


@posix
def test_links_beside_a_file_are_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".file.txt.tmp").symlink_to(victim)
    (folder / ".file.txt.planted.glognn-unfinished").symlink_to(tmp_path)
    (folder / "file.txt").symlink_to(victim)
    write_text(folder / "file.txt", "new")
    assert victim.read_text() == "precious"
    assert not (folder / "file.txt").is_symlink()
    assert (folder / "file.txt").read_text() == "new"


@posix
def test_what_a_killed_writer_left_is_removed_by_the_next_write_in_the_folder(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "old")
    assert Program(KILLED_WRITER, str(tmp_path / "a.txt")).wait().returncode == -signal.SIGKILL
    assert (tmp_path / "a.txt").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2
    write_text(tmp_path / "b.txt", "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt"]


@posix
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_files_have_the_mode_that_the_umask_gives(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        save_tensors(tmp_path / "weights", {"a": torch.ones(3)}, {"b": 1})
        write_text(tmp_path / "text", "")
    finally:
        os.umask(before)
    for name in ("weights", "text"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == mode
    assert load_tensors(tmp_path / "weights")[1] == {"b": 1}
