"""Pages of one file each, which need nothing from elsewhere: templates, styles and scripts of ``pages/`` put together.

A page allows its own styles and scripts alone, by their digests: nothing that a user's tables hold can run in it. What
it shows is data, packed so that none of it is read as HTML, and written by scripts as text.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from glognn.report.text import visible

PAGES = Path(__file__).with_name("pages")
_TYPES = {"u1": "Uint8", "u2": "Uint16", "u4": "Uint32", "i2": "Int16", "f4": "Float32", "f8": "Float64"}
_EIGHT = 8


def make_page(
    template: str, *, title: str, styles: Sequence[str], scripts: Sequence[str], parts: Mapping[str, str], connect: bool
) -> str:
    """A page as text.

    Args:
        template: Its file, in which ``<!--name-->`` is replaced by a part.
        title: As plain text.
        styles, scripts: Files, in their order.
        parts: HTML by name; whoever makes it escapes it.
        connect: Whether it may ask where it came from, as one that is served does.
    """
    inside = {
        "style": "\n".join(_read(name) for name in styles),
        "script": "\n".join(_read(name) for name in scripts).replace("</script", r"<\/script"),
    }
    policy = (
        f"default-src 'none'; style-src {_digest(inside['style'])}; script-src {_digest(inside['script'])}; "
        f"img-src data:; connect-src {chr(39)}{'self' if connect else 'none'}{chr(39)}; base-uri 'none'; "
        "form-action 'none'"
    )
    values = {
        "title": html.escape(visible(title)),
        "policy": html.escape(policy),
        "style": f"<style>{inside['style']}</style>",
        "script": f"<script>{inside['script']}</script>",
        **parts,
    }
    text = _read(template)
    pieces = text.split("<!--")
    found = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("-->")
        found += [values[name], rest]
    return "".join(found)


def _read(name: str) -> str:
    return (PAGES / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"


def pack(record: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Plain data and arrays of numbers as base64 of a gzip file, which has no character that HTML knows.

    Inside: the length of a JSON text in 4 bytes, that text (the record, and where each array lies), and the arrays,
    little-endian, each from a multiple of 8 bytes on.
    """
    places, blocks, offset = dict[str, Any](), list[bytes](), 0
    for name, array in arrays.items():
        kind = _TYPES[array.dtype.str[1:]]
        content = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"))).tobytes()
        content += b"\0" * (-len(content) % _EIGHT)
        places[name] = {"type": kind, "offset": offset, "length": int(array.size)}
        blocks.append(content)
        offset += len(content)
    text = json.dumps({"record": record, "arrays": places}, allow_nan=False).encode()
    text += b" " * (-(len(text) + 4) % _EIGHT)
    whole = len(text).to_bytes(4, "little") + text + b"".join(blocks)
    return base64.b64encode(gzip.compress(whole, compresslevel=6, mtime=0)).decode("ascii")
