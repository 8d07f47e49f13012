"""A context in which every dropout is drawn by a rule of its own, by itself or after relu."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from glognn.ops.activation import relu_dropout, relu_dropout_map


class DropoutMode(TorchFunctionMode):
    """Within this context ``F.dropout``, ``relu_dropout`` and ``relu_dropout_map`` call methods of it."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is F.dropout:
            return self._dropout(*args, **(kwargs or {}))
        if func is relu_dropout:
            value, p, training = args
            return self._relu_dropout(value, p, training, (kwargs or {})["bias"])
        if func is relu_dropout_map:
            return self._relu_dropout_map(*args)
        return func(*args, **(kwargs or {}))

    @abstractmethod
    def _dropout(self, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor: ...

    def _relu_dropout(self, value: Tensor, p: float | Tensor, training: bool, bias: Tensor | None) -> Tensor:
        return self._dropout(F.relu(value if bias is None else value + bias), p, training)  # type: ignore[arg-type]

    def _relu_dropout_map(
        self, value: Tensor, p: float | Tensor, training: bool, bias: Tensor | None, weight: Tensor, shift: Tensor
    ) -> Tensor:
        return self._relu_dropout(value, p, training, bias) @ weight + shift
