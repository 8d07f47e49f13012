"""The prepared form of a graph: checked once, immutable, ready for every model."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from glognn.errors import DataWarning, InputError
from glognn.graph.adjacency import Adjacency, EdgeCounts
from glognn.graph.config import GraphConfig
from glognn.graph.sparse import Matrix, SparseMatrix, aligned

if TYPE_CHECKING:
    from torch_geometric.data import Data

SPARSE_BELOW = 0.2
"""Features with a smaller share of nonzeros than this are stored and multiplied as sparse."""

SET_NAMES = ("train", "val", "test")


@dataclass(frozen=True, eq=False)
class Graph:
    """Features, adjacency, labels and splits of one graph. Built by :meth:`from_data`.

    Attributes:
        x: Features, n x f, dense or sparse; ``None`` when the graph has none.
        adjacency: The edges, see :class:`~glognn.graph.adjacency.Adjacency`.
        y: Class of each node, -1 where it is unknown.
        masks: ``train``, ``val`` and ``test``: boolean, n x splits. Unlabelled nodes are in none of them.
        num_classes: One more than the largest label.
        edge_counts: What preparing did to the list of edges.
        config: How the graph was prepared.
        class_names: Of classes 0, 1, ..., where they have names; no part of the fingerprint.
    """

    x: Matrix | None
    adjacency: Adjacency
    y: Tensor
    masks: Mapping[str, Tensor]
    num_classes: int
    edge_counts: EdgeCounts
    config: GraphConfig
    class_names: tuple[str, ...] = ()

    @classmethod
    def from_data(cls, data: Data, config: GraphConfig | None = None, *, dtype: torch.dtype = torch.float32) -> Graph:
        """Check a PyTorch Geometric ``Data`` and prepare it.

        Read are ``edge_index``, ``edge_weight`` (optional; a one-column ``edge_attr`` is not taken for
        weights), ``x`` (optional; dense or any torch sparse layout), ``y`` (optional, -1 = unlabelled)
        and ``train_mask``, ``val_mask``, ``test_mask`` (optional, n or n x splits). ``encoded`` = true says
        that the columns of ``x`` have their scale already, as those of tables have.
        """
        config = GraphConfig() if config is None else config
        if config.feature_normalization == "auto":
            config = replace(config, feature_normalization=_fitting_normalization(data))
        num_nodes = _count_nodes(data)
        edge_index = data.edge_index
        if edge_index is None:
            edge_index = torch.empty(2, 0, dtype=torch.int64)
        adjacency, counts = Adjacency.from_edges(
            edge_index,
            getattr(data, "edge_weight", None),
            num_nodes,
            directed=config.directed,
            self_loops=config.self_loops,
            dtype=dtype,
        )
        y = _check_labels(getattr(data, "y", None), num_nodes, edge_index.device)
        if config.unlabelled == "first_class":
            y = y.clamp(min=0)
        return cls(
            x=prepare_features(data.x, num_nodes, config.feature_normalization, dtype),
            adjacency=adjacency,
            y=y,
            masks=_check_masks(data, y),
            num_classes=int(y.max()) + 1 if y.numel() else 0,
            edge_counts=counts,
            config=config,
        )

    @property
    def num_nodes(self) -> int:
        return self.adjacency.num_nodes

    @property
    def num_features(self) -> int:
        return 0 if self.x is None else self.x.shape[1]

    @property
    def num_splits(self) -> int:
        return self.masks["train"].shape[1]

    @property
    def num_isolated(self) -> int:
        """Nodes with no edge to or from another node."""
        matrix = self.adjacency.matrix.to_scipy()
        loops = (matrix.diagonal() != 0).astype(np.int64)
        neighbours = np.diff(matrix.indptr) - loops
        if not self.adjacency.matrix.is_symmetric:
            neighbours = neighbours + np.bincount(matrix.indices, minlength=self.num_nodes) - loops
        return int(np.count_nonzero(neighbours == 0))

    def indices(self, split: int) -> dict[str, Tensor]:
        """The node numbers of one split's ``train``, ``val`` and ``test`` set; only the last may be empty."""
        self.check_trainable(split, tested=False)
        return {name: self.masks[name][:, split].nonzero().view(-1) for name in SET_NAMES}

    def check_trainable(self, split: int, *, tested: bool = True) -> None:
        """Refuse a split that does not exist or holds an empty set, and labels of fewer than two classes.

        Where nobody asks for a test score (not ``tested``), the test set may be empty.
        """
        if self.num_classes < 2:
            found = "no labelled node" if self.num_classes == 0 else "only class 0"
            raise InputError(f"Training needs labels of at least 2 classes. Got {found} instead.")
        if self.num_splits == 0:
            raise InputError("Training needs a split, but the graph has none: give train, val and test masks.")
        if not 0 <= split < self.num_splits:
            raise InputError(f"The split must be in the range [0, {self.num_splits - 1}]. Got {split} instead.")
        for name in SET_NAMES if tested else SET_NAMES[:2]:
            if not bool(self.masks[name][:, split].any()):
                raise InputError(f"The {name} set of split {split} must hold labelled nodes. Got none instead.")
        present = torch.unique(self.y[self.masks["train"][:, split]])
        if present.numel() < 2:
            raise InputError(
                f"The train set of split {split} must hold at least 2 classes. "
                f"Got only class {int(present[0])} instead."
            )

    def class_counts(self, name: str, split: int) -> Tensor:
        """How many nodes of each class are in a set of a split."""
        return torch.bincount(self.y[self.masks[name][:, split]], minlength=self.num_classes)

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> Graph:
        return replace(
            self,
            x=None if self.x is None else self.x.to(device=device, dtype=dtype),
            adjacency=self.adjacency.to(device=device, dtype=dtype),
            y=self.y.to(device=device),
            masks={name: mask.to(device=device) for name, mask in self.masks.items()},
        )

    def with_masks(self, masks: Mapping[str, Tensor]) -> Graph:
        """The same graph under other splits (boolean, n x splits each)."""
        return replace(self, masks=_finish_masks(masks, self.y))

    @property
    def exchanged_rows(self) -> int:
        """Rows that a part of a larger graph sends and receives for a product; none of a graph that is whole."""
        return 0

    def made_together(self, name: str) -> Any:
        """What a part of a larger graph makes by name with the other parts; nothing for a graph that is whole."""
        return None

    def fingerprint(self) -> str:
        """A short hash of the content: equal for equal graphs, whatever file or object they came from."""
        digest = hashlib.sha256()
        for array in self._arrays():
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()[:16]

    def _arrays(self) -> Sequence[np.ndarray[Any, Any]]:
        matrices = [self.adjacency.matrix.to_scipy()]
        if isinstance(self.x, SparseMatrix):
            matrices.append(self.x.to_scipy())
        elif self.x is not None:
            matrices.append(sp.csr_array(self.x.detach().cpu().numpy()))
        parts = [part for matrix in matrices for part in (matrix.indptr, matrix.indices, matrix.data)]
        return [*parts, self.y.cpu().numpy(), *(self.masks[name].cpu().numpy() for name in SET_NAMES)]


