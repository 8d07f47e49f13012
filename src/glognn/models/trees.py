"""Gradient boosted trees on a node's features and on what its neighbours' are.

    scores = baseline + sum over rounds of one tree's value for each class

Columns: the features x (of more than 256, directions of largest variation instead), then for each direction of edges
(one, where edges go both ways) the degree d, the mean of neighbours' (x, d), the mean of those means and so on, and
minimum and maximum of neighbours' (x, d), where there are no more than 64 features. A node without neighbours has
missing values there, which a split sends to the side that serves better. With ``neighbour_labels`` also what is known
of the classes around a node (:mod:`glognn.models.label_shares`), which the model then remembers node by node.
Aggregates as in GraphLand (Bazhenov et al., 2025); trees as in LightGBM (Ke et al., 2017), grown by scikit-learn.

Fitted trees lie in tensors of shapes that follow from the settings, so that they are saved, remembered and moved as
weights are. A leaf leads to itself; a tree that is not there is a leaf of value 0. Thresholds are rounded down to the
model's precision, in which columns are given, so that no node changes sides.
"""

from __future__ import annotations

import copy
import hashlib
import math
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from glognn.graph.extension import Extension
from glognn.graph.graph import Graph
from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.models.base import BoostedModel
from glognn.models.configs.trees import BINS, FEW, GATHERED, WALKED, WIDE, TreesConfig
from glognn.models.label_shares import label_shares, new_label_shares
from glognn.native.library import Library, TreesC, find_library
from glognn.ops.products import matmul, spmm
from glognn.settings import configured_by

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier

ROUNDS_AT_ONCE, TREES_AT_ONCE = 16, 128
"""At most so many are grown together, so that training rows are not put into bins for every round, and training can be
stopped soon."""
_MOST_KEPT = 32
_KEPT: OrderedDict[bytes, HistGradientBoostingClassifier] = OrderedDict()
"""What was grown last in this process, by what it was grown on: a training that goes on need not begin anew."""


