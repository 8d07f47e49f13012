"""The paper's formulas as they are written, with n x n matrices and in float64. The package never imports this."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


def reachability(A: Tensor, weights: Tensor) -> Tensor:
    """P = sum_k lambda_k A^k."""
    power, total = torch.eye(A.shape[0], dtype=A.dtype), torch.zeros_like(A)
    for weight in weights:
        power = power @ A
        total = total + weight * power
    return total


@dataclass(frozen=True)
class Problem:
    """One layer's objective: || H - (1-g) Z H S - g H0 ||^2 + beta1 || Z ||^2 + beta2 || Z - P ||^2."""

    H: Tensor
    H0: Tensor
    P: Tensor
    S: Tensor
    beta1: float
    beta2: float
    gamma: float
    coefficient: str

    @property
    def b(self) -> float:
        return self.beta1 + self.beta2

    @property
    def kappa(self) -> float:
        """Condition of the n x n system that Z* solves."""
        factor = self.H if self.coefficient == "released" else self.H @ self.S
        return float(1 + (1 - self.gamma) ** 2 * torch.linalg.matrix_norm(factor, 2) ** 2 / self.b)

    def objective(self, Z: Tensor) -> Tensor:
        residual = self.H - (1 - self.gamma) * Z @ self.H @ self.S - self.gamma * self.H0
        return residual.square().sum() + self.beta1 * Z.square().sum() + self.beta2 * (Z - self.P).square().sum()

    def Z(self) -> Tensor:
        """The closed form: the paper's, or the released code's, which leaves S out of the inverse."""
        g, H, S = self.gamma, self.H, self.S
        left = (1 - g) * H @ S @ H.T + self.beta2 * self.P - g * (1 - g) * self.H0 @ S @ H.T
        inner = H @ H.T if self.coefficient == "released" else H @ S @ S @ H.T
        right = (1 - g) ** 2 * inner + self.b * torch.eye(H.shape[0], dtype=H.dtype)
        return torch.linalg.solve(right, left, left=False)

    def update(self) -> Tensor:
        return (1 - self.gamma) * self.Z() @ self.H @ self.S + self.gamma * self.H0