def _count_nodes(data: Data) -> int:
    """The stated number of nodes, else the rows of x, of y, or the largest node number of an edge plus one."""
    given = {name: getattr(data, name, None) for name in ("x", "y")}
    sizes = {name: len(each) for name, each in given.items() if each is not None and getattr(each, "ndim", None) != 0}
    stated = data.to_dict().get("num_nodes")
    if stated is None:
        edge_index = data.edge_index
        fallback = 0 if edge_index is None or edge_index.numel() == 0 else int(edge_index.max()) + 1
        stated = next(iter(sizes.values()), fallback)
    if stated < 1:
        raise InputError(f"A graph must have at least 1 node. Got {stated} instead.")
    for name, size in sizes.items():
        if size != stated:
            raise InputError(f"{name} must have one row per node ({stated}). Got {size} instead.")
    return int(stated)


def prepare_features(
    x: Any, num_nodes: int, normalization: str, dtype: torch.dtype, like: Tensor | None = None
) -> Matrix | None:
    """Features checked and normalised; 'standard' takes mean and deviation from the columns of ``like``, or of x."""
    if x is None:
        return None
    if not isinstance(x, Tensor) or x.dim() != 2:
        shape = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
        raise InputError(f"x must be a tensor of shape (nodes, features). Got {shape} instead.")
    if x.is_complex():
        raise InputError(f"x must hold real numbers. Got {x.dtype} instead.")
    sparse = x.layout != torch.strided
    if sparse and x.layout == torch.sparse_coo:
        x = x.coalesce()
    values = x.values() if sparse else x
    bad = ~torch.isfinite(values.to(dtype))
    if bool(bad.any()):
        where = bad.nonzero()[0].tolist()
        place = f"value {where[0]} of the sparse features" if sparse else f"row {where[0]}, column {where[1]}"
        value = values[tuple(where)].item()
        raise InputError(f"x must be finite in {dtype}. Got {value} at {place} instead.")
    if normalization == "standard":
        x, sparse = _standardize(x, x if like is None else like), False
    elif not sparse:
        nonzeros = int(torch.count_nonzero(x))
        sparse = nonzeros < SPARSE_BELOW * x.numel()
    if normalization in ("row", "length"):
        x = _divide_rows(x, squares=normalization == "length")
    if bool((lost := _vanishing(x, dtype)).any()):
        warnings.warn(
            f"Columns of x are zeros in {dtype}, which their numbers are too small for: {int(lost.sum())} of "
            f"{x.shape[1]}, the first is column {int(lost.nonzero()[0])}. Take feature_normalization 'standard', or "
            "float64.",
            DataWarning,
            stacklevel=2,
        )
    return SparseMatrix.from_torch(x, dtype) if sparse else aligned(x.to(dtype))


