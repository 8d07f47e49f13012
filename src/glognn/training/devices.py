"""Where and in which precision to compute."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from glognn.errors import InputError

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def resolve_device(name: str) -> torch.device:
    """``auto``, ``cpu`` or ``cuda`` as a device that exists."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("The device 'cuda' was asked for, but torch finds no CUDA GPU: use 'cpu' or 'auto'.")
    return torch.device(name)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Use this many CPU threads within; 0 leaves it to torch."""
    before = torch.get_num_threads()
    if count:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def precision(name: str, device: torch.device) -> Iterator[None]:
    """Multiply float32 matrices on a GPU within as torch's word for it says; on a CPU always in float32."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(name if device.type == "cuda" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
