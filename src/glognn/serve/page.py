"""The page of a service, which reads ``/openapi.json`` and needs nothing from elsewhere: ``page.html`` beside this."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

PAGE = Path(__file__).with_name("page.html").read_text(encoding="utf-8")


def _allowed(tag: str) -> str:
    """What lets the browser take the page's own style or script and no other."""
    text = PAGE.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"


POLICY = (
    f"default-src 'none'; style-src {_allowed('style')}; script-src {_allowed('script')}; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
