"""The initial embedding H0: a weighted sum of named inputs, each through its own weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glognn.graph.sparse import Matrix
from glognn.ops.products import matmul


class Linear(nn.Module):
    """A linear map of a dense or sparse input: X W + bias, in O(nnz(X) k).

    W is stored (in, out), because a sparse product reads its rows. The initial values are those that a
    ``torch.nn.Linear`` would draw in float64: a seed decides them whatever the precision and device.
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        if self.weight.is_meta:  # only counted
            return
        bound = 1.0 / math.sqrt(max(self.weight.shape[0], 1))
        for column in self.weight.T:
            column.copy_(_uniform(column.numel(), bound))
        self.bias.copy_(_uniform(self.bias.numel(), bound))

    def forward(self, x: Matrix) -> Tensor:
        return matmul(x, self.weight) + self.bias

    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, {self.weight.shape[1]}"


def _uniform(count: int, bound: float) -> Tensor:
    return torch.empty(count, dtype=torch.float64).uniform_(-bound, bound)


class Encoder(nn.Module):
    r"""H0 from named inputs X_i with fixed weights w_i.

    ========  ==========================================================================================
    "hidden"  H0 = MLP(relu(sum_i w_i X_i W_i)): one network after the sum (the released code)
    "output"  H0 = sum_i w_i MLP_i(X_i): a network for each input (the paper, where the inputs are the
              features with weight 1 - alpha and the adjacency with weight alpha)
    ========  ==========================================================================================

    An input of weight 0 has no parameters and is never touched. Dropout follows every hidden layer.
    :meth:`encode` gives the sums before the first nonlinearity, which do not depend on dropout and so serve
    evaluation and the next training step alike; :meth:`decode` does the rest.

    Args:
        channels: Columns of each input, by name.
        weights: Weight of each input, by name.
        hidden_channels: Width of the hidden layers.
        out_channels: Columns of H0.
        num_layers: Linear maps between an input and H0; 1 leaves no hidden layer.
        fusion: ``"hidden"`` or ``"output"``.
        dropout: Share of hidden values zeroed in training.
    """

    def __init__(
        self,
        channels: Mapping[str, int],
        weights: Mapping[str, float],
        *,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        fusion: str = "hidden",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.weights = {name: weight for name, weight in weights.items() if weight != 0}
        self.fusion = fusion
        self.dropout = dropout
        first = out_channels if num_layers == 1 else hidden_channels
        self.inputs = nn.ModuleDict({name: Linear(channels[name], first) for name in self.weights})
        tails = 1 if fusion == "hidden" else len(self.weights)
        widths = [hidden_channels] * (num_layers - 1) + [out_channels]
        self.tails = nn.ModuleList(nn.ModuleList(Linear(a, b) for a, b in pairwise(widths)) for _ in range(tails))

    def reset_parameters(self) -> None:
        for module in self.modules():
            if isinstance(module, Linear):
                module.reset_parameters()

    def encode(self, inputs: Mapping[str, Matrix]) -> tuple[Tensor, ...]:
        """The values before the first nonlinearity: one n x hidden matrix, or one for each input."""
        mapped = [self.inputs[name](inputs[name]) for name in self.weights]
        if self.fusion == "output":
            return tuple(mapped)
        weighted = [_scaled(value, weight) for value, weight in zip(mapped, self.weights.values(), strict=True)]
        return (sum(weighted[1:], weighted[0]),)

    def decode(self, encoded: tuple[Tensor, ...]) -> Tensor:
        """H0 from what :meth:`encode` gave."""
        outputs = [self._tail(tail, value) for tail, value in zip(self.tails, encoded, strict=True)]
        if self.fusion == "hidden":
            return outputs[0]
        weighted = [_scaled(value, weight) for value, weight in zip(outputs, self.weights.values(), strict=True)]
        return sum(weighted[1:], weighted[0])

    def _tail(self, layers: nn.Module, value: Tensor) -> Tensor:
        for layer in layers.children():
            value = layer(F.dropout(F.relu(value), self.dropout, self.training))
        return value

    def forward(self, inputs: Mapping[str, Matrix]) -> Tensor:
        return self.decode(self.encode(inputs))


def _scaled(value: Tensor, weight: float | Tensor) -> Tensor:
    return value if isinstance(weight, float) and weight == 1 else weight * value
