"""Kernels for NVIDIA GPUs, in Triton, which comes with torch there; each is imported only when first used.

``GLOGNN_KERNELS=0`` does without: then cuSPARSE and torch's own kernels compute the same.
"""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor

TYPES = (torch.float32, torch.float64)
DEVICES = ("cuda",)
"""Where kernels run; Triton's interpreter, which tests use, also takes tensors of the CPU."""


@cache
def _available() -> bool:
    return os.environ.get("GLOGNN_KERNELS", "1") != "0" and find_spec("triton") is not None


def usable(*tensors: Tensor) -> bool:
    """Whether kernels can compute with these tensors: numbers on a GPU, and not of many models under ``vmap``."""
    return _available() and all(
        each.device.type in DEVICES and each.dtype in TYPES and not is_functorch_wrapped_tensor(each)
        for each in tensors
    )
