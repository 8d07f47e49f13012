"""GloGNN: node classification on graphs whose linked nodes differ. Public names are those of ``__init__.pyi``."""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"


def _homes() -> dict[str, str]:
    """The module of every public name. They are imported when they are asked for, because torch takes seconds."""
    declared = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = (node for node in declared.body if isinstance(node, ast.ImportFrom) and node.module)
    return {alias.name: str(node.module) for node in imports for alias in node.names}


_HOMES = _homes()
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name) or (None if name.startswith("_") else _registered().get(name))
    if home is None:
        raise AttributeError(f"module 'glognn' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_registered()})


def _registered() -> dict[str, str]:
    """The modules of all models, those that a user has registered among them."""
    from glognn.models.configs import MODELS

    return {name: module for module, name in (config.implementation.split(":") for config in MODELS.values())}
