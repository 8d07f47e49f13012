"""Text of a user as it is shown: what would command a terminal is written out instead."""

from __future__ import annotations

import re

_COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters other than tab and newline, overrides of the direction, and halves of characters that no terminal
is sent (bytes of file names that are not UTF-8)."""


def visible(text: str) -> str:
    r"""Escape codes and the like as Python writes them (``\x1b[31m``); all else as it is."""
    return _COMMANDS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
