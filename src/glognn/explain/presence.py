r"""Which nodes a prediction hangs on: about how much a node's score would lose without each of the others.

Every node j is given a presence m_j, 1 where it is as it is. Its features are multiplied by it, and so is all that
other nodes gather from it: along hops and in local blocks, where m_j = 0 cuts its edges and degrees that operators are
divided by follow, and in rows of links and means of neighbours. The score of one class over another is then a function
of m, and its derivative at 1, for all nodes together one pass back through the model, says to first order what is lost
without each. Unlike a contribution it knows that paths lead through a node and that coefficients Z* change; and unlike
contributions, losses do not add up to the score.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from glognn.explain.encoder import fused
from glognn.graph.directions import neighbour_shares, operator_entries
from glognn.graph.graph import Graph
from glognn.graph.sparse import SparseMatrix
from glognn.models.glognn import GloGNN
from glognn.nn.inputs import ADJACENCY, INPUTS, MEANS
from glognn.ops.products import ScaledMatrix, matmul, spmm

KEPT = 2**25
"""Hidden values up to which the pass forth is kept, and nodes after the first take the pass back alone."""


class Presence:
    """A trained GloGNN, GloGNN++ or GloGNN2 on its graph, kept to be asked about node after node."""

    def __init__(self, model: GloGNN, graph: Graph) -> None:
        like = next(model.parameters())
        self.model, self.graph = model, graph.to(device=like.device, dtype=like.dtype)
        with torch.no_grad():
            self._inputs = model.prepare(self.graph)
        self._kept: tuple[Tensor, Tensor] | None = None

    def losses(self, node: int, first: int, second: int) -> Tensor:
        """What the score of class ``first`` over class ``second`` of a node loses without each node, about, n.

        Without itself it loses all, of which its own entry says nothing.
        """
        training = self.model.training
        self.model.eval()
        with torch.enable_grad():
            present, scores = self._pass() if self._kept is None else self._kept
            margin = scores[node, first] - scores[node, second]
            keeps = scores.shape[0] * self._width <= KEPT
            [found] = torch.autograd.grad(margin, present, retain_graph=keeps)
        self._kept = (present, scores) if keeps else None
        self.model.train(training)
        return found[:, 0].double()

    @property
    def _width(self) -> int:
        """Columns of all hidden values of a node, about."""
        config = self.model.config
        return config.hidden_channels * (3 + 6 * getattr(config, "num_blocks", 0)) + 8 * self.model.out_channels

    def _pass(self) -> tuple[Tensor, Tensor]:
        """Presences of 1, n x 1, and the class scores that follow from them."""
        like = next(self.model.parameters())
        present = torch.ones(self.graph.num_nodes, 1, dtype=like.dtype, device=like.device, requires_grad=True)
        return present, self.scores(present)

    def scores(self, present: Tensor) -> Tensor:
        """Class scores of all nodes at presences, n x 1."""
        encoder = self.model.encoder
        values = {}
        for name, matrix in self._inputs.matrices.items():
            weight, bias = (each.detach() for each in (encoder.inputs[name].weight, encoder.inputs[name].bias))  # type: ignore[operator]
            if INPUTS[name].of_nodes:
                seen = matmul(matrix, present * weight)
            elif name in MEANS:
                assert self.graph.x is not None
                seen = spmm(self._shares(MEANS[name]), present * matmul(self.graph.x, weight))
            else:
                seen = present * matmul(matrix, weight)
            values[name] = seen + bias
        operators = {name: self._faded(name, matrix, present) for name, matrix in self._inputs.operators.items()}
        return self.model.decode(fused(encoder, values), replace(self._inputs, operators=operators))

    def _shares(self, way: str) -> SparseMatrix:
        adjacency = self.graph.adjacency
        return adjacency.kept(
            f"neighbour-shares-matrix-{way}",
            lambda matrix: SparseMatrix.from_scipy(neighbour_shares(self.graph, way), matrix.dtype).to(matrix.device),
        )

    def _faded(self, name: str, matrix: SparseMatrix, present: Tensor) -> SparseMatrix:
        """An operator among nodes that are less present: columns fade, and degrees are of what is left.

        Rows that are divided by their sums keep them: of a mean over nodes that agree each would seem to be needless.
        """
        ones = torch.ones_like(present)
        if name == ADJACENCY and self.model.config.normalization != "symmetric":
            return ScaledMatrix.of(matrix, ones, present)
        left, right = (torch.from_numpy(each).to(present).unsqueeze(1).sqrt() for each in self._degrees(name))
        # entries are a_ij / (left_i right_j), so that what is left of a sum of a_ij follows from a product
        rows = spmm(matrix, right * present) / left
        columns = spmm(matrix.transpose, left * present) / right
        rows, columns = (torch.where(each > 0, each, ones) for each in (rows, columns))
        return ScaledMatrix.of(matrix, rows.rsqrt(), columns.rsqrt() * present)

    def _degrees(self, name: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Sums of rows and columns of the matrix that an operator is the normalised form of; 1 where they are 0."""
        adjacency = self.graph.adjacency

        def make(matrix: SparseMatrix) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
            given = matrix.to_scipy().astype(np.float64) if name == ADJACENCY else operator_entries(adjacency, name)
            loops = 1.0 if name == ADJACENCY else 0.0
            rows, columns = (np.asarray(given.sum(axis=axis)).ravel() + loops for axis in (1, 0))
            return np.where(rows > 0, rows, 1.0), np.where(columns > 0, columns, 1.0)

        return adjacency.kept(f"degrees-of-{name}", make)
