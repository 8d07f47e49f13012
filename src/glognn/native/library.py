"""The compiled library, if there is one that fits this machine and this source."""

from __future__ import annotations

import ctypes
import logging
import os
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_uint64, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

from glognn.errors import MemoryExhaustedError, TrainingError
from glognn.native.build import FOLDER, LEVELS, library_path, source_hash

logger = logging.getLogger(__name__)

SWITCH = "GLOGNN_NATIVE"
"""In the environment: 0 leaves the compiled code unused, a folder uses the libraries in it."""

MAX_INPUTS, MAX_DIRECTIONS = 8, 2
"""Of an encoder, and of its local blocks."""


class MatrixC(ctypes.Structure):
    """A sparse matrix as the library reads it."""

    _fields_ = (
        ("rows", c_int64),
        ("columns", c_int64),
        ("starts", c_void_p),
        ("indices", c_void_p),
        ("values", c_void_p),
    )


class InputC(ctypes.Structure):
    """A constant matrix that the encoder reads: sparse with its transpose, or dense."""

    _fields_ = (
        ("sparse", MatrixC),
        ("transposed", MatrixC),
        ("dense", c_void_p),
        ("columns", c_int64),
        ("branch", c_int64),
        ("gated", c_int64),
    )


class MemberC(ctypes.Structure):
    """What one member may differ in."""

    _fields_ = (
        ("learning_rate", c_double),
        ("weight_decay", c_double),
        ("beta1", c_double),
        ("beta2", c_double),
        ("gamma", c_double),
        ("dropout", c_double),
        ("shares", POINTER(c_double)),
        ("decoupled", c_int64),
        ("seed", c_uint64),
        ("train_count", c_int64),
        ("val_count", c_int64),
        ("test_count", c_int64),
        ("train_nodes", c_void_p),
        ("val_nodes", c_void_p),
        ("test_nodes", c_void_p),
    )


class ProblemC(ctypes.Structure):
    """What all members share, and the arrays they live in."""

    _fields_ = (
        ("nodes", c_int64),
        ("classes", c_int64),
        ("hidden", c_int64),
        ("layers", c_int64),
        ("hops", c_int64),
        ("members", c_int64),
        ("threads", c_int64),
        ("coefficient", c_int64),
        ("scale_free", c_int64),
        ("tau", c_int64),
        ("jumping", c_int64),
        ("batch", c_int64),
        ("blocks", c_int64),
        ("directions", c_int64),
        ("matrices", c_int64),
        ("inputs", c_int64),
        ("input", POINTER(InputC)),
        ("adjacency", MatrixC),
        ("adjacency_transposed", MatrixC),
        ("along", MatrixC * MAX_DIRECTIONS),
        ("along_transposed", MatrixC * MAX_DIRECTIONS),
        ("labels", c_void_p),
        ("settings", POINTER(MemberC)),
        ("weights", c_void_p),
        ("first", c_void_p),
        ("second", c_void_p),
        ("steps", c_void_p),
        ("logits", c_void_p),
    )


class TreesC(ctypes.Structure):
    """Boosted trees, the rows that they read, and the scores that they add to."""

    _fields_ = (
        ("rows", c_int64),
        ("columns", c_int64),
        ("rounds", c_int64),
        ("slots", c_int64),
        ("size", c_int64),
        ("classes", c_int64),
        ("threads", c_int64),
        ("inputs", c_void_p),
        ("feature", c_void_p),
        ("left", c_void_p),
        ("right", c_void_p),
        ("threshold", c_void_p),
        ("value", c_void_p),
        ("missing_left", c_void_p),
        ("scores", c_void_p),
    )


