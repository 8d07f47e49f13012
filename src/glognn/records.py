"""Records (JSON) and settings (TOML) as they lie in a folder: read once, and of the form that users of them rely on.

A form is a type, several types, a set of words, a mapping of names to forms, or a list of one form, which every element
has.
"""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import Any

from glognn.errors import InputError

NUMBER = (int, float)
Form = Any
FILE: Form = {"bytes": int, "sha256": str}
"""What :func:`~glognn.storage.measure_files` tells of a file."""
_LONGEST = 255
"""Bytes of a name, on every usual file system."""


def is_file_name(name: str) -> bool:
    """Whether a name is that of a file or folder within a folder, and cannot lead out of it."""
    return Path(name).name == name and "\0" not in name and len(name.encode(errors="replace")) <= _LONGEST


def inside(folder: Path, *names: str) -> Path:
    """A folder within a folder, by its names on the way, none of which may be a link to somewhere else."""
    place, real = folder.joinpath(*names), folder.resolve().joinpath(*names)
    if place.resolve() != real:
        raise InputError(
            f"'{place}' must be a folder of its own. Got a link to '{place.resolve()}' instead: put the folder there."
        )
    return place


def read_record(path: Path, form: Form) -> Any:
    """The content of a record; a file that is not there is a ``FileNotFoundError``."""
    try:
        text = path.read_text(encoding="utf-8")
        content = refuse_huge(json.loads(text, parse_constant=_refuse, parse_float=_finite))
    except FileNotFoundError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"'{path}' cannot be read: {error}.") from None
    if wrong := misfit(content, form):
        raise InputError(f"'{path}' is damaged: {wrong}.")
    return content


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a file of settings; one that is not there is a ``FileNotFoundError``."""
    try:
        content: dict[str, Any] = refuse_huge(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"'{path}' is not a readable TOML file: {error}.") from None
    return content


def refuse_huge(content: Any) -> Any:
    """A content, which must not have whole numbers that no float can hold: all who compute with one would fail."""
    if isinstance(content, dict | list):
        for each in content.values() if isinstance(content, dict) else content:
            refuse_huge(each)
    elif isinstance(content, int):
        try:
            float(content)
        except OverflowError:
            raise ValueError(f"a number of {content.bit_length():,} bits is too large") from None
    return content


def check_version(path: Path, content: Any, known: int, remedy: str = "use the glognn that wrote it") -> None:
    """Refuse a record of another form than the one that is known: it may say other things under the same names."""
    found = content.get("schema_version") if isinstance(content, dict) else None
    if found != known or isinstance(found, bool):
        raise InputError(f"schema_version of '{path}' must be {known}. Got {found!r:.60} instead: {remedy}.")


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _finite(text: str) -> float:
    if math.isinf(number := float(text)):
        raise ValueError(f"{text:.60} is too large")
    return number


def misfit(content: Any, form: Form, name: str = "it") -> str:
    """What of a content has not its form, in words; empty where all of it has."""
    if isinstance(form, dict):
        if not isinstance(content, dict):
            return f"{name} must be a table of names, not {content!r:.60}"
        inner = "" if name == "it" else f"{name}."
        found = (
            misfit(content[key], each, f"{inner}{key}") if key in content else f"{inner}{key} is missing"
            for key, each in form.items()
        )
    elif isinstance(form, list):
        if not isinstance(content, list):
            return f"{name} must be a list, not {content!r:.60}"
        found = (misfit(each, form[0], f"{name}[{place}]") for place, each in enumerate(content))
    elif isinstance(form, set):
        known = isinstance(content, str) and content in form
        return "" if known else f"{name} must be one of {', '.join(sorted(form))}, not {content!r:.60}"
    else:
        kinds = form if isinstance(form, tuple) else (form,)
        if isinstance(content, kinds) and (bool in kinds or not isinstance(content, bool)):
            return ""
        words = " or ".join("null" if kind is type(None) else kind.__name__ for kind in kinds)
        return f"{name} must be {words}, not {content!r:.60}"
    return next((wrong for wrong in found if wrong), "")
