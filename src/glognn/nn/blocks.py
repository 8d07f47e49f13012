"""Local residual blocks: a node and its neighbours, each through weights of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glognn.nn.encoder import Linear
from glognn.nn.hops import NewRows, Operators
from glognn.ops.activation import relu_dropout
from glognn.ops.kernels import usable
from glognn.ops.products import added_matmul, spmm


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

    def mapped(self, h: Tensor, groups: Sequence[Sequence[int]] | None = None) -> tuple[Tensor, ...]:
        """h W_o for each operator, and h R; of ``groups`` of operators that are one matrix h times their sum.

        Batch normalisation takes the bias of R away with the mean. Its derivative is then 0, but for rounding, of which
        Adam would make whole steps.
        """
        count = len(self.operators) + 1
        weights, biases = torch.chunk(self.maps.weight, count, dim=1), list(torch.chunk(self.maps.bias, count))
        if self.training and isinstance(self.norm, ColumnNorm):
            biases[-1] = biases[-1].detach()
        groups = [*([[each] for each in range(count - 1)] if groups is None else groups), [count - 1]]
        weight, bias = (
            torch.cat([_sum([parts[each] for each in group]) for group in groups], dim=-1)
            for parts in (weights, biases)
        )
        return torch.chunk(torch.addmm(bias, h, weight), len(groups), dim=1)

    def forward(
        self,
        h: Tensor,
        gather: Callable[[Tensor, tuple[Tensor, ...]], Tensor],
        dropout: float,
        groups: Sequence[Sequence[int]] | None = None,
    ) -> Tensor:
        """``gather`` adds what is gathered of messages to a node's own values."""
        *messages, own = self.mapped(h, groups)
        return relu_dropout(self.norm(gather(own, tuple(messages))), dropout, self.training)


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
        same: dict[int, list[int]] = {}
        for position, name in enumerate(self.operators):
            same.setdefault(id(operators[name].csr), []).append(position)
        groups = list(same.values())
        matrices = [operators[self.operators[positions[0]]] for positions in groups]

        def gather(own: Tensor, messages: tuple[Tensor, ...]) -> Tensor:
            for matrix, message in zip(matrices, messages, strict=True):
                own = added_matmul(matrix, message, 1.0, own) if usable(own) else own + spmm(matrix, message)
            return own

        outputs = [h]
        for block in self.blocks:
            outputs.append(block(outputs[-1], gather, self.dropout, groups))
        return outputs

    def new_rows(self, h: Tensor, known: Sequence[Tensor], rows: Mapping[str, NewRows]) -> list[Tensor]:
        """The same for m rows that operators are extended by; ``known`` are the results of the rows before."""
        outputs = [h]
        for block, before in zip(self.blocks, known, strict=False):
            messages_before = block.mapped(before)[:-1]  # type: ignore[operator]

            def gather(
                own: Tensor, messages: tuple[Tensor, ...], before: tuple[Tensor, ...] = messages_before
            ) -> Tensor:
                for name, old, new in zip(self.operators, before, messages, strict=True):
                    own = own + spmm(rows[name][0], old) + spmm(rows[name][1], new)
                return own

            outputs.append(block(outputs[-1], gather, self.dropout))
        return outputs


def _sum(parts: Sequence[Tensor]) -> Tensor:
    return sum(parts[1:], parts[0])