@configured_by(TreesConfig)
class Trees(BoostedModel[Tensor]):
    """Gradient boosting on features, neighbours' features and degrees; fitted without gradients, on the CPU.

    Of two classes the first has score 0, and the second that of its trees.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        num_nodes: Number of nodes; needed with ``neighbour_labels``.
    """

    config: TreesConfig
    config_class = TreesConfig
    directions: Tensor
    known: Tensor
    num_rounds: Tensor
    feature: Tensor
    left: Tensor
    right: Tensor
    missing_left: Tensor

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int | None = None, **settings: Any) -> None:
        super().__init__(in_channels, out_channels, num_nodes, **settings)
        self._few = in_channels <= FEW
        self.num_slots = 1 if out_channels == 2 else out_channels
        shape = (self.config.num_trees, self.num_slots, 2 * self.config.num_leaves - 1)
        self.baseline = _fixed(out_channels)
        self.threshold, self.value = _fixed(*shape), _fixed(*shape)
        for name in ("feature", "left", "right"):
            self.register_buffer(name, torch.zeros(shape, dtype=torch.int32))
        self.register_buffer("missing_left", torch.zeros(shape, dtype=torch.bool))
        self.register_buffer("num_rounds", torch.zeros((), dtype=torch.int64))
        if in_channels > WIDE:
            self.register_buffer("directions", torch.zeros(in_channels, self.config.num_directions))
        if self.config.neighbour_labels:
            if num_nodes is None:
                raise self._error("num_nodes", "given where labels of neighbours are read", None)
            self.register_buffer("known", torch.full((num_nodes,), -1, dtype=torch.int32))

    @torch.no_grad()
    def reset_parameters(self) -> None:
        for name, tensor in self.state_dict().items():
            tensor.fill_(-1 if name == "known" else 0)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """As of every module; trees that lead to nowhere, as of a damaged file, are refused."""
        found = super().load_state_dict(state_dict, strict, assign)
        own, near, labels = self._widths
        ends = {"left": self.value.shape[2], "right": self.value.shape[2], "feature": own + 2 * (near + labels)}
        bounds = {name: (0, end) for name, end in (ends | {"num_rounds": self.config.num_trees + 1}).items()}
        if labels:
            bounds["known"] = (-1, self.out_channels)
        for name, (first, end) in bounds.items():
            low, high = (int(bound) for bound in getattr(self, name).aminmax())
            if low < first or high >= end:
                raise self._error(name, f"in the range [{first}, {end - 1}]", low if low < first else high)
        return found

    @property
    def _widths(self) -> tuple[int, int, int]:
        """Columns of a node itself, of its neighbours in one direction, and of their labels."""
        config = self.config
        near, labels = config.neighbour_columns(self.in_channels), config.label_columns(self.out_channels)
        return config.num_columns(self.in_channels), near, labels

    def learn_inputs(self, graph: Graph) -> None:
        """Find the directions of wide features: the first right singular vectors, drawn the same way each time."""
        features = self._features_if_any(graph)
        if features is None or self.in_channels <= WIDE:
            return
        from sklearn.utils.extmath import randomized_svd

        x = features.to_scipy() if isinstance(features, SparseMatrix) else features.cpu().numpy()
        count = min(self.config.num_directions, graph.num_nodes)
        _, _, found = randomized_svd(x.astype(np.float64), n_components=count, random_state=0)
        self.directions.zero_()
        self.directions[:, :count] = torch.from_numpy(found.T.copy())

    def learn_labels(self, nodes: Tensor, labels: Tensor) -> None:
        """Remember the classes of the training nodes, where neighbours' labels are read."""
        if self.config.neighbour_labels:
            self.known.fill_(-1)
            self.known[nodes] = labels.to(self.known.dtype)

    def prepare(self, graph: Graph) -> Tensor:
        """What trees read: a row for each node, see above."""
        return self.completed(self.shared(graph), graph)

    def shared(self, graph: Graph) -> Tensor:
        """Columns that no label is in."""
        x = self._own(self._features_if_any(graph), graph.num_nodes)
        return torch.cat([x, *(self._neighbourhood(way, torch.cat([x, _degrees(way)], 1)) for way in _ways(graph))], 1)

    def completed(self, shared: Tensor, graph: Graph) -> Tensor:
        """With those of labels, which follow on the others of each direction."""
        if not self.config.neighbour_labels:
            return shared
        self._check_num_nodes(graph)
        own, near, _ = self._widths
        labels = label_shares(_ways(graph), self.known, self.out_channels)
        pairs = zip(torch.split(shared[:, own:], near, 1), labels, strict=True)
        return torch.cat([shared[:, :own], *(part for pair in pairs for part in pair)], 1)

    def _features_if_any(self, graph: Graph) -> Matrix | None:
        """As many as the model was built for, which may be none."""
        return None if graph.num_features == self.in_channels == 0 else self._features(graph)

    def _own(self, features: Matrix | None, count: int) -> Tensor:
        """Columns of so many nodes themselves: none without features."""
        if features is None:
            return self.baseline.new_empty(count, 0)
        if self.in_channels > WIDE:  # in 64 bits: rounded after that, equal rows are equal in any company
            return matmul(features.to(dtype=torch.float64), self.directions.double()).to(self.directions.dtype)
        return features.csr.to_dense() if isinstance(features, SparseMatrix) else features

    def freeze(self, inputs: Tensor) -> Tensor:
        """The known nodes' columns: features, degrees, means and labels are all that new nodes see of them."""
        return inputs

    def new_logits(self, frozen: Tensor, extension: Extension) -> Tensor:
        own, (width, near, labels) = self._own(extension.x, extension.num_new), self._widths
        x = torch.cat([frozen[:, :width], own])
        known = torch.split(frozen[:, width:], near + labels, 1)
        ways = [
            SparseMatrix.from_scipy(sp.csr_array(edges), x.dtype).to(device=x.device)
            for edges in (extension.rows, extension.columns.T)[: len(known)]
        ]
        of_labels = [columns[:, near:] for columns in known]
        told = new_label_shares(ways, of_labels, self.known, self.out_channels) if labels else of_labels
        parts = [own]
        for columns, way, shares in zip(known, ways, told, strict=True):
            degrees = torch.cat([columns[:, :1], _degrees(way)])
            parts.append(self._neighbourhood(way, torch.cat([x, degrees], 1), columns))
            parts += [shares] if labels else []
        return self.logits(torch.cat(parts, 1))

    def _neighbourhood(self, matrix: SparseMatrix, seen: Tensor, known: Tensor | None = None) -> Tensor:
        """What a node is told by one direction of edges, r x columns; see above.

        Args:
            matrix: Edges from r nodes to n, which are all, or those known before and then the r.
            seen: Features and degree of the n nodes.
            known: What this function returned of the nodes known before.
        """
        means, width = [_average(matrix, seen)], seen.shape[1]
        for hop in range(1, self.config.mean_hops):
            below = [] if known is None else [known[:, 1 + (hop - 1) * width : 1 + hop * width]]
            means.append(_average(matrix, torch.cat([*below, means[-1]])))
        return torch.cat([_degrees(matrix), *means, *(_extremes(matrix, seen) if self._few else ())], 1)

    def logits(self, inputs: Tensor) -> Tensor:
        return self.grown(inputs, None, 0, int(self.num_rounds))

    @torch.no_grad()
    def grown(self, inputs: Tensor, scores: Tensor | None, first: int, last: int) -> Tensor:
        scores = self.baseline.repeat(len(inputs), 1) if scores is None else scores.clone()
        compiled = find_library()
        if compiled is not None and inputs.device.type == "cpu" and inputs.dtype == self.value.dtype == torch.float32:
            self._add_compiled(compiled, inputs.contiguous(), scores, first, last)
            return scores
        at_once = max(1, WALKED // max(1, len(inputs) * self.num_slots))
        for start in range(first, last, at_once):
            for values in self._walk(inputs, start, min(start + at_once, last)).unbind(1):
                scores[:, -self.num_slots :] += values
        return scores

    def _add_compiled(self, compiled: Library, inputs: Tensor, scores: Tensor, first: int, last: int) -> None:
        """Add what the trees of some rounds say to scores, as the code below does, to the bit."""
        arrays = {
            "inputs": inputs,
            "feature": self.columns(inputs.shape[1], first, last).int(),
            **{
                name: getattr(self, name)[first:last]
                for name in ("left", "right", "threshold", "value", "missing_left")
            },
            "scores": scores,
        }
        sizes = (len(inputs), inputs.shape[1], last - first, *self.value.shape[1:], scores.shape[1])
        places = {name: array.data_ptr() for name, array in arrays.items()}
        compiled.call("walk", TreesC(*sizes, torch.get_num_threads(), **places))

    def _walk(self, inputs: Tensor, first: int, last: int) -> Tensor:
        """The value of the leaf that each node reaches: n x rounds x classes."""
        for place in self.steps(inputs, first, last):
            reached = place
        return self.value[first:last].flatten()[reached].view(len(inputs), last - first, self.num_slots)

    def columns(self, width: int, first: int, last: int) -> Tensor:
        """The column, of so many, that each place of the trees of some rounds splits on; a leaf's is 0.

        A model fitted where edges have directions splits on what leads to a node, too; where they go both ways, that
        is what it points to.
        """
        feature = self.feature[first:last].flatten().long()
        _, near, labels = self._widths
        return torch.where(feature >= width, feature - near - labels, feature)

    def steps(self, inputs: Tensor, first: int, last: int) -> Iterator[Tensor]:
        """Where each node is in each tree of some rounds, from the roots to the leaves: n x trees, places of all of
        these trees one after the other."""
        left, right = (each[first:last].flatten().long() for each in (self.left, self.right))
        threshold, missing_left = self.threshold[first:last].flatten(), self.missing_left[first:last].flatten()
        feature = self.columns(inputs.shape[1], first, last)
        root = torch.arange(0, threshold.numel(), self.value.shape[2], device=inputs.device).expand(len(inputs), -1)
        place = root
        yield place
        for _ in range(self.config.num_leaves):
            seen = inputs.gather(1, feature[place])
            goes_left = (seen <= threshold[place]) | (seen.isnan() & missing_left[place])
            reached = root + torch.where(goes_left, left[place], right[place])
            if torch.equal(reached, place):
                break
            place = reached
            yield place

    def first_rounds(self, count: int) -> dict[str, Tensor]:
        state = {name: tensor.detach().clone() for name, tensor in self.state_dict().items()}
        for name in ("feature", "threshold", "left", "right", "missing_left", "value"):
            state[name][count:] = 0
        state["num_rounds"].fill_(count)
        return state

    def boosting(
        self, inputs: Tensor, nodes: Tensor, labels: Tensor, weights: Tensor | None, seed: int
    ) -> TreeBoosting:
        return TreeBoosting(self, inputs, nodes, labels, weights, seed)


class TreeBoosting:
    """Trees of one model, grown by scikit-learn; see :meth:`~glognn.models.base.BoostedModel.boosting`.

    More are grown than were asked for, and wait: the same trees follow however many are grown at a time.
    """

    def __init__(
        self, model: Trees, inputs: Tensor, nodes: Tensor, labels: Tensor, weights: Tensor | None, seed: int
    ) -> None:
        from sklearn.ensemble import HistGradientBoostingClassifier

        config = model.config
        self._model = model
        self._inputs, self._nodes = inputs, nodes
        self._labels = labels.numpy()
        self._weights = None if weights is None else weights.double().numpy()
        self._grown = 0
        self._key = b""
        self._classifier = HistGradientBoostingClassifier(
            learning_rate=config.shrinkage,
            max_leaf_nodes=config.num_leaves,
            max_depth=None,
            min_samples_leaf=config.min_leaf_nodes,
            l2_regularization=config.leaf_penalty,
            max_features=config.column_share,
            max_bins=BINS,
            categorical_features=None,
            early_stopping=False,
            warm_start=True,
            random_state=seed,
        )

    def _kept(self) -> bytes:
        """Take over what has been grown on the same rows, with the same settings, before; under which name it is."""
        rows = self._inputs[self._nodes].contiguous().numpy()
        digest = hashlib.sha256(repr((rows.shape, rows.dtype, self._classifier.get_params())).encode())
        for each in (rows, self._labels, self._weights):
            digest.update(b"" if each is None else np.ascontiguousarray(each).data)
        if (found := _KEPT.get(digest.digest())) is not None:
            self._classifier = copy.copy(found)
            self._classifier._predictors = list(found._predictors)
            self._grown = len(found._predictors)
        return digest.digest()

    def grow(self, rounds: int) -> int:
        """Let the model have this many rounds, or all that its settings allow; how many it has then."""
        config = self._model.config
        rounds = min(rounds, config.num_trees)
        self._key = self._key or self._kept()
        together = max(1, min(ROUNDS_AT_ONCE, TREES_AT_ONCE // self._model.num_slots))
        while self._grown < rounds:
            self._grown = min(config.num_trees, self._grown + together)
            self._fit()
            _KEPT[self._key] = self._classifier
            _KEPT.move_to_end(self._key)
            if len(_KEPT) > _MOST_KEPT:
                _KEPT.popitem(last=False)
        self._copy(int(self._model.num_rounds), rounds)
        return rounds

    def _fit(self) -> None:
        from threadpoolctl import threadpool_limits

        rows = self._inputs[self._nodes].numpy()
        rows[:, np.isnan(rows).all(axis=0)] = 0.0  # no split either way, and scikit-learn wants a value
        self._classifier.set_params(max_iter=self._grown)
        with threadpool_limits(torch.get_num_threads(), "openmp"):
            self._classifier.fit(rows, self._labels, sample_weight=self._weights)

    @torch.no_grad()
    def _copy(self, first: int, last: int) -> None:
        """Put the trees of some rounds into the model."""
        model, classes = self._model, self._classifier.classes_
        model.baseline.copy_(torch.from_numpy(self._baseline(classes)))
        slots = (classes if len(classes) > 2 else classes[1:]) - (model.out_channels - model.num_slots)
        for number in range(first, last):
            for slot, tree in zip(slots.tolist(), self._classifier._predictors[number], strict=True):
                nodes, size = tree.nodes, len(tree.nodes)
                leaf, itself = nodes["is_leaf"].astype(bool), np.arange(size)
                fields: dict[str, npt.NDArray[Any]] = {
                    "feature": np.where(leaf, 0, nodes["feature_idx"]),
                    "threshold": _round_down(np.where(leaf, 0.0, nodes["num_threshold"]), model.threshold.dtype),
                    "left": np.where(leaf, itself, nodes["left"]),
                    "right": np.where(leaf, itself, nodes["right"]),
                    "missing_left": np.where(leaf, 0, nodes["missing_go_to_left"]),
                    "value": np.where(leaf, nodes["value"], 0.0),
                }
                for name, values in fields.items():
                    getattr(model, name)[number, slot, :size] = torch.from_numpy(values)
        model.num_rounds.fill_(last)

    def _baseline(self, classes: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Scores before the first tree; a class without training nodes counts as having half of one."""
        found = self._classifier._baseline_prediction.ravel()
        if len(classes) == 2:
            found = np.array([0.0, found[0]])
        fewest = int(np.unique(self._labels, return_counts=True)[1].min())
        baseline = np.full(self._model.out_channels, found.min() - math.log(2 * fewest))
        baseline[classes] = found
        return baseline


def _ways(graph: Graph) -> list[SparseMatrix]:
    """Edges out of the nodes and, where they do not go both ways, into them."""
    matrix = graph.adjacency.matrix
    return [matrix] if matrix.is_symmetric else [matrix, matrix.transpose]


def _fixed(*shape: int) -> nn.Parameter:
    """Zeros that no gradient changes."""
    return nn.Parameter(torch.zeros(shape), requires_grad=False)


def _round_down(values: npt.NDArray[np.float64], dtype: torch.dtype) -> npt.NDArray[Any]:
    """The largest numbers of a precision that are no larger; of infinity, the largest of all."""
    info = torch.finfo(dtype)
    kind = np.float32 if dtype == torch.float32 else np.float64
    bounded = np.clip(values, info.min, info.max)
    rounded: npt.NDArray[Any] = bounded.astype(kind)
    found: npt.NDArray[Any] = np.where(rounded > bounded, np.nextafter(rounded, kind(-np.inf)), rounded)
    return found


def _degrees(matrix: SparseMatrix) -> Tensor:
    """Entries of each row, r x 1."""
    return matrix.csr.crow_indices().diff().to(matrix.dtype).unsqueeze(1)


def _average(matrix: SparseMatrix, columns: Tensor) -> Tensor:
    """The mean of each row's columns that have a value, weighted as edges are; nan where there is none."""
    present = (~columns[:, -1:].isnan()).to(columns.dtype)
    return spmm(matrix, columns.nan_to_num(nan=0.0)) / spmm(matrix, present)


def _extremes(matrix: SparseMatrix, columns: Tensor) -> Tensor:
    """The least and the largest value of each row's columns, 2 x r x columns; nan where there is none."""
    rows, places = matrix.entries()
    bounds = columns.new_full((2, matrix.shape[0], columns.shape[1]), torch.nan)
    for start in range(0, columns.shape[1], step := max(1, GATHERED // max(1, matrix.nnz))):
        values = columns[:, start : start + step].index_select(0, places)
        index = rows.unsqueeze(1).expand_as(values)
        for bound, name in zip(bounds, ("amin", "amax"), strict=True):
            bound[:, start : start + step].scatter_reduce_(0, index, values, name, include_self=False)
    return bounds
