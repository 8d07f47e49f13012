"""The paper's two result tables, to stand beside ours. Imports no torch."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any


@cache
def _content() -> dict[str, Any]:
    text = resources.files("glognn.experiments").joinpath("paper.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def paper_result(model: str, dataset: str) -> tuple[float, float] | None:
    """Mean and standard deviation in percent; ``None`` where the paper has none or ran out of memory."""
    found = _content()["results"].get(model, {}).get(dataset)
    return None if found is None else (float(found[0]), float(found[1]))
