"""Kernels for NVIDIA GPUs, in Triton, which comes with torch there; each is imported only when first used.

They compute wherever they can; ``GLOGNN_KERNELS=0`` leaves it to cuSPARSE and torch's own kernels, which compute the
same.
"""

from __future__ import annotations

import logging
import os
from functools import cache

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor

logger = logging.getLogger(__name__)

SWITCH = "GLOGNN_KERNELS"
TYPES = (torch.float32, torch.float64)
DEVICES = ("cuda",)
"""Where kernels run; Triton's interpreter, which tests use, also takes tensors of the CPU."""


@cache
def _available(device: torch.device) -> bool:
    """Whether a kernel can be compiled and run; if not, a warning says why, once."""
    if os.environ.get(SWITCH) == "0":
        return False
    try:
        from glognn.ops.kernels.activation import activated

        activated(torch.ones(1, 1, device=device), None, None, 0, 1.0)
    except Exception as error:  # Triton, or the C compiler that it calls, may be absent or broken in many ways
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        logger.warning("torch's kernels are used in the place of our own, which are faster, because: %s", reason)
        return False
    return True


def usable(*tensors: Tensor) -> bool:
    """Whether kernels can compute with these tensors: numbers on a GPU, and not of many models under ``vmap``."""
    fit = all(_fits(each) and not is_functorch_wrapped_tensor(each) for each in tensors)
    return fit and _available(tensors[0].device)


def usable_of_members(tensor: Tensor) -> bool:
    """Whether kernels can compute with what a tensor under ``vmap`` stands for."""
    return _fits(tensor) and is_functorch_wrapped_tensor(tensor) and _available(tensor.device)


def _fits(tensor: Tensor) -> bool:
    return tensor.device.type in DEVICES and tensor.dtype in TYPES
