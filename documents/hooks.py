"""What MkDocs calls while it builds the site.

Pages are the files of docs/, the documents at the root of the repository, and those that :mod:`documents.models`,
:mod:`documents.datasets`, :mod:`documents.notebooks` and :mod:`documents.reference` make. A link to another file of the
repository (a record, a module) is made to work by taking that file into the site: Markdown and Python as pages, others
as they are. ``<!-- code: glognn.module.Class.function -->`` shows the source of a function. Formulas become MathML
here, so that no script has to be fetched to read them.
"""

from __future__ import annotations

import ast
import html
import os
import re
import sys
import textwrap
from pathlib import Path, PurePosixPath
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from documents import datasets, licences, models, notebooks, reference  # noqa: E402

ROOT_PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
_CODE = re.compile(r"^<!-- code: ([\w.]+) -->$", re.MULTILINE)
_NO_RECORD = re.compile(r"<!-- no record: (.*?) -->")
_LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|data:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
_FENCE = re.compile(r"^( *)(```+).*?^\1\2$", re.DOTALL | re.MULTILINE)
_MATH = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages that are made of the code into the navigation."""
    made = {"models/": models.navigation(), "reference/": reference.navigation()}
    assert config.nav is not None
    for entry in config.nav:
        for title, target in entry.items():
            if isinstance(target, str) and target in made:
                entry[title] = made[target]
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages that do not lie in docs/, then every file of the repository that some page links to."""
    places = {f"docs/{file.src_uri}": file.src_uri for file in files}
    texts = {path: (ROOT / path).read_text(encoding="utf-8") for path in places if path.endswith(".md")}
    made = {**models.pages(), **datasets.pages(), **reference.pages(), **notebooks.pages()}
    for uri, text in made.items():
        files.append(File.generated(config, uri, content=text))
        places[f"docs/{uri}"], texts[f"docs/{uri}"] = uri, text
    for path, uri in ROOT_PAGES.items():
        places[path], texts[path] = uri, (ROOT / path).read_text(encoding="utf-8")
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
    waiting = list(texts.items())
    while waiting:
        path, text = waiting.pop()
        for target in _targets(path, text):
            if target in places or not (ROOT / target).exists():
                continue
            uri, content = _outside(target)
            places[target] = uri
            if content is None:
                files.append(File.generated(config, uri, abs_src_path=str(ROOT / target)))
                continue
            files.append(File.generated(config, uri, content=content, inclusion=_unlisted()))
            waiting.append((target, content))
    config.extra["places"] = places
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links lead to where the files are in the site, and put in what is asked for by a comment.

    Beside a page that stands alone there is no menu to show.
    """
    if page.parent is None:
        page.meta.setdefault("hide", ["navigation"])
    markdown = _CODE.sub(lambda found: _source(found[1]), markdown).replace("<!-- licences -->", licences.table())
    markdown = _NO_RECORD.sub(r"*No record of this table is kept: \1.*", markdown)
    places: dict[str, str] = config.extra["places"]
    own = next(path for path, uri in places.items() if uri == page.file.src_uri)
    here = PurePosixPath(page.file.src_uri).parent

    def moved(found: re.Match[str]) -> str:
        uri = places.get(_resolved(own, found[1]))
        return found[0] if uri is None else os.path.relpath(uri, here) + (found[2] or "")

    return "".join(text if fenced else _LINK.sub(moved, text) for text, fenced in _parts(markdown))


def on_page_content(content: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Formulas as MathML; a mean and its deviation on one line."""

    def formula(found: re.Match[str]) -> str:
        display = "block" if found[1] == "div" else "inline"
        text = html.unescape(found[2]).strip().replace("{aligned}", "{align*}")
        return str(convert(text, display=display))

    return _MATH.sub(formula, content).replace(" ± ", "&nbsp;±&nbsp;")


def _source(name: str) -> str:
    """The source of a function or class, in a fence under its name."""
    parts = name.split(".")
    length = next(n for n in range(len(parts), 0, -1) if (ROOT / "src" / Path(*parts[:n])).with_suffix(".py").is_file())
    file = (ROOT / "src" / Path(*parts[:length])).with_suffix(".py")
    text = file.read_text(encoding="utf-8")
    node: Any = ast.parse(text)
    for part in parts[length:]:
        node = next(each for each in node.body if getattr(each, "name", "") == part)
    lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
    title = f"{file.relative_to(ROOT / 'src').as_posix()}, {'.'.join(parts[length:])}"
    return f'```python title="{title}"\n{textwrap.dedent(chr(10).join(lines))}\n```'


def _unlisted() -> Any:
    from mkdocs.structure.files import InclusionLevel

    return InclusionLevel.NOT_IN_NAV


def _parts(markdown: str) -> list[tuple[str, bool]]:
    """The text, and whether it is a fenced block, one after another."""
    parts, end = [], 0
    for fence in _FENCE.finditer(markdown):
        parts += [(markdown[end : fence.start()], False), (fence[0], True)]
        end = fence.end()
    return [*parts, (markdown[end:], False)]


def _targets(path: str, text: str) -> list[str]:
    """What a document links to in the repository."""
    plain = "".join(part for part, fenced in _parts(text) if not fenced)
    return [_resolved(path, found[1]) for found in _LINK.finditer(plain)]


def _resolved(path: str, link: str) -> str:
    return os.path.normpath(PurePosixPath(path).parent / link)


def _outside(path: str) -> tuple[str, str | None]:
    """Where a file of the repository goes in the site, and the page made of it, if one is."""
    place, hidden = ROOT / path, "---\nsearch:\n  exclude: true\n---\n\n"
    if place.is_dir():
        names = sorted(each.name for each in place.iterdir() if each.is_file() and not each.name.startswith("."))
        lines = [f"- [{name}]({place.name}/{name})" for name in names]
        return f"files/{path}/index.md", "\n".join([f"{hidden}# {path}", "", *lines, ""])
    if place.suffix == ".md":
        return f"files/{path}", f"{hidden}# {path}\n\n{place.read_text(encoding='utf-8')}"
    if place.suffix in (".py", ".toml"):
        language, text = place.suffix[1:].replace("py", "python", 1), place.read_text(encoding="utf-8")
        return f"files/{path}.md", f"{hidden}# {path}\n\n```{language}\n{text}```\n"
    return f"files/{path}", None
