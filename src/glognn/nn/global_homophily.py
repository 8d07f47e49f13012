r"""The closed-form layer: every node as a signed linear combination of all nodes, without an n x n matrix.

Xiang Li, Renyu Zhu, Yao Cheng, Caihua Shan, Siqiang Luo, Dongsheng Li and Weining Qian: Finding Global
Homophily in Graph Neural Networks When Meeting Heterophily. ICML 2022.

Given the embeddings H and H0 (n x c), P = sum_k lambda_k A^k, b = beta1 + beta2 > 0 and g = gamma, the layer
takes the coefficient matrix Z* that minimises

    || H - (1-g) Z H S - g H0 ||^2 + beta1 || Z ||^2 + beta2 || Z - P ||^2

and returns (1-g) Z* H S + g H0. S is the identity in GloGNN and a learnable diagonal in GloGNN++. The paper
solves for Z* with the Woodbury identity; the push-through identity V (a V^T V + b)^-1 = (a V V^T + b)^-1 V gives
the same result from one c x c positive definite solve, with no division by 1-g or b that could cancel.

With ``scale_free`` both betas are multiplied by t = tr(V^T V) / c, V being H S or H as below. Then the layer commutes
with a rescaling of H and H0, and one pair of betas means the same on every graph, whatever the size of its embeddings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from glognn.distributed.ranks import over_ranks
from glognn.errors import InputError, NotFiniteError, TrainingError
from glognn.graph.adjacency import AdjacencyCache
from glognn.nn.config import COEFFICIENTS, LayerConfig
from glognn.nn.hops import Hops, NewRows, Operators
from glognn.nn.inputs import ADJACENCY, Word, letters, powers
from glognn.ops.factors import WIDEST, layer_factors
from glognn.ops.kernels import usable
from glognn.ops.narrow import cross, narrow_matmul
from glognn.settings import configured_by


@dataclass(frozen=True)
class _Solution:
    """The small matrices of one layer, in float64, and the n x c factor V they belong to.

    ``V`` is H S ("exact") or H; ``inverse`` is (b I + (1-g)^2 V^T V)^-1; ``B`` and ``T`` are the c x c factors
    with P Q = (P V) B and Z* (H S) = (H - g H0) T + ... of the update; ``scale`` is what the betas are multiplied by.
    """

    V: Tensor
    inverse: Tensor
    B: Tensor
    T: Tensor
    scale: float | Tensor


@dataclass(frozen=True)
class FrozenLayer:
    """One layer on a known graph: its c x c factors and what the hops hold of the known nodes (n x c each)."""

    B: Tensor
    T: Tensor
    beta2: float | Tensor
    terms: Mapping[Word, Tensor]


@dataclass(frozen=True, eq=False)
class Coefficients:
    r"""Z* of one layer on one graph by its factors, in float64: what it is made of, never the n x n numbers.

    .. math:: Z^* = \Lambda M V^\top + w\,(P - (1-\gamma)^2\, P V M V^\top), \quad w = \beta_2 / b

    with Lambda = (1-g)(H - g H0), times S with the released coefficient, and M = (b I + (1-g)^2 V^T V)^-1.

    Attributes:
        left: Lambda, n x c.
        V: n x c, see :class:`GlobalHomophily`.
        inverse: M, c x c.
        fit: (1-g)^2.
        weight: w, 0 without hops.
        hops: P, if there is one.
        operators: Its matrices.
    """

    left: Tensor
    V: Tensor
    inverse: Tensor
    fit: float | Tensor
    weight: float | Tensor
    hops: Hops | None
    operators: Operators

    def reached(self, rows: Tensor) -> Tensor:
        """w rows P, (m, n) from (m, n), in O(m K nnz)."""
        if self.hops is None:
            return torch.zeros_like(rows)
        return self.weight * self.hops.transposed(self.operators, rows.T).T

    def similar(self, rows: Tensor, reached: Tensor) -> Tensor:
        """What is multiplied with V^T, (m, c): how much of each column of the embedding speaks for ``rows``."""
        return (rows @ self.left - self.fit * (reached @ self.V)) @ self.inverse

    def applied(self, dense: Tensor) -> Tensor:
        """Z* dense, (n, m) from (n, m), in O(m (n c + K nnz))."""
        small = self.inverse @ (self.V.T @ dense)
        if self.hops is None:
            return self.left @ small
        reached: Tensor = self.hops(self.operators, dense - self.fit * (self.V @ small))
        return self.left @ small + self.weight * reached

    def combined(self, rows: Tensor) -> Tensor:
        """Linear combinations of rows of Z*, (m, n) from (m, n), in O(m (n c + K nnz))."""
        reached = self.reached(rows)
        return self.similar(rows, reached) @ self.V.T + reached


@configured_by(LayerConfig)
class GlobalHomophily(nn.Module):
    r"""One GloGNN (``"plain"``) or GloGNN++ (``"exact"``, ``"released"``) layer.

    .. math::
        B &= (1-\gamma)\,(b I + (1-\gamma)^2 V^\top V)^{-1}, \quad Q = V B, \quad T = V^\top V B \\
        H' &= (1-\gamma)(H - \gamma H^{(0)})\,T + \beta_2 P Q + \gamma H^{(0)}

    with V = H for GloGNN and V = H S for the exact GloGNN++. The released code of GloGNN++ leaves S out of
    the inverse (V = H) and multiplies with S outside; its Z minimises no stated objective, but the published
    settings were tuned for it: B = (1-g)(b I + (1-g)^2 H^T H)^-1 S and T = S H^T H B.

    The Gram matrix V^T V is summed, and the c x c system solved, in float64 whatever the type of H.
    Cost: O(K nnz c + n c^2) time, O(n c) memory. One module holds lambda and S; a model with several layers
    applies it several times, as in the paper.

    Shapes: H and H0 (n, c); the result (n, c). With gamma = 1 the layer returns H0; with beta2 = 0 there is no P
    and no lambda.

    Args:
        channels: c, the number of columns of H (the number of classes in the models).
        coefficient: ``"plain"``, ``"exact"`` or ``"released"``, see above.
        hops: Another :class:`~glognn.nn.hops.Hops` than the powers of one adjacency; ``num_hops`` is then unused.
    """

    def __init__(self, channels: int, *, coefficient: str = "plain", hops: Hops | None = None, **settings: Any) -> None:
        super().__init__()
        config = LayerConfig.from_mapping(settings)
        if channels < 1:
            raise InputError(f"The 'channels' parameter of GlobalHomophily must be at least 1. Got {channels} instead.")
        if coefficient not in COEFFICIENTS:
            raise InputError(
                f"The 'coefficient' parameter of GlobalHomophily must be one of {COEFFICIENTS}. "
                f"Got {coefficient!r} instead."
            )
        self.channels = channels
        self.coefficient = coefficient
        self.beta1: float | Tensor = config.beta1
        self.beta2: float | Tensor = config.beta2
        self.gamma: float | Tensor = config.gamma
        self._returns_initial = config.gamma == 1
        self._raises = True
        self.normalization = config.normalization
        self.scale_free = config.scale_free
        self.tau = nn.Parameter(torch.empty(1)) if config.tau == "learned" else None
        self.hops = None if config.beta2 == 0 else (Hops(powers(config.num_hops)) if hops is None else hops)
        self.scale = None if coefficient == "plain" else nn.Parameter(torch.empty(channels))
        self._adjacency = AdjacencyCache()
        self.reset_parameters()

    def use_settings(self, beta1: float | Tensor, beta2: float | Tensor, gamma: float | Tensor) -> None:
        """Other weights of the objective, perhaps tensors with one for each of several models trained together.

        A solve that fails then gives nan, instead of an error that would end the others too.
        """
        self.beta1, self.beta2, self.gamma = beta1, beta2, gamma
        self._raises = not isinstance(gamma, Tensor)

    def reset_parameters(self) -> None:
        if self.hops is not None:
            self.hops.reset_parameters()
        if self.scale is not None:
            nn.init.constant_(self.scale, 1.0 / self.channels)
        if self.tau is not None:
            nn.init.ones_(self.tau)

    def forward(self, H: Tensor, H0: Tensor, edges: Tensor | Operators, edge_weight: Tensor | None = None) -> Tensor:
        """The next embedding. ``edges`` is an ``edge_index`` taken as given, or prepared operators by name."""
        if self._returns_initial:
            return H0
        hops = self.hops
        if usable(H):
            return self._fused(H, H0, {} if hops is None else self._operators(edges, edge_weight, H))
        solution = self._solve(H)
        factors = solution.V, solution.B.to(H.dtype), solution.T.to(H.dtype), self._beta2(solution, H)
        if hops is None:
            return self._update(H, H0, *factors, None)
        return self._update(H, H0, *factors, lambda Q: hops(self._operators(edges, edge_weight, H), Q))

    def _update(
        self,
        H: Tensor,
        H0: Tensor,
        V: Tensor,
        B: Tensor,
        T: Tensor,
        beta2: float | Tensor,
        reach: Callable[[Tensor], Tensor] | None,
    ) -> Tensor:
        g = self.gamma
        mixed = (1 - g) * narrow_matmul(H - g * H0, T) + g * H0
        out = mixed if reach is None else mixed + beta2 * reach(narrow_matmul(V, B))
        return out if self.tau is None else H + self.tau * (out - H)

    def _fused(self, H: Tensor, H0: Tensor, operators: Operators) -> Tensor:
        """The same with gamma, beta2 and tau in the c x c factors, and sums added where products are written."""
        V = self._factor(H)
        of_layer, of_initial, of_reach = self._factors(H, V)
        if self.tau is not None:
            identity = torch.eye(self.channels, dtype=H.dtype, device=H.device)
            of_layer = identity + self.tau * (of_layer - identity)
            of_initial, of_reach = self.tau * of_initial, self.tau * of_reach
        if H is H0:
            mixed = narrow_matmul(H, of_layer + of_initial)
        else:
            mixed = narrow_matmul(H, of_layer) + narrow_matmul(H0, of_initial)
        return mixed if self.hops is None else self.hops(operators, narrow_matmul(V, of_reach), mixed)

    def _factors(self, H: Tensor, V: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What H, H0 and V are multiplied with."""
        g = self.gamma
        if self.channels <= WIDEST and not isinstance(g, Tensor):
            outside = self.scale if self.coefficient == "released" else None
            return layer_factors(
                over_ranks(cross(V, V)),
                None if outside is None else outside.double(),
                H.dtype,
                beta1=float(self.beta1),
                beta2=float(self.beta2),
                gamma=g,
                scale_free=self.scale_free,
            )
        solution = self._solve(H)
        B, T = solution.B.to(H.dtype), solution.T.to(H.dtype)
        of_initial = g * (torch.eye(self.channels, dtype=T.dtype, device=T.device) - (1 - g) * T)
        return (1 - g) * T, of_initial, self._beta2(solution, H) * B

    def _beta2(self, solution: _Solution, like: Tensor) -> float | Tensor:
        scale = solution.scale
        return self.beta2 * (scale.to(like.dtype) if isinstance(scale, Tensor) else scale)

    def freeze(self, H: Tensor, operators: Operators) -> FrozenLayer:
        """What the layer has made of the nodes of a graph, for :meth:`new_rows`."""
        solution = self._solve(H)
        B, T = solution.B.to(H.dtype), solution.T.to(H.dtype)
        terms = {} if self.hops is None else self.hops.terms(operators, solution.V @ B)
        return FrozenLayer(B, T, self._beta2(solution, H), terms)

    def new_rows(self, H: Tensor, H0: Tensor, frozen: FrozenLayer, rows: Mapping[str, NewRows]) -> Tensor:
        """The next embedding of m new nodes, (m, c), beside frozen ones, in O(K nnz(rows) c + m c^2).

        H'_new = (1-g)(H_new - g H0_new) T + beta2 (P Q)_new + g H0_new with the frozen nodes' B and T: new nodes
        gather from all nodes they point to, and known nodes stay as they are.
        """
        if self._returns_initial:
            return H0
        hops = self.hops
        reach = None if hops is None else lambda Q: hops.new_rows(rows, Q, frozen.terms)
        return self._update(H, H0, self._factor(H), frozen.B, frozen.T, frozen.beta2, reach)

    def rows(
        self,
        H: Tensor,
        H0: Tensor,
        edges: Tensor | Operators,
        nodes: Tensor,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        """Rows of Z*, one for each of ``nodes``: (len(nodes), n) in float64, in O(n c + K nnz) each."""
        unit = torch.zeros(nodes.numel(), H.shape[0], dtype=torch.float64, device=H.device)
        unit[torch.arange(nodes.numel(), device=H.device), nodes] = 1
        return self.coefficients(H, H0, edges, edge_weight).combined(unit)

    def coefficients(
        self, H: Tensor, H0: Tensor, edges: Tensor | Operators, edge_weight: Tensor | None = None
    ) -> Coefficients:
        """Z* as :class:`Coefficients`, in O(n c^2)."""
        H, H0 = H.double(), H0.double()
        g, b = self.gamma, self.beta1 + self.beta2
        solution = self._solve(H)
        left = (1 - g) * (H - g * H0)
        if self.coefficient == "released" and self.scale is not None:
            left = left * self.scale
        operators: Operators = {}
        if self.hops is not None:
            given = self._operators(edges, edge_weight, H)
            needed = letters(self.hops.words)
            operators = {name: given[name].to(dtype=H.dtype) for name in needed}
        weight = 0.0 if self.hops is None else self.beta2 / b
        return Coefficients(left, solution.V, solution.inverse, (1 - g) ** 2, weight, self.hops, operators)

    def _factor(self, H: Tensor) -> Tensor:
        return H * self.scale if self.coefficient == "exact" and self.scale is not None else H

    def _solve(self, H: Tensor) -> _Solution:
        g, b = self.gamma, self.beta1 + self.beta2
        V = self._factor(H)
        G = over_ranks(cross(V, V))
        scale = self._betas_scale(G)
        b = b * scale
        identity = torch.eye(self.channels, dtype=G.dtype, device=G.device)
        factor, failed = torch.linalg.cholesky_ex(b * identity + (1 - g) ** 2 * G)
        if not self._raises or factor.is_cuda:  # asking a GPU would wait for it
            factor = torch.where(failed == 0, factor, torch.nan)
        elif int(failed):
            norm = float(G.detach().trace())
            if not math.isfinite(norm):
                raise NotFiniteError("The closed-form solve failed: it is given embeddings that are not finite")
            raise TrainingError(
                f"The closed-form solve failed: beta1 + beta2 = {b:g} is lost against embeddings of squared norm "
                f"{norm:.3g}. Raise beta1 or beta2, normalise features and adjacency, or lower the learning rate."
            )
        root = torch.linalg.solve_triangular(factor, identity, upper=False)
        inverse = root.mT @ root
        B = (1 - g) * inverse
        T = G @ B
        if self.coefficient == "released" and self.scale is not None:
            s = self.scale.double()
            B, T = B * s, s.unsqueeze(1) * T * s
        return _Solution(V=V, inverse=inverse, B=B, T=T, scale=scale)

    def _betas_scale(self, G: Tensor) -> float | Tensor:
        """t; an embedding of zeros, of which every Z makes zeros, has 1."""
        if not self.scale_free:
            return 1.0
        mean = G.diagonal().mean()
        return torch.where(mean > 0, mean, 1.0)

    def _operators(self, edges: Tensor | Operators, edge_weight: Tensor | None, like: Tensor) -> Operators:
        if not isinstance(edges, Tensor):
            return edges
        adjacency = self._adjacency.get(edges, edge_weight, like.shape[0], like)
        return {ADJACENCY: adjacency.normalized(self.normalization)}

    def extra_repr(self) -> str:
        return (
            f"{self.channels}, beta1={self.beta1:g}, beta2={self.beta2:g}, gamma={self.gamma:g}, "
            f"coefficient={self.coefficient!r}"
        )
