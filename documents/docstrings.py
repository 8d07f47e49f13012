"""Docstrings as Markdown: the few marks of reStructuredText that they have, in the form that the site reads."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from griffe import Extension, Object

_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data):`~?([\w.]+)`")
_MATH = re.compile(r"^( *)\.\. math::[ ]*(.*)\n((?:(?:\1 +.*)?\n)*)", re.MULTILINE)
_TABLE = re.compile(r"^=+(?:  +=+)+\n.*?^=+(?:  +=+)+$", re.DOTALL | re.MULTILINE)


def to_markdown(text: str) -> str:
    """A docstring without roles, and with formulas and tables in fences."""
    text = _ROLE.sub(lambda found: f"`{found[1].rpartition('.')[2]}`", text)
    text = _MATH.sub(_formula, text + "\n").rstrip("\n")
    return _TABLE.sub(lambda found: f"```text\n{found[0]}\n```", text)


def _formula(found: re.Match[str]) -> str:
    indent, rest, block = found.groups()
    body = f"{rest}\n{textwrap.dedent(block)}".strip()
    if "&" in body:
        body = rf"\begin{{aligned}} {body} \end{{aligned}}"
    return textwrap.indent(f"$$\n{body}\n$$\n\n", indent)


class PlainDocstrings(Extension):
    """Rewrites every docstring as it is read."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = to_markdown(obj.docstring.value)
