"""The c x c factors of the closed-form layer from its Gram matrix, each pass as one program in float64."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _outer(left, right, index, first: tl.constexpr, second: tl.constexpr, WIDTH: tl.constexpr):
    """Column (or else row) ``index`` of two matrices, as a matrix of their products."""
    place = tl.arange(0, WIDTH)
    if first:
        one = tl.sum(tl.where(place[None, :] == index, left, 0.0), axis=1)
    else:
        one = tl.sum(tl.where(place[:, None] == index, left, 0.0), axis=0)
    if second:
        other = tl.sum(tl.where(place[None, :] == index, right, 0.0), axis=1)
    else:
        other = tl.sum(tl.where(place[:, None] == index, right, 0.0), axis=0)
    return one[:, None] * other[None, :]


@triton.jit
def _scale_of(gram, on_diagonal, width, FREE: tl.constexpr):
    """What the betas are multiplied by."""
    mean = tl.sum(tl.sum(tl.where(on_diagonal, gram, 0.0), axis=1), axis=0) / width
    return tl.where(mean > 0, mean, 1.0) if FREE else 1.0


@triton.jit
def solve(
    gram,
    weights,
    inverse,
    of_layer,
    of_initial,
    of_reach,
    width,
    beta: tl.float64,
    beta2: tl.float64,
    gamma: tl.float64,
    FREE: tl.constexpr,
    WEIGHTED: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """M = (b I + (1-g)^2 G)^-1 by Gauss and Jordan, which needs no exchange of rows for a positive definite matrix.

    of_layer = (1-g) T, of_initial = g (I - (1-g) T), of_reach = beta2 B, where B = (1-g) M and T = G B, with weights s
    B S and S T S in their place. A pivot that is not positive makes all of them nan.
    """
    g = tl.cast(gamma, tl.float64)
    place = tl.arange(0, WIDTH)
    at, there = place[:, None] * width + place[None, :], (place < width)[:, None] & (place < width)[None, :]
    on_diagonal = place[:, None] == place[None, :]
    G = tl.load(gram + at, mask=there, other=0.0)
    scale = _scale_of(G, on_diagonal, width, FREE)
    M = (1 - g) * (1 - g) * G + tl.where(on_diagonal, tl.where(there, beta * scale, 1.0), 0.0)
    for each in range(width):
        here, above = place[:, None] == each, place[None, :] == each
        column = tl.sum(tl.where(above, M, 0.0), axis=1)
        pivot = tl.sum(tl.where(place == each, column, 0.0), axis=0)
        pivot = tl.where(pivot > 0, pivot, float("nan"))
        row = tl.sum(tl.where(here, M, 0.0), axis=0) / pivot
        M = tl.where(here, row[None, :], M - column[:, None] * row[None, :])
        M = tl.where(above, -column[:, None] / pivot, M)
        M = tl.where(here & above, 1 / pivot, M)
    tl.store(inverse + at, M, mask=there)
    B = (1 - g) * M
    T = tl.zeros((WIDTH, WIDTH), dtype=tl.float64)
    for each in range(width):
        T += _outer(G, B, each, True, False, WIDTH)
    if WEIGHTED:
        s = tl.load(weights + place, mask=place < width, other=0.0).to(tl.float64)
        B = B * s[None, :]
        T = s[:, None] * T * s[None, :]
    tl.store(of_layer + at, (1 - g) * T, mask=there)
    tl.store(of_initial + at, g * (tl.where(on_diagonal, 1.0, 0.0) - (1 - g) * T), mask=there)
    tl.store(of_reach + at, beta2 * scale * B, mask=there)


@triton.jit
def solve_backward(
    gram,
    weights,
    inverse,
    to_layer,
    to_initial,
    to_reach,
    of_gram,
    of_weights,
    width,
    beta: tl.float64,
    beta2: tl.float64,
    gamma: tl.float64,
    FREE: tl.constexpr,
    WEIGHTED: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """The gradients of the Gram matrix and of the weights from those of the three factors."""
    g = tl.cast(gamma, tl.float64)
    place = tl.arange(0, WIDTH)
    at, there = place[:, None] * width + place[None, :], (place < width)[:, None] & (place < width)[None, :]
    on_diagonal = place[:, None] == place[None, :]
    G = tl.load(gram + at, mask=there, other=0.0)
    M = tl.load(inverse + at, mask=there, other=0.0)
    scale = _scale_of(G, on_diagonal, width, FREE)
    reach = tl.load(to_reach + at, mask=there, other=0.0).to(tl.float64)
    dT = (1 - g) * tl.load(to_layer + at, mask=there, other=0.0).to(tl.float64)
    dT -= g * (1 - g) * tl.load(to_initial + at, mask=there, other=0.0).to(tl.float64)
    B = (1 - g) * M
    dB = beta2 * scale * reach
    to_scale = beta2 * reach * B
    if WEIGHTED:
        s = tl.load(weights + place, mask=place < width, other=0.0).to(tl.float64)
        T = tl.zeros((WIDTH, WIDTH), dtype=tl.float64)
        for each in range(width):
            T += _outer(G, B, each, True, False, WIDTH)
        found = tl.sum(dB * B, axis=0) + tl.sum(dT * T * s[None, :], axis=1) + tl.sum(dT * T * s[:, None], axis=0)
        tl.store(of_weights + place, found, mask=place < width)
        dB = dB * s[None, :]
        dT = s[:, None] * dT * s[None, :]
        to_scale = to_scale * s[None, :]
    dG = tl.zeros((WIDTH, WIDTH), dtype=tl.float64)
    for each in range(width):
        dG += _outer(dT, B, each, True, True, WIDTH)
        dB += _outer(G, dT, each, False, False, WIDTH)
    half = tl.zeros((WIDTH, WIDTH), dtype=tl.float64)
    for each in range(width):
        half += _outer(M, dB, each, False, False, WIDTH)
    dM = tl.zeros((WIDTH, WIDTH), dtype=tl.float64)
    for each in range(width):
        dM -= (1 - g) * _outer(half, M, each, True, True, WIDTH)
    dG += (1 - g) * (1 - g) * dM
    if FREE:
        to_scale += tl.where(on_diagonal, beta * dM, 0.0)
        dG += tl.where(on_diagonal, tl.sum(tl.sum(to_scale, axis=1), axis=0) / width, 0.0)
    tl.store(of_gram + at, dG, mask=there)


def solved(
    gram: Tensor, weights: Tensor | None, dtype: torch.dtype, beta: float, beta2: float, gamma: float, *, free: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The inverse in float64, and the factors of H, H0 and V in a precision; see :func:`solve`."""
    width = len(gram)
    inverse = torch.empty_like(gram)
    layer, initial, reach = (torch.empty(width, width, dtype=dtype, device=gram.device) for _ in range(3))
    solve[(1,)](
        gram,
        gram if weights is None else weights,
        inverse,
        layer,
        initial,
        reach,
        width,
        beta,
        beta2,
        gamma,
        FREE=free,
        WEIGHTED=weights is not None,
        **_shape(width),
    )
    return inverse, layer, initial, reach


def solved_backward(
    gram: Tensor,
    weights: Tensor | None,
    inverse: Tensor,
    gradients: tuple[Tensor, ...],
    beta: float,
    beta2: float,
    gamma: float,
    *,
    free: bool,
) -> tuple[Tensor, Tensor | None]:
    """The gradients of the Gram matrix, and of the weights, if there are any."""
    of_gram, of_weights = torch.empty_like(gram), None if weights is None else torch.empty_like(weights)
    solve_backward[(1,)](
        gram,
        gram if weights is None else weights,
        inverse,
        *gradients,
        of_gram,
        gram if of_weights is None else of_weights,
        len(gram),
        beta,
        beta2,
        gamma,
        FREE=free,
        WEIGHTED=weights is not None,
        **_shape(len(gram)),
    )
    return of_gram, of_weights


def _shape(width: int) -> dict[str, int]:
    padded = max(2, triton.next_power_of_2(width))
    return {"WIDTH": padded, "num_warps": 1 if padded <= 16 else 4}
