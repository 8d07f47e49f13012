"""Which library is used, and what is said where none is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from glognn.native import build, library


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that the libraries are looked for in."""
    monkeypatch.setenv(library.SWITCH, str(tmp_path))
    return tmp_path


def test_the_core_is_built_where_there_is_a_compiler() -> None:
    """Nothing but this test would show that all others ran without it. With CI set, a compiler must be there too."""
    if os.environ.get(library.SWITCH) == "0":
        pytest.skip("switched off")
    if build.find_compiler() is None and not os.environ.get("CI"):
        pytest.skip("no C++ compiler")
    assert library.why_not() == ""
    found = library.find_library()
    assert found is not None
    assert found.source == build.source_hash()


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(library.SWITCH, "0")
    assert library.find_library() is None
    assert library.why_not() == "GLOGNN_NATIVE=0 switches it off"


def test_without_libraries_that_is_no_more_than_a_note(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        assert library.find_library() is None
        assert library.why_not() == "it is not built"
    [record] = caplog.records
    assert record.levelname == "INFO"
    assert record.getMessage() == "the native core is not used, training uses PyTorch alone: it is not built"


def test_a_library_that_cannot_be_loaded_is_warned_of_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "core-baseline.so").write_bytes(b"no library")
    assert library.find_library() is None
    assert library.why_not().startswith("it cannot be loaded")
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_library_of_another_source_is_warned_of_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    built = build.library_path("baseline")
    if not built.is_file():
        pytest.skip("the native core is not built")
    (folder / "core-baseline.so").symlink_to(built)
    monkeypatch.setattr(library, "source_hash", lambda: "another")
    assert library.find_library() is None
    assert library.find_library() is None
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage().endswith("another source ('python -m glognn.native.build' builds it again)")
