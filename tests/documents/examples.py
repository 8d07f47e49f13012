"""What the documents say to type: blocks that are run, and commands that must at least be understood."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.conftest import ROOT

DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"(?:torchrun .*? -m )?glognn(?: |$)")


def blocks(document: Path, *languages: str) -> list[tuple[str, str]]:
    """The blocks of a document in these languages, with the language of each, in order."""
    text = document.read_text(encoding="utf-8")
    return [(language, code) for _, language, code in _BLOCK.findall(text) if language in languages]


def typed_lines(block: str) -> list[list[str]]:
    """The words of each line of a block that calls glognn, without comments; a backslash joins lines."""
    lines = (line.strip() for line in block.replace("\\\n", " ").splitlines())
    return [_words(line) for line in lines if _COMMAND.match(line)]


def commands(document: Path) -> list[list[str]]:
    """The words of every command of a document, in blocks and in the text."""
    found = [words for _, block in blocks(document, "", "bash", "console") for words in typed_lines(block)]
    text = _BLOCK.sub("", document.read_text(encoding="utf-8"))
    inline = (re.sub(r"\s+", " ", code) for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", text))
    return found + [_words(code) for code in inline if _COMMAND.match(code)]


def _words(line: str) -> list[str]:
    words = shlex.split(line, comments=True)
    return words[words.index("glognn") + 1 :]