_DONE, _NO_MEMORY, _NO_THREADS = range(3)
_FUNCTIONS: dict[str, list[Any]] = {
    "parameters": [POINTER(ProblemC), POINTER(c_int64)],
    "create": [POINTER(ProblemC), POINTER(c_void_p)],
    "free": [c_void_p],
    "forward": [c_void_p],
    "step": [c_void_p, c_void_p],
    "measure": [c_void_p, c_void_p],
    "mask": [c_void_p, c_int64, c_void_p],
    "walk": [POINTER(TreesC)],
    "memory": [POINTER(c_int64), POINTER(c_int64)],
    "fail": [c_int64, c_int64],
}
"""Functions that return a status, without the prefix of their names."""

PLACES = ("allocation", "start of a thread", "work of a thread")
"""Where :meth:`Library.fail` can make the core fail."""


class Library:
    """The compiled core: its functions as methods, which raise what a status stands for."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._functions = {name: getattr(library, f"glognn_{name}") for name in _FUNCTIONS}
        for name, function in self._functions.items():
            function.argtypes, function.restype = _FUNCTIONS[name], c_int
        self._failure, self._level, self._source = library.glognn_failure, library.glognn_level, library.glognn_source
        self._failure.restype = self._source.restype = c_char_p

    @property
    def level(self) -> int:
        """The best level of vector instructions of this machine, as a place in :data:`~glognn.native.build.LEVELS`."""
        return int(self._level())

    @property
    def source(self) -> str:
        """The hash of what it was built from."""
        return str(self._source().decode())

    def call(self, name: str, *arguments: Any) -> None:
        """Call one of the functions, and raise an error that names what failed."""
        status = self._functions[name](*arguments)
        if status == _DONE:
            return
        what = self._failure().decode(errors="replace")
        if status == _NO_MEMORY:
            raise MemoryExhaustedError(f"There is not enough memory for the native core (in '{name}').")
        if status == _NO_THREADS:
            raise TrainingError(f"The native core cannot start its threads ({what}): lower --threads.")
        raise TrainingError(
            f"The native core failed in '{name}' ({what}): {SWITCH}=0 in the environment trains with PyTorch alone."
        )

    def memory(self) -> tuple[int, int]:
        """Bytes that the core holds for values in this process, now and at most since the last call."""
        held, peak = c_int64(), c_int64()
        self.call("memory", ctypes.byref(held), ctypes.byref(peak))
        return held.value, peak.value

    def fail(self, place: str, passes: int = 0) -> None:
        """For tests: one of :data:`PLACES` fails once, when it was passed so often; a number below 0 takes it back."""
        self.call("fail", PLACES.index(place), passes)


def find_library() -> Library | None:
    """The library for this machine, or ``None``; :func:`why_not` says why."""
    return _find()[0]


def why_not() -> str:
    """Why there is no library to use, in a few words; empty where there is one."""
    return _find()[1]


def folder() -> Path:
    """Where the libraries lie."""
    switch = os.environ.get(SWITCH, "1")
    return FOLDER if switch in ("", "0", "1") else Path(switch)


def _find() -> tuple[Library | None, str]:
    if os.environ.get(SWITCH) == "0":
        return None, f"{SWITCH}=0 switches it off"
    return _load(folder())


@cache
def _load(place: Path) -> tuple[Library | None, str]:
    """The best library of a folder that this machine can run; says once what is wrong."""
    found, reason = open_library(library_path("baseline", place))
    if found is None:
        severity = logging.INFO if reason == _ABSENT else logging.WARNING
        logger.log(severity, "the native core is not used, training uses PyTorch alone: %s", reason)
        return None, reason
    for level in reversed(list(LEVELS)[1 : found.level + 1]):
        better, _ = open_library(library_path(level, place))
        if better is not None:
            return better, ""
    return found, ""


_ABSENT = "it is not built"


def open_library(path: Path) -> tuple[Library | None, str]:
    """One library, or why it cannot be used."""
    if not path.is_file():
        return None, _ABSENT
    try:
        library = Library(ctypes.CDLL(str(path)))
        source = library.source
    except (OSError, AttributeError) as error:
        return None, f"it cannot be loaded ({error})"
    if source != source_hash():
        return None, "it was built from another source ('python -m glognn.native.build' builds it again)"
    return library, ""
