"""The licences of what the package needs, as the installed distributions state them."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

_PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def table() -> str:
    """A row for each direct dependency of the package."""
    wanted = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]
    lines = ["| package | needed from | licence |", "|---|---|---|"]
    for requirement in sorted(wanted, key=str.lower):
        name, version = re.fullmatch(r"([\w.-]+)(?:>=([\w.]+))?", requirement).groups()  # type: ignore[union-attr]
        lines.append(f"| {name} | {version or ''} | {_licence(name)} |")
    return "\n".join(lines)


def _licence(name: str) -> str:
    try:
        found = metadata(name)
    except PackageNotFoundError:
        return "not installed here"
    if "License-Expression" in found:
        return found["License-Expression"]
    classified = [line for line in found.get_all("Classifier", []) if line.startswith("License ::")]
    if classified:
        return ", ".join(line.rpartition(" :: ")[2] for line in classified)
    return found["License"].splitlines()[0][:60] if "License" in found else "not stated"
