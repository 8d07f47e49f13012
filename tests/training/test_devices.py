"""Where and how exactly to compute."""

from __future__ import annotations

import pytest
import torch

from glognn.errors import InputError
from glognn.training.config import TrainingConfig
from glognn.training.devices import precision


def test_precision_is_that_of_a_gpu_within_and_torch_s_own_afterwards() -> None:
    before = torch.get_float32_matmul_precision()
    for name in ("highest", "high", "medium"):
        with precision(name, torch.device("cuda")):
            assert torch.get_float32_matmul_precision() == name
        with precision(name, torch.device("cpu")):
            assert torch.get_float32_matmul_precision() == "highest"
    assert torch.get_float32_matmul_precision() == before


def test_precisions_that_there_are() -> None:
    with pytest.raises(InputError, match="'highest', 'high', 'medium'"):
        TrainingConfig(precision="low")
