"""The compiled library, if there is one that fits this machine and this source."""

from __future__ import annotations

import ctypes
import logging
import os
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_uint64, c_void_p
from functools import cache
from pathlib import Path

from glognn.native.build import LEVELS, library_path, source_hash

logger = logging.getLogger(__name__)

SWITCH = "GLOGNN_NATIVE"
"""Set to 0 in the environment, it leaves the compiled code unused."""


class MatrixC(ctypes.Structure):
    """A sparse matrix as the library reads it."""

    _fields_ = (
        ("rows", c_int64),
        ("columns", c_int64),
        ("starts", c_void_p),
        ("indices", c_void_p),
        ("values", c_void_p),
    )


class MemberC(ctypes.Structure):
    """What one member may differ in."""

    _fields_ = (
        ("learning_rate", c_double),
        ("weight_decay", c_double),
        ("alpha", c_double),
        ("beta1", c_double),
        ("beta2", c_double),
        ("gamma", c_double),
        ("dropout", c_double),
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
        ("uses_features", c_int64),
        ("uses_adjacency", c_int64),
        ("features", MatrixC),
        ("features_transposed", MatrixC),
        ("adjacency", MatrixC),
        ("adjacency_transposed", MatrixC),
        ("labels", c_void_p),
        ("settings", POINTER(MemberC)),
        ("weights", c_void_p),
        ("first", c_void_p),
        ("second", c_void_p),
        ("steps", c_void_p),
        ("logits", c_void_p),
    )


def find_library() -> ctypes.CDLL | None:
    """The library for this machine, or ``None``: switched off, not built, or built from another source."""
    if os.environ.get(SWITCH, "1") == "0":
        return None
    return _load()


@cache
def _load() -> ctypes.CDLL | None:
    baseline = _open(library_path("baseline"))
    if baseline is None:
        return None
    names = list(LEVELS)[: baseline.glognn_level() + 1]
    for level in reversed(names[1:]):
        if library_path(level).is_file() and (library := _open(library_path(level))) is not None:
            return library
    return baseline


def _open(path: Path) -> ctypes.CDLL | None:
    if not path.is_file():
        logger.info("the native core is not built: training uses PyTorch alone")
        return None
    try:
        library = ctypes.CDLL(str(path))
        library.glognn_source.restype = c_char_p
        library.glognn_level.restype = c_int
        library.glognn_parameters.argtypes, library.glognn_parameters.restype = [POINTER(ProblemC)], c_int64
        library.glognn_create.argtypes, library.glognn_create.restype = [POINTER(ProblemC)], c_void_p
        library.glognn_free.argtypes, library.glognn_free.restype = [c_void_p], None
        library.glognn_forward.argtypes, library.glognn_forward.restype = [c_void_p], None
        library.glognn_step.argtypes, library.glognn_step.restype = [c_void_p, c_void_p], None
        library.glognn_measure.argtypes, library.glognn_measure.restype = [c_void_p, c_void_p], None
        library.glognn_mask.argtypes, library.glognn_mask.restype = [c_void_p, c_int64, c_void_p], None
    except (OSError, AttributeError) as error:
        logger.info("the native core cannot be loaded (%s): training uses PyTorch alone", error)
        return None
    if library.glognn_source().decode() != source_hash():
        logger.info("the native core was built from another source: training uses PyTorch alone")
        return None
    return library