def _fitting_normalization(data: Data) -> str:
    """'length' where features are sparse and nowhere negative, as words and categories are. Elsewhere 'standard', or
    'none' where every column has its scale already, and a rare 0 or 1 is not to be blown up."""
    x = data.x
    if not isinstance(x, Tensor) or x.dim() != 2 or x.is_complex():
        return "none"  # refused, where it is checked
    values = x if x.layout == torch.strided else x.to_sparse_csr().values()
    sparse = int(torch.count_nonzero(values)) < SPARSE_BELOW * x.shape[0] * x.shape[1]
    if sparse and bool((values >= 0).all()):
        return "length"
    return "none" if getattr(data, "encoded", False) else "standard"


def _vanishing(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Which columns have numbers other than 0, all of which are 0 in a precision."""
    if not x.is_floating_point() or torch.finfo(x.dtype).tiny >= torch.finfo(dtype).tiny:
        return torch.zeros(1, dtype=torch.bool)
    if x.layout == torch.strided:
        return (x != 0).any(dim=0) & ~(x.to(dtype) != 0).any(dim=0)
    entries = x.to_sparse_coo()  # type: ignore[no-untyped-call]
    columns, values = entries.indices()[1], entries.values()
    before, after = (
        torch.zeros(x.shape[1], dtype=torch.bool, device=x.device).index_fill_(0, columns[kept], True)
        for kept in (values != 0, values.to(dtype) != 0)
    )
    return before & ~after


def _powers_of_two(peaks: Tensor) -> Tensor:
    """For each number the power of two just below it, 1 for 0. To divide by it is exact, and keeps squares and sums of
    numbers that are no larger from vanishing or overflowing."""
    mantissa, _ = torch.frexp(peaks)
    return torch.where(peaks > 0, peaks / (2 * mantissa), 1.0)


def _divide_rows(x: Tensor, *, squares: bool) -> Tensor:
    """Rows divided by the sum of their absolute values, or by the root of that of their squares; empty rows stay so."""
    order = 2 if squares else 1
    if not x.shape[1]:
        return x
    if x.layout == torch.strided:
        x = x.double()
        x = x / _powers_of_two(x.abs().amax(dim=1, keepdim=True))
        totals = torch.linalg.vector_norm(x, order, dim=1, keepdim=True)
        return torch.where(totals > 0, x / totals, 0.0)
    csr = SparseMatrix.from_torch(x, torch.float64).to_scipy()
    units = _powers_of_two(torch.from_numpy(abs(csr).max(axis=1).toarray())).numpy()
    csr.data = csr.data / np.repeat(units, np.diff(csr.indptr))
    sums = np.asarray((abs(csr) ** order).sum(axis=1)).ravel() ** (1 / order)
    csr = sp.csr_array(sp.diags_array(1.0 / np.where(sums > 0, sums, 1.0)) @ csr)
    return SparseMatrix.from_scipy(csr, torch.float64).to(device=x.device).csr


def _standardize(x: Tensor, like: Tensor) -> Tensor:
    """Columns with mean 0 and unbiased standard deviation 1 in ``like``; one that is constant there becomes 0."""
    known = like.to_dense().double()
    units = _powers_of_two(known.abs().amax(dim=0))
    known = known / units
    mean = known.mean(dim=0)
    spread = (known - mean).square().sum(dim=0).div(max(len(known) - 1, 1)).sqrt()
    constant = spread <= 1e-12 * known.abs().amax(dim=0)
    return torch.where(constant, 0.0, (x.to_dense().double() / units - mean) / torch.where(constant, 1.0, spread))


def _check_labels(given: Any, num_nodes: int, device: torch.device) -> Tensor:
    if given is None:
        return torch.full((num_nodes,), -1, dtype=torch.int64, device=device)
    y: Tensor = torch.as_tensor(given)
    if y.dim() == 2 and y.shape[1] == 1:
        y = y.view(-1)
    if y.dim() != 1:
        raise InputError(f"y must have one class per node. Got shape {tuple(y.shape)} instead.")
    if y.is_complex():
        raise InputError(f"y must hold whole numbers. Got {y.dtype} instead.")
    if y.is_floating_point():
        whole = torch.isfinite(y) & (y == y.round())
        if not bool(whole.all()):
            where = int((~whole).nonzero()[0])
            raise InputError(f"y must hold whole numbers. Got {y[where].item()} at node {where} instead.")
    y = y.to(torch.int64)
    if int(y.min()) < -1:
        where = int((y < -1).nonzero()[0])
        raise InputError(
            f"y must hold classes 0, 1, 2, ... or -1 for unlabelled. Got {int(y[where])} at node {where} instead."
        )
    if int(y.max()) >= max(num_nodes, 2):
        raise InputError(
            f"y must number the classes without gaps, so stay below the number of nodes ({num_nodes}). "
            f"Got {int(y.max())} instead."
        )
    return y


def _check_masks(data: Data, y: Tensor) -> dict[str, Tensor]:
    masks: dict[str, Tensor] = {}
    given = {name: getattr(data, f"{name}_mask", None) for name in SET_NAMES}
    if all(mask is None for mask in given.values()):
        empty = torch.zeros(y.numel(), 0, dtype=torch.bool, device=y.device)
        return dict.fromkeys(SET_NAMES, empty)
    for name, mask in given.items():
        if mask is None:
            raise InputError(f"A split needs train_mask, val_mask and test_mask. {name}_mask is missing.")
        if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
            got = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
            raise InputError(f"{name}_mask must be a boolean tensor. Got {got} instead.")
        if mask.dim() not in (1, 2) or mask.shape[0] != y.numel():
            raise InputError(
                f"{name}_mask must have shape (nodes,) or (nodes, splits) with {y.numel()} nodes. "
                f"Got {tuple(mask.shape)} instead."
            )
        masks[name] = mask.view(y.numel(), -1)
    return _finish_masks(masks, y)


def _finish_masks(masks: Mapping[str, Tensor], y: Tensor) -> dict[str, Tensor]:
    widths = {name: mask.shape[1] for name, mask in masks.items()}
    if len(set(widths.values())) != 1:
        raise InputError(f"The three masks must have the same number of splits. Got {widths} instead.")
    for first, second in (("train", "val"), ("train", "test"), ("val", "test")):
        both = masks[first] & masks[second]
        if bool(both.any()):
            node, split = both.nonzero()[0].tolist()
            raise InputError(
                f"The sets of a split must not overlap. Node {node} is in {first} and {second} of split {split}."
            )
    labelled = (y >= 0).unsqueeze(1)
    return {name: mask & labelled for name, mask in masks.items()}
