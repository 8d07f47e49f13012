"""Names as they are shown: of a user's text, what would command a terminal is written out; scores name their class."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from glognn.training.config import NO_SHARES, OF_ONE_CLASS, RANKINGS

_COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters other than tab and newline, overrides of the direction, and halves of characters that no terminal
is sent (bytes of file names that are not UTF-8)."""


def visible(text: str) -> str:
    r"""Escape codes and the like as Python writes them (``\x1b[31m``); all else as it is."""
    return _COMMANDS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def score_name(record: Mapping[str, Any]) -> str:
    """``average precision of fraud``: the metric of a record, with the class that it is of."""
    positive = record.get("positive_class")
    top_k = record.get("config", {}).get("training", {}).get("top_k")
    return class_score(record["metric"], None if positive is None else positive["name"], top_k)


def class_score(metric: str, positive: str | None, top_k: int | None = None) -> str:
    """A metric with the class that it is of, where it is of one."""
    of_class = positive is not None and metric in (*OF_ONE_CLASS, *RANKINGS)
    words = metric.replace("_", " ") if top_k is None else metric.replace("_at_k", f"_at_{top_k}").replace("_", " ")
    return words + (f" of {visible(str(positive))}" if of_class else "")


def score_text(metric: str, score: float | None) -> str:
    """``82.91 %``; a correlation or a loss, which are no shares, as they are."""
    return "undefined" if score is None else figures(metric, score) + unit(metric)


def figures(metric: str, mean: float, std: float | None = None) -> str:
    """``82.19 ± 1.17``, in percent; a correlation or a loss as it is, ``-0.4312 ± 0.0105``."""
    digits, scale = (4 if metric in NO_SHARES else 2), scale_of(metric)
    return f"{scale * mean:.{digits}f}" + ("" if std is None else f" ± {scale * std:.{digits}f}")


def scale_of(metric: str) -> float:
    """By what a score is multiplied where it is shown."""
    return 1.0 if metric in NO_SHARES else 100.0


def unit(metric: str) -> str:
    """What stands behind its figures."""
    return "" if metric in NO_SHARES else " %"


def in_unit(name: str, metric: str) -> str:
    """The heading of a column of scores: ``test accuracy, %``."""
    return name if metric in NO_SHARES else f"{name}, %"
