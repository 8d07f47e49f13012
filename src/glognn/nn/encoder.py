"""The initial embedding H0: a weighted sum of named inputs, each through its own weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glognn.distributed.node_rows import NodeRows
from glognn.graph.sparse import Matrix
from glognn.ops.activation import relu_dropout, relu_dropout_map
from glognn.ops.kernels import usable
from glognn.ops.products import added_matmul, matmul

_COLUMNS = 16
"""Columns of initial weights that are drawn before they are put in their places."""


class Linear(nn.Module):
    """A linear map of a dense or sparse input: X W + bias, in O(nnz(X) k).

    W is stored (in, out), because a sparse product reads its rows. The initial values are those that a
    ``torch.nn.Linear`` would draw in float64: a seed decides them whatever the precision and device. On several ranks
    a map of an input with a column for each node has the ``rows`` of own nodes.
    """

    rows: NodeRows | None = None

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        if self.weight.is_meta:  # only counted
            return
        count = self.weight.shape[0] if self.rows is None else self.rows.total
        bound = 1.0 / math.sqrt(max(count, 1))
        for columns in torch.split(self.weight.T, _COLUMNS):  # one by one each would touch all memory of the weights
            drawn = torch.empty(columns.shape, dtype=columns.dtype)
            for row in drawn:
                numbers = _uniform(count, bound)
                row.copy_(numbers if self.rows is None else numbers[self.rows.own])
            columns.copy_(drawn)
        self.bias.copy_(_uniform(self.bias.numel(), bound))

    def forward(self, x: Matrix, bias: Tensor | None = None) -> Tensor:
        """``bias``: what is added instead of its own."""
        bias = self.bias if bias is None else bias
        if usable(self.weight):
            return added_matmul(x, self.weight, 1.0, bias)
        return matmul(x, self.weight) + bias

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
    "jumping" H0 = MLP(sum_l a_l h_l), a = softmax of learnt numbers: h_0 = relu(sum_i w_i X_i W_i), what
              local blocks make of it one after the other, and w_j relu(X_j W_j) of each of ``branches``
    ========  ==========================================================================================

    An input of weight 0 has no parameters and is never touched. The weight of a ``gated`` input is multiplied by
    max(0, g) with g learnt, from 1 on, so that training can leave it out. Dropout follows every hidden layer.
    :meth:`encode` gives the sums before the first nonlinearity, which do not depend on dropout and so serve
    evaluation and the next training step alike; :meth:`decode` does the rest.

    Args:
        channels: Columns of each input, by name.
        weights: Weight of each input, by name.
        hidden_channels: Width of the hidden layers.
        out_channels: Columns of H0.
        num_layers: Linear maps between an input and H0; 1 leaves no hidden layer.
        fusion: ``"hidden"``, ``"output"`` or ``"jumping"``.
        dropout: Share of hidden values zeroed in training.
        gated: Names of inputs with a learnt weight.
        branches: Names of inputs that local blocks do not see, for ``"jumping"``.
        num_blocks: How many local blocks there are, for ``"jumping"``.
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
        gated: Iterable[str] = (),
        branches: Iterable[str] = (),
        num_blocks: int = 0,
    ) -> None:
        super().__init__()
        self.weights = {name: weight for name, weight in weights.items() if weight != 0}
        self.fusion = fusion
        self.dropout = dropout
        first = out_channels if num_layers == 1 else hidden_channels
        self.inputs = nn.ModuleDict({name: Linear(channels[name], first) for name in self.weights})
        self.gates = nn.ParameterDict({name: torch.ones(1) for name in self.weights if name in set(gated)})
        self.branches = [name for name in self.weights if name in set(branches)] if fusion == "jumping" else []
        if len(self.branches) == len(self.weights):
            self.branches = []
        heads = 1 + len(self.branches)
        jumping = fusion == "jumping"
        self.shares = nn.Parameter(torch.zeros(heads + num_blocks)) if jumping else None
        tails = len(self.weights) if fusion == "output" else 1
        widths = [hidden_channels] * (num_layers - 1) + [out_channels]
        self.tails = nn.ModuleList(nn.ModuleList(Linear(a, b) for a, b in pairwise(widths)) for _ in range(tails))

    def reset_parameters(self) -> None:
        for module in self.modules():
            if isinstance(module, Linear):
                module.reset_parameters()
        for gate in self.gates.values():
            nn.init.ones_(gate)
        if self.shares is not None:
            nn.init.zeros_(self.shares)

    def encode(self, inputs: Mapping[str, Matrix]) -> tuple[Tensor, ...]:
        """The values before the first nonlinearity: n x hidden, one matrix or one for each input or branch.

        Where products are added up biases are left to :meth:`decode`, whose kernels then sum their gradients.
        """
        if self._adds_up():
            apart = (added_matmul(inputs[name], self._map(name).weight, 1.0, None) for name in self.branches)
            return (self._sum(inputs), *apart)
        mapped = {name: self.inputs[name](inputs[name]) for name in self.weights}
        if self.fusion == "output":
            return tuple(mapped.values())
        joined = [_scaled(mapped[name], self._weight(name)) for name in self.weights if name not in self.branches]
        return (sum(joined[1:], joined[0]), *(mapped[name] for name in self.branches))

    def _adds_up(self) -> bool:
        """Whether products are added to each other as they are computed: on a GPU, of one model, with given weights."""
        fixed = all(isinstance(weight, float) for weight in self.weights.values()) and not self.gates
        return self.fusion != "output" and fixed and usable(*(self._map(name).weight for name in self.weights))

    def _biases(self) -> list[Tensor | None]:
        """What is still to be added to each of the values that :meth:`encode` gave."""
        count = len(self.tails) if self.shares is None else 1 + len(self.branches)
        if not self._adds_up():
            return [None] * count
        joined = [self.weights[name] * self._map(name).bias for name in self.weights if name not in self.branches]
        return [torch.stack(joined).sum(0), *(self._map(name).bias for name in self.branches)]

    def _map(self, name: str) -> Linear:
        found = self.inputs[name]
        assert isinstance(found, Linear)
        return found

    def _sum(self, inputs: Mapping[str, Matrix]) -> Tensor:
        """The weighted sum of all inputs but branches: dense ones first, then each sparse one in one pass more."""
        names = [name for name in self.weights if name not in self.branches]
        total: Tensor | None = None
        for name in sorted(names, key=lambda name: not isinstance(inputs[name], Tensor)):
            total = added_matmul(inputs[name], self._map(name).weight, self.weights[name], total)
        assert total is not None
        return total

    def decode(self, encoded: tuple[Tensor, ...], blocks: Callable[[Tensor], list[Tensor]] | None = None) -> Tensor:
        """H0 from what :meth:`encode` gave; ``blocks`` gives h_0 and what local blocks make of it."""
        pairs = zip(encoded, self._biases(), strict=True)
        if self.shares is not None:
            first, *others = (relu_dropout(value, self.dropout, self.training, bias) for value, bias in pairs)
            others = [_scaled(value, self._weight(name)) for value, name in zip(others, self.branches, strict=True)]
            seen = [*([first] if blocks is None else blocks(first)), *others]
            return self._jump(seen, torch.softmax(self.shares, dim=0))
        outputs = [self._tail(tail, *pair) for tail, pair in zip(self.tails, pairs, strict=True)]
        if self.fusion == "hidden":
            return outputs[0]
        weighted = [_scaled(value, self._weight(name)) for value, name in zip(outputs, self.weights, strict=True)]
        return sum(weighted[1:], weighted[0])

    def _jump(self, seen: list[Tensor], shares: Tensor) -> Tensor:
        """The map of sum_l a_l h_l, as the sum of maps of h_l with a_l W: no n x hidden sum is formed."""
        maps = [layer for layer in self.tails[0].children() if isinstance(layer, Linear)]
        total = maps[0].bias.expand(len(seen[0]), -1) if maps else torch.zeros_like(seen[0])
        for share, value in zip(shares, seen, strict=True):
            total = torch.addmm(total, value, share * maps[0].weight) if maps else total + share * value
        for layer in maps[1:]:
            total = layer(relu_dropout(total, self.dropout, self.training))
        return total

    def _weight(self, name: str) -> float | Tensor:
        weight = self.weights[name]
        return weight * F.relu(self.gates[name]) if name in self.gates else weight

    def _tail(self, layers: nn.Module, value: Tensor, bias: Tensor | None) -> Tensor:
        maps = [layer for layer in layers.children() if isinstance(layer, Linear)]
        for number, layer in enumerate(maps, start=1):
            if number == len(maps):
                return relu_dropout_map(value, self.dropout, self.training, bias, layer.weight, layer.bias)
            seen = relu_dropout(value, self.dropout, self.training, bias)
            value, bias = matmul(seen, layer.weight), layer.bias
        return value if bias is None else value + bias

    def forward(self, inputs: Mapping[str, Matrix]) -> Tensor:
        return self.decode(self.encode(inputs))


def _scaled(value: Tensor, weight: float | Tensor) -> Tensor:
    return value if isinstance(weight, float) and weight == 1 else weight * value
