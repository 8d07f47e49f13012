r"""How much each node of the graph adds to the class scores of one node: the closed form, taken apart exactly.

The last of L layers gives, for class k, with a learnt share tau (1 where it is fixed), the diagonal s of S (1 in
GloGNN) and the layer's input h,

    score_ik = sum_j tau (1-g) z_ij s_k h_jk  +  tau g h0_ik  +  (1-tau) h_ik

``"last"``: node j adds the j-th term of the sum; the embeddings h_j, which L-1 layers have made of all nodes, are taken
as they are, and what is left are rows of the node itself. ``"all"``: h_j is taken apart in the same way, down to H0, so
that node j adds r_ijk h0_jk with the coefficients multiplied through all layers, and nothing is left. With one layer
the two differ in nothing but where the node's own row of H0 is counted. ``"inputs"``: the node's own row of H0 is taken
apart too (:mod:`glognn.explain.encoder`), and what its edge with node j adds there, or j's inputs by local blocks, is
counted as j's. In all of them Z* counts as given: how a node shapes the coefficients of others is no part of its
contribution.

r_ijk is a polynomial in s_k, of which at most L + 1 rows are kept, so that a node costs O(L^2 (n c + K nnz)), and with
``"last"`` O(n c + K nnz).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from glognn.errors import InputError
from glognn.explain.encoder import EncoderParts, encoder_parts
from glognn.graph.graph import Graph
from glognn.models.glognn import GloGNN
from glognn.nn.global_homophily import Coefficients
from glognn.nn.inputs import INPUTS, Word

THROUGH = ("last", "all", "inputs")
"""Which layers contributions are taken apart through."""


@dataclass(frozen=True, eq=False)
class Way:
    """One way in which a node is spoken for, added up over all nodes.

    Attributes:
        kind: ``column`` of the embedding, by which nodes are alike, or ``hops``, along edges.
        name: Number of the column (that is, of a class), or the word of operators.
        weight: Its entry of S (1 in GloGNN), or its lambda.
        scores: What it adds to the score of each class.
    """

    kind: str
    name: str
    weight: float
    scores: Tensor


@dataclass(frozen=True, eq=False)
class Contributions:
    """The scores of one node as a sum, in float64.

    Attributes:
        node: Its number.
        scores: Class scores, as the layer computes them from its inputs, c.
        coefficients: Of each node: z_ij with ``"last"``; with ``"all"`` r_ijk of each class, n x c.
        by_node: What each node adds to each class's score, n x c.
        own: What the node's own rows add, by name.
    """

    node: int
    scores: Tensor
    coefficients: Tensor
    by_node: Tensor
    own: dict[str, Tensor]

    @property
    def total(self) -> Tensor:
        """The sum, which is ``scores`` to rounding."""
        return self.by_node.sum(dim=0) + sum(self.own.values(), torch.zeros_like(self.scores))


class GlobalContributions:
    """A trained GloGNN, GloGNN++ or GloGNN2 on its graph, kept to take the scores of node after node apart.

    The embeddings of all layers are computed once, in the model's precision and without dropout; what follows is in
    float64. A model whose layer is never applied has no coefficients and is refused.
    """

    def __init__(self, model: GloGNN, graph: Graph) -> None:
        check_layers(model)
        like = next(model.parameters())
        self.model, self.graph = model, graph.to(device=like.device, dtype=like.dtype)
        training = model.training
        model.eval()
        with torch.no_grad():
            self._inputs = model.prepare(self.graph)
            self.embeddings = [H.double() for H in model.embeddings(self._inputs)]
        model.train(training)
        layer = model.layer
        self._gamma = float(layer.gamma)
        self._returns_initial = self._gamma == 1
        self._tau = 1.0 if layer.tau is None or self._returns_initial else layer.tau.item()
        self.scale = torch.ones_like(self.embeddings[0][0]) if layer.scale is None else layer.scale.detach().double()
        self._coefficients: dict[int, Coefficients] = {}
        self._last: tuple[int, tuple[Tensor, list[tuple[Word, float, Tensor]]]] | None = None

    @cached_property
    def seen(self) -> Tensor:
        """What the last layer's coefficients are multiplied with, n x c: tau (1-g) H S."""
        return self._tau * (1 - self._gamma) * (self.scale * self.embeddings[-2])

    @property
    def num_layers(self) -> int:
        return len(self.embeddings) - 1

    @cached_property
    def scores(self) -> Tensor:
        """Class scores of all nodes, n x c, as the model gives them."""
        return self.embeddings[-1]

    @torch.no_grad()
    def layer(self, number: int) -> Coefficients:
        """Z* of a layer, counted from 1."""
        if number not in self._coefficients:
            H, H0 = self.embeddings[number - 1], self.embeddings[0]
            self._coefficients[number] = self.model.layer.coefficients(H, H0, self._inputs.operators)
        return self._coefficients[number]

    @torch.no_grad()
    def of(self, node: int, through: str = "last") -> Contributions:
        """What the score of a node is made of; see above for ``through``."""
        self._check(node)
        if through not in THROUGH:
            raise InputError(f"The 'through' parameter must be one of {THROUGH}. Got {through!r} instead.")
        if through == "last":
            return self._through_last(node)
        found = self._through_all(node)
        if through == "inputs":
            seen = self.encoder_parts(node)
            told = [(part.columns, part.scores) for part in seen.inputs if INPUTS[part.name].of_nodes]
            for nodes, scores in [*told, (seen.rows, seen.others)]:
                said = found.coefficients[node] * scores
                found.by_node.index_add_(0, nodes, said)
                found.by_node[node] -= said.sum(dim=0)
        return found

    def encoder_parts(self, node: int) -> EncoderParts:
        """What the encoder saw of a node."""
        self._check(node)
        with torch.enable_grad():
            return encoder_parts(self.model, self._inputs, node)

    def _through_last(self, node: int) -> Contributions:
        H, H0 = self.embeddings[-2], self.embeddings[0]
        factors, (reached, _) = self.layer(self.num_layers), self._reached(node)
        row = (factors.similar(self.unit(node), reached) @ factors.V.T + reached)[0]
        by_node = row.unsqueeze(1) * self.seen
        own = {"initial embedding": self._tau * self._gamma * H0[node]}
        if self._tau != 1:
            own["input of the last layer"] = (1 - self._tau) * H[node]
        return self._contributions(node, row, by_node, own)

    def _through_all(self, node: int) -> Contributions:
        H0 = self.embeddings[0]
        rows = self.unit(node)  # row m: what is to be multiplied with s^m
        kept = torch.zeros(self.num_layers + 1, H0.shape[0], dtype=H0.dtype, device=H0.device)
        if self._returns_initial:
            kept[0] = rows[0]
        else:
            for number in range(self.num_layers, 0, -1):
                kept[: len(rows)] += self._tau * self._gamma * rows
                further = (self._tau * (1 - self._gamma)) * self.layer(number).combined(rows)
                rows = (1 - self._tau) * torch.cat([rows, torch.zeros_like(rows[:1])])
                rows[1:] += further
            kept += rows
        powers = self.scale.unsqueeze(0) ** torch.arange(len(kept), device=H0.device).unsqueeze(1)
        coefficients = kept.T @ powers
        return self._contributions(node, coefficients, coefficients * H0, {})

    def _contributions(self, node: int, coefficients: Tensor, by_node: Tensor, own: dict[str, Tensor]) -> Contributions:
        return Contributions(node, self.scores[node], coefficients, by_node, own)

    @torch.no_grad()
    def ways(self, node: int) -> list[Way]:
        """The sum over nodes of the last layer, by columns of the embedding and by words of the hops.

        z_i = l_i V^T + w sum over words of lambda p_word: the first part finds nodes that are alike, in each of the c
        columns of the embedding; the second follows edges. With the own rows they, too, add up to the scores.
        """
        self._check(node)
        factors, seen = self.layer(self.num_layers), self.seen
        reached, words = self._reached(node)
        similar = factors.similar(self.unit(node), reached)[0]
        by_column = similar.unsqueeze(1) * (factors.V.T @ seen)
        found = [
            Way("column", str(column), float(self.scale[column]), scores) for column, scores in enumerate(by_column)
        ]
        for word, weight, row in words:
            found.append(Way("hops", "·".join(word), weight, factors.weight * weight * (row @ seen)[0]))
        return found

    def _reached(self, node: int) -> tuple[Tensor, list[tuple[Word, float, Tensor]]]:
        """w p_i of the last layer, 1 x n, and its words with their lambda and row; those of the last node are kept."""
        if self._last is None or self._last[0] != node:
            factors, unit = self.layer(self.num_layers), self.unit(node)
            words = [] if factors.hops is None else factors.hops.transposed_words(factors.operators, unit.T)
            found = [(word, weight.item(), row.T) for word, weight, row in words]
            total = sum((weight * row for _, weight, row in found), torch.zeros_like(unit))
            self._last = node, (factors.weight * total, found)
        return self._last[1]

    def unit(self, node: int) -> Tensor:
        """The row of the identity, 1 x n."""
        H0 = self.embeddings[0]
        row = torch.zeros(1, H0.shape[0], dtype=H0.dtype, device=H0.device)
        row[0, node] = 1
        return row

    def _check(self, node: int) -> None:
        if not 0 <= node < self.graph.num_nodes:
            raise InputError(f"nodes must be in the range [0, {self.graph.num_nodes - 1}]. Got {node} instead.")


def check_layers(model: GloGNN) -> None:
    """Refuse a model without the closed-form layer: it has no coefficients."""
    if model.config.num_layers == 0:
        raise InputError(f"{model.config.title} with num_layers 0 applies no layer, and so has no coefficients Z*.")
