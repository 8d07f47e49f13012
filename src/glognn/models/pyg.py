"""Building networks of PyTorch Geometric so that a seed decides their initial weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def build(network: Callable[[], Any]) -> Any:
    """A network whose initial weights are those of one ``reset_parameters``: PyTorch Geometric draws some twice."""
    state = torch.get_rng_state()
    built = network()
    torch.set_rng_state(state)
    built.reset_parameters()
    return built
