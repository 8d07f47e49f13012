"""What the pages of the site are made of; the site itself is built and checked by ``make docs``."""

from __future__ import annotations

import tomllib

import pytest

import glognn
from glognn.data.catalog import DATASETS
from glognn.models.configs import MODELS
from tests.conftest import ROOT

if not (ROOT / "documents").is_dir():
    pytest.skip("the documents are not beside the tests", allow_module_level=True)

pytest.importorskip("griffe")
from documents import datasets, models, reference
from documents.check import problems
from documents.docstrings import to_markdown


def test_every_public_name_is_documented(figures: dict[str, str]) -> None:
    pages = {**models.pages(), **reference.pages()}
    documented = {line.split()[1] for text in pages.values() for line in text.splitlines() if line.startswith("::: ")}
    assert documented == {f"{home}.{name}" for name, home in glognn._HOMES.items()}
    figures["public names documented"] = f"{len(documented)} of {len(glognn.__all__)}"


def test_every_model_says_when_to_use_it() -> None:
    uses = tomllib.loads((ROOT / "documents/when_to_use.toml").read_text(encoding="utf-8"))
    assert set(uses) == set(MODELS)
    pages = models.pages()
    for name, config in MODELS.items():
        text = pages[models.place(name)]
        assert uses[name] in text
        assert all(f"| `{setting}` |" in text for setting in config.names())


def test_the_catalog_has_every_dataset_with_its_traps() -> None:
    [text] = datasets.pages().values()
    for entry in DATASETS.values():
        assert f"\n### {entry.name} " in text
        assert all(trap in text for trap in entry.traps)


def test_docstrings_become_markdown() -> None:
    text = (
        "See :class:`~glognn.nn.hops.Hops`.\n\n.. math::\n    a &= b \\\\\n    c &= d\n\nAnd\n\n==  ==\na   b\n==  =="
    )
    found = to_markdown(text)
    assert "See `Hops`." in found
    assert "$$\n\\begin{aligned} a &= b \\\\\nc &= d \\end{aligned}\n$$" in found
    assert "```text\n==  ==\na   b\n==  ==\n```" in found


def test_broken_links_and_what_comes_from_elsewhere_are_found(tmp_path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#here"></a><a href="b.html#gone"></a><a href="c.html"></a>')
    (tmp_path / "b.html").write_text('<p id="here"></p><script src="https://elsewhere.org/x.js"></script>')
    assert sorted(problems(tmp_path)) == [
        "a.html links to b.html#gone, which has no such place",
        "a.html links to c.html, which is not there",
        "b.html loads https://elsewhere.org/x.js",
    ]


def test_lists_that_became_paragraphs_are_found(tmp_path) -> None:
    (tmp_path / "a.html").write_text("<p>So it is.\n- one\n- two</p><p>A dash - here</p><ul><li>one</li></ul>")
    assert problems(tmp_path) == ["a.html shows as a paragraph: - one"]
