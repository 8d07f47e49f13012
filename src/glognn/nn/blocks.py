"""Local residual blocks: a node and its neighbours, each through weights of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glognn.nn.encoder import Linear
from glognn.nn.hops import NewRows, Operators
from glognn.ops.activation import relu_dropout
from glognn.ops.products import spmm


class ColumnNorm(nn.Module):
    """Batch normalisation over all nodes, as ``torch.nn.BatchNorm1d``, but without a count of batches."""

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))
        self.bias = nn.Parameter(torch.empty(width))
        self.register_buffer("running_mean", torch.empty(width))
        self.register_buffer("running_var", torch.empty(width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for ones in (self.weight, self.running_var):
            nn.init.ones_(ones)
        for zeros in (self.bias, self.running_mean):
            nn.init.zeros_(zeros)

    def forward(self, x: Tensor) -> Tensor:
        return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, self.training)


class Block(nn.Module):
    r"""One block: :math:`h' = \mathrm{dropout}(\mathrm{relu}(\mathrm{norm}(\sum_o A_o h W_o + h R)))`.

    Args:
        width: Columns of h.
        operators: Names of the A_o.
        norm: ``"layer"`` normalises the values of each node, ``"batch"`` those of all nodes in each column.
    """

    def __init__(self, width: int, operators: Sequence[str], norm: str = "layer") -> None:
        super().__init__()
        self.operators = list(operators)
        self.maps = Linear(width, width * (len(self.operators) + 1))
        self.norm = ColumnNorm(width) if norm == "batch" else nn.LayerNorm(width)

    def reset_parameters(self) -> None:
        self.maps.reset_parameters()
        self.norm.reset_parameters()

    def mapped(self, h: Tensor) -> tuple[Tensor, ...]:
        """h W_o for each operator, and h R.

        Batch normalisation takes the bias of R away with the mean. Its derivative is then 0, but for rounding, of which
        Adam would make whole steps.
        """
        width = h.shape[1]
        bias: Tensor = self.maps.bias
        if self.training and isinstance(self.norm, ColumnNorm):
            bias = torch.cat((bias[:-width], bias[-width:].detach()))
        return torch.chunk(self.maps(h, bias), len(self.operators) + 1, dim=1)

    def forward(self, h: Tensor, gather: Callable[[tuple[Tensor, ...]], Tensor], dropout: float) -> Tensor:
        *messages, own = self.mapped(h)
        return relu_dropout(self.norm(own + gather(tuple(messages))), dropout, self.training)


class LocalBlocks(nn.Module):
    """Blocks one after the other; what each gives is kept, n x width.

    Args:
        width: Columns of the values.
        count: How many blocks, 0 for none.
        operators: Names of the n x n matrices that a node gathers by.
        dropout: Share of values zeroed in training.
        norm: ``"layer"`` normalises the values of each node, ``"batch"`` those of all nodes in each column.
    """

    def __init__(
        self, width: int, count: int, operators: Sequence[str], dropout: float = 0.0, norm: str = "layer"
    ) -> None:
        super().__init__()
        self.operators = list(operators)
        self.dropout = dropout
        self.blocks = nn.ModuleList(Block(width, operators, norm) for _ in range(count))

    def reset_parameters(self) -> None:
        for block in self.blocks:
            block.reset_parameters()  # type: ignore[operator]

    def forward(self, h: Tensor, operators: Operators) -> list[Tensor]:
        """h, and the result of every block."""
        outputs = [h]
        for block in self.blocks:
            outputs.append(
                block(outputs[-1], lambda messages: _gathered(self.operators, operators, messages), self.dropout)
            )
        return outputs

    def new_rows(self, h: Tensor, known: Sequence[Tensor], rows: Mapping[str, NewRows]) -> list[Tensor]:
        """The same for m rows that operators are extended by; ``known`` are the results of the rows before."""
        outputs = [h]
        for block, before in zip(self.blocks, known, strict=False):
            messages_before = block.mapped(before)[:-1]  # type: ignore[operator]

            def gather(messages: tuple[Tensor, ...], before: tuple[Tensor, ...] = messages_before) -> Tensor:
                terms = [
                    spmm(rows[name][0], old) + spmm(rows[name][1], new)
                    for name, old, new in zip(self.operators, before, messages, strict=True)
                ]
                return sum(terms[1:], terms[0])

            outputs.append(block(outputs[-1], gather, self.dropout))
        return outputs


def _gathered(names: Sequence[str], operators: Operators, messages: tuple[Tensor, ...]) -> Tensor:
    """The sum of products; messages along one and the same matrix are added first."""
    same: dict[int, list[int]] = {}
    for position, name in enumerate(names):
        same.setdefault(id(operators[name].csr), []).append(position)
    terms = []
    for positions in same.values():
        message = sum((messages[position] for position in positions[1:]), messages[positions[0]])
        terms.append(spmm(operators[names[positions[0]]], message))
    return sum(terms[1:], terms[0])
