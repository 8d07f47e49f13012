"""``glognn report`` of runs, automatic runs, searches, tables and benchmarks; in headless Chromium, and as text."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from glognn import InputError
from glognn.cli.main import app
from glognn.experiments.auto import auto
from tests.conftest import ROOT, make_data
from tests.pages.conftest import CLASSES, HOSTILE, Page, told

Open = Callable[[Path | str], Page]
TABLE = ROOT / "results" / "table1-published.json"


@pytest.fixture(scope="session")
def folder(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run on tables, a search, and where the documents are there a table and a benchmark."""
    place = tmp_path_factory.mktemp("report") / HOSTILE.replace("/", "")
    shutil.copytree(run, place / "run")
    options = ["--model", "mlp", "--dataset", "pairs", "--trials", 4, "--epochs", 3, "--splits", 0, "--no-keep-default"]
    told("tune", *options, "--workers", 1, "--out", place / "search")
    if TABLE.is_file():
        (place / "table1").mkdir()
        shutil.copyfile(TABLE, place / "table1" / "table.json")
        shutil.copyfile(ROOT / "benchmarks" / "results" / "small-cpu.json", place / "bench.json")
    return place


@pytest.fixture(scope="session")
def written(folder: Path) -> Path:
    place = folder.parent / "report.html"
    assert f"Report: {place}" in told("report", folder, "--out", place)
    return place


def test_a_folder_of_everything(folder: Path, written: Path, page: Open) -> None:
    shown = page(written)
    heads = shown.ask("[...document.querySelectorAll('h2')].map((e) => e.textContent)")
    assert heads[0] == "All runs"
    assert {"run: run", "search: search"} <= set(heads)
    assert shown.text("h1").startswith(folder.name)
    assert shown.ask("document.querySelectorAll('h1 *, main script, main b').length") == 0
    text = shown.text("main")
    assert CLASSES[0] in text
    assert f"glognn train --config '{folder / 'run' / 'config.toml'}'" in text
    assert f"glognn train --config '{folder / 'search' / 'best.toml'}'" in text
    assert shown.ask("[...document.images].every((e) => e.complete && e.naturalWidth > 100 && e.alt)")
    assert shown.low_contrast() == []
    shown.ask("Shell.setTheme(true)")
    assert shown.low_contrast() == []


@pytest.mark.skipif(not TABLE.is_file(), reason="the recorded tables are not beside the tests")
def test_tables_sort_and_show_intervals_and_significance(written: Path, page: Open) -> None:
    shown = page(written)
    cells = json.loads(TABLE.read_text(encoding="utf-8"))[0]["cells"]
    column = (
        "(() => { const t = [...document.querySelectorAll('table')].find((e) => e.textContent.includes('95 % from'));"
        " const at = [...t.tHead.rows[0].cells].findIndex((e) => e.textContent === 'mean');"
        " if (arguments[0]) t.tHead.rows[0].cells[at].firstElementChild.click();"
        " return [...t.tBodies[0].rows].map((row) => row.cells[at].textContent); })()"
    )
    means = [f"{cell['mean']:.2f}" for cell in cells]
    assert shown.ask(column, False) == means
    assert shown.ask(column, True) == sorted(means, key=float, reverse=True)
    assert shown.ask(column, True) == sorted(means, key=float)
    assert shown.ask(column, True) == means
    text = shown.text("main")
    assert "Holm-corrected within a dataset" in text
    assert "glognn reproduce table1 --out" in text
    assert "Medians of" in text


def test_it_prints(written: Path, page: Open) -> None:
    shown = page(written)
    printed = base64.b64decode(shown.browser.print_page())
    assert printed.startswith(b"%PDF")
    assert printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") + printed.count(b"/Type /Page/") >= 2


def test_an_automatic_run_as_markdown(tmp_path: Path) -> None:
    members = "\n".join(f'[[member]]\nname = "{name}"\nmodel = "{name}"' for name in ("mlp", "gcn"))
    (tmp_path / "portfolio.toml").write_text(members)
    auto(make_data(), out=tmp_path / "run", portfolio=tmp_path / "portfolio.toml", epochs=3, threads=1, device="cpu")
    told("report", tmp_path / "run", "--out", tmp_path / "report.md")
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "| **ensemble** |" in text
    assert "![Scores of the members and of their ensemble" in text
    assert (tmp_path / "report-pictures" / "0" / "leaderboard.svg").is_file()
    assert "](report-pictures/0/leaderboard.svg)" in text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "holds nothing to report"),
        ({"table.json": "[]x"}, "cannot be read"),
        ({"table.json": '[{"judged": "best"}]'}, "is damaged: it[0].reference is missing"),
        ({"a.json": '{"kind": "bench", "schema_version": 7}'}, "schema_version of"),
        ({"a.json": '{"kind": "bench", "schema_version": 1}'}, "is damaged: config is missing"),
    ],
)
def test_what_cannot_be_reported_is_said_in_one_line(tmp_path: Path, content: dict[str, str], message: str) -> None:
    for name, text in content.items():
        (tmp_path / name).write_text(text)
    found = CliRunner().invoke(app, ["report", str(tmp_path), "--out", str(tmp_path / "report.html")])
    assert isinstance(found.exception, InputError)
    assert message in str(found.exception)
    assert "\n" not in str(found.exception)
