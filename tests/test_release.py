"""What a release is made of: versions that are pinned, with hashes, and files that are there."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

from tests.conftest import ROOT

if not (ROOT / "requirements-dev.lock").is_file():
    pytest.skip("the lock is not beside the tests", allow_module_level=True)

LOCKED = re.compile(r"^([\w.-]+)==([^\s;]+)[^\n]*\\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE)


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return {plain(name): version for name, version in (line.split("==") for line in lines if "==" in line)}


def test_every_locked_version_is_the_pinned_one_and_has_hashes() -> None:
    text = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
    locked = {plain(name): version for name, version, _ in LOCKED.findall(text)}
    assert len(locked) == len(re.findall(r"^[\w.-]+==", text, re.MULTILINE))
    versions = pinned()
    assert {name: version for name, version in locked.items() if name in versions} == {
        name: version for name, version in versions.items() if name in locked
    }
    elsewhere = {plain(name) for name in re.findall(r"^([\w.-]+)==[^\s;]+ ;", text, re.MULTILINE)}
    assert locked.keys() - versions.keys() <= elsewhere


def test_everything_that_is_needed_is_pinned_and_locked() -> None:
    described = project()["project"]
    extras = described["optional-dependencies"]
    wanted = {*described["dependencies"], *(each for extra in extras.values() for each in extra)}
    names = {plain(re.split(r"[\[>=<~!; ]", each)[0]) for each in wanted} - {"glognn"}
    assert names <= pinned().keys()
    assert names <= {plain(name) for name, *_ in LOCKED.findall((ROOT / "requirements-dev.lock").read_text("utf-8"))}


def test_the_source_archive_holds_what_make_needs() -> None:
    included = project()["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert all((ROOT / name).exists() for name in included)
    assert {"Makefile", "constraints.txt", "hatch_build.py", "mkdocs.yml", "documents", "results"} <= set(included)
