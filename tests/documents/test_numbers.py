"""Tables of numbers in documents follow from committed records."""

from __future__ import annotations

import pytest

from tests.conftest import ROOT

if not (ROOT / "documents").is_dir() or not (ROOT / "results").is_dir():
    pytest.skip("documents and records are not beside the tests", allow_module_level=True)

from documents import tables


def test_every_table_follows_from_its_record() -> None:
    assert list(tables.problems()) == []


def test_every_table_stands_in_a_document() -> None:
    named = {name for path in tables.documents() for _, name in tables._MARKED.findall(path.read_text("utf-8"))}
    assert named == set(tables.TABLES)


def test_a_changed_number_is_written_as_it_was_recorded() -> None:
    text = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    assert "| 1.42 |" in text
    assert tables.renewed(text.replace("| 1.42 |", "| 1.43 |")) == text


def test_numbers_without_a_record_must_say_so() -> None:
    table = "| a | b |\n|---|---|\n| x | 1.5 |\n"
    assert tables.unexplained(f"Text.\n\n{table}") == ["| a | b |"]
    assert tables.unexplained(f"Text.\n\n<!-- no record: a reason -->\n\n{table}") == []
    assert tables.unexplained(table.replace("1.5", "15")) == []
