"""What tests of models share."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture
def no_garbage() -> Iterator[None]:
    """What earlier tests left is gone before memory is counted, not while it is."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
