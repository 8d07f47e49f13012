"""Dropout for many models at once: every member draws from a random stream of its own.

A member's zeros are then the same whoever else is in the batch. On the CPU the stream is NumPy's SFC64, read as
16-bit numbers: about twenty times as fast as torch's Bernoulli draws. The probability is thereby rounded to a multiple
of 2^-16, and the values kept are scaled by the rounded one, so that the expectation stays exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from glognn.ops.activation import drawn_seed, dropped, relu_dropout, relu_dropout_map
from glognn.ops.dropout_mode import DropoutMode
from glognn.ops.kernels import usable, usable_of_members

_LEVELS = 2**16


class Streams:
    """One random stream for each member.

    Args:
        seeds: What a member's stream is seeded with, one entry for each member.
        device: Where the zeros are needed.
    """

    def __init__(self, seeds: Sequence[Sequence[int]], device: torch.device) -> None:
        sequences = [np.random.SeedSequence(list(seed)) for seed in seeds]
        self.device = device
        self._streams = [np.random.SFC64(sequence) for sequence in sequences]
        self.generators: list[torch.Generator] = []  # on a GPU only
        if device.type == "cuda":
            for sequence in sequences:
                generator = torch.Generator(device)
                generator.manual_seed(int(sequence.generate_state(1, np.uint32)[0]))
                self.generators.append(generator)

    def factors(self, shape: Sequence[int], probability: Tensor, dtype: torch.dtype) -> Tensor:
        """0 with the member's probability, else 1 / (1 - probability): (members, *shape)."""
        members = probability.numel()
        count = int(np.prod(shape))
        broadcast = (members, *([1] * len(shape)))
        threshold = (probability.double() * _LEVELS).round().clamp(max=_LEVELS - 1)
        scale = (_LEVELS / (_LEVELS - threshold)).to(dtype)
        if self.generators:
            noise = torch.empty((members, *shape), device=self.device)
            for member, generator in zip(noise, self.generators, strict=True):
                member.uniform_(generator=generator)
            kept = noise >= (threshold / _LEVELS).float().view(broadcast)
            return kept * scale.view(broadcast)
        raw = np.empty((members, -(-count // 4)), dtype=np.uint64)
        for row, stream in zip(raw, self._streams, strict=True):
            row[:] = stream.random_raw(row.size)
        numbers = raw.view(np.uint16)[:, :count]
        kept = torch.from_numpy(numbers >= threshold.numpy().astype(np.uint16)[:, None])
        return kept.view(members, *shape) * scale.view(broadcast)

    def seeds(self) -> Tensor:
        """A number that each member draws on a GPU, for a kernel that derives its zeros from it."""
        return torch.cat([drawn_seed(self.device, generator) for generator in self.generators])

    def keep(self, members: Sequence[int]) -> None:
        self._streams = [self._streams[member] for member in members]
        self.generators = [self.generators[member] for member in members if self.generators]

    def state(self) -> Tensor:
        """The position of every stream: (members, numbers)."""
        if self.generators:
            return torch.stack([generator.get_state() for generator in self.generators])
        return torch.stack([torch.from_numpy(_position(stream).view(np.int64)) for stream in self._streams])

    def restore(self, state: Tensor, *, renew: bool = False) -> None:
        """Put the streams where they were; ``renew`` replaces generators that a failed capture has left unusable."""
        if renew:
            self.generators = [torch.Generator(self.device) for _ in self.generators]
        for generator, row in zip(self.generators, state, strict=False):
            generator.set_state(row.cpu())
        if not self.generators:
            for stream, row in zip(self._streams, state, strict=True):
                values = row.numpy().view(np.uint64)
                stream.state = {
                    "bit_generator": "SFC64",
                    "state": {"state": values[:4].copy()},
                    "has_uint32": 0,
                    "uinteger": 0,
                }


def _position(stream: np.random.SFC64) -> np.ndarray[Any, np.dtype[np.uint64]]:
    return np.array(stream.state["state"]["state"], dtype=np.uint64)


class _Dropped(torch.autograd.Function):
    """relu, if it is wanted, and dropout of members x ... values, by kernels; keeps the result, or the seeds."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, seeds: Tensor, probability: Tensor, relu: bool) -> Tensor:
        from glognn.ops.kernels.activation import activated_members

        out = activated_members(value, seeds, probability, relu=relu)
        ctx.relu = relu
        ctx.save_for_backward(out if relu else seeds, probability)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        from glognn.ops.kernels.activation import activated_members, activated_members_backward

        kept, probability = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        if ctx.relu:
            return activated_members_backward(gradient, kept, probability), None, None, None
        return activated_members(gradient, kept, probability, relu=False), None, None, None


class _MemberDropout(torch.autograd.Function):
    """Drops what the members' streams say, after relu if that is wanted; only meant to be called under ``vmap``."""

    @staticmethod
    def forward(value: Tensor, probability: Tensor, streams: Streams, relu: bool) -> Tensor:
        raise TypeError("Dropout of members has a meaning only for many models at once, under torch.func.vmap.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None: ...

    @staticmethod
    def vmap(
        info: Any,
        in_dims: tuple[int | None, int, None, None],
        value: Tensor,
        probability: Tensor,
        streams: Streams,
        relu: bool,
    ) -> tuple[Tensor, int]:
        members = info.batch_size
        spread = value.expand(members, *value.shape) if in_dims[0] is None else value.movedim(in_dims[0], 0)
        if usable(spread):
            out: Tensor = _Dropped.apply(spread.contiguous(), streams.seeds(), probability.double(), relu)  # type: ignore[no-untyped-call]
            return out, 0
        spread = torch.relu(spread) if relu else spread
        return spread * streams.factors(spread.shape[1:], probability, value.dtype), 0


class MemberDropout(DropoutMode):
    """Within this context every ``F.dropout`` draws from the members' streams: under ``vmap``, or of one member alone.

    The probability may be a number, or under ``vmap`` a tensor with one for each member.
    """

    def __init__(self, streams: Streams) -> None:
        super().__init__()
        self.streams = streams
        self.zero: Tensor | None = None  # a zero for each member, so that vmap sees every probability as one of many

    @property
    def alone(self) -> bool:
        """Whether there is one member on a GPU, whose zeros kernels draw on the way."""
        return self.zero is None and len(self.streams.generators) == 1

    def _relu_dropout_map(
        self, value: Tensor, p: float | Tensor, training: bool, bias: Tensor | None, weight: Tensor, shift: Tensor
    ) -> Tensor:
        if self.alone and usable(value):
            return relu_dropout_map(value, p, training, bias, weight, shift, self.streams.generators[0])
        return super()._relu_dropout_map(value, p, training, bias, weight, shift)

    def _relu_dropout(self, value: Tensor, p: float | Tensor, training: bool, bias: Tensor | None) -> Tensor:
        if self.alone and usable(value):
            return relu_dropout(value, p, training, bias, self.streams.generators[0])
        if self.zero is not None and training and usable_of_members(value):
            return self._dropped(value if bias is None else value + bias, p, relu=True)
        return super()._relu_dropout(value, p, training, bias)

    def _dropout(self, input: Tensor, p: float | Tensor = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        if not training or (isinstance(p, float) and p == 0):
            return input
        if self.alone and usable(input):
            return dropped(input, float(p), self.streams.generators[0])
        if self.zero is None:
            return (
                input
                * self.streams.factors(
                    input.shape, torch.full((1,), float(p), device=self.streams.device), input.dtype
                )[0]
            )
        return self._dropped(input, p)

    def _dropped(self, value: Tensor, p: float | Tensor, *, relu: bool = False) -> Tensor:
        assert self.zero is not None
        out: Tensor = _MemberDropout.apply(value, self.zero + p, self.streams, relu)  # type: ignore[no-untyped-call]
        return out
