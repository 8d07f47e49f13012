"""Where and in which precision to compute."""

from __future__ import annotations

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
