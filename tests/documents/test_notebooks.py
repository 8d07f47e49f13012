"""The notebooks run, and hold what they show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT

if not (ROOT / "documents").is_dir():
    pytest.skip("the documents are not beside the tests", allow_module_level=True)

from documents import notebooks

NOTEBOOKS = sorted(notebooks.NOTEBOOKS.glob("*.ipynb"))
QUICKER = {
    "time_limit=120": "time_limit=120, epochs=5, folds=2",
    'splits="0-2", epochs=150, patience=50': 'splits="0-1", epochs=5',
    "epochs=100": "epochs=30",
}


def quicker(code: str) -> str:
    for long, short in QUICKER.items():
        code = code.replace(long, short)
    return code


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_runs_and_shows_what_is_kept(path: Path) -> None:
    kept, again = notebooks.read(path), notebooks.read(path)
    notebooks.run(again, quicker)
    for old, new in zip(kept["cells"], again["cells"], strict=True):
        shown, found = old.get("outputs", []), new.get("outputs", [])
        assert [output["output_type"] for output in shown] == [output["output_type"] for output in found], old["source"]
    assert any("outputs" in cell and cell["outputs"] for cell in kept["cells"])


def test_a_page_has_cells_and_what_they_show() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "Text."]},
        {"cell_type": "code", "source": "print(2)\n1 + 1", "outputs": []},
    ]
    notebook = {"cells": cells}
    notebooks.run(notebook)
    text = notebooks.to_markdown(notebook, "name.ipynb")
    assert text.startswith("# Title\n\nThis page is a notebook: [name.ipynb](name.ipynb).\nText.")
    assert text.count("```text\n2\n```") == 2


def test_a_cell_that_fails_says_which() -> None:
    notebook = {"cells": [{"cell_type": "code", "source": "1 / 0"}]}
    with pytest.raises(ZeroDivisionError):
        notebooks.run(notebook)
