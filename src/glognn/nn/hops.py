"""Multi-hop reachability as a learnable weighted sum of words in named sparse operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import torch
from torch import Tensor, nn

from glognn.errors import InputError
from glognn.graph.sparse import SparseMatrix
from glognn.nn.inputs import Word
from glognn.ops.products import added_matmul, spmm

Operators = Mapping[str, SparseMatrix]
NewRows = tuple[SparseMatrix, SparseMatrix]
"""Rows that extend an operator: over the known columns (m x n) and over the new ones (m x m)."""


class Hops(nn.Module):
    r"""P = sum over words w of lambda_w O_{w1} O_{w2} ..., each O a named n x n sparse operator.

    With the default words (the powers of one operator) this is the paper's
    :math:`P = \sum_{k=1}^{K} \lambda_k \hat A^k`; other words, such as ``("out", "in")`` for a directed
    graph, need no other code. P is never formed: products follow Horner's rule on the tree of common
    prefixes, so K powers take K sparse products and store none of them.

    Args:
        words: The words, each a tuple of operator names; every lambda starts at 1 / number of words.
    """

    def __init__(self, words: Iterable[Word]) -> None:
        super().__init__()
        self.words = list(words)
        if not self.words or any(len(word) == 0 for word in self.words):
            raise InputError(f"The words of Hops must be non-empty tuples of names. Got {self.words} instead.")
        if len(set(self.words)) != len(self.words):
            raise InputError(f"The words of Hops must differ from each other. Got {self.words} instead.")
        self._index = {word: position for position, word in enumerate(self.words)}
        self._children: dict[Word, list[str]] = {}
        for word in self.words:
            for length in range(len(word)):
                letters = self._children.setdefault(word[:length], [])
                if word[length] not in letters:
                    letters.append(word[length])
        self.weight = nn.Parameter(torch.empty(len(self.words)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.constant_(self.weight, 1.0 / len(self.words))

    def forward(self, operators: Operators, dense: Tensor, added: Tensor | None = None) -> Tensor:
        """P @ dense, for a dense n x k matrix; and what is added to it."""
        if added is not None:
            return self._added((), operators, dense, added)
        return self._horner((), dense, lambda word, inner: spmm(operators[word[-1]], inner))

    def _added(self, prefix: Word, operators: Operators, dense: Tensor, total: Tensor) -> Tensor:
        """Horner's rule in which each product is added to what is there as it is written."""
        for letter in self._children[prefix]:
            word = (*prefix, letter)
            own = self.weight[self._index[word]] * dense if word in self._index else torch.zeros_like(dense)
            inner = self._added(word, operators, dense, own) if word in self._children else own
            total = added_matmul(operators[letter], inner, 1.0, total)
        return total

    def terms(self, operators: Operators, dense: Tensor) -> dict[Word, Tensor]:
        """What Horner's rule multiplies with the last operator of each word, n x k: all that other rows need of it."""
        found: dict[Word, Tensor] = {}

        def product(word: Word, inner: Tensor) -> Tensor:
            found[word] = inner
            return spmm(operators[word[-1]], inner)

        self._horner((), dense, product)
        return found

    def new_rows(self, rows: Mapping[str, NewRows], dense: Tensor, terms: Mapping[Word, Tensor]) -> Tensor:
        """P @ dense for m rows that operators are extended by; ``terms`` are those of the rows before, which stay."""

        def product(word: Word, inner: Tensor) -> Tensor:
            to_known, to_new = rows[word[-1]]
            return spmm(to_known, terms[word]) + spmm(to_new, inner)

        return self._horner((), dense, product)

    def _horner(self, prefix: Word, dense: Tensor, product: Callable[[Word, Tensor], Tensor]) -> Tensor:
        total: Tensor | None = None
        for letter in self._children[prefix]:
            word = (*prefix, letter)
            inner = self.weight[self._index[word]] * dense if word in self._index else None
            if word in self._children:
                deeper = self._horner(word, dense, product)
                inner = deeper if inner is None else inner + deeper
            assert inner is not None
            term = product(word, inner)
            total = term if total is None else total + term
        assert total is not None
        return total

    def transposed(self, operators: Operators, dense: Tensor) -> Tensor:
        """P^T @ dense: with unit columns for ``dense`` this gives rows of P."""
        total = torch.zeros_like(dense)
        for _, weight, reached in self.transposed_words(operators, dense):
            total = total + weight * reached
        return total

    def transposed_words(self, operators: Operators, dense: Tensor) -> Iterator[tuple[Word, Tensor, Tensor]]:
        """Each word, its lambda, and its transpose @ dense: the terms of :meth:`transposed`."""
        waiting: list[tuple[Word, Tensor]] = [((), dense)]
        while waiting:
            prefix, reached = waiting.pop()
            for letter in self._children.get(prefix, ()):
                word = (*prefix, letter)
                further = spmm(operators[letter].transpose, reached)
                if word in self._index:
                    yield word, self.weight[self._index[word]], further
                waiting.append((word, further))

    def extra_repr(self) -> str:
        return ", ".join("·".join(word) for word in self.words)
