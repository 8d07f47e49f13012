"""What the documents say to type is typed here."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT

if not (ROOT / "README.md").is_file():
    pytest.skip("the documents are not beside the tests", allow_module_level=True)


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
                assert (document.parent / link.partition("#")[0]).exists(), (document.name, link)


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150
